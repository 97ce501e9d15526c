//! Projects kept in SQLite: one file for each workspace, shared by every server on this machine.
//!
//! What a write may do is `twig-core`'s business (`store/decide`). Here is how it lasts: one
//! function that opens (`store/open`), a thread that writes (`store/writer`), a connection that
//! reads, and one that notices what others wrote. SQL is spoken in this module only.

mod apply;
pub(crate) mod clock;
mod compact;
mod fault;
mod identity;
mod lock;
mod migrations;
mod open;
mod queue;
mod reader;
mod rows;
mod site;
mod sql;
mod system_watcher;
mod watcher;
mod workspaces;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_core::Limits;
use twig_core::store::{
    Digest, ItemKind, OnWritten, Project, Store, StoreError, StoreName, Summary, Version, Write,
};

pub use self::apply::OldVersions;
pub use self::compact::Reclaimed;
use self::fault::Fault;
use self::open::open;
use self::queue::NotTaken;
use self::reader::StoreReader;
use self::site::Site;
pub(crate) use self::system_watcher::start_watcher;
use self::watcher::Watcher;
pub use self::workspaces::{DEFAULT_WORKSPACE, Workspaces};
use self::writer::{Job, Writer};

/// What a workspace is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing.
    Write,
    /// Reading only.
    Read,
}

/// A workspace that is open.
#[derive(Debug)]
pub struct SqliteStore {
    site: Site,
    limits: Limits,
    reader: Arc<Mutex<StoreReader>>,
    /// Started by the first write.
    writer: Mutex<Option<Writer>>,
}

impl SqliteStore {
    fn open(site: Site, limits: Limits) -> Result<Self, StoreError> {
        let opened = open(&site)?;
        Ok(Self {
            site,
            limits,
            reader: Arc::new(Mutex::new(StoreReader::new(opened))),
            writer: Mutex::new(None),
        })
    }

    /// The workspace's file.
    pub fn path(&self) -> &Path {
        &self.site.path
    }

    /// Looks whether the pages of the file fit together, for some seconds at most: digests are compared
    /// only with what is read.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        self.reader().check_pages(&self.site)
    }

    fn reader(&self) -> MutexGuard<'_, StoreReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(&self, job: Job) -> Result<(), Box<(Job, StoreError)>> {
        let could_not = |reason: &str| {
            StoreError::Unavailable(format!(
                "The change could not be made, nothing was written: {reason}"
            ))
        };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let started = match writer.take() {
            Some(started) => started,
            None => {
                match Writer::start(&self.site, self.limits.clone(), Arc::clone(&self.reader)) {
                    Ok(started) => started,
                    Err(error) => return Err(Box::new((job, could_not(&error.to_string())))),
                }
            }
        };
        let sent = started.send(job);
        if !matches!(sent, Err((_, NotTaken::Ended))) {
            *writer = Some(started);
        }
        sent.map_err(|(job, reason)| {
            let error = match reason {
                NotTaken::Full => self.site.full(),
                NotTaken::Ended => could_not("the thread that writes has ended"),
            };
            Box::new((job, error))
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for SqliteStore {
    fn workspace(&self) -> &StoreName {
        &self.site.workspace
    }

    fn revision(&self) -> Result<u64, StoreError> {
        self.reader().revision(&self.site)
    }

    fn projects(&self) -> Result<Vec<Summary>, StoreError> {
        let rows = self.reader().read(&self.site, rows::projects)?;
        let summary = |row: rows::StoredProject| Summary {
            id: row.id,
            name: row.name,
            prompts: row.prompts,
            resources: row.resources,
            history: row.history,
            created: row.created,
        };
        Ok(rows.into_iter().map(summary).collect())
    }

    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError> {
        self.reader().project(&self.site, name)
    }

    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let content = self
            .reader()
            .read(&self.site, |sql| rows::content(sql, digest))?;
        content.ok_or_else(|| {
            StoreError::Unavailable(format!(
                "The content is no longer in workspace '{}': its project was deleted",
                self.site.workspace
            ))
        })
    }

    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError> {
        self.reader().read(&self.site, |sql| {
            let Some(found) = rows::project(sql, project)? else {
                return Err(StoreError::NoProject {
                    project: project.clone(),
                    workspace: self.site.workspace.clone(),
                }
                .into());
            };
            if let Some(item) = rows::item(sql, &found, kind, name)? {
                return rows::history(sql, kind, name, &item);
            }
            Err(Fault::from(StoreError::Missing {
                kind,
                name: name.clone(),
                project: project.clone(),
                near: Vec::new(),
            }))
        })
    }

    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send> {
        Box::new(Watcher::start(self.site.clone(), on_write))
    }

    fn close(&self) {
        self.site.is_closing.store(true, Ordering::Release);
        let writer = self.writer.lock().map(|mut writer| writer.take());
        // The thread is waited for without the lock: who is told of its last write may ask for it.
        drop(writer);
        self.reader().close();
    }

    fn write(&self, write: Write, done: OnWritten) {
        let until = self.site.until();
        let job = Job { write, done, until };
        if self.site.access == Access::Read {
            let workspace = self.site.workspace.clone();
            return job.tell(Err(StoreError::ReadOnly { workspace }));
        }
        if let Err(refused) = self.hand_over(job) {
            let (job, error) = *refused;
            job.tell(Err(error));
        }
    }
}
