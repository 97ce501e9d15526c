//! Which version of its files each library was read from, so that a request can check whether that
//! is still current.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ptr;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use twig_core::Library;

use crate::stamp::{FileStamp, SeenStamp};

/// The files that the prompts of one library were read from: a hash of each path, and one of its
/// `stat`. A file is not included while it is so young that it may have been written again
/// unnoticed.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles(Vec<(u64, u64)>);

impl SourceFiles {
    pub(crate) fn new<'f>(files: impl IntoIterator<Item = (&'f str, &'f SeenStamp)>) -> Arc<Self> {
        let files = files.into_iter().filter_map(|(path, seen)| {
            let stamp = seen.settled()?;
            Some((number(path), stamp.digest()))
        });
        let mut files: Vec<(u64, u64)> = files.collect();
        files.sort_unstable();
        Arc::new(Self(files))
    }

    fn has(&self, path: &str, stamp: &FileStamp) -> bool {
        self.0
            .binary_search(&(number(path), stamp.digest()))
            .is_ok()
    }
}

fn number(path: &str) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut hasher = STATE.build_hasher();
    hasher.write(path.as_bytes());
    hasher.finish()
}

/// A served library, and the files that it was read from.
pub(crate) type ReadFrom = (Arc<Library>, Arc<SourceFiles>);

/// The same for all libraries, by their memory addresses.
#[derive(Debug, Default)]
pub(crate) struct AllSources(RwLock<HashMap<usize, ReadFrom>>);

impl AllSources {
    /// Stores the result of the last check.
    pub(crate) fn replace(&self, found: impl IntoIterator<Item = ReadFrom>) {
        let found = found.into_iter();
        let found = found.map(|read| (Arc::as_ptr(&read.0).addr(), read));
        let found: HashMap<usize, ReadFrom> = found.collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// True if this very library was read from a file with this stamp.
    pub(crate) fn is_read(&self, library: &Library, path: &str, stamp: &FileStamp) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&ptr::from_ref(library).addr())
            .is_some_and(|(_, files)| files.has(path, stamp))
    }
}
