//! The log of changes: who changed what, in a chain for each project.

use std::collections::BTreeMap;

use rusqlite::Row;
use twig_core::audit::{AuditEntry, ChainBreak, ChainCheck, ChainDigest};
use twig_core::store::{Digest, StoreError, StoreName, Timestamp};

use super::SqliteStore;
use super::apply::{ChangedItem, chain_start};
use super::rows::{self, StoredProject, number};
use super::sql::Sql;
use super::sqlite_error::SqliteError;

/// Asks for some changes.
#[derive(Debug, Clone, Default)]
pub struct ChangeQuery {
    /// Those of the project with this name, and of deleted ones that had it.
    pub project: Option<StoreName>,
    /// Those made at this time or later.
    pub since: Option<Timestamp>,
}

/// A change of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// The project's name; of a deleted one, the last.
    pub project: Box<str>,
    /// `project`, `prompt` or `resource`.
    pub kind: Box<str>,
    /// What was changed.
    pub name: Box<str>,
    /// Its version; 0 for a project.
    pub version: u64,
    /// A label, or a name or number that it was done with.
    pub detail: Option<Box<str>>,
    /// Number, time, actor, client and action.
    pub entry: AuditEntry,
    /// Its digest; `None` for a change from before the chain.
    pub digest: Option<ChainDigest>,
}

/// The chain of a project, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedChain {
    /// The project's name; of a deleted one, the last.
    pub project: Box<str>,
    /// True if it was deleted.
    pub is_deleted: bool,
    /// How many changes were checked.
    pub changes: u64,
    /// How many changes are from before the chain.
    pub unchained: u64,
    /// The digest of the last change that was checked.
    pub last: Option<ChainDigest>,
    /// Where the chain breaks.
    pub broken: Option<ChainBreak>,
}

/// A project that has changes.
struct ChangedProject {
    name: Box<str>,
    is_deleted: bool,
}

impl SqliteStore {
    /// The changes that a query asks for, oldest first.
    pub fn changes(&self, query: &ChangeQuery) -> Result<Vec<RecordedChange>, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut changes = Vec::new();
            for (id, project) in changed_projects(sql)? {
                let name = query.project.as_ref().map(StoreName::as_str);
                if name.is_some_and(|name| *project.name != *name) {
                    continue;
                }
                each_change(sql, id, &project.name, |change| {
                    if query.since.is_none_or(|since| change.entry.at >= since) {
                        changes.push(change);
                    }
                })?;
            }
            changes.sort_by_key(|change| change.entry.at);
            Ok(changes)
        })
    }

    /// Checks the chain of every project, also of deleted ones; sorted by name.
    pub fn check_changes(&self) -> Result<Vec<CheckedChain>, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut chains = Vec::new();
            for (id, project) in changed_projects(sql)? {
                chains.push(check_chain(sql, id, &project)?);
            }
            chains.sort_by(|one, two| one.project.cmp(&two.project));
            Ok(chains)
        })
    }
}

fn check_chain(
    sql: &Sql<'_>,
    id: [u8; 16],
    project: &ChangedProject,
) -> Result<CheckedChain, SqliteError> {
    let mut chain = CheckedChain {
        project: project.name.clone(),
        is_deleted: project.is_deleted,
        changes: 0,
        unchained: 0,
        last: None,
        broken: None,
    };
    let mut check = ChainCheck::new(chain_start(id));
    each_change(sql, id, &project.name, |change| {
        if chain.broken.is_some() {
            return;
        }
        let number = change.entry.number;
        // Only the migration wrote changes without a digest, and no word for what they did.
        let is_early = chain.changes == 0 && &*change.entry.action == BEFORE_THE_CHAIN;
        match change.digest {
            None if is_early => chain.unchained += 1,
            None => chain.broken = Some(ChainBreak::Changed(number)),
            Some(digest) => {
                // The first change of a project is its creation.
                if chain.changes + chain.unchained == 0 && number != 1 {
                    chain.broken = Some(ChainBreak::Missing(1));
                    return;
                }
                match check.follow(&change.entry, digest) {
                    Ok(()) => {
                        chain.changes += 1;
                        chain.last = Some(digest);
                    }
                    Err(broken) => chain.broken = Some(broken),
                }
            }
        }
    })?;
    Ok(chain)
}

/// The action of a change from before the chain.
const BEFORE_THE_CHAIN: &str = "unknown";

/// Every project that has changes, by its id.
fn changed_projects(sql: &Sql<'_>) -> Result<BTreeMap<[u8; 16], ChangedProject>, SqliteError> {
    const DELETED: &str = "SELECT DISTINCT project FROM change \
        WHERE project NOT IN (SELECT id FROM project)";
    const NAME: &str = "SELECT name FROM change WHERE project = ?1 AND kind = 'project' \
        ORDER BY rev DESC LIMIT 1";
    let mut projects = BTreeMap::new();
    for StoredProject { id, name, .. } in rows::projects(sql)? {
        let project = ChangedProject {
            name: name.as_str().into(),
            is_deleted: false,
        };
        projects.insert(id, project);
    }
    let mut deleted: Vec<[u8; 16]> = Vec::new();
    sql.each(DELETED, [], |row| {
        deleted.push(row.get(0)?);
        Ok(())
    })?;
    for id in deleted {
        let name = sql.first(NAME, [id], |row| Ok(row.get::<_, Box<str>>(0)?))?;
        let project = ChangedProject {
            name: name.unwrap_or_default(),
            is_deleted: true,
        };
        projects.insert(id, project);
    }
    Ok(projects)
}

/// Every change of a project, oldest first.
fn each_change(
    sql: &Sql<'_>,
    id: [u8; 16],
    project: &str,
    mut take: impl FnMut(RecordedChange),
) -> Result<(), SqliteError> {
    const CHANGES: &str = "SELECT rev, kind, name, version, at, prompts, resources, history, \
        action, detail, actor, client, digest FROM change WHERE project = ?1 ORDER BY rev";
    sql.each(CHANGES, [id], |row| {
        take(change_row(project, row)?);
        Ok(())
    })
}

fn change_row(project: &str, row: &Row<'_>) -> Result<RecordedChange, SqliteError> {
    let text = |at| -> rusqlite::Result<Box<str>> { row.get(at) };
    let (kind, name, action) = (text(1)?, text(2)?, text(8)?);
    let detail: Option<Box<str>> = row.get(9)?;
    let version = number(row, 3)?;
    let changed = ChangedItem {
        kind: &kind,
        name: &name,
        version,
        action: &action,
        detail: detail.as_deref(),
    };
    let after = [number(row, 5)?, number(row, 6)?, number(row, 7)?];
    let author = (row.get(10)?, row.get(11)?);
    let entry = changed.entry(number(row, 0)?, after, author, Timestamp(row.get(4)?));
    let digest: Option<Digest> = row.get(12)?;
    Ok(RecordedChange {
        project: project.into(),
        kind,
        name,
        version,
        detail,
        entry,
        digest: digest.map(ChainDigest::from_bytes),
    })
}
