//! The entries of one folder: names and types from a single listing, without a `stat` for each
//! file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use cap_std::fs::FileType;
use twig_core::name::full_path;
use twig_core::parse::library::Files;
use twig_core::{BodyError, NotAFile, RelativePath};

use crate::root::{Root, regular};
use crate::stamp::SeenStamp;

/// How many names of one folder are kept; the rest is checked one by one.
const LIMIT: usize = 20_000;

/// The names in one folder, sorted, with their types.
#[derive(Debug)]
pub(crate) struct Listing {
    entries: Vec<(Box<str>, ListedKind)>,
    /// Names that are not UTF-8, as far as they can be shown.
    unreadable: Vec<Box<str>>,
    complete: bool,
}

/// The type of an entry according to a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListedKind {
    File,
    /// A symlink, or a file system that does not say.
    Unsure,
    Other(NotAFile),
}

impl Listing {
    pub(crate) fn read(root: &Root, folder: &str) -> Result<Self, BodyError> {
        let mut listing = Self {
            entries: Vec::new(),
            unreadable: Vec::new(),
            complete: true,
        };
        for entry in root.entries(folder)? {
            if listing.entries.len() == LIMIT {
                listing.complete = false;
                break;
            }
            let entry = entry.map_err(|error| crate::root::body_error(&error))?;
            match entry.file_name().into_string() {
                Ok(name) => {
                    let kind = entry.file_type().map_or(ListedKind::Unsure, ListedKind::of);
                    listing.entries.push((name.into_boxed_str(), kind));
                }
                // A name that is not UTF-8 cannot be written in a manifest, nor in a reply.
                Err(name) => listing.unreadable.push(name.to_string_lossy().into()),
            }
        }
        listing
            .entries
            .sort_unstable_by(|one, two| one.0.cmp(&two.0));
        Ok(listing)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| &**name)
    }

    /// Names that are not UTF-8, as far as they can be shown.
    pub(crate) fn unreadable(&self) -> &[Box<str>] {
        &self.unreadable
    }

    /// Whether it has all entries.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The names with their types.
    pub(crate) fn into_entries(self) -> Vec<(Box<str>, ListedKind)> {
        self.entries
    }

    fn entry(&self, name: &str) -> Option<ListedKind> {
        let at = self
            .entries
            .binary_search_by(|(entry, _)| (**entry).cmp(name))
            .ok();
        match at {
            Some(at) => Some(self.entries[at].1),
            None => (!self.complete).then_some(ListedKind::Unsure),
        }
    }

    /// A number that is the same for the same entries; `None` if not all are known.
    fn digest(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        self.entries.hash(&mut hasher);
        self.complete.then(|| hasher.finish())
    }
}

impl ListedKind {
    pub(crate) const FOLDER: Self = Self::Other(NotAFile::Folder);

    fn of(kind: FileType) -> Self {
        match regular(kind) {
            Ok(()) => Self::File,
            Err(BodyError::NotAFile(NotAFile::Unknown)) => Self::Unsure,
            Err(BodyError::NotAFile(what)) => Self::Other(what),
            Err(_) => Self::Unsure,
        }
    }
}

/// A listed folder, and how to check whether another listing would be the same.
#[derive(Debug)]
pub(crate) struct Listed {
    folder: Box<str>,
    pub(crate) path: PathBuf,
    seen: SeenStamp,
    digest: Option<u64>,
}

impl Listed {
    /// Whether the folder still has the same entries; it is listed again only if it was touched.
    pub(crate) fn holds(&mut self, root: &Path) -> bool {
        let now = SeenStamp::at(&self.path);
        if self.seen.holds(&now) {
            return true;
        }
        let again = Root::open(root).and_then(|root| Listing::read(&root, &self.folder));
        let digest = again.ok().and_then(|listing| listing.digest());
        let same = digest.is_some() && digest == self.digest;
        if same {
            self.seen = now;
        }
        same
    }
}

/// Answers lookups of a library's files from the listings of their folders, and remembers which it
/// used.
#[derive(Debug)]
pub(crate) struct FileLister<'a> {
    path: &'a Path,
    root: Result<Root, BodyError>,
    listings: RefCell<BTreeMap<Box<str>, Answers>>,
    links: RefCell<Vec<LookedAt>>,
}

/// A listed folder and its entries.
type Answers = (Listed, Result<Listing, BodyError>);

/// A path that had to be checked by itself, and the result.
#[derive(Debug)]
pub(crate) struct LookedAt {
    path: RelativePath,
    is_program: bool,
    found: Result<(), BodyError>,
}

impl LookedAt {
    fn new(at: &Path, root: &Root, path: &RelativePath, is_program: bool) -> Self {
        let found = match path.in_project() {
            Some(folder) => look_beside(at, path, folder),
            None if is_program => root.look_program(path.as_str()),
            None => root.look(path.as_str()),
        };
        Self {
            path: path.clone(),
            is_program,
            found,
        }
    }

    /// Whether the result would be the same now.
    pub(crate) fn holds(&self, at: &Path, root: &Root) -> bool {
        Self::new(at, root, &self.path, self.is_program).found == self.found
    }
}

/// Checks that there is a folder at a path of the project, outside the project's own folder; that is
/// an error of its kind, as for every other path.
fn look_beside(own: &Path, path: &RelativePath, folder: &str) -> Result<(), BodyError> {
    let is_file = || Path::new(&full_path(&own.to_string_lossy(), path)).is_file();
    match Root::beside(own, folder) {
        Ok(_) => Err(BodyError::NotAFile(NotAFile::Folder)),
        Err(BodyError::NotFound) if is_file() => Ok(()),
        Err(error) => Err(error),
    }
}

impl<'a> FileLister<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self {
            path,
            root: Root::open(path),
            listings: RefCell::default(),
            links: RefCell::default(),
        }
    }

    /// The folders that were listed and the symlinks that were followed.
    pub(crate) fn into_used(self) -> (Vec<Listed>, Vec<LookedAt>) {
        let listings = self.listings.into_inner().into_values();
        let listed = listings.map(|(listed, _)| listed).collect();
        (listed, self.links.into_inner())
    }

    /// Checks a path by itself, and remembers the result.
    fn look_itself(
        &self,
        root: &Root,
        path: &RelativePath,
        is_program: bool,
    ) -> Result<(), BodyError> {
        let looked = LookedAt::new(self.path, root, path, is_program);
        let found = looked.found.clone();
        self.links.borrow_mut().push(looked);
        found
    }

    fn list(&self, root: &Root, folder: &str) -> Answers {
        let path = self.path.join(folder);
        // Take the stamp first: a change in between makes the stamp old, never the listing.
        let seen = SeenStamp::at(&path);
        let listing = Listing::read(root, folder);
        let listed = Listed {
            folder: folder.into(),
            path,
            seen,
            digest: listing.as_ref().ok().and_then(Listing::digest),
        };
        (listed, listing)
    }
}

impl Files for FileLister<'_> {
    fn look(&self, path: &RelativePath) -> Result<(), BodyError> {
        let root = self.root.as_ref().map_err(Clone::clone)?;
        if path.in_project().is_some() {
            return self.look_itself(root, path, false);
        }
        let mut listings = self.listings.borrow_mut();
        if !listings.contains_key(path.folder()) {
            listings.insert(path.folder().into(), self.list(root, path.folder()));
        }
        let Some((_, listing)) = listings.get(path.folder()) else {
            return Err(BodyError::NotFound);
        };
        match listing
            .as_ref()
            .map_err(Clone::clone)?
            .entry(path.file_name())
        {
            Some(ListedKind::File) => Ok(()),
            Some(ListedKind::Other(what)) => Err(BodyError::NotAFile(what)),
            Some(ListedKind::Unsure) => self.look_itself(root, path, false),
            None => Err(BodyError::NotFound),
        }
    }

    fn beside(&self, path: &RelativePath) -> Vec<String> {
        let listings = self.listings.borrow();
        let Some((_, Ok(listing))) = listings.get(path.folder()) else {
            return Vec::new();
        };
        let names = listing.names().filter(|name| !is_leftover(name));
        let paths = names.map(|name| match path.folder() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        });
        paths.collect()
    }

    /// A listing does not say what is executable.
    fn look_program(&self, path: &RelativePath) -> Result<(), BodyError> {
        self.look(path)?;
        let root = self.root.as_ref().map_err(Clone::clone)?;
        self.look_itself(root, path, true)
    }
}

/// Whether a name is hidden, or a leftover of editors and tools.
pub(crate) fn is_leftover(name: &str) -> bool {
    let ending = |wanted: &str| {
        name.rsplit_once('.')
            .is_some_and(|(_, ending)| ending.eq_ignore_ascii_case(wanted))
    };
    name.starts_with('.')
        || name.ends_with('~')
        || name == "4913"
        || name == "lost+found"
        || (name.starts_with('#') && name.ends_with('#'))
        || ending("swp")
        || ending("tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_told_from_libraries() {
        for name in [
            ".git",
            "x~",
            "a.swp",
            "4913",
            "lost+found",
            ".#a",
            "#a#",
            "a.tmp",
            ".a.md.swp",
        ] {
            assert!(is_leftover(name), "{name}");
        }
        for name in ["coding", "tmp", "a.md", "x#y", "49130", "swp"] {
            assert!(!is_leftover(name), "{name}");
        }
    }
}
