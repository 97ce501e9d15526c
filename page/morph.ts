// Newer HTML for what is shown: only what differs between the HTML that was sent before and the new one is
// changed. What people or scripts did stays: focus, selection, scroll places, typed values, open parts.

/** What was sent, by where it is shown. */
const trees = new WeakMap<Element, Element>();
/** The node that shows a node that was sent. */
const shown = new WeakMap<Node, Node>();

function fresh(sent: Node): Node {
  const live = sent.cloneNode(true);
  const pair = (one: Node, two: Node): void => {
    shown.set(one, two);
    one.childNodes.forEach((it, n) => pair(it, two.childNodes[n]!));
  };
  pair(sent, live);
  return live;
}

/** Shows a tree in place of everything that is there. */
export function fill(element: Element, tree: Element): void {
  trees.set(element, tree);
  element.replaceChildren(...[...tree.childNodes].map(fresh));
}

/** Shows a newer tree. */
export function morph(element: Element, tree: Element): void {
  const before = trees.get(element);
  trees.set(element, tree);
  if (before) children(before, tree, element); else fill(element, tree);
}

/** Puts further nodes in place of one, as if they had been sent with the rest. */
export function extend(element: Element, selector: string, more: Element): void {
  const sent = trees.get(element)?.querySelector(selector);
  if (!sent) return;
  const nodes = [...more.childNodes];
  (shown.get(sent) as Element).replaceWith(...nodes.map(fresh));
  sent.replaceWith(...nodes);
}

/** What an element is recognized by, wherever it moves. */
function keyOf(node: Node): string {
  if (!(node instanceof HTMLElement)) return "";
  const key = node.dataset.key ?? node.dataset.argument ?? node.getAttribute("name") ?? node.id;
  return key && `${node.nodeName} ${key}`;
}

/** Which of the new nodes is which of the old ones. */
function matched(olds: Node[], news: Node[]): Map<Node, Node> {
  const found = new Map<Node, Node>();
  const same = (one: Node, two: Node) => keyOf(one) === keyOf(two) && one.isEqualNode(two);
  let [start, oldEnd, newEnd] = [0, olds.length, news.length];
  while (start < oldEnd && start < newEnd && same(olds[start]!, news[start]!)) { found.set(news[start]!, olds[start]!); start += 1; }
  while (oldEnd > start && newEnd > start && same(olds[oldEnd - 1]!, news[newEnd - 1]!)) found.set(news[--newEnd]!, olds[--oldEnd]!);
  // By their keys, the others by their order among those of a kind.
  const left = new Map<string, Node[]>();
  const sort = (node: Node) => keyOf(node) || node.nodeName;
  for (const old of olds.slice(start, oldEnd)) {
    const queue = left.get(sort(old));
    if (queue) queue.push(old); else left.set(sort(old), [old]);
  }
  for (const it of news.slice(start, newEnd)) {
    const old = left.get(sort(it))?.shift();
    if (old) found.set(it, old);
  }
  return found;
}

function children(before: Element, now: Element, live: Element): void {
  const olds = [...before.childNodes];
  const news = [...now.childNodes];
  const found = matched(olds, news);
  const kept = new Set(found.values());
  for (const old of olds) if (!kept.has(old)) (shown.get(old) as ChildNode).remove();
  const nodes = news.map((it) => {
    const old = found.get(it);
    if (!old) return fresh(it);
    const node = shown.get(old)!;
    if (old.isEqualNode(it)) it.parentNode!.replaceChild(old, it);
    else {
      shown.set(it, node);
      if (it instanceof Element) { attributes(old as Element, it, node as Element); children(old as Element, it, node as Element); } else node.nodeValue = it.nodeValue;
    }
    return node;
  });
  // From the end; what a script added in between is stepped over.
  const sent = new Set<Node | null>(nodes);
  let next: Node | null = null;
  for (const node of nodes.reverse()) {
    let after: Node | null = node.nextSibling;
    while (after && !sent.has(after)) after = after.nextSibling;
    if (node.parentNode !== live || after !== next) live.insertBefore(node, next);
    next = node;
  }
}

function attributes(before: Element, now: Element, live: Element): void {
  for (const { name, value } of now.attributes) if (before.getAttribute(name) !== value) live.setAttribute(name, value);
  for (const { name } of before.attributes) if (!now.hasAttribute(name)) live.removeAttribute(name);
}
