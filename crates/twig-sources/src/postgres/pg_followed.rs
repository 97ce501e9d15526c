//! Agrees on the commits of followed packages, with one row for each.
//!
//! Every step is one short transaction, so a pooler can be in front, and no lock outlives it: a replica
//! that asks a source has a lease with an end, and its outcome is only written while that lasts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use twig_core::store::StoreError;
use twig_packages::{LockedLibrary, TreeDigest};

use super::database::PgLine;
use super::isolation::BEGIN;
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_workspaces::describe_any;
use super::{PgValue, PgWorkspaces, pg_rows, schema};
use crate::packages::{
    AgreedState, CommitAgreement, FollowProblem, LookOutcome, WantedPackage, agreement_key,
};
use crate::store::clock::new_id;

/// How long a call waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The database's clock, in milliseconds: those of replicas may differ.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// How long a lease lasts, in milliseconds.
const LEASE: i64 = 30_000;

/// The rows of followed packages, for one replica.
pub(crate) struct PgAgreement {
    line: Mutex<PgLine>,
    /// This replica.
    id: String,
}

impl PgAgreement {
    pub(crate) fn new(workspaces: &PgWorkspaces) -> Self {
        Self {
            line: Mutex::new(PgLine::new(workspaces.database())),
            id: new_id().to_string(),
        }
    }

    fn run<T>(
        &self,
        is_write: bool,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, StoreError> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = line.run(Instant::now() + PATIENCE, &async |client: &PgClient| {
            schema::check(client, is_write).await?;
            call(client).await.map_err(|fault| {
                match fault {
                PgFault::Sql(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
                    PgFault::Schema(
                        "The tables of the database have none for followed packages: bring them up \
                         to date with `twig store migrate`"
                            .to_owned(),
                    )
                }
                fault => fault,
            }
            })
        });
        outcome.map_err(|fault| describe_any(fault, is_write))
    }

    /// Runs one statement in a transaction; returns whether a row was changed.
    fn change(&self, sql: &str, values: &[PgValue<'_>]) -> Result<bool, StoreError> {
        self.run(true, &async |client: &PgClient| {
            client.batch_execute(BEGIN).await?;
            let changed = client.unprepared().execute_typed(sql, values).await?;
            client.batch_execute("COMMIT").await?;
            Ok(changed > 0)
        })
    }
}

impl CommitAgreement for PgAgreement {
    fn read(&self, wanted: &[WantedPackage]) -> Result<Vec<AgreedState>, StoreError> {
        let keys: Vec<String> = wanted.iter().map(agreement_key).collect();
        let sql = format!(
            "SELECT key, reference, commit, tree, files, license, signed_by, refused_commit, \
             refused_message, refused_help, looked_at, {NOW} - looked_at, hints, seen_hints \
             FROM twig.followed_library WHERE key = ANY($1)"
        );
        let rows = self.run(false, &async |client: &PgClient| {
            let values: [PgValue<'_>; 1] = [(&keys, Type::TEXT_ARRAY)];
            Ok(client.unprepared().query_typed(&sql, &values).await?)
        })?;
        let mut found: BTreeMap<String, &Row> = BTreeMap::new();
        for row in &rows {
            found.insert(row.try_get(0).map_err(damaged)?, row);
        }
        let states = keys
            .iter()
            .zip(wanted)
            .map(|(key, wanted)| match found.get(key) {
                Some(row) => state(wanted, row).map_err(|fault| describe_any(fault, false)),
                None => Ok(AgreedState {
                    age: i64::MAX,
                    ..AgreedState::default()
                }),
            });
        states.collect()
    }

    fn lease(&self, wanted: &WantedPackage, read: &AgreedState) -> Result<bool, StoreError> {
        let sql = format!(
            "INSERT INTO twig.followed_library (key, source, lease_by, lease_until) \
             VALUES ($1, $2, $3, {NOW} + {LEASE}) ON CONFLICT (key) DO UPDATE \
             SET lease_by = $3, lease_until = {NOW} + {LEASE}, seen_hints = followed_library.hints \
             WHERE followed_library.lease_until < {NOW} AND followed_library.looked_at = $4 \
             AND followed_library.seen_hints = $5"
        );
        let (key, source) = (agreement_key(wanted), wanted.source.to_string());
        let values: [PgValue<'_>; 5] = [
            (&key, Type::TEXT),
            (&source, Type::TEXT),
            (&self.id, Type::TEXT),
            (&read.looked_at, Type::INT8),
            (&read.seen_hints, Type::INT8),
        ];
        self.change(&sql, &values)
    }

    fn renew(&self, wanted: &WantedPackage) -> Result<bool, StoreError> {
        let sql = format!(
            "UPDATE twig.followed_library SET lease_until = {NOW} + {LEASE} \
             WHERE key = $1 AND lease_by = $2 AND lease_until >= {NOW}"
        );
        let key = agreement_key(wanted);
        self.change(&sql, &[(&key, Type::TEXT), (&self.id, Type::TEXT)])
    }

    fn finish(&self, wanted: &WantedPackage, outcome: &LookOutcome) -> Result<bool, StoreError> {
        const REFUSAL: &str = "refused_commit = $3, refused_message = $4, refused_help = $5";
        const NO_REFUSAL: &str =
            "refused_commit = NULL, refused_message = NULL, refused_help = NULL";
        let key = agreement_key(wanted);
        let mut values: Vec<PgValue<'_>> = vec![(&key, Type::TEXT), (&self.id, Type::TEXT)];
        let (tree, files);
        let set = match outcome {
            LookOutcome::Same => format!("looked_at = {NOW}, {NO_REFUSAL}"),
            LookOutcome::Taken(locked) => {
                (tree, files) = (locked.tree.to_string(), pg_rows::signed(locked.files));
                values.extend([
                    (&locked.reference as _, Type::TEXT),
                    (&locked.commit as _, Type::TEXT),
                    (&tree as _, Type::TEXT),
                    (&files as _, Type::INT8),
                    (&locked.license as _, Type::TEXT),
                    (&locked.signed_by as _, Type::TEXT),
                ]);
                format!(
                    "reference = $3, commit = $4, tree = $5, files = $6, license = $7, \
                     signed_by = $8, taken_at = {NOW}, taken_by = $2, looked_at = {NOW}, {NO_REFUSAL}"
                )
            }
            LookOutcome::Refused { commit, problem } => {
                values.extend([
                    (commit as _, Type::TEXT),
                    (&problem.message as _, Type::TEXT),
                    (&problem.help as _, Type::TEXT),
                ]);
                format!("looked_at = {NOW}, {REFUSAL}")
            }
            // Another replica may ask at once, also because of the same hint.
            LookOutcome::Failed => "seen_hints = -1".to_owned(),
        };
        let sql = format!(
            "UPDATE twig.followed_library SET {set}, lease_by = NULL, lease_until = 0 \
             WHERE key = $1 AND lease_by = $2 AND lease_until >= {NOW}"
        );
        self.change(&sql, &values)
    }

    fn hint(&self, wanted: &[WantedPackage]) -> Result<(), StoreError> {
        let keys: Vec<String> = wanted.iter().map(agreement_key).collect();
        let sql = "UPDATE twig.followed_library SET hints = hints + 1 WHERE key = ANY($1)";
        self.change(sql, &[(&keys, Type::TEXT_ARRAY)]).map(drop)
    }
}

/// What a row says.
fn state(wanted: &WantedPackage, row: &Row) -> Result<AgreedState, PgFault> {
    let tree: Option<String> = row.try_get(3)?;
    let commit: Option<String> = row.try_get(2)?;
    let locked = match commit.zip(tree) {
        None => None,
        Some((commit, tree)) => Some(LockedLibrary {
            name: wanted.name.clone(),
            source: wanted.source.clone(),
            reference: row.try_get(1)?,
            path: wanted.path.clone(),
            commit: Some(commit),
            tree: TreeDigest::parse(&tree)
                .ok_or_else(|| PgFault::Damaged(format!("`{tree}` is no digest of a package")))?,
            files: pg_rows::number(row, 4)?,
            license: row.try_get(5)?,
            signed_by: row.try_get(6)?,
        }),
    };
    let refused: Option<String> = row.try_get(7)?;
    let (message, help): (Option<String>, Option<String>) = (row.try_get(8)?, row.try_get(9)?);
    let refused = refused.map(|commit| {
        let problem = FollowProblem {
            is_refused: true,
            message: message.unwrap_or_default(),
            help: help.unwrap_or_default(),
        };
        (commit, problem)
    });
    Ok(AgreedState {
        locked,
        refused,
        looked_at: row.try_get(10)?,
        age: row.try_get(11)?,
        hints: row.try_get(12)?,
        seen_hints: row.try_get(13)?,
    })
}

fn damaged(error: tokio_postgres::Error) -> StoreError {
    describe_any(PgFault::from(error), false)
}
