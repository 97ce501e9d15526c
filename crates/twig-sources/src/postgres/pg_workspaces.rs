//! The workspaces of a database: creates, lists, deletes and opens them by name.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::Type;
use twig_core::Limits;
use twig_core::store::{Noun, StoreError, StoreName};
use uuid::Uuid;

use super::database::{PgDatabase, PgLine};
use super::isolation::BEGIN;
use super::pg_client::PgClient;
use super::pg_facts;
use super::pg_fault::PgFault;
use super::pg_reader::PgStoreReader;
use super::schema::{self, Migrated};
use super::{PgShared, PgStore, PgValue, lock_key, pg_rows};
use crate::database_address::DatabaseAddress;
use crate::database_facts::DatabaseFacts;
use crate::store::clock::{new_id, now};
use crate::store::write_thread::LazyWriter;
use crate::store::{Access, DEFAULT_WORKSPACE, no_such_workspace};
use crate::store_health::StoreHealth;
use crate::store_roles::StoreRoles;

/// How long listing, creating and deleting wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a probe waits, and a list that was read before.
const MOMENT: Duration = Duration::from_secs(1);

/// How long a migration may take.
const MIGRATION: Duration = Duration::from_secs(600);

/// The workspaces of one database.
#[derive(Debug, Clone)]
pub struct PgWorkspaces {
    pub(super) database: Arc<PgDatabase>,
    line: Arc<Mutex<PgLine>>,
    freshness: Duration,
}

impl PgWorkspaces {
    /// The workspaces of a database; nothing is connected yet.
    pub fn new(address: &DatabaseAddress) -> Result<Self, StoreError> {
        let database = Arc::new(PgDatabase::new(address)?);
        let line = Arc::new(Mutex::new(PgLine::new(Arc::clone(&database))));
        Ok(Self {
            database,
            line,
            freshness: address.freshness,
        })
    }

    pub(super) fn database(&self) -> Arc<PgDatabase> {
        Arc::clone(&self.database)
    }

    /// The names of all workspaces, sorted.
    pub fn list(&self) -> Result<Vec<StoreName>, StoreError> {
        // A server lists them again and again, and requests wait for that.
        let patience = if self.database.health().is_confirmed {
            MOMENT
        } else {
            PATIENCE
        };
        let listed = self.run_until(
            Instant::now() + patience,
            false,
            &async |client: &PgClient| {
                let sql = "SELECT name FROM twig.workspace ORDER BY name";
                let rows = client.query_typed(sql, &[]).await?;
                let names = rows
                    .iter()
                    .map(|row| pg_rows::name(Noun::Workspace, row, 0));
                names.collect()
            },
        );
        listed.map_err(|fault| describe_any(fault, false))
    }

    /// Whether there is a workspace with that name. Also true if the database cannot be asked:
    /// opening it reports the problem.
    pub fn exists(&self, name: &StoreName) -> bool {
        let found = self.run(false, &async |client: &PgClient| find(client, name).await);
        found.map_or(true, |found| found.is_some())
    }

    /// Creates an empty workspace.
    pub fn create(&self, name: &StoreName) -> Result<(), StoreError> {
        if self.run(true, &async |client: &PgClient| make(client, name).await)? {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "Workspace '{name}' already exists"
        )))
    }

    /// Deletes a workspace with everything in it.
    pub fn delete(&self, name: &StoreName) -> Result<(), StoreError> {
        let is_deleted = self.run(true, &async |client: &PgClient| {
            let Some(id) = find(client, name).await? else {
                return Ok(false);
            };
            schema::check_isolated(client).await?;
            client
                .batch_execute(&format!(
                    "{BEGIN}; SELECT pg_advisory_xact_lock({}); \
                     SELECT twig.delete_workspace('{id}'); COMMIT",
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
        let found = self.run_until(until, is_write, &async |client: &PgClient| {
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
            writer: LazyWriter::default(),
        })
    }

    /// Where the database is, without the password.
    pub fn address(&self) -> String {
        self.database.address()
    }

    /// What the database says about itself.
    pub fn facts(&self) -> Result<DatabaseFacts, StoreError> {
        let database = &self.database;
        self.run(false, &async |client: &PgClient| {
            pg_facts::read(database, client).await
        })
    }

    /// Asks the database whether it answers, for a moment at most.
    pub fn probe(&self) -> Result<(), StoreError> {
        let until = Instant::now() + MOMENT;
        self.run_until(until, false, &async |_: &PgClient| Ok(()))
            .map_err(|fault| describe_any(fault, false))
    }

    /// Whether the database answers, as the last calls have shown.
    pub fn health(&self) -> StoreHealth {
        self.database.health()
    }

    /// Creates the tables or brings them up to date, and gives roles their rights.
    pub fn migrate(&self, roles: StoreRoles<'_>) -> Result<Migrated, StoreError> {
        let until = Instant::now() + MIGRATION;
        let migrated = self.database.wait(until, async {
            let client = self.database.connect().await?;
            schema::migrate(&client, roles).await
        });
        migrated.map_err(|fault| describe_any(fault, true))
    }

    fn run<T>(
        &self,
        is_write: bool,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, StoreError> {
        self.run_until(Instant::now() + PATIENCE, is_write, call)
            .map_err(|fault| describe_any(fault, is_write))
    }

    fn run_until<T>(
        &self,
        until: Instant,
        is_write: bool,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.run(until, &async |client: &PgClient| {
            schema::check(client, is_write).await?;
            call(client).await
        })
    }

    fn missing(&self, name: &StoreName) -> StoreError {
        no_such_workspace(name, &self.list().unwrap_or_default())
    }
}

async fn find(client: &PgClient, name: &StoreName) -> Result<Option<Uuid>, PgFault> {
    let sql = "SELECT id FROM twig.workspace WHERE name = $1";
    let values: [PgValue<'_>; 1] = [(&name.as_str(), Type::TEXT)];
    let rows = client.query_typed(sql, &values).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Creates a workspace; `false` if it exists already.
async fn make(client: &PgClient, name: &StoreName) -> Result<bool, PgFault> {
    let sql = "INSERT INTO twig.workspace (id, name, created) VALUES ($1, $2, $3) \
        ON CONFLICT (name) DO NOTHING";
    let values: [PgValue<'_>; 3] = [
        (&new_id(), Type::UUID),
        (&name.as_str(), Type::TEXT),
        (&now().0, Type::INT8),
    ];
    client.batch_execute(BEGIN).await?;
    let made = client.execute_typed(sql, &values).await?;
    client.batch_execute("COMMIT").await?;
    Ok(made > 0)
}

/// The sentence for a fault that is about no single workspace.
pub(super) fn describe_any(fault: PgFault, is_write: bool) -> StoreError {
    let millis = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    match StoreName::parse(Noun::Workspace, DEFAULT_WORKSPACE) {
        Ok(name) => match fault.describe(&name, millis, is_write) {
            StoreError::Offline { reason, .. } => StoreError::NoDatabase { reason },
            error => error,
        },
        Err(error) => error,
    }
}
