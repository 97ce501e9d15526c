//! What was found where, for users who wonder why a library is missing.

use std::path::PathBuf;

use twig_core::{Library, LibraryKind, Severity};

/// A place that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPlace {
    /// The folder.
    pub path: PathBuf,
    /// The folder's path for display.
    pub shown: String,
    /// Whether the user named it on the command line.
    pub named: bool,
    /// Why it was searched.
    pub origin: PlaceOrigin,
    /// What it is.
    pub state: FoundState,
    /// The libraries in it, in order.
    pub libraries: Vec<FoundLibrary>,
    /// The entries that are not libraries.
    pub skipped: Vec<Skipped>,
}

/// Why a place is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceOrigin {
    /// The user named it on the command line.
    Flag,
    /// It is a project's own folder.
    Project,
    /// It is in the configuration.
    Configuration,
    /// It is the data folder.
    Data,
}

impl PlaceOrigin {
    /// The word for it in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Project => "project",
            Self::Configuration => "configuration",
            Self::Data => "data",
        }
    }
}

/// The state of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoundState {
    /// A folder that could be listed.
    Folder,
    /// It does not exist.
    Missing,
    /// It is not a folder.
    NotAFolder,
    /// The system refuses access: why.
    Unreadable(String),
}

/// A library that was found, with counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLibrary {
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: LibraryKind,
    /// Its folder.
    pub root: PathBuf,
    /// Its folder's path for display.
    pub shown_root: String,
    /// Prompts that can be served.
    pub prompts: usize,
    /// Prompts that cannot.
    pub unavailable: usize,
    /// Skills, each of which is a prompt too.
    pub skills: usize,
    /// Problems known without reading bodies; notes do not count.
    pub problems: usize,
}

/// An entry that is not a library, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name in the folder.
    pub name: String,
    /// Why it is not a library; continues a sentence after the name.
    pub why: &'static str,
}

impl FoundLibrary {
    pub(crate) fn of(library: &Library) -> Self {
        let unavailable = library
            .prompts
            .iter()
            .filter(|prompt| prompt.unavailable.is_some())
            .count();
        Self {
            name: library.name.to_string(),
            kind: library.kind,
            root: PathBuf::from(&*library.root),
            shown_root: library.shown_root.to_string(),
            prompts: library.prompts.len() - unavailable,
            unavailable,
            skills: library.skills.len(),
            problems: library
                .problems
                .iter()
                .filter(|problem| problem.severity != Severity::Note)
                .count(),
        }
    }
}
