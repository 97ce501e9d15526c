//! Projects stored in SQLite: one file per workspace, shared by every server on this machine.
//!
//! `twig-core` decides what a write may do (`store/decide`). This module makes it durable: one
//! function that opens (`store/open`), a thread that writes (`store/writer`), a connection that
//! reads, and one that notices writes of others. Only this module uses SQL.

mod apply;
mod audit;
mod backup;
pub(crate) mod clock;
mod compact;
mod copy;
mod identity;
mod lock;
mod migrations;
mod open;
pub(crate) mod queue;
mod reader;
mod rows;
mod sql;
mod sqlite_error;
mod watcher;
mod workspace_handle;
mod workspaces;
pub(crate) mod write_thread;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_core::plan::{ItemRow, StoredProject, no_label};
use twig_core::store::{
    Digest, ItemKind, LabelName, OnWritten, Project, Store, StoreError, StoreName, Summary,
    Version, VersionChoice, VersionQuery, Write,
};
use twig_core::{BodyError, Limits};

pub use self::apply::OldVersions;
pub use self::audit::VerifiedRows;
pub use self::clock::now;
pub use self::compact::Reclaimed;
use self::open::open;
use self::queue::WriteJob;
use self::reader::StoreReader;
use self::sql::Sql;
use self::sqlite_error::SqliteError;
use self::watcher::StoreWatcher;
use self::workspace_handle::WorkspaceHandle;
#[cfg(feature = "postgres")]
pub(crate) use self::workspace_handle::stopping;
pub use self::workspaces::{DEFAULT_WORKSPACE, Workspaces};
use self::write_thread::LazyWriter;

/// What a workspace is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing.
    Write,
    /// Reading only.
    Read,
    /// Reading; a file that an older Twig wrote is migrated first, where it can be written.
    ReadOrUpdate,
}

/// An open workspace.
#[derive(Debug)]
pub struct SqliteStore {
    handle: WorkspaceHandle,
    limits: Limits,
    reader: Arc<Mutex<StoreReader>>,
    writer: LazyWriter,
}

impl SqliteStore {
    fn open(handle: WorkspaceHandle, limits: Limits) -> Result<Self, StoreError> {
        let opened = open(&handle)?;
        Ok(Self {
            handle,
            limits,
            reader: Arc::new(Mutex::new(StoreReader::new(opened))),
            writer: LazyWriter::default(),
        })
    }

    /// The workspace's file.
    pub fn path(&self) -> &Path {
        &self.handle.path
    }

    /// Checks that the pages of the file are consistent, for a few seconds at most; digests are
    /// only compared when content is read.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        self.reader().check_pages(&self.handle)
    }

    fn reader(&self) -> MutexGuard<'_, StoreReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a prompt or resource of a project, deleted or not. `near` finds similar names for one
    /// that does not exist.
    fn item<T>(
        &self,
        project: &StoreName,
        (kind, name): (ItemKind, &StoreName),
        read: impl FnOnce(&Sql<'_>, &ItemRow) -> Result<T, SqliteError>,
        near: impl FnOnce(&Sql<'_>, &StoredProject) -> Result<Vec<Box<str>>, SqliteError>,
    ) -> Result<T, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let found = apply::find(sql, &self.handle.workspace, project)?;
            if let Some(item) = rows::item(sql, &found, kind, name)? {
                return read(sql, &item);
            }
            Err(SqliteError::from(StoreError::Missing {
                kind,
                name: name.clone(),
                project: project.clone(),
                near: near(sql, &found)?,
            }))
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
        &self.handle.workspace
    }

    fn revision(&self) -> Result<u64, StoreError> {
        self.reader().revision(&self.handle)
    }

    fn projects(&self) -> Result<Vec<Summary>, StoreError> {
        let rows = self.reader().read(&self.handle, rows::projects)?;
        Ok(rows.into_iter().map(StoredProject::summary).collect())
    }

    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError> {
        self.reader().project(&self.handle, name)
    }

    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let content = self
            .reader()
            .read(&self.handle, |sql| rows::content(sql, digest))?;
        content.ok_or_else(|| StoreError::ContentGone {
            workspace: self.handle.workspace.clone(),
        })
    }

    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError> {
        self.item(
            project,
            (kind, name),
            |sql, item| rows::history(sql, kind, name, item),
            |_, _| Ok(Vec::new()),
        )
    }

    fn versions(&self, query: &VersionQuery) -> Result<Vec<Version>, StoreError> {
        let VersionQuery {
            project,
            kind,
            name,
            before,
            most,
            only,
        } = query;
        let before = before.unwrap_or(u64::MAX);
        self.item(
            project,
            (*kind, name),
            |sql, item| match only {
                Some(choice) => Ok(vec![one_version(sql, *kind, name, item, choice)?]),
                None => rows::versions(sql, *kind, name, item, before, *most),
            },
            |sql, project| rows::near(sql, project, *kind, name),
        )
    }

    fn labels(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError> {
        self.item(project, (kind, name), rows::labels, |sql, project| {
            rows::near(sql, project, kind, name)
        })
    }

    fn protected_labels(&self, project: &StoreName) -> Result<Vec<LabelName>, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let found = apply::find(sql, &self.handle.workspace, project)?;
            rows::protected_labels(sql, &found)
        })
    }

    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send> {
        Box::new(StoreWatcher::start(self.handle.clone(), on_write))
    }

    fn close(&self) {
        self.handle.is_closing.store(true, Ordering::Release);
        self.writer.end();
        self.reader().close();
    }

    fn write(&self, write: Write, done: OnWritten) {
        let until = self.handle.until();
        let job = WriteJob { write, done, until };
        if self.handle.access != Access::Write {
            let workspace = self.handle.workspace.clone();
            return job.report(Err(StoreError::ReadOnly { workspace }));
        }
        self.writer.hand_over(&self.handle.workspace, job, || {
            writer::thread_work(&self.handle, self.limits.clone(), Arc::clone(&self.reader))
        });
    }
}

/// Why the content of a version was not read, for those who read prompts and documents.
pub(crate) fn content_error(error: &StoreError) -> BodyError {
    let sentence = error.to_string();
    if error.is_damage() || matches!(error, StoreError::ContentGone { .. }) {
        BodyError::Lost(sentence)
    } else {
        BodyError::Store(sentence)
    }
}

/// The error for a workspace that is not among those that there are.
pub(crate) fn no_such_workspace(name: &StoreName, there: &[StoreName]) -> StoreError {
    let names = there.iter().map(StoreName::as_str);
    let near = twig_core::suggest::did_you_mean(name.as_str(), names);
    let near = near.map_or_else(String::new, |near| format!("; {near}"));
    StoreError::Unavailable(format!(
        "Workspace '{name}' does not exist: make it with `twig workspace create {name}`{near}"
    ))
}

/// The version that a choice means.
fn one_version(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
    choice: &VersionChoice,
) -> Result<Version, SqliteError> {
    let version = match choice {
        VersionChoice::Number(number) => *number,
        VersionChoice::Label(label) => {
            let labels = rows::labels(sql, item)?;
            let found = labels.iter().find(|(known, _)| known == label);
            match found {
                Some((_, number)) => *number,
                None => return Err(no_label(kind, name, label, labels).into()),
            }
        }
    };
    let found = rows::version(sql, kind, name, item, version)?;
    found.ok_or_else(|| {
        SqliteError::from(StoreError::NoVersion {
            kind,
            name: name.clone(),
            version,
            first: item.first,
            last: item.head,
        })
    })
}
