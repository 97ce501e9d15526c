//! Which file a path leads to, and which files this process has open.
//!
//! Closing any descriptor of a file drops all locks that the process has on it, SQLite's too. So a
//! workspace is looked into by other means only while no connection of this process has it open.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which file it is, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The file at a path; opens nothing.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Here the system lets nobody remove or replace a file that is open.
    #[cfg(not(unix))]
    pub(super) fn of(_metadata: &Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

/// The files that connections of this process have open, one entry for each connection.
static OPEN: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Identity>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a connection has a file open, until it is dropped, which has to be after the
/// connection.
#[derive(Debug)]
pub(super) struct Held(Identity);

impl Held {
    /// Lets `look` see the file if no connection has it open, then has `connect` open it. Nobody
    /// else in this process opens anything meanwhile.
    pub(super) fn take<T, E>(
        identity: Identity,
        look: impl FnOnce() -> Result<(), E>,
        connect: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Self), E> {
        let mut open = lock();
        if !open.contains(&identity) {
            look()?;
        }
        let connection = connect()?;
        open.push(identity);
        Ok((connection, Self(identity)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = lock();
        if let Some(at) = open.iter().position(|identity| *identity == self.0) {
            open.swap_remove(at);
        }
    }
}

/// The files that a connection works with, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    main: Identity,
    /// The write-ahead log; a commit into one that was removed is lost.
    log: Option<(PathBuf, Identity)>,
}

impl Files {
    pub(super) fn new(path: PathBuf, main: Identity, log: Option<PathBuf>) -> Self {
        let log = log.and_then(|path| Identity::at(&path).ok().map(|log| (path, log)));
        Self { path, main, log }
    }

    /// Whether all of them are still where they were.
    pub(super) fn are_there(&self) -> bool {
        let is = |path: &Path, identity| Identity::at(path).is_ok_and(|found| found == identity);
        is(&self.path, self.main) && self.log.as_ref().is_none_or(|(path, log)| is(path, *log))
    }
}
