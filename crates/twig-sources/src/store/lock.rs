//! A lock file serializes creating, opening, migrating and deleting a workspace.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::identity::FileIdentity;
use crate::platform::{create_with_mode, never_follow, reserve};

/// Pause between two attempts to take the lock.
const STEP: Duration = Duration::from_millis(2);

/// Maximum size of a note in bytes.
const NOTE: u64 = 256;

/// Bytes that the lock file reserves for deletions on a full disk: a deletion writes before it
/// frees anything, and first the log must be checkpointed, which happens at 4 MiB. On a disk of
/// less than twice that, half of the disk.
const RESERVE: u64 = 4 * 1024 * 1024;

/// The lock, until it is dropped.
#[derive(Debug)]
pub(super) struct WorkspaceLock {
    /// Closing it releases the lock.
    file: File,
}

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum WorkspaceLockError {
    /// Another program held it the whole time.
    Busy,
    /// The file can be neither created nor opened.
    Io(io::Error),
}

impl WorkspaceLock {
    /// Waits for the lock until a deadline or until the store closes; tries at least once.
    pub(super) fn take(
        path: &Path,
        until: Instant,
        is_closing: &AtomicBool,
    ) -> Result<Self, WorkspaceLockError> {
        let is_over = || Instant::now() >= until || is_closing.load(Ordering::Acquire);
        loop {
            let file = open(path).map_err(WorkspaceLockError::Io)?;
            loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) if is_over() => {
                        return Err(WorkspaceLockError::Busy);
                    }
                    Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
                    Err(TryLockError::Error(error)) => return Err(WorkspaceLockError::Io(error)),
                }
            }
            // Deleting a workspace deletes its lock file, too: a lock on a deleted file excludes no
            // other program.
            let mine = file.metadata().map(|metadata| FileIdentity::of(&metadata));
            if matches!((mine, FileIdentity::at(path)), (Ok(mine), Ok(there)) if mine == there) {
                return Ok(Self { file });
            }
            if is_over() {
                return Err(WorkspaceLockError::Busy);
            }
        }
    }

    /// The last note.
    pub(super) fn note(&self) -> Option<String> {
        let mut note = String::new();
        let mut file = &self.file;
        file.rewind().ok()?;
        file.take(NOTE).read_to_string(&mut note).ok()?;
        let end = note.find(['\n', '\0']).unwrap_or(note.len());
        note.truncate(end);
        Some(note)
    }

    /// Leaves a note for the next holder of the lock; not durable.
    pub(super) fn set_note(&self, note: &str) -> io::Result<()> {
        let mut file = &self.file;
        file.rewind()?;
        file.write_all(format!("{note}\n").as_bytes())
    }

    /// Ensures the reserve exists; `false` if the disk has no room for it.
    pub(super) fn keep_reserve(&self) -> bool {
        let length = self.file.metadata().map(|metadata| metadata.len());
        if length.is_ok_and(|length| length > NOTE) {
            return true;
        }
        // A file system without this feature has no reserve.
        reserve(&self.file, RESERVE)
            .err()
            .is_none_or(|error| !is_full(&error))
    }

    /// Frees the reserve.
    pub(super) fn release_reserve(&self) {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        if length > NOTE {
            let _ = self.file.set_len(NOTE);
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    never_follow(&mut options);
    match options.open(path) {
        // A lock file that another user created works as well.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            File::open(path).map_err(|_| error)
        }
        opened => opened,
    }
}

/// Creates new files for their owner only.
pub(super) fn private(options: &mut OpenOptions) {
    create_with_mode(options, 0o600);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    fn take(path: &Path, patience: Duration) -> Result<WorkspaceLock, WorkspaceLockError> {
        WorkspaceLock::take(path, Instant::now() + patience, &AtomicBool::new(false))
    }

    #[test]
    fn one_at_a_time_has_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = take(&path, SHORT).unwrap();
        assert!(matches!(take(&path, SHORT), Err(WorkspaceLockError::Busy)));
        first.set_note("a longer note").unwrap();
        first.set_note("a note").unwrap();
        drop(first);
        let second = take(&path, SHORT).unwrap();
        assert_eq!(second.note().as_deref(), Some("a note"));
        let nowhere = folder.path().join("no/x.lock");
        assert!(matches!(
            take(&nowhere, SHORT),
            Err(WorkspaceLockError::Io(_))
        ));
    }

    #[test]
    fn a_lock_whose_file_was_deleted_keeps_nobody_out_and_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = take(&path, SHORT).unwrap();
        let (sender, taken) = channel();
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || {
                let lock = take(&path, LONG).unwrap();
                sender.send(()).unwrap();
                lock
            })
        };
        assert!(taken.recv_timeout(SHORT).is_err());
        // The waiting thread has the old file open, and needs the lock on the new one.
        std::fs::remove_file(&path).unwrap();
        drop(first);
        taken.recv_timeout(LONG).unwrap();
        let _second = waiting.join().unwrap();
        assert!(matches!(take(&path, SHORT), Err(WorkspaceLockError::Busy)));
    }
}
