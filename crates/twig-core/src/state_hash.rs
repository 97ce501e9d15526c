//! A fast hash over a list of parts, which tells one state of a library from the next. It proves
//! nothing to anybody: whatever is trusted, fetched or stored has a SHA-256 of its own.

use std::hash::{DefaultHasher, Hasher as _};

/// A hash in progress. Each part counts with its length, so that different lists never hash the same
/// bytes.
#[derive(Debug, Default)]
pub struct StateHash(DefaultHasher);

impl StateHash {
    /// Adds bytes.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.write_u64(bytes.len() as u64);
        self.0.write(bytes);
    }

    /// The hash, the same in every process of one build.
    pub fn end(self) -> u64 {
        self.0.finish()
    }
}
