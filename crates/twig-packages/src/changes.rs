//! What changes between two versions of a package: skills and files that were added, removed,
//! renamed or changed, and what the new version can do that the old one could not.

mod lines;
mod renames;

use std::collections::{BTreeMap, BTreeSet};

use twig_core::model::SKILL_FILE;

use crate::capabilities::{CapabilityKind, PackageCapabilities};
use crate::tree::{PackageFile, PackageTree};

/// Names in each list of what is new; the others are counted.
const LISTED: usize = 200;

/// Reads the content of a file of a package; `None` if it is not available.
pub type PackageContent<'f> = &'f dyn Fn(&PackageFile) -> Option<Vec<u8>>;

/// What changes between two versions of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageChanges {
    /// Skills and files that are new, skills first, in the order of their paths.
    pub added: Vec<PackageItem>,
    /// Skills and files that are no longer there.
    pub removed: Vec<PackageItem>,
    /// Skills and files with a new path, and the same or similar content.
    pub renamed: Vec<PackageRename>,
    /// Skills and files at the same path with other content.
    pub changed: Vec<PackageItemChange>,
    /// What the files that were added or changed can do, and nothing in the old version could.
    pub new_capabilities: PackageCapabilities,
}

/// A skill with all its files, or a file that belongs to no skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageItem {
    /// Which of the two.
    pub kind: PackageItemKind,
    /// The path of the file, or of the skill's folder; empty if the package itself is the skill.
    pub path: String,
}

impl PackageItem {
    /// The last part of its path; `.` for a package that is a skill.
    pub fn name(&self) -> &str {
        match self.path.rsplit('/').next() {
            None | Some("") => ".",
            Some(name) => name,
        }
    }

    /// The path of one of its files from its folder; empty for a file that is the item.
    fn relative<'p>(&self, path: &'p str) -> &'p str {
        let rest = path.strip_prefix(&*self.path).unwrap_or(path);
        rest.strip_prefix('/').unwrap_or(rest)
    }
}

/// What an item of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageItemKind {
    /// A folder with `SKILL.md`.
    Skill,
    /// A file outside every skill.
    File,
}

impl PackageItemKind {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::File => "file",
        }
    }
}

/// An item at a new path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRename {
    /// What it was.
    pub from: PackageItem,
    /// What it is.
    pub to: PackageItem,
    /// Its files that changed as well; empty if only the path is new.
    pub files: Vec<PackageFileChange>,
}

/// An item with other content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageItemChange {
    /// The skill or file.
    pub item: PackageItem,
    /// Its files that changed, in the order of their paths.
    pub files: Vec<PackageFileChange>,
}

/// One file of an item that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFileChange {
    /// What happened to it.
    pub kind: FileChangeKind,
    /// Its path in the new version; in the old one if it was removed.
    pub path: String,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// It is no longer there.
    Removed,
    /// Its content or its mode is another.
    Changed,
}

impl FileChangeKind {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl PackageChanges {
    /// Compares two versions. Content is read only where something changed, one file at a time.
    pub fn between(
        old: &PackageTree,
        new: &PackageTree,
        old_content: PackageContent<'_>,
        new_content: PackageContent<'_>,
    ) -> Self {
        if old == new {
            return Self::default();
        }
        let mut changes = Self::default();
        let (mut old_items, mut new_items) = (items(old), items(new));
        let (mut gone, mut came) = (Vec::new(), Vec::new());
        old_items.retain(|old| {
            let is_kept = new_items.binary_search_by(|new| new.item.cmp(&old.item));
            if is_kept.is_err() {
                gone.push(old.clone());
            }
            is_kept.is_ok()
        });
        new_items.retain(|new| {
            let kept = old_items.binary_search_by(|old| old.item.cmp(&new.item));
            match kept {
                Ok(at) => changes.compare(&old_items[at], new),
                Err(_) => came.push(new.clone()),
            }
            kept.is_ok()
        });
        let renames = renames::find(&mut gone, &mut came, old_content, new_content);
        for (from, to) in renames {
            changes.renamed.push(PackageRename {
                files: file_changes(&from, &to),
                from: from.item,
                to: to.item,
            });
        }
        changes.added = came.into_iter().map(|it| it.item).collect();
        changes.removed = gone.into_iter().map(|it| it.item).collect();
        changes.new_capabilities = new_capabilities(old, new, old_content, new_content);
        changes
    }

    /// True if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.renamed.is_empty()
            && self.changed.is_empty()
            && self.new_capabilities.is_empty()
    }

    /// The changes for people, one a line.
    ///
    /// Hidden characters of names are shown as their codes.
    pub fn to_lines(&self) -> Vec<String> {
        lines::lines(self)
    }

    /// What a new package can do: all of its files are read, one at a time.
    pub fn capabilities_of(
        files: &PackageTree,
        content: PackageContent<'_>,
    ) -> PackageCapabilities {
        let none = PackageTree::new(Vec::new());
        new_capabilities(&none, files, &|_| None, content)
    }

    /// What a new package can do, for people, one kind a line.
    pub fn capability_lines(capabilities: &PackageCapabilities) -> Vec<String> {
        lines::capability_lines(capabilities)
    }

    fn compare(&mut self, old: &ItemFiles<'_>, new: &ItemFiles<'_>) {
        let files = file_changes(old, new);
        if !files.is_empty() {
            let item = new.item.clone();
            self.changed.push(PackageItemChange { item, files });
        }
    }
}

/// An item and its files, sorted.
#[derive(Debug, Clone)]
struct ItemFiles<'t> {
    item: PackageItem,
    files: Vec<&'t PackageFile>,
}

impl<'t> ItemFiles<'t> {
    /// The file that says what the item is: `SKILL.md`, or the file itself.
    fn main_file(&self) -> Option<&'t PackageFile> {
        let mut files = self.files.iter();
        let found = files.find(|file| match self.item.kind {
            PackageItemKind::Skill => is_skill_file(self.item.relative(&file.path)),
            PackageItemKind::File => true,
        });
        found.copied()
    }

    /// The bytes of all its files.
    fn size(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.size);
        sizes.fold(0, u64::saturating_add)
    }
}

fn is_skill_file(name: &str) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE)
}

/// The items of a package, sorted. A file belongs to the innermost skill around it.
fn items(tree: &PackageTree) -> Vec<ItemFiles<'_>> {
    let paths = tree.files().iter().map(|file| &*file.path);
    let skills: BTreeSet<&str> = paths
        .map(|path| path.rsplit_once('/').unwrap_or(("", path)))
        .filter(|(_, name)| is_skill_file(name))
        .map(|(folder, _)| folder)
        .collect();
    let mut items: BTreeMap<PackageItem, Vec<&PackageFile>> = BTreeMap::new();
    for file in tree.files() {
        let ends = file.path.rmatch_indices('/').map(|(at, _)| at).chain([0]);
        let mut folders = ends.map(|end| &file.path[..end]);
        let skill = folders.find(|folder| skills.contains(folder));
        let (kind, path) = match skill {
            Some(folder) => (PackageItemKind::Skill, folder),
            None => (PackageItemKind::File, &*file.path),
        };
        let path = path.to_owned();
        items
            .entry(PackageItem { kind, path })
            .or_default()
            .push(file);
    }
    let items = items.into_iter();
    items
        .map(|(item, files)| ItemFiles { item, files })
        .collect()
}

/// The files that differ between two versions of an item, which may have another path.
fn file_changes(old: &ItemFiles<'_>, new: &ItemFiles<'_>) -> Vec<PackageFileChange> {
    let mut files: BTreeMap<&str, [Option<&PackageFile>; 2]> = BTreeMap::new();
    for (at, version) in [old, new].into_iter().enumerate() {
        for file in &version.files {
            let relative = version.item.relative(&file.path);
            files.entry(relative).or_default()[at] = Some(file);
        }
    }
    let changes = files.into_values().filter_map(|versions| {
        let (kind, file) = match versions {
            [Some(old), Some(new)] if is_same(old, new) => return None,
            [Some(_), Some(new)] => (FileChangeKind::Changed, new),
            [None, Some(new)] => (FileChangeKind::Added, new),
            [Some(old), None] => (FileChangeKind::Removed, old),
            [None, None] => return None,
        };
        let path = file.path.clone();
        Some(PackageFileChange { kind, path })
    });
    changes.collect()
}

/// True if two files have the same content and mode.
fn is_same(one: &PackageFile, two: &PackageFile) -> bool {
    one.digest == two.digest && one.mode == two.mode
}

fn new_capabilities(
    old: &PackageTree,
    new: &PackageTree,
    old_content: PackageContent<'_>,
    new_content: PackageContent<'_>,
) -> PackageCapabilities {
    let is_changed = |file: &&PackageFile| {
        let before = old.file(&file.path);
        before.is_none_or(|before| !is_same(before, file))
    };
    let mut after = PackageCapabilities::default();
    for file in new.files().iter().filter(is_changed) {
        match new_content(file) {
            Some(bytes) => after.add_file(&file.path, file.mode.is_executable(), &bytes),
            None => after.add_unread(&file.path),
        }
    }
    if after.is_empty() {
        return after;
    }
    let mut before = PackageCapabilities::default();
    for file in old.files() {
        if let Some(bytes) = old_content(file) {
            before.add_file(&file.path, file.mode.is_executable(), &bytes);
        }
    }
    let mut beyond = after.beyond(&before);
    for kind in CapabilityKind::ALL.into_iter().filter(|it| it.is_files()) {
        // A file that only moved is nothing new.
        let files = before.list(kind).iter();
        let files = files.filter_map(|(path, _)| old.file(path));
        let known: BTreeSet<[u8; 32]> = files.map(|file| file.digest).collect();
        let is_known = |path: &str| new.file(path).is_some_and(|it| known.contains(&it.digest));
        beyond.retain(kind, |path| !is_known(path));
    }
    beyond.shortened(LISTED)
}
