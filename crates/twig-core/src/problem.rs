//! Mistakes in a library, reported the same way everywhere.

mod code;
mod of_file;

use std::fmt;
use std::ops::Range;

pub use self::code::ProblemCode;
pub use self::of_file::LineStarts;
pub(crate) use self::of_file::{FileProblems, more_problems};

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something is not served.
    Error,
    /// It is served, but probably not as intended.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A mistake in a library: what, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// What kind of problem it is.
    pub code: ProblemCode,
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in; absolute if the source is a folder.
    pub path: Box<str>,
    /// Its line, from 1.
    pub line: Option<u32>,
    /// Its column in characters, from 1.
    pub column: Option<u32>,
    /// What is wrong, in one sentence without a final period.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// The line itself, with the affected part.
    pub excerpt: Option<Excerpt>,
    /// The folder of another library that is involved, such as the one that is served instead.
    pub other_library: Option<Box<str>>,
}

/// One line of a file and the part of it that a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Excerpt {
    /// The line, without its end.
    pub text: Box<str>,
    /// Characters before the part.
    pub start: usize,
    /// Characters of the part, at least one.
    pub width: usize,
}

/// The longest excerpt, in characters: a minified file should not flood a terminal.
const EXCERPT_LIMIT: usize = 200;

impl Problem {
    /// A problem with a whole file.
    pub fn of_file(
        code: ProblemCode,
        severity: Severity,
        path: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            path: path.into(),
            line: None,
            column: None,
            message: message.into(),
            help: None,
            excerpt: None,
            other_library: None,
        }
    }

    /// A problem with a range of bytes in a text.
    pub fn at(
        code: ProblemCode,
        severity: Severity,
        path: &str,
        text: &str,
        range: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self::of_file(code, severity, path, message).placed(locate(text, range))
    }

    /// The same problem at a place.
    fn placed(mut self, place: Location) -> Self {
        self.place(place);
        self
    }

    /// Says where the problem is.
    pub(crate) fn place(&mut self, place: Location) {
        self.line = Some(place.line);
        self.column = Some(place.column);
        self.excerpt = place.excerpt;
    }

    /// The same problem with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One line: `path:line:column: severity[code]: message; help`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(
            f,
            ": {}[{}]: {}",
            self.severity.as_str(),
            self.code,
            self.message
        )?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// The place of a range of bytes, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The line's text.
    pub excerpt: Option<Excerpt>,
}

/// Finds line, column and excerpt of a range; a range past the end means the end.
///
/// It walks through the text: for many places of one text, use [`LineStarts`].
pub fn locate(text: &str, range: Range<usize>) -> Location {
    let start = floor_boundary(text, range.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[..line_start].bytes().filter(|b| *b == b'\n').count() + 1;
    location(text, line_start, line, range)
}

/// The place of a range that begins in the line with this start and number.
fn location(text: &str, line_start: usize, line: usize, range: Range<usize>) -> Location {
    let start = floor_boundary(text, range.start);
    let end = floor_boundary(text, range.end.max(start));
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let before = text[line_start..start].chars().count();
    let excerpt = (line_end - line_start <= EXCERPT_LIMIT * 4
        && text[line_start..line_end].chars().count() <= EXCERPT_LIMIT)
        .then(|| Excerpt {
            text: text[line_start..line_end].trim_end_matches('\r').into(),
            start: before,
            width: text[start..end.min(line_end).max(start)]
                .chars()
                .count()
                .max(1),
        });
    Location {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(before + 1).unwrap_or(u32::MAX),
        excerpt,
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A word, quoted for a shell if it has to be.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What the help of a problem ends with while its library is served as it last could be read.
pub const SERVED_MEANWHILE: &str = "the prompts of the last good version are served meanwhile";

/// At most `limit` characters of a text, with `…` where something was omitted.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        for plain in [
            "review",
            "~/my.prompts/a-b_c",
            "a:b",
            "KEY=1",
            "x@y",
            "50%",
            "+x",
        ] {
            assert_eq!(shell_word(plain), plain);
        }
        for (word, quoted) in [
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
            ("a;b", "'a;b'"),
            ("`id`", "'`id`'"),
            ("a\nb", "'a\nb'"),
            ("*", "'*'"),
            ("#x", "'#x'"),
            ("!x", "'!x'"),
            ("{a,b}", "'{a,b}'"),
            ("Größe", "'Größe'"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
