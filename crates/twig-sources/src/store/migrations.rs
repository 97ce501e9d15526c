//! The schema of a workspace's file, built by migrations that are only ever added, and the copy of
//! a file that is kept before a migration.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use twig_core::store::StoreError;

use super::lock::private;
use super::open::with_end;
use super::sqlite_error::SqliteError;
use crate::root::sentence;

/// Marks a file as ours in its header.
pub(super) const APPLICATION: u32 = u32::from_be_bytes(*b"Twig");

/// All migrations so far. A file's `user_version` counts those already applied.
pub(super) const MIGRATIONS: [&str; 5] = [
    include_str!("migrations/2026-11-15-1-projects.sql"),
    include_str!("migrations/2026-11-15-2-changes.sql"),
    include_str!("migrations/2026-11-16-3-history.sql"),
    include_str!("migrations/2026-11-16-4-digests.sql"),
    include_str!("migrations/2026-11-18-5-audit.sql"),
];

/// How many migrations were applied to a file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// Applies the missing migrations, all or none of them; returns whether there were any.
pub(super) fn migrate<'m>(
    connection: &Connection,
    migrations: impl ExactSizeIterator<Item = &'m str>,
) -> rusqlite::Result<bool> {
    let newest = migrations.len();
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let seen = version(&transaction)?;
    if seen >= newest {
        return Ok(false);
    }
    for migration in migrations.skip(seen) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", i64::try_from(newest).unwrap_or(0))?;
    transaction.commit()?;
    Ok(true)
}

/// Keeps `NAME.db.v1.bak` beside a file of version 1.
pub(super) fn keep_copy(
    connection: &Connection,
    path: &Path,
    version: usize,
) -> Result<(), SqliteError> {
    let kept = with_end(path, &format!(".v{version}.bak"));
    let new = with_end(&kept, ".new");
    let failed = |error: io::Error| StoreError::File {
        sentence: format!(
            "The workspace's file could not be copied before it is brought up to date: {}",
            sentence(&error)
        ),
        path: kept.clone(),
    };
    // A file left by an earlier attempt is an incomplete copy.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(failed(error).into());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    options.open(&new).map_err(failed)?;
    let to = new
        .to_str()
        .ok_or_else(|| failed(io::Error::other("the path is not UTF-8")))?;
    connection.execute("VACUUM INTO ?1", [to])?;
    fs::rename(&new, &kept).map_err(failed)?;
    Ok(())
}

/// The copies of a file, including incomplete ones.
pub(super) fn copies(path: &Path) -> Vec<PathBuf> {
    let first = with_end(path, ".v");
    let (Some(folder), Some(first)) = (path.parent(), first.file_name()) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&*first.to_string_lossy());
        rest.is_some_and(|rest| {
            let version = rest.trim_end_matches(".new").strip_suffix(".bak");
            version.is_some_and(|version| version.parse::<u32>().is_ok())
        })
    };
    entries.map(|entry| entry.path()).filter(is_copy).collect()
}

#[cfg(test)]
mod tests;
