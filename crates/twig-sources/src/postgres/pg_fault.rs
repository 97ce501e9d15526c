//! Why PostgreSQL did not do something, and the sentence for it.

use std::error::Error as _;

use tokio_postgres::error::SqlState;
use twig_core::store::{StoreError, StoreName};

/// Why a call to the database failed.
#[derive(Debug)]
pub(super) enum PgFault {
    /// No answer in time.
    Late,
    /// The database, or the connection to it, failed.
    Sql(tokio_postgres::Error),
    /// The database is known to be away: why.
    Away(String),
    /// A row differs from what was written.
    Damaged(String),
    /// The tables are missing, too old or too new: a whole sentence.
    Schema(String),
    /// The caller asked for something that is not possible.
    Refused(StoreError),
}

impl From<StoreError> for PgFault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<tokio_postgres::Error> for PgFault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl PgFault {
    /// True if the connection is of no use any more, or never was.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Late | Self::Away(_) => true,
            Self::Sql(error) => match error.code() {
                None => true,
                Some(code) => {
                    let code = code.code();
                    code.starts_with("08")
                        || code.starts_with("57P")
                        || code.starts_with("28")
                        || code.starts_with("3D")
                        || code == SqlState::TOO_MANY_CONNECTIONS.code()
                }
            },
            Self::Damaged(_) | Self::Schema(_) | Self::Refused(_) => false,
        }
    }

    /// True if another writer was in the way: the same once more may succeed.
    pub(super) fn is_conflict(&self) -> bool {
        let Self::Sql(error) = self else {
            return false;
        };
        let code = error.code();
        [
            SqlState::UNIQUE_VIOLATION,
            SqlState::FOREIGN_KEY_VIOLATION,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .iter()
        .any(|known| code == Some(known))
    }

    /// The sentence for the caller.
    pub(super) fn describe(self, workspace: &StoreName, millis: u64, is_write: bool) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Late => offline(
                workspace,
                format!("it did not answer within {millis} ms"),
                is_write,
            ),
            Self::Away(reason) => offline(workspace, reason, is_write),
            Self::Damaged(what) => StoreError::Unavailable(format!(
                "The database of workspace '{workspace}' is damaged ({what}); it was left as it is: \
                 restore a backup, or look closer with `twig store verify`"
            )),
            Self::Schema(sentence) => StoreError::Unavailable(sentence),
            Self::Sql(error) => describe_sql(&error, workspace, millis, is_write),
        }
    }

    /// What happened, for the middle of a sentence.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Late => "it does not answer".to_owned(),
            Self::Away(reason) => reason.clone(),
            Self::Sql(error) => reason_of(error),
            Self::Damaged(what) | Self::Schema(what) => what.clone(),
            Self::Refused(error) => error.to_string(),
        }
    }
}

fn offline(workspace: &StoreName, reason: String, is_write: bool) -> StoreError {
    StoreError::Offline {
        workspace: workspace.clone(),
        reason,
        is_write,
    }
}

fn describe_sql(
    error: &tokio_postgres::Error,
    workspace: &StoreName,
    millis: u64,
    is_write: bool,
) -> StoreError {
    tracing::debug!("PostgreSQL: {}", reason_of(error));
    let code = error.code().cloned();
    let is = |known: &SqlState| code.as_ref() == Some(known);
    if is(&SqlState::LOCK_NOT_AVAILABLE) || is(&SqlState::QUERY_CANCELED) {
        return StoreError::Busy {
            workspace: workspace.clone(),
            seconds: millis.div_ceil(1_000),
            is_write,
        };
    }
    if is(&SqlState::DISK_FULL) {
        return StoreError::Unavailable(
            "The disk of the database is full, nothing was written: make room there, then try again"
                .to_owned(),
        );
    }
    if is(&SqlState::READ_ONLY_SQL_TRANSACTION) {
        return StoreError::Unavailable(
            "The database accepts no changes, nothing was written: it is a standby or read-only; \
             name the primary in the store's URL"
                .to_owned(),
        );
    }
    if is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return StoreError::Unavailable(format!(
            "The database role of the store may not do this ({}): grant it the rights, or run \
             `twig store migrate` as the role that owns the tables",
            reason_of(error)
        ));
    }
    if is(&SqlState::UNDEFINED_TABLE) || is(&SqlState::INVALID_SCHEMA_NAME) {
        return StoreError::Unavailable(no_tables());
    }
    offline(workspace, reason_of(error), is_write)
}

pub(super) fn no_tables() -> String {
    "The database has no tables of Twig: create them with `twig store migrate`".to_owned()
}

/// What the database or the system said, without the text of statements.
fn reason_of(error: &tokio_postgres::Error) -> String {
    if let Some(database) = error.as_db_error() {
        return database.message().to_owned();
    }
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    reason
}
