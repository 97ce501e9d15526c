//! Files of libraries in memory: the one fake of the ports that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use twig_core::parse::library::Files;
use twig_core::store::hex;
use twig_core::{Blob, Bodies, Body, BodyError, Library, RelativePath, Stamp, StoredVersion};

type Read = Result<Vec<u8>, BodyError>;

/// Files by `library:path`, by their path alone, or by their name; stored contents by their digest.
pub struct MemoryFiles {
    files: BTreeMap<String, Read>,
    others: Box<dyn Fn(&str) -> Read + Send + Sync>,
    not_executable: BTreeSet<&'static str>,
}

impl Default for MemoryFiles {
    fn default() -> Self {
        Self::with_others(|_| Err(BodyError::NotFound))
    }
}

impl MemoryFiles {
    /// Without files of its own: `others` says what is at a path.
    pub fn with_others(others: impl Fn(&str) -> Read + Send + Sync + 'static) -> Self {
        Self {
            files: BTreeMap::new(),
            others: Box::new(others),
            not_executable: BTreeSet::new(),
        }
    }

    /// Makes a file one that the system would not start, by its name.
    #[must_use]
    pub fn not_executable(mut self, name: &'static str) -> Self {
        self.not_executable.insert(name);
        self
    }

    /// Adds a file.
    pub fn insert(&mut self, key: impl Into<String>, contents: impl Into<Vec<u8>>) {
        self.files.insert(key.into(), Ok(contents.into()));
    }

    /// Adds a file that cannot be read.
    pub fn insert_broken(&mut self, key: impl Into<String>, error: BodyError) {
        self.files.insert(key.into(), Err(error));
    }

    /// The contents of a file that was added.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.files.get(key)?.as_deref().ok()
    }

    fn find(&self, library: Option<&Library>, path: &RelativePath) -> Read {
        let full = library.map(|library| format!("{}:{path}", library.name));
        let keys = [full.as_deref(), Some(path.as_str()), Some(path.file_name())];
        let found = keys.iter().flatten().find_map(|key| self.files.get(*key));
        found.map_or_else(|| (self.others)(path.as_str()), Clone::clone)
    }
}

impl Files for MemoryFiles {
    fn look(&self, path: &RelativePath) -> Result<(), BodyError> {
        self.find(None, path).map(drop)
    }

    fn look_program(&self, path: &RelativePath) -> Result<(), BodyError> {
        if self.not_executable.contains(path.file_name()) {
            return Err(BodyError::NotExecutable);
        }
        self.look(path)
    }
}

impl Bodies for MemoryFiles {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        let Blob { bytes, stamp, .. } = self.bytes(library, path, usize::MAX)?;
        let text = String::from_utf8(bytes).map_err(|error| BodyError::NotUtf8 {
            offset: error.utf8_error().valid_up_to(),
        })?;
        Ok(Body {
            text,
            has_mark: false,
            stamp,
        })
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        let bytes = self
            .find(Some(library), path)
            .map_err(|error| match error {
                BodyError::TooLarge { size, .. } => BodyError::TooLarge { size, limit },
                error => error,
            })?;
        if bytes.len() > limit {
            let size = bytes.len() as u64;
            return Err(BodyError::TooLarge { size, limit });
        }
        let stamp = stamp(&bytes);
        Ok(Blob {
            bytes,
            stamp,
            is_executable: false,
        })
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        self.find(Some(library), path).map(|bytes| stamp(&bytes))
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        let found = self.files.get(&hex(&version.digest));
        found.cloned().unwrap_or(Err(BodyError::NotFound))
    }
}

fn stamp(bytes: &[u8]) -> Stamp {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Stamp(hasher.finish())
}
