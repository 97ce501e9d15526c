//! Translates errors of SQLite and the system into those of the port.

use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use twig_core::store::{StoreError, StoreName};

/// Why something inside the store failed; [`SqliteError::describe`] makes it a sentence.
#[derive(Debug)]
pub(super) enum SqliteError {
    /// SQLite's error.
    Sql(rusqlite::Error),
    /// The value read differs from the value written.
    Damaged(String),
    /// The store's rules forbid it.
    Refused(StoreError),
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for SqliteError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl SqliteError {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// True if the disk is full.
    pub(super) fn is_full(&self) -> bool {
        let Self::Sql(rusqlite::Error::SqliteFailure(error, _)) = self else {
            return false;
        };
        // The index of the write-ahead log could not grow.
        error.code == ErrorCode::DiskFull || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    }

    /// True if another thread interrupted it.
    pub(super) fn is_interrupted(&self) -> bool {
        let Self::Sql(rusqlite::Error::SqliteFailure(error, _)) = self else {
            return false;
        };
        error.code == ErrorCode::OperationInterrupted
    }

    /// True if another connection holds the lock, possibly one of this process by mistake.
    pub(super) fn is_stuck(&self) -> bool {
        let Self::Sql(rusqlite::Error::SqliteFailure(error, _)) = self else {
            return false;
        };
        matches!(
            error.code,
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    }

    /// The same for users, without SQLite's codes: SQLite's own message may contain paths and
    /// statements, so it only goes to the log.
    pub(super) fn describe(self, workspace: &StoreName, path: &Path) -> StoreError {
        let workspace = workspace.clone();
        let damaged = |workspace, what| StoreError::Damaged {
            workspace,
            what,
            path: path.to_owned(),
        };
        let error = match self {
            Self::Refused(error) => return error,
            Self::Damaged(what) => return damaged(workspace, what),
            Self::Sql(error) => error,
        };
        let rusqlite::Error::SqliteFailure(code, _) = &error else {
            tracing::debug!("{}: {error}", path.display());
            // Statements are fixed, so a mismatch comes from the value read.
            return damaged(
                workspace,
                "a value differs from what was written".to_owned(),
            );
        };
        if !matches!(
            code.code,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked
        ) {
            tracing::debug!("{}: {error} ({})", path.display(), code.extended_code);
        }
        let what = ffi::code_to_str(code.extended_code).to_owned();
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy {
                workspace,
                seconds: 0,
                is_write: true,
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
            | ErrorCode::Unknown => damaged(workspace, what),
            _ => StoreError::File {
                sentence: format!(
                    "The file of workspace '{workspace}' cannot be used ({what}): check its disk, then try again"
                ),
                path: path.to_owned(),
            },
        }
    }
}
