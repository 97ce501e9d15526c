//! The statements for what servers share besides workspaces: keys and roles, and ended sessions.
//!
//! Keys and roles are one value with a revision, in the form of the file that a server without a
//! database has, and are changed under a lock on its row. Its digest is compared with every read.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use twig_core::access::{AccessError, AccessRecord};
use twig_core::store::StoreError;
use uuid::Uuid;

use super::database::PgDatabase;
use super::isolation::BEGIN;
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_workspaces::{PATIENCE, describe_any};
use super::{PgValue, PgWorkspaces, schema};
use crate::access_file::{from_bytes, to_bytes};
use crate::shared_sessions::SessionDigest;

/// How long an ended session is remembered, in milliseconds: as long as its id is valid, and an hour
/// more, since clocks differ.
const REMEMBERED: i64 = 25 * 60 * 60 * 1_000;

/// The most ended sessions that are remembered; the oldest are forgotten first.
const MOST: i64 = 100_000;

/// Notifications about keys and sessions bear the id of no workspace.
pub(super) const NO_WORKSPACE: Uuid = Uuid::nil();

/// The keys, roles and sessions in a database.
#[derive(Debug, Clone)]
pub(crate) struct PgAccess {
    pub(super) database: Arc<PgDatabase>,
}

/// The keys and roles in a database.
#[derive(Debug)]
pub(crate) enum PgAccessState {
    /// The tables are older than them.
    Absent,
    /// The row is gone.
    Lost,
    /// The table is gone.
    NoTable,
    There(AccessRecord),
}

/// Tells whether something was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PgAccessStamp {
    /// The revision and the digest; `None` if there is no row.
    access: Option<(i64, Option<Vec<u8>>)>,
    /// How many sessions were ended.
    pub(super) ended: i64,
}

impl PgAccess {
    pub(crate) fn new(workspaces: &PgWorkspaces) -> Self {
        Self {
            database: Arc::clone(&workspaces.database),
        }
    }

    /// Reads keys and roles.
    pub(crate) fn read(&self) -> Result<PgAccessState, StoreError> {
        self.run(false, async |client| read(client).await)
    }

    /// Changes keys and roles, while nobody else does. `None` if their row is gone.
    pub(crate) fn change<R>(
        &self,
        change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
    ) -> Result<Option<Result<R, AccessError>>, StoreError> {
        self.run(true, async |client| {
            schema::check_access(client).await?;
            change_row(client, change).await
        })
    }

    /// The key that seals the ids of sessions: the first one that a server offered. `None` if the
    /// tables are older than it.
    pub(crate) fn session_key(&self, offered: [u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
        self.run(false, async |client| {
            if schema::is_without_access(client).await? {
                return Ok(None);
            }
            if let Some(key) = session_key(client).await? {
                return Ok(Some(key));
            }
            let add = "INSERT INTO twig.session (key) VALUES ($1) ON CONFLICT DO NOTHING";
            let values: [PgValue<'_>; 1] = [(&offered.as_slice(), Type::BYTEA)];
            client.execute_typed(add, &values).await?;
            session_key(client).await
        })
    }

    fn run<T>(
        &self,
        is_write: bool,
        call: impl AsyncFnOnce(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, StoreError> {
        let done = self.database.wait(Instant::now() + PATIENCE, async {
            let client = self.database.connect().await?;
            schema::check(&client, is_write).await?;
            call(&client).await
        });
        done.map_err(|fault| describe_any(fault, is_write))
    }
}

async fn session_key(client: &PgClient) -> Result<Option<[u8; 32]>, PgFault> {
    let rows = client
        .query_typed("SELECT key FROM twig.session", &[])
        .await?;
    let key = rows.first().map(|row| {
        let key: &[u8] = row.try_get(0)?;
        let damaged = |_| PgFault::Damaged("the key of sessions".to_owned());
        key.try_into().map_err(damaged)
    });
    key.transpose()
}

/// Reads keys and roles.
pub(super) async fn read(client: &PgClient) -> Result<PgAccessState, PgFault> {
    let rows = client.query_typed("SELECT record, digest FROM twig.access", &[]);
    let rows = match rows.await {
        Err(error) if is_no_table(&error) => return without_table(client).await,
        rows => rows?,
    };
    rows.first().map_or(Ok(PgAccessState::Lost), |row| {
        Ok(PgAccessState::There(record(row)?))
    })
}

/// What a missing table means.
async fn without_table(client: &PgClient) -> Result<PgAccessState, PgFault> {
    Ok(if schema::is_without_access(client).await? {
        PgAccessState::Absent
    } else {
        PgAccessState::NoTable
    })
}

fn is_no_table(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNDEFINED_TABLE)
}

/// The record in the first two columns, if it is as it was written.
fn record(row: &Row) -> Result<AccessRecord, PgFault> {
    let (record, digest): (Option<&str>, Option<&[u8]>) = (row.try_get(0)?, row.try_get(1)?);
    let Some(record) = record else {
        return Ok(AccessRecord::default());
    };
    let refused = |why: &dyn std::fmt::Display| {
        PgFault::Refused(StoreError::Unavailable(format!(
            "The keys and roles in table twig.access of the database cannot be used: {why}"
        )))
    };
    if digest != Some(&*Sha256::digest(record)) {
        return Err(refused(
            &"they are not as they were written; restore the table from a backup",
        ));
    }
    from_bytes(record.as_bytes()).map_err(|error| refused(&error))
}

async fn change_row<R>(
    client: &PgClient,
    change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
) -> Result<Option<Result<R, AccessError>>, PgFault> {
    client.batch_execute(BEGIN).await?;
    // The end of the connection ends the transaction, too, wherever this function returns.
    let sql = "SELECT record, digest FROM twig.access FOR UPDATE";
    let rows = client.query_typed(sql, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let before = record(row)?;
    let mut after = before.clone();
    let result = match change(&mut after) {
        Ok(result) => result,
        Err(refused) => return Ok(Some(Err(refused))),
    };
    if after == before {
        return Ok(Some(Ok(result)));
    }
    let refused = |error: &dyn std::fmt::Display| {
        PgFault::Refused(StoreError::Unavailable(format!(
            "The keys and roles cannot be written: {error}"
        )))
    };
    let bytes = to_bytes(&after).map_err(|error| refused(&error))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| refused(&error))?;
    let digest = Sha256::digest(text);
    let sql = "UPDATE twig.access SET rev = rev + 1, record = $1, digest = $2";
    let values: [PgValue<'_>; 2] = [(&text, Type::TEXT), (&digest.as_slice(), Type::BYTEA)];
    client.execute_typed(sql, &values).await?;
    if let Err(error) = client.batch_execute("COMMIT").await {
        return Err(PgFault::Refused(StoreError::Unavailable(format!(
            "The database did not answer whether the keys and roles were changed ({}): look with \
             `twig key list`",
            PgFault::from(error).reason()
        ))));
    }
    // Servers that are not notified look by themselves.
    let _ = notify(client).await;
    Ok(Some(Ok(result)))
}

/// Has servers look at keys and sessions at once.
async fn notify(client: &PgClient) -> Result<(), PgFault> {
    let own = NO_WORKSPACE.to_string();
    let values: [PgValue<'_>; 1] = [(&own, Type::TEXT)];
    client
        .query_typed("SELECT pg_notify('twig', $1)", &values)
        .await?;
    Ok(())
}

/// Tells whether something was changed. `None` if the tables are older than keys and sessions.
pub(super) async fn stamp(client: &PgClient) -> Result<Option<PgAccessStamp>, PgFault> {
    let sql = "SELECT a.rev, a.digest, coalesce(s.ended, 0) FROM (SELECT 1) one \
        LEFT JOIN twig.access a ON true LEFT JOIN twig.session s ON true";
    let row = match client.query_typed_one(sql, &[]).await {
        Err(error) if is_no_table(&error) => {
            return match without_table(client).await? {
                PgAccessState::Absent => Ok(None),
                _ => Ok(Some(PgAccessStamp {
                    access: None,
                    ended: 0,
                })),
            };
        }
        row => row?,
    };
    let rev: Option<i64> = row.try_get(0)?;
    let digest: Option<Vec<u8>> = row.try_get(1)?;
    Ok(Some(PgAccessStamp {
        access: rev.map(|rev| (rev, digest)),
        ended: row.try_get(2)?,
    }))
}

impl PgAccessStamp {
    /// The number of the last change of keys and roles; `None` if their row is gone.
    pub(super) fn revision(&self) -> Option<i64> {
        self.access.as_ref().map(|(revision, _)| *revision)
    }

    /// Whether keys and roles are the same.
    pub(super) fn has_same_access(&self, other: &Self) -> bool {
        self.access == other.access
    }
}

/// The sessions that were ended after that many, and how many there are now.
pub(super) async fn ended_after(
    client: &PgClient,
    known: i64,
) -> Result<(Vec<SessionDigest>, i64), PgFault> {
    let sql = "SELECT number, digest FROM twig.ended_session WHERE number > $1 \
        AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
        ORDER BY number DESC LIMIT $2";
    let values: [PgValue<'_>; 2] = [(&known, Type::INT8), (&MOST, Type::INT8)];
    let rows = client.query_typed(sql, &values).await?;
    let last = rows.first().map_or(Ok(known), |row| row.try_get(0))?;
    let digests = rows.iter().map(|row| {
        let digest: &[u8] = row.try_get(1)?;
        let damaged = |_| PgFault::Damaged("an ended session".to_owned());
        digest.try_into().map_err(damaged)
    });
    Ok((digests.collect::<Result<_, PgFault>>()?, last))
}

/// Writes ended sessions, and forgets the oldest. The counter's row is locked, so who sees a number
/// sees all smaller ones.
pub(super) async fn end_sessions(
    client: &PgClient,
    sessions: &[SessionDigest],
) -> Result<(), PgFault> {
    let digests: Vec<&[u8]> = sessions.iter().map(<[u8; 32]>::as_slice).collect();
    let count = i64::try_from(sessions.len()).unwrap_or(i64::MAX);
    let add = "WITH counted AS \
         (UPDATE twig.session SET ended = ended + $2 RETURNING ended - $2 AS before) \
        INSERT INTO twig.ended_session (number, digest, until) \
        SELECT counted.before + added.place, added.digest, \
         (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3 \
        FROM counted, unnest($1) WITH ORDINALITY AS added (digest, place)";
    let values: [PgValue<'_>; 3] = [
        (&digests, Type::BYTEA_ARRAY),
        (&count, Type::INT8),
        (&REMEMBERED, Type::INT8),
    ];
    client.execute_typed(add, &values).await?;
    // A failure of these two loses nothing.
    let forget = "DELETE FROM twig.ended_session \
        WHERE until < (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
        OR number <= (SELECT ended - $1 FROM twig.session)";
    let values: [PgValue<'_>; 1] = [(&MOST, Type::INT8)];
    let forgotten = client.execute_typed(forget, &values).await;
    if let Err(error) = forgotten {
        tracing::debug!("old sessions are kept: {}", PgFault::from(error).reason());
    }
    let _ = notify(client).await;
    Ok(())
}
