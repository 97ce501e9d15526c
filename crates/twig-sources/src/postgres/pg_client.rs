//! A connection, and the statements that are prepared on it.
//!
//! Planning one of these statements takes the database several times as long as running it. What was
//! run once on a connection is prepared before its next transaction, and from then on planned no more.
//! Behind a pooler, the next transaction may get another connection of the database, which has
//! prepared nothing: so this is done only where notifications arrive, which no such pooler delivers.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::PgValue;
use super::pg_fault::PgFault;

/// Each prepared statement is planned once, maybe while tables are empty, so its plan has to be good
/// for tables of any size: it uses indexes. Joins are `LATERAL` with `OFFSET 0` for the same reason,
/// which is one lookup for each row. The planner would compile what it now believes to be expensive.
const PLANNING: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET jit = off";

/// The connection.
#[derive(Debug)]
pub(super) struct PgClient {
    client: Client,
    /// Whether statements can be prepared, as is known by now.
    prepares: Arc<AtomicBool>,
    statements: Mutex<PgStatements>,
}

#[derive(Debug, Default)]
struct PgStatements {
    prepared: HashMap<&'static str, Statement>,
    /// Run, and not yet prepared.
    wanted: HashMap<&'static str, Vec<Type>>,
}

impl Deref for PgClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl PgClient {
    pub(super) fn new(client: Client, prepares: Arc<AtomicBool>) -> Self {
        Self {
            client,
            prepares,
            statements: Mutex::default(),
        }
    }

    /// Prepares what was run since the last call. Called between two transactions.
    pub(super) async fn prepare(&self) -> Result<(), PgFault> {
        if !self.prepares.load(Ordering::Acquire) {
            return Ok(());
        }
        let (wanted, is_first) = {
            let mut statements = self.statements();
            let wanted = std::mem::take(&mut statements.wanted);
            (wanted, statements.prepared.is_empty())
        };
        if wanted.is_empty() {
            return Ok(());
        }
        if is_first {
            self.client.batch_execute(PLANNING).await?;
        }
        let preparing = wanted.into_iter().map(async |(sql, types)| {
            let prepared = self.client.prepare_typed(sql, &types).await?;
            Ok::<_, Error>((sql, prepared))
        });
        for prepared in join_all(preparing).await {
            self.statements().prepared.extend([prepared?]);
        }
        Ok(())
    }

    /// For statements that are run rarely.
    pub(super) fn unprepared(&self) -> &Client {
        &self.client
    }

    /// The rows of a statement. Boxed, because a transaction awaits a dozen of them together.
    pub(super) async fn query_typed(
        &self,
        sql: &'static str,
        values: &[PgValue<'_>],
    ) -> Result<Vec<Row>, Error> {
        match self.prepared(sql, values) {
            Some(statement) => Box::pin(self.client.query(&statement, &bare(values))).await,
            None => Box::pin(self.client.query_typed(sql, values)).await,
        }
    }

    /// How many rows a statement wrote.
    pub(super) async fn execute_typed(
        &self,
        sql: &'static str,
        values: &[PgValue<'_>],
    ) -> Result<u64, Error> {
        match self.prepared(sql, values) {
            Some(statement) => Box::pin(self.client.execute(&statement, &bare(values))).await,
            None => Box::pin(self.client.execute_typed(sql, values)).await,
        }
    }

    fn prepared(&self, sql: &'static str, values: &[PgValue<'_>]) -> Option<Statement> {
        let mut statements = self.statements();
        let found = statements.prepared.get(sql).cloned();
        if found.is_none() {
            let types = values.iter().map(|(_, kind)| kind.clone());
            statements.wanted.insert(sql, types.collect());
        }
        found
    }

    fn statements(&self) -> MutexGuard<'_, PgStatements> {
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn bare<'v>(values: &[PgValue<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|(value, _)| *value).collect()
}
