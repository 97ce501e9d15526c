//! The bodies port, filled from disk: a stat to see whether a body changed, a careful read where it
//! did.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use twig_core::{Blob, Bodies, Body, BodyError, Library, Limits, RelativePath, Stamp};

use crate::live::LiveCatalog;
use crate::reader::{Patience, read_bytes, read_text};
use crate::root::body_error;
use crate::stamp::FileStamp;

/// What is read of any file, whatever the person's own limits are.
const AT_LEAST: usize = 1024 * 1024;

/// The most that is read of one file; what a template may measure is seen to later.
pub(crate) fn most(limits: &Limits) -> usize {
    limits.template_source.max(AT_LEAST)
}

impl Bodies for LiveCatalog {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        let root = Path::new(&*library.root);
        let limit = most(&self.settings().limits);
        let read = read_text(root, path.as_str(), limit, Patience::BODY)?;
        Ok(Body {
            text: read.text,
            has_mark: read.has_mark,
            stamp: stamp_of(&read.stamp),
        })
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        let root = Path::new(&*library.root);
        let read = read_bytes(root, path.as_str(), limit, Patience::BODY)?;
        Ok(Blob {
            bytes: read.bytes,
            stamp: stamp_of(&read.stamp),
        })
    }

    /// One plain `stat`: it reads nothing, and a path that was bent to lead outside has another
    /// inode, so that the stamp differs and the read that follows refuses.
    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        thread_local! {
            static FULL: RefCell<String> = const { RefCell::new(String::new()) };
        }
        FULL.with_borrow_mut(|full| {
            full.clear();
            full.push_str(&library.root);
            full.push('/');
            full.push_str(path.as_str());
            match std::fs::metadata(full.as_str()) {
                Ok(metadata) if metadata.is_file() => Ok(stamp_of(&FileStamp::of(&metadata))),
                Ok(metadata) if metadata.is_dir() => Err(BodyError::NotAFile("a folder")),
                Ok(_) => Err(BodyError::NotAFile("something else")),
                Err(error) => Err(body_error(&error)),
            }
        })
    }
}

/// A stamp that equals another one only where the text is sure to be the same.
///
/// While a file is so young that another write could leave the same times, each look gets a number
/// of its own, so that whoever compares reads again.
fn stamp_of(stamp: &FileStamp) -> Stamp {
    static LOOKS: AtomicU64 = AtomicU64::new(1);
    if stamp.is_settled() {
        return Stamp(stamp.digest());
    }
    let look = LOOKS.fetch_add(1, Ordering::Relaxed);
    Stamp(stamp.digest() ^ look.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
