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
    (SELECT schema::bigint FROM twig.meta)";

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
    let notifies = pg_hints::is_heard(database).await.unwrap_or(false);
    let server: &str = row.try_get(0)?;
    Ok(DatabaseFacts {
        // Packages add their own name behind it.
        server: server.split(' ').next().unwrap_or_default().to_owned(),
        tables: u32::try_from(number(&row, 7)?).unwrap_or_default(),
        newest_tables: schema::newest_version(),
        is_standby: row.try_get(6)?,
        synchronous_standby_names: row.try_get(1)?,
        synchronous_commit: row.try_get(2)?,
        fsync: row.try_get(3)?,
        full_page_writes: row.try_get(4)?,
        data_checksums: row.try_get(5)?,
        notifies,
    })
}
