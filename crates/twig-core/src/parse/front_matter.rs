//! Front matter: the block between two `---` lines at the top of a Markdown file.
//!
//! [`split`] cuts, [`read`] understands. YAML is read strictly, within a budget, and strings stay
//! as their author wrote them.

use std::ops::Range;

use serde::Deserialize;

use crate::limits::Limits;

/// A file cut in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'a> {
    /// The text between the fences; `None` where there is no front matter.
    pub front: Option<&'a str>,
    /// Where that text stands in the file.
    pub front_span: Range<usize>,
    /// What follows.
    pub body: &'a str,
    /// An opening fence without a closing one: all of it is body.
    pub unterminated: bool,
}

/// Cuts a file into front matter and body.
///
/// The first line has to be `---` (blanks after it do not count); the block ends with the next line
/// that is `---` or `...`.
pub fn split(text: &str) -> Split<'_> {
    let whole = Split {
        front: None,
        front_span: 0..0,
        body: text,
        unterminated: false,
    };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return whole;
    };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Split {
                front: Some(&text[first.len()..at]),
                front_span: first.len()..at,
                body: &text[at + line.len()..],
                unterminated: false,
            };
        }
        at += line.len();
    }
    Split {
        unterminated: true,
        ..whole
    }
}

/// What a prompt's front matter says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FrontMatter {
    /// A name for people.
    pub title: Option<Scalar>,
    /// What the prompt does.
    pub description: Option<Scalar>,
}

/// A YAML scalar as its author wrote it: `no`, `017` and `12:30` stay text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Asking for a string makes the reader hand over the scalar's own text.
        String::deserialize(deserializer).map(Self)
    }
}

/// Front matter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatterError {
    /// What is wrong, in one line.
    pub message: String,
    /// The line inside the front matter, from 1.
    pub line: Option<usize>,
    /// The column there, from 1.
    pub column: Option<usize>,
    /// Whether it is only too long.
    pub is_limit: bool,
}

/// Reads front matter as strict YAML.
pub fn read(front: &str, limits: &Limits) -> Result<FrontMatter, FrontMatterError> {
    if front.len() > limits.front_matter {
        return Err(FrontMatterError {
            message: format!(
                "the front matter is {} bytes long; the limit is {}",
                front.len(),
                limits.front_matter
            ),
            line: None,
            column: None,
            is_limit: true,
        });
    }
    if front.trim().is_empty() {
        return Ok(FrontMatter::default());
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 64, max_depth: 64 },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(front, options).map_err(|error| {
        let location = error.location();
        FrontMatterError {
            message: first_line(&error.to_string()),
            line: location.and_then(|place| usize::try_from(place.line()).ok()),
            column: location.and_then(|place| usize::try_from(place.column()).ok()),
            is_limit: false,
        }
    })
}

fn first_line(message: &str) -> String {
    // The place is told apart, and in the file's own lines.
    let message = message
        .rfind(" at line ")
        .map_or(message, |at| &message[..at]);
    message
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned()
}
