//! Why a file was not edited, and where in it.

/// A file that cannot be edited as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub(crate) struct EditError {
    pub(crate) message: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// What to change, if the file is valid but written in a form that Twig does not edit.
    pub(crate) advice: Option<String>,
}

impl EditError {
    /// An error at a position in the text, in bytes.
    pub(crate) fn at(text: &str, place: usize, message: impl Into<String>) -> Self {
        let before = text.get(..place).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            message: message.into(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            advice: None,
        }
    }

    /// Adds what to change in a valid file.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self {
            advice: Some(advice.into()),
            ..self
        }
    }
}
