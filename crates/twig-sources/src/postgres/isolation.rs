//! What a transaction begins with: the one workspace whose rows it sees (row-level security), and its
//! time limits. Also the rights of roles.
//!
//! Every setting is one of the transaction: behind a pooler, a setting of the connection is lost, or
//! reaches another client.

use futures_util::FutureExt as _;
use tokio::join;
use tokio_postgres::types::Type;
use twig_core::store::StoreError;
use uuid::Uuid;

use super::PgValue;
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use crate::store_roles::StoreRoles;

/// What servers may do. Tables that are not here: everything that does not change the table itself.
const RIGHTS: [(&str, &str); 13] = [
    ("meta", "SELECT"),
    ("workspace", "SELECT, INSERT"),
    ("project", "SELECT, INSERT, UPDATE, DELETE"),
    ("item", "SELECT, INSERT, UPDATE, DELETE"),
    ("content", "SELECT, INSERT, DELETE"),
    ("version", "SELECT, INSERT, DELETE"),
    ("change", "SELECT, INSERT"),
    ("label", "SELECT, INSERT, UPDATE, DELETE"),
    ("protected_label", "SELECT, INSERT, DELETE"),
    ("access", "SELECT, UPDATE"),
    ("session", "SELECT, INSERT, UPDATE (ended)"),
    ("ended_session", "SELECT, INSERT, DELETE"),
    ("followed_library", "SELECT, INSERT, UPDATE"),
];

/// Time limits, and a commit that is durable unless the server is set to more than that.
macro_rules! settings {
    () => {
        "set_config('statement_timeout', '10s', true), \
         set_config('idle_in_transaction_session_timeout', '10s', true), \
         set_config('synchronous_commit', CASE \
          WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on' \
          ELSE current_setting('synchronous_commit') END, true)"
    };
}

/// Begins a transaction that is about no single workspace.
pub(super) const BEGIN: &str = concat!("BEGIN; SELECT ", settings!());

/// The statement that shows a workspace's rows to the current transaction, and limits it.
pub(super) fn show(workspace: Uuid) -> String {
    let settings = settings!();
    format!("SELECT set_config('twig.workspace', '{workspace}', true), {settings}")
}

/// Begins a transaction that reads a workspace as of one moment.
pub(super) async fn begin_snapshot(client: &PgClient, workspace: Uuid) -> Result<(), PgFault> {
    const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let (begun, shown) = join!(
        biased;
        client.batch_execute(SNAPSHOT),
        show_to(client, workspace),
    );
    begun?;
    shown
}

/// The same as [`show`], for transactions that begin often.
pub(super) async fn show_to(client: &PgClient, workspace: Uuid) -> Result<(), PgFault> {
    const SHOW: &str = concat!(
        "SELECT set_config('twig.workspace', $1, true), ",
        settings!()
    );
    let id = workspace.to_string();
    let values: [PgValue<'_>; 1] = [(&id, Type::TEXT)];
    client.query_typed(SHOW, &values).await?;
    Ok(())
}

/// Runs statements in a read-only transaction that sees one workspace. Its beginning is sent together
/// with the first statement, and its end is not awaited: neither costs a round trip.
pub(super) async fn read_in<T>(
    client: &PgClient,
    workspace: Uuid,
    call: impl Future<Output = Result<T, PgFault>>,
) -> Result<T, PgFault> {
    let (begun, outcome) = join!(biased; begin_snapshot(client, workspace), call);
    begun?;
    // The first poll sends it.
    let _ = client.batch_execute("COMMIT").now_or_never();
    outcome
}

/// Gives both roles exactly the rights that they need.
pub(super) async fn grant(client: &PgClient, roles: StoreRoles<'_>) -> Result<(), PgFault> {
    if let Some(app) = roles.app {
        let (is_above, _) = attributes(client, app).await?;
        if is_above {
            return Err(refused(format!(
                "Role '{app}' sees the rows of all workspaces, because it is a superuser, has \
                 BYPASSRLS or owns the tables: name another one"
            )));
        }
        let role = quoted(app);
        let tables = client
            .query_typed(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'twig' ORDER BY 1",
                &[],
            )
            .await?;
        let mut grants = vec![
            format!("GRANT USAGE ON SCHEMA twig TO {role}"),
            format!("GRANT EXECUTE ON FUNCTION twig.delete_workspace(uuid) TO {role}"),
        ];
        for row in &tables {
            let table: &str = row.try_get(0)?;
            let known = RIGHTS.iter().find(|(name, _)| *name == table);
            let rights = known.map_or("SELECT, INSERT, UPDATE, DELETE", |(_, rights)| rights);
            let table = quoted(table);
            grants.push(format!("REVOKE ALL ON twig.{table} FROM {role}"));
            grants.push(format!("GRANT {rights} ON twig.{table} TO {role}"));
        }
        client.batch_execute(&grants.join("; ")).await?;
    }
    if let Some(backup) = roles.backup {
        let (_, is_all_seeing) = attributes(client, backup).await?;
        if !is_all_seeing {
            return Err(refused(format!(
                "Role '{backup}' would dump no rows: let a superuser run \
                 `ALTER ROLE {} BYPASSRLS`",
                quoted(backup)
            )));
        }
        let role = quoted(backup);
        client
            .batch_execute(&format!(
                "GRANT USAGE ON SCHEMA twig TO {role}; \
                 GRANT SELECT ON ALL TABLES IN SCHEMA twig TO {role}"
            ))
            .await?;
    }
    Ok(())
}

/// Whether a role is above the rights of servers, and whether it sees all rows.
async fn attributes(client: &PgClient, role: &str) -> Result<(bool, bool), PgFault> {
    let sql = "SELECT r.rolsuper OR r.rolbypassrls \
         OR EXISTS (SELECT 1 FROM pg_tables t WHERE t.schemaname = 'twig' \
          AND pg_has_role(r.oid, t.tableowner::regrole, 'MEMBER')), \
        r.rolsuper OR r.rolbypassrls FROM pg_roles r WHERE r.rolname = $1";
    let values: [PgValue<'_>; 1] = [(&role, Type::TEXT)];
    let rows = client.query_typed(sql, &values).await?;
    let row = rows.first().ok_or_else(|| {
        refused(format!(
            "Role '{role}' does not exist: create it with `CREATE ROLE {} LOGIN PASSWORD '…'`",
            quoted(role)
        ))
    })?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn refused(sentence: String) -> PgFault {
    PgFault::Refused(StoreError::Unavailable(sentence))
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
