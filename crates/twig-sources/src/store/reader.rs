//! The connection that reads. It caches the last project: reading one new prompt reads one row,
//! however many there are.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rusqlite::Connection;
use twig_core::plan::StoredProject;
use twig_core::store::{Item, Project, StoreError, StoreName};

use super::identity::retire;
use super::open::{OpenConnection, open};
use super::rows;
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::WorkspaceHandle;

/// With more changes than this, the whole project is read.
const MOST_CHANGES: u64 = 256;

/// How long a check of a file's pages may take.
const LONGEST_CHECK: Duration = Duration::from_secs(5);

/// The connection; callers take turns.
#[derive(Debug)]
pub(super) struct StoreReader {
    opened: Option<OpenConnection>,
    /// The last `data_version`; only meaningful on this connection.
    seen: Option<i64>,
    /// Counts the changes of that value: the store's revision for callers in this process.
    revision: u64,
    /// The last project that was read, with its items: prompts first, then resources, each sorted
    /// by name.
    last: Option<(StoredProject, Vec<Item>)>,
}

impl StoreReader {
    pub(super) fn new(opened: OpenConnection) -> Self {
        Self {
            opened: Some(opened),
            seen: None,
            revision: 0,
            last: None,
        }
    }

    /// Closes the file; the next call opens it again.
    pub(super) fn close(&mut self) {
        self.opened = None;
    }

    /// Closes the file if its connections are retired.
    pub(super) fn close_if_retired(&mut self, handle: &WorkspaceHandle) {
        if let Some(retired) = self.opened.take_if(|opened| !opened.is_usable()) {
            retired.leave(handle);
        }
    }

    /// The revision: costs two `stat` calls and one look at the log's index.
    pub(super) fn revision(&mut self, handle: &WorkspaceHandle) -> Result<u64, StoreError> {
        self.with(handle, Self::refresh)
    }

    /// A project with its contents.
    pub(super) fn project(
        &mut self,
        handle: &WorkspaceHandle,
        name: &StoreName,
    ) -> Result<Option<Project>, StoreError> {
        self.with(handle, |reader, connection| {
            let transaction = connection.unchecked_transaction()?;
            // The first read in a transaction fixes its snapshot.
            let revision = reader.refresh(&transaction)?;
            let sql = Sql::new(&transaction);
            let Some(project) = rows::project(&sql, name)? else {
                return Ok(None);
            };
            let items = match reader.last.take() {
                Some((before, items)) if before.id == project.id => {
                    catch_up(&sql, items, before.rev, &project)?
                }
                _ => None,
            };
            let items = match items {
                Some(items) => items,
                None => rows::items(&sql, &project)?,
            };
            let (_, items) = reader.last.insert((project.clone(), items));
            Ok(Some(Project {
                id: project.id,
                name: project.name,
                revision,
                items: items.clone(),
            }))
        })
    }

    /// Reads in one snapshot.
    pub(super) fn read<T>(
        &mut self,
        handle: &WorkspaceHandle,
        read: impl FnOnce(&Sql<'_>) -> Result<T, SqliteError>,
    ) -> Result<T, StoreError> {
        self.with(handle, |_, connection| {
            let transaction = connection.unchecked_transaction()?;
            read(&Sql::new(&transaction))
        })
    }

    /// Has SQLite check that the pages of the file are consistent, within a time limit.
    pub(super) fn check_pages(&mut self, handle: &WorkspaceHandle) -> Result<(), StoreError> {
        self.with(handle, |_, connection| {
            let interrupt = connection.get_interrupt_handle();
            let (checking, checked) = channel::<()>();
            let timer = std::thread::spawn(move || {
                if checked.recv_timeout(LONGEST_CHECK) == Err(RecvTimeoutError::Timeout) {
                    interrupt.interrupt();
                }
            });
            let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
            drop(checking);
            // Do not use the connection again before the timer can no longer interrupt it.
            let _ = timer.join();
            let found: String = match found.map_err(SqliteError::from) {
                // No problem was found within the time.
                Err(fault) if fault.is_interrupted() => return Ok(()),
                found => found?,
            };
            if found == "ok" {
                return Ok(());
            }
            tracing::debug!("{}: {found}", handle.path.display());
            Err(SqliteError::damaged("its pages are inconsistent"))
        })
    }

    fn with<T>(
        &mut self,
        handle: &WorkspaceHandle,
        work: impl FnOnce(&mut Self, &Connection) -> Result<T, SqliteError>,
    ) -> Result<T, StoreError> {
        let opened = match self.opened.take() {
            Some(opened) if opened.is_usable() => opened,
            gone => {
                if let Some(gone) = gone {
                    gone.leave(handle);
                }
                self.seen = None;
                self.last = None;
                open(handle)?
            }
        };
        let outcome = work(self, &opened.connection);
        match outcome {
            Ok(value) => {
                self.opened = Some(opened);
                Ok(value)
            }
            // After an error of the file, the next call opens it again: it may have been replaced.
            Err(fault) => {
                if matches!(fault, SqliteError::Refused(_)) {
                    self.opened = Some(opened);
                } else {
                    if fault.is_stuck() {
                        retire(opened.files.identity());
                    }
                    opened.leave(handle);
                }
                Err(handle.describe(fault))
            }
        }
    }

    fn refresh(&mut self, connection: &Connection) -> Result<u64, SqliteError> {
        let now: i64 = connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if self.seen.replace(now) != Some(now) {
            self.revision += 1;
        }
        Ok(self.revision)
    }
}

/// Updates items that were read at an earlier revision of their project; `None` if all of them must
/// be read again.
fn catch_up(
    sql: &Sql<'_>,
    mut items: Vec<Item>,
    since: u64,
    project: &StoredProject,
) -> Result<Option<Vec<Item>>, SqliteError> {
    let Some(changed) = rows::changed(sql, project, since, MOST_CHANGES)? else {
        return Ok(None);
    };
    for (kind, name) in changed {
        let Some(row) = rows::item(sql, project, kind, &name)? else {
            return Ok(None);
        };
        let head = rows::head(sql, kind, &name, &row)?;
        let at = items.binary_search_by(|item| (item.kind, &item.name).cmp(&(kind, &name)));
        match (at, rows::is_deletion(&head)) {
            (Ok(at), true) => drop(items.remove(at)),
            (Ok(at), false) => {
                items[at].head = head;
                items[at].labels = rows::labelled(sql, project, kind, &name, &row)?;
            }
            (Err(_), true) => {}
            (Err(at), false) => {
                let labels = rows::labelled(sql, project, kind, &name, &row)?;
                let item = Item {
                    kind,
                    name,
                    head,
                    labels,
                };
                items.insert(at, item);
            }
        }
    }
    Ok(rows::are_all(&items, project).then_some(items))
}
