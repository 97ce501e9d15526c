// The page's own script: fetches fragments with a key, puts them in, and keeps them current.
// Everything that is shown was made by the server; this file never makes HTML of text.

import { KEY, Missing, NAME, NoKey, type Place, ask, at, extended, fragment, main, make, page, parsed, put, query, say, toClipboard, update } from "./base";
import { forgetTyped, refreshEdit, showDrafts, startEdit, startNew } from "./edit";
import { startHistory, stepHistory } from "./history";
import { type Command, openPalette, remember } from "./palette";
import { refreshPeek, startPeek } from "./peek";

interface ClientLine { id: string; title: string; line: string; note: string }
interface Preview {
  html: string; missing: string[]; wrong: string | null; text: string | null; tokens: number;
  command: string; json: string; clients: ClientLine[];
}

let cleanup: (() => void)[] = [];
let screen = "";
let asked = 0;
/** The HTML that is shown. */
let current = "";
/** Screens that are being asked for; news wait for them. */
let opening = 0;
let hasNews = false;

// Coming in

async function exchange(body: object): Promise<boolean> {
  const answer = await fetch("/page/enter", {
    method: "POST", credentials: "omit",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) return false;
  const made = await answer.json() as { key: string; name: string | null };
  localStorage.setItem(KEY, made.key);
  if (made.name) localStorage.setItem(NAME, made.name); else localStorage.removeItem(NAME);
  return true;
}

function showEnter(failed = ""): void {
  leaveScreen();
  screen = "enter";
  document.body.dataset.locked = "";
  live("off");
  document.title = "Twig";
  const form = make("form");
  const input = make("input", "", { id: "secret", type: "password", autocomplete: "off", required: true });
  form.append(make("label", "Key", { htmlFor: "secret" }), input);
  if (failed) { const said = make("p", failed, { className: "failure" }); said.setAttribute("role", "alert"); form.append(said); }
  form.append(make("button", "Open", { className: "button primary" }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isIn = await exchange({ secret: input.value }).catch(() => false);
    if (isIn) start(); else showEnter("This key is not accepted.");
  });
  const box = make("div", "", { className: "enter" });
  const how = make("p", "On your own machine, run ");
  how.append(make("code", "twig page"), " for a link that opens this page. On a server of your team, type your personal key.");
  box.append(make("h1", "This page needs a key"), how, form);
  main.replaceChildren(box);
  if (failed) input.focus();
}

// Screens

function place(isLive = false): Place {
  const path = location.pathname;
  const rest = (from: number) => { try { return decodeURIComponent(path.slice(from)); } catch { return ""; } };
  const versions = /^\/([pd])\/([^/]+)\/history(?:\/(\d+)\.\.(\d+))?$/.exec(path);
  if (versions) {
    const asked = new URLSearchParams(location.search);
    asked.set(versions[1] === "p" ? "name" : "uri", decodeURIComponent(versions[2]!));
    if (versions[3]) { asked.set("from", versions[3]); asked.set("to", versions[4]!); }
    return { name: "history", path: `/page/history?${asked}`, title: `History of ${decodeURIComponent(versions[2]!)}` };
  }
  if (path.startsWith("/p/")) return { name: "prompt", path: `/page/prompt?name=${encodeURIComponent(rest(3))}`, title: rest(3) };
  const file = /^\/s\/([^/]+)\/(.+)$/.exec(path);
  const raw = new URLSearchParams(location.search).has("raw") ? "&raw=1" : "";
  if (file) return { name: "document", path: `/page/skill?name=${file[1]}&path=${encodeURIComponent(decodeURIComponent(file[2]!))}${raw}`, title: decodeURIComponent(file[2]!) };
  if (path.startsWith("/d/")) return { name: "document", path: `/page/document?uri=${encodeURIComponent(rest(3))}${raw}`, title: rest(3) };
  if (path === "/new") return { name: "new", path: `/page/new${location.search}`, title: "New prompt" };
  if (path === "/edit" || path.startsWith("/edit/")) {
    // In the order in which the editor names its text.
    const asked = new URLSearchParams(`${path.length > 6 ? `prompt=${encodeURIComponent(rest(6))}&` : ""}${location.search.slice(1)}`);
    return { name: "edit", path: `/page/edit?${asked}`, title: `Edit ${asked.get("prompt") ?? asked.get("document") ?? asked.get("manifest") ?? ""}` };
  }
  if (path === "/problems") return { name: "problems", path: "/page/problems", title: "Problems" };
  if (path === "/connect") return { name: "connect", path: `/page/connect?scheme=${location.protocol.slice(0, -1)}`, title: "Connect" };
  if (path === "/sources") return { name: "sources", path: "/page/sources", title: "Sources" };
  const asked = new URLSearchParams(location.search);
  // Whoever comes back, or sees news, keeps as many rows as there were.
  const count = isLive ? Math.min(rowsOf().length, ROWS) : (history.state as { rows?: number } | null)?.rows ?? 0;
  if (count > 100) asked.set("rows", String(count));
  return { name: "library", path: `/page/list?${asked}`, title: "Library" };
}

let controller = new AbortController();

/** Shows what the address says. `isLive` is true for the same screen with newer data. */
async function show(isLive = false): Promise<void> {
  const here = place(isLive);
  // What is being written stays, whatever is new.
  if (isLive && here.name === "edit" && screen === "edit") { refreshEdit(); return; }
  if (isLive && here.name === "new" && screen === "new") return;
  if (isLive && opening) { hasNews = true; return; }
  const turn = ++asked;
  if (!isLive) { opening += 1; controller.abort(); controller = new AbortController(); }
  document.querySelectorAll("[data-screen]").forEach((it) => {
    const isHere = it.getAttribute("data-screen") === here.name;
    if (isHere) it.setAttribute("aria-current", "page"); else it.removeAttribute("aria-current");
  });
  setTitle(here.title);
  try {
    const parts = [(await fragment(here.path, controller.signal)).html];
    if (isLive && here.name === "library") await allRows(parts);
    if (turn !== asked) return;
    const isSame = isLive && screen === here.name;
    const html = parts.join("");
    if (isSame && html === current) { renew(); return; }
    if (isSame) { refresh(parts); current = html; renew(); return; }
    current = html;
    leaveScreen();
    screen = here.name;
    put(main, html);
    if (here.name === "library") startList();
    if (here.name === "prompt") startPrompt();
    if (here.name === "document" && !isLive) toLine();
    if (here.name === "prompt" || here.name === "document") remember(location.pathname, here.title);
    if (here.name === "problems") startProblems();
    if (here.name === "history") startHistory();
    if (here.name === "edit") cleanup.push(startEdit());
    if (here.name === "new") startNew();
  } catch (error) {
    if (turn !== asked || (error as Error).name === "AbortError") return;
    if (error instanceof NoKey) showEnter();
    else if (error instanceof Missing) {
      blank("Not found.", "It was renamed or removed, or you may not read it.");
      if (here.name === "edit") showDrafts(main.firstElementChild!, new URLSearchParams(here.path.split("?")[1]));
    }
    else { live("off"); if (!isLive) blank("The server does not answer.", "This page tries again by itself."); }
  } finally {
    if (!isLive) opening -= 1;
    if (!opening && hasNews) { hasNews = false; void show(true); }
  }
}

/** Newer data for the screen that is shown: whatever did not change stays. */
function refresh(parts: string[]): void {
  const before = keysOfRows();
  const bound = () => [at("rows"), main.querySelector("[data-history]")];
  const [rows, versions] = bound();
  const given = values();
  const tree = parsed(parts[0]!);
  parts.slice(1).forEach((it) => tree.querySelector(".more")?.replaceWith(...parsed(it).childNodes));
  update(main, tree);
  const [rowsNow, versionsNow] = bound();
  if (screen === "library") {
    if (rowsNow !== rows) startPeek();
    watchMore();
    age(main);
    tellRows(before);
  }
  if (screen === "prompt") { fill(given); say("This prompt changed"); }
  if (screen === "problems") filterProblems();
  if (screen === "history" && versionsNow !== versions) startHistory();
}

/** What is shown beside the HTML of the screen, and is asked for again. */
function renew(): void {
  if (screen === "prompt") void render(false, true);
  if (screen === "library") refreshPeek();
}

function leaveScreen(): void {
  cleanup.forEach((end) => end());
  cleanup = [];
}

function blank(title: string, text: string): void {
  leaveScreen();
  const box = make("div", "", { className: "blank" });
  const back = make("p", `${text} `);
  back.append(make("a", "Go to the library", { href: "/" }));
  box.append(make("h1", title, { className: "lead" }), back);
  main.replaceChildren(box);
  screen = "blank";
}

function go(address: string, replace = false): void {
  if (replace) history.replaceState({}, "", address);
  else { history.replaceState({ top: scrollY, rows: rowsOf().length }, ""); history.pushState({}, "", address); }
  syncQuery();
  void show().then(() => { if (!replace) { scrollTo(0, 0); if (location.hash !== "#try") main.focus({ preventScroll: true }); } });
}

function syncQuery(): void {
  const isList = place().name === "library";
  const typed = isList ? new URLSearchParams(location.search).get("q") ?? "" : "";
  if (document.activeElement !== query || !isList) query.value = typed;
}

document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.classList.contains("skip")) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
});
const isEntering = () => location.hash.startsWith("#enter=");
addEventListener("hashchange", () => { if (isEntering()) void enter(); });
addEventListener("popstate", (event) => {
  if (isEntering()) return;
  syncQuery();
  void show().then(() => scrollTo(0, (event.state as { top?: number } | null)?.top ?? 0));
});

// The list

let isSearching = false;
let isWaiting = false;
/** One search at a time: what is typed meanwhile is searched for as soon as the answer is there. */
async function search(): Promise<void> {
  if (isSearching) { isWaiting = true; return; }
  isSearching = true;
  const isList = place().name === "library";
  const parts = new URLSearchParams(isList ? location.search : "");
  if (query.value.trim()) parts.set("q", query.value.trim()); else parts.delete("q");
  const text = parts.toString();
  const address = text ? `/?${text}` : "/";
  if (isList) history.replaceState({}, "", address); else history.pushState({}, "", address);
  await show();
  isSearching = false;
  if (isWaiting) { isWaiting = false; void search(); }
}
query.addEventListener("input", () => void search());
// The index is built when it is first asked, so that is done before the first letter.
query.addEventListener("focus", () => { ask("/page/palette?q=a").catch(() => undefined); }, { once: true });
at("search")!.addEventListener("submit", (event) => {
  event.preventDefault();
  main.querySelector<HTMLElement>("a.row")?.click();
});

const rowsOf = () => [...main.querySelectorAll<HTMLAnchorElement>("a.row")];
const keysOfRows = () => new Set([...main.querySelectorAll<HTMLElement>("#rows > [data-key]")].map((it) => `${it.dataset.key} ${it.textContent}`));

/** The most rows of one answer. */
const ROWS = 1000;

/** The rows after the first answer, as far as they are shown. */
async function allRows(parts: string[]): Promise<void> {
  // Whoever has all of them gets new ones, too.
  const count = rowsOf().length + (main.querySelector(".more") ? 0 : 100);
  for (;;) {
    const next = Number(/data-next="(\d+)"/.exec(parts.at(-1)!)?.[1] ?? count);
    if (next >= count) return;
    const asked = new URLSearchParams(location.search);
    asked.set("after", String(next));
    asked.set("rows", String(Math.min(ROWS, count - next)));
    parts.push((await fragment(`/page/list?${asked}`, controller.signal)).html);
  }
}

/** Tells of the rows that are new or other than before. */
function tellRows(before: Set<string>): void {
  if (!before.size) return;
  const changed = [...main.querySelectorAll<HTMLElement>("#rows > [data-key]")].filter((it) => !before.has(`${it.dataset.key} ${it.textContent}`));
  for (const it of changed) {
    it.classList.add("flash");
    it.addEventListener("animationend", () => it.classList.remove("flash"), { once: true });
  }
  if (changed.length) say(changed.length === 1 ? "One entry changed" : `${changed.length} entries changed`);
}

let watcher: IntersectionObserver | null = null;
const watchMore = () => { const more = main.querySelector(".more"); if (more) watcher?.observe(more); };

function startList(): void {
  age(main);
  const aging = setInterval(() => age(main), 30_000);
  watcher = new IntersectionObserver((entries) => {
    const more = entries.find((it) => it.isIntersecting)?.target as HTMLElement | undefined;
    if (!more) return;
    watcher?.unobserve(more);
    const { next } = more.dataset;
    const parts = new URLSearchParams(location.search);
    parts.set("after", next ?? "");
    fragment(`/page/list?${parts}`, controller.signal).then(({ html }) => {
      // With news in between, other rows come next.
      if (more.isConnected && more.dataset.next === next) { extended(main, ".more", html); age(main); }
      watchMore();
    }).catch(() => undefined);
  }, { rootMargin: "800px" });
  startPeek();
  startRail();
  watchMore();
  cleanup.push(() => { watcher?.disconnect(); clearInterval(aging); });
}

let isRailOpen = false;
/** On narrow windows the libraries and filters are a menu. */
function startRail(): void {
  openRail(false);
  at("rail-button")?.addEventListener("click", () => openRail(!isRailOpen));
}
function openRail(isOpen: boolean): void {
  isRailOpen = isOpen;
  at("rail-button")?.setAttribute("aria-expanded", String(isOpen));
  at("rail")?.toggleAttribute("data-open", isOpen);
}

/** Says how old things are. The words are drawn by the style, so that they are no change of a row. */
function age(root: Element): void {
  root.querySelectorAll<HTMLTimeElement>("time.age").forEach((it) => {
    const minutes = Math.floor((Date.now() - Date.parse(it.dateTime)) / 60_000);
    const hours = Math.floor(minutes / 60);
    it.dataset.age = minutes < 1 ? "now" : hours < 1 ? `${minutes} min` : hours < 48 ? `${hours} h` : hours < 24 * 60 ? `${Math.floor(hours / 24)} days` : it.dateTime.slice(0, 10);
  });
}

function move(step: number): void {
  const rows = rowsOf();
  const now = rows.findIndex((it) => it === document.activeElement);
  const next = rows[Math.max(0, Math.min(rows.length - 1, now < 0 ? 0 : now + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// A prompt

let shown: Preview | null = null;

function values(): Record<string, string> {
  const form = at<HTMLFormElement>("arguments");
  const found: Record<string, string> = {};
  if (form) for (const [name, value] of new FormData(form)) found[name] = String(value).replace(/\r\n/g, "\n");
  return found;
}

function fill(given: Record<string, string>): void {
  const form = at<HTMLFormElement>("arguments");
  if (!form) return;
  for (const field of form.elements) {
    if (field instanceof HTMLInputElement && field.type === "radio") field.checked = given[field.name] === field.value;
    else if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement || field instanceof HTMLSelectElement) field.value = given[field.name] ?? "";
  }
}

const nameOfPrompt = () => main.querySelector<HTMLElement>(".prompt")?.dataset.name ?? "";
const draftKey = () => `twig-draft ${nameOfPrompt()}`;

function startPrompt(): void {
  shown = null;
  const form = at<HTMLFormElement>("arguments");
  if (!form) return;
  const linked = Object.fromEntries(new URLSearchParams(location.search));
  const draft = sessionStorage.getItem(draftKey());
  fill(Object.keys(linked).length ? linked : draft ? JSON.parse(draft) as Record<string, string> : {});
  const changed = () => {
    sessionStorage.setItem(draftKey(), JSON.stringify(values()));
    form.querySelectorAll<HTMLElement>("fieldset").forEach((set) => {
      const unset = set.querySelector<HTMLButtonElement>(".unset");
      if (unset) unset.hidden = !set.querySelector("input:checked");
    });
    void render();
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  // Fields may come and go with news.
  for (const event of ["focusin", "input"]) form.addEventListener(event, ({ target }) => {
    if (target instanceof HTMLInputElement && target.matches("[data-completed]")) void complete(target);
  });
  form.addEventListener("click", ({ target }) => {
    const unset = (target as Element).closest(".unset");
    if (!unset) return;
    unset.closest("fieldset")!.querySelectorAll("input").forEach((input) => { input.checked = false; });
    changed();
  });
  at("panel-try")!.addEventListener("click", ({ target }) => { if ((target as Element).closest("#run")) void render(true); });
  const tabs = [...main.querySelectorAll<HTMLElement>("[role=tab]")];
  const open = (tab: HTMLElement) => {
    tabs.forEach((it) => {
      const isOn = it === tab;
      it.setAttribute("aria-selected", String(isOn));
      it.tabIndex = isOn ? 0 : -1;
      at(it.getAttribute("aria-controls")!)!.hidden = !isOn;
    });
  };
  tabs.forEach((tab, n) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const next = step && tabs[(n + step + tabs.length) % tabs.length];
      if (next) { open(next); next.focus(); event.preventDefault(); }
    });
  });
  at("client-name")!.addEventListener("change", showLine);
  at("all-clients")!.addEventListener("toggle", showLine);
  toLine();
  if (location.hash === "#try") tryHere();
  changed();
  // File systems on a network report no changes, so what is seen is asked for again.
  const again = setInterval(() => { if (!document.hidden && !main.querySelector(".stale")) void render(false, true); }, 10_000);
  cleanup.push(() => clearInterval(again));
}

/** Offers the values that an argument can have. */
async function complete(field: HTMLInputElement): Promise<void> {
  const typed = field.value;
  const answer = await ask("/page/complete", {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: nameOfPrompt(), argument: field.name, value: typed }),
  }).catch(() => null);
  if (!answer || field.value !== typed) return;
  const { values } = await answer.json() as { values: string[] };
  field.list?.replaceChildren(...values.map((value) => make("option", "", { value })));
}

/** Marks the line of the address, in the text that its author wrote. */
function toLine(): void {
  const line = Number(/^#line=(\d+)$/.exec(location.hash)?.[1]);
  if (line) markLine(line);
}

function markLine(line: number): void {
  at("tab-text")?.click();
  const text = main.querySelector<HTMLElement>(":is(.source-text, .body) .text");
  if (!text) return;
  const range = document.createRange();
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  let before = 1;
  for (let node = walker.nextNode(); node && before <= line; node = walker.nextNode()) {
    const { data } = node as Text;
    for (let from = 0; from <= data.length && before <= line;) {
      const end = data.indexOf("\n", from);
      if (before === line) { if (range.collapsed) range.setStart(node, from); range.setEnd(node, end < 0 ? data.length : end); }
      if (end < 0) break;
      before += 1;
      from = end + 1;
    }
  }
  if (typeof Highlight === "function") CSS.highlights.set("line", new Highlight(range));
  scrollTo(0, scrollY + range.getBoundingClientRect().top - innerHeight / 3);
}

/** `t`: the fields of a prompt. */
function tryHere(): void {
  at("tab-try")?.click();
  const field = main.querySelector<HTMLElement>("#arguments :is(textarea, select, input)") ?? at("run") ?? main.querySelector<HTMLElement>("#copy > summary");
  field?.focus();
}

/** The row that keys are for: the one with the focus, or the one that stands beside the list. */
const entry = (): { path: string; kind: string; name: string } | null => {
  const row = document.activeElement?.closest<HTMLAnchorElement>("a.row") ?? main.querySelector<HTMLAnchorElement>("a.row.at");
  const [path, kind, name] = /^\/([pd])\/(.*)$/.exec(row?.pathname ?? "") ?? [];
  return path ? { path, kind: kind!, name: name! } : null;
};

/** `e`, `h` and `t`: edit, history and fields of a row, or of what is open. */
function toEntry(key: string): void {
  if (screen === "library") {
    const row = entry();
    if (!row) return;
    const isPrompt = row.kind === "p";
    const address = { e: isPrompt ? `/edit/${row.name}` : `/edit?document=${row.name}`, h: `${row.path}/history`, t: isPrompt ? `${row.path}#try` : row.path }[key];
    if (address) go(address);
  } else if (key !== "t") main.querySelector<HTMLAnchorElement>(`a[data-to=${key === "e" ? "edit" : "history"}]`)?.click();
  else if (screen === "prompt") tryHere();
  else {
    const back = main.querySelector<HTMLAnchorElement>("a[data-back][href^='/p/']");
    if (back) go(`${back.pathname}#try`);
  }
}

/** `c` on a row or a document: its text, as far as it needs no values. */
async function copyEntry(): Promise<void> {
  const uri = main.querySelector<HTMLElement>("[data-uri]")?.dataset.uri;
  const row = uri ? null : entry();
  if (!uri && !row) return;
  try {
    if (row?.kind === "p") {
      const preview = await rendered({ name: decodeURIComponent(row.name), arguments: {} }, null);
      if (preview.text !== null) void toClipboard(preview.text);
      else say(preview.missing.length ? "Copied nothing: open it and fill in its arguments" : "Copied nothing: open it and look why", true);
      return;
    }
    const answer = await ask(`/page/source?document=${row ? row.name : encodeURIComponent(uri!)}`, {}, [403]);
    const { text, why } = await answer.json() as { text?: string; why?: string };
    if (text === undefined) say(`Copied nothing: ${why}`, true); else void toClipboard(text);
  } catch (error) {
    if (error instanceof NoKey) showEnter(); else say("Copied nothing: the server does not answer", true);
  }
}

const rendered = async (body: object, signal: AbortSignal | null): Promise<Preview> => (await ask("/page/render", {
  method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
})).json() as Promise<Preview>;

let rendering = 0;
let pending = new AbortController();

async function render(run = false, isAgain = false): Promise<void> {
  const box = at("preview");
  const isProgram = main.querySelector(".prompt")?.hasAttribute("data-runs");
  if (!box || (isAgain && isProgram)) return;
  const turn = ++rendering;
  pending.abort();
  pending = new AbortController();
  if (!isAgain) box.classList.add("stale");
  try {
    const preview = await rendered({ name: nameOfPrompt(), arguments: values(), run }, pending.signal);
    // A late answer does not replace a later one.
    if (turn !== rendering || !box.isConnected) return;
    box.classList.remove("stale");
    if (preview.html !== shown?.html || !box.firstChild) {
      box.querySelector(":scope > .needs")?.remove();
      update(box, preview.html);
      if (preview.missing.length) {
        const names = preview.missing.map((it) => `“${it}”`).join(", ");
        box.prepend(make("p", `Needs a value for ${names}.`, { className: "needs" }));
      } else if (!preview.html) box.append(make("p", isProgram ? "Nothing was run yet." : "The text is empty.", { className: "needs" }));
    }
    shown = preview;
    at("tokens")!.textContent = preview.tokens ? `≈ ${preview.tokens.toLocaleString("en")} tokens` : "";
    main.querySelectorAll<HTMLElement>("[data-argument]").forEach((field) => {
      field.classList.toggle("wrong", field.dataset.argument === preview.wrong);
    });
    const choose = at<HTMLSelectElement>("client-name")!;
    if (!choose.options.length) {
      preview.clients.forEach((it) => choose.append(make("option", it.title, { value: it.id })));
      choose.value = localStorage.getItem("twig-client") ?? "claude-code";
      if (choose.selectedIndex < 0) choose.selectedIndex = 0;
      at("client")!.hidden = false;
    }
    showLine();
  } catch (error) {
    if (error instanceof NoKey) showEnter();
    else if (error instanceof Missing && turn === rendering) void show(true);
  }
}

function lineOf(): ClientLine | undefined {
  const chosen = at<HTMLSelectElement>("client-name")?.value;
  return shown?.clients.find((it) => it.id === chosen);
}

function showLine(): void {
  const line = lineOf();
  if (!line) return;
  localStorage.setItem("twig-client", line.id);
  at("client-line")!.textContent = line.line;
  at("client-note")!.replaceChildren(...sentence(line.note));
  const all = at<HTMLDetailsElement>("all-clients")!;
  if (all.open) all.querySelector("ul")!.replaceChildren(...shown!.clients.map((it) => {
    const row = make("li");
    const about = make("p", "", { className: "faint" });
    about.append(...sentence(it.note));
    row.append(make("b", it.title), make("code", it.line.length > 400 ? `${it.line.slice(0, 400)}…` : it.line), about);
    return row;
  }));
}

/** What is between backticks is code. */
const sentence = (text: string) => text.split("`").map((part, n) => n % 2 ? make("code", part) : part);

async function copy(what: string): Promise<void> {
  if (!shown) return;
  const link = () => {
    const given = Object.entries(values()).filter(([, value]) => value);
    const text = new URLSearchParams(given).toString();
    return location.origin + location.pathname + (text ? `?${text}` : "");
  };
  const text = { text: shown.text, command: shown.command, json: shown.json, line: lineOf()?.line, link: link() }[what];
  at("copy")?.removeAttribute("open");
  if (text === null || text === undefined) { say("Copied nothing: fill in the required arguments first", true); return; }
  const isCopied = await toClipboard(text);
  const button = main.querySelector<HTMLElement>("#copy > summary");
  if (button && isCopied) copiedAt(button);
}

function copiedAt(button: HTMLElement): void {
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1200);
}

main.addEventListener("click", (event) => {
  const what = (event.target as Element).closest<HTMLElement>("[data-copy]")?.dataset.copy;
  if (what) void copy(what);
  const asking = (event.target as Element).closest<HTMLButtonElement>("[data-asked]");
  if (asking) void runAsked(asking);
  const given = (event.target as Element).closest<HTMLElement>("[data-copied]");
  if (given) void toClipboard(given.dataset.copied!).then((isCopied) => { if (isCopied) copiedAt(given); });
});

/** A button that runs a command, and shows what it says. */
async function runAsked(button: HTMLButtonElement): Promise<void> {
  const box = at(button.dataset.into!);
  if (!box) return;
  button.disabled = true;
  box.replaceChildren(make("p", "Asking…", { className: "faint" }));
  try {
    const answer = await ask(`/page/${button.dataset.asked}`, { method: "POST" }, [409]);
    if (answer.status === 409) box.replaceChildren(make("p", ((await answer.json()) as { why: string }).why, { className: "failure" }));
    else put(box, await answer.text());
  } catch { box.replaceChildren(make("p", "The server does not answer.", { className: "failure" })); }
  button.disabled = false;
}

// Problems

function startProblems(): void {
  filterProblems();
  main.querySelector(".page")?.addEventListener("click", ({ target }) => {
    const chip = (target as Element).closest(".chip");
    if (!chip) return;
    const isOn = chip.getAttribute("aria-pressed") !== "true";
    main.querySelectorAll(".chip").forEach((it) => it.setAttribute("aria-pressed", String(isOn && it === chip)));
    filterProblems();
  });
}

/** Shows the problems of the chosen code. */
function filterProblems(): void {
  setCount(main.querySelector<HTMLElement>(".page")?.dataset.count ?? "0");
  const code = main.querySelector<HTMLElement>(".chip[aria-pressed=true]")?.dataset.code;
  main.querySelectorAll<HTMLElement>(".problem").forEach((it) => { it.hidden = !!code && it.dataset.code !== code; });
  main.querySelectorAll<HTMLElement>(".file").forEach((it) => { it.hidden = !it.querySelector(".problem:not([hidden])"); });
}

let problemCount = "";
function setCount(count: string): void {
  problemCount = count === "0" ? "" : count;
  at("problem-count")!.textContent = problemCount;
  setTitle();
}

let screenTitle = "";
function setTitle(title = screenTitle): void {
  screenTitle = title;
  document.title = `${problemCount && `(${problemCount}) `}${title} · Twig`;
}

let counting = 0;
async function countProblems(): Promise<void> {
  const { html, isNew } = await fragment("/page/problems");
  setCount(/data-count="(\d+)"/.exec(html)?.[1] ?? "0");
  // Rows mark what has problems.
  if (isNew && screen === "library") void show(true);
}

// Live

let stream: AbortController | null = null;
let tries = 0;
let numbers = "";

function live(state: "on" | "off"): void {
  const dot = at("live")!;
  dot.dataset.state = state;
  const name = localStorage.getItem(NAME);
  dot.querySelector(".word")!.textContent = state === "on" ? (name ? `live, as ${name}` : "live") : "offline";
}

async function listen(): Promise<void> {
  stream?.abort();
  const mine = stream = new AbortController();
  try {
    const answer = await ask("/page/events", { signal: mine.signal });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop()!;
      const news = parts.filter((it) => it.startsWith("data: ")).pop();
      live("on");
      tries = 0;
      if (!news || news === numbers) continue;
      const isFirst = !numbers;
      numbers = news;
      if (!isFirst) {
        const mark = document.querySelector(".mark");
        mark?.classList.add("grown");
        setTimeout(() => mark?.classList.remove("grown"), 1500);
      }
      // The first time, too: something may have changed between the screen and this stream.
      if (screen || opening) void show(true);
      // A check of everything takes longer than a list, and saves come in groups.
      clearTimeout(counting);
      counting = setTimeout(() => void countProblems().catch(() => undefined), isFirst ? 0 : 1000);
    }
  } catch (error) {
    if (mine.signal.aborted) return;
    if (error instanceof NoKey) { showEnter(); return; }
  }
  if (mine.signal.aborted) return;
  live("off");
  setTimeout(() => {
    if (mine !== stream || document.hidden) return;
    void listen();
    void show(screen !== "blank");
  }, [1, 2, 5, 10][Math.min(tries++, 3)]! * 1000);
}

// Browsers allow six connections for all tabs: a tab that nobody sees needs none.
document.addEventListener("visibilitychange", () => {
  if (screen === "enter") return;
  if (document.hidden) { stream?.abort(); stream = null; } else { void listen(); void show(true); }
});

// Keys

let prefix = "";
const keysAreOff = () => localStorage.getItem("twig-keys") === "off";

const modifier = /Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl";

/** Everything that can be done from the keyboard, by its name. */
function showPalette(): void {
  const screens: [string, string, string][] = [["Library", "/", "g l"], ["Problems", "/problems", "g p"], ["Sources", "/sources", "g s"], ["Connect", "/connect", "g c"]];
  const commands: Command[] = screens.map(([title, address, note]) => ({ title, note, run: () => go(address) }));
  const add = (title: string, note: string, run: () => void) => commands.push({ title, note, run });
  if (screen === "prompt") {
    add("Copy the text", "c", () => void copy("text"));
    add("Copy the command", "", () => void copy("command"));
    add("Copy the line for your client", "", () => void copy("line"));
    add("Copy a link to this page", "", () => void copy("link"));
  }
  main.querySelectorAll<HTMLAnchorElement>(".actions a[data-to]").forEach((it) => add(it.textContent!, it.dataset.to!, () => it.click()));
  add("New prompt in a project", "", () => go("/new"));
  add("Keys and colours", "?", showKeys);
  openPalette(commands);
}
at("palette-button")!.addEventListener("click", showPalette);
at("palette-button")!.querySelector("kbd")!.textContent = `${modifier} K`;

function showKeys(): void {
  const dialog = make("dialog");
  dialog.setAttribute("aria-labelledby", "keys-title");
  const list = make("dl");
  for (const [keys, what] of [
    ["/", "search"], [`${modifier} K`, "find or do anything"], ["j  k", "next, previous"], ["↵", "open"], ["t", "try: its fields"], ["c", "copy the text"], [`${modifier} ↵`, "run, or copy the text"], ["e", "edit"], [`${modifier} S`, "review and save"], ["h", "history"], ["[  ]", "older, newer change"],
    ["g l", "library"], ["g p", "problems"], ["g s", "sources"], ["g c", "connect"], ["Esc", "back"], ["?", "these keys"],
  ] as const) {
    const key = make("dt");
    key.append(...keys.split("  ").map((it) => make("kbd", it)));
    list.append(key, make("dd", what));
  }
  const off = make("input", "", { type: "checkbox", checked: !keysAreOff() });
  off.addEventListener("change", () => localStorage.setItem("twig-keys", off.checked ? "on" : "off"));
  const option = make("label", "", { className: "option" });
  option.append(off, "Single keys do something");
  const theme = make("select", "", { id: "theme" });
  for (const [value, title] of [["", "as the system"], ["light", "light"], ["dark", "dark"]] as const) theme.append(make("option", title, { value }));
  theme.value = localStorage.getItem("twig-theme") ?? "";
  theme.addEventListener("change", () => { localStorage.setItem("twig-theme", theme.value); setTheme(); });
  const look = make("label", "Colours ", { className: "option" });
  look.append(theme);
  const leave = make("button", "Forget this browser", { type: "button", className: "quiet" });
  leave.addEventListener("click", () => { localStorage.removeItem(KEY); dialog.close(); stream?.abort(); main.replaceChildren(); showEnter(); forgetTyped(); });
  const close = make("button", "Close", { type: "button", className: "button" });
  close.addEventListener("click", () => dialog.close());
  const row = make("div", "", { className: "row-of" });
  row.append(leave, close);
  dialog.append(make("h2", "Keys", { id: "keys-title" }), list, option, look, row);
  dialog.addEventListener("close", () => { dialog.remove(); at("keys-button")!.focus(); });
  document.body.append(dialog);
  dialog.showModal();
}
at("keys-button")!.addEventListener("click", showKeys);

function setTheme(): void {
  const theme = localStorage.getItem("twig-theme");
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
}

document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (document.querySelector("dialog[open]")) return;
  const isField = target.matches("input:not([type=radio]), textarea, select, twig-editor");
  if ((event.metaKey || event.ctrlKey) && event.key === "k" && screen !== "enter") { event.preventDefault(); showPalette(); return; }
  if ((event.metaKey || event.ctrlKey) && event.key === "Enter" && screen === "prompt") {
    event.preventDefault();
    if (at("run")) at("run")!.click(); else void copy("text");
    return;
  }
  if (event.key === "Escape" && event.defaultPrevented) return;
  if (event.key === "Escape") {
    if (at("copy")?.hasAttribute("open")) { at("copy")!.removeAttribute("open"); main.querySelector<HTMLElement>("#copy > summary")?.focus(); }
    else if (target === query) { query.value = ""; query.dispatchEvent(new Event("input")); query.blur(); }
    else if (isField) target.blur();
    else if (isRailOpen && screen === "library") { openRail(false); at("rail-button")?.focus(); }
    else if (screen !== "library" && screen !== "enter") go(main.querySelector("[data-back]")?.getAttribute("href") ?? "/");
    return;
  }
  if (target === query && event.key === "ArrowDown") { event.preventDefault(); rowsOf()[0]?.focus(); return; }
  if (event.metaKey || event.ctrlKey || event.altKey || isField || screen === "enter") return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (target.matches("a.row")) { event.preventDefault(); move(event.key === "ArrowDown" ? 1 : -1); }
    return;
  }
  if (keysAreOff()) return;
  const was = prefix;
  prefix = "";
  if (was === "g") {
    const address = { l: "/", p: "/problems", s: "/sources", c: "/connect" }[event.key];
    if (address) { event.preventDefault(); go(address); return; }
  }
  switch (event.key) {
    case "g": prefix = "g"; setTimeout(() => { prefix = ""; }, 1200); break;
    case "/": event.preventDefault(); query.focus(); query.select(); break;
    case "j": move(1); break;
    case "k": move(-1); break;
    case "c": if (screen === "prompt") void copy("text"); else void copyEntry(); break;
    case "e": case "h": case "t": event.preventDefault(); toEntry(event.key); break;
    case "[": stepHistory("older"); break;
    case "]": stepHistory("newer"); break;
    case "?": showKeys(); break;
    default: return;
  }
});

// Start

Object.assign(page, { go, show, place });

function start(): void {
  delete document.body.dataset.locked;
  syncQuery();
  void show();
  void listen();
}

async function enter(): Promise<void> {
  setTheme();
  const code = /^#enter=(.+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState({}, "", location.pathname + location.search);
    const isIn = await exchange({ code }).catch(() => false);
    if (!isIn && !localStorage.getItem(KEY)) { showEnter("This link was used already, or it is older than a minute."); return; }
  }
  // A link in a page that is open already changes nothing that is shown.
  if (screen && screen !== "enter") return;
  if (localStorage.getItem(KEY)) start(); else showEnter();
}

void enter();
export {};
