//! One check of the disk for all requests that arrived together.
//!
//! A request is answered from the files as they were after it arrived. Requests from one read all
//! arrived before the first is answered, so a file that was checked for the first need not be
//! checked again for the others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use twig_core::parse::library::source_of;
use twig_core::{
    Blob, Bodies, Body, BodyError, Library, Prompt, RelativePath, Stamp, StoredVersion,
};

/// Bodies that remember file stamps for one batch of requests.
pub(super) struct StampBatch<'b> {
    bodies: &'b dyn Bodies,
    known: Mutex<Vec<KnownStamp>>,
    /// Files that are unchanged since they were read, identified by the memory addresses of their
    /// library and name; both outlive the batch.
    current: Mutex<Vec<(usize, usize)>>,
    /// Libraries that were read again, by their folders.
    renewed: Mutex<Vec<Box<str>>>,
}

/// The maximum number of remembered files; batches ask for the same few.
const ROOM: usize = 8;

struct KnownStamp {
    root: Box<str>,
    path: RelativePath,
    stamp: Result<Stamp, BodyError>,
}

impl<'b> StampBatch<'b> {
    pub(super) fn new(bodies: &'b dyn Bodies) -> Self {
        Self {
            bodies,
            known: Mutex::default(),
            current: Mutex::default(),
            renewed: Mutex::default(),
        }
    }

    fn renewed(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Vec<KnownStamp>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bodies for StampBatch<'_> {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        self.known().clear();
        self.bodies.read(library, path)
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        self.known().clear();
        self.bodies.bytes(library, path, limit)
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        let mut known = self.known();
        if let Some(found) = known
            .iter()
            .find(|k| k.path == *path && k.root == library.root)
        {
            return found.stamp.clone();
        }
        let stamp = self.bodies.stamp(library, path);
        if known.len() < ROOM {
            let root = library.root.clone();
            known.push(KnownStamp {
                root,
                path: path.clone(),
                stamp: stamp.clone(),
            });
        }
        stamp
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        self.bodies.stored(version)
    }

    fn is_current(&self, library: &Library, prompt: &Prompt) -> bool {
        let Some(source) = source_of(library, prompt) else {
            return true;
        };
        let file = (std::ptr::from_ref(library).addr(), source.as_ptr().addr());
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.contains(&file) {
            return true;
        }
        let is_current =
            self.renewed().contains(&library.root) || self.bodies.is_current(library, prompt);
        if is_current && current.len() < ROOM {
            current.push(file);
        }
        is_current
    }

    fn renew(&self, library: &Library) {
        self.known().clear();
        self.renewed().push(library.root.clone());
        self.bodies.renew(library);
    }
}
