//! The log of changes: who changed what, in a chain for each project.

use std::collections::BTreeMap;

use rusqlite::Row;
use twig_core::audit::{ChainBreak, ChainDigest};
use twig_core::plan::{
    ChainWalk, ChangeQuery, ChangedItem, CheckedChain, LastChange, RecordedChange, StoredProject,
};
use twig_core::store::{Digest, StoreError, StoreName, Timestamp};

use super::SqliteStore;
use super::rows::{self, number};
use super::sql::Sql;
use super::sqlite_error::SqliteError;

/// What a check of all rows has read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifiedRows {
    /// How many versions.
    pub versions: u64,
    /// How many contents.
    pub contents: u64,
}

/// A project that has changes.
pub(super) struct ChangedProject {
    pub(super) name: Box<str>,
    /// Its last change; `None` if it was deleted.
    pub(super) last: Option<LastChange>,
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

    /// Compares all versions and contents with their digests.
    pub fn verify(&self) -> Result<VerifiedRows, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut contents: Vec<Digest> = Vec::new();
            sql.each("SELECT digest FROM content", [], |row| {
                contents.push(row.get(0)?);
                Ok(())
            })?;
            for digest in &contents {
                rows::content(sql, digest)?;
            }
            let versions = rows::verify_versions(sql)?;
            rows::verify_items(sql)?;
            Ok(VerifiedRows {
                versions,
                contents: contents.len() as u64,
            })
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
    // No row but the one of the last change says which one it is; the versions do.
    const UNLOGGED: &str = "SELECT 1 FROM item WHERE project = ?1 AND (kind, name, head) NOT IN \
        (SELECT kind, name, version FROM change WHERE project = ?1) LIMIT 1";
    let mut walk = ChainWalk::new(id, &project.name, project.last);
    each_change(sql, id, &project.name, |change| walk.follow(&change))?;
    let mut chain = walk.end();
    if chain.broken.is_none()
        && chain.unchained == 0
        && sql.first(UNLOGGED, [id], |_| Ok(()))?.is_some()
    {
        chain.broken = Some(ChainBreak::Missing(chain.changes + 1));
    }
    Ok(chain)
}

/// Every project that has changes, by its id.
pub(super) fn changed_projects(
    sql: &Sql<'_>,
) -> Result<BTreeMap<[u8; 16], ChangedProject>, SqliteError> {
    const DELETED: &str = "SELECT DISTINCT project FROM change \
        WHERE project NOT IN (SELECT id FROM project)";
    const NAME: &str = "SELECT name FROM change WHERE project = ?1 AND kind = 'project' \
        ORDER BY rev DESC LIMIT 1";
    let mut projects = BTreeMap::new();
    for StoredProject {
        id,
        name,
        rev,
        digest,
        ..
    } in rows::projects(sql)?
    {
        let project = ChangedProject {
            name: name.as_str().into(),
            last: Some(LastChange { rev, digest }),
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
            last: None,
        };
        projects.insert(id, project);
    }
    Ok(projects)
}

/// Every change of a project, oldest first.
pub(super) fn each_change(
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
