//! One file of a documents folder, and what was last seen of it.

use std::path::Path;

use twig_core::document::{HEAD, Head};
use twig_core::parse::documents::FoundDocument;
use twig_core::{BodyError, FileRole, Limits, Problem, RelativePath};

use crate::listing::Entry;
use crate::reader::{Patience, ReadBytes, read_head};
use crate::stamp::Seen;
use crate::tree::{Base, SeenFile};

#[derive(Debug)]
pub(super) struct DocumentFile {
    /// From the library's folder.
    path: RelativePath,
    entry: Entry,
    seen: Seen,
    found: Result<FoundDocument, BodyError>,
}

impl SeenFile for DocumentFile {
    fn path(&self) -> &RelativePath {
        &self.path
    }

    fn entry(&self) -> Entry {
        self.entry
    }

    fn is_new(&self) -> bool {
        self.seen == Seen::never()
    }
}

impl DocumentFile {
    /// A file that was listed and not looked at yet.
    pub(super) fn new(path: RelativePath, entry: Entry) -> Self {
        Self {
            path,
            entry,
            seen: Seen::never(),
            found: Err(BodyError::NotFound),
        }
    }

    /// Looks at the file, and into it where it changed; says whether it differs.
    pub(super) fn look(&mut self, base: &Base<'_>, limits: &Limits) -> bool {
        if let Entry::Other(what) = self.entry {
            let found = Err(BodyError::NotAFile(what));
            let changed = self.found != found;
            self.found = found;
            return changed;
        }
        let is_new = self.is_new();
        let full = || Path::new(&*base.folder.root).join(self.path.as_str());
        let now = if is_new {
            Seen::never()
        } else {
            Seen::at(&full())
        };
        if !is_new && self.seen.holds(&now) {
            return false;
        }
        let had_text = self.found.as_ref().is_ok_and(|found| found.size > 0);
        let read = self.read(base, Patience::for_scan(had_text));
        self.seen = match &read {
            Ok(read) => Seen::of(read.stamp),
            Err(_) if is_new => Seen::at(&full()),
            Err(_) => now,
        };
        let found = read.and_then(|read| self.understand(&read, limits));
        let changed = found != self.found;
        self.found = found;
        changed
    }

    /// The document, if it can be served.
    pub(super) fn found(&self) -> Option<&FoundDocument> {
        self.found.as_ref().ok()
    }

    /// Why it cannot.
    pub(super) fn problem(&self, base: &Base<'_>) -> Option<Problem> {
        let error = self.found.as_ref().err()?;
        // A file that was listed and is missing went away since.
        let is_gone = *error == BodyError::NotFound && self.entry == Entry::File;
        (!is_gone).then(|| base.refused(FileRole::Document, self.below(base), error))
    }

    fn read(&self, base: &Base<'_>, patience: Patience) -> Result<ReadBytes, BodyError> {
        let is_listed = self.entry == Entry::File;
        read_head(base.root()?, self.below(base), is_listed, HEAD, patience)
    }

    fn understand(&self, read: &ReadBytes, limits: &Limits) -> Result<FoundDocument, BodyError> {
        let (size, limit) = (read.stamp.size, limits.document);
        if size > limit as u64 {
            return Err(BodyError::TooLarge { size, limit });
        }
        let is_whole = read.bytes.len() as u64 >= size;
        // Two saves within one tick of the clock leave one stamp: the first bytes tell most of them
        // apart.
        Ok(FoundDocument {
            path: self.path.clone(),
            head: Head::read(self.path.file_name(), &read.bytes, is_whole),
            size,
            modified: Some(read.stamp.modified()),
            version: mix(read.stamp.digest(), &read.bytes),
        })
    }

    /// The path from the documents folder.
    fn below(&self, base: &Base<'_>) -> &str {
        let path = self.path.as_str();
        let below = path.strip_prefix(base.below).unwrap_or(path);
        below.trim_start_matches('/')
    }
}

/// A number that differs where bytes do, as good as always; thousands of files are told apart at
/// each start, so that this counts.
fn mix(start: u64, bytes: &[u8]) -> u64 {
    let mix =
        |number: u64, word: u64| (number.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(start, mix)
}
