//! Parses text into nodes: one pass, each byte read a bounded number of times, no recursion.

use std::ops::Range;

use super::uri;
use super::{BraceError, BraceNode};
use crate::argument::Argument;
use crate::problem::{ProblemCode, Severity, shorten};
use crate::suggest;

/// Mistakes of one text that are reported.
const TOLD: usize = 20;
const BLANKS: [char; 2] = [' ', '\t'];

pub(super) fn scan(source: &str, arguments: &[Argument]) -> (Vec<BraceNode>, Vec<BraceError>) {
    let mut nodes = Vec::new();
    let mut mistakes = Vec::new();
    let mut text = 0;
    let mut at = 0;
    while let Some(found) = source[at..].find("{{") {
        let open = at + found;
        match slot(source, open, arguments, &mut mistakes) {
            (Some(node), end) => {
                if text < open {
                    nodes.push(BraceNode::Text(text..open));
                }
                nodes.push(node);
                text = end;
                at = end;
            }
            (None, end) => at = end,
        }
        // There is at most one warning, so with this many mistakes some are errors, and the result
        // is not used.
        if mistakes.len() > TOLD {
            break;
        }
    }
    if text < source.len() {
        nodes.push(BraceNode::Text(text..source.len()));
    }
    mistakes.extend(statement(source));
    mistakes.truncate(TOLD);
    (nodes, mistakes)
}

/// A name between double braces, spaces around it allowed.
pub(super) struct Slot<'s> {
    pub(super) name: &'s str,
    pub(super) range: Range<usize>,
    /// After the closing braces.
    pub(super) end: usize,
}

/// The `{{name}}` that opens at a byte.
pub(super) fn name_at(source: &str, open: usize) -> Option<Slot<'_>> {
    let inner = source[open + 2..].trim_start_matches(BLANKS);
    let start = source.len() - inner.len();
    let name = word(inner);
    let after = inner[name.len()..].trim_start_matches(BLANKS);
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (starts_well && after.starts_with("}}")).then(|| Slot {
        name,
        range: start..start + name.len(),
        end: source.len() - after.len() + 2,
    })
}

pub(super) fn undeclared(name: &str, range: Range<usize>, arguments: &[Argument]) -> BraceError {
    let shown = shorten(name, 64);
    let names = arguments.iter().map(|argument| &*argument.name);
    let help = match name {
        "else" | "this" => CONDITIONS.to_owned(),
        _ => suggest::did_you_mean(name, names).unwrap_or_else(|| {
            format!("declare it: {{\"name\": \"{shown}\", \"required\": true}}")
        }),
    };
    BraceError {
        code: ProblemCode::UnknownVariable,
        severity: Severity::Error,
        range,
        message: format!("`{shown}` is used but not declared in `arguments`"),
        help,
    }
}

const CONDITIONS: &str = "write instructions that hold for any input, or set \"template\": \"jinja\" and use `{% if name %}…{% endif %}`";

/// Reads a slot that opens at a byte: a node, or nothing, and where to continue.
fn slot(
    source: &str,
    open: usize,
    arguments: &[Argument],
    mistakes: &mut Vec<BraceError>,
) -> (Option<BraceNode>, usize) {
    let behind = &source[open + 2..];
    let mut refuse = |code, range: Range<usize>, message: String, help: &str| {
        mistakes.push(BraceError {
            code,
            severity: Severity::Error,
            range,
            message,
            help: help.to_owned(),
        });
    };
    if behind.starts_with('{') {
        let end = source.len() - behind.trim_start_matches('{').len();
        let message = "three braces mean nothing here: values are never escaped".to_owned();
        refuse(
            ProblemCode::UnsupportedSyntax,
            open..end,
            message,
            "write `{{name}}`",
        );
        return (None, end);
    }
    if let Some(found) = name_at(source, open) {
        let Slot { name, range, end } = found;
        if let Some(argument) = arguments.iter().position(|known| *known.name == *name) {
            return (Some(BraceNode::Argument(argument)), end);
        }
        mistakes.push(undeclared(name, range, arguments));
        return (None, end);
    }
    let inner = behind.trim_start_matches(BLANKS);
    let start = source.len() - inner.len();
    if let Some(uri) = inner.strip_prefix("resource:") {
        let uri = uri.trim_start_matches(BLANKS);
        let start = source.len() - uri.len();
        let (pattern, end) = uri::read(source, start, Some(open), arguments, mistakes);
        return (pattern.map(BraceNode::Documents), end);
    }
    if let Some(sign) = inner.chars().next().filter(|c| "#/>!^&".contains(*c)) {
        let word = word(&inner[1..]);
        let shown = format!("{{{{{sign}{}", shorten(word, 32));
        let message = format!(
            "`{shown}` is not supported: conditions, loops, parts and comments are not part of `{{{{name}}}}`"
        );
        let end = start + 1 + word.len();
        refuse(
            ProblemCode::UnsupportedSyntax,
            open..end,
            message,
            CONDITIONS,
        );
        return (None, end);
    }
    let word = word(inner);
    let end = start + word.len();
    if word == "resource" {
        let help = "write `{{resource:architecture://folder/name}}`";
        let message = "`resource` takes a URI after a colon".to_owned();
        refuse(ProblemCode::BadResource, open..end, message, help);
    } else if arguments.iter().any(|known| *known.name == *word)
        && mistakes
            .iter()
            .all(|known| known.severity == Severity::Error)
    {
        mistakes.push(BraceError {
            code: ProblemCode::LiteralBraces,
            severity: Severity::Warning,
            range: open..end,
            message: format!(
                "`{{{{{word}` and what follows is text: only `{{{{{word}}}}}` is replaced"
            ),
            help: format!(
                "write `{{{{{word}}}}}`, or set \"template\": \"jinja\" for filters and fields"
            ),
        });
    }
    (None, end.max(open + 2))
}

/// The letters, digits and `_` that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// A Jinja statement, which is plain text here.
fn statement(source: &str) -> Option<BraceError> {
    let start = source.find("{%")?;
    let end = start + source[start..].find("%}")? + 2;
    Some(BraceError {
        code: ProblemCode::LiteralBraces,
        severity: Severity::Warning,
        range: start..end,
        message: "`{% … %}` is text here".to_owned(),
        help: "set \"template\": \"jinja\" beside \"name\" to have it run".to_owned(),
    })
}
