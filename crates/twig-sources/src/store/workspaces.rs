//! The folder of workspaces: creates, lists, deletes and opens them by name, one file each.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use twig_core::Limits;
use twig_core::store::{Noun, StoreError, StoreName};

use super::lock::{WorkspaceLock, WorkspaceLockError, private};
use super::migrations::{self, MIGRATIONS, migrate};
use super::open::{LARGE_LOG, Look, check_near, held_log_sentence, lock_path, look, with_end};
use super::sqlite_error::SqliteError;
use super::workspace_handle::{Deadline, WorkspaceHandle};
use super::{Access, SqliteStore, no_such_workspace};
use crate::network::is_network;
use crate::platform::{create_private_folder, sync_folder_at};
use crate::root::sentence;

/// The default workspace; created when it is first needed.
pub const DEFAULT_WORKSPACE: &str = "default";

/// The longest name whose files every file system accepts.
const LONGEST: usize = 200;

/// Bytes of the largest content: SQLite allows rows of 1,000,000,000. Stored content can be read
/// whatever the configured limit is by then.
const LARGEST: usize = 999_000_000;

/// How long creating and deleting wait for others.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder with a file `NAME.db` for each workspace.
#[derive(Debug, Clone)]
pub struct Workspaces {
    folder: PathBuf,
    is_network: fn(&Path) -> bool,
}

impl Workspaces {
    /// The workspaces in a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, is_network }
    }

    /// The same with another function that detects network folders.
    #[cfg(test)]
    pub(super) fn with_network(folder: PathBuf, is_network: fn(&Path) -> bool) -> Self {
        Self { folder, is_network }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of all workspaces, sorted.
    pub fn list(&self) -> Result<Vec<StoreName>, StoreError> {
        let cannot = |error: io::Error| {
            let reason = sentence(&error);
            file(
                &self.folder,
                format!("The workspaces cannot be listed: {reason}"),
            )
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.map_err(cannot)?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".db"));
            names.extend(name.and_then(|name| StoreName::parse(Noun::Workspace, name).ok()));
        }
        names.sort();
        Ok(names)
    }

    /// Whether there is a workspace with that name.
    ///
    /// Also true if its file cannot be examined: opening it reports the problem.
    pub fn exists(&self, name: &StoreName) -> bool {
        let looked = fs::symlink_metadata(self.path(name));
        looked.map_or_else(|error| error.kind() != ErrorKind::NotFound, |_| true)
    }

    /// Creates an empty workspace.
    pub fn create(&self, name: &StoreName) -> Result<(), StoreError> {
        if self.make(name)? {
            Ok(())
        } else {
            Err(StoreError::Unavailable(format!(
                "Workspace '{name}' already exists"
            )))
        }
    }

    /// Deletes a workspace with its contents.
    pub fn delete(&self, name: &StoreName) -> Result<(), StoreError> {
        let path = self.path(name);
        if !self.exists(name) {
            return Err(self.missing(name));
        }
        let lock = self.lock(name)?;
        refuse_foreign(name, &path)?;
        remove_all(&path)?;
        for copy in migrations::copies(&path) {
            remove(&copy)?;
        }
        remove(&lock_path(&path))?;
        drop(lock);
        Ok(())
    }

    /// Opens a workspace.
    pub fn open(
        &self,
        name: &StoreName,
        access: Access,
        limits: &Limits,
    ) -> Result<SqliteStore, StoreError> {
        check_name(name)?;
        if !self.exists(name) {
            if access != Access::Write || name.as_str() != DEFAULT_WORKSPACE {
                return Err(self.missing(name));
            }
            self.make(name)?;
        }
        let handle = WorkspaceHandle {
            workspace: name.clone(),
            path: self.path(name),
            access,
            is_writer: false,
            keeps_reserve: true,
            millis: limits.store_millis,
            deadline: Deadline::default(),
            is_network: self.is_network,
            is_closing: std::sync::Arc::default(),
        };
        let limits = Limits {
            document: limits.document.min(LARGEST),
            verbatim: limits.verbatim.min(LARGEST),
            ..limits.clone()
        };
        SqliteStore::open(handle, limits)
    }

    /// A message if a workspace's log has grown because another program prevents its checkpoint.
    ///
    /// Must only be called while no store of this process has it open.
    pub fn held_log(&self, name: &StoreName) -> Option<String> {
        let path = self.path(name);
        let path = fs::canonicalize(&path).unwrap_or(path);
        let bytes = fs::metadata(with_end(&path, "-wal")).map_or(0, |log| log.len());
        (bytes > LARGE_LOG).then(|| held_log_sentence(name, bytes, &path))
    }

    /// The file of a workspace.
    pub(crate) fn path(&self, name: &StoreName) -> PathBuf {
        self.folder.join(format!("{name}.db"))
    }

    fn missing(&self, name: &StoreName) -> StoreError {
        no_such_workspace(name, &self.list().unwrap_or_default())
    }

    fn lock(&self, name: &StoreName) -> Result<WorkspaceLock, StoreError> {
        let path = lock_path(&self.path(name));
        let until = Instant::now() + PATIENCE;
        let taken = WorkspaceLock::take(&path, until, &AtomicBool::new(false));
        taken.map_err(|problem| match problem {
            WorkspaceLockError::Busy => StoreError::Busy {
                workspace: name.clone(),
                seconds: PATIENCE.as_secs(),
                is_write: true,
            },
            WorkspaceLockError::Io(error) => {
                let reason = sentence(&error);
                let what = format!("The lock of workspace '{name}' cannot be written: {reason}");
                file(&path, what)
            }
        })
    }

    /// Creates an empty workspace; `false` if it exists already.
    fn make(&self, name: &StoreName) -> Result<bool, StoreError> {
        self.make_from(name, |new| Ok(fill(new)?))
    }

    /// Creates a workspace's file under another name, has it filled and moves it into place; `false`
    /// if it exists already.
    pub(super) fn make_from(
        &self,
        name: &StoreName,
        fill: impl FnOnce(&Path) -> Result<(), FillError>,
    ) -> Result<bool, StoreError> {
        check_name(name)?;
        check_near(&self.folder, self.is_network)?;
        let path = self.path(name);
        let cannot = |error: io::Error| {
            let reason = sentence(&error);
            file(
                &path,
                format!("Workspace '{name}' cannot be made: {reason}"),
            )
        };
        create_private_folder(&self.folder).map_err(cannot)?;
        let _lock = self.lock(name)?;
        if self.exists(name) {
            return Ok(false);
        }
        // A log without its file would be taken for the new file's log.
        let new = with_end(&path, ".new");
        remove_all(&path)?;
        remove_all(&new)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        private(&mut options);
        options.open(&new).map_err(cannot)?;
        if let Err(error) = fill(&new) {
            // An incomplete file is of no use, and may be what fills the disk.
            let _ = remove_all(&new);
            return Err(match error {
                FillError::Io(error) => cannot(error),
                FillError::Sql(fault) => fault.describe(name, &path),
            });
        }
        fs::rename(&new, &path).map_err(cannot)?;
        // A new name is durable once its folder is synced.
        sync_folder_at(&self.folder).map_err(cannot)?;
        Ok(true)
    }
}

/// Why a new workspace's file could not be filled.
#[derive(Debug)]
pub(super) enum FillError {
    Io(io::Error),
    Sql(SqliteError),
}

impl From<io::Error> for FillError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SqliteError> for FillError {
    fn from(fault: SqliteError) -> Self {
        Self::Sql(fault)
    }
}

impl From<rusqlite::Error> for FillError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error.into())
    }
}

fn check_name(name: &StoreName) -> Result<(), StoreError> {
    let length = name.as_str().len();
    if length <= LONGEST {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "Workspace name is {length} characters long; the limit is {LONGEST}, since it names a file"
    )))
}

fn file(path: &Path, sentence: String) -> StoreError {
    let path = path.to_owned();
    StoreError::File { sentence, path }
}

/// Turns an empty file into a workspace.
fn fill(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    migrate(&connection, MIGRATIONS.into_iter())?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)
}

/// Refuses to delete a file that is not ours, whatever its name.
fn refuse_foreign(name: &StoreName, path: &Path) -> Result<(), StoreError> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    let Ok(Look::Foreign(what)) = look(path, &metadata) else {
        return Ok(());
    };
    Err(file(
        path,
        format!(
            "The file of workspace '{name}' is not one of Twig's: {what}; it was left as it is"
        ),
    ))
}

/// Removes a file and SQLite's files next to it. The file goes first: without it, the others have
/// no meaning.
fn remove_all(path: &Path) -> Result<(), StoreError> {
    let ends = ["", "-wal", "-shm", "-journal"];
    ends.iter().try_for_each(|end| remove(&with_end(path, end)))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let reason = sentence(&error);
            Err(file(
                path,
                format!("A workspace's file cannot be removed: {reason}"),
            ))
        }
        _ => Ok(()),
    }
}
