//! Old versions of a project: counting and dropping them.

use twig_core::plan::{ChangedItem, StoredProject, record};
use twig_core::store::{Author, Timestamp};

use super::{SqlRows, forget_contents, prepare_forgetting};
use crate::store::rows::{number, signed};
use crate::store::sql::Sql;
use crate::store::sqlite_error::SqliteError;

/// Rows of `change` from before the chain that are kept for a project: a server whose copy is older
/// reads all of the project again.
const CHANGES_KEPT: u64 = 1_000;

/// Versions that are not among the last ones of their prompt or resource, and have no label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OldVersions {
    /// How many there are.
    pub versions: u64,
    /// The bytes that only they use.
    pub bytes: u64,
}

impl OldVersions {
    /// Counts those of another project, too.
    pub(crate) fn add(&mut self, more: Self) {
        self.versions += more.versions;
        self.bytes += more.bytes;
    }
}

/// The versions of a project that are older than its last `keep` ones.
pub(in crate::store) fn count(
    sql: &Sql<'_>,
    project: &StoredProject,
    keep: u64,
) -> Result<OldVersions, SqliteError> {
    const ROWS: &str = "SELECT count(*), coalesce(sum(512 \
            + coalesce(length(CAST(version.description AS BLOB)), 0) \
            + coalesce(length(CAST(version.uri AS BLOB)), 0) \
            + coalesce(length(CAST(version.mime AS BLOB)), 0)), 0) \
        FROM item JOIN version ON version.item = item.id \
        WHERE item.project = ?1 AND version.number <= item.head - ?2 \
         AND NOT EXISTS (SELECT 1 FROM label WHERE label.project = ?1 AND label.item = item.id \
             AND label.number = version.number)";
    const CONTENTS: &str = "SELECT coalesce(sum(size), 0) FROM \
        (SELECT DISTINCT version.content AS content, version.size AS size \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project = ?1 AND version.number <= item.head - ?2 \
         AND NOT EXISTS (SELECT 1 FROM label WHERE label.project = ?1 AND label.item = item.id \
             AND label.number = version.number)) \
        WHERE content NOT IN (SELECT version.content \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project <> ?1 OR version.number > item.head - ?2 \
             OR EXISTS (SELECT 1 FROM label WHERE label.project = ?1 AND label.item = item.id \
                 AND label.number = version.number))";
    let parameters = (project.id, signed(keep));
    let rows = sql.first(ROWS, parameters, |row| {
        Ok((number(row, 0)?, number(row, 1)?))
    })?;
    let (versions, rows) = rows.unwrap_or_default();
    if versions == 0 {
        return Ok(OldVersions::default());
    }
    let contents = sql.first(CONTENTS, parameters, |row| Ok(number(row, 0)?))?;
    Ok(OldVersions {
        versions,
        bytes: rows + contents.unwrap_or_default(),
    })
}

/// Drops them, and contents that nothing else uses; recounts the rest.
pub(in crate::store) fn drop_old(
    sql: &Sql<'_>,
    project: &StoredProject,
    keep: u64,
    now: Timestamp,
) -> Result<OldVersions, SqliteError> {
    // Each content once: see `Version::cost`.
    const HISTORY: &str = "SELECT \
        (SELECT coalesce(sum(512 + coalesce(length(CAST(version.description AS BLOB)), 0) \
            + coalesce(length(CAST(version.uri AS BLOB)), 0) \
            + coalesce(length(CAST(version.mime AS BLOB)), 0)), 0) \
         FROM item JOIN version ON version.item = item.id WHERE item.project = ?1) \
        + (SELECT coalesce(sum(size), 0) FROM \
            (SELECT DISTINCT version.content, version.size \
             FROM item JOIN version ON version.item = item.id WHERE item.project = ?1))";
    let old = count(sql, project, keep)?;
    if old.versions == 0 {
        return Ok(old);
    }
    let parameters = (project.id, signed(keep));
    prepare_forgetting(sql)?;
    sql.run(
        "INSERT OR IGNORE INTO gone SELECT version.content \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project = ?1 AND version.number <= item.head - ?2 \
         AND NOT EXISTS (SELECT 1 FROM label WHERE label.project = ?1 AND label.item = item.id \
             AND label.number = version.number)",
        parameters,
    )?;
    sql.run(
        "DELETE FROM version WHERE (item, number) IN (SELECT version.item, version.number \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project = ?1 AND version.number <= item.head - ?2 \
         AND NOT EXISTS (SELECT 1 FROM label WHERE label.project = ?1 AND label.item = item.id \
             AND label.number = version.number))",
        parameters,
    )?;
    sql.run(
        "UPDATE item SET first = head - ?2 + 1 WHERE project = ?1 AND head - ?2 + 1 > first",
        parameters,
    )?;
    forget_contents(sql)?;
    let forgotten = project.rev.saturating_sub(CHANGES_KEPT);
    // The last one stays, to show that the chain begins after it.
    sql.run(
        "DELETE FROM change WHERE project = ?1 AND rev <= ?2 AND digest IS NULL \
         AND rev < (SELECT max(rev) FROM change WHERE project = ?1 AND digest IS NULL)",
        (project.id, signed(forgotten)),
    )?;
    let history = sql.first(HISTORY, [project.id], |row| Ok(number(row, 0)?))?;
    let mut after = StoredProject {
        history: history.unwrap_or_default(),
        ..project.clone()
    };
    let keep = keep.to_string();
    let changed = ChangedItem::project(&project.name, "compact", Some(&keep));
    record(
        &mut SqlRows(sql),
        &mut after,
        &changed,
        &Author::Person,
        now,
    )?;
    Ok(old)
}
