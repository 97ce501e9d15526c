//! The content of a project, and every version of it.

use std::fmt;

use super::label::{LabelledVersion, VersionChoice};
use super::name::{ItemKind, StoreName};
use crate::document::rfc3339;
use crate::parts_hash::PartsHash;

/// The SHA-256 of something.
pub type Digest = [u8; 32];

/// The maximum number of characters of a client's name that are stored.
pub const LONGEST_AUTHOR: usize = 128;

/// Bytes that every version counts as, besides its content: about what its rows take on a disk.
pub const VERSION_BYTES: u64 = 512;

/// A digest as people write it: 64 digits.
pub fn hex(digest: &Digest) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.collect()
}

/// Parses a digest of 64 digits.
pub fn read_hex(text: &str) -> Option<Digest> {
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

/// A time: milliseconds since 1970, UTC.
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
    /// How many changes it has had.
    pub changes: u64,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed.
    pub changed: Timestamp,
}

/// A project and its content at one moment.
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

/// A prompt or a resource that currently exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which of the two.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// Its last version.
    pub head: Version,
    /// Its versions that have a label, sorted by label.
    pub labels: Vec<LabelledVersion>,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Created it, also if one of that name was deleted before.
    Create,
    /// Changed it.
    Update,
    /// Deleted it. The version has the last content.
    Delete,
    /// Restored an earlier version.
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

/// One version; it never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// 1 for the first, one more for each that follows.
    pub number: u64,
    /// How it was made.
    pub operation: Operation,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
    /// Its content; for a deleted item, the last content.
    pub content: ContentInfo,
    /// When.
    pub at: Timestamp,
    /// The author of the write ([`Author::label`](super::Author::label)).
    pub author: Box<str>,
}

impl Version {
    /// The bytes that it takes besides its content: its other fields, and the rows of a store.
    pub fn cost(&self) -> u64 {
        let fields = [&self.description, &self.uri, &self.mime];
        let fields = fields.into_iter().flatten().map(|field| field.len() as u64);
        VERSION_BYTES + fields.sum::<u64>()
    }

    /// The digest of its fields and of the item that it belongs to.
    pub fn digest(&self, kind: ItemKind, name: &StoreName) -> Digest {
        let restored_from = match self.operation {
            Operation::Restore { from } => Some(from.to_le_bytes()),
            _ => None,
        };
        let mut hash = PartsHash::new("version");
        hash.text(kind.as_str());
        hash.text(name.as_str());
        hash.number(self.number);
        hash.text(self.operation.as_str());
        hash.maybe(restored_from.as_ref().map(<[u8; 8]>::as_slice));
        for text in [&self.description, &self.uri, &self.mime] {
            hash.maybe(text.as_deref().map(str::as_bytes));
        }
        hash.bytes(&self.content.digest);
        hash.number(self.content.size);
        hash.number(u64::from(self.content.is_text));
        hash.number(self.at.0.cast_unsigned());
        hash.text(&self.author);
        hash.end()
    }
}

/// Asks for some versions of a prompt or resource, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionQuery {
    /// Where.
    pub project: StoreName,
    /// What.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// Only versions before this one.
    pub before: Option<u64>,
    /// How many at most.
    pub most: usize,
    /// Just this one, which has to exist.
    pub only: Option<VersionChoice>,
}

/// Identifies the content of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentInfo {
    /// Its SHA-256.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// True if it is text.
    pub is_text: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Noun;

    #[test]
    fn versions_that_differ_in_anything_have_different_digests() {
        let name = |text| StoreName::parse(Noun::Prompt, text).unwrap();
        let one = Version {
            number: 1,
            operation: Operation::Create,
            description: None,
            uri: None,
            mime: None,
            content: ContentInfo {
                digest: [0; 32],
                size: 0,
                is_text: true,
            },
            at: Timestamp(0),
            author: "a".into(),
        };
        let digest = |version: &Version| version.digest(ItemKind::Prompt, &name("n"));
        let mut others: Vec<Version> = vec![one.clone(); 13];
        others[1].number = 2;
        others[2].operation = Operation::Restore { from: 1 };
        others[3].operation = Operation::Restore { from: 2 };
        others[4].description = Some("".into());
        others[5].description = Some("x".into());
        others[6].uri = Some("x".into());
        others[7].mime = Some("x".into());
        others[8].content.digest = [1; 32];
        others[9].content.size = 1;
        others[10].content.is_text = false;
        others[11].at = Timestamp(-1);
        others[12].author = "b".into();
        let mut digests: Vec<Digest> = others.iter().map(digest).collect();
        digests.push(one.digest(ItemKind::Resource, &name("n")));
        digests.push(one.digest(ItemKind::Prompt, &name("m")));
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all);
    }
}
