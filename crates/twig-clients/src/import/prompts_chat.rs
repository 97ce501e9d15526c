//! The catalogue of prompts.chat: CSV, one prompt per row, with `${name}` and `${name:default}`.

mod code;
mod table;

use std::collections::BTreeSet;

use self::code::Code;
use self::table::rows;
use super::draft::ImportDraft;
use super::words::EscapedWords;
use super::{ImportBatch, ImportItem, SourceFile};
use twig_core::limits::Limits;
use twig_core::model::Role;

pub(super) use self::table::is_catalogue;

/// Reads every row.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let mut rows = rows(text);
    let Some(header) = rows.next() else {
        return vec![ImportItem::left(&file.path, "it is empty")];
    };
    let column = |names: &[&str]| {
        let is_it = |cell: &String| {
            names
                .iter()
                .any(|name| cell.trim().eq_ignore_ascii_case(name))
        };
        header.cells.iter().position(is_it)
    };
    let (Some(title), Some(prompt)) = (column(&["act", "title"]), column(&["prompt"])) else {
        let why = "its first row names no columns `act` and `prompt`";
        return vec![ImportItem::left(&file.path, why)];
    };
    let kind = column(&["type"]);
    let rows = rows
        .enumerate()
        .filter(|(_, row)| row.cells.iter().any(|cell| !cell.is_empty()));
    rows.map(|(at, row)| {
        let from = format!("{}, row {}", file.path, at + 1);
        if let Some(line) = row.open_quote {
            let why = format!(
                "the quote in line {line} does not close, so that the row does not end: close it and import again"
            );
            return ImportItem::left(from, why);
        }
        let cell = |at: usize| row.cells.get(at).map(String::as_str);
        match (cell(title), cell(prompt)) {
            (Some(title), Some(text)) => {
                let kind = kind.and_then(cell).unwrap_or_default();
                row_item(&from, title, text, kind, batch.limits)
            }
            _ => ImportItem::left(from, "the row has no prompt"),
        }
    })
    .collect()
}

fn row_item(from: &str, title: &str, text: &str, kind: &str, limits: &Limits) -> ImportItem {
    let mut draft = ImportDraft::new(from, title, text, limits);
    // A row that moves keeps its name.
    draft.key = format!("{title}\n{text}");
    draft.title = Some(title.to_owned());
    draft.is_literal = true;
    match kind.trim() {
        "IMAGE" => draft
            .notes
            .push("is for models that generate images".to_owned()),
        "STRUCTURED" => draft
            .notes
            .push("is structured data, such as JSON".to_owned()),
        _ => {}
    }
    match draft.check_length(limits) {
        Err(why) if text.contains("${") => draft.keep_as_it_is(&why, limits),
        Err(_) => draft.messages.push((Role::User, EscapedWords::of(text))),
        Ok(()) => {
            let words = placeholders(text, &mut draft);
            draft.messages.push((Role::User, words));
        }
    }
    draft.finish(limits)
}

/// Finds `${name}` and `${name:default}`; code stays as it is.
fn placeholders(text: &str, draft: &mut ImportDraft) -> EscapedWords {
    let mut words = EscapedWords::default();
    let code = Code::of(text);
    let all: Vec<FoundPlaceholder<'_>> = find(text).collect();
    // No language writes `${name:some words}`: such a placeholder counts even in code.
    let with_words = all.iter().filter(|found| found.has_words());
    let with_words: BTreeSet<&str> = with_words.map(|found| found.name).collect();
    let is_meant = |name: &str| name.contains(' ') || with_words.contains(name);
    let is_placeholder =
        |found: &&FoundPlaceholder<'_>| !code.covers(found) || is_meant(found.name);
    let found: Vec<&FoundPlaceholder<'_>> = all.iter().filter(is_placeholder).collect();
    for found in found.iter().copied() {
        if draft.arguments.used(found.name).is_some()
            && let Some(default) = found.default
            && !draft.arguments.offer_default(found.name, default)
        {
            let change = format!(
                "`{}` has two defaults: the first counts, not `{default}`",
                found.name
            );
            draft.changes.push(change);
        }
    }
    let mut at = 0;
    for found in found.iter().copied() {
        words.text(&text[at..found.start]);
        at = found.start + found.written.len();
        match draft.arguments.used(found.name) {
            // Without a value, there is still the default.
            Some(argument) if draft.arguments.has_default(found.name) => words.value(&argument),
            Some(argument) => words.value_or(&argument, found.written),
            None => words.text(found.written),
        }
    }
    words.text(&text[at..]);
    words
}

/// A placeholder and its place.
struct FoundPlaceholder<'t> {
    start: usize,
    written: &'t str,
    name: &'t str,
    default: Option<&'t str>,
}

impl FoundPlaceholder<'_> {
    /// True if it has a default that no language would read as an operator.
    fn has_words(&self) -> bool {
        let first = self.default.and_then(|default| default.chars().next());
        first.is_some_and(char::is_alphabetic)
    }
}

/// Everything that looks like a placeholder, in order.
fn find(text: &str) -> impl Iterator<Item = FoundPlaceholder<'_>> {
    text.match_indices("${").filter_map(|(start, _)| {
        let inner = &text[start + 2..];
        let end = inner.find(['}', '{', '\n'])?;
        if inner.as_bytes()[end] != b'}' || text[..start].ends_with(['\\', '$']) {
            return None;
        }
        let inner = &inner[..end];
        let (name, default) = match inner.split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.trim();
        // `${NAME:-text}` is shell syntax.
        let is_shell = default.is_some_and(|text| text.starts_with(['-', '=', '?', '+']));
        (is_name(name) && !is_shell).then(|| FoundPlaceholder {
            start,
            written: &text[start..=start + 2 + end],
            name,
            default: default.map(str::trim),
        })
    })
}

/// Words that a person would fill in: letters, digits and separators.
fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    let is_good = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '\'' | '’' | '/' | '&' | ',')
    };
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(is_good)
        && name.chars().count() <= 80
        && !SHELL.contains(&name)
}

/// Variables that every shell has: they are no arguments.
const SHELL: [&str; 16] = [
    "HOME",
    "PATH",
    "USER",
    "PWD",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "TERM",
    "TMPDIR",
    "EDITOR",
    "UID",
    "LOGNAME",
    "OLDPWD",
    "IFS",
    "RANDOM",
    "BASH_SOURCE",
];
