//! Why a template failed, in our words.
//!
//! A message may quote the template, never a value: values are private data, and messages end up in
//! logs.

use std::error::Error as _;
use std::ops::Range;

use minijinja::{Error, ErrorKind};

use super::FUEL;
use super::methods::{CHANGES, cannot_change};
use super::operands::Rewritten;
use super::undeclared::place_of;
use super::unknown::COMPUTED_URI;
use crate::problem::locate;
use crate::render_error::{RenderError, TemplatePlace};
use crate::suggest::did_you_mean;
use crate::template::scan::unclosed_comment;

/// What minijinja says of a comment without an end; it means the end of the template.
const COMMENT_END: &str = "unexpected end of comment";

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

/// Marks an error of our own filters: its sentence quotes no values.
#[derive(Debug, thiserror::Error)]
#[error("a filter of Twig refuses this")]
struct OwnFault;

/// The error of a filter or method of our own; the sentence must not quote a value.
pub(crate) fn fault(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, sentence.into()).with_source(OwnFault)
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
        source_of: impl FnOnce(&str) -> Option<Rewritten>,
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
        let written = source_of(&template).unwrap_or_default();
        let source = &*written.original;
        let undefined = undefined_name(error);
        let mut line = error.line().and_then(|line| u32::try_from(line).ok());
        let range = error.range().map(|range| written.original_range(range));
        let mut range = range.map(|range| clamp(source, range));
        if let Some(name) = &undefined
            && let Some(place) = place_of(source, name, range.as_ref(), line)
        {
            range = Some(place);
        }
        let comment = (error.detail() == Some(COMMENT_END)).then(|| unclosed_comment(source));
        if let Some(place) = comment.flatten() {
            range = Some(place);
        }
        if let Some(range) = &range {
            // minijinja counts lines in 16 bits; bytes are exact.
            line = Some(locate(source, range.clone()).line);
        }
        Self {
            message: match &undefined {
                Some(name) => format!("undefined variable '{name}'"),
                None => message(error, source),
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
    if let Some(cause) = error.source()
        && cause.is::<OwnFault>()
    {
        return detail.to_owned();
    }
    match error.kind() {
        ErrorKind::UnknownFilter => unknown("filter", detail, source, &FILTERS),
        ErrorKind::UnknownTest => unknown("test", detail, source, &TESTS),
        ErrorKind::UnknownFunction => unknown("function", detail, source, &FUNCTIONS),
        ErrorKind::UnknownMethod => no_method(detail),
        ErrorKind::SyntaxError if detail == COMMENT_END => {
            "the comment has no end: `#}` is missing".to_owned()
        }
        ErrorKind::SyntaxError => lower_first(detail.trim_end_matches('.')),
        _ if detail.starts_with("tried to use")
            && (detail.ends_with("string and number") || detail.ends_with("number and string")) =>
        {
            format!("{detail}; convert the text with `|int`")
        }
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
    if (what, name) == ("function", "resource") {
        return COMPUTED_URI.to_owned();
    }
    match absent(name).or_else(|| did_you_mean(name, known.iter().copied())) {
        Some(hint) => format!("unknown {what} `{name}`; {hint}"),
        None => format!("unknown {what} `{name}`"),
    }
}

/// Why a filter or function of Jinja2 is left out.
pub(super) fn absent(name: &str) -> Option<String> {
    let why = match name {
        "random" | "shuffle" | "lipsum" => {
            "the same values always give the same text, so pass the choice as an argument"
        }
        "now" | "strftime" | "strftime_now" => {
            "the same values always give the same text, so pass the time as an argument"
        }
        "urlize" | "xmlattr" => "it writes HTML, which prompts do not need",
        _ => return None,
    };
    Some(why.to_owned())
}

/// Python's methods on strings are filters here.
fn no_method(detail: &str) -> String {
    let name = detail.rsplit(' ').next().unwrap_or_default();
    if CHANGES.contains(&name) {
        return cannot_change(name);
    }
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

/// The filters of the engine, for suggestions; a test compares them with the engine.
pub(super) const FILTERS: [&str; 56] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "center",
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
    "forceescape",
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
    "wordwrap",
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

/// The functions of the engine.
pub(super) const FUNCTIONS: [&str; 5] = ["cycler", "dict", "joiner", "namespace", "range"];
