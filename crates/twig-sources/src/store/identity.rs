//! Which file a path leads to, and which files this process has open.
//!
//! Closing any descriptor of a file drops all locks that the process has on it, SQLite's too. So a
//! workspace is looked into by other means only while no connection of this process has it open.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::stamp::FileStamp;

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
    ) -> Result<(Self, T), E> {
        let mut open = lock();
        if !open.contains(&identity) {
            look()?;
        }
        let connection = connect()?;
        open.push(identity);
        Ok((Self(identity), connection))
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
    /// The name under which the workspace is known; may be a link.
    path: PathBuf,
    main: Identity,
    /// The write-ahead log, then its index. A commit into a log that was removed is lost.
    logs: Vec<(PathBuf, Identity)>,
}

impl Files {
    pub(super) fn new(
        path: PathBuf,
        main: Identity,
        logs: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let found = |path: PathBuf| Identity::at(&path).ok().map(|log| (path, log));
        Self {
            path,
            main,
            logs: logs.into_iter().filter_map(found).collect(),
        }
    }

    /// Whether all of them are still where they were.
    pub(super) fn are_there(&self) -> bool {
        self.is_main_there() && self.logs.iter().all(|(path, log)| is_at(path, *log))
    }

    /// Whether the log's name leads nowhere, and the file is still the same.
    pub(super) fn is_log_missing(&self) -> bool {
        let log = self.logs.first();
        self.is_main_there() && log.is_some_and(|(path, _)| fs::symlink_metadata(path).is_err())
    }

    /// What the system says of the file; differs once somebody wrote to it, which SQLite does only
    /// when it writes the log back.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some(FileStamp::of(&metadata))
    }

    fn is_main_there(&self) -> bool {
        is_at(&self.path, self.main)
    }
}

fn is_at(path: &Path, identity: Identity) -> bool {
    Identity::at(path).is_ok_and(|found| found == identity)
}

/// The tags of a file and of its log.
pub(super) fn pair(main: &Path, log: &Path) -> Option<(String, String)> {
    Some((tag(main)?, tag(log)?))
}

/// Which file it is, as it is noted and as files are named after it. A number of a file that is gone
/// is given to another one, so it says when it was made, too.
pub(super) fn tag(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let made = metadata.created().ok()?;
    let made = made.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos();
    let Identity { device, inode } = Identity::of(&metadata);
    Some(format!("{device}:{inode}:{made}"))
}
