//! Projects stored in PostgreSQL: all workspaces in one database, shared by servers on any machine.
//!
//! `twig-core` decides what a write may do (`plan`). This module makes it durable: a connection that
//! writes (`postgres/pg_writer`), one that reads, and one that listens for writes of others.

mod database;
mod found_damage;
mod isolation;
mod loaded_rows;
mod pg_access;
mod pg_access_follower;
mod pg_batch;
mod pg_client;
mod pg_commit;
mod pg_compact;
mod pg_copy;
mod pg_facts;
mod pg_fault;
mod pg_followed;
mod pg_hints;
mod pg_queries;
mod pg_reader;
mod pg_rows;
mod pg_watcher;
mod pg_workspaces;
mod pg_writer;
mod schema;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use twig_core::Limits;
use twig_core::plan::{ChangeQuery, CheckedChain, RecordedChange};
use twig_core::store::{
    Digest, ItemKind, LabelName, OnWritten, Project, Store, StoreError, StoreName, Summary,
    Version, VersionQuery, Write,
};
use uuid::Uuid;

use self::database::PgDatabase;
pub(crate) use self::pg_access::{PgAccess, PgAccessState};
pub(crate) use self::pg_access_follower::FollowedPgAccess;
use self::pg_client::PgClient;
use self::pg_fault::PgFault;
pub(crate) use self::pg_followed::PgAgreement;
use self::pg_reader::PgStoreReader;
use self::pg_watcher::PgWatcher;
pub use self::pg_workspaces::PgWorkspaces;
pub use self::schema::Migrated;
use crate::store::queue::WriteJob;
use crate::store::write_thread::LazyWriter;
use crate::store::{Access, VerifiedRows};

/// A parameter of a statement, and its type, which a statement that is not prepared needs.
type PgValue<'v> = (&'v (dyn ToSql + Sync), Type);

/// What the connections of an open workspace share.
#[derive(Debug)]
struct PgShared {
    database: Arc<PgDatabase>,
    workspace: StoreName,
    id: Uuid,
    millis: u64,
    freshness: Duration,
    /// Set by every write of this process: what was confirmed before is old.
    is_stale: AtomicBool,
    is_closing: AtomicBool,
    watchers: Mutex<Vec<SyncSender<()>>>,
}

impl PgShared {
    /// Connects, and refuses tables of another version.
    async fn connect_checked(&self, is_write: bool) -> Result<PgClient, PgFault> {
        self.check(self.database.connect().await?, is_write).await
    }

    /// Refuses tables of another version.
    async fn check(&self, client: PgClient, is_write: bool) -> Result<PgClient, PgFault> {
        schema::check(&client, is_write).await?;
        Ok(client)
    }

    fn add_watcher(&self, signals: SyncSender<()>) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.push(signals);
    }

    /// Called after a write of this process is durable, before its outcome is reported.
    fn wrote(&self) {
        self.is_stale.store(true, Ordering::Release);
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| {
            let sent = watcher.try_send(());
            !matches!(sent, Err(std::sync::mpsc::TrySendError::Disconnected(())))
        });
    }

    fn describe(&self, fault: PgFault) -> StoreError {
        fault.describe(&self.workspace, self.millis, false)
    }
}

/// An open workspace.
#[derive(Debug)]
pub struct PgStore {
    shared: Arc<PgShared>,
    reader: Arc<PgStoreReader>,
    access: Access,
    limits: Limits,
    writer: LazyWriter,
}

impl PgStore {
    /// The changes that a query asks for, oldest first.
    pub fn changes(&self, query: &ChangeQuery) -> Result<Vec<RecordedChange>, StoreError> {
        self.reader.changes(&self.shared, query)
    }

    /// Checks the chain of every project, also of deleted ones; sorted by name.
    pub fn check_changes(&self) -> Result<Vec<CheckedChain>, StoreError> {
        self.reader.check_changes(&self.shared)
    }

    /// Compares all versions and contents with their digests.
    pub fn verify(&self) -> Result<VerifiedRows, StoreError> {
        self.reader.verify(&self.shared)
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for PgStore {
    fn workspace(&self) -> &StoreName {
        &self.shared.workspace
    }

    fn revision(&self) -> Result<u64, StoreError> {
        self.reader.revision(&self.shared)
    }

    fn projects(&self) -> Result<Vec<Summary>, StoreError> {
        self.reader.projects(&self.shared)
    }

    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError> {
        self.reader.project(&self.shared, name)
    }

    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.reader.content(&self.shared, digest)
    }

    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError> {
        let query = VersionQuery {
            project: project.clone(),
            kind,
            name: name.clone(),
            before: None,
            most: usize::MAX,
            only: None,
        };
        let mut versions = self.reader.versions(&self.shared, &query)?;
        versions.reverse();
        Ok(versions)
    }

    fn versions(&self, query: &VersionQuery) -> Result<Vec<Version>, StoreError> {
        self.reader.versions(&self.shared, query)
    }

    fn labels(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError> {
        self.reader.labels(&self.shared, project, kind, name)
    }

    fn protected_labels(&self, project: &StoreName) -> Result<Vec<LabelName>, StoreError> {
        self.reader.protected_labels(&self.shared, project)
    }

    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send> {
        let (shared, reader) = (Arc::clone(&self.shared), Arc::clone(&self.reader));
        Box::new(PgWatcher::start(shared, reader, on_write))
    }

    fn close(&self) {
        self.shared.is_closing.store(true, Ordering::Release);
        self.writer.end();
    }

    fn write(&self, write: Write, done: OnWritten) {
        let until = std::time::Instant::now() + Duration::from_millis(self.shared.millis);
        let job = WriteJob { write, done, until };
        if self.access != Access::Write {
            let workspace = self.shared.workspace.clone();
            return job.report(Err(StoreError::ReadOnly { workspace }));
        }
        if self.shared.is_closing.load(Ordering::Acquire) {
            return job.report(Err(crate::store::stopping()));
        }
        self.writer.hand_over(&self.shared.workspace, job, || {
            pg_writer::thread_work(Arc::clone(&self.shared), self.limits.clone())
        });
    }
}

fn uuid_of(id: [u8; 16]) -> Uuid {
    Uuid::from_bytes(id)
}

/// The advisory lock of a workspace: writers share it; removing contents takes it alone.
fn lock_key(workspace: Uuid) -> i64 {
    let (high, low) = workspace.as_u64_pair();
    // The first half of such an id is a time.
    (high ^ low).cast_signed()
}
