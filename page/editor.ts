// The editor, loaded with the first text that is edited: CodeMirror in a shadow root, whose styles are
// constructed sheets, which the policy of the page allows.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyField, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, type StringStream, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { EditorHandle, EditorOptions, Found } from "./edit";

interface Mode { inside: "" | "{{" | "{%" | "{#"; front: "no" | "start" | "yes"; fence: string; table: boolean }

/** The inside of `{{ … }}` and `{% … %}`. */
function jinja(stream: StringStream, mode: Mode): string | null {
  const end = mode.inside === "{{" ? /^-?\}\}/ : mode.inside === "{%" ? /^-?%\}/ : /^-?#\}/;
  if (stream.match(end)) { mode.inside = ""; return "processingInstruction"; }
  if (mode.inside === "{#") { stream.next(); while (!stream.eol() && !stream.match(end, false)) stream.next(); return "comment"; }
  if (stream.eatSpace()) return null;
  if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'(?:[^'\\]|\\.)*'?/)) return "string";
  if (stream.match(/^\d+(?:\.\d+)?/)) return "number";
  if (stream.match(/^(?:if|elif|else|endif|for|endfor|in|set|endset|include|import|from|macro|endmacro|call|endcall|filter|endfilter|raw|endraw|block|endblock|with|endwith|not|and|or|is|as|ignore|missing|context|without)\b/)) return "keyword";
  if (stream.match(/^(?:true|false|none|loop)\b/i)) return "atom";
  if (stream.match(/^\|\s*\w+/)) return "typeName";
  if (stream.match(/^[\w.]+/)) return "variableName";
  stream.next();
  return "operator";
}

const opens = (stream: StringStream, mode: Mode): string | null => {
  const open = stream.match(/^(\{\{|\{%|\{#)-?/) as RegExpMatchArray | null;
  if (!open) return null;
  mode.inside = open[1] as Mode["inside"];
  return "processingInstruction";
};
const start = (): Mode => ({ inside: "", front: "start", fence: "", table: false });

/** Markdown with Jinja: what a prompt is mostly written in. */
const markdown = StreamLanguage.define<Mode>({
  startState: start,
  copyState: (mode) => ({ ...mode }),
  token(stream, mode) {
    if (mode.inside) return jinja(stream, mode);
    if (stream.sol()) {
      if (mode.front === "start") {
        mode.front = stream.match(/^---\s*$/) ? "yes" : "no";
        if (mode.front === "yes") return "meta";
      } else if (mode.front === "yes") {
        if (stream.match(/^---\s*$/)) { mode.front = "no"; return "meta"; }
      }
      if (mode.front === "no") {
        const fence = stream.match(/^\s*(`{3,}|~{3,})[^`]*$/) as RegExpMatchArray | null;
        if (fence) { mode.fence = mode.fence ? "" : fence[1]!; return "meta"; }
        if (!mode.fence && stream.match(/^#{1,6}\s.*(?=\{\{|\{%)|^#{1,6}\s[^{]*/)) return "heading";
        if (!mode.fence && stream.match(/^\s*>\s?/)) return "quote";
        if (!mode.fence && stream.match(/^\s*(?:[-*+]|\d+[.)])\s/)) return "list";
      }
    }
    const open = opens(stream, mode);
    if (open) return open;
    if (mode.front === "yes") {
      if (stream.match(/^[\w-]+(?=\s*:)/)) return "propertyName";
      stream.next();
      stream.eatWhile(/[^{\w]/);
      return "string";
    }
    if (!mode.fence) {
      if (stream.match(/^`[^`]+`/)) return "monospace";
      if (stream.match(/^\*\*[^*]+\*\*|^__[^_]+__/)) return "strong";
      if (stream.match(/^\*[^*\s][^*]*\*|^_[^_\s][^_]*_(?!\w)/)) return "emphasis";
      if (stream.match(/^!?\[[^\]]*\]\([^)]*\)/)) return "link";
      if (stream.match(/^<!--.*?-->/)) return "comment";
    }
    stream.next();
    stream.eatWhile(/[^{`*_[<!\\]/);
    return mode.fence ? "monospace" : null;
  },
});

/** TOML, for manifests. */
const toml = StreamLanguage.define<Mode>({
  startState: start,
  copyState: (mode) => ({ ...mode }),
  token(stream, mode) {
    if (mode.fence) {
      if (stream.match(mode.fence)) { mode.fence = ""; return "string"; }
      stream.next();
      stream.eatWhile(mode.fence === '"""' ? /[^"]/ : /[^']/);
      return "string";
    }
    if (stream.eatSpace()) return null;
    if (stream.sol() || /^\s*$/.test(stream.string.slice(0, stream.start))) {
      if (stream.match(/^\[\[?[^\]]*\]\]?/)) return "heading";
      if (stream.match(/^[\w."'-]+(?=\s*=)/)) return "propertyName";
    }
    if (stream.match(/^#.*/)) return "comment";
    const long = stream.match(/^("""|''')/) as RegExpMatchArray | null;
    if (long) { mode.fence = long[1]!; return "string"; }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'[^']*'?/)) return "string";
    if (stream.match(/^(?:true|false)\b/)) return "atom";
    if (stream.match(/^[+-]?\d[\d_.:T-]*/)) return "number";
    stream.next();
    return "operator";
  },
});

const colours = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.processingInstruction, tags.keyword], color: "var(--moss)", fontWeight: "500" },
  { tag: [tags.variableName, tags.propertyName], color: "var(--moss)" },
  { tag: [tags.string, tags.number, tags.atom, tags.typeName], color: "var(--amber)" },
  { tag: [tags.comment, tags.meta, tags.quote, tags.list, tags.operator], color: "var(--mute)" },
  { tag: tags.link, color: "var(--moss)", textDecoration: "underline" },
  { tag: tags.monospace, color: "var(--ink)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "transparent", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "22px", overflow: "auto" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--moss)" },
  ".cm-line": { padding: "0 16px 0 8px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--mute)", border: "none", fontSize: "12px" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 14px", minWidth: "20px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--wash)" },
  ".cm-cursor": { borderLeftColor: "var(--moss)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--chosen)" },
  ".cm-selectionMatch": { backgroundColor: "var(--value)" },
  ".cm-specialChar": { color: "var(--rust)" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy 1px", textUnderlineOffset: "4px", textDecorationSkipInk: "none" },
  ".cm-lintRange-error": { textDecorationColor: "var(--rust)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--amber)" },
  ".cm-lintRange-info": { textDecorationColor: "var(--mute)" },
  ".cm-lintPoint::after": { borderBottomColor: "var(--rust)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--edge)", borderRadius: "8px", overflow: "hidden", fontFamily: "var(--sans)", fontSize: "13px" },
  ".cm-diagnostic": { padding: "6px 12px", maxWidth: "52ch", borderLeft: "3px solid transparent" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--rust)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--amber)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--edge)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-completionDetail": { marginLeft: "16px", color: "var(--mute)", fontFamily: "var(--sans)", fontStyle: "normal", fontSize: "12.5px" },
  ".cm-completionMatchedText": { fontWeight: "600", textDecoration: "none" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px", maxWidth: "44ch", whiteSpace: "pre-line" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--moss)", backgroundColor: "var(--wash)" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--sunk)", fontFamily: "var(--sans)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel button, .cm-panel input": { color: "var(--ink)", background: "var(--card)", border: "1px solid var(--edge)", borderRadius: "5px" },
  ".cm-searchMatch": { backgroundColor: "var(--value)", outline: "1px solid var(--moss)" },
});

function place(doc: Text, line: number | null, column: number | null, width: number): { from: number; to: number } {
  const at = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
  if (!column) return { from: at.from, to: at.to };
  // Columns and widths count characters, the editor counts units of UTF-16.
  const letters = [...at.text];
  const units = (count: number) => letters.slice(0, count).join("").length;
  const [from, to] = [at.from + units(column - 1), at.from + units(column - 1 + Math.max(width, 1))];
  // Behind the last letter there is nothing to underline.
  return { from: from === to ? Math.max(from - 1, at.from) : from, to };
}

/**
 * Typing over a selection: the browser would keep the look of what goes with styles of its own, which the policy of the
 * page refuses.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const { data } = event;
    if (event.inputType !== "insertText" || !data || empty || event.isComposing || view.state.selection.ranges.length > 1) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});

export function mount(root: ShadowRoot, options: EditorOptions): EditorHandle {
  let isQuiet = false;
  let isTyped = false;
  /** What can be typed is the server's to say; it is asked where a name, a template or a document can stand. */
  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    if (!context.explicit && !context.matchBefore(/(?:\{\{|\{%)(?:(?!\}\}|%\}).)*|\$\w*|=\s*["'][^"']*/)) return null;
    const found = await options.complete(context.pos);
    if (!found?.items.length || context.aborted) return null;
    return {
      from: found.from, to: found.to, ...(found.is_whole ? { validFor: /^\w*$/ } : {}),
      options: found.items.map((it) => ({ label: it.label, type: it.kind, ...(it.detail && { detail: it.detail }), ...(it.about && { info: it.about.replace(/[`*]/g, "") }) })),
    };
  };
  const language = { markdown: [markdown], toml: [toml], text: [] }[options.language] ?? [];
  const config = {
    extensions: [
      typedOver, lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
      highlightActiveLine(), highlightSelectionMatches(), closeBrackets(), search(), ...language,
      syntaxHighlighting(colours), look, EditorView.lineWrapping,
      ...(options.language === "text" ? [] : [autocompletion({ override: [complete], icons: false })]),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false", autocapitalize: "off", tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged || isQuiet) return;
        isTyped = true;
        options.changed(update.state.doc.toString());
      }),
    ],
  };
  const fields = { history: historyField };
  /** The state in which this text was left, with what can be undone. */
  const left = (text: string): EditorState | null => {
    try {
      const kept = isTyped ? null : JSON.parse(options.left() ?? "null") as { doc: string } | null;
      return kept?.doc === text ? EditorState.fromJSON(kept, config, fields) : null;
    } catch { return null; }
  };
  const view = new EditorView({ root, parent: root, state: left(options.text) ?? EditorState.create({ doc: options.text, ...config }) });
  return {
    replace(text) {
      const state = left(text);
      isQuiet = true;
      if (state) view.setState(state); else view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isQuiet = false;
    },
    mark(found: Found[]) {
      const diagnostics = found.map((it): Diagnostic => ({
        ...place(view.state.doc, it.line, it.column, it.width),
        severity: it.severity === "note" ? "info" : it.severity,
        message: it.help ? `${it.message}\n${it.help}` : it.message,
      }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    go(line, column) {
      const { from } = place(view.state.doc, line, column, 1);
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    focus() { view.focus(); },
    state: () => JSON.stringify(view.state.toJSON(fields)),
    end() { view.destroy(); },
  };
}
