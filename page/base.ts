// What all parts of the page share: elements, the one place where HTML comes in, and requests with the key.

import { extend, fill, morph } from "./morph";

interface TrustedPolicy { createHTML(html: string): string }

export const KEY = "twig-key";
export const NAME = "twig-name";
const policy: TrustedPolicy = (window as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: TrustedPolicy): TrustedPolicy };
}).trustedTypes?.createPolicy("twig", { createHTML: (html) => html }) ?? { createHTML: (html) => html };

export const at = <T extends HTMLElement>(id: string) => document.getElementById(id) as T | null;
export const main = at("main")!;
export const query = at<HTMLInputElement>("query")!;
export const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K, text = "", properties: Partial<HTMLElementTagNameMap[K]> = {},
): HTMLElementTagNameMap[K] => Object.assign(document.createElement(tag), { textContent: text }, properties);

export const known = new Map<string, { tag: string; html: string }>();

/** The one place where text becomes HTML. */
export function parsed(html: string): Element {
  const tree = make("div");
  tree.innerHTML = policy.createHTML(html) as string;
  return tree;
}

/** Shows HTML in place of what is there. Focus and open parts stay. */
export function put(element: Element, html: string): void {
  const active = document.activeElement as HTMLElement | null;
  const inside = active && element.contains(active) ? active : null;
  const id = inside?.id;
  const key = inside?.closest<HTMLElement>("[data-key]")?.dataset.key;
  const open = [...element.querySelectorAll("details")].map((it) => it.open);
  fill(element, parsed(html));
  element.querySelectorAll("details").forEach((it, n) => { if (open[n]) it.open = true; });
  showImages(element);
  if (id) at(id)?.focus({ preventScroll: true });
  else if (key) {
    const found = element.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    (found?.matches("a") ? found : found?.querySelector<HTMLElement>("a"))?.focus({ preventScroll: true });
  }
}

/** Shows newer HTML of the same: what did not change stays as it is, with all that people did to it. */
export function update(element: Element, html: string | Element): void {
  const active = document.activeElement as HTMLElement | null;
  morph(element, typeof html === "string" ? parsed(html) : html);
  showImages(element);
  // An element that moved has lost the focus.
  if (active?.isConnected && active !== document.activeElement) active.focus({ preventScroll: true });
}

/** Puts more rows in place of the element that stands for them. */
export function extended(element: Element, selector: string, html: string): void {
  extend(element, selector, parsed(html));
}

const showImages = (element: Element) => element.querySelectorAll<HTMLImageElement>("img[data-media]:not([src])").forEach((it) => void showImage(it));

/** An image is asked for with the key, and shown from memory: no address of it can be opened. */
async function showImage(image: HTMLImageElement): Promise<void> {
  const { media, mime } = image.dataset;
  if (!media || !/^image\/(png|jpeg|gif|webp|avif)$/.test(mime ?? "")) return;
  try {
    const bytes = await (await ask(media)).arrayBuffer();
    const address = URL.createObjectURL(new Blob([bytes], { type: mime! }));
    image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
    image.src = address;
  } catch { image.replaceWith(make("p", "The image cannot be read.", { className: "faint" })); }
}

/** What the screens need of each other; `main.ts` fills it in. */
export const page = {
  go: (_address: string, _replace?: boolean): void => undefined,
  show: async (_isLive?: boolean): Promise<void> => undefined,
  place: (): Place => ({ name: "", path: "", title: "" }),
};
export interface Place { name: string; path: string; title: string }

let lastSaid = 0;
/** Tells people who listen: news at most every 5 s, and always what they asked for. */
export function say(text: string, isAnswer = false): void {
  const now = Date.now();
  if (now - lastSaid < 5000 && !isAnswer) return;
  lastSaid = now;
  at("said")!.textContent = text;
}

export class NoKey extends Error {}
export class Missing extends Error {}
/** The server does not answer. */
export class Unanswered extends Error {}

/** Asks the server; answers with a status in `fine` are the caller's. */
export async function ask(path: string, options: RequestInit = {}, fine: number[] = [304]): Promise<Response> {
  const key = localStorage.getItem(KEY);
  if (!key) throw new NoKey();
  const headers = new Headers(options.headers);
  headers.set("Authorization", `Bearer ${key}`);
  const answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" })
    .catch((error: unknown) => { throw error instanceof TypeError ? new Unanswered() : error; });
  if (answer.status === 401) { localStorage.removeItem(KEY); throw new NoKey(); }
  if (answer.status === 404 && !fine.includes(404)) throw new Missing();
  if (!answer.ok && !fine.includes(answer.status)) throw new Error(`${answer.status}`);
  return answer;
}

/** A fragment, and whether it differs from the one that was shown last. */
export async function fragment(path: string, signal?: AbortSignal): Promise<{ html: string; isNew: boolean }> {
  const before = known.get(path);
  const answer = await ask(path, { headers: before ? { "If-None-Match": before.tag } : {}, signal: signal ?? null });
  if (answer.status === 304 && before) return { html: before.html, isNew: false };
  const html = await answer.text();
  if (known.size > 30) known.delete(known.keys().next().value!);
  known.set(path, { tag: answer.headers.get("ETag") ?? "", html });
  return { html, isNew: true };
}

/** Puts a text on the clipboard and says so. */
export async function toClipboard(text: string): Promise<boolean> {
  const isCopied = navigator.clipboard
    ? await navigator.clipboard.writeText(text).then(() => true, () => copyOld(text))
    : copyOld(text);
  say(isCopied ? "Copied" : "Copied nothing: the browser does not allow it", true);
  return isCopied;
}

/** Without a secure context there is only the old way. */
function copyOld(text: string): boolean {
  const area = make("textarea", "", { value: text, className: "sr" });
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}
