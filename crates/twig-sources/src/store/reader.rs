//! The connection that reads. It remembers the project that it read last: one more prompt is one more
//! row, however many there are.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rusqlite::Connection;
use twig_core::store::{Item, Project, StoreError, StoreName};

use super::identity::retire;
use super::open::{OpenConnection, open};
use super::rows::{self, StoredProject};
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::WorkspaceHandle;

/// More changes than this are not read one by one.
const MOST_CHANGES: u64 = 256;

/// How long a check of a file's pages may take.
const LONGEST_CHECK: Duration = Duration::from_secs(5);

/// The connection; callers take turns.
#[derive(Debug)]
pub(super) struct StoreReader {
    opened: Option<OpenConnection>,
    /// What `data_version` was last; means something on this connection only.
    seen: Option<i64>,
    /// Counts how often that differed: the store's revision for callers of this process.
    revision: u64,
    /// The project that was read last, with its items: prompts first, then resources, each sorted by
    /// name.
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

    /// Lets go of the file; the next one to ask opens it again.
    pub(super) fn close(&mut self) {
        self.opened = None;
    }

    /// Lets go of a file whose connections are retired.
    pub(super) fn close_if_retired(&mut self, handle: &WorkspaceHandle) {
        if let Some(retired) = self.opened.take_if(|opened| !opened.is_usable()) {
            retired.leave(handle);
        }
    }

    /// The revision: two looks at names, and one at the log's index.
    pub(super) fn revision(&mut self, handle: &WorkspaceHandle) -> Result<u64, StoreError> {
        self.with(handle, Self::refresh)
    }

    /// A project and all that it holds.
    pub(super) fn project(
        &mut self,
        handle: &WorkspaceHandle,
        name: &StoreName,
    ) -> Result<Option<Project>, StoreError> {
        self.with(handle, |reader, connection| {
            let transaction = connection.unchecked_transaction()?;
            // The first look within a transaction says as of when all others are.
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

    /// Reads something as of one moment.
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

    /// Has SQLite look whether the pages of the file fit together, for so long as it may take.
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
            // The connection is not used again before it can no longer be interrupted.
            let _ = timer.join();
            let found: String = match found.map_err(SqliteError::from) {
                // As far as it got, all was well.
                Err(fault) if fault.is_interrupted() => return Ok(()),
                found => found?,
            };
            if found == "ok" {
                return Ok(());
            }
            tracing::debug!("{}: {found}", handle.path.display());
            Err(SqliteError::damaged("its pages do not fit together"))
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
            // After a fault of the file the next one opens it again: the file may have been replaced.
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

/// Items that were read at a revision of their project as they are now; `None` where all of them have
/// to be read to know.
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
            (Ok(at), false) => items[at].head = head,
            (Err(_), true) => {}
            (Err(at), false) => items.insert(at, Item { kind, name, head }),
        }
    }
    Ok(rows::are_all(&items, project).then_some(items))
}
