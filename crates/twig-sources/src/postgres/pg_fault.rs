//! Why PostgreSQL did not do something, and the sentence for it.

use std::error::Error as _;
use std::io;

use rustls::CertificateError;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{WasNull, WrongType};
use twig_core::store::{StoreError, StoreName};

/// Why a call to the database failed.
#[derive(Debug)]
pub(super) enum PgFault {
    /// No answer in time.
    Late,
    /// The database, or the connection to it, failed.
    Sql(tokio_postgres::Error),
    /// The database is known to be away: why.
    Away(AwayReason),
    /// A row differs from what was written.
    Damaged(String),
    /// The tables are missing, too old or too new: a whole sentence.
    Schema(String),
    /// The caller asked for something that is not possible.
    Refused(StoreError),
}

/// Why a database is away.
#[derive(Debug, Clone)]
pub(super) struct AwayReason {
    /// For the middle of a sentence.
    text: String,
    /// What to do, if the database is up and more attempts do not help.
    refusal: Option<PgRemedy>,
}

/// What a database that is up does instead of serving, and what to do about it.
#[derive(Debug, Clone, Copy)]
struct PgRemedy {
    what: &'static str,
    remedy: &'static str,
}

const LOGIN: PgRemedy = PgRemedy {
    what: "refuses this server",
    remedy: "correct the role, its password or the name of the database in the store's URL, or ask \
        the people who run the database to accept them",
};

const ISSUER: PgRemedy = PgRemedy {
    what: "is not trusted",
    remedy: "name the certificate of that authority in `SSL_CERT_FILE`",
};

const HOST_NAME: PgRemedy = PgRemedy {
    what: "is not trusted",
    remedy: "name the host in the store's URL as its certificate does",
};

const CERTIFICATE: PgRemedy = PgRemedy {
    what: "is not trusted",
    remedy: "ask the people who run the database to replace its certificate",
};

impl AwayReason {
    /// Why none of several hosts serves, in their order: clients read it, and need no names of hosts.
    /// One that cannot be reached may be back soon.
    pub(super) fn of_each(reasons: &[Self]) -> Self {
        let numbered = (1..).zip(reasons);
        let texts: Vec<String> = numbered
            .map(|(number, reason)| format!("host {number}: {}", reason.text))
            .collect();
        let is_refused = reasons.iter().all(|reason| reason.refusal.is_some());
        let first = reasons.first().and_then(|reason| reason.refusal);
        Self {
            text: texts.join("; "),
            refusal: first.filter(|_| is_refused),
        }
    }

    /// What the database does, and why, for the end of a sentence that begins with the database.
    pub(super) fn sentence(&self) -> String {
        let what = self.refusal.map_or("cannot be reached", |it| it.what);
        format!("{what}: {}", self.text)
    }
}

impl From<String> for AwayReason {
    fn from(text: String) -> Self {
        let refusal = None;
        Self { text, refusal }
    }
}

impl From<&str> for AwayReason {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
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
                None => !is_other_type(error),
                Some(code) => {
                    let code = code.code();
                    code.starts_with("08")
                        || code.starts_with("57P")
                        || code.starts_with("28")
                        || code.starts_with("3D")
                        || code == SqlState::TOO_MANY_CONNECTIONS.code()
                        || is_outdated(code)
                }
            },
            Self::Damaged(_) | Self::Schema(_) | Self::Refused(_) => false,
        }
    }

    /// True if an attempt to connect was refused in a way that more attempts do not change: a wrong
    /// password, a missing database, a role that may not connect.
    pub(super) fn is_refused(&self) -> bool {
        let Self::Sql(error) = self else {
            return false;
        };
        error.code().is_some_and(|code| {
            *code == SqlState::INSUFFICIENT_PRIVILEGE
                || code.code().starts_with("28")
                || code.code().starts_with("3D")
        })
    }

    /// True if nothing can be read because of it.
    pub(super) fn is_absence(&self) -> bool {
        self.is_lost() || self.is_refused() || matches!(self, Self::Schema(_))
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
            Self::Late | Self::Away(_) => offline(workspace, self.away_reason(), is_write),
            Self::Damaged(what) => StoreError::DamagedRows {
                workspace: workspace.clone(),
                what,
                is_all: false,
            },
            Self::Schema(sentence) => StoreError::Unavailable(sentence),
            Self::Sql(error) => describe_sql(&error, workspace, millis, is_write),
        }
    }

    /// The same, for a database that is away because of it.
    pub(super) fn away_reason(&self) -> AwayReason {
        match self {
            Self::Away(reason) => reason.clone(),
            Self::Sql(error) => AwayReason {
                text: reason_of(error),
                refusal: remedy_of(error),
            },
            fault => fault.reason().into(),
        }
    }

    /// What happened, for the middle of a sentence.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Late => "it does not answer in time".to_owned(),
            Self::Away(reason) => reason.text.clone(),
            Self::Sql(error) => reason_of(error),
            Self::Damaged(what) | Self::Schema(what) => what.clone(),
            Self::Refused(error) => error.to_string(),
        }
    }
}

/// True if what was prepared on the connection is gone, or is of tables that have changed since.
fn is_outdated(code: &str) -> bool {
    [
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::FEATURE_NOT_SUPPORTED,
    ]
    .iter()
    .any(|known| known.code() == code)
}

fn offline(workspace: &StoreName, reason: AwayReason, is_write: bool) -> StoreError {
    let AwayReason { text, refusal } = reason;
    let Some(PgRemedy { what, remedy }) = refusal else {
        return StoreError::Offline {
            workspace: workspace.clone(),
            reason: text,
            is_write,
        };
    };
    let nothing = nothing_written(is_write);
    StoreError::Unavailable(format!(
        "The database of the store {what} ({text}){nothing}: {remedy}"
    ))
}

fn nothing_written(is_write: bool) -> &'static str {
    if is_write {
        ", nothing was written"
    } else {
        ""
    }
}

/// What to do about a database that is up and does not serve, nor will by itself.
fn remedy_of(error: &tokio_postgres::Error) -> Option<PgRemedy> {
    if let Some(code) = error.code() {
        let is_login = code.code().starts_with("28") || code.code().starts_with("3D");
        return is_login.then_some(LOGIN);
    }
    Some(match certificate_error(error)? {
        error if is_of_stranger(error) => ISSUER,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            HOST_NAME
        }
        _ => CERTIFICATE,
    })
}

/// True if nobody who is trusted signed it. An authority may have the name of another one.
fn is_of_stranger(error: &CertificateError) -> bool {
    matches!(
        error,
        CertificateError::UnknownIssuer | CertificateError::BadSignature
    )
}

/// What is wrong with the certificate of the server.
fn certificate_error(error: &tokio_postgres::Error) -> Option<&CertificateError> {
    let error = error.source()?.downcast_ref::<io::Error>()?;
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(error) => Some(error),
        _ => None,
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
    if is_other_type(error) || code.is_some_and(|code| code.code().starts_with("42")) {
        let nothing = nothing_written(is_write);
        let reason = reason_of(error);
        return StoreError::Unavailable(format!("{}{nothing}: {REPAIR}", altered(&reason)));
    }
    let reason = AwayReason {
        text: reason_of(error),
        refusal: remedy_of(error),
    };
    offline(workspace, reason, is_write)
}

/// What to do about tables that are not as Twig makes them.
const REPAIR: &str = "restore a backup, or if another program made them, name another database in the \
    store's URL";

fn altered(reason: &str) -> String {
    format!("The tables in schema `twig` of the database are not as Twig makes them ({reason})")
}

/// The tables are not as Twig makes them: why.
pub(super) fn altered_tables(reason: &str) -> PgFault {
    PgFault::Schema(format!("{}: {REPAIR}", altered(reason)))
}

/// True if a column has another type than Twig gave it, or has nothing where there is always something.
fn is_other_type(error: &tokio_postgres::Error) -> bool {
    let source = error.source();
    source.is_some_and(|source| source.is::<WrongType>() || source.is::<WasNull>())
}

pub(super) fn no_tables() -> String {
    "The database has no tables of Twig: create them with `twig store migrate`".to_owned()
}

/// What the database or the system said, without the text of statements.
fn reason_of(error: &tokio_postgres::Error) -> String {
    if let Some(database) = error.as_db_error() {
        return database.message().to_owned();
    }
    if certificate_error(error).is_some_and(is_of_stranger) {
        return "its certificate is signed by an authority that this system does not trust"
            .to_owned();
    }
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    reason
}
