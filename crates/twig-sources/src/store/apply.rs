//! One write, performed within a transaction that the caller begins and ends.

mod labels;
mod projects;
mod rename;
pub(super) mod versions;

use twig_core::Limits;
use twig_core::audit::{AuditEntry, ChainDigest};
use twig_core::store::{
    Author, Change, Decision, ItemKind, ItemWrite, Next, Noun, Operation, StoreError, StoreName,
    Timestamp, Version, Write, Written, decide,
};

pub use self::versions::OldVersions;
use super::clock::new_id;
use super::rows::{self, ItemRow, StoredProject, signed};
use super::sql::Sql;
use super::sqlite_error::SqliteError;

/// Performs a write at a given time.
pub(super) fn apply(
    sql: &Sql<'_>,
    workspace: &StoreName,
    limits: &Limits,
    write: &Write,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    match write {
        Write::Item(write) => apply_item(sql, workspace, limits, write, now),
        Write::CreateProject { name, author } => {
            projects::create(sql, workspace, name, author, now)
        }
        Write::RenameProject { name, to, author } => {
            projects::rename(sql, workspace, (name, to), author, now)
        }
        Write::DeleteProject { name, author } => {
            projects::delete(sql, workspace, name, author, now)
        }
        Write::Label(write) => {
            let project = find(sql, workspace, &write.project)?;
            labels::label(sql, project, limits, write, now)
        }
        Write::Protect {
            project,
            label,
            is_protected,
            author,
        } => {
            let project = find(sql, workspace, project)?;
            labels::protect(sql, project, label, *is_protected, author, now)
        }
        Write::RenameItem {
            project,
            kind,
            name,
            to,
            expected,
            author,
        } => {
            let project = find(sql, workspace, project)?;
            let names = (name, to);
            rename::rename(sql, project, *kind, names, *expected, author, now)
        }
    }
}

fn apply_item(
    sql: &Sql<'_>,
    workspace: &StoreName,
    limits: &Limits,
    write: &ItemWrite,
    now: Timestamp,
) -> Result<Written, SqliteError> {
    let (kind, name) = (write.kind, &write.name);
    let project = find(sql, workspace, &write.project)?;
    let item = rows::item(sql, &project, kind, name)?;
    let head = match &item {
        Some(item) => Some(rows::head(sql, kind, name, item)?),
        None => None,
    };
    let wanted = match (&write.change, &item) {
        (
            Change::Restore {
                version: Some(version),
            },
            Some(item),
        ) => rows::version(sql, kind, name, item, *version)?,
        _ => None,
    };
    let decision = decide(write, head.as_ref(), wanted.as_ref(), limits);
    let decision = match decision {
        Ok(decision) => decision,
        Err(error) => return Err(explain(sql, &project, item.as_ref(), error)?.into()),
    };
    let next = match decision {
        Decision::Append(next) => next,
        Decision::Unchanged => {
            let head = head.ok_or_else(|| SqliteError::damaged("nothing is unchanged"))?;
            return Ok(written(&head, false));
        }
    };
    let before = head.as_ref().filter(|head| !rows::is_deletion(head));
    let is_alive = next.operation != Operation::Delete;
    if is_alive && before.is_none() {
        check_room(&project, limits)?;
    }
    if let (true, Some(uri)) = (is_alive, &next.uri) {
        check_uri(sql, &project, kind, name, uri)?;
    }
    let (version, content) = number(next, head.as_ref(), &write.author, now);
    let mut needed = version.cost();
    if let Some(bytes) = content {
        let is_new = sql.run(
            "INSERT INTO content (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
            (version.content.digest, bytes),
        )?;
        needed += version.content.size * (is_new as u64);
    }
    // A full project can still be emptied.
    if is_alive {
        check_history(&project, workspace, needed, limits)?;
    }
    append(sql, &project, kind, name, item.as_ref(), &version)?;
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
    record(sql, &mut after, &changed, &write.author, now)?;
    Ok(written(&version, true))
}

/// A refusal with facts that only the store knows: similar names, dropped versions.
fn explain(
    sql: &Sql<'_>,
    project: &StoredProject,
    item: Option<&ItemRow>,
    mut error: StoreError,
) -> Result<StoreError, SqliteError> {
    match &mut error {
        StoreError::Missing {
            kind, name, near, ..
        } => *near = rows::near(sql, project, *kind, name)?,
        StoreError::NoVersion { first, .. } => *first = item.map_or(1, |item| item.first),
        _ => {}
    }
    Ok(error)
}

pub(super) fn find(
    sql: &Sql<'_>,
    workspace: &StoreName,
    name: &StoreName,
) -> Result<StoredProject, SqliteError> {
    rows::project(sql, name)?.ok_or_else(|| {
        SqliteError::from(StoreError::NoProject {
            project: name.clone(),
            workspace: workspace.clone(),
        })
    })
}

fn check_room(project: &StoredProject, limits: &Limits) -> Result<(), SqliteError> {
    let limit = limits.project_items;
    if project.prompts + project.resources < limit as u64 {
        return Ok(());
    }
    let project = project.name.clone();
    Err(StoreError::Full { project, limit }.into())
}

fn check_history(
    project: &StoredProject,
    workspace: &StoreName,
    needed: u64,
    limits: &Limits,
) -> Result<(), SqliteError> {
    let limit = limits.project_history;
    if project.history.saturating_add(needed) <= limit as u64 {
        return Ok(());
    }
    Err(SqliteError::from(StoreError::HistoryFull {
        project: project.name.clone(),
        workspace: workspace.clone(),
        used: project.history,
        needed,
        limit,
    }))
}

fn check_uri(
    sql: &Sql<'_>,
    project: &StoredProject,
    kind: ItemKind,
    name: &StoreName,
    uri: &str,
) -> Result<(), SqliteError> {
    let other = "SELECT name FROM item WHERE project = ?1 AND uri = ?2 AND deleted = 0 \
                 AND NOT (kind = ?3 AND name = ?4)";
    let parameters = (project.id, uri, kind.as_str(), name.as_str());
    match sql.first(other, parameters, |row| Ok(row.get::<_, Box<str>>(0)?))? {
        None => Ok(()),
        Some(by) => Err(SqliteError::from(StoreError::UriTaken {
            uri: uri.into(),
            by: StoreName::parse(Noun::Resource, &by)
                .map_err(|_| SqliteError::damaged("a name is none"))?,
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

fn append(
    sql: &Sql<'_>,
    project: &StoredProject,
    kind: ItemKind,
    name: &StoreName,
    item: Option<&ItemRow>,
    version: &Version,
) -> Result<(), SqliteError> {
    let number = signed(version.number);
    let is_deleted = rows::is_deletion(version);
    let id = if let Some(item) = item {
        sql.run(
            "UPDATE item SET head = ?4, deleted = ?5, uri = ?6 \
             WHERE project = ?1 AND kind = ?2 AND name = ?3",
            (
                project.id,
                kind.as_str(),
                name.as_str(),
                number,
                is_deleted,
                &version.uri,
            ),
        )?;
        item.id
    } else {
        let id = new_id().into_bytes();
        sql.run(
            "INSERT INTO item (project, kind, name, id, head, deleted, uri) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                project.id,
                kind.as_str(),
                name.as_str(),
                id,
                number,
                is_deleted,
                &version.uri,
            ),
        )?;
        id
    };
    insert(sql, id, kind, name, version)
}

/// Adds the row of a version.
fn insert(
    sql: &Sql<'_>,
    item: [u8; 16],
    kind: ItemKind,
    name: &StoreName,
    version: &Version,
) -> Result<(), SqliteError> {
    let restored_from = match version.operation {
        Operation::Restore { from } => Some(signed(from)),
        _ => None,
    };
    sql.run(
        "INSERT INTO version (item, number, operation, restored_from, description, uri, mime, \
         content, size, is_text, at, author, digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        (
            item,
            signed(version.number),
            version.operation.as_str(),
            restored_from,
            &version.description,
            &version.uri,
            &version.mime,
            version.content.digest,
            signed(version.content.size),
            version.content.is_text,
            version.at.0,
            &version.author,
            rows::digest_of(kind, name, version),
        ),
    )?;
    Ok(())
}

/// What a write changed: a prompt, a resource or the project itself.
pub(super) struct ChangedItem<'w> {
    pub(super) kind: &'w str,
    pub(super) name: &'w str,
    pub(super) version: u64,
    /// What was done.
    pub(super) action: &'w str,
    /// A label, or a name or number that it was done with.
    pub(super) detail: Option<&'w str>,
}

impl<'w> ChangedItem<'w> {
    fn project(name: &'w StoreName, action: &'w str, detail: Option<&'w str>) -> Self {
        Self {
            kind: "project",
            name: name.as_str(),
            version: 0,
            action,
            detail,
        }
    }

    /// The change as an entry of the project's log. `after` counts the prompts, the resources and
    /// the bytes of versions after it. Neither names nor labels have spaces.
    pub(super) fn entry(
        &self,
        rev: u64,
        after: [u64; 3],
        (actor, client): (Option<Box<str>>, Option<Box<str>>),
        at: Timestamp,
    ) -> AuditEntry {
        let Self {
            kind,
            name,
            version,
            action,
            detail,
        } = self;
        let detail = detail.unwrap_or_default();
        let [prompts, resources, history] = after;
        let what = format!("{kind} {name} {version} {detail} {prompts} {resources} {history}");
        AuditEntry {
            number: rev,
            at,
            actor,
            client,
            action: (*action).into(),
            what: what.into(),
        }
    }
}

/// What the first change of a project follows in its chain.
pub(super) fn chain_start(project: [u8; 16]) -> ChainDigest {
    ChainDigest::start(&format!("project {:032x}", u128::from_be_bytes(project)))
}

/// Records a change of a project. `project` describes its new contents; it gets the new revision.
fn record(
    sql: &Sql<'_>,
    project: &mut StoredProject,
    changed: &ChangedItem<'_>,
    author: &Author,
    now: Timestamp,
) -> Result<(), SqliteError> {
    project.rev += 1;
    let after = [project.prompts, project.resources, project.history];
    let entry = changed.entry(project.rev, after, (author.actor(), author.client()), now);
    let before = project.digest.unwrap_or_else(|| chain_start(project.id));
    let digest = before.next(&entry);
    sql.run(
        "INSERT INTO change (project, rev, kind, name, version, at, prompts, resources, history, \
         action, detail, actor, client, digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        (
            project.id,
            signed(project.rev),
            changed.kind,
            changed.name,
            signed(changed.version),
            now.0,
            signed(project.prompts),
            signed(project.resources),
            signed(project.history),
            changed.action,
            changed.detail,
            entry.actor,
            entry.client,
            digest.as_bytes(),
        ),
    )?;
    project.digest = Some(digest);
    Ok(())
}

fn written(version: &Version, is_new: bool) -> Written {
    Written {
        version: version.number,
        operation: Some(version.operation),
        is_new,
        at: version.at,
    }
}
