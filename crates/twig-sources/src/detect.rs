//! Detects what a folder is by its path and layout, never by the contents of its files.

mod layout;

use std::path::{Path, PathBuf};

use twig_clients::clients::{PromptFolder, prompt_folders};
use twig_core::LibraryKind;

pub(crate) use self::layout::FolderLayout;
use crate::stamp::is_absence;

/// A library, and its name unless its folder's name is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetectedLibrary {
    pub(crate) root: PathBuf,
    pub(crate) kind: LibraryKind,
    pub(crate) name: Option<String>,
    /// Subfolders that are libraries themselves.
    pub(crate) inner: Vec<PathBuf>,
}

impl DetectedLibrary {
    fn new(root: PathBuf, kind: LibraryKind, name: Option<String>) -> Self {
        Self {
            root,
            kind,
            name,
            inner: Vec::new(),
        }
    }

    /// The library of a folder that a client reads.
    pub(crate) fn at(known: &PromptFolder, root: PathBuf, kind: Option<LibraryKind>) -> Self {
        let kind = kind.unwrap_or(known.kind);
        Self::new(root, kind, Some(known.name.to_owned()))
    }
}

/// The well-known folder at a path, detected by the path's end.
pub(crate) fn at(path: &Path) -> Option<&'static PromptFolder> {
    prompt_folders().find(|known| path.ends_with(known.path))
}

/// The project folder, or the home, of a library's folder.
pub(crate) fn project_of(root: &Path) -> Option<&Path> {
    let parts = at(root).map_or(1, |known| known.path.split('/').count());
    root.ancestors().nth(parts)
}

/// The well-known folders of a project or home; one that cannot be examined counts if `was` says
/// that it existed.
pub(crate) fn inside(
    project: &Path,
    was: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = (PathBuf, &'static PromptFolder)> {
    let all = prompt_folders().map(move |known| (project.join(known.path), known));
    all.filter(move |(path, _)| match path.metadata() {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => !is_absence(&error) && was(path),
    })
}

/// The folders of a project, or of a home, that clients read.
pub fn well_known_folders(project: &Path) -> Vec<PathBuf> {
    inside(project, |_| false).map(|(path, _)| path).collect()
}

/// Whether a path is a folder that a client reads, by the path's end.
pub fn is_well_known(path: &Path) -> bool {
    at(path).is_some()
}
