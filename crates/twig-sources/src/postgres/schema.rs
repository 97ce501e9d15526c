//! The tables: creates and migrates them, and refuses those of other versions.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::pg_fault::{PgFault, no_tables};

/// The migrations; files are only ever added.
const MIGRATIONS: [&str; 1] = [include_str!("1.sql")];

/// The first version of the tables that this Twig reads and writes.
const OLDEST: i32 = 1;

/// The lock that only one migration holds.
const LOCK: i64 = 0x7477_6967_0001;

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 if there were no tables.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

fn newest() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Creates the tables or brings them up to date, in one transaction.
pub(super) async fn migrate(client: &Client) -> Result<Migrated, PgFault> {
    client
        .batch_execute(&format!(
            "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"
        ))
        .await?;
    let migrated = run(client).await;
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = client.batch_execute(end).await;
    let migrated = migrated?;
    ended?;
    Ok(migrated)
}

async fn run(client: &Client) -> Result<Migrated, PgFault> {
    let there = client
        .query_typed_one("SELECT to_regclass('twig.meta') IS NOT NULL", &[])
        .await?;
    let is_there: bool = there.try_get(0)?;
    let from = if is_there {
        versions(client).await?.0
    } else {
        0
    };
    if from > newest() {
        return Err(newer(from));
    }
    if !is_there {
        client
            .batch_execute("CREATE SCHEMA IF NOT EXISTS twig")
            .await?;
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        client.batch_execute(migration).await?;
    }
    if from < newest() {
        let now = newest();
        client
            .batch_execute(&format!(
                "INSERT INTO twig.meta (schema, min_reader, min_writer) \
                 VALUES ({now}, {OLDEST}, {OLDEST}) ON CONFLICT (only_row) \
                 DO UPDATE SET schema = {now}, min_reader = {OLDEST}, min_writer = {OLDEST}"
            ))
            .await?;
    }
    let number = |version: i32| u32::try_from(version).unwrap_or_default();
    Ok(Migrated {
        from: number(from),
        to: number(newest()),
    })
}

/// The version of the tables, and the versions of Twig's tables that may read and write.
async fn versions(client: &Client) -> Result<(i32, i32, i32), PgFault> {
    let sql = "SELECT schema, min_reader, min_writer FROM twig.meta";
    let rows = client.query_typed(sql, &[]).await.map_err(|error| {
        let missing = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        if missing.iter().any(|code| error.code() == Some(code)) {
            return PgFault::Schema(no_tables());
        }
        PgFault::from(error)
    })?;
    let row = rows.first().ok_or_else(|| PgFault::Schema(no_tables()))?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

/// Refuses tables that this Twig cannot use.
pub(super) async fn check(client: &Client, is_write: bool) -> Result<(), PgFault> {
    let (schema, min_reader, min_writer) = versions(client).await?;
    if schema < OLDEST {
        return Err(PgFault::Schema(format!(
            "The tables of the database are of version {schema}, and this Twig needs {OLDEST}: \
             bring them up to date with `twig store migrate`"
        )));
    }
    let needed = if is_write { min_writer } else { min_reader };
    if needed > newest() {
        return Err(newer(schema));
    }
    Ok(())
}

fn newer(schema: i32) -> PgFault {
    PgFault::Schema(format!(
        "The tables of the database were made by a newer Twig (version {schema}; this one knows \
         {}): update Twig",
        newest()
    ))
}
