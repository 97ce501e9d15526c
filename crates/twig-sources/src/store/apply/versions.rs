//! Old versions of a project: how many there are, and dropping them.

use twig_core::store::Timestamp;

use super::projects::{changed_project, forget_contents, prepare_forgetting};
use super::record;
use crate::store::fault::Fault;
use crate::store::migrations::COUNT_HISTORY;
use crate::store::rows::{number, signed};
use crate::store::seal::ProjectRow;
use crate::store::sql::Sql;

/// Rows of `changes` that stay: a server that knows less of a project reads all of it again.
const CHANGES_KEPT: u64 = 1_000;

/// Versions that are not among the last ones of their prompt or resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OldVersions {
    /// How many there are.
    pub versions: u64,
    /// The bytes that they take and nothing else needs.
    pub bytes: u64,
}

/// The versions of a project that are older than its last `keep` ones.
pub(in crate::store) fn count(
    sql: &Sql<'_>,
    project: &ProjectRow,
    keep: u64,
) -> Result<OldVersions, Fault> {
    const ROWS: &str = "SELECT count(*), coalesce(sum(512 \
            + coalesce(length(CAST(version.description AS BLOB)), 0) \
            + coalesce(length(CAST(version.uri AS BLOB)), 0) \
            + coalesce(length(CAST(version.mime AS BLOB)), 0)), 0) \
        FROM item JOIN version ON version.item = item.id \
        WHERE item.project = ?1 AND version.number <= item.head - ?2";
    const CONTENTS: &str = "SELECT coalesce(sum(size), 0) FROM \
        (SELECT DISTINCT version.content AS content, version.size AS size \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project = ?1 AND version.number <= item.head - ?2) \
        WHERE content NOT IN (SELECT version.content \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project <> ?1 OR version.number > item.head - ?2)";
    let parameters = (project.id, signed(keep));
    let rows = sql.first(ROWS, parameters, |row| {
        Ok((number(row, 0)?, number(row, 1)?))
    })?;
    let (versions, labels) = rows.unwrap_or_default();
    if versions == 0 {
        return Ok(OldVersions::default());
    }
    let contents = sql.first(CONTENTS, parameters, |row| Ok(number(row, 0)?))?;
    Ok(OldVersions {
        versions,
        bytes: labels + contents.unwrap_or_default(),
    })
}

/// Drops them, and contents that nothing else has. Last versions stay as they are, and so do the
/// digests of the project and of the workspace.
pub(in crate::store) fn drop_old(
    sql: &Sql<'_>,
    project: &ProjectRow,
    keep: u64,
    now: Timestamp,
) -> Result<OldVersions, Fault> {
    let old = count(sql, project, keep)?;
    if old.versions == 0 {
        return Ok(old);
    }
    let parameters = (project.id, signed(keep));
    prepare_forgetting(sql)?;
    sql.run(
        "INSERT OR IGNORE INTO gone SELECT version.content \
         FROM item JOIN version ON version.item = item.id \
         WHERE item.project = ?1 AND version.number <= item.head - ?2",
        parameters,
    )?;
    sql.run(
        "DELETE FROM version WHERE item IN (SELECT id FROM item WHERE project = ?1) \
         AND number <= (SELECT head FROM item WHERE item.id = version.item) - ?2",
        parameters,
    )?;
    sql.run(
        "UPDATE item SET first = head - ?2 + 1 WHERE project = ?1 AND head - ?2 + 1 > first",
        parameters,
    )?;
    forget_contents(sql)?;
    sql.run(
        "DELETE FROM changes WHERE project = ?1 AND rev <= (SELECT rev FROM workspace) - ?2",
        (project.id, signed(CHANGES_KEPT)),
    )?;
    sql.run(COUNT_HISTORY, [project.id])?;
    record(sql, &[], &changed_project(project), now)?;
    Ok(old)
}
