//! The folder of packages: each in a folder that is named by the digest over its files, read-only,
//! with the list of its files beside it.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};
use twig_packages::{FileMode, PackageFile, PackageTree, TreeDigest};

use super::package_error::PackageError;
use crate::platform::{create_with_mode, set_mode};

/// The ending of a list of files.
const LIST: &str = "files";

/// The prefix of what is not finished.
const UNFINISHED: &str = ".new-";

/// Counts what this process writes.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The packages of this machine, shared by all libraries and repositories.
#[derive(Debug, Clone)]
pub struct PackageStore {
    folder: PathBuf,
}

/// Keeps `twig gc` from removing packages that were fetched and that no lock names yet, from the
/// first fetch until the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct FetchHold(Arc<OnceLock<Option<File>>>);

/// A package that is being written. Dropped before it is finished, it leaves nothing.
#[derive(Debug)]
pub(super) struct StagedPackage {
    root: PathBuf,
    files: Vec<PackageFile>,
    /// The folders that were created, outermost first.
    folders: Vec<PathBuf>,
    /// Their paths in the package.
    known: HashSet<String>,
}

impl PackageStore {
    /// The packages in a folder, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    /// The folder of all packages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a package's files.
    pub fn root_of(&self, tree: TreeDigest) -> PathBuf {
        self.folder.join(tree.folder())
    }

    /// The file with the list of a package's files.
    pub(super) fn list_of(&self, tree: TreeDigest) -> PathBuf {
        self.folder.join(format!("{}.{LIST}", tree.folder()))
    }

    /// True if a package is on this machine.
    pub fn has(&self, tree: TreeDigest) -> bool {
        self.root_of(tree).is_dir() && self.list_of(tree).is_file()
    }

    /// The list of a package's files; its digest is checked.
    pub fn files_of(&self, tree: TreeDigest) -> Result<PackageTree, PackageError> {
        let bytes = fs::read(self.list_of(tree)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => PackageError::NotHere {
                tree: tree.to_string(),
            },
            _ => PackageError::disk("the list of a package's files cannot be read")(error),
        })?;
        let text = String::from_utf8(bytes).ok();
        let list = text.and_then(|text| PackageTree::parse(&text));
        list.filter(|list| list.digest() == tree)
            .ok_or_else(|| PackageError::BadList {
                tree: tree.to_string(),
            })
    }

    fn begin(&self, hold: &FetchHold) {
        hold.0.get_or_init(|| {
            let file = self.open_hold().ok()?;
            // Where the system has no locks, nothing is held.
            file.lock_shared().ok()?;
            Some(file)
        });
    }

    /// Makes sure that no other process holds packages, as long as the file is open.
    pub(super) fn refuse_holds(&self) -> Result<Option<File>, PackageError> {
        let Ok(file) = self.open_hold() else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Err(PackageError::Fetching),
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// The file whose lock is shared while packages are fetched; beside their folder, which has
    /// nothing but packages.
    fn open_hold(&self) -> io::Result<File> {
        let path = self.folder.with_extension("lock");
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
    }

    /// Starts to write a package, which is held from now on.
    pub(super) fn stage(&self, hold: &FetchHold) -> Result<StagedPackage, PackageError> {
        let wrong = || PackageError::disk("the folder of packages cannot be written");
        fs::create_dir_all(&self.folder).map_err(wrong())?;
        self.begin(hold);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{UNFINISHED}{}-{number}", std::process::id());
            let root = self.folder.join(name);
            match fs::create_dir(&root) {
                Ok(()) => {
                    return Ok(StagedPackage {
                        root,
                        files: Vec::new(),
                        folders: Vec::new(),
                        known: HashSet::new(),
                    });
                }
                // Left by an earlier process with this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(wrong()(error)),
            }
        }
    }

    /// Puts a written package in its place, all of it or nothing. One that is there is replaced if its
    /// files were changed.
    ///
    /// Only the list waits for the disk. If the power fails before the system has written the files,
    /// the list tells which ones are not whole: they are not served, and `twig install` fetches the
    /// package again.
    pub(super) fn keep(&self, mut staged: StagedPackage) -> Result<PackageTree, PackageError> {
        let wrong = || PackageError::disk("a package cannot be written");
        let list = PackageTree::new(std::mem::take(&mut staged.files));
        let tree = list.digest();
        if self.is_whole(tree) {
            return Ok(list);
        }
        let list_path = staged.root.with_extension(LIST);
        let put = || -> io::Result<()> {
            let mut file = create_read_only(&list_path, FileMode::Plain)?;
            file.write_all(list.to_text().as_bytes())?;
            file.sync_all()?;
            for folder in staged.folders.iter().rev().chain([&staged.root]) {
                set_mode(folder, 0o555)?;
            }
            fs::rename(&list_path, self.list_of(tree))?;
            if fs::rename(&staged.root, self.root_of(tree)).is_err() && !self.is_whole(tree) {
                // What is there was changed, or is the rest of something that was ended.
                self.set_aside(tree)?;
                match fs::rename(&staged.root, self.root_of(tree)) {
                    // Another process was faster; its files are the same.
                    Err(_) if self.has(tree) => {}
                    result => result?,
                }
            }
            File::open(&self.folder)?.sync_all()
        };
        let done = put();
        if done.is_err() {
            let _ = fs::remove_file(&list_path);
        }
        done.map_err(wrong())?;
        Ok(list)
    }

    /// True if all files of a package are here, as they were fetched.
    fn is_whole(&self, tree: TreeDigest) -> bool {
        self.has(tree) && self.check(tree).is_ok_and(|changed| changed.is_empty())
    }

    /// Takes a package's folder out of its place in one step, and removes it: whoever ends this process
    /// leaves no half of it there.
    pub(super) fn set_aside(&self, tree: TreeDigest) -> io::Result<()> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{UNFINISHED}old-{}-{number}", std::process::id());
        let aside = self.folder.join(name);
        match fs::rename(self.root_of(tree), &aside) {
            Ok(()) => remove_package(&aside),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The folders of packages that are here, by their digests, and what was left unfinished.
    pub(super) fn entries(&self) -> io::Result<(Vec<TreeDigest>, Vec<PathBuf>)> {
        let (mut trees, mut unfinished) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((trees, unfinished));
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(UNFINISHED) {
                unfinished.push(entry.path());
            } else if let Some(tree) = TreeDigest::parse(&format!("sha256:{name}")) {
                trees.push(tree);
            }
        }
        trees.sort();
        Ok((trees, unfinished))
    }
}

impl StagedPackage {
    /// Writes a file from its parts, each of which the caller reads; returns how many bytes it has.
    pub(super) fn write(
        &mut self,
        path: &str,
        mode: FileMode,
        mut part: impl FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        let file_path = self.root.join(path);
        self.create_folders(path)?;
        let mut file = create_read_only(&file_path, mode)?;
        let (mut digest, mut size) = (Sha256::new(), 0_u64);
        while let Some(bytes) = part()? {
            digest.update(&bytes);
            size += bytes.len() as u64;
            file.write_all(&bytes)?;
        }
        self.files.push(PackageFile {
            path: path.to_owned(),
            mode,
            size,
            digest: digest.finalize().into(),
        });
        Ok(())
    }

    fn create_folders(&mut self, path: &str) -> io::Result<()> {
        let parent = path.rsplit_once('/').map(|(parent, _)| parent);
        if parent.is_none_or(|parent| self.known.contains(parent)) {
            return Ok(());
        }
        for (end, _) in path.match_indices('/') {
            if !self.known.insert(path[..end].to_owned()) {
                continue;
            }
            let folder = self.root.join(&path[..end]);
            match fs::create_dir(&folder) {
                Ok(()) => self.folders.push(folder),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for StagedPackage {
    fn drop(&mut self) {
        if self.root.exists() {
            let _ = remove_package(&self.root);
        }
    }
}

/// Removes a folder that may be read-only.
pub(super) fn remove_package(root: &Path) -> io::Result<()> {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if let Ok(metadata) = folder.symlink_metadata()
            && metadata.is_dir()
        {
            set_mode(&folder, 0o755)?;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
    fs::remove_dir_all(root)
}

/// A new file that nobody can write to once it is closed.
fn create_read_only(path: &Path, mode: FileMode) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    create_with_mode(&mut options, mode.bits() & !0o222);
    options.open(path)
}
