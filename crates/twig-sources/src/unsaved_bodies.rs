//! The bodies port as if unsaved texts were saved.

use std::hash::{DefaultHasher, Hash, Hasher};

use twig_core::{
    Blob, Bodies, Body, BodyError, Library, Prompt, RelativePath, Stamp, StoredVersion,
};

use crate::unsaved::UnsavedTexts;

/// The mark in front of a text that is no part of it.
const MARK: char = '\u{feff}';

/// Bodies as if unsaved texts were saved.
pub struct UnsavedBodies<'l> {
    /// Everything else.
    pub files: &'l dyn Bodies,
    /// The texts.
    pub texts: &'l UnsavedTexts,
}

impl Bodies for UnsavedBodies<'_> {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        match self.texts.body(library, path) {
            Some(text) => Ok(Body {
                text: text.strip_prefix(MARK).unwrap_or(text).to_owned(),
                has_mark: text.starts_with(MARK),
                stamp: stamp(text),
            }),
            None => self.files.read(library, path),
        }
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        match self.texts.body(library, path) {
            Some(text) => Ok(stamp(text)),
            None => self.files.stamp(library, path),
        }
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        match self.texts.body(library, path) {
            Some(text) if text.len() > limit => Err(BodyError::TooLarge {
                size: text.len() as u64,
                limit,
            }),
            Some(text) => Ok(Blob {
                bytes: text.as_bytes().to_vec(),
                stamp: stamp(text),
                is_executable: false,
            }),
            None => self.files.bytes(library, path, limit),
        }
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        match self.texts.of_version(version) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => self.files.stored(version),
        }
    }

    fn with_media(&self, prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        self.files.with_media(prompt, work)
    }

    fn aside(&self, prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        self.files.aside(prompt, work)
    }

    fn is_current(&self, _library: &Library, _prompt: &Prompt) -> bool {
        // A library is as its texts are; nothing may replace it while it is looked at.
        true
    }
}

fn stamp(text: &str) -> Stamp {
    let mut hasher = DefaultHasher::new();
    "unsaved".hash(&mut hasher);
    text.hash(&mut hasher);
    Stamp(hasher.finish())
}
