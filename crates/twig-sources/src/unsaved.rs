//! Texts that an editor has and has not saved, by file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::{Library, RelativePath, StoredVersion};

/// Texts by the absolute paths of their files, or by the version in a store that they would follow. A
/// file that is not on disk is not a library's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnsavedTexts {
    files: BTreeMap<PathBuf, Arc<str>>,
    versions: Vec<(StoredVersion, Arc<str>)>,
}

impl UnsavedTexts {
    /// Keeps the text of a file.
    pub fn insert(&mut self, path: PathBuf, text: impl Into<Arc<str>>) {
        self.files.insert(path, text.into());
    }

    /// Keeps the text that would follow a version in a store.
    pub fn insert_after(&mut self, version: StoredVersion, text: impl Into<Arc<str>>) {
        self.versions.push((version, text.into()));
    }

    /// The text that would follow a version.
    pub(crate) fn of_version(&self, version: &StoredVersion) -> Option<&Arc<str>> {
        let mut versions = self.versions.iter();
        let found = versions.find(|(after, _)| after == version);
        found.map(|(_, text)| text)
    }

    /// Forgets the text of a file: what is on disk counts again.
    pub fn remove(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// The text of a file.
    pub fn text(&self, path: &Path) -> Option<&Arc<str>> {
        self.files.get(path)
    }

    /// The files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.keys()
    }

    /// True if it has a text of a file in this folder.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        let mut from = self.files.range(folder.to_path_buf()..);
        from.next()
            .is_some_and(|(path, _)| path.starts_with(folder))
    }

    /// The text of a library's file.
    pub(crate) fn body(&self, library: &Library, path: &RelativePath) -> Option<&Arc<str>> {
        self.text(Path::new(&library.path_of(path)))
    }
}
