//! SHA-256 over a list of parts, each with its length, so that different lists never hash the same
//! bytes.

use sha2::{Digest as _, Sha256};

/// A hash in progress.
#[derive(Debug, Clone)]
pub struct PartsHash(Sha256);

impl PartsHash {
    /// A hash of something that this word names.
    pub fn new(what: &str) -> Self {
        let mut parts = Self(Sha256::new());
        parts.text(what);
        parts
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds bytes, or that there are none.
    pub fn maybe(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.0.update(u64::MAX.to_le_bytes()),
        }
    }

    /// The digest.
    pub fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
