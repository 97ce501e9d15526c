//! The folders beneath a documents folder, each listed again only where it was touched.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use twig_core::{BodyError, Problem, RelativePath, Severity};

use super::file::SeenFile;
use super::{DOCUMENTS, Place};
use crate::listing::{Entry, Listing, is_leftover};
use crate::stamp::Seen;

/// How deep folders may nest, and how many there may be.
const DEPTH: usize = 16;
const FOLDERS: usize = 2_000;

/// What goes away may come back at once: some editors move a file away before they write it anew.
const QUIET: Duration = Duration::from_millis(8);

#[derive(Debug, Default)]
pub(super) struct Tree {
    folders: Vec<SeenFolder>,
    pub(super) problems: Vec<Problem>,
    /// Whether there is more than may be.
    pub(super) is_cut: bool,
}

#[derive(Debug)]
struct SeenFolder {
    /// From the documents folder, `""` for itself.
    below: Box<str>,
    path: PathBuf,
    seen: Seen,
    /// Sorted; without what is hidden or left over.
    entries: Vec<(Box<str>, Entry)>,
    error: Option<BodyError>,
}

impl Tree {
    /// Lists what was touched; says whether anything came, went or is something else now.
    pub(super) fn look(&mut self, place: &Place<'_>) -> bool {
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
            if files > DOCUMENTS || self.folders.len() == FOLDERS {
                self.is_cut = true;
                break;
            }
            let folder = SeenFolder::look(place, below, &mut changed, |below| known.remove(below));
            files += folder.files().count();
            if let Some(error) = &folder.error {
                self.problems.push(unreadable(place, &folder.below, error));
            }
            let depth = folder.below.split_terminator('/').count();
            for (name, _) in folder.folders().rev() {
                let below = join(&folder.below, name);
                if depth < DEPTH {
                    next.push(below);
                } else {
                    self.problems.push(too_deep(place, &below));
                }
            }
            self.folders.push(folder);
        }
        changed
            || before != self.folders.len()
            || was_cut != self.is_cut
            || problems != self.problems
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().map(|folder| &folder.path)
    }

    /// The files in all of them, in no order.
    pub(super) fn files(&self, place: &Place<'_>) -> impl Iterator<Item = SeenFile> {
        self.folders.iter().flat_map(|folder| {
            folder.files().filter_map(|(name, entry)| {
                let path = place.path_of(&join(&folder.below, name));
                // A name that no path can have is no document's either.
                let path = RelativePath::parse(&path).ok()?;
                Some(SeenFile::new(path, *entry))
            })
        })
    }
}

impl SeenFolder {
    /// What is known of a folder if that still holds, else what is in it now.
    fn look(
        place: &Place<'_>,
        below: Box<str>,
        changed: &mut bool,
        known: impl FnOnce(&str) -> Option<Self>,
    ) -> Self {
        let path = if below.is_empty() {
            place.path.clone()
        } else {
            place.path.join(&*below)
        };
        let known = known(&below);
        let seen = Seen::at(&path);
        if let Some(known) = known.as_ref().filter(|known| known.seen.holds(&seen)) {
            debug_assert_eq!(known.path, path);
        } else {
            return Self::list(place, below, path, seen, known, changed);
        }
        known.unwrap_or_else(|| Self::empty(below, path))
    }

    fn list(
        place: &Place<'_>,
        below: Box<str>,
        path: PathBuf,
        seen: Seen,
        known: Option<Self>,
        changed: &mut bool,
    ) -> Self {
        let mut folder = known.unwrap_or_else(|| {
            *changed = true;
            Self::empty(below, path)
        });
        folder.seen = seen;
        let mut listed = list(place, &folder.below);
        let lacks = |listed: &[(Box<str>, Entry)]| {
            let is_there = |name: &str| listed.binary_search_by(|(it, _)| (**it).cmp(name)).is_ok();
            folder.entries.iter().any(|(name, _)| !is_there(name))
        };
        let wait = seen.stamp().and_then(|stamp| stamp.until_quiet(QUIET));
        if let (Ok(entries), Some(wait)) = (&listed, wait)
            && lacks(entries)
        {
            std::thread::sleep(wait);
            folder.seen = Seen::at(&folder.path);
            listed = list(place, &folder.below);
        }
        match listed {
            Ok(entries) => {
                *changed |= entries != folder.entries || folder.error.is_some();
                folder.entries = entries;
                folder.error = None;
            }
            // What was known stays until the folder can be listed again.
            Err(error) => {
                folder.seen = Seen::never();
                *changed |= folder.error.as_ref() != Some(&error);
                folder.error = Some(error);
            }
        }
        folder
    }

    fn empty(below: Box<str>, path: PathBuf) -> Self {
        Self {
            below,
            path,
            seen: Seen::never(),
            entries: Vec::new(),
            error: None,
        }
    }

    fn folders(&self) -> impl DoubleEndedIterator<Item = &(Box<str>, Entry)> {
        self.entries
            .iter()
            .filter(|(_, entry)| *entry == Entry::FOLDER)
    }

    fn files(&self) -> impl Iterator<Item = &(Box<str>, Entry)> {
        self.entries
            .iter()
            .filter(|(_, entry)| *entry != Entry::FOLDER)
    }
}

fn list(place: &Place<'_>, below: &str) -> Result<Vec<(Box<str>, Entry)>, BodyError> {
    let mut entries = Listing::read(place.root()?, below)?.into_entries();
    entries.retain(|(name, _)| !is_leftover(name));
    Ok(entries)
}

fn join(below: &str, name: &str) -> Box<str> {
    if below.is_empty() {
        return name.into();
    }
    format!("{below}/{name}").into()
}

fn unreadable(place: &Place<'_>, below: &str, error: &BodyError) -> Problem {
    let (code, what, help) = match error {
        BodyError::NotAFile(_) | BodyError::NotFound => (
            "not-a-folder",
            "is not a folder".to_owned(),
            "put documents into a folder of that name",
        ),
        BodyError::Outside => (
            "outside-library",
            error.to_string(),
            "copy the folder into the library",
        ),
        _ => (
            "unreadable-folder",
            format!("cannot be listed: {error}"),
            "check the folder's permissions",
        ),
    };
    place.problem(code, Severity::Error, below, &what, help)
}

fn too_deep(place: &Place<'_>, below: &str) -> Problem {
    let what = format!("is more than {DEPTH} folders deep; what is in it is left off");
    let help = "move it further up";
    place.problem("too-deep", Severity::Error, below, &what, help)
}
