//! The bodies port, filled from disk: a stat to see whether a body changed, a careful read where it
//! did.

use std::cell::RefCell;
use std::fs::Metadata;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use twig_core::parse::library::source_of;
use twig_core::store::{Digest, content_of};
use twig_core::{
    Blob, Bodies, Body, BodyError, Kind, Library, Limits, Prompt, RelativePath, Stamp,
};

use crate::live::LiveCatalog;
use crate::reader::{Patience, read_bytes, read_text};
use crate::root::body_error;
use crate::stamp::FileStamp;

/// What is read of any file, whatever the person's own limits are.
const AT_LEAST: usize = 1024 * 1024;

/// The most that is read of one file; what a template may measure is seen to later.
pub(crate) fn most(limits: &Limits) -> usize {
    limits.template_source.max(limits.verbatim).max(AT_LEAST)
}

impl LiveCatalog {
    /// What a path of a project's library leads to: always the same, whatever is written meanwhile.
    fn stored(&self, path: &RelativePath) -> Result<(Vec<u8>, Stamp), BodyError> {
        let digest = digest(path)?;
        let project = self.project().ok_or(BodyError::NotFound)?;
        let bytes = project.content(&digest).map_err(BodyError::Store)?;
        Ok((bytes, stamp_of_digest(&digest)))
    }
}

fn digest(path: &RelativePath) -> Result<Digest, BodyError> {
    content_of(path).ok_or(BodyError::NotFound)
}

fn stamp_of_digest(digest: &Digest) -> Stamp {
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    Stamp(u64::from_le_bytes(first))
}

impl Bodies for LiveCatalog {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        if library.kind == Kind::Store {
            let (bytes, stamp) = self.stored(path)?;
            let text = String::from_utf8(bytes).map_err(|error| BodyError::NotUtf8 {
                offset: error.utf8_error().valid_up_to(),
            })?;
            return Ok(Body {
                text,
                has_mark: false,
                stamp,
            });
        }
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
        if library.kind == Kind::Store {
            let (bytes, stamp) = self.stored(path)?;
            if bytes.len() > limit {
                let size = bytes.len() as u64;
                return Err(BodyError::TooLarge { size, limit });
            }
            return Ok(Blob { bytes, stamp });
        }
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
        if library.kind == Kind::Store {
            return digest(path).map(|digest| stamp_of_digest(&digest));
        }
        match metadata(library, path.as_str()) {
            Ok(metadata) if metadata.is_file() => Ok(stamp_of(&FileStamp::of(&metadata))),
            Ok(metadata) if metadata.is_dir() => Err(BodyError::NotAFile("a folder")),
            Ok(_) => Err(BodyError::NotAFile("something else")),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// One plain `stat`, too. A file that is not there is being saved, or gone for good: the look
    /// that follows its event tells.
    fn is_current(&self, library: &Library, prompt: &Prompt) -> bool {
        let Some(source) = source_of(library, prompt) else {
            return true;
        };
        match metadata(library, source) {
            Ok(metadata) => self.is_read(library, source, &FileStamp::of(&metadata)),
            Err(_) => true,
        }
    }

    fn renew(&self, library: &Library) {
        self.look_again(library);
    }
}

/// What `stat` says of a file of a library.
fn metadata(library: &Library, path: &str) -> std::io::Result<Metadata> {
    thread_local! {
        static FULL: RefCell<String> = const { RefCell::new(String::new()) };
    }
    FULL.with_borrow_mut(|full| {
        full.clear();
        full.push_str(&library.root);
        full.push('/');
        full.push_str(path);
        std::fs::metadata(full.as_str())
    })
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
