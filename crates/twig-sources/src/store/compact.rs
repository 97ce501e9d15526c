//! Making room: old versions are dropped, and pages that nothing uses go back to the disk.
//!
//! Both work on a connection of their own and step by step, so that servers go on meanwhile.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use twig_core::store::{StoreError, StoreName};

use super::apply::{OldVersions, versions};
use super::clock::now;
use super::open::{OpenConnection, open, with_end};
use super::rows::{self, StoredProject};
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::WorkspaceHandle;
use super::{SqliteStore, migrations};

/// Pause between two attempts to write the log back while another connection does.
const STEP: Duration = Duration::from_millis(5);

/// What became of a workspace's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reclaimed {
    /// The bytes that its file and its log took.
    pub before: u64,
    /// The bytes that they take now.
    pub after: u64,
    /// True if another program reads what is older, so that the log still has it.
    pub is_log_held: bool,
}

impl SqliteStore {
    /// Counts the versions that are older than the last `keep` ones of each prompt and resource, of
    /// one project or of all.
    pub fn count_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut all = OldVersions::default();
            for project in chosen(sql, &self.handle, project)? {
                add(&mut all, versions::count(sql, &project, keep)?);
            }
            Ok(all)
        })
    }

    /// Drops the versions that are older than the last `keep` ones, which is at least one.
    pub fn drop_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        let keep = keep.max(1);
        with_connection(&self.handle.for_writer(), |opened| {
            let mut all = OldVersions::default();
            let names = {
                let transaction = opened.connection.unchecked_transaction()?;
                let projects = chosen(&Sql::new(&transaction), &self.handle, project)?;
                projects.into_iter().map(|project| project.name)
            };
            // One by one: others get their turn in between.
            for name in names {
                add(&mut all, drop_of_project(opened, &name, keep)?);
                if !opened.files.are_there() {
                    let workspace = self.handle.workspace.clone();
                    return Err(StoreError::Moved { workspace }.into());
                }
            }
            Ok(all)
        })
    }

    /// Rewrites the file without what nothing uses, writes its log back and removes copies that
    /// were kept by migrations: what was deleted is in none of them afterwards.
    pub fn reclaim(&self) -> Result<Reclaimed, StoreError> {
        with_connection(&self.handle.for_writer(), |opened| {
            let before = size(opened);
            let connection = &opened.connection;
            // What is copied there may be more than fits into memory.
            connection.pragma_update(None, "temp_store", "FILE")?;
            connection.execute_batch("VACUUM")?;
            let is_log_held = !write_log_back(connection, self.handle.until())?;
            if !opened.files.are_there() {
                let workspace = self.handle.workspace.clone();
                return Err(StoreError::Moved { workspace }.into());
            }
            for copy in migrations::copies(&opened.main) {
                if let Err(error) = fs::remove_file(&copy) {
                    tracing::warn!("{}: {error}", copy.display());
                }
            }
            Ok(Reclaimed {
                before,
                after: size(opened),
                is_log_held,
            })
        })
    }
}

/// Writes the log back and empties it; `false` where that could not be done in time.
fn write_log_back(connection: &Connection, until: Instant) -> Result<bool, SqliteError> {
    loop {
        let is_busy: bool =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !is_busy || Instant::now() >= until {
            return Ok(!is_busy);
        }
        // SQLite waits for readers, and not for another connection that writes the log back.
        std::thread::sleep(STEP);
    }
}

/// Works with a connection of its own; one on which something failed is left without writing. Where
/// the disk is full, it is tried again with what is kept for that.
fn with_connection<T>(
    handle: &WorkspaceHandle,
    work: impl Fn(&OpenConnection) -> Result<T, SqliteError>,
) -> Result<T, StoreError> {
    let opened = open(handle)?;
    match work(&opened) {
        Ok(value) => Ok(value),
        Err(fault) => {
            let is_tried_again = fault.is_full() && handle.keeps_reserve;
            if is_tried_again {
                opened.release_reserve(handle);
            }
            opened.leave(handle);
            if !is_tried_again {
                return Err(handle.describe(fault));
            }
            let handle = WorkspaceHandle {
                keeps_reserve: false,
                ..handle.clone()
            };
            with_connection(&handle, work)
        }
    }
}

/// The project of that name, or all of them.
fn chosen(
    sql: &Sql<'_>,
    handle: &WorkspaceHandle,
    name: Option<&StoreName>,
) -> Result<Vec<StoredProject>, SqliteError> {
    let Some(name) = name else {
        return rows::projects(sql);
    };
    let found = rows::project(sql, name)?.ok_or_else(|| StoreError::NoProject {
        project: name.clone(),
        workspace: handle.workspace.clone(),
    })?;
    Ok(vec![found])
}

fn drop_of_project(
    opened: &OpenConnection,
    name: &StoreName,
    keep: u64,
) -> Result<OldVersions, SqliteError> {
    let connection = &opened.connection;
    let behavior = TransactionBehavior::Immediate;
    let transaction = rusqlite::Transaction::new_unchecked(connection, behavior)?;
    let old = {
        let sql = Sql::new(&transaction);
        // It may have been deleted meanwhile.
        let Some(project) = rows::project(&sql, name)? else {
            return Ok(OldVersions::default());
        };
        // What is damaged is left as it is.
        rows::items(&sql, &project)?;
        versions::drop_old(&sql, &project, keep, now())?
    };
    transaction.commit()?;
    Ok(old)
}

fn add(all: &mut OldVersions, more: OldVersions) {
    all.versions += more.versions;
    all.bytes += more.bytes;
}

/// The bytes of a file and its log.
fn size(opened: &OpenConnection) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    length(&opened.main) + length(&with_end(&opened.main, "-wal"))
}
