// The palette: one field for prompts, documents, screens and commands.

import { fragment, make, page, put } from "./base";

export interface Command { title: string; note: string; run: () => void }
interface Recent { address: string; name: string }

const RECENT = "twig-recent";

function recents(): Recent[] {
  try { return JSON.parse(localStorage.getItem(RECENT) ?? "[]") as Recent[]; } catch { return []; }
}

/** What was opened last comes first; only this browser knows it. */
export function remember(address: string, name: string): void {
  const others = recents().filter((it) => it.address !== address);
  try { localStorage.setItem(RECENT, JSON.stringify([{ address, name }, ...others].slice(0, 8))); } catch { /* no room */ }
}

export function openPalette(commands: Command[]): void {
  const dialog = make("dialog", "", { className: "palette" });
  const input = make("input", "", { type: "text", autocomplete: "off", spellcheck: false, placeholder: "Prompts, documents, screens, commands" });
  const list = make("ul", "", { id: "palette-list" });
  const none = make("p", "Nothing found.", { className: "faint", hidden: true });
  const set = (element: Element, values: Record<string, string>) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
  set(dialog, { "aria-label": "Palette" });
  set(input, { role: "combobox", "aria-label": "Find or do something", "aria-controls": list.id, "aria-expanded": "true", "aria-autocomplete": "list" });
  set(list, { role: "listbox", "aria-label": "Found" });
  const runs = new WeakMap<Element, () => void>();
  const options = () => [...list.querySelectorAll<HTMLElement>("[role=option]")];
  let chosen = 0;
  let turn = 0;

  const option = (title: string, note: string, run: () => void) => {
    const item = make("li");
    item.setAttribute("role", "option");
    item.append(make("span", title, { className: "name" }), make("span", "", { className: "about" }), make("span", note, { className: "library" }));
    runs.set(item, run);
    return item;
  };
  const choose = (at: number) => {
    const all = options();
    chosen = Math.max(0, Math.min(all.length - 1, at));
    all.forEach((it, n) => { it.id = `option-${n}`; it.setAttribute("aria-selected", String(n === chosen)); });
    all[chosen]?.scrollIntoView({ block: "nearest" });
    if (all.length) input.setAttribute("aria-activedescendant", `option-${chosen}`); else input.removeAttribute("aria-activedescendant");
    none.hidden = all.length > 0;
  };
  const fill = async () => {
    const mine = ++turn;
    const text = input.value.trim().toLowerCase();
    const found = text ? await fragment(`/page/palette?q=${encodeURIComponent(text)}`).then((it) => it.html, () => "") : "";
    if (mine !== turn) return;
    put(list, found);
    const own = commands.filter((it) => it.title.toLowerCase().includes(text)).map((it) => option(it.title, it.note, it.run));
    if (text) list.append(...own);
    else list.replaceChildren(...recents().map((it) => option(it.name, "recent", () => page.go(it.address))), ...own);
    // A command that is typed from its beginning is meant.
    if (text.length > 1) list.prepend(...own.filter((it) => it.textContent!.toLowerCase().startsWith(text)));
    choose(0);
  };
  const run = (item?: HTMLElement) => {
    if (!item) return;
    dialog.close();
    const { address } = item.dataset;
    if (address) page.go(address); else runs.get(item)?.();
  };

  let typing = 0;
  input.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => void fill(), 30); });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) choose(chosen + step);
    else if (event.key === "Enter") run(options()[chosen]);
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => run((event.target as Element).closest<HTMLElement>("[role=option]") ?? undefined));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(input, list, none);
  document.body.append(dialog);
  dialog.showModal();
  void fill();
}
