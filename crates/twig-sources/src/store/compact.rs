//! Frees disk space: drops old versions and returns unused pages to the disk.
//!
//! Both use their own connection and work in steps, so that servers continue meanwhile.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use twig_core::plan::StoredProject;
use twig_core::store::{StoreError, StoreName};

use super::apply::{OldVersions, versions};
use super::clock::now;
use super::open::{OpenConnection, open, with_end};
use super::rows;
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::WorkspaceHandle;
use super::{SqliteStore, migrations};

/// Pause between two attempts to checkpoint the log while another connection does.
const STEP: Duration = Duration::from_millis(5);

/// The result of compacting a workspace's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reclaimed {
    /// Bytes of the file and its log before.
    pub before: u64,
    /// Bytes of the file and its log now.
    pub after: u64,
    /// True if another program still reads an older state, so that the log must keep it.
    pub is_log_held: bool,
}

impl SqliteStore {
    /// Counts the versions older than the last `keep` ones of each prompt and resource, in one
    /// project or in all.
    pub fn count_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut all = OldVersions::default();
            for project in chosen(sql, &self.handle, project)? {
                all.add(versions::count(sql, &project, keep)?);
            }
            Ok(all)
        })
    }

    /// Drops the versions older than the last `keep` ones; `keep` is at least one.
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
            // One project at a time: others can write in between.
            for name in names {
                all.add(drop_of_project(opened, &name, keep)?);
                if !opened.files.are_there() {
                    let workspace = self.handle.workspace.clone();
                    return Err(StoreError::Moved { workspace }.into());
                }
            }
            Ok(all)
        })
    }

    /// Rewrites the file without unused pages, checkpoints its log and removes the copies that
    /// migrations kept. Afterwards none of them contains deleted content.
    pub fn reclaim(&self) -> Result<Reclaimed, StoreError> {
        with_connection(&self.handle.for_writer(), |opened| {
            let before = size(opened);
            let connection = &opened.connection;
            // The temporary copy may not fit into memory.
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

/// Checkpoints the log and empties it; `false` if that was not possible in time.
fn write_log_back(connection: &Connection, until: Instant) -> Result<bool, SqliteError> {
    loop {
        let is_busy: bool =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !is_busy || Instant::now() >= until {
            return Ok(!is_busy);
        }
        // SQLite waits for readers, but not for another connection that is checkpointing.
        std::thread::sleep(STEP);
    }
}

/// Runs work on its own connection; after a failure the connection is closed without writing. If
/// the disk is full, it tries again with the reserve.
pub(super) fn with_connection<T>(
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

/// The project with that name, or all of them.
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
        // A damaged project stays as it is.
        rows::items(&sql, &project)?;
        versions::drop_old(&sql, &project, keep, now())?
    };
    transaction.commit()?;
    Ok(old)
}

/// The bytes of a file and its log.
fn size(opened: &OpenConnection) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    length(&opened.main) + length(&with_end(&opened.main, "-wal"))
}
