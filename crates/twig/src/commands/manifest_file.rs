//! The `twig.toml` of a library, opened to be changed: locked, beneath the folder that it may not
//! leave, and replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use twig_core::Library;
use twig_core::parse::library::MANIFEST;
use twig_sources::{LockError, LockedFile, NewFile, PROJECT, create_beneath};

use crate::command_error::{CommandError, not_locked, reason};
use crate::places::Places;

/// A manifest that no other Twig changes meanwhile.
pub(super) struct ManifestFile {
    locked: LockedFile,
    /// Its path for people.
    pub(super) shown: String,
    /// Its text when it was opened.
    pub(super) text: String,
}

impl ManifestFile {
    pub(super) fn open(places: &Places, library: &Library) -> Result<Self, CommandError> {
        let root = Path::new(&*library.root);
        let shown = places.shown(&root.join(MANIFEST));
        let locked = lock(places, root, Path::new(MANIFEST))?;
        let text = locked.read().and_then(|bytes| {
            let bytes = bytes.ok_or(io::ErrorKind::NotFound)?;
            String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
        });
        let text = text.map_err(|error| {
            CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)))
        })?;
        Ok(Self {
            locked,
            shown,
            text,
        })
    }

    /// Writes another text in its place.
    pub(super) fn replace(&self, text: &str) -> Result<(), CommandError> {
        let before = Some(self.text.as_bytes());
        let replaced = self
            .locked
            .replace(before, text.as_bytes(), NewFile::SHARED);
        replaced.map_err(|error| {
            CommandError::fixable(format!(
                "{} cannot be changed: {}",
                self.shown,
                reason(&error)
            ))
        })
    }
}

/// Locks a file of a library.
pub(super) fn lock(places: &Places, root: &Path, path: &Path) -> Result<LockedFile, CommandError> {
    let shown = places.shown(&root.join(path));
    let (base, inner) = base_of(root);
    LockedFile::open_beneath(base, &inner.join(path)).map_err(|error| match error {
        LockError::Outside => outside(&shown),
        error => not_locked(&shown, &error),
    })
}

/// Creates a file of a library, with its folders.
pub(super) fn create(
    places: &Places,
    root: &Path,
    path: &Path,
    content: impl AsRef<[u8]>,
) -> Result<(), CommandError> {
    let folder = path.parent().map(|folder| root.join(folder));
    if let Some(folder) = folder.filter(|folder| folder.exists() && !is_inside(folder, root)) {
        return Err(outside(&places.shown(&folder)));
    }
    let (base, inner) = base_of(root);
    write_new(places, base, &inner.join(path), content)
}

/// Creates a new file beneath a folder.
pub(super) fn write_new(
    places: &Places,
    base: &Path,
    path: &Path,
    content: impl AsRef<[u8]>,
) -> Result<(), CommandError> {
    let written = create_beneath(base, path, content.as_ref());
    written.map_err(|error| cannot_make(places, &base.join(path), &error))
}

pub(super) fn cannot_make(places: &Places, path: &Path, error: &io::Error) -> CommandError {
    let shown = places.shown(path);
    match error.kind() {
        io::ErrorKind::AlreadyExists => CommandError::fixable(format!("{shown} is already there")),
        _ => CommandError::fixable(format!("{shown} cannot be made: {}", reason(error))),
    }
}

/// The folder that writes to a library may not leave, and the library's path beneath it. A `.twig`
/// folder is part of a project, which may belong to another user and replace it by a symlink.
fn base_of(root: &Path) -> (&Path, &Path) {
    match (root.parent(), root.file_name()) {
        (Some(project), Some(name)) if name == PROJECT => (project, Path::new(name)),
        _ => (root, Path::new("")),
    }
}

fn is_inside(folder: &Path, root: &Path) -> bool {
    match (canonical(folder), canonical(root)) {
        (Some(folder), Some(root)) => folder.starts_with(root),
        _ => false,
    }
}

fn canonical(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn outside(shown: &str) -> CommandError {
    CommandError::fixable(format!("{shown} leads outside the library"))
}
