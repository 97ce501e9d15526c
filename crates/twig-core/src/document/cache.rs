//! Contents of documents, kept until their files change, within a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Contents;
use crate::body::{Bodies, BodyError, Stamp};
use crate::model::Library;
use crate::name::RelativePath;

/// How many bytes of contents are kept.
const ROOM: usize = 4 * 1024 * 1024;

/// Reads documents on demand and keeps what was read last.
#[derive(Debug, Default)]
pub struct DocumentCache {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By library folder, then by path.
    entries: HashMap<Box<str>, HashMap<Box<str>, Entry>>,
    weight: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    contents: Arc<Contents>,
    stamp: Stamp,
    used: u64,
}

impl DocumentCache {
    /// The contents of a file, fresh: one that changed is read again.
    pub fn read(
        &self,
        bodies: &dyn Bodies,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Arc<Contents>, BodyError> {
        if let Some((contents, stamp)) = self.lock().find(&library.root, path.as_str())
            && bodies.stamp(library, path)? == stamp
            && contents.len() <= limit
        {
            return Ok(contents);
        }
        let read = bodies.bytes(library, path, limit)?;
        let contents = Arc::new(Contents::of(read.bytes));
        let kept = Arc::clone(&contents);
        self.lock().keep(library, path, kept, read.stamp);
        Ok(contents)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A panic while the lock was held left at worst a missing entry.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn find(&mut self, root: &str, path: &str) -> Option<(Arc<Contents>, Stamp)> {
        self.clock += 1;
        let entry = self.entries.get_mut(root)?.get_mut(path)?;
        entry.used = self.clock;
        Some((Arc::clone(&entry.contents), entry.stamp))
    }

    fn keep(
        &mut self,
        library: &Library,
        path: &RelativePath,
        contents: Arc<Contents>,
        stamp: Stamp,
    ) {
        if contents.len() > ROOM / 2 {
            return;
        }
        self.clock += 1;
        self.weight += contents.len();
        let entry = Entry {
            contents,
            stamp,
            used: self.clock,
        };
        let of_library = self.entries.entry(library.root.clone()).or_default();
        if let Some(old) = of_library.insert(path.as_str().into(), entry) {
            self.weight -= old.contents.len();
        }
        while self.weight > ROOM {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let entries = self.entries.iter().flat_map(|(root, of_library)| {
            let entries = of_library.iter();
            entries.map(move |(path, entry)| (entry.used, root.clone(), path.clone()))
        });
        let Some((_, root, path)) = entries.min() else {
            self.weight = 0;
            return;
        };
        if let Some(of_library) = self.entries.get_mut(&root) {
            if let Some(entry) = of_library.remove(&path) {
                self.weight -= entry.contents.len();
            }
            if of_library.is_empty() {
                self.entries.remove(&root);
            }
        }
    }
}
