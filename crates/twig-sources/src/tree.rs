//! The folders beneath one of a library's, each listed again only where it was touched.

mod base;
mod files;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use twig_core::{FileRole, ProblemCode};

use twig_core::{BodyError, Problem, RelativePath, Severity};

pub(crate) use self::base::Base;
pub(crate) use self::files::{SeenFile, arrange, look_at_all};
use crate::listing::{Entry, Listing, is_leftover};
use crate::stamp::Seen;

/// How many documents one library may have.
pub(crate) const FILES: usize = 5_000;

/// How deep folders may nest, and how many there may be.
const DEPTH: usize = 16;
const FOLDERS: usize = 10_000;
/// How many files are listed; whoever has fewer leaves off the rest.
pub(crate) const LISTED: usize = 20_000;

/// What goes away may come back at once: some editors move a file away before they write it anew.
const QUIET: Duration = Duration::from_millis(8);

/// Whether what is at a path from the library's folder counts; folders always do.
pub(crate) type Wants<'w> = &'w dyn Fn(&RelativePath, Entry) -> bool;

/// Folders that hold what other tools put there.
const STRANGE: [&str; 1] = ["node_modules"];

#[derive(Debug, Default)]
pub(crate) struct Tree {
    folders: Vec<SeenFolder>,
    pub(crate) problems: Vec<Problem>,
    /// Whether there is more than may be.
    pub(crate) is_cut: bool,
    /// Folders that do not count.
    pub(crate) without: Vec<PathBuf>,
}

#[derive(Debug)]
struct SeenFolder {
    /// From the base, `""` for itself.
    below: Box<str>,
    path: PathBuf,
    seen: Seen,
    contents: Contents,
    error: Option<BodyError>,
}

/// What is in a folder, without what is hidden, left over or not wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Contents {
    /// Sorted.
    entries: Vec<(Box<str>, Entry)>,
    /// Names that no path can have, as far as they can be shown.
    odd: Vec<Box<str>>,
    /// Whether there are more entries than are kept of one folder.
    is_cut: bool,
}

impl Tree {
    /// Lists what was touched; says whether anything came, went or is something else now.
    pub(crate) fn look(&mut self, base: &Base<'_>, wants: Wants<'_>) -> bool {
        let mut known: HashMap<Box<str>, SeenFolder> = std::mem::take(&mut self.folders)
            .into_iter()
            .map(|folder| (folder.below.clone(), folder))
            .collect();
        let (before, was_cut) = (known.len(), self.is_cut);
        let problems = std::mem::take(&mut self.problems);
        self.is_cut = false;
        let mut changed = false;
        let mut files = 0;
        // The next one is last.
        let mut next: Vec<Box<str>> = vec!["".into()];
        while let Some(below) = next.pop() {
            if files > LISTED || self.folders.len() == FOLDERS {
                self.is_cut = true;
                break;
            }
            let known = known.remove(&below);
            let folder = SeenFolder::look(base, below, wants, known, &mut changed);
            files += folder.files().count();
            self.is_cut |= folder.contents.is_cut;
            let odd = folder.contents.odd.iter();
            self.problems
                .extend(odd.map(|name| odd_name(base, &join(&shown(&folder.below), name))));
            if let Some(error) = &folder.error {
                self.problems
                    .push(base.refused(FileRole::Folder, &folder.below, error));
            }
            let depth = folder.below.split_terminator('/').count();
            for (name, _) in folder.folders().rev() {
                let below = join(&folder.below, name);
                if self.without.contains(&base.path.join(&*below)) {
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

    pub(crate) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().map(|folder| &folder.path)
    }

    /// The files in all of them, in no order, each with its path from the library's folder.
    pub(crate) fn files(&self, base: &Base<'_>) -> impl Iterator<Item = (RelativePath, Entry)> {
        self.folders.iter().flat_map(|folder| {
            folder.files().filter_map(|(name, entry)| {
                let path = base.path_of(&join(&folder.below, name));
                Some((RelativePath::parse(&path).ok()?, *entry))
            })
        })
    }
}

impl SeenFolder {
    /// What is known of a folder if that still holds, else what is in it now.
    fn look(
        base: &Base<'_>,
        below: Box<str>,
        wants: Wants<'_>,
        known: Option<Self>,
        changed: &mut bool,
    ) -> Self {
        let mut folder = known.unwrap_or_else(|| {
            *changed = true;
            let path = match &*below {
                "" => base.path.clone(),
                below => base.path.join(below),
            };
            Self::empty(below, path)
        });
        let now = Seen::at(&folder.path);
        if !folder.seen.holds(&now) {
            folder.seen = now;
            *changed |= folder.list(base, wants);
        }
        folder
    }

    /// Lists it; says whether anything differs.
    fn list(&mut self, base: &Base<'_>, wants: Wants<'_>) -> bool {
        let mut listed = Contents::list(base, &self.below, wants);
        let wait = self.seen.stamp().and_then(|it| it.until_quiet(QUIET));
        if let (Ok(contents), Some(wait)) = (&listed, wait)
            && self.contents.has_more_than(contents)
        {
            std::thread::sleep(wait);
            self.seen = Seen::at(&self.path);
            listed = Contents::list(base, &self.below, wants);
        }
        match listed {
            Ok(contents) => {
                let changed = contents != self.contents || self.error.is_some();
                self.contents = contents;
                self.error = None;
                changed
            }
            // What was known stays until the folder can be listed again.
            Err(error) => {
                self.seen = Seen::never();
                let changed = self.error.as_ref() != Some(&error);
                self.error = Some(error);
                changed
            }
        }
    }

    fn empty(below: Box<str>, path: PathBuf) -> Self {
        Self {
            below,
            path,
            seen: Seen::never(),
            contents: Contents::default(),
            error: None,
        }
    }

    fn folders(&self) -> impl DoubleEndedIterator<Item = &(Box<str>, Entry)> {
        self.contents
            .entries
            .iter()
            .filter(|(_, entry)| *entry == Entry::FOLDER)
    }

    fn files(&self) -> impl Iterator<Item = &(Box<str>, Entry)> {
        self.contents
            .entries
            .iter()
            .filter(|(_, entry)| *entry != Entry::FOLDER)
    }
}

impl Contents {
    fn list(base: &Base<'_>, below: &str, wants: Wants<'_>) -> Result<Self, BodyError> {
        let listing = Listing::read(base.root()?, below)?;
        let mut contents = Self {
            is_cut: !listing.is_complete(),
            ..Self::default()
        };
        let counts = |name: &str, entry| {
            let path = RelativePath::parse(&base.path_of(&join(below, name)));
            path.map(|path| wants(&path, entry))
        };
        // What such a name would be, were it readable, tells whether somebody would miss it.
        let is_missed = |name: &str, entry| {
            let strange = |c: char| c.is_control() || matches!(c, '\\' | ':');
            let path = base.path_of(&join(below, name)).replace(strange, "_");
            let path = RelativePath::parse(path.trim_start_matches('~'));
            let path = path.or_else(|_| RelativePath::parse(&name.replace(strange, "_")));
            path.is_ok_and(|path| wants(&path, entry))
        };
        for name in listing.unreadable() {
            if is_missed(name, Entry::File) {
                contents.odd.push(shown(name));
            }
        }
        for (name, entry) in listing.into_entries() {
            if is_leftover(&name) || (entry == Entry::FOLDER && STRANGE.contains(&&*name)) {
                continue;
            }
            match counts(&name, entry) {
                _ if entry == Entry::FOLDER => contents.entries.push((name, entry)),
                Ok(true) => contents.entries.push((name, entry)),
                Err(_) if is_missed(&name, entry) => contents.odd.push(shown(&name)),
                _ => {}
            }
        }
        contents.odd.sort_unstable();
        Ok(contents)
    }

    /// Whether something is here that another look did not find.
    fn has_more_than(&self, other: &Self) -> bool {
        let there = &other.entries;
        let is_there = |name: &str| there.binary_search_by(|(it, _)| (**it).cmp(name)).is_ok();
        self.entries.iter().any(|(name, _)| !is_there(name))
    }
}

/// A name as it can be shown: what cannot is escaped, so that it looks like no other.
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
    let what = format!("is more than {DEPTH} folders deep; what is in it is left off");
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
