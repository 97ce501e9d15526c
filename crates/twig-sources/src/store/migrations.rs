//! The shape of a workspace's file, made step by step by files that are only ever added.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::fault::Fault;

/// Says in a file's head that it is one of ours.
pub(super) const APPLICATION: u32 = u32::from_be_bytes(*b"Twig");

/// Every step so far. A file's `user_version` says how many of them it has seen.
pub(super) const MIGRATIONS: [&str; 2] = [
    include_str!("migrations/2026-11-15-1-projects.sql"),
    include_str!("migrations/2026-11-15-2-changes.sql"),
];

/// How many steps a file has seen.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// Takes the steps that a file has not seen yet, all or none of them; says whether there were any.
pub(super) fn migrate<'m>(
    connection: &Connection,
    migrations: impl ExactSizeIterator<Item = &'m str>,
) -> rusqlite::Result<bool> {
    let newest = migrations.len();
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Somebody else may have been faster.
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

/// Compares what a file says of its tables with the steps that made them.
pub(super) fn check(connection: &Connection, migrations: &[&str]) -> Result<(), Fault> {
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let made: Box<str> = row.get(0)?;
        if !migrations.iter().any(|text| text.contains(&*made)) {
            return Err(Fault::damaged("its tables are not the ones that were made"));
        }
        count += 1;
    }
    let made = migrations.iter().flat_map(|text| text.lines());
    let expected = made.filter(|line| line.starts_with("CREATE ")).count();
    if count == expected {
        Ok(())
    } else {
        Err(Fault::damaged("it lacks a table"))
    }
}

#[cfg(test)]
mod tests;
