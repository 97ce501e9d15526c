//! Whether a folder has a manifest.

use std::io;
use std::path::Path;

use twig_core::parse::library::MANIFEST;

use crate::patience::look_twice;
use crate::stamp::{SeenStamp, is_absence};

/// The stamp of a folder's manifest; `None` if it has none, an error if that is unknown.
pub(super) fn manifest_at(folder: &Path, was_there: bool) -> io::Result<Option<SeenStamp>> {
    let path = folder.join(MANIFEST);
    let look = || {
        let seen = SeenStamp::at(&path);
        if seen.is_there() {
            return Ok(Some(seen));
        }
        match path.symlink_metadata() {
            // A broken symlink is a manifest, too, one with a problem.
            Ok(_) => Ok(Some(seen)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(_) if was_there => Ok(Some(seen)),
            Err(error) => Err(error),
        }
    };
    if !was_there {
        return look();
    }
    look_twice(folder, look, |found| matches!(found, Ok(None)))
}
