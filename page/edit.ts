// The editor's screen: a text with what is wrong with it and what the model would get of it. Nothing is
// saved before its difference was shown, and a draft is kept in this browser until it is saved.

import { Missing, NoKey, Unanswered, ask, at, main, make, page, put, say, toClipboard } from "./base";

export interface Found {
  line: number | null; column: number | null; width: number;
  severity: "error" | "warning" | "note"; code: string; message: string; help: string | null;
}
export interface EditorHandle {
  replace(text: string): void; mark(found: Found[]): void; go(line: number, column: number | null): void; focus(): void; state(): string; end(): void;
}
export interface EditorOptions { text: string; language: string; label: string; complete(at: number): Promise<CursorSuggestions | null>; left(): string | null; changed(text: string): void }
export interface CursorSuggestions {
  from: number; to: number; is_whole: boolean;
  items: { label: string; kind: string; detail: string | null; about: string | null }[];
}
interface Draft { text: string; digest: string; at: number; base?: string }
interface KeptDraft { key: string; json: string; draft: Draft }
interface Saved { digest: string; version: number | null; replaced: string | null; note: string | null }
interface Undo { of: string; replaced?: string; text?: string }
interface Theirs { text: string; digest: string }
type Choice = [title: string, look: string, chosen: (() => void) | null];

const PLAIN = "twig-plain";
/** Answers in words, which are shown where the question was asked. */
const SAID = [304, 400, 403, 409, 412, 413, 428, 503, 507];
const same = (text: string) => text.replace(/\r\n?/g, "\n");
const DAY = 86_400_000;
/** How many drafts of one text are kept, and for how many milliseconds. */
const DRAFTS = 20;
const DRAFT_AGE = 60 * DAY;
const clock = (at: number) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
/** Keeps something for this tab, if there is room for it. */
const keepInTab = (key: string, text: string) => { try { sessionStorage.setItem(key, text); } catch { sessionStorage.removeItem(key); } };
const why = async (answer: Response): Promise<string> =>
  ((await answer.json().catch(() => null)) as { why?: string } | null)?.why
  ?? (answer.status === 413 ? "The text is too long: the page edits up to 1 MiB." : "The server refuses this.");
const posted = (body: object, signal: AbortSignal | null = null): RequestInit =>
  ({ method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

const DRAFT = "twig-edit ";
const draftName = (query: URLSearchParams) => DRAFT + query;
const isOf = (key: string, query: URLSearchParams) => `${key} `.startsWith(`${draftName(query)} `);
/** All drafts in this browser, the newest first. Those that are too old, or unreadable, are removed. */
function allDrafts(): KeptDraft[] {
  const found = Object.keys(localStorage).filter((key) => key.startsWith(DRAFT)).flatMap((key): KeptDraft[] => {
    const json = localStorage.getItem(key)!;
    try {
      const draft = JSON.parse(json) as Draft;
      if (Date.now() - draft.at < DRAFT_AGE) return [{ key, json, draft }];
    } catch { /* removed */ }
    localStorage.removeItem(key);
    return [];
  });
  return found.sort((a, b) => b.draft.at - a.draft.at);
}
// Once whenever the page is opened.
allDrafts();
/** The drafts of a text. Every editor has its own, so none replaces another. */
function draftsOf(query: URLSearchParams, own = "", saved: string | null = null): KeptDraft[] {
  return allDrafts().filter(({ key }) => key !== own && isOf(key, query)).filter(({ key, draft }, n) => {
    const stays = n < DRAFTS && draft.text !== saved;
    if (!stays) localStorage.removeItem(key);
    return stays;
  });
}
/** Keeps a draft; false if there is no room, even without the drafts of other texts that are older than a day. */
function keepDraft(key: string, json: string, query: URLSearchParams): boolean {
  let others: KeptDraft[] | null = null;
  const removed: KeptDraft[] = [];
  for (;;) {
    try { localStorage.setItem(key, json); return true; } catch {
      others ??= allDrafts().filter((it) => !isOf(it.key, query) && Date.now() - it.draft.at > DAY);
      const oldest = others.pop();
      if (!oldest) break;
      localStorage.removeItem(oldest.key);
      removed.push(oldest);
    }
  }
  // There is no room even so: they stay.
  removed.forEach((it) => localStorage.setItem(it.key, it.json));
  return false;
}
/** Removes what was typed in this browser. */
export function forgetTyped(): void {
  for (const storage of [localStorage, sessionStorage]) {
    for (const key of Object.keys(storage)) if (/^twig-(edit|undo|left|draft) /.test(key)) storage.removeItem(key);
  }
}
const draftedAt = ({ at }: Draft) => `at ${new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`;

/** A text area that becomes an editor when that is loaded. */
class TwigEditor extends HTMLElement {
  handle: EditorHandle | null = null;
  field = make("textarea");
  complete: EditorOptions["complete"] = async () => null;
  changed: () => void = () => undefined;

  connectedCallback(): void {
    this.field = this.querySelector("textarea") ?? this.field;
    this.field.addEventListener("input", () => this.changed());
    if (localStorage.getItem(PLAIN) !== "on") void this.load();
  }
  disconnectedCallback(): void { this.handle?.end(); this.handle = null; }

  /** The editor is a file of its own; without it the text area stays. */
  async load(): Promise<void> {
    const address = document.querySelector<HTMLMetaElement>("meta[name=twig-editor]")?.content;
    if (!address || this.handle) return;
    const { mount } = await import(address) as { mount(root: ShadowRoot, options: EditorOptions): EditorHandle };
    if (!this.isConnected || this.handle) return;
    const hadFocus = document.activeElement === this.field;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    this.handle = mount(root, {
      text: this.field.value, language: this.dataset.language ?? "text", label: this.field.labels?.[0]?.textContent ?? "Text",
      complete: (at) => this.complete(at),
      left: () => sessionStorage.getItem(this.dataset.left!),
      changed: (text) => { this.field.value = text; this.changed(); },
    });
    this.dataset.rich = "";
    if (hadFocus) this.handle.focus();
    this.dispatchEvent(new Event("ready"));
  }

  get text(): string { return this.field.value; }
  set text(text: string) { this.field.value = text; this.handle?.replace(text); }

  go(line: number, column: number | null): void {
    if (this.handle) { this.handle.go(line, column); return; }
    const lines = this.field.value.split("\n");
    const letters = [...lines[line - 1] ?? ""];
    const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0) + letters.slice(0, (column ?? 1) - 1).join("").length;
    this.field.focus();
    this.field.setSelectionRange(from, from);
  }
}
customElements.define("twig-editor", TwigEditor);

/** The drafts of a text that is not there, to copy. */
export function showDrafts(box: Element, query: URLSearchParams): void {
  for (const { draft } of draftsOf(query)) {
    const notice = make("div", "", { className: "notice" });
    const copy = make("button", "Copy", { type: "button", className: "button" });
    copy.addEventListener("click", () => void toClipboard(draft.text));
    notice.append(make("p", `A draft of this text was kept ${draftedAt(draft)}.`), copy);
    box.append(notice, make("pre", draft.text, { className: "text" }));
  }
}

/** Looks whether somebody else has changed what is edited; does nothing without an editor. */
export let refreshEdit: () => void = () => undefined;

/** Starts the editor that was just put in; returns what ends it. */
export function startEdit(): () => void {
  const root = main.querySelector<HTMLElement>(".edit");
  const editor = root?.querySelector<TwigEditor>("twig-editor");
  if (!root) return () => undefined;
  const item = JSON.parse(root.dataset.item!) as { prompt?: string; document?: string; manifest?: string };
  const query = new URLSearchParams(Object.entries(item).map(([key, value]) => [key, String(value)]));
  if (!editor) { showDrafts(root, query); return () => undefined; }
  const source = `/page/source?${query}`;
  const newKey = () => `${draftName(query)} ${Math.random()}`;
  let draftKey = newKey();
  const undoKey = `twig-undo ${query}`;
  editor.dataset.left = `twig-left ${query}`;
  const save = at<HTMLButtonElement>("save")!;
  const undoButton = root.querySelector<HTMLButtonElement>("[data-edit=undo]")!;
  let digest = root.dataset.digest!;
  let base = editor.text;
  const isStored = !!root.querySelector("[data-edit=delete]");
  let theirs: Theirs | null = null;
  // The last save can be undone as long as nobody saved after it.
  let undo: Undo | null = null;
  try { undo = JSON.parse(sessionStorage.getItem(undoKey) ?? "null") as Undo | null; } catch { /* none */ }
  const canUndo = () => undo?.of === digest && !isChanged();
  let kept: string | null = null;
  // What was removed is a draft, changed or not.
  let isGone = false;
  let isDeleted = false;
  const isChanged = () => isGone || editor.text !== base;
  undoButton.disabled = !canUndo();

  // What was typed and not saved

  const tell = (text: string) => { const shown = at("kept"); if (shown) shown.textContent = text; };
  /** Keeps what was typed; false if there is no room for it. */
  const keep = (): boolean => {
    const { text } = editor;
    // Another tab may have discarded it.
    if (text === kept && (!isChanged() || draftKey in localStorage)) return true;
    if (isChanged()) {
      const now = Date.now();
      if (!keepDraft(draftKey, JSON.stringify({ text, digest, at: now, base } satisfies Draft), query)) { tell("no room for a draft"); return false; }
      tell(`draft kept ${clock(now)}`);
    } else forget();
    kept = text;
    return true;
  };
  /** What can be undone in the text goes with this tab. */
  const leave = () => {
    keep();
    const state = editor.handle?.state();
    if (state) keepInTab(editor.dataset.left!, state);
  };
  const forget = () => { localStorage.removeItem(draftKey); tell(""); };
  const offer = at("drafted")!;
  offer.remove();
  offer.removeAttribute("id");
  let offered: HTMLElement[] = [];
  /** Offers what was kept before, and by other tabs. It stays until it is taken or discarded. */
  const offerDrafts = () => {
    offered.forEach((it) => it.remove());
    const saved = theirs ?? { text: base, digest };
    offered = draftsOf(query, draftKey, saved.text).map((it) => {
      const shown = offer.cloneNode(true) as HTMLElement;
      shown.hidden = false;
      shown.querySelector("span")!.textContent = `${draftedAt(it.draft)}${it.draft.digest === saved.digest ? "" : ", of an earlier text than the one that is saved now"}`;
      const [take, discard] = shown.querySelectorAll("button");
      take!.addEventListener("click", () => takeDraft(it));
      discard!.addEventListener("click", () => dropDraft(it));
      return shown;
    });
    at("conflict")!.before(...offered);
  };
  const dropDraft = ({ key, json }: KeptDraft) => {
    // Its tab may have gone on since.
    if (localStorage.getItem(key) === json) localStorage.removeItem(key);
    offerDrafts();
  };
  const takeDraft = (it: KeptDraft) => {
    const { text, digest: from, base: was } = it.draft;
    // What was typed here becomes a draft that is offered.
    if (!keep()) return;
    draftKey = newKey();
    const now = theirs ?? { text: base, digest };
    editor.text = text;
    if (from === now.digest || was === undefined) settled(now.text, now.digest);
    else {
      // It was made from an earlier text: the same question as if that had changed just now.
      [base, digest] = [was, from];
      kept = null;
      conflict(now);
    }
    changed();
    if (keep()) dropDraft(it); else offerDrafts();
    editor.handle?.focus();
  };
  offerDrafts();

  // Problems and preview, while one types

  const turns = { check: 0, render: 0 };
  const running: { check?: AbortController; render?: AbortController } = {};
  const asked = async (what: "check" | "render", body: object, shown: (answer: Response) => Promise<void>) => {
    const turn = ++turns[what];
    running[what]?.abort();
    running[what] = new AbortController();
    try {
      const answer = await ask(`/page/${what}`, posted(body, running[what]!.signal), SAID);
      // A late answer does not replace a later one.
      if (turn === turns[what] && root.isConnected) await shown(answer);
    } catch (error) { if (error instanceof NoKey) void page.show(); }
  };
  let found: Found[] = [];
  const check = () => asked("check", { item, text: editor.text }, async (answer) => {
    if (!answer.ok) return;
    found = await answer.json() as Found[];
    editor.handle?.mark(found);
    at("found-count")!.textContent = found.length ? String(found.length) : "";
    at("found")!.replaceChildren(...(found.length ? found.map(row) : [make("li", "Nothing is wrong.", { className: "faint" })]));
  });
  const row = (it: Found): HTMLElement => {
    const button = make("button", "", { type: "button" });
    const dot = make("span", "", { className: `dot ${it.severity}` });
    dot.ariaHidden = "true";
    const severity = make("span", "", { className: `severity ${it.severity}` });
    severity.append(dot, it.severity);
    button.append(severity, make("span", it.line ? `${it.line}${it.column ? `:${it.column}` : ""}` : "", { className: "place mono" }), make("span", it.message, { className: "sentence" }));
    if (it.help) button.append(make("span", it.help, { className: "advice" }));
    button.addEventListener("click", () => editor.go(it.line ?? 1, it.column));
    const line = make("li");
    line.append(button);
    return line;
  };
  const preview = at("preview");
  const render = async () => {
    if (!preview) return;
    let values: Record<string, string> = {};
    try { values = JSON.parse(sessionStorage.getItem(`twig-draft ${item.prompt}`) ?? "{}") as Record<string, string>; } catch { /* none */ }
    preview.classList.add("stale");
    await asked("render", { name: item.prompt ?? "", arguments: values, draft: { item, text: editor.text } }, async (answer) => {
      preview.classList.remove("stale");
      if (!answer.ok) { preview.replaceChildren(make("p", await why(answer), { className: "failure" })); return; }
      const shown = await answer.json() as { html: string; missing?: string[] };
      put(preview, shown.html);
      if (!preview.textContent) preview.append(make("p", shown.missing?.length ? `Needs a value for ${shown.missing.map((it) => `“${it}”`).join(", ")}.` : "The text is empty.", { className: "needs" }));
    });
  };
  editor.complete = async (place) => {
    const answer = await ask("/page/suggest", posted({ draft: { item, text: editor.text }, at: place }), SAID).catch(() => null);
    return answer?.ok ? await answer.json() as CursorSuggestions : null;
  };
  let soon: number[] = [];
  const later = () => { soon.forEach(clearTimeout); soon = [setTimeout(() => void render(), 120), setTimeout(() => void check(), 250)]; };
  const changed = () => { save.disabled = !isChanged(); undoButton.disabled = !canUndo(); later(); };
  editor.changed = changed;
  editor.addEventListener("ready", () => {
    editor.handle?.mark(found);
    // Whoever comes to write can do so; a touch screen would show its keyboard.
    const isFree = [null, document.body, main].includes(document.activeElement as HTMLElement | null);
    if (isFree && matchMedia("(pointer: fine)").matches) editor.handle?.focus();
  });

  // Saving

  /** What ends by itself goes as soon as the text is there again. */
  const failed = (text: string, ends = false) => {
    const shown = main.querySelector("#edit-failure") ?? make("p", "", { id: "edit-failure", className: "failure" });
    shown.setAttribute("role", "alert");
    shown.toggleAttribute("data-ends", ends);
    // What is between backticks is code.
    shown.replaceChildren(...text.split("`").map((part, n) => n % 2 ? make("code", part) : part));
    root.querySelector(".editing")!.before(shown);
  };
  const draftState = () => keep() ? "Your draft is kept in this browser" : "This browser has no room for your draft";
  const gone = (text: string) => {
    if (isDeleted || !root.isConnected) return;
    isGone = true;
    const told = `${text} ${draftState()}: copy the text from here.`;
    if (at("edit-failure")?.textContent !== told.replaceAll("`", "")) failed(told, true);
  };
  const refused = async (answer: Response) => {
    const isAway = answer.status === 503;
    failed(await why(answer), isAway);
    // Perhaps there is nothing to save to any more.
    if (!isAway) void look();
  };
  const unanswered = (error: unknown) => {
    if (error instanceof NoKey) void page.show();
    else if (error instanceof Missing) gone("It was renamed or removed meanwhile.");
    else if (error instanceof Unanswered) failed(`The server does not answer. ${draftState()}.`, true);
    else failed(`That failed (${(error as Error).message}). ${draftState()}.`);
  };
  const settled = (text: string, now: string) => {
    base = text;
    digest = now;
    theirs = null;
    kept = null;
    at("conflict")!.hidden = true;
    main.querySelector("#edit-failure")?.remove();
    save.disabled = !isChanged();
    keep();
  };
  const conflict = (now: Theirs) => {
    theirs = { text: same(now.text), digest: now.digest };
    // Both came to the same text.
    if (theirs.text === editor.text) { settled(theirs.text, theirs.digest); later(); return; }
    at("conflict")!.hidden = false;
    at("conflict-text")!.textContent = isStored ? "Somebody else changed this prompt." : "This text changed on disk.";
  };
  const sent = (body: object): Promise<Response> => ask(source, {
    method: "PUT", headers: { "Content-Type": "application/json", "If-Match": `"${digest}"` }, body: JSON.stringify(body),
  }, SAID);
  const write = async (body: object, text: string | null): Promise<boolean> => {
    try {
      const answer = await sent(body);
      if (answer.status === 412) { conflict(await answer.json() as Theirs); if (theirs) void compare(); return false; }
      if (!answer.ok) { await refused(answer); return false; }
      const saved = await answer.json() as Saved;
      const before = base;
      if (text === null) {
        const current = await (await ask(source)).json() as Theirs;
        editor.text = same(current.text);
        settled(editor.text, current.digest);
      } else settled(text, saved.digest);
      undo = saved.replaced ? { of: digest, ...(isStored ? { text: before } : { replaced: saved.replaced }) } : null;
      keepInTab(undoKey, JSON.stringify(undo));
      undoButton.disabled = !canUndo();
      tell(saved.version ? `saved as version ${saved.version}` : "saved");
      say(saved.note ?? (saved.version ? `Saved as version ${saved.version}` : "Saved"), true);
      later();
      return true;
    } catch (error) {
      unanswered(error);
      return false;
    }
  };
  /** Asks before something is done to a text, and shows what. The last choice is the one that Enter takes. */
  const choose = (title: string, note: string, html: string, choices: Choice[]) => {
    const dialog = make("dialog", "", { className: "review" });
    dialog.setAttribute("aria-labelledby", "review-title");
    const lines = make("div", "", { className: "lines" });
    lines.tabIndex = 0;
    lines.setAttribute("role", "region");
    lines.ariaLabel = "Changed lines";
    put(lines, html);
    if (!html.includes("<table")) lines.append(make("p", "The texts are the same.", { className: "faint" }));
    const buttons = make("div", "", { className: "row-of" });
    const made = choices.map(([text, look, chosen]) => {
      const button = make("button", text, { type: "button", className: `button ${look}` });
      button.addEventListener("click", () => { dialog.close(); chosen?.(); });
      if (look) { const key = make("kbd", "↵"); key.ariaHidden = "true"; button.append(key); }
      return button;
    });
    buttons.append(...made);
    dialog.append(make("h2", title, { id: "review-title" }), make("p", note, { className: "faint" }), lines, buttons);
    dialog.addEventListener("close", () => { dialog.remove(); editor.handle ? editor.handle.focus() : editor.field.focus(); });
    document.body.append(dialog);
    dialog.showModal();
    (made.find((it) => it.matches(".primary")) ?? made[0])!.focus();
  };
  const goOn: Choice = ["Go on editing", "", null];
  let isAsking = false;
  /** Asks the server for what a dialog shows, one at a time. */
  const dialogOf = async <T>(what: string, body: object, shown: (answer: T) => void) => {
    if (isAsking || document.querySelector("dialog[open]")) return;
    isAsking = true;
    keep();
    try {
      const answer = await ask(`/page/${what}`, posted({ item, ...body }), SAID);
      if (!answer.ok) await refused(answer); else shown(await answer.json() as T);
    } catch (error) { unanswered(error); }
    isAsking = false;
  };
  /** Shows what would change, and saves it if that is wanted. */
  const review = () => {
    if (theirs) return compare();
    if (!isChanged()) return;
    const text = editor.text;
    return dialogOf<{ html: string; added: number; removed: number }>("diff", { text }, ({ html, added, removed }) =>
      choose("What this save changes", `${added} added, ${removed} removed`, html, [goOn, ["Save", "primary", () => void write({ text }, text)]]));
  };
  /** What the text was, what is there now, and what was typed. */
  const compare = () => dialogOf<Theirs & { html: string; theirs: number; mine: number; both: number }>("compare", { base, text: editor.text }, (now) => {
    theirs = { text: same(now.text), digest: now.digest };
    choose(isStored ? "Somebody else changed this prompt" : "This text changed on disk",
      `Changed there: ${now.theirs}, by you: ${now.mine}, by both: ${now.both}`, now.html,
      [goOn, ["Take theirs", "", actions.theirs!], ["Keep mine…", "", actions.mine!]]);
  });
  save.addEventListener("click", () => void review());
  save.querySelector("kbd")!.textContent = /Mac|iP/.test(navigator.platform) ? "⌘ S" : "Ctrl S";

  const remove = () => {
    const dialog = make("dialog");
    dialog.setAttribute("aria-labelledby", "delete-title");
    const buttons = make("div", "", { className: "row-of" });
    const no = make("button", "Keep it", { type: "button", className: "button" });
    const yes = make("button", "Delete", { type: "button", className: "button danger" });
    no.addEventListener("click", () => dialog.close());
    yes.addEventListener("click", async () => {
      dialog.close();
      // That a look finds it gone is no news then.
      isDeleted = true;
      try {
        const answer = await ask(`/page/prompts?${query}`, { method: "DELETE", headers: { "If-Match": `"${digest}"` } }, SAID);
        if (answer.ok) {
          base = editor.text;
          isGone = false;
          forget();
          say("Deleted", true);
          page.go("/");
          return;
        }
        failed(await why(answer));
      } catch { failed("The server does not answer: nothing was deleted."); }
      isDeleted = false;
    });
    buttons.append(no, yes);
    dialog.append(make("h2", `Delete “${item.prompt}”?`, { id: "delete-title" }), make("p", "Clients lose it at once. Its versions are kept: `twig prompt restore` brings it back."), buttons);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  };
  const plainState = () => { at("plain-state")!.textContent = localStorage.getItem(PLAIN) === "on" ? "on" : "off"; };
  plainState();
  const actions: Record<string, () => void> = {
    undo: () => {
      if (!undo || !canUndo()) return;
      if (undo.text === undefined) { void write({ replaced: undo.replaced }, null); return; }
      editor.text = undo.text;
      void write({ text: undo.text }, undo.text);
    },
    plain: () => {
      const isOn = localStorage.getItem(PLAIN) === "on";
      localStorage.setItem(PLAIN, isOn ? "off" : "on");
      plainState();
      if (isOn) void editor.load(); else { keep(); void page.show(); }
    },
    delete: remove,
    compare: () => void compare(),
    theirs: () => { if (theirs) { editor.text = theirs.text; settled(theirs.text, theirs.digest); later(); } },
    // Saved on top of what is there now, once what that changes was shown.
    mine: () => { if (theirs) { settled(theirs.text, theirs.digest); later(); void review(); } },
  };
  root.addEventListener("click", (event) => {
    const what = (event.target as Element).closest<HTMLElement>("[data-edit]")?.dataset.edit;
    if (!what) return;
    at("more")?.removeAttribute("open");
    actions[what]?.();
  });

  // Somebody else

  const look = async () => {
    const ending = () => main.querySelector("#edit-failure[data-ends]");
    if (document.hidden || (theirs && !ending())) return;
    const before = digest;
    try {
      const answer = await ask(source, { headers: { "If-None-Match": `"${digest}"` } }, SAID);
      if (answer.status === 403) { gone(await why(answer)); return; }
      // Any other answer says nothing about the text.
      if (!root.isConnected || (!answer.ok && answer.status !== 304)) return;
      if (isGone) {
        isGone = false;
        kept = null;
        keep();
      }
      ending()?.remove();
      if (!answer.ok || theirs || before !== digest) return;
      const now = await answer.json() as Theirs;
      if (now.digest === digest) return;
      if (isChanged() && same(now.text) !== editor.text) { conflict(now); return; }
      editor.text = same(now.text);
      settled(editor.text, now.digest);
      say("The text changed on disk");
      later();
    } catch (error) {
      if (error instanceof Missing) gone("It was renamed or removed meanwhile.");
    }
  };
  refreshEdit = () => void look();
  const key = (event: KeyboardEvent) => {
    if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "s") return;
    event.preventDefault();
    void review();
  };
  document.addEventListener("keydown", key);
  addEventListener("pagehide", leave);
  const keeping = setInterval(keep, 1000);
  const looking = setInterval(() => void look(), 2000);
  const line = Number(/^#line=(\d+)$/.exec(location.hash)?.[1] ?? root.dataset.line ?? 0);
  if (line && localStorage.getItem(PLAIN) === "on") editor.go(line, null);
  else if (line) editor.addEventListener("ready", () => editor.go(line, null), { once: true });
  void render();
  void check();
  return () => {
    leave();
    refreshEdit = () => undefined;
    clearInterval(keeping);
    clearInterval(looking);
    soon.forEach(clearTimeout);
    document.removeEventListener("keydown", key);
    removeEventListener("pagehide", leave);
  };
}

/** The form of a new prompt. */
export function startNew(): void {
  const form = at<HTMLFormElement>("new-prompt");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(form)) as Record<string, string>;
    const [workspace, ...project] = given.project!.split("/");
    const shown = at("new-failure")!;
    try {
      const answer = await ask("/page/prompts", posted({
        workspace, project: project.join("/"), name: given.name!.trim(), description: given.description, text: same(given.text!),
      }), SAID);
      if (answer.ok) { page.go(`/p/${encodeURIComponent((await answer.json() as { name: string }).name)}`); return; }
      shown.textContent = await why(answer);
    } catch (error) { shown.textContent = error instanceof Missing ? "The project is not there any more." : "The server does not answer."; }
    shown.hidden = false;
  });
}
