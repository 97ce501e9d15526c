//! Copies all projects of a workspace to another store and from one, with their history.

use rusqlite::TransactionBehavior;
use twig_core::plan::{ItemRow, PlanRows, StoredProject};
use twig_core::store::{Digest, ItemKind, Noun, StoreError, StoreName};

use super::SqliteStore;
use super::apply::{SqlRows, insert};
use super::audit::{changed_projects, each_change};
use super::compact::with_connection;
use super::rows::{self, signed};
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use crate::copied::{CopiedItem, CopiedProject, contents, counts_after, not_empty};

impl SqliteStore {
    /// Everything of every project, also the changes of deleted ones.
    pub(crate) fn copied_projects(&self) -> Result<Vec<CopiedProject>, StoreError> {
        self.reader().read(&self.handle, |sql| {
            let mut copies = Vec::new();
            let projects = rows::projects(sql)?;
            for (id, changed) in changed_projects(sql)? {
                let mut changes = Vec::new();
                each_change(sql, id, &changed.name, |change| changes.push(change))?;
                let project = projects.iter().find(|project| project.id == id).cloned();
                let (items, protected) = match &project {
                    Some(project) => (
                        copied_items(sql, project)?,
                        rows::protected_labels(sql, project)?,
                    ),
                    None => Default::default(),
                };
                copies.push(CopiedProject {
                    id,
                    project,
                    items,
                    protected,
                    changes,
                });
            }
            Ok(copies)
        })
    }

    /// Writes projects of another store as they are, all or none; this workspace has to be empty.
    pub(crate) fn write_copies(
        &self,
        projects: &[CopiedProject],
        content: &dyn Fn(&Digest) -> Result<Vec<u8>, StoreError>,
    ) -> Result<(), StoreError> {
        with_connection(&self.handle.for_writer(), |opened| {
            let behavior = TransactionBehavior::Immediate;
            let transaction = rusqlite::Transaction::new_unchecked(&opened.connection, behavior)?;
            {
                let sql = Sql::new(&transaction);
                if sql
                    .first("SELECT 1 FROM change LIMIT 1", [], |_| Ok(()))?
                    .is_some()
                {
                    return Err(not_empty(&self.handle.workspace).into());
                }
                for digest in contents(projects) {
                    SqlRows(&sql).add_content(&digest, content(&digest)?)?;
                }
                for project in projects {
                    write_copy(&sql, project)?;
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }
}

fn copied_items(sql: &Sql<'_>, project: &StoredProject) -> Result<Vec<CopiedItem>, SqliteError> {
    let all = "SELECT kind, name FROM item WHERE project = ?1 ORDER BY kind, name";
    let mut names: Vec<(Box<str>, Box<str>)> = Vec::new();
    sql.each(all, [project.id], |row| {
        names.push((row.get(0)?, row.get(1)?));
        Ok(())
    })?;
    let mut items = Vec::new();
    for (kind, name) in names {
        let kind = match &*kind {
            "prompt" => ItemKind::Prompt,
            _ => ItemKind::Resource,
        };
        let name = StoreName::parse(Noun::Prompt, &name)
            .map_err(|_| SqliteError::damaged("a name is none"))?;
        let row: ItemRow =
            rows::item(sql, project, kind, &name)?.ok_or_else(|| rows::lost(kind, &name))?;
        items.push(CopiedItem {
            kind,
            versions: rows::history(sql, kind, &name, &row)?,
            labels: rows::labels(sql, &row)?,
            name,
            row,
        });
    }
    Ok(items)
}

fn write_copy(sql: &Sql<'_>, copied: &CopiedProject) -> Result<(), SqliteError> {
    let mut rows = SqlRows(sql);
    if let Some(project) = &copied.project {
        rows.add_project(project)?;
        for label in &copied.protected {
            rows.set_protected(project, label, true)?;
        }
    }
    for item in &copied.items {
        let row = &item.row;
        sql.run(
            "INSERT INTO item (project, kind, name, id, first, head, deleted, uri) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                row.project,
                item.kind.as_str(),
                item.name.as_str(),
                row.id,
                signed(row.first),
                signed(row.head),
                row.is_deleted,
                item.uri(),
            ),
        )?;
        for version in &item.versions {
            insert(sql, row.id, item.kind, &item.name, version)?;
        }
        for (label, version) in &item.labels {
            rows.set_label(row, label, Some(*version))?;
        }
    }
    for change in &copied.changes {
        let [prompts, resources, history] = counts_after(change).map(signed);
        let entry = &change.entry;
        sql.run(
            "INSERT INTO change (project, rev, kind, name, version, at, prompts, resources, \
             history, action, detail, actor, client, digest) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            (
                copied.id,
                signed(entry.number),
                &change.kind,
                &change.name,
                signed(change.version),
                entry.at.0,
                prompts,
                resources,
                history,
                &entry.action,
                &change.detail,
                &entry.actor,
                &entry.client,
                change.digest.as_ref().map(|digest| *digest.as_bytes()),
            ),
        )?;
    }
    Ok(())
}
