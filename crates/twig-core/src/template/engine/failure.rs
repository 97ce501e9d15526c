//! Why a template failed, in our words.
//!
//! A message may quote the template, never a value: values are private data, and messages end up in
//! logs.

use std::error::Error as _;
use std::ops::Range;

use minijinja::{Error, ErrorKind};

use super::FUEL;
use super::undeclared::place_of;
use crate::problem::locate;
use crate::render_error::{RenderError, TemplatePlace};
use crate::suggest::did_you_mean;

/// Why a template could not be compiled or rendered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EngineError {
    /// The template it happened in (`library:path`), empty if that is unknown.
    pub template: String,
    /// True if it is the requested template, not one it includes.
    pub in_main: bool,
    /// The line in that template, from 1.
    pub line: Option<u32>,
    /// The bytes in that template's source.
    pub range: Option<Range<usize>>,
    /// What happened, such as `undefined variable 'x'`.
    pub message: String,
    /// True if a limit ended it, not a mistake.
    pub is_limit: bool,
    /// The undefined variable, if that was the failure.
    pub undefined: Option<String>,
}

/// The error for the client that asked for the prompt.
impl From<EngineError> for RenderError {
    fn from(failure: EngineError) -> Self {
        if failure.is_limit {
            return Self::Limit(failure.sentence());
        }
        Self::Template {
            sentence: failure.sentence(),
            place: failure.place().map(Box::new),
        }
    }
}

/// How the lines of a template map to its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct TemplateLines {
    /// Lines of the file before the template's first.
    pub(crate) before: u32,
    /// True if the file has all of it on one line, with escaped line ends.
    pub(crate) folded: bool,
}

impl TemplateLines {
    /// The line in the file.
    pub(crate) fn in_file(self, line: u32) -> u32 {
        self.before + if self.folded { 1 } else { line }
    }
}

impl EngineError {
    /// A limit was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self {
            template: String::new(),
            in_main: true,
            line: None,
            range: None,
            message: message.into(),
            is_limit: true,
            undefined: None,
        }
    }

    /// The same failure as seen from the prompt `main`, with its lines counted in its file.
    pub(crate) fn seen_from(mut self, main: &str, lines: TemplateLines) -> Self {
        self.in_main = self.template == main || self.template.is_empty();
        if self.in_main {
            self.line = self.line.map(|line| lines.in_file(line));
        }
        self
    }

    /// The sentence that a client sees.
    pub fn sentence(&self) -> String {
        if self.is_limit {
            return self.message.clone();
        }
        match (self.line, self.in_main) {
            (Some(line), true) => {
                format!(
                    "Error rendering prompt template at line {line}: {}",
                    self.message
                )
            }
            (Some(line), false) => format!(
                "Error rendering prompt template at line {line} of {}: {}",
                self.template, self.message
            ),
            (None, _) => format!("Error rendering prompt template: {}", self.message),
        }
    }

    /// The place, as far as it is known. A text in a manifest has its first line in its name.
    fn place(&self) -> Option<TemplatePlace> {
        let (library, path) = self.template.split_once(':')?;
        let file = path.split_once('#').map_or(path, |(file, _)| file);
        Some(TemplatePlace {
            library: library.to_owned(),
            file: file.to_owned(),
            line: self.line,
        })
    }

    /// Converts minijinja's error; `source_of` returns a template's text by its name.
    pub(super) fn from_error(
        error: &Error,
        recursion_limit: usize,
        source_of: impl FnOnce(&str) -> Option<String>,
    ) -> Self {
        let error = innermost(error);
        if error.kind() == ErrorKind::OutOfFuel {
            return Self::limit(error.detail().map_or_else(
                || format!("the template needs too many steps; the limit is {FUEL}"),
                str::to_owned,
            ));
        }
        if error.detail() == Some("recursion limit exceeded") {
            return Self::limit(format!(
                "the template nests calls too deeply; the limit is {recursion_limit} frames"
            ));
        }
        let template = error.name().unwrap_or_default().to_owned();
        let source = source_of(&template).unwrap_or_default();
        let undefined = undefined_name(error);
        let mut line = error.line().and_then(|line| u32::try_from(line).ok());
        let mut range = error.range().map(|range| clamp(&source, range));
        if let Some(name) = &undefined
            && let Some(place) = place_of(&source, name, range.as_ref(), line)
        {
            range = Some(place);
        }
        if let Some(range) = &range {
            // minijinja counts lines in 16 bits; bytes are exact.
            line = Some(locate(&source, range.clone()).line);
        }
        Self {
            message: match &undefined {
                Some(name) => format!("undefined variable '{name}'"),
                None => message(error, &source),
            },
            template,
            in_main: true,
            line,
            range,
            is_limit: false,
            undefined,
        }
    }
}

/// The innermost error, without the includes and blocks around it.
fn innermost(error: &Error) -> &Error {
    let mut error = error;
    while let Some(inner) = error.source().and_then(|source| source.downcast_ref()) {
        error = inner;
    }
    error
}

fn clamp(source: &str, range: Range<usize>) -> Range<usize> {
    let end = range.end.min(source.len());
    range.start.min(end)..end
}

/// minijinja ends such a detail with "`x` is undefined", sometimes in brackets.
fn undefined_name(error: &Error) -> Option<String> {
    let detail = error.detail()?;
    let name = &detail[..detail.rfind("` is undefined")?];
    let start = match name.rfind(" (`") {
        Some(at) if !name.starts_with('`') => at + 3,
        _ => 1,
    };
    name.get(start..).map(str::to_owned)
}

fn message(error: &Error, source: &str) -> String {
    let Some(detail) = error.detail() else {
        return error.kind().to_string();
    };
    match error.kind() {
        ErrorKind::UnknownFilter => unknown("filter", detail, source, &FILTERS),
        ErrorKind::UnknownTest => unknown("test", detail, source, &TESTS),
        ErrorKind::UnknownFunction => unknown("function", detail, source, &FUNCTIONS),
        ErrorKind::UnknownMethod => no_method(detail),
        ErrorKind::SyntaxError => lower_first(detail.trim_end_matches('.')),
        _ if detail.starts_with("unable to calculate") => {
            "the numbers are out of range for this calculation".to_owned()
        }
        _ => {
            let detail = detail.replace("plain object", "an argument without a value");
            hide_values(&lower_first(detail.trim_end_matches('.')), source)
        }
    }
}

/// `filter x is unknown` becomes ``unknown filter `x`; did you mean `y`?``
fn unknown(what: &str, detail: &str, source: &str, known: &[&str]) -> String {
    let name = detail.strip_suffix(" is unknown").unwrap_or(detail);
    let name = name.strip_prefix(what).map_or(name, str::trim_start);
    // A name that the template does not spell out came from a value.
    if !source.contains(name) {
        return format!("unknown {what}");
    }
    match did_you_mean(name, known.iter().copied()) {
        Some(hint) => format!("unknown {what} `{name}`; {hint}"),
        None => format!("unknown {what} `{name}`"),
    }
}

/// Python's methods on strings are filters here.
fn no_method(detail: &str) -> String {
    let name = detail.rsplit(' ').next().unwrap_or_default();
    if FILTERS.contains(&name) {
        return format!("{detail}; write `|{name}` instead");
    }
    detail.to_owned()
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Hides quoted text unless the template itself contains it.
fn hide_values(detail: &str, source: &str) -> String {
    let mut shown = String::with_capacity(detail.len());
    let mut rest = detail;
    while let Some(start) = rest.find(['\'', '"', '`']) {
        let quote = &rest[start..=start];
        let after = &rest[start + 1..];
        let Some(length) = after.rfind(quote) else {
            break;
        };
        let quoted = &after[..length];
        shown.push_str(&rest[..=start]);
        shown.push_str(if source.contains(quoted) {
            quoted
        } else {
            "…"
        });
        shown.push_str(quote);
        rest = &after[length + 1..];
    }
    shown.push_str(rest);
    shown
}

/// The filters of minijinja, for suggestions; a test compares them with the engine.
pub(super) const FILTERS: [&str; 53] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "zip",
];

/// The named tests of minijinja.
pub(super) const TESTS: [&str; 24] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "even",
    "false",
    "float",
    "in",
    "integer",
    "iterable",
    "lower",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "upper",
];

/// The functions of minijinja.
pub(super) const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];
