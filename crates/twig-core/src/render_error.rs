//! Why a prompt could not be rendered, in sentences for the client that asked.

use crate::argument::Argument;
use crate::body::{BodyError, FileRole};
use crate::model::{Library, LibraryKind};

/// Why a prompt could not be rendered; each says what to do next.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The prompt was refused when its library was loaded.
    #[error("{0}")]
    Unavailable(Box<str>),
    /// Required arguments without a value, all of them.
    #[error("{}", missing_sentence(.0))]
    MissingArguments(Vec<Argument>),
    /// The same in the words of definitions, which always use the plural.
    #[error("Missing required arguments: {}", names(.0))]
    MissingRequired(Vec<Argument>),
    /// Unknown arguments, if the prompt refuses them.
    #[error("{}{}", unknown_sentence(.names), near_sentence(.near.as_deref()))]
    UnknownArguments {
        /// All of them, as they were given.
        names: Vec<String>,
        /// What was most likely meant.
        near: Option<String>,
    },
    /// A document that does not exist.
    #[error("Resource not found: {uri}")]
    MissingDocument {
        /// Its URI, shortened if it is long.
        uri: String,
    },
    /// A value that is none of the choices.
    #[error("Argument `{argument}` must be one of: {}", .choices.join(", "))]
    NotAChoice {
        /// The argument.
        argument: Box<str>,
        /// The allowed values.
        choices: Vec<Box<str>>,
    },
    /// More characters than allowed.
    #[error("Argument `{argument}` has {length} characters; the limit is {limit}")]
    TooLong {
        /// The argument.
        argument: Box<str>,
        /// Its length.
        length: usize,
        /// The maximum length.
        limit: u32,
    },
    /// The same in the words of definitions.
    #[error("Argument '{argument}' exceeds maximum length of {limit} characters")]
    ExceedsLength {
        /// The argument.
        argument: Box<str>,
        /// The maximum length.
        limit: u32,
    },
    /// A value that does not match its pattern.
    #[error("Argument `{argument}` does not match the pattern `{pattern}`")]
    NoMatch {
        /// The argument.
        argument: Box<str>,
        /// The pattern.
        pattern: Box<str>,
    },
    /// More bytes than the server accepts.
    #[error("{what} exceeds the limit of {limit} bytes")]
    ValueTooLarge {
        /// What is too large.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// A body that cannot be read.
    #[error("{}", .error.sentence(FileRole::PromptText, .path))]
    Body {
        /// The file, as shown to people.
        path: String,
        /// What is wrong with it.
        error: BodyError,
    },
    /// The template is wrong, or fails with these values.
    #[error("{sentence}")]
    Template {
        /// What happened.
        sentence: String,
        /// Where, if that is known.
        place: Option<Box<TemplatePlace>>,
    },
    /// A prompt function that printed no prompt; not the caller's mistake.
    #[error("{0}")]
    Function(String),
    /// The same if its output is invalid. The message may quote the output, and so the values of
    /// the arguments.
    #[error("The function of prompt `{prompt}` {what}")]
    FunctionOutput {
        /// The prompt.
        prompt: Box<str>,
        /// What is wrong with it.
        what: String,
    },
    /// A limit that protects the server; not the caller's mistake.
    #[error("{0}")]
    Limit(String),
}

/// A line of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePlace {
    /// The name of the library that has the file.
    pub library: String,
    /// The file, from the library's folder.
    pub file: String,
    /// The line in the file, from 1.
    pub line: Option<u32>,
}

impl RenderError {
    /// The arguments that have to be given before the prompt can be rendered.
    pub fn missing_arguments(&self) -> Option<&[Argument]> {
        match self {
            Self::MissingArguments(missing) | Self::MissingRequired(missing) => Some(missing),
            _ => None,
        }
    }

    /// The error reworded where it names files or repeats the output of a program.
    #[must_use]
    pub fn reworded(self, reword: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unavailable(sentence) => Self::Unavailable(reword(&sentence).into()),
            Self::Body { path, error } => Self::Body {
                path: reword(&path),
                error,
            },
            Self::Template { sentence, place } => Self::Template {
                sentence: reword(&sentence),
                place,
            },
            Self::Function(sentence) => Self::Function(reword(&sentence)),
            Self::FunctionOutput { prompt, what } => Self::FunctionOutput {
                prompt,
                what: reword(&what),
            },
            Self::Limit(sentence) => Self::Limit(reword(&sentence)),
            error => error,
        }
    }

    /// The error in the words of the contract of a library's kind.
    pub(crate) fn worded_for(self, kind: LibraryKind) -> Self {
        match (kind, self) {
            (LibraryKind::Definitions, Self::MissingArguments(missing)) => {
                Self::MissingRequired(missing)
            }
            (
                LibraryKind::Definitions,
                Self::TooLong {
                    argument, limit, ..
                },
            ) => Self::ExceedsLength { argument, limit },
            (_, error) => error,
        }
    }
}

pub(crate) fn body_error(
    library: &Library,
    path: impl std::fmt::Display,
    error: BodyError,
) -> RenderError {
    RenderError::Body {
        path: library.shown_path_of(path),
        error,
    }
}

fn missing_sentence(missing: &[Argument]) -> String {
    let plural = if missing.len() == 1 { "" } else { "s" };
    format!("Missing required argument{plural}: {}", names(missing))
}

fn unknown_sentence(names: &[String]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("Unknown argument{plural}: {}", names.join(", "))
}

fn names(arguments: &[Argument]) -> String {
    let names: Vec<&str> = arguments.iter().map(|argument| &*argument.name).collect();
    names.join(", ")
}

fn near_sentence(near: Option<&str>) -> String {
    near.map(|near| format!("; {near}")).unwrap_or_default()
}
