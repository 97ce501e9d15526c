//! The workspaces of a database: creates, lists, deletes and opens them by name.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use twig_core::Limits;
use twig_core::store::{Noun, StoreError, StoreName};
use uuid::Uuid;

use super::database::{PgDatabase, PgLine};
use super::pg_fault::PgFault;
use super::pg_reader::PgStoreReader;
use super::schema::{self, Migrated};
use super::{PgShared, PgStore, PgValue, lock_key, pg_rows};
use crate::store::clock::{new_id, now};
use crate::store::{Access, DEFAULT_WORKSPACE};

/// How long listing, creating and deleting wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a migration may take.
const MIGRATION: Duration = Duration::from_secs(600);

/// The workspaces of one database.
#[derive(Debug, Clone)]
pub struct PgWorkspaces {
    database: Arc<PgDatabase>,
    line: Arc<Mutex<PgLine>>,
    freshness: Duration,
}

impl PgWorkspaces {
    /// The workspaces of the database with this URL; nothing is connected yet. What is read is at
    /// most `freshness` old.
    pub fn new(url: &str, freshness: Duration) -> Result<Self, StoreError> {
        let database = Arc::new(PgDatabase::new(url)?);
        let line = Arc::new(Mutex::new(PgLine::new(Arc::clone(&database))));
        Ok(Self {
            database,
            line,
            freshness,
        })
    }

    /// The names of all workspaces, sorted.
    pub fn list(&self) -> Result<Vec<StoreName>, StoreError> {
        self.run(false, &async |client: &Client| {
            let sql = "SELECT name FROM twig.workspace ORDER BY name";
            let rows = client.query_typed(sql, &[]).await?;
            let names = rows
                .iter()
                .map(|row| pg_rows::name(Noun::Workspace, row, 0));
            names.collect()
        })
    }

    /// Whether there is a workspace with that name. Also true if the database cannot be asked:
    /// opening it reports the problem.
    pub fn exists(&self, name: &StoreName) -> bool {
        let found = self.run(false, &async |client: &Client| find(client, name).await);
        found.map_or(true, |found| found.is_some())
    }

    /// Creates an empty workspace.
    pub fn create(&self, name: &StoreName) -> Result<(), StoreError> {
        if self.run(true, &async |client: &Client| make(client, name).await)? {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "Workspace '{name}' already exists"
        )))
    }

    /// Deletes a workspace with everything in it.
    pub fn delete(&self, name: &StoreName) -> Result<(), StoreError> {
        let is_deleted = self.run(true, &async |client: &Client| {
            let Some(id) = find(client, name).await? else {
                return Ok(false);
            };
            let tables = [
                "label",
                "protected_label",
                "version",
                "content",
                "item",
                "project",
                "change",
            ];
            let delete =
                |table: &str| format!("DELETE FROM twig.{table} WHERE workspace = '{id}'; ");
            let deletes: String = tables.iter().map(|table| delete(table)).collect();
            client
                .batch_execute(&format!(
                    "BEGIN; SELECT pg_advisory_xact_lock({}); \
                     SELECT set_config('twig.deleted_workspace', '{id}', true); \
                     {deletes} DELETE FROM twig.workspace WHERE id = '{id}'; COMMIT",
                    lock_key(id)
                ))
                .await?;
            Ok(true)
        })?;
        if is_deleted {
            return Ok(());
        }
        Err(self.missing(name))
    }

    /// Opens a workspace. The default workspace is created if it is to be written.
    pub fn open(
        &self,
        name: &StoreName,
        access: Access,
        limits: &Limits,
    ) -> Result<PgStore, StoreError> {
        let until = Instant::now() + Duration::from_millis(limits.store_millis);
        let is_write = access == Access::Write;
        let is_made = is_write && name.as_str() == DEFAULT_WORKSPACE;
        let found = self.run_until(until, is_write, &async |client: &Client| {
            let found = find(client, name).await?;
            if found.is_some() || !is_made {
                return Ok(found);
            }
            make(client, name).await?;
            find(client, name).await
        });
        let Some(id) = found.map_err(|fault| fault.describe(name, limits.store_millis, false))?
        else {
            return Err(self.missing(name));
        };
        let shared = PgShared {
            database: Arc::clone(&self.database),
            workspace: name.clone(),
            id,
            millis: limits.store_millis,
            freshness: self.freshness,
            is_stale: false.into(),
            is_closing: false.into(),
            watchers: Mutex::default(),
        };
        Ok(PgStore {
            shared: Arc::new(shared),
            reader: Arc::new(PgStoreReader::new(Arc::clone(&self.database))),
            access,
            limits: limits.clone(),
            writer: Mutex::new(None),
        })
    }

    /// Creates the tables or brings them up to date.
    pub fn migrate(&self) -> Result<Migrated, StoreError> {
        let until = Instant::now() + MIGRATION;
        let migrated = self.database.wait(until, async {
            let client = self.database.connect().await?;
            schema::migrate(&client).await
        });
        migrated.map_err(|fault| describe_any(fault, true))
    }

    fn run<T>(
        &self,
        is_write: bool,
        call: &impl AsyncFn(&Client) -> Result<T, PgFault>,
    ) -> Result<T, StoreError> {
        self.run_until(Instant::now() + PATIENCE, is_write, call)
            .map_err(|fault| describe_any(fault, is_write))
    }

    fn run_until<T>(
        &self,
        until: Instant,
        is_write: bool,
        call: &impl AsyncFn(&Client) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.run(until, &async |client: &Client| {
            schema::check(client, is_write).await?;
            call(client).await
        })
    }

    fn missing(&self, name: &StoreName) -> StoreError {
        let there = self.list().unwrap_or_default();
        let names = there.iter().map(StoreName::as_str);
        let near = twig_core::suggest::did_you_mean(name.as_str(), names);
        let near = near.map_or_else(String::new, |near| format!("; {near}"));
        StoreError::Unavailable(format!(
            "Workspace '{name}' does not exist: make it with `twig workspace create {name}`{near}"
        ))
    }
}

async fn find(client: &Client, name: &StoreName) -> Result<Option<Uuid>, PgFault> {
    let sql = "SELECT id FROM twig.workspace WHERE name = $1";
    let values: [PgValue<'_>; 1] = [(&name.as_str(), Type::TEXT)];
    let rows = client.query_typed(sql, &values).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Creates a workspace; `false` if it exists already.
async fn make(client: &Client, name: &StoreName) -> Result<bool, PgFault> {
    let sql = "INSERT INTO twig.workspace (id, name, created) VALUES ($1, $2, $3) \
        ON CONFLICT (name) DO NOTHING";
    let values: [PgValue<'_>; 3] = [
        (&new_id(), Type::UUID),
        (&name.as_str(), Type::TEXT),
        (&now().0, Type::INT8),
    ];
    Ok(client.execute_typed(sql, &values).await? > 0)
}

/// The sentence for a fault that is about no single workspace.
fn describe_any(fault: PgFault, is_write: bool) -> StoreError {
    let millis = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    match StoreName::parse(Noun::Workspace, DEFAULT_WORKSPACE) {
        Ok(name) => match fault.describe(&name, millis, is_write) {
            StoreError::Offline { reason, .. } => StoreError::Unavailable(format!(
                "The database of the store cannot be reached: {reason}"
            )),
            error => error,
        },
        Err(error) => error,
    }
}
