//! Copies files of packages into a repository, for people without Twig or a network.
//!
//! A list beside the copies says what was written. A file that differs from it was changed by hand,
//! or is somebody else's: it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use twig_packages::{FileMode, PackageFile, PackageTree};

use crate::locked_file::{LockError, LockedFile};
use crate::platform;
use crate::root::digest;
use crate::write_file::NewFile;

/// The name of the list of files that were written.
pub const VENDOR_LIST: &str = "twig-vendor.files";

/// The longest list, in bytes.
const LONGEST_LIST: u64 = 64 * 1024 * 1024;

/// A file to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendoredFile {
    /// Where it is now.
    pub from: PathBuf,
    /// What it must be; its path is the one below the folder of copies.
    pub file: PackageFile,
}

/// The folder of copies.
#[derive(Debug, Clone)]
pub struct VendorFolder {
    /// A folder that is not left: no symlink in it leads out of it.
    pub base: PathBuf,
    /// The folder below that one; empty for that one itself.
    pub below: PathBuf,
}

/// What to do about copies.
#[derive(Debug, Clone, Copy, Default)]
pub struct VendorMode {
    /// Says what would be done, and does nothing.
    pub is_dry: bool,
    /// Overwrites files that were changed by hand.
    pub force: bool,
}

/// What was done about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorAction {
    /// It was not there.
    Written,
    /// An earlier version was replaced.
    Updated,
    /// Its package no longer has it.
    Removed,
    /// It was changed by hand, or is somebody else's.
    Kept,
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Vendored {
    /// The files that were not as they should be, sorted by path.
    pub files: Vec<(String, VendorAction)>,
    /// How many were.
    pub unchanged: usize,
}

/// Why nothing was copied, or not everything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VendorError {
    /// Another command works on the folder, or it leads elsewhere.
    #[error("{path} cannot be used: {error}")]
    Lock {
        /// The file.
        path: String,
        /// Why.
        error: LockError,
    },
    /// The system refused.
    #[error("{path} cannot be {verb}: {error}")]
    Io {
        /// The file.
        path: String,
        /// `read`, `written` or `removed`.
        verb: &'static str,
        /// Why.
        error: io::Error,
    },
    /// The list is not one.
    #[error("{path} is no list of copied files")]
    BadList {
        /// The file.
        path: String,
    },
    /// A package's file is not as it was fetched.
    #[error("`{path}` is not as it was fetched")]
    Altered {
        /// Its path below the folder of copies.
        path: String,
    },
}

/// What is at the path of a copy.
enum FoundCopy {
    Nothing,
    File { digest: [u8; 32], mode: FileMode },
    Other,
}

impl VendorFolder {
    /// The folder.
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// Makes the folder hold these files. Copies that are not among them are removed if `is_meant`
    /// holds for their paths and their digests prove that they were written here.
    pub fn write(
        &self,
        files: &[VendoredFile],
        is_meant: impl Fn(&str) -> bool,
        mode: VendorMode,
    ) -> Result<Vendored, VendorError> {
        let list_path = self.path().join(VENDOR_LIST);
        // Held to the end, so that two commands do not mix.
        let list_file = if mode.is_dry {
            None
        } else {
            let created = fs::create_dir_all(&self.base);
            created.map_err(refused(&self.base, "written"))?;
            Some(self.open(VENDOR_LIST)?)
        };
        let before = read_list(&list_path)?;
        let mut next: BTreeMap<String, PackageFile> = BTreeMap::new();
        let mut done = Vendored::default();
        let mut wanted = BTreeSet::new();
        for VendoredFile { from, file } in files {
            if !wanted.insert(file.path.as_str()) {
                continue;
            }
            let earlier = before.file(&file.path);
            let action = match self.found(&file.path)? {
                FoundCopy::Nothing => Some(VendorAction::Written),
                FoundCopy::File { digest, mode } if digest == file.digest => {
                    (mode != file.mode).then_some(VendorAction::Updated)
                }
                FoundCopy::File { digest, .. }
                    if mode.force || earlier.is_some_and(|it| it.digest == digest) =>
                {
                    Some(VendorAction::Updated)
                }
                _ => Some(VendorAction::Kept),
            };
            let is_kept = action == Some(VendorAction::Kept);
            if !mode.is_dry && action.is_some() && !is_kept {
                self.copy(from, file)?;
            }
            // A kept file stays known by what was written before.
            if let Some(known) = if is_kept { earlier } else { Some(file) } {
                next.insert(known.path.clone(), known.clone());
            }
            match action {
                Some(action) => done.files.push((file.path.clone(), action)),
                None => done.unchanged += 1,
            }
        }
        for earlier in before.files() {
            if wanted.contains(earlier.path.as_str()) {
                continue;
            }
            if !is_meant(&earlier.path) {
                next.insert(earlier.path.clone(), earlier.clone());
                continue;
            }
            match self.found(&earlier.path)? {
                FoundCopy::Nothing => {}
                FoundCopy::File { digest, .. } if digest == earlier.digest => {
                    if !mode.is_dry {
                        self.remove(earlier)?;
                    }
                    let path = earlier.path.clone();
                    done.files.push((path, VendorAction::Removed));
                }
                // Somebody else's from now on.
                _ => done.files.push((earlier.path.clone(), VendorAction::Kept)),
            }
        }
        done.files.sort_by(|one, two| one.0.cmp(&two.0));
        if let Some(file) = list_file {
            let next = PackageTree::new(next.into_values().collect());
            write_list(&file, &list_path, &next)?;
        }
        Ok(done)
    }

    fn open(&self, path: &str) -> Result<LockedFile, VendorError> {
        let opened = LockedFile::open_beneath(&self.base, &self.below.join(path));
        opened.map_err(|error| VendorError::Lock {
            path: self.path().join(path).display().to_string(),
            error,
        })
    }

    fn found(&self, path: &str) -> Result<FoundCopy, VendorError> {
        let full = self.path().join(path);
        let metadata = match full.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FoundCopy::Nothing),
            // A file is where a folder should be.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(FoundCopy::Other);
            }
            Err(error) => return Err(refused(&full, "read")(error)),
        };
        if !metadata.is_file() {
            return Ok(FoundCopy::Other);
        }
        let digest = File::open(&full).and_then(digest);
        Ok(FoundCopy::File {
            digest: digest.map_err(refused(&full, "read"))?,
            mode: mode_of(&metadata),
        })
    }

    fn copy(&self, from: &Path, file: &PackageFile) -> Result<(), VendorError> {
        let full = self.path().join(&file.path);
        let mut bytes = Vec::new();
        let read = File::open(from).and_then(|it| it.take(file.size + 1).read_to_end(&mut bytes));
        read.map_err(refused(from, "read"))?;
        if <[u8; 32]>::from(Sha256::digest(&bytes)) != file.digest {
            return Err(VendorError::Altered {
                path: file.path.clone(),
            });
        }
        let target = self.open(&file.path)?;
        let wrong = refused(&full, "written");
        let before = target.read().map_err(refused(&full, "read"))?;
        let new = NewFile {
            mode: if file.mode.is_executable() {
                0o777
            } else {
                0o666
            },
            keeps_owner: false,
        };
        let written = target.replace(before.as_deref(), &bytes, new);
        // A replaced file keeps its mode.
        written
            .and_then(|()| give_mode(&full, file.mode))
            .map_err(wrong)
    }

    fn remove(&self, file: &PackageFile) -> Result<(), VendorError> {
        let full = self.path().join(&file.path);
        let target = self.open(&file.path)?;
        let bytes = target.read().map_err(refused(&full, "read"))?;
        let Some(bytes) = bytes else { return Ok(()) };
        if <[u8; 32]>::from(Sha256::digest(&bytes)) == file.digest {
            target.remove(&bytes).map_err(refused(&full, "removed"))?;
        }
        drop(target);
        let folders = Path::new(&file.path).ancestors().skip(1);
        for folder in folders.filter(|it| !it.as_os_str().is_empty()) {
            // Only an empty folder is removed.
            if fs::remove_dir(self.path().join(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn refused(path: &Path, verb: &'static str) -> impl Fn(io::Error) -> VendorError + use<> {
    let path = path.display().to_string();
    move |error| VendorError::Io {
        path: path.clone(),
        verb,
        error,
    }
}

/// The list of an earlier run; empty if there is none.
fn read_list(path: &Path) -> Result<PackageTree, VendorError> {
    let wrong = || VendorError::BadList {
        path: path.display().to_string(),
    };
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(PackageTree::default());
        }
        Err(error) => return Err(refused(path, "read")(error)),
    };
    if !metadata.is_file() || metadata.len() > LONGEST_LIST {
        return Err(wrong());
    }
    let text = fs::read_to_string(path).map_err(|_| wrong())?;
    PackageTree::parse(&text).ok_or_else(wrong)
}

fn write_list(file: &LockedFile, path: &Path, next: &PackageTree) -> Result<(), VendorError> {
    let before = file.read().map_err(refused(path, "read"))?;
    if next.files().is_empty() {
        return match before {
            Some(before) => file.remove(&before).map_err(refused(path, "removed")),
            None => Ok(()),
        };
    }
    let text = next.to_text();
    if before.as_deref() == Some(text.as_bytes()) {
        return Ok(());
    }
    let written = file.replace(before.as_deref(), text.as_bytes(), NewFile::SHARED);
    written.map_err(refused(path, "written"))
}

fn mode_of(metadata: &fs::Metadata) -> FileMode {
    if platform::mode(metadata).is_some_and(|mode| mode & 0o100 != 0) {
        FileMode::Executable
    } else {
        FileMode::Plain
    }
}

/// Lets everybody who may read a file execute it, or nobody.
fn give_mode(path: &Path, mode: FileMode) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    let bits = platform::mode(&metadata).filter(|_| metadata.is_file());
    let Some(bits) = bits.filter(|_| mode_of(&metadata) != mode) else {
        return Ok(());
    };
    let next = match mode {
        FileMode::Executable => bits | ((bits & 0o444) >> 2),
        FileMode::Plain => bits & !0o111,
    };
    platform::set_mode(path, next)
}
