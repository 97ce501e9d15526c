//! A bounded cache of document contents. An entry is valid until its file changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::body::{Blob, Bodies, BodyError, Stamp};
use crate::document::{Contents, Document, DocumentSource};
use crate::model::{Library, SKILL_SCHEME};
use crate::stored_version::StoredVersion;

/// How many bytes of contents are kept.
const ROOM: usize = 4 * 1024 * 1024;
/// How many bytes remain after eviction: less than the limit, so that the next few documents fit.
const LEFT: usize = ROOM / 4 * 3;

/// Reads documents on demand and keeps the most recent ones.
#[derive(Debug, Default)]
pub struct DocumentCache {
    kept: Mutex<CachedContents>,
}

#[derive(Debug, Default)]
struct CachedContents {
    /// By library folder, then by path.
    entries: HashMap<Box<str>, HashMap<Box<str>, CachedDocument>>,
    weight: usize,
    clock: u64,
}

#[derive(Debug)]
struct CachedDocument {
    contents: Arc<Contents>,
    stamp: Stamp,
    used: u64,
}

impl DocumentCache {
    /// The current contents of a document: one that changed is read again.
    pub fn read(
        &self,
        bodies: &dyn Bodies,
        library: &Library,
        document: &Document,
        limit: usize,
    ) -> Result<Arc<Contents>, BodyError> {
        let read = self.read_stamped(bodies, library, document, limit);
        read.map(|(contents, _)| contents)
    }

    /// The same, with the stamp of exactly these contents.
    pub fn read_stamped(
        &self,
        bodies: &dyn Bodies,
        library: &Library,
        document: &Document,
        limit: usize,
    ) -> Result<(Arc<Contents>, Stamp), BodyError> {
        // A name in a store means its last version; the stamp says which one that is.
        let path = document.place();
        // Look up first and compare afterwards: the lock is not held while the disk is read.
        let found = self.lock().find(&library.root, path);
        if let Some((contents, stamp)) = found
            && document_stamp(bodies, library, document)? == stamp
            && contents.len() <= limit
        {
            return Ok((contents, stamp));
        }
        let read = document_bytes(bodies, library, document, limit)?;
        let contents = Arc::new(match (&document.source, document.is_text) {
            // Stored content is served as it was stored, including a byte-order mark.
            (DocumentSource::Stored(_), false) => Contents::Bytes(read.bytes),
            (DocumentSource::Stored(_), true) => Contents::exactly(read.bytes),
            // So is a skill's file: clients compare it with the digest in the skill's list.
            _ if document.uri.starts_with(SKILL_SCHEME) && !read.bytes.contains(&0) => {
                Contents::exactly(read.bytes)
            }
            _ => Contents::of(read.bytes),
        });
        let kept = Arc::clone(&contents);
        self.lock().keep(&library.root, path, kept, read.stamp);
        Ok((contents, read.stamp))
    }

    fn lock(&self) -> MutexGuard<'_, CachedContents> {
        // After a panic with the lock held, at worst an entry is missing.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedContents {
    fn find(&mut self, root: &str, path: &str) -> Option<(Arc<Contents>, Stamp)> {
        self.clock += 1;
        let entry = self.entries.get_mut(root)?.get_mut(path)?;
        entry.used = self.clock;
        Some((Arc::clone(&entry.contents), entry.stamp))
    }

    fn keep(&mut self, root: &str, path: &str, contents: Arc<Contents>, stamp: Stamp) {
        if contents.len() > ROOM / 2 {
            return;
        }
        self.clock += 1;
        self.weight += contents.len();
        let entry = CachedDocument {
            contents,
            stamp,
            used: self.clock,
        };
        let of_library = self.entries.entry(root.into()).or_default();
        if let Some(old) = of_library.insert(path.into(), entry) {
            self.weight -= old.contents.len();
        }
        if self.weight > ROOM {
            self.forget_oldest();
        }
    }

    /// Evicts the least recently used entries until few enough bytes remain.
    fn forget_oldest(&mut self) {
        let entries = self.entries.values().flat_map(HashMap::values);
        let mut by_use: Vec<(u64, usize)> = entries
            .map(|entry| (entry.used, entry.contents.len()))
            .collect();
        by_use.sort_unstable();
        let mut newest_to_go = 0;
        for (used, length) in by_use {
            if self.weight <= LEFT {
                break;
            }
            self.weight -= length;
            newest_to_go = used;
        }
        // No two were used at the same time: each use has its own tick.
        self.entries.retain(|_, of_library| {
            of_library.retain(|_, entry| entry.used > newest_to_go);
            !of_library.is_empty()
        });
    }
}

/// Looks whether the contents of a document changed, without reading them.
pub fn document_stamp(
    bodies: &dyn Bodies,
    library: &Library,
    document: &Document,
) -> Result<Stamp, BodyError> {
    match &document.source {
        DocumentSource::File(path) => bodies.stamp(library, path),
        DocumentSource::Stored(version) => Ok(stored_stamp(document, version)),
    }
}

/// Reads the contents of a document, if they are no longer than that.
pub fn document_bytes(
    bodies: &dyn Bodies,
    library: &Library,
    document: &Document,
    limit: usize,
) -> Result<Blob, BodyError> {
    let version = match &document.source {
        DocumentSource::File(path) => return bodies.bytes(library, path, limit),
        DocumentSource::Stored(version) => version,
    };
    let bytes = bodies.stored(version)?;
    if bytes.len() > limit {
        let size = bytes.len() as u64;
        return Err(BodyError::TooLarge { size, limit });
    }
    let stamp = stored_stamp(document, version);
    Ok(Blob {
        bytes,
        stamp,
        is_executable: false,
    })
}

/// The same bytes as text and as something else are two things.
fn stored_stamp(document: &Document, version: &StoredVersion) -> Stamp {
    Stamp(Stamp::of_stored(version).0 ^ (u64::from(document.is_text) << 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(kept: &mut CachedContents, path: &str, length: usize) {
        let contents = Arc::new(Contents::of(vec![b'x'; length]));
        kept.keep("/lib", path, contents, Stamp(0));
    }

    fn weigh(kept: &CachedContents) -> usize {
        let entries = kept.entries.values().flat_map(HashMap::values);
        entries.map(|entry| entry.contents.len()).sum()
    }

    #[test]
    fn what_was_used_last_is_kept_within_the_bound() {
        let mut kept = CachedContents::default();
        for at in 0..100 {
            keep(&mut kept, &at.to_string(), ROOM / 10);
            assert!(kept.find("/lib", "0").is_some(), "used each time");
            assert!(kept.find("/lib", &at.to_string()).is_some(), "just read");
            assert!(kept.weight <= ROOM);
            assert_eq!(kept.weight, weigh(&kept));
        }
        assert!(kept.find("/lib", "1").is_none());
        assert!(kept.find("/lib", "98").is_some());
    }

    #[test]
    fn a_large_document_takes_the_place_of_many_small_ones_at_once() {
        let mut kept = CachedContents::default();
        for at in 0..4_900 {
            keep(&mut kept, &at.to_string(), 800);
        }
        keep(&mut kept, "large", ROOM / 2);
        assert!(kept.weight <= LEFT);
        assert_eq!(kept.weight, weigh(&kept));
        assert!(kept.find("/lib", "large").is_some());
        assert!(kept.find("/lib", "0").is_none());
        assert!(kept.find("/lib", "4899").is_some());
    }

    #[test]
    fn what_is_read_again_weighs_once() {
        let mut kept = CachedContents::default();
        keep(&mut kept, "a", 10);
        keep(&mut kept, "a", 20);
        assert_eq!(kept.weight, 20);
    }
}
