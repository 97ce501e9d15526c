//! Which version in a store a prompt or document is.

/// A version in a store: what it holds never changes, whatever is written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredVersion {
    /// SHA-256 of what it holds.
    pub digest: [u8; 32],
    /// Its number.
    pub number: u64,
}
