//! Keeps the folder of packages in order: what differs, what no lock names, which locks there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use twig_packages::tree::hex;
use twig_packages::{FileMode, PackageFile, PackageLock, PackageTree, TreeDigest};

use super::contents::{PackageStore, remove_package};
use super::followed_lock::read_lock;
use super::package_error::PackageError;
use super::signatures::{is_signature, on_all_processors};
use crate::locked_file::LockedFile;
use crate::platform;
use crate::root::digest;
use crate::write_file::NewFile;

/// The file with the paths of all locks that were seen.
const SEEN_LOCKS: &str = "locks.txt";

/// The folder with the versions before the last update of each lock.
const BEFORE: &str = "before";

/// Files that are compared at a time.
const PART: usize = 64;

/// The size above which files are not held in memory.
const LARGE: u64 = 4 * 1024 * 1024;

/// A package whose files were compared with its list.
#[derive(Debug, Clone)]
pub struct CheckedPackage {
    /// The list.
    pub files: PackageTree,
    /// The files that differ, sorted by path.
    pub changed: Vec<ChangedFile>,
    /// The signatures that do not differ, by path.
    pub signatures: BTreeMap<String, Vec<u8>>,
}

/// A file of a package that is not as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path in the package.
    pub path: String,
    /// What is different.
    pub difference: FileDifference,
}

/// What is different about a file of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDifference {
    /// Other bytes.
    Changed,
    /// It is gone.
    Missing,
    /// The package has no such file.
    Added,
    /// It cannot be read.
    Unreadable,
    /// It can be executed and should not be, or the other way round.
    Mode,
}

/// What [`PackageStore::collect`] did.
#[derive(Debug, Default)]
pub struct Collected {
    /// The packages that were removed.
    pub removed: Vec<TreeDigest>,
    /// The packages that are needed.
    pub kept: usize,
    /// Bytes that are free now.
    pub bytes: u64,
}

impl FileDifference {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Added => "added",
            Self::Unreadable => "unreadable",
            Self::Mode => "mode",
        }
    }
}

impl PackageStore {
    /// True if all files of a package are here, each as long as it was fetched: what the system had
    /// not written when the power failed is missing or too short. Reads no file.
    pub fn has_lengths(&self, tree: TreeDigest) -> bool {
        let root = self.root_of(tree);
        self.files_of(tree).is_ok_and(|list| {
            let is_whole = |file: &PackageFile| {
                let found = fs::symlink_metadata(root.join(&file.path));
                found.is_ok_and(|found| found.is_file() && found.len() == file.size)
            };
            list.files().iter().all(is_whole)
        })
    }

    /// Compares every file of a package with its list.
    pub fn check(&self, tree: TreeDigest) -> Result<Vec<ChangedFile>, PackageError> {
        Ok(self.check_signed(tree)?.changed)
    }

    /// Compares every file of a package with its list, and keeps its signatures: each file is read
    /// once, on all processors if they are many.
    pub fn check_signed(&self, tree: TreeDigest) -> Result<CheckedPackage, PackageError> {
        let files = self.files_of(tree)?;
        let root = self.root_of(tree);
        let found = files_below(&root).map_err(PackageError::disk("a package cannot be listed"))?;
        let found = &found;
        let parts: Vec<&[PackageFile]> = files.files().chunks(PART).collect();
        let parts = on_all_processors(&parts, |part| FileComparison::of(&root, part, found));
        let added = found.keys().filter(|path| files.file(path).is_none());
        let mut changed: Vec<ChangedFile> = added
            .map(|path| ChangedFile {
                path: path.clone(),
                difference: FileDifference::Added,
            })
            .collect();
        let mut signatures = BTreeMap::new();
        for part in parts {
            changed.extend(part.changed);
            signatures.extend(part.signatures);
        }
        changed.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(CheckedPackage {
            files,
            changed,
            signatures,
        })
    }

    /// Removes a package, so that it can be fetched again.
    pub fn discard(&self, tree: TreeDigest) -> Result<(), PackageError> {
        let wrong = || PackageError::disk("a package cannot be removed");
        self.set_aside(tree).map_err(wrong())?;
        match fs::remove_file(self.list_of(tree)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(wrong()(error)),
            _ => Ok(()),
        }
    }

    /// Remembers a lock, so that the packages that it names are kept.
    pub fn remember_lock(&self, lock: &Path) -> Result<(), PackageError> {
        let wrong = || PackageError::disk("the record of locks cannot be written");
        let Some(text) = lock.to_str().filter(|it| !it.contains('\n')) else {
            return Ok(());
        };
        if !lock.exists() || self.seen_locks().iter().any(|seen| seen == lock) {
            return Ok(());
        }
        let path = self.folder().join(SEEN_LOCKS);
        let file = LockedFile::open(&path).map_err(|error| wrong()(io::Error::other(error)))?;
        let before = file.read().map_err(wrong())?;
        let mut next = before.clone().unwrap_or_default();
        next.extend_from_slice(text.as_bytes());
        next.push(b'\n');
        let written = file.replace(before.as_deref(), &next, NewFile::PRIVATE);
        written.map_err(wrong())
    }

    /// Remembers versions that an update replaces, for [`PackageStore::versions_before`].
    pub fn remember_versions(&self, lock: &Path, before: &PackageLock) -> Result<(), PackageError> {
        let wrong = || PackageError::disk("the versions before the update cannot be kept");
        let path = self.before_path(lock);
        let file = LockedFile::open(&path).map_err(|error| wrong()(io::Error::other(error)))?;
        let bytes = file.read().map_err(wrong())?;
        let next = before.to_text();
        let written = file.replace(bytes.as_deref(), next.as_bytes(), NewFile::PRIVATE);
        written.map_err(wrong())
    }

    /// The versions before the last update of a lock.
    pub fn versions_before(&self, lock: &Path) -> Result<Option<PackageLock>, PackageError> {
        let path = self.before_path(lock);
        if !path.exists() {
            return Ok(None);
        }
        let before = read_lock(&path).map_err(|trouble| PackageError::Disk {
            what: "the versions before the update cannot be read".to_owned(),
            error: io::Error::other(trouble.to_string()),
        })?;
        Ok(Some(before))
    }

    fn before_path(&self, lock: &Path) -> PathBuf {
        let digest = Sha256::digest(lock.as_os_str().as_encoded_bytes());
        let name = format!("{}.lock", &hex(&digest)[..32]);
        self.folder().join(BEFORE).join(name)
    }

    /// The locks that were seen.
    fn seen_locks(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.folder().join(SEEN_LOCKS)).unwrap_or_default();
        text.lines().map(PathBuf::from).collect()
    }

    /// Removes packages that no lock names: neither one that was seen, nor one of `also`. Fails
    /// while another process fetches packages, which its lock does not name yet.
    pub fn collect(&self, also: &[TreeDigest], is_trial: bool) -> Result<Collected, PackageError> {
        let _alone = if is_trial { None } else { self.refuse_holds()? };
        let mut needed: BTreeSet<TreeDigest> = also.iter().copied().collect();
        for path in self.seen_locks() {
            let lock = read_lock(&path).map_err(|trouble| PackageError::Disk {
                what: format!(
                    "nothing was removed, because the lock {} cannot be read",
                    path.display()
                ),
                error: io::Error::other(trouble.to_string()),
            })?;
            needed.extend(lock.libraries().iter().map(|library| library.tree));
            // One that was removed does not go back to the version before.
            let before = self.versions_before(&path).ok().flatten();
            let before = before.iter().flat_map(PackageLock::libraries);
            let before = before.filter(|it| lock.library(&it.name).is_some());
            needed.extend(before.map(|library| library.tree));
        }
        let wrong = || PackageError::disk("the folder of packages cannot be read");
        let (trees, unfinished) = self.entries().map_err(wrong())?;
        let mut collected = Collected::default();
        for tree in trees {
            if needed.contains(&tree) {
                collected.kept += 1;
                continue;
            }
            collected.bytes += self.files_of(tree).map_or(0, |list| list.size());
            collected.removed.push(tree);
            if !is_trial {
                self.discard(tree)?;
            }
        }
        if !is_trial {
            remove_abandoned(&unfinished);
        }
        Ok(collected)
    }

    /// Removes what fetches left that were ended.
    pub(super) fn tidy(&self) {
        if let Ok((_, unfinished)) = self.entries() {
            remove_abandoned(&unfinished);
        }
    }
}

fn remove_abandoned(unfinished: &[PathBuf]) {
    for path in unfinished.iter().filter(|path| is_abandoned(path)) {
        let _ = if path.is_dir() {
            remove_package(path)
        } else {
            fs::remove_file(path)
        };
    }
}

/// True if nothing was written to it for an hour: no fetch takes that long.
fn is_abandoned(path: &Path) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age.as_secs() > 3_600))
}

/// What is different about some files of a package, and the signatures among them.
#[derive(Debug, Default)]
struct FileComparison {
    changed: Vec<ChangedFile>,
    signatures: Vec<(String, Vec<u8>)>,
}

impl FileComparison {
    fn of(root: &Path, files: &[PackageFile], found: &BTreeMap<String, bool>) -> Self {
        let mut comparison = Self::default();
        let mut bytes = Vec::new();
        for file in files {
            bytes.clear();
            let difference = match found.get(&file.path) {
                None => Some(FileDifference::Missing),
                Some(false) => Some(FileDifference::Changed),
                Some(true) => compare(&root.join(&file.path), file, &mut bytes),
            };
            if let Some(difference) = difference {
                comparison.changed.push(ChangedFile {
                    path: file.path.clone(),
                    difference,
                });
            } else if is_signature(&file.path) {
                let signature = (file.path.clone(), bytes.clone());
                comparison.signatures.push(signature);
            }
        }
        comparison
    }
}

/// Compares a file with its entry of the list; `bytes` are those of a file that is not large.
fn compare(path: &Path, file: &PackageFile, bytes: &mut Vec<u8>) -> Option<FileDifference> {
    let mut read = || -> io::Result<Option<FileDifference>> {
        let mut opened = File::open(path)?;
        let metadata = opened.metadata()?;
        if metadata.len() != file.size {
            return Ok(Some(FileDifference::Changed));
        }
        let found = if file.size <= LARGE {
            opened.by_ref().take(LARGE + 1).read_to_end(bytes)?;
            Sha256::digest(&bytes).into()
        } else {
            digest(opened)?
        };
        Ok(if found != file.digest {
            Some(FileDifference::Changed)
        } else if has_other_mode(&metadata, file.mode) {
            Some(FileDifference::Mode)
        } else {
            None
        })
    };
    read().unwrap_or(Some(FileDifference::Unreadable))
}

/// The paths of everything below a folder but folders, with `/`, and whether it is a file.
fn files_below(root: &Path) -> io::Result<BTreeMap<String, bool>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(format!("{path}/"));
            } else {
                found.insert(path, kind.is_file());
            }
        }
    }
    Ok(found)
}

fn has_other_mode(metadata: &fs::Metadata, mode: FileMode) -> bool {
    let bits = platform::mode(metadata);
    bits.is_some_and(|bits| (bits & 0o100 != 0) != mode.is_executable())
}
