//! Which version in a store a prompt or document is.

/// A version in a store: what it holds never changes, whatever is written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredVersion {
    /// SHA-256 of what it holds.
    pub digest: [u8; 32],
    /// Its number.
    pub number: u64,
}

/// Who wrote a version in a store, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionAuthor {
    /// The author as versions are listed.
    pub author: Box<str>,
    /// Milliseconds since 1970.
    pub at: i64,
}
