//! The direct entries of a place.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::listing::is_leftover;

/// The direct entries of a place, without hidden and leftover ones.
#[derive(Default)]
pub(super) struct PlaceContents {
    /// Names of folders and symlinks, sorted.
    pub(super) folders: Vec<OsString>,
}

impl PlaceContents {
    pub(super) fn list(path: &Path) -> io::Result<Self> {
        let mut inside = Self::default();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if is_leftover(&name.to_string_lossy()) {
                continue;
            }
            if kind.is_dir() || kind.is_symlink() {
                inside.folders.push(name);
            }
        }
        inside.folders.sort_unstable();
        Ok(inside)
    }
}
