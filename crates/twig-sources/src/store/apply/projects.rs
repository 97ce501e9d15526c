//! Writes to a whole project.

use twig_core::store::{Author, StoreError, StoreName, Timestamp, Written};

use super::{ChangedItem, find, record};
use crate::store::clock::new_id;
use crate::store::rows::{self, StoredProject};
use crate::store::sql::Sql;
use crate::store::sqlite_error::SqliteError;

pub(super) fn create(
    sql: &Sql<'_>,
    workspace: &StoreName,
    name: &StoreName,
    author: &Author,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    refuse_taken(sql, workspace, name)?;
    let mut project = StoredProject {
        id: new_id().into_bytes(),
        name: name.clone(),
        created: now,
        rev: 0,
        prompts: 0,
        resources: 0,
        history: 0,
        changed: now,
        digest: None,
        has_labels: false,
    };
    sql.run(
        "INSERT INTO project (id, name, created) VALUES (?1, ?2, ?3)",
        (project.id, name.as_str(), now.0),
    )?;
    let changed = ChangedItem::project(name, "create", None);
    record(sql, &mut project, &changed, author, now)?;
    Ok(of_project(now))
}

pub(super) fn rename(
    sql: &Sql<'_>,
    workspace: &StoreName,
    (name, to): (&StoreName, &StoreName),
    author: &Author,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let before = find(sql, workspace, name)?;
    if name == to {
        return Ok(Written {
            is_new: false,
            ..of_project(before.created)
        });
    }
    refuse_taken(sql, workspace, to)?;
    let mut after = StoredProject {
        name: to.clone(),
        ..before
    };
    sql.run(
        "UPDATE project SET name = ?2 WHERE id = ?1",
        (after.id, to.as_str()),
    )?;
    let changed = ChangedItem::project(to, "rename", Some(name.as_str()));
    record(sql, &mut after, &changed, author, now)?;
    Ok(of_project(now))
}

pub(super) fn delete(
    sql: &Sql<'_>,
    workspace: &StoreName,
    name: &StoreName,
    author: &Author,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let mut project = find(sql, workspace, name)?;
    delete_project(sql, &project)?;
    (project.prompts, project.resources, project.history) = (0, 0, 0);
    let changed = ChangedItem::project(name, "delete", None);
    record(sql, &mut project, &changed, author, now)?;
    Ok(of_project(now))
}

fn refuse_taken(sql: &Sql<'_>, workspace: &StoreName, name: &StoreName) -> Result<(), SqliteError> {
    match rows::project(sql, name)? {
        None => Ok(()),
        Some(_) => Err(SqliteError::from(StoreError::ProjectExists {
            project: name.clone(),
            workspace: workspace.clone(),
        })),
    }
}

/// Deletes a project with its versions, and contents that no other project uses. Its changes stay.
fn delete_project(sql: &Sql<'_>, project: &StoredProject) -> Result<(), SqliteError> {
    let id = [project.id];
    prepare_forgetting(sql)?;
    sql.run(
        "INSERT OR IGNORE INTO gone SELECT content FROM version \
         WHERE item IN (SELECT id FROM item WHERE project = ?1)",
        id,
    )?;
    sql.run(
        "DELETE FROM version WHERE item IN (SELECT id FROM item WHERE project = ?1)",
        id,
    )?;
    sql.run("DELETE FROM item WHERE project = ?1", id)?;
    sql.run("DELETE FROM label WHERE project = ?1", id)?;
    sql.run("DELETE FROM protected_label WHERE project = ?1", id)?;
    sql.run("DELETE FROM project WHERE id = ?1", id)?;
    forget_contents(sql)
}

/// Creates the empty list of contents that may be deleted.
pub(super) fn prepare_forgetting(sql: &Sql<'_>) -> Result<(), SqliteError> {
    sql.run(
        "CREATE TEMP TABLE IF NOT EXISTS gone (digest BLOB NOT NULL PRIMARY KEY)",
        [],
    )?;
    sql.run("DELETE FROM gone", [])?;
    Ok(())
}

/// Deletes the listed contents that no version uses any more.
pub(super) fn forget_contents(sql: &Sql<'_>) -> Result<(), SqliteError> {
    sql.run(
        "DELETE FROM content WHERE digest IN (SELECT digest FROM gone) \
         AND digest NOT IN (SELECT content FROM version)",
        [],
    )?;
    sql.run("DELETE FROM gone", [])?;
    Ok(())
}

fn of_project(at: Timestamp) -> Written {
    Written {
        version: 0,
        operation: None,
        is_new: true,
        at,
    }
}
