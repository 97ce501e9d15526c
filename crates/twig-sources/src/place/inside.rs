//! What is directly in a place.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::listing::is_leftover;

/// What is directly in a place; what is hidden or left over is not there.
#[derive(Default)]
pub(super) struct PlaceContents {
    /// Names of folders and links, sorted.
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
