//! Whether a folder has a manifest.

use std::io;
use std::path::Path;
use std::time::Duration;

use twig_core::parse::library::MANIFEST;

use crate::stamp::{Seen, is_absence};

/// What is seen of a folder's manifest; `None` where it has none, an error where there is no
/// telling.
pub(super) fn manifest_at(folder: &Path, was_there: bool) -> io::Result<Option<Seen>> {
    let path = folder.join(MANIFEST);
    let look = || {
        let seen = Seen::at(&path);
        if seen.is_there() {
            return Ok(Some(seen));
        }
        match path.symlink_metadata() {
            // A link that leads nowhere is a manifest too, one with a problem.
            Ok(_) => Ok(Some(seen)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(_) if was_there => Ok(Some(seen)),
            Err(error) => Err(error),
        }
    };
    let found = look()?;
    if found.is_some() || !was_there {
        return Ok(found);
    }
    // Some editors move the old file away before they write the new one.
    let seen = Seen::at(folder);
    let wait = seen
        .stamp()
        .and_then(|stamp| stamp.until_quiet(Duration::from_millis(8)));
    match wait {
        Some(wait) => {
            std::thread::sleep(wait);
            look()
        }
        None => Ok(None),
    }
}
