//! Writes to a whole project.

use super::{ChangedItem, PlanRows, StoredProject, find, record};
use crate::store::{Author, StoreError, StoreName, Timestamp, Written};

pub(super) fn create<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    name: &StoreName,
    author: &Author,
    now: Timestamp,
) -> Result<Written, R::Error> {
    refuse_taken(rows, workspace, name)?;
    let mut project = StoredProject {
        id: rows.new_id(),
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
    rows.add_project(&project)?;
    let changed = ChangedItem::project(name, "create", None);
    record(rows, &mut project, &changed, author, now)?;
    Ok(of_project(now))
}

pub(super) fn rename<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    (name, to): (&StoreName, &StoreName),
    author: &Author,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let before = find(rows, workspace, name)?;
    if name == to {
        return Ok(Written {
            is_new: false,
            ..of_project(before.created)
        });
    }
    refuse_taken(rows, workspace, to)?;
    let mut after = StoredProject {
        name: to.clone(),
        ..before
    };
    rows.rename_project(&after, name)?;
    let changed = ChangedItem::project(to, "rename", Some(name.as_str()));
    record(rows, &mut after, &changed, author, now)?;
    Ok(of_project(now))
}

pub(super) fn delete<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    name: &StoreName,
    author: &Author,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let mut project = find(rows, workspace, name)?;
    rows.delete_project(&project)?;
    (project.prompts, project.resources, project.history) = (0, 0, 0);
    let changed = ChangedItem::project(name, "delete", None);
    record(rows, &mut project, &changed, author, now)?;
    Ok(of_project(now))
}

fn refuse_taken<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    name: &StoreName,
) -> Result<(), R::Error> {
    match rows.project(name)? {
        None => Ok(()),
        Some(_) => Err(R::Error::from(StoreError::ProjectExists {
            project: name.clone(),
            workspace: workspace.clone(),
        })),
    }
}

fn of_project(at: Timestamp) -> Written {
    Written {
        version: 0,
        operation: None,
        is_new: true,
        at,
    }
}
