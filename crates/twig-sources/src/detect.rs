//! Detects what a folder is by its path and layout, never by the contents of its files.

mod layout;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use twig_clients::clients::{PromptFolder, prompt_folders};
use twig_core::LibraryKind;
use twig_core::parse::functions::{LIST, SCRIPT};
use twig_core::parse::library::MANIFEST;

pub(crate) use self::layout::FolderLayout;
use crate::client_folder::{MANY_ENTRIES, at};
use crate::library_files::is_definition;
use crate::listing::{Listing, is_leftover};
use crate::root::Root;
use crate::stamp::{SeenStamp, is_absence};

/// Folders of definitions; the first that has any is used.
pub(crate) const DEFINITIONS: [&str; 2] = ["prompts", "mcp/prompts"];

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

/// The well-known folders of a project or home; one that cannot be examined counts if `was` says
/// that it existed.
pub(crate) fn inside(
    project: &Path,
    was: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = (PathBuf, &'static PromptFolder)> {
    let names = hidden_names(project);
    let may_be = move |known: &&PromptFolder| {
        let first = known.path.split('/').next().unwrap_or_default();
        let is_hidden = first.starts_with('.');
        let names = names.as_ref().filter(|_| is_hidden);
        names.is_none_or(|names| names.contains(OsStr::new(first)))
    };
    let known = prompt_folders().filter(may_be);
    let all = known.map(move |known| (project.join(known.path), known));
    all.filter(move |(path, _)| match path.metadata() {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => !is_absence(&error) && was(path),
    })
}

/// The names of the hidden entries of a folder, so that the many folders that cannot exist there are
/// not asked for; `None` if it cannot be listed, or has too many entries.
fn hidden_names(folder: &Path) -> Option<HashSet<OsString>> {
    let mut names = HashSet::new();
    for (count, entry) in fs::read_dir(folder).ok()?.enumerate() {
        if count == MANY_ENTRIES {
            return None;
        }
        let name = entry.ok()?.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            names.insert(name);
        }
    }
    Some(names)
}

/// The folders of a project, or of a home, that clients read.
pub fn well_known_folders(project: &Path) -> Vec<PathBuf> {
    inside(project, |_| false).map(|(path, _)| path).collect()
}

/// Whether a path is a folder that a client reads, by the path's end.
pub fn is_well_known(path: &Path) -> bool {
    at(path).is_some()
}

/// How the prompts in a project's own folder are read; `None` if there are none yet.
pub fn project_kind(root: &Path) -> Option<LibraryKind> {
    if root.join(MANIFEST).symlink_metadata().is_ok() {
        Some(LibraryKind::Twig)
    } else if has_functions(root, false) {
        Some(LibraryKind::Functions)
    } else {
        has_definitions(root).then_some(LibraryKind::Definitions)
    }
}

/// Whether a folder is laid out like a library of definitions.
pub(crate) fn has_definitions(root: &Path) -> bool {
    DEFINITIONS
        .into_iter()
        .any(|prompts| has_json(root, prompts))
}

/// Whether a folder beneath it has definitions.
pub(crate) fn has_json(root: &Path, folder: &str) -> bool {
    let list = || Listing::read(&Root::open(root)?, folder);
    let is_json = |name: &str| !is_leftover(name) && is_definition(name);
    SeenStamp::at(&root.join(folder)).is_there()
        && list().is_ok_and(|listing| listing.names().any(is_json))
}

/// Whether a folder has both files of a library of functions. If it was such a library before,
/// either file is enough, and the missing one is its problem.
pub(crate) fn has_functions(root: &Path, was_one: bool) -> bool {
    let is_there = |name: &str| match root.join(name).symlink_metadata() {
        Ok(_) => true,
        Err(error) => was_one && !is_absence(&error),
    };
    let files = [LIST, SCRIPT];
    if was_one {
        files.into_iter().any(is_there)
    } else {
        files.into_iter().all(is_there)
    }
}
