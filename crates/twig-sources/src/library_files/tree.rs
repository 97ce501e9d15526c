//! The files beneath one of a library's folders: only folders that were touched are listed again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use twig_clients::format::{self, ClientFilePart};
use twig_core::{
    BodyError, FileRole, LibraryKind, Limits, Problem, ProblemCode, RelativePath, Severity,
};

use super::{Base, FileRules, LibraryFile, Want, refresh_all};
use crate::listing::{ListedKind, Listing, is_leftover};
use crate::patience::look_twice;
use crate::stamp::SeenStamp;

/// Maximum number of documents, and of definitions, in one library.
pub(crate) const FILES: usize = 5_000;

/// Maximum depth and number of folders.
const DEPTH: usize = 16;
const FOLDERS: usize = 10_000;
/// Maximum number of listed files; kinds with a lower limit skip the rest.
pub(crate) const LISTED: usize = 20_000;

/// Maximum bytes that are read of all files of one library.
const CLIENT_BYTES: u64 = 256 * 1024 * 1024;
const DEFINITION_BYTES: u64 = 50 * 1024 * 1024;

/// Folders with files of other tools.
const STRANGE: [&str; 1] = ["node_modules"];

/// Which files of a folder count, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeKind {
    /// Every file is a document.
    Documents,
    /// Each `*.json` in the folder itself is a definition.
    Definitions,
    /// Files of another client.
    Client(LibraryKind),
}

impl TreeKind {
    /// What is needed of the entry at a path relative to the library's folder; `None` if it does
    /// not count.
    fn want(self, path: &RelativePath, entry: ListedKind, limits: &Limits) -> Option<Want> {
        match self {
            Self::Documents => Some(Want::Head),
            Self::Definitions => {
                is_definition(path.file_name()).then_some(Want::Text(limits.manifest))
            }
            Self::Client(kind) => match format::part(kind, path) {
                Some(part) => Some(Want::Client(part)),
                // A symlink may point to a folder, which its name does not show.
                None => (entry == ListedKind::Unsure).then_some(Want::Link),
            },
        }
    }

    /// Maximum number of files.
    fn files(self) -> usize {
        match self {
            Self::Definitions => FILES,
            // Files that cannot be served do not count.
            Self::Documents => usize::MAX,
            Self::Client(_) => LISTED,
        }
    }

    /// Maximum bytes of all files.
    fn bytes(self) -> u64 {
        match self {
            Self::Documents => u64::MAX,
            Self::Definitions => DEFINITION_BYTES,
            Self::Client(_) => CLIENT_BYTES,
        }
    }
}

/// Whether a file is a definition by its name.
pub(crate) fn is_definition(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

#[derive(Debug)]
pub(crate) struct FileTree {
    kind: TreeKind,
    /// Relative to the library's folder, `""` for that itself.
    pub(crate) below: Box<str>,
    folders: Vec<SeenFolder>,
    /// In the order of their paths.
    pub(crate) files: Vec<LibraryFile>,
    /// Number of files over the limit.
    pub(crate) left_off: usize,
    pub(crate) problems: Vec<Problem>,
    /// Whether there is more than the limit.
    pub(crate) is_cut: bool,
    /// Maximum bytes of all files.
    pub(super) total: u64,
}

#[derive(Debug)]
struct SeenFolder {
    /// Relative to the base, `""` for itself.
    below: Box<str>,
    path: PathBuf,
    seen: SeenStamp,
    contents: FolderContents,
    error: Option<BodyError>,
}

/// The entries of a folder, without hidden, leftover and unneeded ones.
#[derive(Debug, Default, PartialEq, Eq)]
struct FolderContents {
    /// Sorted.
    entries: Vec<(Box<str>, ListedKind)>,
    /// Names that no path can have, as far as they can be shown.
    odd: Vec<Box<str>>,
    /// Whether there are more entries than are kept of one folder.
    is_cut: bool,
}

/// Whether the entry at a path relative to the library's folder counts; folders always do.
type Counts<'w> = &'w dyn Fn(&RelativePath, ListedKind) -> bool;

impl FileTree {
    pub(super) fn new(kind: TreeKind, below: &str) -> Self {
        Self {
            kind,
            below: below.into(),
            folders: Vec::new(),
            files: Vec::new(),
            left_off: 0,
            problems: Vec::new(),
            is_cut: false,
            total: kind.bytes(),
        }
    }

    #[cfg(test)]
    pub(super) fn kind(&self) -> TreeKind {
        self.kind
    }

    /// Whether it has the files of that folder.
    pub(super) fn is_of(&self, kind: TreeKind, below: &str) -> bool {
        self.kind == kind && *self.below == *below
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().map(|folder| &folder.path)
    }

    /// Lists touched folders and reads changed files; returns whether anything differs.
    pub(super) fn refresh(&mut self, rules: &FileRules<'_>) -> bool {
        let below = self.below.clone();
        // A definition may be a symlink to anywhere in the library, a document only to another
        // document.
        let (base, start) = match self.kind {
            TreeKind::Definitions => ("", &*below),
            TreeKind::Documents | TreeKind::Client(_) => (&*below, ""),
        };
        let base = Base::new(rules.folder, base);
        let mut changed = false;
        if self.list(&base, start, rules) {
            changed = true;
            self.arrange(&base, rules.limits);
        }
        changed |= refresh_all(&mut self.files, &base, rules, self.total);
        changed | self.share_room(&base, rules)
    }

    /// Lists touched folders; returns whether anything was added, removed or changed its type.
    fn list(&mut self, base: &Base<'_>, start: &str, rules: &FileRules<'_>) -> bool {
        let kind = self.kind;
        let counts = |path: &RelativePath, entry| kind.want(path, entry, rules.limits).is_some();
        let mut known: HashMap<Box<str>, SeenFolder> = std::mem::take(&mut self.folders)
            .into_iter()
            .map(|folder| (folder.below.clone(), folder))
            .collect();
        let (before, was_cut) = (known.len(), self.is_cut);
        let problems = std::mem::take(&mut self.problems);
        self.is_cut = false;
        let mut changed = false;
        let mut files = 0;
        // The last one is next.
        let mut next: Vec<Box<str>> = vec![start.into()];
        while let Some(below) = next.pop() {
            if files > LISTED || self.folders.len() == FOLDERS {
                self.is_cut = true;
                break;
            }
            let known = known.remove(&below);
            let folder = SeenFolder::refresh(base, below, &counts, known, &mut changed);
            files += folder.files().count();
            self.is_cut |= folder.contents.is_cut;
            let odd = folder.contents.odd.iter();
            self.problems
                .extend(odd.map(|name| odd_name(base, &join(&shown(&folder.below), name))));
            if let Some(error) = &folder.error {
                let problem = base.refused(FileRole::Folder, &folder.below, error);
                self.problems.push(problem);
            }
            let depth = folder.below.split_terminator('/').count();
            for (name, _) in folder.folders().rev() {
                let below = join(&folder.below, name);
                let is_other = rules.inner.contains(&base.path.join(&*below));
                if is_other || kind == TreeKind::Definitions {
                    continue;
                }
                if depth < DEPTH {
                    next.push(below);
                } else {
                    self.problems.push(too_deep(base, &below));
                }
            }
            self.folders.push(folder);
        }
        changed
            || before != self.folders.len()
            || was_cut != self.is_cut
            || problems != self.problems
    }

    /// Sorts files in the order of a new listing; known files keep what was read of them.
    fn arrange(&mut self, base: &Base<'_>, limits: &Limits) {
        let mut listed: Vec<LibraryFile> = self.listed(base, limits).collect();
        if self.kind == TreeKind::Client(LibraryKind::Skills) {
            keep_skills(&mut listed);
        }
        listed.sort_by(|one, two| one.path.cmp(&two.path));
        let mut old = std::mem::take(&mut self.files).into_iter().peekable();
        self.files.reserve_exact(listed.len());
        for file in listed {
            while old.next_if(|old| old.path < file.path).is_some() {}
            // Adding or removing a `SKILL.md` changes the role of the files around it.
            let is_same = |old: &LibraryFile| {
                old.path == file.path && old.entry == file.entry && old.want == file.want
            };
            let known = old.next_if(is_same);
            self.files.push(known.unwrap_or(file));
        }
        self.left_off = self.files.len().saturating_sub(self.kind.files());
        self.files.truncate(self.kind.files());
        self.files.shrink_to_fit();
    }

    /// The files in all folders, unordered.
    fn listed(&self, base: &Base<'_>, limits: &Limits) -> impl Iterator<Item = LibraryFile> {
        // Where subfolders are not searched, one that is named like a file is a mistake.
        let counts = |entry| self.kind == TreeKind::Definitions || entry != ListedKind::FOLDER;
        self.folders.iter().flat_map(move |folder| {
            let entries = folder.contents.entries.iter();
            let entries = entries.filter(move |(_, entry)| counts(*entry));
            entries.filter_map(move |(name, entry)| {
                let path = base.relative(&join(&folder.below, name)).ok()?;
                let want = self.kind.want(&path, *entry, limits)?;
                Some(LibraryFile::new(path, *entry, want))
            })
        })
    }

    /// Leaves out the files over the byte limit, in the order of paths, so that it is the same each
    /// time; returns whether anything differs.
    fn share_room(&mut self, base: &Base<'_>, rules: &FileRules<'_>) -> bool {
        if self.total == u64::MAX {
            return false;
        }
        let mut left = self.total;
        let mut changed = false;
        for file in &mut self.files {
            changed |= file.fit(base, rules, left, self.total);
            left = left.saturating_sub(file.room());
        }
        changed
    }
}

/// Drops files that belong to no skill: there is no `SKILL.md` next to them, nor in a parent
/// folder. Of these, Markdown and symlinks to folders are kept to be reported.
fn keep_skills(files: &mut Vec<LibraryFile>) {
    let skills = files.iter().filter(|file| file.want == Want::PROMPT);
    let skills: HashSet<Box<str>> = skills.map(|file| file.path.folder().into()).collect();
    files.retain_mut(|file| {
        let is_bundled = file.want == Want::Client(ClientFilePart::Bundled);
        if !is_bundled || above(file.path.folder()).any(|it| skills.contains(it)) {
            return true;
        }
        let part =
            (file.entry == ListedKind::File).then(|| format::part_outside_skills(&file.path));
        match part.flatten() {
            Some(part) => file.want = Want::Client(part),
            None => file.want = Want::Link,
        }
        file.want != Want::Link || file.entry == ListedKind::Unsure
    });
}

/// A folder and its parents, `""` for the library's own.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    let outer = |folder: &str| folder.rfind('/').unwrap_or(0);
    let lengths = std::iter::successors(Some(folder.len()), move |length| match length {
        0 => None,
        length => Some(outer(&folder[..*length])),
    });
    lengths.map(|length| &folder[..length])
}

impl SeenFolder {
    /// The known contents of a folder if they are still valid, else the current ones.
    fn refresh(
        base: &Base<'_>,
        below: Box<str>,
        counts: Counts<'_>,
        known: Option<Self>,
        changed: &mut bool,
    ) -> Self {
        let mut folder = known.unwrap_or_else(|| {
            *changed = true;
            let path = match &*below {
                "" => base.path.clone(),
                below => base.path.join(below),
            };
            Self {
                below,
                path,
                seen: SeenStamp::never(),
                contents: FolderContents::default(),
                error: None,
            }
        });
        let now = SeenStamp::at(&folder.path);
        if !folder.seen.holds(&now) {
            folder.seen = now;
            *changed |= folder.list(base, counts);
        }
        folder
    }

    /// Lists it; returns whether anything differs.
    fn list(&mut self, base: &Base<'_>, counts: Counts<'_>) -> bool {
        let is_less = |listed: &(SeenStamp, Result<FolderContents, BodyError>)| {
            listed
                .1
                .as_ref()
                .is_ok_and(|it| self.contents.has_more_than(it))
        };
        let seen = &mut Some(self.seen);
        let look = || {
            let seen = seen.take().unwrap_or_else(|| SeenStamp::at(&self.path));
            (seen, FolderContents::list(base, &self.below, counts))
        };
        let (seen, listed) = look_twice(&self.path, look, is_less);
        self.seen = seen;
        let (contents, error) = match listed {
            Ok(contents) => (contents, None),
            Err(error @ BodyError::NotFound) => (FolderContents::default(), Some(error)),
            // The known contents stay until the folder can be listed again.
            Err(error) => {
                self.seen = SeenStamp::never();
                (std::mem::take(&mut self.contents), Some(error))
            }
        };
        let changed = contents != self.contents || error != self.error;
        (self.contents, self.error) = (contents, error);
        changed
    }

    fn folders(&self) -> impl DoubleEndedIterator<Item = &(Box<str>, ListedKind)> {
        self.contents
            .entries
            .iter()
            .filter(|(_, entry)| *entry == ListedKind::FOLDER)
    }

    fn files(&self) -> impl Iterator<Item = &(Box<str>, ListedKind)> {
        self.contents
            .entries
            .iter()
            .filter(|(_, entry)| *entry != ListedKind::FOLDER)
    }
}

impl FolderContents {
    fn list(base: &Base<'_>, below: &str, counts: Counts<'_>) -> Result<Self, BodyError> {
        let listing = Listing::read(base.root()?, below)?;
        let mut contents = Self {
            is_cut: !listing.is_complete(),
            ..Self::default()
        };
        let is_wanted = |name: &str, entry| {
            let path = base.relative(&join(below, name));
            path.map(|path| counts(&path, entry))
        };
        // The readable part of such a name shows whether the user would miss the file.
        let is_missed = |name: &str, entry| {
            let strange = |c: char| c.is_control() || matches!(c, '\\' | ':');
            let path = base.path_of(&join(below, name)).replace(strange, "_");
            let path = RelativePath::parse(path.trim_start_matches('~'));
            let path = path.or_else(|_| RelativePath::parse(&name.replace(strange, "_")));
            path.is_ok_and(|path| counts(&path, entry))
        };
        for name in listing.unreadable() {
            if is_missed(name, ListedKind::File) {
                contents.odd.push(shown(name));
            }
        }
        for (name, entry) in listing.into_entries() {
            if is_leftover(&name) || (entry == ListedKind::FOLDER && STRANGE.contains(&&*name)) {
                continue;
            }
            match is_wanted(&name, entry) {
                _ if entry == ListedKind::FOLDER => contents.entries.push((name, entry)),
                Ok(true) => contents.entries.push((name, entry)),
                Err(_) if is_missed(&name, entry) => contents.odd.push(shown(&name)),
                _ => {}
            }
        }
        contents.odd.sort_unstable();
        Ok(contents)
    }

    /// Whether it has an entry that another listing did not have.
    fn has_more_than(&self, other: &Self) -> bool {
        let there = &other.entries;
        let is_there = |name: &str| there.binary_search_by(|(it, _)| (**it).cmp(name)).is_ok();
        self.entries.iter().any(|(name, _)| !is_there(name))
    }
}

/// A name for display: other characters are escaped, so that it looks like no other.
fn shown(name: &str) -> Box<str> {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() || c == '\\' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

fn join(below: &str, name: &str) -> Box<str> {
    if below.is_empty() {
        return name.into();
    }
    format!("{below}/{name}").into()
}

fn too_deep(base: &Base<'_>, below: &str) -> Problem {
    let what = format!("is more than {DEPTH} folders deep; its contents are ignored");
    let help = "move it further up";
    base.problem(ProblemCode::TooDeep, Severity::Error, below, &what, help)
}

fn odd_name(base: &Base<'_>, below: &str) -> Problem {
    let what = "has a name that cannot be read everywhere";
    let help = "rename it and the folders it is in: UTF-8, no control characters, no `\\`, no `~` or `C:` in front, 1024 bytes at most";
    base.problem(
        ProblemCode::BadFileName,
        Severity::Warning,
        below,
        what,
        help,
    )
}
