//! A new name for a prompt or a resource. It takes all its versions along.

use twig_core::store::{Author, ItemKind, StoreError, StoreName, Timestamp, Written};

use super::{ChangedItem, explain, insert, record, written};
use crate::store::rows::{self, ItemRow, StoredProject, signed};
use crate::store::sql::Sql;
use crate::store::sqlite_error::SqliteError;

/// Renames an item of a project from the first name to the second.
pub(super) fn rename(
    sql: &Sql<'_>,
    mut project: StoredProject,
    kind: ItemKind,
    (name, to): (&StoreName, &StoreName),
    expected: Option<u64>,
    author: &Author,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let item = rows::item(sql, &project, kind, name)?;
    let Some(item) = item.filter(|item| !item.is_deleted) else {
        let error = StoreError::Missing {
            kind,
            name: name.clone(),
            project: project.name.clone(),
            near: Vec::new(),
        };
        return Err(explain(sql, &project, None, error)?.into());
    };
    let head = rows::head(sql, kind, name, &item)?;
    if let Some(expected) = expected.filter(|expected| *expected != head.number) {
        return Err(SqliteError::from(StoreError::Stale {
            kind,
            name: name.clone(),
            expected,
            current: head.number,
        }));
    }
    if name == to {
        return Ok(written(&head, false));
    }
    if let Some(other) = rows::item(sql, &project, kind, to)? {
        let (name, project) = (to.clone(), project.name);
        return Err(SqliteError::from(if other.is_deleted {
            StoreError::NameKept {
                kind,
                name,
                project,
            }
        } else {
            StoreError::Exists {
                kind,
                name,
                project,
            }
        }));
    }
    sql.run(
        "UPDATE item SET name = ?4 WHERE project = ?1 AND kind = ?2 AND name = ?3",
        (project.id, kind.as_str(), name.as_str(), to.as_str()),
    )?;
    // The digest of a version includes the name of its item. One at a time: there may be many.
    for number in numbers(sql, &item)? {
        let version = rows::version(sql, kind, name, &item, number)?;
        let version = version.ok_or_else(|| rows::lost(kind, name))?;
        sql.run(
            "DELETE FROM version WHERE item = ?1 AND number = ?2",
            (item.id, signed(number)),
        )?;
        insert(sql, item.id, kind, to, &version)?;
    }
    for (name, action, other) in [(name, "rename", to), (to, "renamed", name)] {
        let changed = ChangedItem {
            kind: kind.as_str(),
            name: name.as_str(),
            version: head.number,
            action,
            detail: Some(other.as_str()),
        };
        record(sql, &mut project, &changed, author, now)?;
    }
    Ok(written(&head, true))
}

/// The numbers of all versions that are kept, also of those that only a label keeps.
fn numbers(sql: &Sql<'_>, item: &ItemRow) -> Result<Vec<u64>, SqliteError> {
    let all = "SELECT number FROM version WHERE item = ?1 AND number < ?2";
    let mut numbers = Vec::new();
    sql.each(all, (item.id, signed(item.first)), |row| {
        numbers.push(rows::number(row, 0)?);
        Ok(())
    })?;
    numbers.extend(item.first..=item.head);
    Ok(numbers)
}
