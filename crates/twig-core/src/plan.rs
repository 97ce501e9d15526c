//! One plan for every store: what rows a write makes, or why it is refused.
//!
//! A store lends its rows ([`PlanRows`]) inside a transaction and translates rows to its own
//! language. It decides nothing itself, so all stores give the same answers.

mod change_log;
mod labels;
mod plan_rows;
mod projects;
mod rename;

pub use self::change_log::{
    BEFORE_THE_CHAIN, ChainWalk, ChangeQuery, ChangedItem, CheckedChain, LastChange,
    RecordedChange, chain_start, record,
};
pub use self::labels::no_label;
pub use self::plan_rows::{ItemRow, PlanRows, StoredProject};
use crate::limits::Limits;
use crate::store::{
    Author, Change, Decision, ItemKind, ItemWrite, Next, Operation, StoreError, StoreName,
    Timestamp, Version, Write, Written, decide,
};

/// Performs a write at a given time: rows are read and written, or it is refused.
///
/// The caller undoes what a refused write has written.
pub fn plan<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    limits: &Limits,
    write: &Write,
    now: Timestamp,
) -> Result<Written, R::Error> {
    match write {
        Write::Item(write) => plan_item(rows, workspace, limits, write, now),
        Write::CreateProject { name, author } => {
            projects::create(rows, workspace, name, author, now)
        }
        Write::RenameProject { name, to, author } => {
            projects::rename(rows, workspace, (name, to), author, now)
        }
        Write::DeleteProject { name, author } => {
            projects::delete(rows, workspace, name, author, now)
        }
        Write::Label(write) => {
            let project = find(rows, workspace, &write.project)?;
            labels::label(rows, project, limits, write, now)
        }
        Write::Protect {
            project,
            label,
            is_protected,
            author,
        } => {
            let project = find(rows, workspace, project)?;
            labels::protect(rows, project, label, *is_protected, author, now)
        }
        Write::RenameItem {
            project,
            kind,
            name,
            to,
            expected,
            author,
        } => {
            let project = find(rows, workspace, project)?;
            let names = (name, to);
            rename::rename(rows, project, *kind, names, *expected, author, now)
        }
    }
}

fn plan_item<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    limits: &Limits,
    write: &ItemWrite,
    now: Timestamp,
) -> Result<Written, R::Error> {
    let (kind, name) = (write.kind, &write.name);
    let project = find(rows, workspace, &write.project)?;
    let item = rows.item(&project, kind, name)?;
    let head = match &item {
        Some(item) => Some(rows.head(kind, name, item)?),
        None => None,
    };
    let wanted = match (&write.change, &item) {
        (
            Change::Restore {
                version: Some(version),
            },
            Some(item),
        ) => rows.version(kind, name, item, *version)?,
        _ => None,
    };
    let decision = decide(write, head.as_ref(), wanted.as_ref(), limits);
    let decision = match decision {
        Ok(decision) => decision,
        Err(error) => return Err(explain(rows, &project, item.as_ref(), error)?.into()),
    };
    let next = match decision {
        Decision::Append(next) => next,
        Decision::Unchanged => {
            let head = head.ok_or_else(|| rows.damaged("nothing is unchanged"))?;
            return Ok(written(&head, false));
        }
    };
    let before = head
        .as_ref()
        .filter(|head| head.operation != Operation::Delete);
    let is_alive = next.operation != Operation::Delete;
    if is_alive && before.is_none() {
        check_room(&project, limits)?;
    }
    if let (true, Some(uri)) = (is_alive, &next.uri) {
        check_uri(rows, &project, kind, name, uri)?;
    }
    let (version, content) = number(next, head.as_ref(), &write.author, now);
    let mut needed = version.cost();
    if let Some(bytes) = content {
        let is_new = rows.add_content(&version.content.digest, bytes)?;
        needed += version.content.size * u64::from(is_new);
    }
    // A full project can still be emptied.
    if is_alive {
        check_history(&project, workspace, needed, limits)?;
    }
    rows.add_version(&project, kind, name, item.as_ref(), &version)?;
    let mut after = project;
    after.history = after.history.saturating_add(needed);
    let count = match kind {
        ItemKind::Prompt => &mut after.prompts,
        ItemKind::Resource => &mut after.resources,
    };
    *count = count.saturating_sub(u64::from(before.is_some())) + u64::from(is_alive);
    let from = match version.operation {
        Operation::Restore { from } => Some(from.to_string()),
        _ => None,
    };
    let changed = ChangedItem {
        kind: kind.as_str(),
        name: name.as_str(),
        version: version.number,
        action: version.operation.as_str(),
        detail: from.as_deref(),
    };
    record(rows, &mut after, &changed, &write.author, now)?;
    Ok(written(&version, true))
}

/// A refusal with facts that only the store knows: similar names, dropped versions.
fn explain<R: PlanRows>(
    rows: &mut R,
    project: &StoredProject,
    item: Option<&ItemRow>,
    mut error: StoreError,
) -> Result<StoreError, R::Error> {
    match &mut error {
        StoreError::Missing {
            kind, name, near, ..
        } => *near = rows.near(project, *kind, name)?,
        StoreError::NoVersion { first, .. } => *first = item.map_or(1, |item| item.first),
        _ => {}
    }
    Ok(error)
}

fn find<R: PlanRows>(
    rows: &mut R,
    workspace: &StoreName,
    name: &StoreName,
) -> Result<StoredProject, R::Error> {
    rows.project(name)?.ok_or_else(|| {
        R::Error::from(StoreError::NoProject {
            project: name.clone(),
            workspace: workspace.clone(),
        })
    })
}

fn check_room(project: &StoredProject, limits: &Limits) -> Result<(), StoreError> {
    let limit = limits.project_items;
    if project.prompts + project.resources < limit as u64 {
        return Ok(());
    }
    let project = project.name.clone();
    Err(StoreError::Full { project, limit })
}

fn check_history(
    project: &StoredProject,
    workspace: &StoreName,
    needed: u64,
    limits: &Limits,
) -> Result<(), StoreError> {
    let limit = limits.project_history;
    if project.history.saturating_add(needed) <= limit as u64 {
        return Ok(());
    }
    Err(StoreError::HistoryFull {
        project: project.name.clone(),
        workspace: workspace.clone(),
        used: project.history,
        needed,
        limit,
    })
}

fn check_uri<R: PlanRows>(
    rows: &mut R,
    project: &StoredProject,
    kind: ItemKind,
    name: &StoreName,
    uri: &str,
) -> Result<(), R::Error> {
    match rows.uri_owner(project, uri, (kind, name))? {
        None => Ok(()),
        Some(by) => Err(R::Error::from(StoreError::UriTaken {
            uri: uri.into(),
            by,
            project: project.name.clone(),
        })),
    }
}

/// The next version, with its number, time and author; and its content, if it has new content.
fn number(
    next: Next,
    head: Option<&Version>,
    author: &Author,
    now: Timestamp,
) -> (Version, Option<Vec<u8>>) {
    let version = Version {
        number: head.map_or(1, |head| head.number + 1),
        operation: next.operation,
        description: next.description,
        uri: next.uri,
        mime: next.mime,
        content: next.content,
        at: now,
        author: author.label(),
    };
    (version, next.new_content)
}

fn written(version: &Version, is_new: bool) -> Written {
    Written {
        version: version.number,
        operation: Some(version.operation),
        is_new,
        at: version.at,
    }
}
