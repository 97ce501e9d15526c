//! A lock, read again when its file changes.

use std::path::{Path, PathBuf};

use twig_core::{BodyError, Problem, ProblemCode, Severity};
use twig_packages::{LockedLibrary, PackageLock, PackageLockError};

use super::wanted::WantedPackage;
use crate::reader::{SavePatience, read_text};
use crate::stamp::SeenStamp;

/// The longest lock, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// A lock as it was last read. One that cannot be read keeps its last good state.
#[derive(Debug)]
pub(crate) struct FollowedLock {
    path: PathBuf,
    seen: SeenStamp,
    pub(crate) lock: PackageLock,
    pub(crate) problem: Option<Problem>,
}

impl FollowedLock {
    /// Nothing is read yet.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            seen: SeenStamp::never(),
            lock: PackageLock::default(),
            problem: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file if it changed; returns whether the lock is another one now.
    pub(crate) fn look(&mut self) -> bool {
        let now = SeenStamp::at(&self.path);
        if self.seen.holds(&now) {
            return false;
        }
        let read = read_lock(&self.path);
        self.seen = match &read {
            Err(LockTrouble::Unreadable(_)) => SeenStamp::never(),
            _ => now,
        };
        match read {
            Ok(lock) => {
                self.problem = None;
                let is_other = lock != self.lock;
                self.lock = lock;
                is_other
            }
            Err(trouble) => {
                self.problem = Some(trouble.problem(&self.path));
                false
            }
        }
    }
}

/// The lock of the configuration, and that of the packages that a server follows.
#[derive(Debug, Default)]
pub(crate) struct FollowedLocks {
    own: Option<FollowedLock>,
    followed: Option<FollowedLock>,
}

impl FollowedLocks {
    /// Reads both.
    pub(crate) fn new(own: Option<&Path>, followed: Option<&Path>) -> Self {
        let mut locks = Self {
            own: own.map(FollowedLock::new),
            followed: followed.map(FollowedLock::new),
        };
        locks.look();
        locks
    }

    /// Reads the files that changed; returns whether one of the locks is another one now.
    pub(crate) fn look(&mut self) -> bool {
        let locks = self.own.iter_mut().chain(&mut self.followed);
        // Both are read, also if the first one is another one.
        locks.filter_map(|lock| lock.look().then_some(())).count() > 0
    }

    /// What a lock says about a package.
    pub(crate) fn find(&self, wanted: &WantedPackage, is_followed: bool) -> Option<&LockedLibrary> {
        let lock = if is_followed {
            &self.followed
        } else {
            &self.own
        };
        lock.as_ref()?.lock.library(&wanted.name)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &FollowedLock> {
        self.own.iter().chain(&self.followed)
    }
}

/// Why a lock cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockTrouble {
    /// Its text is not that of a lock.
    #[error(transparent)]
    Wrong(#[from] PackageLockError),
    /// The system refused to read it.
    #[error("it {0}")]
    Unreadable(BodyError),
}

impl LockTrouble {
    fn problem(&self, path: &Path) -> Problem {
        let line = match self {
            Self::Wrong(
                PackageLockError::Conflict { line } | PackageLockError::Wrong { line, .. },
            ) => Some(*line),
            _ => None,
        };
        let help = match self {
            Self::Wrong(PackageLockError::Newer { .. }) => {
                "update Twig; until then, the last version read is served"
            }
            Self::Wrong(_) => "run `twig install`, which writes it again from both sides",
            Self::Unreadable(_) => "check the file's permissions",
        };
        let message = format!("the lock cannot be read: {self}");
        let path = path.display().to_string();
        let problem = Problem::of_file(ProblemCode::BadLock, Severity::Error, &path, message);
        let problem = problem.with_help(help);
        Problem { line, ..problem }
    }
}

/// Reads a lock; a missing file locks nothing.
pub fn read_lock(path: &Path) -> Result<PackageLock, LockTrouble> {
    Ok(PackageLock::parse(&read_lock_text(path)?)?)
}

/// The text of a lock; a missing file is an empty text.
pub fn read_lock_text(path: &Path) -> Result<String, LockTrouble> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().and_then(std::ffi::OsStr::to_str);
    let read = read_text(
        folder,
        name.unwrap_or_default(),
        LONGEST,
        SavePatience::BODY,
    );
    match read {
        Ok(read) => Ok(read.text),
        Err(BodyError::NotFound) => Ok(String::new()),
        Err(_) if !path.exists() => Ok(String::new()),
        Err(error) => Err(LockTrouble::Unreadable(error)),
    }
}
