//! `.prompt` files of Continue: a preamble without an opening line, `<system>`, `{{{ input }}}`.

use super::draft::ImportDraft;
use super::front::{SplitFile, split_and_read, split_preamble};
use super::turns::{Speaker, fold};
use super::words::EscapedWords;
use super::{ImportBatch, ImportItem, SourceFile, wished_name};

/// Reads one file.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    let front = split_preamble(&file.text, batch.limits);
    let front: SplitFile<'_> = front.unwrap_or_else(|| split_and_read(&file.text, batch.limits));
    let fields = &front.fields;
    let name = fields.text("name").map(str::to_owned);
    // A file may be called `terminal:debug.prompt.txt`: its name ends at `.prompt`.
    let path = match file.path.rfind(".prompt") {
        Some(end) => &file.path[..end],
        None => &file.path,
    };
    let wished = name.clone().unwrap_or_else(|| wished_name(path, ""));
    let mut draft = ImportDraft::new(&file.path, &wished, front.body, batch.limits);
    draft.title = name;
    draft.description = fields.text("description").map(Into::into);
    draft.repairs = front.repairs;
    let (system, rest) = system(front.body);
    let mut turns = Vec::new();
    if let Some(text) = system {
        turns.push((Speaker::System, input(text.trim(), &mut draft)));
    }
    turns.push((Speaker::User, input(&rest, &mut draft)));
    draft.messages = fold(turns, &mut draft.changes);
    vec![draft.finish(batch.limits)]
}

/// The text between `<system>` and `</system>`, and the text without it.
fn system(body: &str) -> (Option<&str>, String) {
    let found = body.find("<system>").and_then(|start| {
        let inner = start + "<system>".len();
        let end = inner + body[inner..].find("</system>")?;
        Some((start, inner, end))
    });
    match found {
        None => (None, body.to_owned()),
        Some((start, inner, end)) => {
            let rest = body[end + "</system>".len()..].trim_start();
            let text = format!("{}{rest}", &body[..start]);
            (Some(&body[inner..end]), text)
        }
    }
}

/// Words that Continue fills in itself.
const CONTEXT: [&str; 10] = [
    "currentFile",
    "diff",
    "open",
    "terminal",
    "problems",
    "clipboard",
    "codebase",
    "tree",
    "selection",
    "search",
];

/// Finds `{{{ input }}}`; all other braces are text.
fn input(text: &str, draft: &mut ImportDraft) -> EscapedWords {
    let mut words = EscapedWords::default();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let braces = if rest[start..].starts_with("{{{") {
            3
        } else {
            2
        };
        let close = &"}}}"[..braces];
        let inner = &rest[start + braces..];
        let Some(end) = inner.find(close) else { break };
        let name = inner[..end].trim();
        let until = start + 2 * braces + end;
        words.text(&rest[..start]);
        let written = &rest[start..until];
        let argument = (name == "input").then(|| draft.arguments.used(name));
        if let Some(argument) = argument.flatten() {
            words.value(&argument);
        } else {
            if CONTEXT.contains(&name) {
                let change = format!("`{written}` is filled in by Continue and stays as it is");
                draft.changes.push(change);
            }
            words.text(written);
        }
        rest = &rest[until..];
    }
    words.text(rest);
    words
}
