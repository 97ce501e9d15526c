//! The single place that opens connections: every connection to a workspace's file is opened,
//! checked and set up here.
//!
//! A file that cannot be opened is not changed: its header is read before SQLite sees it, and until
//! all checks pass, closing the connection does not checkpoint the log.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use twig_core::store::{StoreError, StoreName};

use super::Access;
use super::identity::{FileIdentity, FilesInPlace, OpenFileGuard, OpenFiles, pair};
use super::lock::{WorkspaceLock, WorkspaceLockError};
use super::migrations::{self, APPLICATION, MIGRATIONS};
use super::sqlite_error::SqliteError;
use super::workspace_handle::{WorkspaceHandle, stopping};
use crate::platform::{can_read, can_write, facts};
use crate::root::sentence;

/// The oldest SQLite without the bug that can reset the write-ahead log under a reader.
const OLDEST_ENGINE: i32 = 3_051_003;

/// Bytes that the log may keep after a checkpoint.
const LOG_BYTES: i64 = 4 * 1024 * 1024;

/// From this size on, another program is assumed to prevent the log's checkpoint.
pub(super) const LARGE_LOG: u64 = 64 * 1024 * 1024;

/// The problem with a log of that size, and what to do.
pub(super) fn held_log_sentence(workspace: &StoreName, bytes: u64, path: &Path) -> String {
    format!(
        "The log of workspace '{workspace}' has grown to {bytes} bytes, because a program keeps reading an \
         old state of it: find that program with `fuser {}` and end it",
        path.display()
    )
}

/// Why SQLite opened a file read-only, if the system does not say.
const DENIED: &str = "permission denied";

/// KiB of pages that a connection caches.
const CACHE_KIB: i64 = 512;

/// A connection that passed all checks.
#[derive(Debug)]
pub(super) struct OpenConnection {
    pub(super) connection: Connection,
    pub(super) files: OpenFiles,
    /// The file itself, with symlinks resolved.
    pub(super) main: PathBuf,
    /// True if the disk is full except for the reserve for deletions.
    pub(super) is_tight: bool,
    // Declared after the connection, which must be closed first.
    held: OpenFileGuard,
}

impl OpenConnection {
    /// Frees the reserve for deletions.
    pub(super) fn release_reserve(&self, handle: &WorkspaceHandle) {
        if let Ok(lock) =
            WorkspaceLock::take(&lock_path(&self.main), handle.until(), &handle.is_closing)
        {
            lock.release_reserve();
        }
        // After a full checkpoint the log is reused from its beginning. If the checkpoint fails, so
        // will the next attempt.
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let _ = self.connection.query_row(sql, [], |_| Ok(()));
    }

    /// True if the connection can be used: its files are in place, and it is not retired.
    pub(super) fn is_usable(&self) -> bool {
        self.usable_files().is_some()
    }

    /// Its files, if it can be used.
    pub(super) fn usable_files(&self) -> Option<FilesInPlace> {
        self.files.in_place().filter(|_| !self.held.is_retired())
    }

    /// Closes a connection whose files were moved or are damaged. The files now in place may belong
    /// to another program: the last connection to close would checkpoint its log and delete the log
    /// by its name.
    pub(super) fn leave(self, handle: &WorkspaceHandle) {
        let connection = &self.connection;
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        if !self.files.is_log_missing() {
            return;
        }
        // The log was removed. While there is no other one, this connection still has it and can
        // checkpoint it.
        if let Ok(_lock) =
            WorkspaceLock::take(&lock_path(&self.main), handle.until(), &handle.is_closing)
            && self.files.is_log_missing()
        {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
                tracing::warn!(
                    "the log of workspace '{}' is lost: {error}",
                    handle.workspace
                );
            }
        }
    }
}

/// How SQLite opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// Shared with other programs.
    Shared,
    /// The file or its folder cannot be written.
    ReadOnly,
    /// There is also no log to share with others, who cannot write either.
    Immutable,
}

/// Opens a workspace's file.
pub(super) fn open(handle: &WorkspaceHandle) -> Result<OpenConnection, StoreError> {
    // A watcher may still follow the file, and a connection opened now would never be closed.
    if handle.is_closing.load(Ordering::Acquire) {
        return Err(stopping());
    }
    check_engine(rusqlite::version_number()).map_err(StoreError::Unavailable)?;
    // The log and the lock are next to the symlink's target, where every program that shares the
    // file finds them.
    let path = fs::canonicalize(&handle.path).map_err(|error| handle.cannot_open(&error))?;
    let folder = path.parent().unwrap_or(&path);
    check_near(folder, handle.is_network)?;
    let lock_path = lock_path(&path);
    let lock = match WorkspaceLock::take(&lock_path, handle.until(), &handle.is_closing) {
        Ok(lock) => Some(lock),
        Err(WorkspaceLockError::Busy) => return Err(handle.busy()),
        // No program can write here, so there is none to exclude.
        Err(WorkspaceLockError::Io(_)) if handle.access != Access::Write => None,
        Err(WorkspaceLockError::Io(error)) => return Err(handle.cannot_write(&sentence(&error))),
    };
    let way = match (handle.access, can_write(&path), can_write(folder)) {
        (Access::Write, Err(error), _) if can_read(&path) => {
            return Err(handle.cannot_write(&sentence(&error)));
        }
        (Access::Write, _, Err(_)) => {
            return Err(handle.cannot_write("its folder takes no other files"));
        }
        (Access::Write, _, _) | (_, Ok(()), Ok(())) => OpenMode::Shared,
        _ => OpenMode::ReadOnly,
    };
    let sorting = lock.as_ref().filter(|_| way == OpenMode::Shared);
    let has_reserve =
        |lock: &WorkspaceLock| !handle.is_writer || (handle.keeps_reserve && lock.keep_reserve());
    let mut is_tight = !sorting.is_none_or(has_reserve);
    let opened = match (handle.connect(&path, way, sorting), sorting) {
        // Opening writes, too.
        (Err(fault), Some(lock)) if fault.is_full() => {
            lock.release_reserve();
            is_tight = true;
            handle.connect(&path, way, sorting)
        }
        (opened, _) => opened,
    };
    let opened = match opened {
        // A log and its index can be neither found nor created.
        Err(SqliteError::Sql(rusqlite::Error::SqliteFailure(code, _)))
            if way == OpenMode::ReadOnly && is_without_log(code.code) =>
        {
            if log_is_empty(&path) {
                handle.connect(&path, OpenMode::Immutable, None)
            } else {
                Err(handle.cut_off().into())
            }
        }
        opened => opened.map(|opened| OpenConnection { is_tight, ..opened }),
    };
    if let (Some(lock), Ok(_)) = (&lock, &opened)
        && let Some((main, log)) = pair(&path, &with_end(&path, "-wal"))
    {
        let note = format!("{main} {log}");
        if lock.note().as_ref() != Some(&note)
            && let Err(error) = lock.set_note(&note)
        {
            tracing::debug!("{}: {error}", lock_path.display());
        }
    }
    opened.map_err(|fault| handle.describe(fault))
}

/// True if the log next to a file is known to belong to a previous file: SQLite would take that
/// file's pages for its own.
fn is_log_of_another(lock: &WorkspaceLock, path: &Path) -> bool {
    let (Some((main, log)), Some(note)) = (pair(path, &with_end(path, "-wal")), lock.note()) else {
        return false;
    };
    let noted = note.split_once(' ');
    noted.is_some_and(|(noted_main, noted_log)| noted_main != main && noted_log == log)
}

/// Refuses a network folder, on which the log's index cannot be shared.
pub(super) fn check_near(folder: &Path, is_network: fn(&Path) -> bool) -> Result<(), StoreError> {
    // A folder that does not exist yet will be on the file system of its nearest existing parent.
    let there = folder.ancestors().find(|folder| folder.exists());
    if !is_network(there.unwrap_or(folder)) {
        return Ok(());
    }
    Err(StoreError::File {
        sentence: "The folder of workspaces is on a network file system, where several programs \
                   cannot share a workspace: keep it on a disk of this machine"
            .to_owned(),
        path: folder.to_owned(),
    })
}

/// Refuses an SQLite version that is known to damage files.
fn check_engine(version: i32) -> Result<(), String> {
    if version >= OLDEST_ENGINE {
        return Ok(());
    }
    Err(format!(
        "SQLite {}.{}.{} can damage a file that several programs write to; \
         Twig needs 3.51.3 or newer",
        version / 1_000_000,
        version / 1_000 % 1_000,
        version % 1_000
    ))
}

impl WorkspaceHandle {
    fn connect(
        &self,
        path: &Path,
        way: OpenMode,
        lock: Option<&WorkspaceLock>,
    ) -> Result<OpenConnection, SqliteError> {
        let metadata = fs::metadata(path).map_err(|error| self.cannot_open(&error))?;
        let main = FileIdentity::of(&metadata);
        let refuse = || match look(path, &metadata) {
            Ok(Look::Ours { .. }) if has_other_names(&metadata) => Err(self.linked().into()),
            Ok(Look::Ours { seen }) if seen <= MIGRATIONS.len() => Ok(()),
            Ok(Look::Ours { seen }) => Err(SqliteError::from(self.newer(seen))),
            Ok(Look::Foreign(what)) => Err(SqliteError::from(self.foreign(what))),
            Err(error) => Err(self.cannot_open(&error).into()),
        };
        let (held, mut connection) = OpenFileGuard::take(main, refuse, || {
            if lock.is_some_and(|lock| is_log_of_another(lock, path)) {
                return Err(self.log_of_another().into());
            }
            Ok(connect(path, way)?)
        })?;
        if FileIdentity::at(path).ok() != Some(main) {
            let workspace = self.workspace.clone();
            return Err(StoreError::Moved { workspace }.into());
        }
        self.set_up(&mut connection, way)?;
        self.check(&connection, path, way)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        let logs =
            (way != OpenMode::Immutable).then(|| ["-wal", "-shm"].map(|end| with_end(path, end)));
        Ok(OpenConnection {
            connection,
            files: OpenFiles::new(self.path.clone(), main, logs.into_iter().flatten()),
            main: path.to_owned(),
            is_tight: false,
            held,
        })
    }

    /// Settings that change nothing in the file.
    fn set_up(&self, connection: &mut Connection, way: OpenMode) -> Result<(), SqliteError> {
        connection.busy_handler(Some(self.patient()))?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "mmap_size", 0)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", 1_000)?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        if self.access != Access::Write || way != OpenMode::Shared {
            connection.pragma_update(None, "query_only", true)?;
        }
        Ok(())
    }

    /// Checks that the file is ours, of a known version, and intact so far; migrates it to the
    /// newest version.
    fn check(
        &self,
        connection: &Connection,
        path: &Path,
        way: OpenMode,
    ) -> Result<(), SqliteError> {
        let ours: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if ours != i64::from(APPLICATION) {
            return Err(self.foreign("it is a file of another program").into());
        }
        let seen = migrations::version(connection)?;
        if seen > MIGRATIONS.len() {
            return Err(self.newer(seen).into());
        }
        if self.access == Access::Write && connection.is_readonly("main")? {
            let reason =
                can_write(path).map_or_else(|error| sentence(&error), |()| DENIED.to_owned());
            return Err(self.cannot_write(&reason).into());
        }
        if seen < MIGRATIONS.len() {
            if self.access == Access::Read || way != OpenMode::Shared {
                return Err(self.older().into());
            }
            connection.pragma_update(None, "query_only", false)?;
            migrations::keep_copy(connection, path, seen)?;
            migrations::migrate(connection, MIGRATIONS.into_iter())?;
            connection.pragma_update(None, "query_only", self.access != Access::Write)?;
        }
        let mode: Box<str> = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if &*mode != "wal" && way == OpenMode::Shared && self.access == Access::Write {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

pub(super) fn connect(path: &Path, way: OpenMode) -> rusqlite::Result<Connection> {
    let shared = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    match way {
        OpenMode::Shared => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        OpenMode::ReadOnly => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_ONLY)
        }
        OpenMode::Immutable => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), shared | flags)
        }
    }
}

/// The header of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What the header of a file says.
pub(super) enum Look {
    /// Our file, with this many migrations applied.
    Ours { seen: usize },
    /// Not our file, and why.
    Foreign(&'static str),
}

/// Reads the header of a file. Must only be called while no connection of this process has it open.
pub(super) fn look(path: &Path, metadata: &Metadata) -> io::Result<Look> {
    if !metadata.is_file() {
        return Ok(Look::Foreign("it is not a file"));
    }
    if metadata.len() == 0 {
        return Ok(Look::Foreign("it is empty"));
    }
    let mut head = Vec::with_capacity(100);
    File::open(path)?.take(100).read_to_end(&mut head)?;
    if !head.starts_with(MAGIC) {
        return Ok(Look::Foreign("it does not begin like one"));
    }
    let number = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_be_bytes)
    };
    if number(68) != APPLICATION {
        return Ok(Look::Foreign("it is a file of another program"));
    }
    Ok(Look::Ours {
        seen: usize::try_from(number(60)).unwrap_or(usize::MAX),
    })
}

/// Each hard link has its own log, which programs that use another name do not see.
fn has_other_names(metadata: &Metadata) -> bool {
    facts(metadata).links > 1
}

fn is_without_log(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::CannotOpen | ErrorCode::ReadOnly)
}

/// Whether the file itself contains every write.
pub(super) fn log_is_empty(path: &Path) -> bool {
    fs::metadata(with_end(path, "-wal")).map_or(true, |metadata| metadata.len() == 0)
}

/// The lock for creating, opening, migrating or deleting a file.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// A path with a suffix, as SQLite names the files that belong to a database.
pub(super) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/.-_".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use twig_core::Limits;
    use twig_core::store::{Noun, StoreName};

    use super::super::Workspaces;
    use super::*;

    #[test]
    fn an_engine_that_damages_files_is_refused() {
        assert_eq!(check_engine(3_051_003), Ok(()));
        assert_eq!(check_engine(3_054_000), Ok(()));
        let refused = check_engine(3_051_002).unwrap_err();
        assert!(refused.starts_with("SQLite 3.51.2 can damage"), "{refused}");
        assert!(rusqlite::version_number() >= OLDEST_ENGINE);
    }

    #[test]
    fn a_network_file_system_is_refused_and_nothing_is_made_there() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("workspaces");
        let far = Workspaces::with_network(there.clone(), |_| true);
        let name = StoreName::parse(Noun::Workspace, "default").unwrap();
        let limits = Limits::default();
        for access in [Access::Write, Access::Read] {
            far.open(&name, access, &limits).unwrap_err();
        }
        far.create(&name).unwrap_err();
        assert!(!there.exists());
        Workspaces::new(there).create(&name).unwrap();
        let refused = far.open(&name, Access::Write, &limits).unwrap_err();
        assert!(refused.to_string().contains("is on a network file system"));
    }

    #[test]
    fn a_path_is_a_uri_whatever_its_characters() {
        assert_eq!(
            immutable_uri(Path::new("/a b/50%?#.db")),
            "file:/a%20b/50%25%3f%23.db?immutable=1"
        );
    }
}
