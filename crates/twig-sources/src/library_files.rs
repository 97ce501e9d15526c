//! The files of one library. Every refresh checks each of them and reads the changed ones; no other
//! code reads them. The kind of the library decides which files it needs, and makes a library of
//! them.
//!
//! A file is requested by its name, as one of a folder's ([`FileTree`]), or only for whether it
//! exists ([`FileLister`]).

mod base;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use twig_clients::format::{self, ClientFilePart, Options, Reading, SkillFileFound};
use twig_core::document::{HEAD, Head};
use twig_core::parse::documents::{DocumentLayout, FoundDocument};
use twig_core::parse::library::LibraryRoot;
use twig_core::parse::project::CONFIG;
use twig_core::state_hash::StateHash;
use twig_core::{
    BodyError, FileRole, LibraryKind, Limits, NotAFile, ProblemCode, RelativePath, Severity,
};

pub(crate) use self::base::Base;
pub(crate) use self::tree::{FILES, FileTree, LISTED, TreeKind, is_definition};
use crate::client_folder::leads_to_shared_skills;
use crate::listing::{FileLister, Listed, ListedKind, LookedAt};
use crate::packages::PackagedFiles;
use crate::reader::{ReadBytes, ReadFile, SavePatience, read_beneath, read_head, text_of};
use crate::root::Root;
use crate::stamp::SeenStamp;
use crate::unsaved::UnsavedTexts;

/// From this many unknown files on, threads are worth starting.
const MANY: usize = 256;

/// How the files of one library are read.
pub(crate) struct FileRules<'r> {
    pub(crate) folder: &'r LibraryRoot,
    pub(crate) kind: LibraryKind,
    pub(crate) options: Options,
    pub(crate) limits: &'r Limits,
    /// Subfolders that are libraries themselves.
    pub(crate) inner: &'r [PathBuf],
    /// A repository's configuration, if it was read already.
    config: Option<&'r ReadFile>,
    /// What its files must be, in a package.
    package: Option<&'r PackagedFiles>,
    /// Texts that count instead of what is on disk.
    unsaved: Option<&'r UnsavedTexts>,
    /// Bytes that were read since the refresh began.
    read: AtomicU64,
    /// Whether any file was read since then.
    is_any_read: AtomicBool,
}

impl<'r> FileRules<'r> {
    pub(crate) fn new(
        folder: &'r LibraryRoot,
        kind: LibraryKind,
        options: Options,
        limits: &'r Limits,
        inner: &'r [PathBuf],
    ) -> Self {
        Self {
            folder,
            kind,
            options,
            limits,
            inner,
            config: None,
            package: None,
            unsaved: None,
            read: AtomicU64::new(0),
            is_any_read: AtomicBool::new(false),
        }
    }

    /// The same with a repository's configuration that was read already.
    pub(crate) fn with_config(mut self, config: Option<&'r ReadFile>) -> Self {
        self.config = config;
        self
    }

    /// The same for a library of a package, whose files must be as they were fetched.
    pub(crate) fn with_package(mut self, package: Option<&'r PackagedFiles>) -> Self {
        self.package = package;
        self
    }

    /// The same as if these texts were saved.
    pub(crate) fn with_unsaved(mut self, unsaved: Option<&'r UnsavedTexts>) -> Self {
        self.unsaved = unsaved;
        self
    }

    /// The unsaved text of a file that is on disk, as if it were read.
    fn unsaved(&self, path: &Path, limit: usize) -> Option<Result<ReadBytes, BodyError>> {
        let text = self.unsaved?.text(path)?;
        let mut stamp = *SeenStamp::at(path).stamp()?;
        stamp.size = text.len() as u64;
        if text.len() > limit {
            let size = stamp.size;
            return Some(Err(BodyError::TooLarge { size, limit }));
        }
        Some(Ok(ReadBytes {
            bytes: text.as_bytes().to_vec(),
            stamp,
            is_executable: false,
        }))
    }

    /// Refuses a file of a package that was changed.
    fn as_fetched(&self, path: &str, read: ReadBytes) -> Result<ReadBytes, BodyError> {
        match self.package {
            Some(package) => package.check(path, &read.bytes).map(|()| read),
            None => Ok(read),
        }
    }

    pub(crate) fn is_any_read(&self) -> bool {
        self.is_any_read.load(Ordering::Relaxed)
    }

    fn root(&self) -> &'r Path {
        Path::new(&*self.folder.root)
    }
}

/// Everything known of a library's files.
#[derive(Debug, Default)]
pub(crate) struct LibraryFiles {
    /// Files that were requested by name.
    named: Vec<LibraryFile>,
    /// The listed folders of named files, and symlinks among those files.
    folders: Vec<Listed>,
    links: Vec<LookedAt>,
    /// The folder all of whose files count.
    pub(crate) tree: Option<FileTree>,
    /// The folder of the documents.
    pub(crate) documents: Option<FileTree>,
    /// Parent folders in which a folder of documents may appear.
    above: Vec<PathBuf>,
    /// The folder of documents outside the library's own, and the folders in the project that it is
    /// in.
    pub(crate) beside: Vec<PathBuf>,
}

impl LibraryFiles {
    /// Reads the changed files, except documents; returns whether anything differs. `manifest` is
    /// the stamp of the first named file.
    pub(crate) fn refresh(&mut self, rules: &FileRules<'_>, manifest: SeenStamp) -> bool {
        let base = Base::new(rules.folder, "");
        let mut changed = false;
        for (at, file) in self.named.iter_mut().enumerate() {
            let now = (at == 0 && manifest.is_there()).then_some(manifest);
            changed |= file.refresh(&base, rules, u64::MAX, now);
        }
        // A library that is read again looks them up anyway.
        changed = changed || !self.names_hold(rules.root());
        let tree = self.tree.as_mut();
        changed | tree.is_some_and(|tree| tree.refresh(rules))
    }

    /// Requests a file's text, and reads it if it was not requested before, or dropped since.
    pub(crate) fn want_text(&mut self, rules: &FileRules<'_>, path: &str, limit: usize) {
        if let Some(file) = self.named_mut(path) {
            if matches!(file.content, Ok(FileContent::Dropped(_))) {
                file.content = Err(BodyError::NotFound);
                file.read(&Base::new(rules.folder, ""), rules, None);
            }
        } else if let Ok(path) = RelativePath::parse(path) {
            let mut file = LibraryFile::new(path, ListedKind::Unsure, Want::Text(limit));
            let config = rules.config.filter(|_| rules.unsaved.is_none());
            match config.filter(|_| file.path.as_str() == CONFIG) {
                Some(read) => file.give(read),
                None => drop(file.refresh(&Base::new(rules.folder, ""), rules, u64::MAX, None)),
            }
            self.named.push(file);
        }
    }

    /// Frees a text that was parsed. It is needed again only if the library is made again.
    pub(crate) fn drop_text(&mut self, path: &str) {
        if let Some(file) = self.named_mut(path)
            && let Ok(FileContent::Text { text, has_mark }) = &file.content
        {
            file.content = Ok(FileContent::Dropped(state(text, *has_mark)));
        }
    }

    fn named_mut(&mut self, path: &str) -> Option<&mut LibraryFile> {
        self.named.iter_mut().find(|it| it.path.as_str() == path)
    }

    /// A file that was requested by its name.
    pub(crate) fn named(&self, path: &str) -> Option<&LibraryFile> {
        self.named.iter().find(|it| it.path.as_str() == path)
    }

    /// The files of a folder, read now if they were not requested before.
    pub(crate) fn tree(&mut self, rules: &FileRules<'_>, kind: TreeKind, below: &str) -> &FileTree {
        let known = self.tree.take().filter(|tree| tree.is_of(kind, below));
        let tree = known.unwrap_or_else(|| {
            let mut tree = FileTree::new(kind, below);
            tree.refresh(rules);
            tree
        });
        self.tree.insert(tree)
    }

    /// Remembers which file lookups a library was made with.
    pub(crate) fn keep(&mut self, looker: FileLister<'_>) {
        (self.folders, self.links) = looker.into_used();
    }

    /// Reads the changed documents; returns whether anything differs.
    pub(crate) fn refresh_documents(
        &mut self,
        rules: &FileRules<'_>,
        layout: Option<&DocumentLayout>,
    ) -> bool {
        let Some(layout) = layout else {
            self.above.clear();
            self.beside.clear();
            return self.documents.take().is_some();
        };
        self.above = above(rules.root(), layout);
        self.beside = beside(rules.folder, layout);
        let is_there = |path: &&RelativePath| {
            SeenStamp::at(&base::path_of(rules.folder, path.as_str())).is_there()
        };
        let Some(base) = layout.folders.iter().find(is_there) else {
            return self.documents.take().is_some();
        };
        let known = self.documents.take();
        let known = known.filter(|tree| tree.is_of(TreeKind::Documents, base.as_str()));
        let is_new = known.is_none();
        let tree = known.unwrap_or_else(|| FileTree::new(TreeKind::Documents, base.as_str()));
        self.documents.insert(tree).refresh(rules) | is_new
    }

    /// The folders whose entries matter.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        let trees = self.tree.iter().chain(&self.documents);
        let listed = self.folders.iter().map(|listed| &listed.path);
        let folders = trees.flat_map(FileTree::folders);
        listed.chain(&self.above).chain(folders)
    }

    /// The files that prompts were read from, with their stamps.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &SeenStamp)> {
        let files = self.tree.iter().flat_map(|tree| &tree.files);
        let prompts = files.filter(|file| matches!(file.want, Want::Text(_) | Want::PROMPT));
        let files = self.named.iter().chain(prompts);
        files.map(|file| (file.path.as_str(), &file.seen))
    }

    /// Whether every named file is still there, or still missing.
    fn names_hold(&mut self, root: &Path) -> bool {
        let links = &self.links;
        self.folders.iter_mut().all(|listed| listed.holds(root))
            && (links.is_empty()
                || Root::open(root)
                    .is_ok_and(|opened| links.iter().all(|link| link.holds(root, &opened))))
    }
}

/// The parents of the folders that may hold documents, below the library's own, which is watched
/// anyway.
fn above(root: &Path, layout: &DocumentLayout) -> Vec<PathBuf> {
    let mut above = Vec::new();
    let inside = |folder: &&RelativePath| folder.in_project().is_none();
    for folder in layout.folders.iter().filter(inside) {
        let mut path = folder.folder();
        while !path.is_empty() {
            above.push(root.join(path));
            path = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
    }
    above
}

/// The folders of a project that lead to its documents, if those are not in the library's folder.
fn beside(root: &LibraryRoot, layout: &DocumentLayout) -> Vec<PathBuf> {
    let path = layout.beside().map_or("", RelativePath::as_str);
    let folders = std::iter::successors(Some(path), |path| {
        path.rsplit_once('/').map(|(above, _)| above)
    });
    let folders = folders.filter(|path| !matches!(*path, "" | ".."));
    folders.map(|path| base::path_of(root, path)).collect()
}

/// What a library needs of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Its whole text, of at most this many bytes.
    Text(usize),
    /// Its beginning: it is a document.
    Head,
    /// The content of another client's file.
    Client(ClientFilePart),
    /// Whether it is a symlink to a folder.
    Link,
}

impl Want {
    pub(crate) const PROMPT: Self = Self::Client(ClientFilePart::Prompt);
    const BUNDLED: Self = Self::Client(ClientFilePart::Bundled);

    /// Whether the file is reported and never read.
    fn is_skipped(self) -> bool {
        matches!(self, Self::Client(ClientFilePart::Skipped(_)))
    }
}

/// What was read of a file.
#[derive(Debug, PartialEq)]
pub(crate) enum FileContent {
    Text {
        text: String,
        has_mark: bool,
    },
    /// The [`state`] of a text that is not kept.
    Dropped(u64),
    Head(FoundDocument),
    Client(Reading, Option<Box<SkillFileFound>>),
}

/// A file and what was last read of it.
#[derive(Debug)]
pub(crate) struct LibraryFile {
    /// Relative to the library's folder.
    pub(crate) path: RelativePath,
    pub(crate) entry: ListedKind,
    pub(crate) want: Want,
    seen: SeenStamp,
    size: u64,
    /// Whether it exceeds the limit for all files.
    is_left_off: bool,
    pub(crate) content: Result<FileContent, BodyError>,
}

impl LibraryFile {
    /// A file that was not examined yet.
    fn new(path: RelativePath, entry: ListedKind, want: Want) -> Self {
        Self {
            path,
            entry,
            want,
            seen: SeenStamp::never(),
            size: 0,
            is_left_off: false,
            content: Err(BodyError::NotFound),
        }
    }

    /// Takes over a text that was read already.
    fn give(&mut self, read: &ReadFile) {
        self.seen = SeenStamp::of(read.stamp);
        self.size = read.stamp.size;
        self.content = Ok(FileContent::Text {
            text: read.text.clone(),
            has_mark: read.has_mark,
        });
    }

    /// Its text, if that was requested.
    pub(crate) fn text(&self) -> Result<&str, &BodyError> {
        match &self.content {
            Ok(FileContent::Text { text, .. }) => Ok(text),
            Ok(_) => Ok(""),
            Err(error) => Err(error),
        }
    }

    /// SHA-256 of its bytes, if its text was requested.
    pub(crate) fn digest(&self) -> Option<[u8; 32]> {
        match &self.content {
            Ok(FileContent::Text { text, has_mark }) => Some(ReadFile::digest_of(text, *has_mark)),
            _ => None,
        }
    }

    fn is_new(&self) -> bool {
        self.seen == SeenStamp::never()
    }

    /// Whether it should have been read and was not.
    fn is_unread(&self) -> bool {
        self.is_new() && !self.want.is_skipped() && !matches!(self.want, Want::Link)
    }

    /// Bytes that it takes of the limit for all files.
    fn room(&self) -> u64 {
        if self.is_left_off { 0 } else { self.size }
    }

    fn full(&self, base: &Base<'_>) -> PathBuf {
        base::path_of(base.folder, self.path.as_str())
    }

    /// Checks the file, and reads it if it changed; returns whether it differs. `now` is its
    /// current stamp.
    fn refresh(
        &mut self,
        base: &Base<'_>,
        rules: &FileRules<'_>,
        total: u64,
        now: Option<SeenStamp>,
    ) -> bool {
        let is_new = self.is_new();
        if self.want.is_skipped() {
            return self.content.is_err() && self.replace(base, rules, Err(BodyError::NotFound));
        }
        if let ListedKind::Other(what) = self.entry {
            if is_new {
                self.seen = SeenStamp::at(&self.full(base));
                self.replace(base, rules, Err(BodyError::NotAFile(what)));
            }
            return is_new;
        }
        if is_new {
            // An upper bound only: the order of paths decides which files exceed the limit.
            let is_enough = rules.read.load(Ordering::Relaxed) > total.saturating_mul(2);
            return !is_enough && self.read(base, rules, None);
        }
        let now = now.unwrap_or_else(|| SeenStamp::at(&self.full(base)));
        if self.is_left_off {
            // It is read once its new size fits.
            self.seen = now;
            self.size = now.stamp().map_or(0, |stamp| stamp.size);
            return false;
        }
        !self.seen.holds(&now) && self.read(base, rules, Some(now))
    }

    /// Keeps the file if it fits into the limit, else leaves it out; returns whether it differs.
    fn fit(&mut self, base: &Base<'_>, rules: &FileRules<'_>, left: u64, total: u64) -> bool {
        let is_unread = self.is_unread();
        if is_unread {
            self.seen = SeenStamp::at(&self.full(base));
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
        let limit = usize::try_from(total).unwrap_or(usize::MAX);
        self.replace(base, rules, Err(BodyError::NoRoom { limit }))
    }

    /// Reads it; `now` is its stamp, if it was checked.
    fn read(&mut self, base: &Base<'_>, rules: &FileRules<'_>, now: Option<SeenStamp>) -> bool {
        self.is_left_off = false;
        rules.is_any_read.store(true, Ordering::Relaxed);
        let patience = match rules.package {
            Some(_) => SavePatience::FETCHED,
            None => SavePatience::for_scan(self.size > 0),
        };
        let (path, is_listed) = (self.path.as_str(), self.entry == ListedKind::File);
        let full = rules.unsaved.map(|_| self.full(base));
        let whole = |opened, limit| {
            let unsaved = full.as_ref().and_then(|path| rules.unsaved(path, limit));
            if let Some(unsaved) = unsaved {
                return unsaved;
            }
            let read = read_beneath(opened, rules.root(), path, is_listed, limit, patience);
            read.and_then(|read| rules.as_fetched(path, read))
        };
        let read = base.root().and_then(|opened| match self.want {
            Want::Head => read_head(opened, base.below(&self.path), is_listed, HEAD, patience),
            Want::Link => {
                let found = opened.look(path);
                Err(found.err().unwrap_or(BodyError::NotFound))
            }
            Want::Text(limit) => whole(opened, limit),
            Want::BUNDLED => whole(opened, rules.limits.document),
            Want::Client(_) => whole(opened, rules.limits.library_file()),
        });
        if let Ok(read) = &read {
            self.seen = SeenStamp::of(read.stamp);
            self.size = read.stamp.size;
            rules.read.fetch_add(self.size, Ordering::Relaxed);
        } else {
            self.seen = now.unwrap_or_else(|| SeenStamp::at(&self.full(base)));
            self.size = 0;
        }
        self.replace(base, rules, read)
    }

    /// Stores its content; returns whether that differs.
    fn replace(
        &mut self,
        base: &Base<'_>,
        rules: &FileRules<'_>,
        read: Result<ReadBytes, BodyError>,
    ) -> bool {
        let content = match self.want {
            Want::Text(_) => read.and_then(text_of).map(|read| FileContent::Text {
                text: read.text,
                has_mark: read.has_mark,
            }),
            Want::Head => read.and_then(|read| self.document(&read, rules.limits)),
            Want::Link | Want::Client(_) => Ok(self.of_client(base, rules, read)),
        };
        let changed = match (&content, &self.content) {
            (Ok(FileContent::Text { text, has_mark }), Ok(FileContent::Dropped(known))) => {
                state(text, *has_mark) != *known
            }
            (new, known) => new != known,
        };
        if changed {
            self.content = content;
        }
        changed
    }

    fn document(&self, read: &ReadBytes, limits: &Limits) -> Result<FileContent, BodyError> {
        let (size, limit) = (read.stamp.size, limits.document);
        if size > limit as u64 {
            return Err(BodyError::TooLarge { size, limit });
        }
        let is_whole = read.bytes.len() as u64 >= size;
        // Two saves within one tick of the clock leave one stamp: the first bytes distinguish most
        // of them.
        Ok(FileContent::Head(FoundDocument {
            path: self.path.clone(),
            head: Head::read(self.path.file_name(), &read.bytes, is_whole),
            size,
            modified: Some(read.stamp.modified()),
            version: mix(read.stamp.digest(), &read.bytes),
        }))
    }

    /// The content of another client's file, or why it has none.
    fn of_client(
        &self,
        base: &Base<'_>,
        rules: &FileRules<'_>,
        read: Result<ReadBytes, BodyError>,
    ) -> FileContent {
        let read = match read {
            Ok(read) => read,
            Err(error) => return FileContent::Client(self.refused(base, rules, &error), None),
        };
        let bundled = (rules.kind == LibraryKind::Skills).then(|| Box::new(self.bundle(&read)));
        if self.want == Want::BUNDLED {
            return FileContent::Client(Reading::default(), bundled);
        }
        let text = text_of(read);
        let has_mark = text.as_ref().is_ok_and(|read| read.has_mark);
        let mut reading = self.said(rules, text.as_ref().map(|read| &*read.text));
        if has_mark {
            let what = "begins with a byte-order mark, which is ignored";
            let help = "save it as UTF-8 without one";
            let (code, path) = (ProblemCode::ByteOrderMark, self.path.as_str());
            let note = base.problem(code, Severity::Note, path, what, help);
            reading.problems.push(note);
        }
        FileContent::Client(reading, bundled)
    }

    fn said(&self, rules: &FileRules<'_>, text: Result<&str, &BodyError>) -> Reading {
        let (kind, options, folder) = (rules.kind, rules.options, rules.folder);
        format::read(kind, folder, &self.path, text, options, rules.limits)
    }

    fn bundle(&self, read: &ReadBytes) -> SkillFileFound {
        let digest: [u8; 32] = Sha256::digest(&read.bytes).into();
        let mut version = [0; 8];
        version.copy_from_slice(&digest[..8]);
        let head = &read.bytes[..read.bytes.len().min(HEAD)];
        let is_whole = head.len() == read.bytes.len();
        SkillFileFound {
            head: Head::read(self.path.file_name(), head, is_whole),
            path: self.path.clone(),
            digest,
            size: read.stamp.size,
            modified: Some(read.stamp.modified()),
            version: u64::from_le_bytes(version),
        }
    }

    /// The problem of another client's file that cannot be read.
    fn refused(&self, base: &Base<'_>, rules: &FileRules<'_>, error: &BodyError) -> Reading {
        if let Want::Client(ClientFilePart::Skipped(why)) = self.want {
            return format::skipped(rules.folder, &self.path, why);
        }
        let is_link = self.entry == ListedKind::Unsure;
        let is_folder = match error {
            BodyError::NotAFile(NotAFile::Folder) => is_link,
            BodyError::Outside => is_link && self.full(base).is_dir(),
            _ => false,
        };
        let role = if is_folder {
            let root = Path::new(&*base.folder.root);
            if leads_to_shared_skills(root, &self.full(base)) {
                // What it points to is a library of its own.
                return Reading::default();
            }
            // It is not followed, whatever its target.
            FileRole::LinkedFolder
        } else if self.want == Want::Link {
            return Reading::default();
        } else if *error == BodyError::NotFound {
            if !is_link {
                // It was removed after its folder was listed.
                return Reading::default();
            }
            FileRole::SkillFile
        } else if self.want == Want::BUNDLED {
            FileRole::SkillFile
        } else {
            return self.said(rules, Err(error));
        };
        Reading {
            problems: vec![base.refused(role, self.path.as_str(), error)],
            ..Reading::default()
        }
    }
}

/// Refreshes files, many new ones on all processors; returns whether any differs.
fn refresh_all(
    files: &mut [LibraryFile],
    base: &Base<'_>,
    rules: &FileRules<'_>,
    total: u64,
) -> bool {
    let new = files.iter().filter(|file| file.is_new()).count();
    let threads = match new {
        0..MANY => 1,
        _ => std::thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
    };
    let refresh = |base: &Base<'_>, files: &mut [LibraryFile]| {
        let differ = files
            .iter_mut()
            .map(|file| file.refresh(base, rules, total, None));
        differ.fold(false, |changed, differs| changed | differs)
    };
    if threads == 1 {
        return refresh(base, files);
    }
    let (refresh, part) = (&refresh, files.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let parts = files.chunks_mut(part);
        let helpers = parts.map(|part| {
            let (folder, below) = (base.folder, base.below);
            let work = move || refresh(&Base::new(folder, below), part);
            std::thread::Builder::new().spawn_scoped(scope, work)
        });
        let helpers: Vec<_> = helpers.collect();
        // If a thread could not start or panicked, its files stay as new as before: the next
        // refresh, seconds later, reads them.
        let differ = helpers
            .into_iter()
            .map(|helper| helper.is_ok_and(|helper| helper.join().unwrap_or(true)));
        differ.fold(false, |changed, differs| changed | differs)
    })
}

/// Tells a text from the one that was there before.
fn state(text: &str, has_mark: bool) -> u64 {
    let mut hash = StateHash::default();
    hash.part(&[u8::from(has_mark)]);
    hash.part(text.as_bytes());
    hash.end()
}

/// A hash of bytes without protection against collisions; speed matters, since thousands of files
/// are compared at each start.
fn mix(start: u64, bytes: &[u8]) -> u64 {
    let mix =
        |number: u64, word: u64| (number.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(start, mix)
}

#[cfg(test)]
mod tests;
