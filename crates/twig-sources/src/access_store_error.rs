//! Why keys and roles were not read or changed.

use std::io;

use twig_core::access::AccessError;
use twig_core::store::StoreError;

use crate::locked_file::LockError;

/// Why keys and roles were not read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessStoreError {
    /// The change itself was refused.
    #[error(transparent)]
    Refused(#[from] AccessError),
    /// The file is gone, though keys were made.
    #[error("the file is gone, though keys were made")]
    Lost,
    /// The row of the database is gone, which was made with its table.
    #[error("the row of table twig.access in the database is gone")]
    LostRow,
    /// The table of the database is gone.
    #[error("table twig.access of the database is gone")]
    LostTable,
    /// The file could not be locked or written.
    #[error(transparent)]
    File(#[from] LockError),
    /// The file could not be read.
    #[error(transparent)]
    Unreadable(io::Error),
    /// The database refused, or could not be reached.
    #[error(transparent)]
    Database(#[from] StoreError),
}
