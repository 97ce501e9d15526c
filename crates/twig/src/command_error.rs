//! Every error that ends a command early, as one type; its `From` impls are the only place that
//! picks a kind and writes a hint.

use std::io;

use serde::Serialize;
use twig_core::store::StoreError;
use twig_core::{Problem, RenderError};
use twig_sources::LockError;

/// The kind of error that ended a command; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The user can fix it.
    Fixable,
    /// The command line is wrong in a way that clap cannot detect.
    Usage,
    /// Our bug.
    Internal,
    /// The reader of our output has closed it.
    ClosedPipe,
}

impl ErrorKind {
    /// The word for it in JSON.
    fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Fixable => "failed",
            ErrorKind::Usage => "usage",
            ErrorKind::Internal => "internal",
            ErrorKind::ClosedPipe => "closed-pipe",
        }
    }

    pub(crate) fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Fixable => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Internal => 70,
            ErrorKind::ClosedPipe => 0,
        }
    }
}

/// An error that ends a command, as reported to the user.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// An error as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport<'e> {
    error: ErrorRow<'e>,
}

#[derive(Debug, Serialize)]
struct ErrorRow<'e> {
    kind: &'static str,
    message: &'e str,
    hints: &'e [String],
}

impl<'e> From<&'e CommandError> for ErrorReport<'e> {
    fn from(error: &'e CommandError) -> Self {
        Self {
            error: ErrorRow {
                kind: error.kind.as_str(),
                message: &error.message,
                hints: &error.hints,
            },
        }
    }
}

impl CommandError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn fixable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fixable, message)
    }

    /// A mistake in a file because of which something was not done; `shown` is the file's path.
    pub(crate) fn mistake(what: &str, shown: &str, problem: &Problem) -> Self {
        let line = problem.line.map(|line| format!(":{line}"));
        let line = line.unwrap_or_default();
        let error = Self::fixable(format!("{what}: {shown}{line}: {}", problem.message));
        problem.help.iter().fold(error, Self::hint)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.kind == ErrorKind::ClosedPipe
    }
}

/// The system's reason in words, without error numbers.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is not a folder".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        _ => error.to_string(),
    }
}

/// A file or folder that could not be locked, and so was not changed.
pub(crate) fn not_locked(shown: &str, error: &LockError) -> CommandError {
    let why = match error {
        LockError::Io(error) => reason(error),
        error => error.to_string(),
    };
    let error_of = CommandError::fixable(format!("{shown} was not changed: {why}"));
    match error {
        LockError::Busy => error_of.hint("try again when the other command has ended"),
        _ => error_of,
    }
}

impl From<clap::Error> for CommandError {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.trim().split("\n\n");
        let first = parts.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let hints = parts.map(|part| part.trim().to_owned());
        hints.fold(Self::new(ErrorKind::Usage, message), Self::hint)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => ErrorKind::ClosedPipe,
            _ => ErrorKind::Fixable,
        };
        Self::new(kind, reason(&error))
    }
}

impl From<RenderError> for CommandError {
    fn from(error: RenderError) -> Self {
        Self::fixable(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::NotBase64 { .. } => {
                Some("read the bytes themselves with `-c @FILE` or `-c -`")
            }
            StoreError::NotText { .. } => Some("say what it is with `-m`, such as `-m image/png`"),
            StoreError::Offline { .. } | StoreError::NoDatabase { .. } => {
                Some("`twig doctor` shows its address and what it answers")
            }
            _ => None,
        };
        let place = error.path().map(|path| {
            let what = if path.is_dir() { "folder" } else { "file" };
            format!("the {what} is {}", path.display())
        });
        let hints = place.into_iter().chain(hint.map(str::to_owned));
        hints.fold(Self::fixable(error.to_string()), Self::hint)
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(
            ErrorKind::Internal,
            format!("could not write JSON: {error}"),
        )
    }
}
