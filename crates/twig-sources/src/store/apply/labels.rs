//! Labels of versions, and which of them are protected.

use twig_core::Limits;
use twig_core::store::{
    Author, LabelChange, LabelName, LabelWrite, MOST_LABELS, MOST_PROTECTED, StoreError, Timestamp,
    Written,
};

use super::{ChangedItem, explain, record};
use crate::store::no_label;
use crate::store::rows::{self, ItemRow, StoredProject, number, signed};
use crate::store::sql::Sql;
use crate::store::sqlite_error::SqliteError;

/// Sets, moves or removes a label.
pub(super) fn label(
    sql: &Sql<'_>,
    mut project: StoredProject,
    limits: &Limits,
    write: &LabelWrite,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let (kind, name, label) = (write.kind, &write.name, &write.label);
    let is_removed = write.change == LabelChange::Remove;
    // A deleted item keeps its labels, which can be removed.
    let item = rows::item(sql, &project, kind, name)?;
    let Some(item) = item.filter(|item| is_removed || !item.is_deleted) else {
        let error = StoreError::Missing {
            kind,
            name: name.clone(),
            project: project.name.clone(),
            near: Vec::new(),
        };
        return Err(explain(sql, &project, None, error)?.into());
    };
    let labels = rows::labels(sql, &item)?;
    let current = labels.iter().find(|(known, _)| known == label);
    let current = current.map(|(_, number)| *number);
    let version = match (write.change, current) {
        (LabelChange::Set { version }, _) => {
            let version = version.unwrap_or(item.head);
            check_version(sql, write, &item, version)?;
            version
        }
        (LabelChange::Remove, Some(current)) => current,
        (LabelChange::Remove, None) => return Err(no_label(kind, name, label, labels).into()),
    };
    let written = |is_new| Written {
        version,
        operation: None,
        is_new,
        at: now,
    };
    if !is_removed && current == Some(version) {
        return Ok(written(false));
    }
    if !write.is_admin && rows::protected_labels(sql, &project)?.contains(label) {
        return Err(SqliteError::from(StoreError::LabelProtected {
            label: label.clone(),
            project: project.name,
        }));
    }
    if is_removed {
        sql.run(
            "DELETE FROM label WHERE project = ?1 AND item = ?2 AND label = ?3",
            (project.id, item.id, label.as_str()),
        )?;
    } else {
        if current.is_none() {
            check_room(sql, &project, limits, write, labels.len())?;
        }
        sql.run(
            "INSERT INTO label (project, item, label, number) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (project, item, label) DO UPDATE SET number = excluded.number",
            (project.id, item.id, label.as_str(), signed(version)),
        )?;
    }
    let changed = ChangedItem {
        kind: kind.as_str(),
        name: name.as_str(),
        version,
        action: if is_removed { "unlabel" } else { "label" },
        detail: Some(label.as_str()),
    };
    record(sql, &mut project, &changed, &write.author, now)?;
    Ok(written(true))
}

/// Protects a label, or no longer.
pub(super) fn protect(
    sql: &Sql<'_>,
    mut project: StoredProject,
    label: &LabelName,
    is_protected: bool,
    author: &Author,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let labels = rows::protected_labels(sql, &project)?;
    let is_new = labels.contains(label) != is_protected;
    if is_new {
        if is_protected && labels.len() >= MOST_PROTECTED {
            return Err(SqliteError::from(StoreError::TooManyLabels {
                place: format!("Project '{}'", project.name).into(),
                limit: MOST_PROTECTED,
            }));
        }
        let statement = if is_protected {
            "INSERT INTO protected_label (project, label) VALUES (?1, ?2)"
        } else {
            "DELETE FROM protected_label WHERE project = ?1 AND label = ?2"
        };
        sql.run(statement, (project.id, label.as_str()))?;
        let name = project.name.clone();
        let action = if is_protected { "protect" } else { "unprotect" };
        let changed = ChangedItem::project(&name, action, Some(label.as_str()));
        record(sql, &mut project, &changed, author, now)?;
    }
    Ok(Written {
        version: 0,
        operation: None,
        is_new,
        at: now,
    })
}

/// Refuses a version that does not exist or has no content.
fn check_version(
    sql: &Sql<'_>,
    write: &LabelWrite,
    item: &ItemRow,
    version: u64,
) -> Result<(), SqliteError> {
    let (kind, name) = (write.kind, &write.name);
    match rows::version(sql, kind, name, item, version)? {
        Some(found) if rows::is_deletion(&found) => {
            Err(SqliteError::from(StoreError::LabelOfDeletion {
                kind,
                name: name.clone(),
                version,
            }))
        }
        Some(_) => Ok(()),
        None => Err(SqliteError::from(StoreError::NoVersion {
            kind,
            name: name.clone(),
            version,
            first: item.first,
            last: item.head,
        })),
    }
}

/// Refuses one label too many, of an item or of the project.
fn check_room(
    sql: &Sql<'_>,
    project: &StoredProject,
    limits: &Limits,
    write: &LabelWrite,
    own: usize,
) -> Result<(), SqliteError> {
    let count = "SELECT count(*) FROM label WHERE project = ?1";
    let all = sql.first(count, [project.id], |row| Ok(number(row, 0)?))?;
    let (place, limit) = if own >= MOST_LABELS {
        let place = format!("{} '{}'", write.kind.noun(), write.name);
        (place, MOST_LABELS)
    } else if all.unwrap_or_default() >= limits.project_items as u64 {
        (format!("Project '{}'", project.name), limits.project_items)
    } else {
        return Ok(());
    };
    let place = place.into();
    Err(StoreError::TooManyLabels { place, limit }.into())
}
