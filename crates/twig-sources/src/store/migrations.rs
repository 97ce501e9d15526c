//! The shape of a workspace's file, made step by step by files that are only ever added.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::fault::Fault;

/// Says in a file's head that it is one of ours.
pub(super) const APPLICATION: u32 = u32::from_be_bytes(*b"Twig");

/// Every step so far. A file's `user_version` says how many of them it has seen.
pub(super) const MIGRATIONS: [&str; 3] = [
    include_str!("migrations/2026-11-15-1-projects.sql"),
    include_str!("migrations/2026-11-15-2-changes.sql"),
    include_str!("migrations/2026-11-16-3-history.sql"),
];

/// From this version on steps only add columns, so no copy of the file is kept before them: it would
/// take as much room again, and keep what is deleted later.
pub(super) const ONLY_ADDED_SINCE: usize = 2;

/// Counts what the versions of a project take, each content once: see `Version::cost`.
pub(super) const COUNT_HISTORY: &str = "UPDATE project SET history = \
    (SELECT coalesce(sum(512 + coalesce(length(CAST(version.description AS BLOB)), 0) \
        + coalesce(length(CAST(version.uri AS BLOB)), 0) \
        + coalesce(length(CAST(version.mime AS BLOB)), 0)), 0) \
     FROM item JOIN version ON version.item = item.id WHERE item.project = project.id) \
    + (SELECT coalesce(sum(size), 0) FROM \
        (SELECT DISTINCT version.content, version.size \
         FROM item JOIN version ON version.item = item.id WHERE item.project = project.id)) \
    WHERE id = ?1";

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
    let lines = || migrations.iter().flat_map(|text| text.lines());
    let added = |line: &&str| line.starts_with("ALTER TABLE ");
    while let Some(row) = rows.next()? {
        let mut made: String = row.get(0)?;
        for line in lines().filter(added) {
            let Some((_, column)) = line.split_once(" ADD COLUMN ") else {
                continue;
            };
            // SQLite writes the column behind the last one of the table.
            let column = format!(", {}", column.trim_end_matches(';'));
            if let Some(at) = made.find(&column) {
                made.replace_range(at..at + column.len(), "");
                count += 1;
            }
        }
        if !migrations.iter().any(|text| text.contains(&*made)) {
            return Err(Fault::damaged("its tables are not the ones that were made"));
        }
        count += 1;
    }
    let is_made = |line: &&str| line.starts_with("CREATE ") || added(line);
    let expected = lines().filter(is_made).count();
    if count == expected {
        Ok(())
    } else {
        Err(Fault::damaged("it lacks a table or a column"))
    }
}

#[cfg(test)]
mod tests;
