//! The connection that reads, and what it knows of the file's revision.

use rusqlite::Connection;
use twig_core::store::{Project, StoreError, StoreName};

use super::fault::Fault;
use super::identity::retire;
use super::known::Known;
use super::open::{Opened, open};
use super::rows;
use super::site::Site;
use super::sql::Sql;

/// Reads; whoever wants to has to wait for their turn.
#[derive(Debug)]
pub(super) struct Reader {
    opened: Option<Opened>,
    /// What `data_version` was when `rev` was read; means something on this connection only.
    seen: Option<i64>,
    /// The file's own revision.
    rev: u64,
    /// What is added to it, so that a file which took the place of a newer one is news too.
    ahead: u64,
    /// Whether the file may be another one since the revision was last told.
    is_another: bool,
    /// The project that was read last.
    known: Option<Known>,
}

impl Reader {
    pub(super) fn new(opened: Opened) -> Self {
        Self {
            opened: Some(opened),
            seen: None,
            rev: 0,
            ahead: 0,
            is_another: false,
            known: None,
        }
    }

    /// Lets go of the file; the next one to ask opens it again.
    pub(super) fn close(&mut self) {
        self.opened = None;
    }

    /// Lets go of a file whose connections are retired.
    pub(super) fn close_if_retired(&mut self, site: &Site) {
        if let Some(retired) = self.opened.take_if(|opened| !opened.is_usable()) {
            retired.leave(site);
        }
    }

    /// The revision: two looks at names, and one at the log's index.
    pub(super) fn revision(&mut self, site: &Site) -> Result<u64, StoreError> {
        self.with(site, Self::refresh)
    }

    /// A project and all that it holds.
    pub(super) fn project(
        &mut self,
        site: &Site,
        name: &StoreName,
    ) -> Result<Option<Project>, StoreError> {
        self.with(site, |reader, connection| {
            let transaction = connection.unchecked_transaction()?;
            let sql = Sql::new(&transaction);
            let rev = rows::revision(&sql)?;
            let revision = reader.tell(rev);
            let Some(project) = rows::project(&sql, name)? else {
                return Ok(None);
            };
            let known = Known::read(reader.known.take(), &sql, rev, project)?;
            let project = Project {
                id: known.project.id,
                name: known.project.name.clone(),
                revision,
                items: known.items.clone(),
            };
            reader.known = Some(known);
            Ok(Some(project))
        })
    }

    /// Reads something as of one moment; `read` is told the revision.
    pub(super) fn read<T>(
        &mut self,
        site: &Site,
        read: impl FnOnce(&Sql<'_>, u64) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.with(site, |reader, connection| {
            let transaction = connection.unchecked_transaction()?;
            let sql = Sql::new(&transaction);
            let revision = reader.tell(rows::revision(&sql)?);
            read(&sql, revision)
        })
    }

    fn with<T>(
        &mut self,
        site: &Site,
        work: impl FnOnce(&mut Self, &Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let opened = match self.opened.take() {
            Some(opened) if opened.is_usable() => opened,
            gone => {
                if let Some(gone) = gone {
                    gone.leave(site);
                }
                self.seen = None;
                self.known = None;
                self.is_another = true;
                open(site)?
            }
        };
        let outcome = work(self, &opened.connection);
        match outcome {
            Ok(value) => {
                self.opened = Some(opened);
                Ok(value)
            }
            // After a fault of the file the next one starts anew: somebody may have mended it.
            Err(fault) => {
                if matches!(fault, Fault::Refused(_)) {
                    self.opened = Some(opened);
                } else {
                    if fault.is_stuck() {
                        retire(opened.files.identity());
                    }
                    opened.leave(site);
                }
                Err(site.tell(fault))
            }
        }
    }

    fn refresh(&mut self, connection: &Connection) -> Result<u64, Fault> {
        let now: i64 = connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if self.seen != Some(now) {
            let rev = rows::revision(&Sql::new(connection))?;
            self.tell(rev);
            self.seen = Some(now);
        }
        Ok(self.rev + self.ahead)
    }

    /// The number for others: it never goes back, and another file is another number.
    fn tell(&mut self, rev: u64) -> u64 {
        let last = self.rev + self.ahead;
        let next = rev + self.ahead;
        if next < last || (self.is_another && next == last) {
            self.ahead += last + 1 - next;
        }
        self.is_another = false;
        self.rev = rev;
        rev + self.ahead
    }
}
