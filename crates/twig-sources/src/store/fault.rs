//! What SQLite and the system say when something fails, in the words of the port.

use rusqlite::ErrorCode;
use rusqlite::ffi;
use twig_core::store::{StoreError, StoreName};

/// Why something inside the store failed; [`Fault::tell`] makes a sentence of it.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite said so.
    Sql(rusqlite::Error),
    /// What was read is not what was written.
    Damaged(String),
    /// The store's rules say so.
    Refused(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// The same for others, who know neither SQLite nor its codes.
    pub(super) fn tell(self, workspace: &StoreName, millis: u64) -> StoreError {
        let workspace = workspace.clone();
        let error = match self {
            Self::Refused(error) => return error,
            Self::Damaged(what) => return StoreError::Damaged { workspace, what },
            Self::Sql(error) => error,
        };
        let rusqlite::Error::SqliteFailure(code, message) = &error else {
            // Statements are fixed, so what does not fit them is what was read.
            let what = error.to_string();
            return StoreError::Damaged { workspace, what };
        };
        let what = message.clone().unwrap_or_else(|| error.to_string());
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy {
                workspace,
                seconds: millis.div_ceil(1_000),
            },
            ErrorCode::DiskFull => StoreError::DiskFull,
            // The index of the write-ahead log could not grow.
            ErrorCode::SystemIoFailure if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                StoreError::DiskFull
            }
            ErrorCode::ReadOnly if code.extended_code == ffi::SQLITE_READONLY_DBMOVED => {
                StoreError::Moved { workspace }
            }
            ErrorCode::ReadOnly => StoreError::ReadOnly { workspace },
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch
            | ErrorCode::TooBig
            | ErrorCode::Unknown => StoreError::Damaged { workspace, what },
            _ => StoreError::Unavailable(format!(
                "The file of workspace '{workspace}' cannot be used ({what}): look at its disk, then try again"
            )),
        }
    }
}
