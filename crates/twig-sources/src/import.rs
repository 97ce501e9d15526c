//! Imports prompts of other tools: gathers files from a path and writes the resulting prompts to a
//! library or a project. `twig-core` interprets the files.

mod gather;
mod library;
mod project;

pub use self::gather::{Gathered, gather, gather_files};
pub use self::library::{LibraryPlan, plan_library, plan_library_locked};
pub use self::project::{ProjectPlan, plan_project};
use crate::locked_file::LockError;
use crate::root::sentence;

/// The result for one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is added.
    New,
    /// It exists already, word for word.
    Same,
    /// It is not imported, and why.
    Left(String),
}

/// Why an import failed; continues a sentence after a path and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The path does not exist.
    #[error("there is nothing there")]
    NotThere,
    /// The path cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// More files than the limit.
    #[error("it holds more than {0} files")]
    TooManyFiles(usize),
    /// More bytes than the limit.
    #[error("its files hold more than {0} bytes together")]
    TooManyBytes(usize),
    /// A folder that is not a library.
    #[error("it exists and is not a library with a twig.toml")]
    NoLibrary,
    /// The manifest cannot be read.
    #[error("its twig.toml {0}")]
    Manifest(String),
    /// The manifest can be read, but not extended.
    #[error("prompts cannot be added to its twig.toml: {0}")]
    CannotAdd(String),
    /// Another program wrote the manifest after it was read.
    #[error("its twig.toml changed meanwhile, run it again")]
    Changed,
    /// The library could not be locked.
    #[error("it was not changed: {0}")]
    Locked(String),
    /// A symlink that points out of the library.
    #[error("{0} leads outside the library")]
    Outside(String),
    /// Writing to the disk failed.
    #[error("{path} cannot be written: {reason}")]
    Write {
        /// Which file.
        path: String,
        /// The system's error.
        reason: String,
    },
}

impl From<LockError> for ImportError {
    fn from(error: LockError) -> Self {
        Self::Locked(match error {
            LockError::Io(error) => sentence(&error),
            error => error.to_string(),
        })
    }
}
