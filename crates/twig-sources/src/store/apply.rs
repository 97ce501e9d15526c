//! The rows of a workspace's file, as the plan of a write reads and writes them. The caller begins and
//! ends the transaction.

pub(super) mod versions;

use twig_core::Limits;
use twig_core::audit::{AuditEntry, ChainDigest};
use twig_core::plan::{ChangedItem, ItemRow, PlanRows, StoredProject, plan};
use twig_core::store::{
    Digest, ItemKind, LabelName, Noun, Operation, StoreError, StoreName, Timestamp, Version, Write,
    Written,
};

pub use self::versions::OldVersions;
use super::clock::new_id;
use super::rows::{self, number, signed};
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
    plan(&mut SqlRows(sql), workspace, limits, write, now)
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

/// The rows inside a transaction.
pub(super) struct SqlRows<'s, 'c>(pub(super) &'s Sql<'c>);

impl PlanRows for SqlRows<'_, '_> {
    type Error = SqliteError;

    fn damaged(&self, what: &str) -> SqliteError {
        SqliteError::damaged(what)
    }

    fn new_id(&mut self) -> [u8; 16] {
        new_id().into_bytes()
    }

    fn project(&mut self, name: &StoreName) -> Result<Option<StoredProject>, SqliteError> {
        rows::project(self.0, name)
    }

    fn item(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Option<ItemRow>, SqliteError> {
        rows::item(self.0, project, kind, name)
    }

    fn head(
        &mut self,
        kind: ItemKind,
        name: &StoreName,
        item: &ItemRow,
    ) -> Result<Version, SqliteError> {
        rows::head(self.0, kind, name, item)
    }

    fn version(
        &mut self,
        kind: ItemKind,
        name: &StoreName,
        item: &ItemRow,
        number: u64,
    ) -> Result<Option<Version>, SqliteError> {
        rows::version(self.0, kind, name, item, number)
    }

    fn labels(&mut self, item: &ItemRow) -> Result<Vec<(LabelName, u64)>, SqliteError> {
        rows::labels(self.0, item)
    }

    fn count_labels(&mut self, project: &StoredProject) -> Result<u64, SqliteError> {
        let count = "SELECT count(*) FROM label WHERE project = ?1";
        let all = self
            .0
            .first(count, [project.id], |row| Ok(number(row, 0)?))?;
        Ok(all.unwrap_or_default())
    }

    fn protected_labels(&mut self, project: &StoredProject) -> Result<Vec<LabelName>, SqliteError> {
        rows::protected_labels(self.0, project)
    }

    fn uri_owner(
        &mut self,
        project: &StoredProject,
        uri: &str,
        (kind, name): (ItemKind, &StoreName),
    ) -> Result<Option<StoreName>, SqliteError> {
        let other = "SELECT name FROM item WHERE project = ?1 AND uri = ?2 AND deleted = 0 \
                     AND NOT (kind = ?3 AND name = ?4)";
        let parameters = (project.id, uri, kind.as_str(), name.as_str());
        self.0.first(other, parameters, |row| {
            let by: Box<str> = row.get(0)?;
            StoreName::parse(Noun::Resource, &by)
                .map_err(|_| SqliteError::damaged("a name is none"))
        })
    }

    fn near(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        wanted: &StoreName,
    ) -> Result<Vec<Box<str>>, SqliteError> {
        rows::near(self.0, project, kind, wanted)
    }

    fn add_content(&mut self, digest: &Digest, bytes: Vec<u8>) -> Result<bool, SqliteError> {
        let added = self.0.run(
            "INSERT INTO content (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
            (digest, bytes),
        )?;
        Ok(added > 0)
    }

    fn add_version(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
        item: Option<&ItemRow>,
        version: &Version,
    ) -> Result<(), SqliteError> {
        let number = signed(version.number);
        let is_deleted = rows::is_deletion(version);
        let key = (project.id, kind.as_str(), name.as_str());
        let id = if let Some(item) = item {
            self.0.run(
                "UPDATE item SET head = ?4, deleted = ?5, uri = ?6 \
                 WHERE project = ?1 AND kind = ?2 AND name = ?3",
                (key.0, key.1, key.2, number, is_deleted, &version.uri),
            )?;
            item.id
        } else {
            let id = self.new_id();
            self.0.run(
                "INSERT INTO item (project, kind, name, id, head, deleted, uri) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (key.0, key.1, key.2, id, number, is_deleted, &version.uri),
            )?;
            id
        };
        insert(self.0, id, kind, name, version)
    }

    fn rename_item(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        (name, to): (&StoreName, &StoreName),
        item: &ItemRow,
    ) -> Result<(), SqliteError> {
        let sql = self.0;
        sql.run(
            "UPDATE item SET name = ?4 WHERE project = ?1 AND kind = ?2 AND name = ?3",
            (project.id, kind.as_str(), name.as_str(), to.as_str()),
        )?;
        // One at a time: there may be many.
        for number in numbers(sql, item)? {
            let version = rows::version(sql, kind, name, item, number)?;
            let version = version.ok_or_else(|| rows::lost(kind, name))?;
            sql.run(
                "DELETE FROM version WHERE item = ?1 AND number = ?2",
                (item.id, signed(number)),
            )?;
            insert(sql, item.id, kind, to, &version)?;
        }
        Ok(())
    }

    fn set_label(
        &mut self,
        item: &ItemRow,
        label: &LabelName,
        version: Option<u64>,
    ) -> Result<(), SqliteError> {
        match version {
            Some(version) => self.0.run(
                "INSERT INTO label (project, item, label, number) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (project, item, label) DO UPDATE SET number = excluded.number",
                (item.project, item.id, label.as_str(), signed(version)),
            )?,
            None => self.0.run(
                "DELETE FROM label WHERE project = ?1 AND item = ?2 AND label = ?3",
                (item.project, item.id, label.as_str()),
            )?,
        };
        Ok(())
    }

    fn set_protected(
        &mut self,
        project: &StoredProject,
        label: &LabelName,
        is_protected: bool,
    ) -> Result<(), SqliteError> {
        let statement = if is_protected {
            "INSERT INTO protected_label (project, label) VALUES (?1, ?2)"
        } else {
            "DELETE FROM protected_label WHERE project = ?1 AND label = ?2"
        };
        self.0.run(statement, (project.id, label.as_str()))?;
        Ok(())
    }

    fn add_project(&mut self, project: &StoredProject) -> Result<(), SqliteError> {
        self.0.run(
            "INSERT INTO project (id, name, created) VALUES (?1, ?2, ?3)",
            (project.id, project.name.as_str(), project.created.0),
        )?;
        Ok(())
    }

    fn rename_project(
        &mut self,
        project: &StoredProject,
        _old: &StoreName,
    ) -> Result<(), SqliteError> {
        self.0.run(
            "UPDATE project SET name = ?2 WHERE id = ?1",
            (project.id, project.name.as_str()),
        )?;
        Ok(())
    }

    fn delete_project(&mut self, project: &StoredProject) -> Result<(), SqliteError> {
        delete_project(self.0, project)
    }

    fn add_change(
        &mut self,
        project: &StoredProject,
        changed: &ChangedItem<'_>,
        entry: &AuditEntry,
        digest: ChainDigest,
    ) -> Result<(), SqliteError> {
        self.0.run(
            "INSERT INTO change (project, rev, kind, name, version, at, prompts, resources, \
             history, action, detail, actor, client, digest) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            (
                project.id,
                signed(entry.number),
                changed.kind,
                changed.name,
                signed(changed.version),
                entry.at.0,
                signed(project.prompts),
                signed(project.resources),
                signed(project.history),
                changed.action,
                changed.detail,
                &entry.actor,
                &entry.client,
                digest.as_bytes(),
            ),
        )?;
        Ok(())
    }
}

/// The numbers of all versions that are kept, also of those that only a label keeps.
fn numbers(sql: &Sql<'_>, item: &ItemRow) -> Result<Vec<u64>, SqliteError> {
    let all = "SELECT number FROM version WHERE item = ?1 AND number < ?2";
    let mut numbers = Vec::new();
    sql.each(all, (item.id, signed(item.first)), |row| {
        numbers.push(rows::number(row, 0)?);
        Ok(())
    })?;
    numbers.extend(item.first..=item.head);
    Ok(numbers)
}

/// Adds the row of a version.
pub(super) fn insert(
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
            version.digest(kind, name),
        ),
    )?;
    Ok(())
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
fn prepare_forgetting(sql: &Sql<'_>) -> Result<(), SqliteError> {
    sql.run(
        "CREATE TEMP TABLE IF NOT EXISTS gone (digest BLOB NOT NULL PRIMARY KEY)",
        [],
    )?;
    sql.run("DELETE FROM gone", [])?;
    Ok(())
}

/// Deletes the listed contents that no version uses any more.
fn forget_contents(sql: &Sql<'_>) -> Result<(), SqliteError> {
    sql.run(
        "DELETE FROM content WHERE digest IN (SELECT digest FROM gone) \
         AND digest NOT IN (SELECT content FROM version)",
        [],
    )?;
    sql.run("DELETE FROM gone", [])?;
    Ok(())
}
