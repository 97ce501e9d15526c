//! What was found where, for people who wonder why a library is not there.

use std::path::PathBuf;

use twig_core::{Library, LibraryKind, Severity};

/// A place that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPlace {
    /// The folder.
    pub path: PathBuf,
    /// The folder as people like to read it.
    pub shown: String,
    /// Whether the person named it on the command line.
    pub named: bool,
    /// Why it was looked at.
    pub origin: PlaceOrigin,
    /// What it is.
    pub state: FoundState,
    /// The libraries in it, in order.
    pub libraries: Vec<FoundLibrary>,
    /// What is in it and is no library.
    pub skipped: Vec<Skipped>,
}

/// Why a place is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceOrigin {
    /// The person named it on the command line.
    Flag,
    /// It is a project's own folder.
    Project,
    /// The configuration remembers it.
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

/// What a place turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoundState {
    /// A folder that could be listed.
    Folder,
    /// Nothing is there.
    Missing,
    /// Something is there that is no folder.
    NotAFolder,
    /// The system does not let us look: why.
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
    /// Its folder as people like to read it.
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

/// Something that is no library, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name in the folder.
    pub name: String,
    /// Why it is none; reads on after the name.
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
