//! What a database says about itself.

use super::database::PgDatabase;
use super::isolation::BEGIN;
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_hints;
use super::pg_rows::number;
use super::schema;
use crate::database_facts::DatabaseFacts;

/// As a write sees it: `synchronous_commit` is that of a transaction of ours.
const SETTINGS: &str = "SELECT current_setting('server_version'), \
    current_setting('synchronous_standby_names'), current_setting('synchronous_commit'), \
    current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', \
    current_setting('data_checksums') = 'on', pg_is_in_recovery(), \
    (SELECT schema::bigint FROM twig.meta), \
    current_setting('transaction_read_only') = 'on', \
    (SELECT CASE WHEN bool_or(sync_state IS NULL) THEN NULL \
      ELSE count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END FROM pg_stat_replication)";

/// Asks a database about itself.
pub(super) async fn read(
    database: &PgDatabase,
    client: &PgClient,
) -> Result<DatabaseFacts, PgFault> {
    schema::check(client, false).await?;
    client.batch_execute(BEGIN).await?;
    let row = client.query_typed_one(SETTINGS, &[]).await;
    client.batch_execute("ROLLBACK").await?;
    let row = row?;
    // A database that can be read and not be listened to delivers nothing.
    let (notifies, unheard) = match pg_hints::is_heard(database).await {
        Ok(notifies) => (notifies, None),
        Err(fault) => (false, Some(fault.reason())),
    };
    let is_standby = row.try_get(6)?;
    let connected: Option<i64> = row.try_get(9)?;
    let server: &str = row.try_get(0)?;
    Ok(DatabaseFacts {
        // Packages add their own name behind it.
        server: server.split(' ').next().unwrap_or_default().to_owned(),
        tables: u32::try_from(number(&row, 7)?).unwrap_or_default(),
        newest_tables: schema::newest_version(),
        is_standby,
        is_read_only: !is_standby && row.try_get(8)?,
        connected_standbys: connected.and_then(|count| u64::try_from(count).ok()),
        synchronous_standby_names: row.try_get(1)?,
        synchronous_commit: row.try_get(2)?,
        fsync: row.try_get(3)?,
        full_page_writes: row.try_get(4)?,
        data_checksums: row.try_get(5)?,
        notifies,
        listens_elsewhere: database.listens_elsewhere(),
        unheard,
    })
}
