//! One file of another client's library, and what it said when it was last read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use twig_clients::format::{self, Bundled, Options, Part, Reading};
use twig_core::body::FileRole;
use twig_core::document::{HEAD, Head};
use twig_core::problem::ProblemCode;
use twig_core::{BodyError, Kind, Limits, NotAFile, Problem, RelativePath, Severity};

use crate::bodies::most;
use crate::listing::Entry;
use crate::reader::{Patience, ReadBytes, read_beneath, text_of};
use crate::stamp::Seen;
use crate::tree::{Base, SeenFile};

/// How the files of one library are read, and how much of them.
pub(super) struct Rules<'r> {
    pub(super) kind: Kind,
    pub(super) options: Options,
    pub(super) limits: &'r Limits,
    /// Bytes that were read since the look began.
    pub(super) read: AtomicU64,
    /// Whether any was read since then.
    pub(super) is_any_read: AtomicBool,
    /// Bytes that all files may have.
    pub(super) total: u64,
}

#[derive(Debug)]
pub(super) struct FormatFile {
    /// From the library's folder.
    path: RelativePath,
    entry: Entry,
    /// What it is; `None` for a link that only counts if it leads to a folder.
    part: Option<Part>,
    seen: Seen,
    size: u64,
    /// Whether there is no room for it.
    is_left_off: bool,
    reading: Reading,
    bundled: Option<Box<Bundled>>,
}

impl SeenFile for FormatFile {
    fn path(&self) -> &RelativePath {
        &self.path
    }

    fn entry(&self) -> Entry {
        self.entry
    }

    fn is_new(&self) -> bool {
        self.seen == Seen::never()
    }

    /// A `SKILL.md` that comes or goes makes other things of the files around it.
    fn is_same(&self, other: &Self) -> bool {
        self.path == other.path && self.entry == other.entry && self.part == other.part
    }
}

impl FormatFile {
    /// A file that was listed and not looked at yet.
    pub(super) fn new(base: &Base<'_>, kind: Kind, path: RelativePath, entry: Entry) -> Self {
        let mut file = Self {
            part: format::part(kind, &path),
            path,
            entry,
            seen: Seen::never(),
            size: 0,
            is_left_off: false,
            reading: Reading::default(),
            bundled: None,
        };
        file.tell_skipped(base);
        file
    }

    /// Makes it one that no skill brings; says whether there is something to tell of it.
    pub(super) fn leave_out(&mut self, base: &Base<'_>) -> bool {
        self.part = match self.entry {
            Entry::File => format::part_outside_skills(&self.path),
            _ => None,
        };
        self.tell_skipped(base);
        self.part.is_some() || self.entry == Entry::Unsure
    }

    fn tell_skipped(&mut self, base: &Base<'_>) {
        if let Some(Part::Skipped(why)) = self.part {
            self.reading = format::skipped(base.folder, &self.path, why);
        }
    }

    pub(super) fn is_prompt(&self) -> bool {
        self.part == Some(Part::Prompt)
    }

    /// Its path and what was last seen of it.
    pub(super) fn source(&self) -> (&str, &Seen) {
        (self.path.as_str(), &self.seen)
    }

    pub(super) fn is_bundled(&self) -> bool {
        self.part == Some(Part::Bundled)
    }

    /// Its folder, from the library's.
    pub(super) fn folder(&self) -> &str {
        self.path.folder()
    }

    pub(super) fn reading(&self) -> (&RelativePath, &Reading) {
        (&self.path, &self.reading)
    }

    pub(super) fn bundled(&self) -> Option<&Bundled> {
        self.bundled.as_deref()
    }

    /// Bytes that it takes of the room for all files.
    pub(super) fn size(&self) -> u64 {
        if self.is_left_off { 0 } else { self.size }
    }

    /// Looks at the file, and into it where it changed; says whether it differs.
    pub(super) fn look(&mut self, base: &Base<'_>, rules: &Rules<'_>) -> bool {
        if matches!(self.part, Some(Part::Skipped(_))) {
            return false;
        }
        let is_new = self.is_new();
        if let Entry::Other(what) = self.entry {
            if is_new {
                self.seen = Seen::at(&self.full(base));
                self.take(base, rules, Err(BodyError::NotAFile(what)));
            }
            return is_new;
        }
        if is_new {
            // A bound, not a share: which file goes without is decided in the order of paths.
            if rules.read.load(Ordering::Relaxed) > 2 * rules.total {
                return false;
            }
            return self.read(base, rules, None);
        }
        let now = Seen::at(&self.full(base));
        !self.seen.holds(&now) && self.read(base, rules, Some(now))
    }

    /// Takes the file in where there is room for it, else leaves it off; says whether it differs.
    pub(super) fn fit(&mut self, base: &Base<'_>, rules: &Rules<'_>, left: u64) -> bool {
        let is_unread = self.is_unread();
        if is_unread {
            self.seen = Seen::at(&self.full(base));
            self.size = self.seen.stamp().map_or(0, |stamp| stamp.size);
        }
        let fits = self.size <= left;
        if fits && (is_unread || self.is_left_off) {
            return self.read(base, rules, None);
        }
        if fits || self.is_left_off {
            return false;
        }
        self.is_left_off = true;
        let limit = usize::try_from(rules.total).unwrap_or(usize::MAX);
        self.take(base, rules, Err(BodyError::NoRoom { limit }))
    }

    /// Whether it should have been read and was not.
    fn is_unread(&self) -> bool {
        self.is_new() && self.part.is_some() && !matches!(self.part, Some(Part::Skipped(_)))
    }

    fn full(&self, base: &Base<'_>) -> PathBuf {
        Path::new(&*base.folder.root).join(self.path.as_str())
    }

    /// Reads it; `now` is what was seen of it, if somebody looked.
    fn read(&mut self, base: &Base<'_>, rules: &Rules<'_>, now: Option<Seen>) -> bool {
        self.is_left_off = false;
        rules.is_any_read.store(true, Ordering::Relaxed);
        if self.part.is_none() {
            self.seen = now.unwrap_or_else(|| Seen::at(&self.full(base)));
            let error = base.root().and_then(|root| root.look(self.path.as_str()));
            return self.take_link(base, error.err());
        }
        let most = match self.part {
            Some(Part::Bundled) => rules.limits.document,
            _ => most(rules.limits),
        };
        let patience = Patience::for_scan(self.size > 0);
        let is_listed = self.entry == Entry::File;
        let root = Path::new(&*base.folder.root);
        let path = self.path.as_str();
        let read = base
            .root()
            .and_then(|opened| read_beneath(opened, root, path, is_listed, most, patience));
        if let Ok(read) = &read {
            self.seen = Seen::of(read.stamp);
            self.size = read.stamp.size;
            rules.read.fetch_add(self.size, Ordering::Relaxed);
        } else {
            self.seen = now.unwrap_or_else(|| Seen::at(&self.full(base)));
            self.size = 0;
        }
        self.take(base, rules, read)
    }

    /// Keeps what it says; says whether that differs.
    fn take(
        &mut self,
        base: &Base<'_>,
        rules: &Rules<'_>,
        read: Result<ReadBytes, BodyError>,
    ) -> bool {
        let (reading, bundled) = match read {
            // It went away since its folder was listed.
            Err(BodyError::NotFound) if self.entry == Entry::File => (Reading::default(), None),
            Err(error) => (self.refused(base, rules, &error), None),
            Ok(read) => self.understand(base, rules, read),
        };
        let changed = reading != self.reading || bundled != self.bundled;
        if changed {
            self.reading = reading;
            self.bundled = bundled;
        }
        changed
    }

    /// What a link says that counts only where it leads to a folder.
    fn take_link(&mut self, base: &Base<'_>, error: Option<BodyError>) -> bool {
        let problems = error.and_then(|error| self.link_problem(base, &error));
        let problems: Vec<Problem> = problems.into_iter().collect();
        let changed = problems != self.reading.problems;
        self.reading.problems = problems;
        changed
    }

    fn understand(
        &self,
        base: &Base<'_>,
        rules: &Rules<'_>,
        read: ReadBytes,
    ) -> (Reading, Option<Box<Bundled>>) {
        let bundled = (rules.kind == Kind::Skills).then(|| Box::new(self.bundle(&read)));
        if self.part == Some(Part::Bundled) {
            return (Reading::default(), bundled);
        }
        let text = text_of(read);
        let has_mark = text.as_ref().is_ok_and(|read| read.has_mark);
        let text = text.as_ref().map(|read| &*read.text);
        let mut reading = self.said(base, rules, text);
        if has_mark {
            let what = "begins with a byte-order mark, which is left off";
            let help = "save it as UTF-8 without one";
            let path = self.path.as_str();
            let note = base.problem(ProblemCode::ByteOrderMark, Severity::Note, path, what, help);
            reading.problems.push(note);
        }
        (reading, bundled)
    }

    fn said(&self, base: &Base<'_>, rules: &Rules<'_>, text: Result<&str, &BodyError>) -> Reading {
        let (kind, options) = (rules.kind, rules.options);
        format::read(kind, base.folder, &self.path, text, options, rules.limits)
    }

    fn bundle(&self, read: &ReadBytes) -> Bundled {
        let digest: [u8; 32] = Sha256::digest(&read.bytes).into();
        let mut version = [0; 8];
        version.copy_from_slice(&digest[..8]);
        let head = &read.bytes[..read.bytes.len().min(HEAD)];
        let is_whole = head.len() == read.bytes.len();
        Bundled {
            head: Head::read(self.path.file_name(), head, is_whole),
            path: self.path.clone(),
            digest,
            size: read.stamp.size,
            modified: Some(read.stamp.modified()),
            version: u64::from_le_bytes(version),
        }
    }

    /// What is said of a file that cannot be read.
    fn refused(&self, base: &Base<'_>, rules: &Rules<'_>, error: &BodyError) -> Reading {
        let of_problem = |problem| Reading {
            problems: vec![problem],
            ..Reading::default()
        };
        if let Some(problem) = self.link_problem(base, error) {
            return of_problem(problem);
        }
        let is_text = self.part != Some(Part::Bundled);
        if is_text && *error != BodyError::NotFound {
            return self.said(base, rules, Err(error));
        }
        of_problem(base.refused(FileRole::SkillFile, self.path.as_str(), error))
    }

    /// What is said of a link to a folder: it is not followed, wherever it leads.
    fn link_problem(&self, base: &Base<'_>, error: &BodyError) -> Option<Problem> {
        if self.entry != Entry::Unsure {
            return None;
        }
        let is_folder = match error {
            BodyError::NotAFile(NotAFile::Folder) => true,
            BodyError::Outside => self.full(base).is_dir(),
            _ => false,
        };
        is_folder.then(|| base.refused(FileRole::LinkedFolder, self.path.as_str(), error))
    }
}
