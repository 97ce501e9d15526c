//! A new name for a prompt or a resource. It takes all its versions along.

use super::{ChangedItem, PlanRows, StoredProject, explain, record, written};
use crate::store::{Author, ItemKind, StoreError, StoreName, Timestamp, Written};

/// Renames an item of a project from the first name to the second.
pub(super) fn rename<R: PlanRows>(
    rows: &mut R,
    mut project: StoredProject,
    kind: ItemKind,
    (name, to): (&StoreName, &StoreName),
    expected: Option<u64>,
    author: &Author,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let item = rows.item(&project, kind, name)?;
    let Some(item) = item.filter(|item| !item.is_deleted) else {
        let error = StoreError::Missing {
            kind,
            name: name.clone(),
            project: project.name.clone(),
            near: Vec::new(),
        };
        return Err(explain(rows, &project, None, error)?.into());
    };
    let head = rows.head(kind, name, &item)?;
    if let Some(expected) = expected.filter(|expected| *expected != head.number) {
        return Err(R::Error::from(StoreError::Stale {
            kind,
            name: name.clone(),
            expected,
            current: head.number,
        }));
    }
    if name == to {
        return Ok(written(&head, false));
    }
    if let Some(other) = rows.item(&project, kind, to)? {
        let (name, project) = (to.clone(), project.name);
        return Err(R::Error::from(if other.is_deleted {
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
    rows.rename_item(&project, kind, (name, to), &item)?;
    for (name, action, other) in [(name, "rename", to), (to, "renamed", name)] {
        let changed = ChangedItem {
            kind: kind.as_str(),
            name: name.as_str(),
            version: head.number,
            action,
            detail: Some(other.as_str()),
        };
        record(rows, &mut project, &changed, author, now)?;
    }
    Ok(written(&head, true))
}
