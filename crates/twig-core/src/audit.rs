//! The chain of a log of changes: the digest of each entry includes that of the entry before it, so
//! an entry that is altered, moved or removed later breaks the chain.
//!
//! Whoever can write the whole log can also write a new chain: note the last digest elsewhere to
//! notice that.

use std::fmt;

use crate::parts_hash::PartsHash;
use crate::store::{Timestamp, hex, read_hex};

/// One change, whatever it was made to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Counts the entries of its log, without gaps.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The person who made it; `None` for the user of the server's machine.
    pub actor: Option<Box<str>>,
    /// The client that the person used; `None` for the command line.
    pub client: Option<Box<str>>,
    /// What was done, in a word.
    pub action: Box<str>,
    /// What it was done to, always written in the same way.
    pub what: Box<str>,
}

/// The digest of an entry and, through it, of all entries before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainDigest([u8; 32]);

impl ChainDigest {
    /// What the first entry of a log follows. Each log has its own name, so that no entry fits into
    /// another log.
    pub fn start(log: &str) -> Self {
        let mut hash = PartsHash::new("log");
        hash.text(log);
        Self(hash.end())
    }

    /// The digest of the entry that follows.
    #[must_use]
    pub fn next(self, entry: &AuditEntry) -> Self {
        let mut hash = PartsHash::new("change");
        hash.bytes(&self.0);
        hash.number(entry.number);
        hash.number(entry.at.0.cast_unsigned());
        for part in [&entry.actor, &entry.client] {
            hash.maybe(part.as_deref().map(str::as_bytes));
        }
        hash.text(&entry.action);
        hash.text(&entry.what);
        Self(hash.end())
    }

    /// The digest that these bytes are.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        read_hex(text).map(Self)
    }
}

impl fmt::Display for ChainDigest {
    /// 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Where a chain breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainBreak {
    /// This entry is missing.
    Missing(u64),
    /// This entry, or the digest before it, is not as it was written.
    Changed(u64),
    /// The log ends with this entry, and another one is recorded as its last.
    OtherEnd(u64),
}

impl ChainBreak {
    /// The number of the entry.
    pub fn number(self) -> u64 {
        match self {
            Self::Missing(number) | Self::Changed(number) | Self::OtherEnd(number) => number,
        }
    }
}

impl fmt::Display for ChainBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(number) => write!(f, "change {number} is missing"),
            Self::Changed(number) => write!(f, "change {number} is not as it was written"),
            Self::OtherEnd(number) => write!(
                f,
                "change {number}, its last one, is not the one that is recorded as its last"
            ),
        }
    }
}

/// Checks entries, oldest first, with the digests that were kept of them: the digest of the last
/// one, or the first break. `start` is the digest before the first one.
pub fn verify(
    start: ChainDigest,
    entries: impl IntoIterator<Item = (AuditEntry, ChainDigest)>,
) -> Result<ChainDigest, ChainBreak> {
    let mut check = ChainCheck::new(start);
    for (entry, kept) in entries {
        check.follow(&entry, kept)?;
    }
    Ok(check.last())
}

/// The same, entry by entry.
#[derive(Debug)]
pub struct ChainCheck {
    last: ChainDigest,
    expected: Option<u64>,
}

impl ChainCheck {
    /// Starts with the digest before the first entry.
    pub fn new(start: ChainDigest) -> Self {
        Self {
            last: start,
            expected: None,
        }
    }

    /// Checks the next entry.
    pub fn follow(&mut self, entry: &AuditEntry, kept: ChainDigest) -> Result<(), ChainBreak> {
        if let Some(expected) = self.expected.filter(|expected| *expected != entry.number) {
            return Err(ChainBreak::Missing(expected));
        }
        if self.last.next(entry) != kept {
            return Err(ChainBreak::Changed(entry.number));
        }
        self.last = kept;
        self.expected = Some(entry.number + 1);
        Ok(())
    }

    /// The digest of the last entry that was checked.
    pub fn last(&self) -> ChainDigest {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> AuditEntry {
        AuditEntry {
            number,
            at: Timestamp(1_000),
            actor: Some("anna".into()),
            client: None,
            action: "update".into(),
            what: format!("prompt review {number}").into(),
        }
    }

    fn chain(count: u64) -> Vec<(AuditEntry, ChainDigest)> {
        let mut last = ChainDigest::start("p");
        (1..=count)
            .map(|number| {
                let entry = entry(number);
                last = last.next(&entry);
                (entry, last)
            })
            .collect()
    }

    fn check(entries: Vec<(AuditEntry, ChainDigest)>) -> Result<ChainDigest, ChainBreak> {
        verify(ChainDigest::start("p"), entries)
    }

    #[test]
    fn a_whole_chain_ends_with_its_last_digest() {
        let entries = chain(5);
        let last = entries[4].1;
        assert_eq!(check(entries), Ok(last));
        assert_eq!(check(Vec::new()), Ok(ChainDigest::start("p")));
        assert_eq!(ChainDigest::parse(&last.to_string()), Some(last));
        assert_eq!(ChainDigest::parse("ab"), None);
    }

    #[test]
    fn the_first_break_is_named() {
        let changes: [fn(&mut AuditEntry); 6] = [
            |entry| entry.number = 3,
            |entry| entry.at = Timestamp(1),
            |entry| entry.actor = None,
            |entry| entry.client = Some("anna".into()),
            |entry| entry.action = "create".into(),
            |entry| entry.what = "prompt".into(),
        ];
        for (at, change) in changes.into_iter().enumerate().skip(1) {
            let mut entries = chain(5);
            change(&mut entries[2].0);
            assert_eq!(check(entries), Err(ChainBreak::Changed(3)), "{at}");
        }
        let mut entries = chain(5);
        entries.remove(2);
        assert_eq!(check(entries), Err(ChainBreak::Missing(3)));
        let mut entries = chain(5);
        entries.remove(0);
        assert_eq!(check(entries), Err(ChainBreak::Changed(2)));
        let mut entries = chain(5);
        entries.swap(1, 2);
        assert_eq!(check(entries), Err(ChainBreak::Missing(2)));
        let other = ChainDigest::start("q");
        assert_eq!(verify(other, chain(1)), Err(ChainBreak::Changed(1)));
    }
}
