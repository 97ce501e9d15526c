//! URIs of documents that may contain arguments, and may end in `/*` for a whole folder.

use super::BraceError;
use super::scan::{Slot, name_at, undeclared};
use crate::argument::Argument;
use crate::problem::{ProblemCode, Severity, shorten};
use crate::uri::encode;

/// A document's URI, or a folder's with `*`; it may contain arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriPattern {
    source: Box<str>,
    parts: Vec<UriPart>,
    /// True if it means every document directly in a folder: the `*` itself is no part.
    pub(crate) is_folder: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UriPart {
    Text(Box<str>),
    Argument(usize),
}

/// Characters of a URI that an error repeats.
const SHOWN: usize = 200;
/// The longest URI, in bytes, that is looked up.
const LONGEST: usize = 4096;

impl UriPattern {
    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// True if the argument with this index is used.
    pub(crate) fn uses(&self, argument: usize) -> bool {
        self.parts.contains(&UriPart::Argument(argument))
    }

    /// True if no argument is used.
    pub fn is_constant(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, UriPart::Text(_)))
    }

    /// The URI with values filled in; for a folder, with its `/`.
    ///
    /// A value is a single plain name: it can choose among siblings and reach nothing else. A value
    /// that is the whole URI is something the client could read by itself; it is looked up as it
    /// is. The error is the URI that does not exist, in a form that may be repeated.
    pub(crate) fn fill(&self, values: &[Option<&str>]) -> Result<String, String> {
        if let [UriPart::Argument(at)] = *self.parts {
            let value = values.get(at).copied().flatten().unwrap_or_default();
            return match value.len() {
                1..=LONGEST => Ok(value.to_owned()),
                _ => Err(self.shown(value)),
            };
        }
        let mut uri = String::with_capacity(self.source.len() + 32);
        let mut is_plain = true;
        for part in &self.parts {
            match part {
                UriPart::Text(text) => uri.push_str(text),
                UriPart::Argument(at) => {
                    let value = values.get(*at).copied().flatten().unwrap_or_default();
                    is_plain &= value.len() <= LONGEST && is_name(value);
                    if is_plain {
                        uri.push_str(&encode(value));
                    } else {
                        uri.extend(value.chars().take(SHOWN));
                    }
                }
            }
            if uri.len() > 2 * LONGEST {
                is_plain = false;
                break;
            }
        }
        if is_plain {
            return Ok(uri);
        }
        Err(self.shown(&uri))
    }

    /// A filled URI in the form that an error repeats.
    pub(crate) fn shown(&self, uri: &str) -> String {
        let star = if self.is_folder { "*" } else { "" };
        shorten(&format!("{uri}{star}"), SHOWN)
    }

    /// The URI before the argument, if the argument is the whole name of a document in a folder
    /// that is known beforehand.
    pub(crate) fn folder_before(&self, argument: usize) -> Option<&str> {
        match self.parts.as_slice() {
            [UriPart::Text(folder), UriPart::Argument(at)]
                if !self.is_folder && *at == argument && folder.ends_with('/') =>
            {
                Some(folder)
            }
            _ => None,
        }
    }

    /// Reads a whole field as a pattern.
    pub(crate) fn parse(source: &str, arguments: &[Argument]) -> (Option<Self>, Vec<BraceError>) {
        let mut mistakes = Vec::new();
        let (pattern, _) = read(source, 0, None, arguments, &mut mistakes);
        (pattern, mistakes)
    }
}

/// True if a value is one plain path segment.
fn is_name(value: &str) -> bool {
    let is_bad = |c: char| c.is_control() || matches!(c, '/' | '\\' | '*' | '%' | '?' | '#');
    !value.is_empty() && !value.contains("..") && value != "." && !value.contains(is_bad)
}

/// Reads a pattern that starts at a byte of a text: up to the `}}` of the slot that opened at
/// `slot`, or to the end of the text if there is no slot. Returns where to continue.
pub(super) fn read(
    source: &str,
    start: usize,
    slot: Option<usize>,
    arguments: &[Argument],
    mistakes: &mut Vec<BraceError>,
) -> (Option<UriPattern>, usize) {
    let open = slot.unwrap_or(start);
    let mut parts = Vec::new();
    let mut text = start;
    let mut at = start;
    let known = mistakes.len();
    let keep = |parts: &mut Vec<UriPart>, text: &str| {
        if !text.is_empty() {
            parts.push(UriPart::Text(text.into()));
        }
    };
    let end = loop {
        let rest = &source[at..];
        if rest.starts_with("{{") {
            let Some(Slot { name, range, end }) = name_at(source, at) else {
                let range = at..at + 2;
                mistakes.push(bad(range, "a URI takes `{{name}}` and no other braces"));
                return (None, at + 2);
            };
            keep(&mut parts, &source[text..at]);
            match arguments.iter().position(|known| *known.name == *name) {
                Some(argument) => parts.push(UriPart::Argument(argument)),
                None => mistakes.push(undeclared(name, range, arguments)),
            }
            at = end;
            text = end;
            continue;
        }
        if slot.is_some() && rest.starts_with("}}") {
            break at;
        }
        let Some(c) = rest.chars().next() else {
            if slot.is_some() {
                let message = "`{{resource:` has no closing `}}`";
                mistakes.push(bad(open..open + 2, message));
                return (None, at);
            }
            break at;
        };
        if c.is_whitespace() || c.is_control() || matches!(c, '{' | '}' | '"' | '<' | '>' | '\\') {
            let after = rest.trim_start_matches([' ', '\t']);
            if slot.is_some() && after.starts_with("}}") {
                break at;
            }
            let message = format!("a URI has no `{}` in it", c.escape_debug());
            mistakes.push(bad(at..at + c.len_utf8(), &message));
            return (None, at + c.len_utf8());
        }
        at += c.len_utf8();
    };
    keep(&mut parts, &source[text..end]);
    let after = source[end..].trim_start_matches([' ', '\t']);
    let next = source.len() - after.len() + if slot.is_some() { 2 } else { 0 };
    let written = &source[start..end];
    let is_folder = match stars(&mut parts) {
        Ok(is_folder) => is_folder,
        Err(message) => {
            mistakes.push(bad(start..end, message));
            return (None, next);
        }
    };
    // In a field of its own an argument may be the whole URI.
    let is_argument = slot.is_none() && matches!(*parts, [UriPart::Argument(_)]);
    if !is_argument && !has_scheme(&parts) {
        let message = "a document's URI begins with its scheme, such as `architecture://`";
        mistakes.push(bad(open..end.max(open + 1), message));
    }
    let pattern = UriPattern {
        source: written.into(),
        parts,
        is_folder,
    };
    ((mistakes.len() == known).then_some(pattern), next)
}

/// Removes the `*` at the end of a pattern; it is not allowed anywhere else.
fn stars(parts: &mut [UriPart]) -> Result<bool, &'static str> {
    let has_star = |part: &UriPart| matches!(part, UriPart::Text(text) if text.contains('*'));
    let mut is_folder = false;
    if let Some(UriPart::Text(last)) = parts.last_mut()
        && let Some(folder) = last.strip_suffix("/*")
    {
        *last = format!("{folder}/").into();
        is_folder = true;
    }
    if parts.iter().any(has_star) {
        return Err("`*` stands for every document of one folder: `…/*`, at the end only");
    }
    Ok(is_folder)
}

fn has_scheme(parts: &[UriPart]) -> bool {
    let Some(UriPart::Text(first)) = parts.first() else {
        return false;
    };
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    first.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_inner)
    })
}

fn bad(range: std::ops::Range<usize>, message: &str) -> BraceError {
    BraceError {
        code: ProblemCode::BadResource,
        severity: Severity::Error,
        range,
        message: message.to_owned(),
        help:
            "write `architecture://folder/name`, or `architecture://folder/*` for all of a folder"
                .to_owned(),
    }
}
