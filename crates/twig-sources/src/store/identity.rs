//! Which file a path refers to, and which files this process has open.
//!
//! Closing any descriptor of a file drops all locks that the process has on it, SQLite's too. So a
//! workspace is only read by other means while no connection of this process has it open.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::platform::facts;
use crate::stamp::FileStamp;

/// The identity of a file, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The file at a path; opens nothing.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    pub(super) fn of(metadata: &Metadata) -> Self {
        let facts = facts(metadata);
        Self {
            device: facts.device,
            inode: facts.inode,
        }
    }
}

/// The connections of this process.
#[derive(Debug)]
struct Connections {
    /// The file of each, and whether the connection must be closed.
    open: Vec<(FileIdentity, Arc<AtomicBool>)>,
}

static OPEN: Mutex<Connections> = Mutex::new(Connections { open: Vec::new() });

/// Notified whenever a connection was closed.
static CLOSED: Condvar = Condvar::new();

/// How long opening waits until all retired connections are closed. Watchers check four times a
/// second.
const RETIREMENT: Duration = Duration::from_secs(1);

fn lock() -> MutexGuard<'static, Connections> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requires every connection of this process to a file to be closed before the next one is opened.
///
/// The system releases locks that SQLite failed to release only once the process no longer has the
/// file open.
pub(super) fn retire(identity: FileIdentity) {
    for (open, is_retired) in &lock().open {
        if *open == identity {
            is_retired.store(true, Ordering::Release);
        }
    }
}

/// Records that a connection has a file open. It must be dropped after the connection.
#[derive(Debug)]
pub(super) struct OpenFileGuard {
    is_retired: Arc<AtomicBool>,
}

impl OpenFileGuard {
    /// Calls `look` if no connection has the file open, then `connect` to open it. No other thread
    /// of this process opens anything meanwhile.
    pub(super) fn take<T, E>(
        identity: FileIdentity,
        look: impl FnOnce() -> Result<(), E>,
        connect: impl FnOnce() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        let is_retired = |(open, is_retired): &(FileIdentity, Arc<AtomicBool>)| {
            *open == identity && is_retired.load(Ordering::Acquire)
        };
        let waited = CLOSED.wait_timeout_while(lock(), RETIREMENT, |connections| {
            connections.open.iter().any(is_retired)
        });
        let (mut connections, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !connections.open.iter().any(|(open, _)| *open == identity) {
            look()?;
        }
        let connection = connect()?;
        let is_retired = Arc::new(AtomicBool::new(false));
        connections.open.push((identity, Arc::clone(&is_retired)));
        Ok((Self { is_retired }, connection))
    }

    /// True if the connection must be closed.
    pub(super) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }
}

impl Drop for OpenFileGuard {
    fn drop(&mut self) {
        let is_other =
            |(_, flag): &(FileIdentity, Arc<AtomicBool>)| !Arc::ptr_eq(flag, &self.is_retired);
        lock().open.retain(is_other);
        CLOSED.notify_all();
    }
}

/// The files of a connection, as they were when it was opened.
#[derive(Debug)]
pub(super) struct OpenFiles {
    /// The path by which the workspace is known; may be a symlink.
    path: PathBuf,
    main: FileIdentity,
    /// The write-ahead log, then its index. A commit into a removed log is lost.
    logs: Vec<(PathBuf, FileIdentity)>,
}

/// What is known of the files of a connection while all of them are in place.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilesInPlace {
    /// The file's metadata; it differs once a program wrote to the file, which SQLite does only in
    /// a checkpoint.
    pub(super) stamp: FileStamp,
    /// The size of the log in bytes.
    pub(super) log_bytes: u64,
}

impl OpenFiles {
    pub(super) fn new(
        path: PathBuf,
        main: FileIdentity,
        logs: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let found = |path: PathBuf| FileIdentity::at(&path).ok().map(|log| (path, log));
        Self {
            path,
            main,
            logs: logs.into_iter().filter_map(found).collect(),
        }
    }

    /// Whether all of them are still in place.
    pub(super) fn are_there(&self) -> bool {
        self.in_place().is_some()
    }

    /// Looks at each of them once; `None` if one is not in place.
    pub(super) fn in_place(&self) -> Option<FilesInPlace> {
        let main = metadata_at(&self.path, self.main)?;
        let mut logs = self.logs.iter();
        let mut next = || logs.next().map(|(path, log)| metadata_at(path, *log));
        let log_bytes = match next() {
            Some(log) => log?.len(),
            None => 0,
        };
        while let Some(log) = next() {
            log?;
        }
        Some(FilesInPlace {
            stamp: FileStamp::of(&main),
            log_bytes,
        })
    }

    /// Whether the log's path no longer exists while the file is still the same.
    pub(super) fn is_log_missing(&self) -> bool {
        let log = self.logs.first();
        metadata_at(&self.path, self.main).is_some()
            && log.is_some_and(|(path, _)| fs::symlink_metadata(path).is_err())
    }

    /// The identity of the file.
    pub(super) fn identity(&self) -> FileIdentity {
        self.main
    }
}

/// The metadata of a path, if it still refers to that file.
fn metadata_at(path: &Path, identity: FileIdentity) -> Option<Metadata> {
    let metadata = fs::metadata(path).ok()?;
    (FileIdentity::of(&metadata) == identity).then_some(metadata)
}

/// The tags of a file and of its log.
pub(super) fn pair(main: &Path, log: &Path) -> Option<(String, String)> {
    Some((tag(main)?, tag(log)?))
}

/// A text that identifies a file, for notes and file names. The system reuses the inode numbers of
/// deleted files, so it includes the creation time.
pub(super) fn tag(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let made = metadata.created().ok()?;
    let made = made.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos();
    let FileIdentity { device, inode } = FileIdentity::of(&metadata);
    Some(format!("{device}:{inode}:{made}"))
}
