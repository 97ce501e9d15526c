//! A workspace to open: where it is, how long to wait for it, and its error messages.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use twig_core::store::{StoreError, StoreName};

use super::Access;
use super::migrations::MIGRATIONS;
use super::sqlite_error::SqliteError;
use crate::root::sentence;

/// Maximum sleep between two attempts to take the lock.
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// A workspace to open, and how.
#[derive(Debug, Clone)]
pub(super) struct WorkspaceHandle {
    pub(super) workspace: StoreName,
    pub(super) path: PathBuf,
    pub(super) access: Access,
    /// True for the writer; it decides the wording of errors.
    pub(super) is_writer: bool,
    /// False if the connection may use the reserve for deletions.
    pub(super) keeps_reserve: bool,
    /// Milliseconds to wait for others.
    pub(super) millis: u64,
    /// The moment when waiting ends.
    pub(super) deadline: Deadline,
    /// Whether a folder is on a network file system.
    pub(super) is_network: fn(&Path) -> bool,
    /// Set when the store is about to close; it ends all waiting.
    pub(super) is_closing: Arc<AtomicBool>,
}

/// A moment at which all waiting ends; without one, every wait has its own limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    pub(super) fn set(&self, until: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn or_after(&self, patience: Duration) -> Instant {
        let set = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.unwrap_or_else(|| Instant::now() + patience)
    }
}

impl WorkspaceHandle {
    /// The same for the writer, with its own deadline.
    pub(super) fn for_writer(&self) -> Self {
        Self {
            is_writer: true,
            deadline: Deadline::default(),
            ..self.clone()
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.millis)
    }

    /// When a wait that begins now ends.
    pub(super) fn until(&self) -> Instant {
        self.deadline.or_after(self.patience())
    }

    /// Sleeps a little longer each time, and not at all when the store is closing.
    pub(super) fn patient(&self) -> impl FnMut(i32) -> bool + Send + 'static {
        let patience = self.patience();
        let deadline = self.deadline.clone();
        let is_closing = Arc::clone(&self.is_closing);
        let mut until = Instant::now();
        move |count| {
            if count == 0 {
                until = deadline.or_after(patience);
            }
            if Instant::now() >= until || is_closing.load(Ordering::Acquire) {
                return false;
            }
            let nap = Duration::from_micros(500) * count.unsigned_abs().saturating_add(1);
            std::thread::sleep(nap.min(LONGEST_NAP));
            true
        }
    }

    pub(super) fn describe(&self, fault: SqliteError) -> StoreError {
        match fault.describe(&self.workspace, &self.path) {
            StoreError::Busy { .. } => self.busy(),
            error => error,
        }
    }

    /// The error when waiting has ended.
    pub(super) fn busy(&self) -> StoreError {
        if self.is_closing.load(Ordering::Acquire) {
            return stopping();
        }
        StoreError::Busy {
            workspace: self.workspace.clone(),
            seconds: self.millis.div_ceil(1_000),
            is_write: self.is_writer,
        }
    }

    pub(super) fn cannot_open(&self, error: &io::Error) -> StoreError {
        let workspace = &self.workspace;
        if error.kind() == io::ErrorKind::NotFound {
            return StoreError::NoWorkspace {
                workspace: workspace.clone(),
            };
        }
        let reason = sentence(error);
        self.file(format!(
            "The file of workspace '{workspace}' cannot be read: {reason}"
        ))
    }

    pub(super) fn cannot_write(&self, reason: &str) -> StoreError {
        self.file(format!(
            "The file of workspace '{}' cannot be written: {reason}; \
             make it and its folder writable",
            self.workspace
        ))
    }

    pub(super) fn cut_off(&self) -> StoreError {
        self.file(format!(
            "The last changes of workspace '{}' are in the log of its file and cannot be read while \
             its folder cannot be written: open it once where the folder is writable",
            self.workspace
        ))
    }

    pub(super) fn linked(&self) -> StoreError {
        self.file(format!(
            "The file of workspace '{}' has several names (hard links), and programs that use another \
             one would not see what is written here: remove the others",
            self.workspace
        ))
    }

    pub(super) fn log_of_another(&self) -> StoreError {
        self.file(format!(
            "The file of workspace '{0}' is not the one that its log ({0}.db-wal) belongs to: put that file \
             back, or remove the log and {0}.db-shm, which loses the last changes of that file",
            self.workspace
        ))
    }

    pub(super) fn foreign(&self, what: &str) -> StoreError {
        self.file(format!(
            "The file of workspace '{}' is not one of Twig's: {what}; \
             it was left as it is, move it away or name another workspace",
            self.workspace
        ))
    }

    pub(super) fn newer(&self, seen: usize) -> StoreError {
        self.file(format!(
            "The file of workspace '{}' was written by a newer Twig (version {seen} of the file; \
             this one knows {}): update Twig",
            self.workspace,
            MIGRATIONS.len()
        ))
    }

    pub(super) fn older(&self) -> StoreError {
        self.file(format!(
            "The file of workspace '{}' was written by an older Twig: \
             open it once without --read-only, which brings it up to date",
            self.workspace
        ))
    }

    fn file(&self, sentence: String) -> StoreError {
        let path = self.path.clone();
        StoreError::File { sentence, path }
    }
}

pub(crate) fn stopping() -> StoreError {
    StoreError::Unavailable(
        "The server is stopping, nothing was written: start it again, then repeat the change"
            .to_owned(),
    )
}
