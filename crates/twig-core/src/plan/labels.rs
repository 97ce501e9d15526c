//! Labels of versions, and which of them are protected.

use super::{ChangedItem, ItemRow, PlanRows, StoredProject, explain, record};
use crate::limits::Limits;
use crate::store::{
    Author, ItemKind, LabelChange, LabelName, LabelWrite, MOST_LABELS, MOST_PROTECTED, Operation,
    StoreError, StoreName, Timestamp, Written,
};

/// Sets, moves or removes a label.
pub(super) fn label<R: PlanRows>(
    rows: &mut R,
    mut project: StoredProject,
    limits: &Limits,
    write: &LabelWrite,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let (kind, name, label) = (write.kind, &write.name, &write.label);
    let is_removed = write.change == LabelChange::Remove;
    // A deleted item keeps its labels, which can be removed.
    let item = rows.item(&project, kind, name)?;
    let Some(item) = item.filter(|item| is_removed || !item.is_deleted) else {
        let error = StoreError::Missing {
            kind,
            name: name.clone(),
            project: project.name.clone(),
            near: Vec::new(),
        };
        return Err(explain(rows, &project, None, error)?.into());
    };
    let labels = rows.labels(&item)?;
    let current = labels.iter().find(|(known, _)| known == label);
    let current = current.map(|(_, number)| *number);
    let version = match (write.change, current) {
        (LabelChange::Set { version }, _) => {
            let version = version.unwrap_or(item.head);
            check_version(rows, write, &item, version)?;
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
    if !write.is_admin && rows.protected_labels(&project)?.contains(label) {
        return Err(R::Error::from(StoreError::LabelProtected {
            label: label.clone(),
            project: project.name,
        }));
    }
    if !is_removed && current.is_none() {
        check_room(rows, &project, limits, write, labels.len())?;
    }
    rows.set_label(&item, label, Some(version).filter(|_| !is_removed))?;
    let changed = ChangedItem {
        kind: kind.as_str(),
        name: name.as_str(),
        version,
        action: if is_removed { "unlabel" } else { "label" },
        detail: Some(label.as_str()),
    };
    record(rows, &mut project, &changed, &write.author, now)?;
    Ok(written(true))
}

/// Protects a label, or no longer.
pub(super) fn protect<R: PlanRows>(
    rows: &mut R,
    mut project: StoredProject,
    label: &LabelName,
    is_protected: bool,
    author: &Author,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let labels = rows.protected_labels(&project)?;
    let is_new = labels.contains(label) != is_protected;
    if is_new {
        if is_protected && labels.len() >= MOST_PROTECTED {
            return Err(R::Error::from(StoreError::TooManyLabels {
                place: format!("Project '{}'", project.name).into(),
                limit: MOST_PROTECTED,
            }));
        }
        rows.set_protected(&project, label, is_protected)?;
        let name = project.name.clone();
        let action = if is_protected { "protect" } else { "unprotect" };
        let changed = ChangedItem::project(&name, action, Some(label.as_str()));
        record(rows, &mut project, &changed, author, now)?;
    }
    Ok(Written {
        version: 0,
        operation: None,
        is_new,
        at: now,
    })
}

/// Refuses a version that does not exist or has no content.
fn check_version<R: PlanRows>(
    rows: &mut R,
    write: &LabelWrite,
    item: &ItemRow,
    version: u64,
) -> Result<(), R::Error> {
    let (kind, name) = (write.kind, &write.name);
    match rows.version(kind, name, item, version)? {
        Some(found) if found.operation == Operation::Delete => {
            Err(R::Error::from(StoreError::LabelOfDeletion {
                kind,
                name: name.clone(),
                version,
            }))
        }
        Some(_) => Ok(()),
        None => Err(R::Error::from(StoreError::NoVersion {
            kind,
            name: name.clone(),
            version,
            first: item.first,
            last: item.head,
        })),
    }
}

/// Refuses one label too many, of an item or of the project.
fn check_room<R: PlanRows>(
    rows: &mut R,
    project: &StoredProject,
    limits: &Limits,
    write: &LabelWrite,
    own: usize,
) -> Result<(), R::Error> {
    let all = rows.count_labels(project)?;
    let (place, limit) = if own >= MOST_LABELS {
        let place = format!("{} '{}'", write.kind.noun(), write.name);
        (place, MOST_LABELS)
    } else if all >= limits.project_items as u64 {
        (format!("Project '{}'", project.name), limits.project_items)
    } else {
        return Ok(());
    };
    let place = place.into();
    Err(StoreError::TooManyLabels { place, limit }.into())
}

/// The error for a label that an item does not have.
pub fn no_label(
    kind: ItemKind,
    name: &StoreName,
    label: &LabelName,
    labels: Vec<(LabelName, u64)>,
) -> StoreError {
    StoreError::NoLabel {
        kind,
        name: name.clone(),
        label: label.clone(),
        labels: labels.into_iter().map(|(label, _)| label).collect(),
    }
}
