//! What a project holds, and every version of it.

use std::fmt;

use super::name::{ItemKind, StoreName};
use crate::document::rfc3339;

/// The SHA-256 of something.
pub type Digest = [u8; 32];

/// The most characters of a client's name that are kept.
pub const LONGEST_AUTHOR: usize = 128;

/// What every version counts for, whatever it holds: about what its rows take on a disk.
pub const VERSION_BYTES: u64 = 512;

/// A digest as people write it: 64 digits.
pub fn hex(digest: &Digest) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.collect()
}

/// A digest as people write it, read again.
pub(super) fn read_hex(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(digest)
}

/// A moment: milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// `2026-11-15T09:30:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rfc3339(self.0.div_euclid(1_000)).unwrap_or_default())
    }
}

/// A project as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id, a UUID.
    pub id: [u8; 16],
    /// Its name.
    pub name: StoreName,
    /// How many prompts it has.
    pub prompts: u64,
    /// How many resources it has.
    pub resources: u64,
    /// The bytes that its versions take, which are limited ([`Version::cost`]).
    pub history: u64,
    /// When it was made.
    pub created: Timestamp,
}

/// A project and what it holds at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its id, a UUID.
    pub id: [u8; 16],
    /// Its name.
    pub name: StoreName,
    /// The store's revision at that moment.
    pub revision: u64,
    /// Prompts first, then resources, each sorted by name.
    pub items: Vec<Item>,
}

/// A prompt or a resource that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which of the two.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// Its last version.
    pub head: Version,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Made it, also where one of that name was deleted before.
    Create,
    /// Changed it.
    Update,
    /// Took it away. The version holds what was there last.
    Delete,
    /// Brought an earlier version back.
    Restore {
        /// Which one.
        from: u64,
    },
}

impl Operation {
    /// The word for it in files and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Restore { .. } => "restore",
        }
    }
}

/// One version; nothing of it ever changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// 1 for the first, one more for each that follows.
    pub number: u64,
    /// How it came to be.
    pub operation: Operation,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
    /// What it holds; of a deleted one, what it held.
    pub content: ContentInfo,
    /// When.
    pub at: Timestamp,
    /// Whose write it was ([`Author::label`](super::Author::label)).
    pub author: Box<str>,
}

impl Version {
    /// The bytes that it takes besides its content: its labels, and the rows of a store.
    pub fn cost(&self) -> u64 {
        let labels = [&self.description, &self.uri, &self.mime];
        let labels = labels.into_iter().flatten().map(|label| label.len() as u64);
        VERSION_BYTES + labels.sum::<u64>()
    }
}

/// Where to find what a version holds, and what to expect there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentInfo {
    /// Its SHA-256.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Whether it is text.
    pub is_text: bool,
}
