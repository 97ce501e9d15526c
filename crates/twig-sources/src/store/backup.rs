//! Copies a workspace to a file, and makes a workspace of such a copy.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use tempfile::NamedTempFile;
use twig_core::store::{StoreError, StoreName};

use super::SqliteStore;
use super::migrations::MIGRATIONS;
use super::open::{Look, OpenMode, connect, log_is_empty, look, open};
use super::sqlite_error::SqliteError;
use super::workspaces::Workspaces;
use crate::platform::sync_folder_at;
use crate::root::sentence;

impl SqliteStore {
    /// Writes a copy of the workspace as of one moment to a file; returns its size in bytes. Other
    /// programs go on meanwhile. An existing file is refused unless `replace` is set; it is replaced
    /// only when the copy is complete and on disk.
    pub fn back_up(&self, path: &Path, replace: bool) -> Result<u64, StoreError> {
        let cannot = |error: &io::Error| {
            let sentence = match error.kind() {
                io::ErrorKind::AlreadyExists => "There is a file already".to_owned(),
                io::ErrorKind::StorageFull => return StoreError::DiskFull,
                _ => format!("The backup cannot be written: {}", sentence(error)),
            };
            StoreError::File {
                sentence: format!("{sentence}; nothing was written"),
                path: path.to_owned(),
            }
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let is_own = match (fs::canonicalize(folder), self.path().parent()) {
            (Ok(folder), Some(own)) => fs::canonicalize(own).is_ok_and(|own| own == folder),
            (Err(error), _) => return Err(cannot(&error)),
            _ => false,
        };
        if is_own {
            return Err(StoreError::File {
                sentence: "The folder of workspaces cannot hold a backup; nothing was written"
                    .to_owned(),
                path: path.to_owned(),
            });
        }
        if !replace && fs::symlink_metadata(path).is_ok() {
            return Err(cannot(&io::ErrorKind::AlreadyExists.into()));
        }
        let copy = tempfile::Builder::new()
            .prefix(".twig-backup-")
            .tempfile_in(folder)
            .map_err(|error| cannot(&error))?;
        self.copy_to(copy.path())?;
        let size = check(copy.path()).map_err(|fault| self.handle.describe(fault))?;
        let moved = copy.as_file().sync_all();
        let moved = moved.and_then(|()| move_to(copy, path, replace));
        moved.map_err(|error| cannot(&error))?;
        sync_folder_at(folder).map_err(|error| StoreError::File {
            sentence: format!(
                "The backup was written, but may be lost if the machine fails now, because its \
                 folder cannot be synced: {}",
                sentence(&error)
            ),
            path: path.to_owned(),
        })?;
        Ok(size)
    }

    fn copy_to(&self, to: &Path) -> Result<(), StoreError> {
        let opened = open(&self.handle)?;
        let copied = to.to_str().map(|to| {
            let connection = &opened.connection;
            connection.pragma_update(None, "query_only", false)?;
            connection.execute("VACUUM INTO ?1", [to])?;
            Ok(())
        });
        let copied: Result<(), SqliteError> = copied.unwrap_or_else(|| {
            let sentence = "The path of the backup is not UTF-8; nothing was written".to_owned();
            let path = to.to_owned();
            Err(StoreError::File { sentence, path }.into())
        });
        copied.map_err(|fault| {
            opened.leave(&self.handle);
            self.handle.describe(fault)
        })
    }
}

impl Workspaces {
    /// Makes a new workspace of a copy.
    pub fn restore(&self, name: &StoreName, from: &Path) -> Result<(), StoreError> {
        let refuse = |sentence: String| StoreError::File {
            sentence,
            path: from.to_owned(),
        };
        let cannot =
            |error: io::Error| refuse(format!("The backup cannot be read: {}", sentence(&error)));
        let metadata = fs::metadata(from).map_err(cannot)?;
        if !log_is_empty(from) {
            return Err(refuse(
                "The file is in use, and its last changes are in another file: make a backup with `twig workspace backup`".to_owned(),
            ));
        }
        match look(from, &metadata).map_err(cannot)? {
            Look::Ours { seen } if seen <= MIGRATIONS.len() => {}
            Look::Ours { .. } => {
                return Err(refuse(
                    "The backup was written by a newer Twig: update Twig".to_owned(),
                ));
            }
            Look::Foreign(what) => {
                return Err(refuse(format!(
                    "The file is not a backup of a workspace: {what}"
                )));
            }
        }
        let is_new = self.make_from(name, |new| {
            let mut source = File::open(from)?;
            let mut copy = File::options().write(true).open(new)?;
            io::copy(&mut source, &mut copy)?;
            copy.sync_all()?;
            drop(copy);
            check(new)?;
            Ok(())
        })?;
        if is_new {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "Workspace '{name}' already exists"
        )))
    }
}

/// Checks that the pages of a copy that no other program has are consistent; returns its size.
/// Leaves no log beside it.
fn check(path: &Path) -> Result<u64, SqliteError> {
    let connection = connect(path, OpenMode::Immutable)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        tracing::debug!("{}: {found}", path.display());
        return Err(SqliteError::damaged("its pages are inconsistent"));
    }
    let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let size: i64 = connection.query_row(size, [], |row| row.get(0))?;
    Ok(u64::try_from(size).unwrap_or_default())
}

fn move_to(copy: NamedTempFile, path: &Path, replace: bool) -> io::Result<()> {
    let path: PathBuf = path.to_owned();
    let moved = if replace {
        copy.persist(path)
    } else {
        copy.persist_noclobber(path)
    };
    moved.map(drop).map_err(|error| error.error)
}
