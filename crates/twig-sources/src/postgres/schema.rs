//! The tables: creates and migrates them, and refuses those of other versions.

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use super::isolation::grant;
use super::pg_client::PgClient;
use super::pg_fault::{PgFault, altered_tables, no_tables};
use crate::store_roles::StoreRoles;

/// The migrations; files are only ever added.
const MIGRATIONS: &[&str] = &[
    include_str!("1.sql"),
    include_str!("2.sql"),
    include_str!("3.sql"),
    include_str!("4.sql"),
];

/// The first version of the tables that this Twig reads and writes.
const OLDEST: i32 = 1;

/// The first version whose rows are shown only to a transaction that names its workspace: a Twig that
/// does not know it would find all workspaces empty.
const ISOLATED: i32 = 2;

/// The first version with keys, roles and sessions. An older Twig keeps its own in files.
pub(super) const WITH_ACCESS: i32 = 3;

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

/// The version of the tables that this Twig makes.
pub(super) fn newest_version() -> u32 {
    u32::try_from(newest()).unwrap_or_default()
}

/// Creates the tables or brings them up to date, in one transaction.
pub(super) async fn migrate(client: &PgClient, roles: StoreRoles<'_>) -> Result<Migrated, PgFault> {
    client
        .batch_execute(&format!(
            "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"
        ))
        .await?;
    let migrated = match run(client).await {
        Ok(migrated) => grant(client, roles).await.map(|()| migrated),
        Err(fault) => Err(fault),
    };
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

async fn run(client: &PgClient) -> Result<Migrated, PgFault> {
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
                 VALUES ({now}, {ISOLATED}, {ISOLATED}) ON CONFLICT (only_row) \
                 DO UPDATE SET schema = {now}, min_reader = GREATEST(meta.min_reader, {ISOLATED}), \
                 min_writer = GREATEST(meta.min_writer, {ISOLATED})"
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
async fn versions(client: &PgClient) -> Result<(i32, i32, i32), PgFault> {
    let sql = "SELECT schema, min_reader, min_writer FROM twig.meta";
    let rows = client.query_typed(sql, &[]).await.map_err(|error| {
        let missing = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        if missing.iter().any(|code| error.code() == Some(code)) {
            return PgFault::Schema(no_tables());
        }
        PgFault::from(error)
    })?;
    let row = rows.first();
    let row = row.ok_or_else(|| altered_tables("table `twig.meta` has no row"))?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

/// Refuses tables that this Twig cannot use.
pub(super) async fn check(client: &PgClient, is_write: bool) -> Result<(), PgFault> {
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

/// Refuses tables that have become too new for this Twig since it connected: a row with their version,
/// and from which one on a Twig may use them so.
pub(super) fn check_row(row: &Row, at: usize) -> Result<(), PgFault> {
    let versions: (Option<i32>, Option<i32>) = (row.try_get(at)?, row.try_get(at + 1)?);
    match versions {
        (Some(schema), Some(needed)) if needed > newest() => Err(newer(schema)),
        (Some(_), Some(_)) => Ok(()),
        _ => Err(altered_tables("table `twig.meta` has no row")),
    }
}

fn newer(schema: i32) -> PgFault {
    PgFault::Schema(format!(
        "The tables of the database were made by a newer Twig (version {schema}; this one knows \
         {}): update Twig",
        newest()
    ))
}

/// Refuses what only up-to-date tables can do.
pub(super) async fn check_isolated(client: &PgClient) -> Result<(), PgFault> {
    check_version(client, "this needs", ISOLATED).await
}

/// Refuses tables without keys and roles.
pub(super) async fn check_access(client: &PgClient) -> Result<(), PgFault> {
    check_version(client, "keys and roles need", WITH_ACCESS).await
}

async fn check_version(client: &PgClient, what: &str, needed: i32) -> Result<(), PgFault> {
    let (schema, ..) = versions(client).await?;
    if schema >= needed {
        return Ok(());
    }
    Err(PgFault::Schema(format!(
        "The tables of the database are of version {schema}, and {what} {needed}: bring them up to \
         date with `twig store migrate`"
    )))
}

/// Whether the tables are of a version without keys and roles.
pub(super) async fn is_without_access(client: &PgClient) -> Result<bool, PgFault> {
    Ok(versions(client).await?.0 < WITH_ACCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_keeps_workspaces_apart_is_the_one_that_does() {
        let before = usize::try_from(ISOLATED).unwrap() - 1;
        assert!(MIGRATIONS[before].contains("FORCE ROW LEVEL SECURITY"));
    }

    #[test]
    fn the_version_with_keys_is_the_one_that_makes_their_table() {
        let before = usize::try_from(WITH_ACCESS).unwrap() - 1;
        assert!(MIGRATIONS[before].contains("CREATE TABLE twig.access"));
    }
}
