//! Prompts of other tools: files are gathered from a path, and what comes of them goes into a
//! library or a project. What the files mean is `twig-core`'s business.

mod gather;
mod library;
mod project;

pub use self::gather::{Gathered, gather};
pub use self::library::{LibraryPlan, plan_library, plan_library_locked};
pub use self::project::{ProjectPlan, plan_project};
use crate::locked_file::LockError;
use crate::root::sentence;

/// What becomes of one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is added.
    New,
    /// It is there already, word for word.
    Same,
    /// It is left, and why.
    Left(String),
}

/// Why an import cannot be; reads on after a path and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Nothing at the path.
    #[error("there is nothing there")]
    NotThere,
    /// The path cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// More files than are looked at.
    #[error("it holds more than {0} files")]
    TooManyFiles(usize),
    /// More bytes than are read.
    #[error("its files hold more than {0} bytes together")]
    TooManyBytes(usize),
    /// A folder of something else.
    #[error("it is there and is no library with a twig.toml")]
    NoLibrary,
    /// The manifest cannot be read.
    #[error("its twig.toml {0}")]
    Manifest(String),
    /// The manifest can be read and nothing can be added to it.
    #[error("prompts cannot be added to its twig.toml: {0}")]
    CannotAdd(String),
    /// Somebody wrote the manifest between reading and writing it.
    #[error("its twig.toml changed meanwhile, run it again")]
    Changed,
    /// There is no lock on the library.
    #[error("it was not changed: {0}")]
    Locked(String),
    /// A link that leads out of the library.
    #[error("{0} leads outside the library")]
    Outside(String),
    /// The disk said no.
    #[error("{path} cannot be written: {reason}")]
    Write {
        /// Which file.
        path: String,
        /// What the system said.
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
