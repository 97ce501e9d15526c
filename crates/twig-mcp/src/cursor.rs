//! Cursors: a snapshot and an offset in it, as text that is opaque to clients.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

/// A list of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Documents,
    /// `resources/templates/list`.
    Templates,
    /// `skills/list`.
    Skills,
}

impl List {
    /// Every list, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [
        Self::Prompts,
        Self::Documents,
        Self::Templates,
        Self::Skills,
    ];
}

/// Where a listing continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The first bytes of the snapshot's fingerprint.
    pub(crate) snapshot: [u8; 8],
    /// What is listed.
    pub(crate) list: List,
    /// Items before this place.
    pub(crate) offset: u32,
}

/// Hexadecimal digits of a cursor: of its snapshot, its list and its offset.
const DIGITS: usize = 16 + 1 + 8;

impl Cursor {
    /// The cursor of a place in a snapshot; `None` if the offset is too large.
    pub(crate) fn new(fingerprint: &[u8; 32], list: List, offset: usize) -> Option<Self> {
        Some(Self {
            snapshot: snapshot_of(fingerprint),
            list,
            offset: u32::try_from(offset).ok()?,
        })
    }

    /// Parses a cursor; only text written by [`fmt::Display`] is accepted.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != DIGITS || !text.bytes().all(is_digit) {
            return None;
        }
        let (snapshot, rest) = text.split_at(16);
        let (list, offset) = rest.split_at(1);
        Some(Self {
            snapshot: u64::from_str_radix(snapshot, 16).ok()?.to_be_bytes(),
            list: *List::ALL.get(list.parse::<usize>().ok()?)?,
            offset: u32::from_str_radix(offset, 16).ok()?,
        })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = u64::from_be_bytes(self.snapshot);
        write!(f, "{snapshot:016x}{}{:08x}", self.list as u8, self.offset)
    }
}

/// The part of a fingerprint that a cursor has.
pub(crate) fn snapshot_of(fingerprint: &[u8; 32]) -> [u8; 8] {
    let mut snapshot = [0; 8];
    snapshot.copy_from_slice(&fingerprint[..8]);
    snapshot
}

/// The part of a fingerprint that the cursor of a folder has: different for each folder.
pub(crate) fn snapshot_in(fingerprint: &[u8; 32], folder: &str) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(fingerprint);
    hasher.write(folder.as_bytes());
    hasher.finish().to_be_bytes()
}

/// The part that the cursor of a content has: different for each content, and for what is read.
pub(crate) fn snapshot_of_content(key: &str, content: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(key.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(content);
    hasher.finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_come_back_as_they_went(fingerprint: [u8; 32], offset: u32) {
            for list in List::ALL {
                let cursor = Cursor::new(&fingerprint, list, offset as usize).unwrap();
                prop_assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
            }
        }

        #[test]
        fn garbage_is_no_cursor(text in any::<String>()) {
            if let Some(cursor) = Cursor::parse(&text) {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn nearly_cursors_are_read_strictly(text in "[0-9a-fA-F+ -]{24,26}") {
            if let Some(cursor) = Cursor::parse(&text) {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }
}
