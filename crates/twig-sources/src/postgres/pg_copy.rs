//! Copies all projects of a workspace to another store and from one, with their history.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::Type;
use twig_core::store::{Digest, Noun, StoreError, StoreName};
use uuid::Uuid;

use super::isolation::show;
use super::loaded_rows::{MadeChange, MadeItem, MadeRows, MadeVersion};
use super::pg_client::PgClient;
use super::pg_commit::{commit, write_rows};
use super::pg_fault::PgFault;
use super::pg_queries::{find_project, labels_of};
use super::pg_rows::{item_columns, item_row, version_columns, version_row};
use super::{PgShared, PgStore, PgValue, lock_key, uuid_of};
use crate::copied::{CopiedItem, CopiedProject, contents, counts_after, not_empty};

/// How long one step of a copy may take.
const LONGEST_STEP: Duration = Duration::from_secs(600);

/// Bytes of contents that are written together.
const TOGETHER: usize = 8 * 1024 * 1024;

impl PgStore {
    /// Everything of every project, also the changes of deleted ones.
    pub(crate) fn copied_projects(&self) -> Result<Vec<CopiedProject>, StoreError> {
        let mut all = Vec::new();
        for (id, (name, is_deleted)) in self.reader.changed_projects(&self.shared)? {
            let changes = self.reader.changes_of(&self.shared, id, &name)?;
            let mut copied = CopiedProject {
                id: id.into_bytes(),
                project: None,
                items: Vec::new(),
                protected: Vec::new(),
                changes,
            };
            if !is_deleted {
                let name = StoreName::parse(Noun::Project, &name)?;
                let read = self.reader.read(&self.shared, &async |client: &PgClient| {
                    let project = find_project(client, &self.shared, &name).await?;
                    let items = copied_items(client, &self.shared, id).await?;
                    Ok((project, items))
                });
                let (project, items) = read?;
                copied.protected = self.reader.protected_labels(&self.shared, &name)?;
                copied.project = Some(project);
                copied.items = items;
            }
            all.push(copied);
        }
        Ok(all)
    }

    /// Writes projects of another store as they are, all or none; this workspace has to be empty.
    pub(crate) fn write_copies(
        &self,
        projects: &[CopiedProject],
        content: &dyn Fn(&Digest) -> Result<Vec<u8>, StoreError>,
    ) -> Result<(), StoreError> {
        // Nobody waits for the database while a content is read, maybe from the same one.
        let client = self.step(self.begin_copy())?;
        let add = |made: &MadeRows| self.step(write_rows(&client, self.shared.id, made, ""));
        let mut made = MadeRows::default();
        let mut bytes = 0;
        for digest in contents(projects) {
            let content = content(&digest)?;
            bytes += content.len();
            made.contents.push((digest, content));
            if bytes >= TOGETHER {
                add(&std::mem::take(&mut made))?;
                bytes = 0;
            }
        }
        add(&made)?;
        for project in projects {
            add(&rows_of(project))?;
        }
        self.step(commit(&client, self.shared.id, &MadeRows::default()))
    }

    /// Begins a transaction beside which nobody else writes to the workspace.
    async fn begin_copy(&self) -> Result<PgClient, PgFault> {
        let shared = &self.shared;
        let client = shared.connect_checked(true).await?;
        let (show, key) = (show(shared.id), lock_key(shared.id));
        let begin = format!(
            "BEGIN; {show}; SET LOCAL statement_timeout = 0; \
             SET LOCAL idle_in_transaction_session_timeout = '600s'; \
             SELECT pg_advisory_xact_lock({key})"
        );
        client.batch_execute(&begin).await?;
        let sql = "SELECT EXISTS (SELECT 1 FROM twig.change WHERE workspace = $1)";
        let values: [PgValue<'_>; 1] = [(&shared.id, Type::UUID)];
        let is_used: bool = client.query_typed_one(sql, &values).await?.try_get(0)?;
        if is_used {
            return Err(not_empty(&shared.workspace).into());
        }
        Ok(client)
    }

    /// Waits for one step of a copy.
    fn step<T>(&self, step: impl Future<Output = Result<T, PgFault>>) -> Result<T, StoreError> {
        let shared = &self.shared;
        let done = shared.database.wait(Instant::now() + LONGEST_STEP, step);
        done.map_err(|fault| fault.describe(&shared.workspace, shared.millis, true))
    }
}

async fn copied_items(
    client: &PgClient,
    shared: &PgShared,
    project: Uuid,
) -> Result<Vec<CopiedItem>, PgFault> {
    const ITEMS: &str = concat!(
        "SELECT ",
        item_columns!(),
        " FROM twig.item i WHERE i.workspace = $1 AND i.project = $2 ORDER BY i.kind, i.name"
    );
    const VERSIONS: &str = concat!(
        "SELECT ",
        version_columns!(),
        " FROM twig.version v WHERE v.workspace = $1 AND v.item = $2 ORDER BY v.number"
    );
    let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&project, Type::UUID)];
    let rows = client.query_typed(ITEMS, &values).await?;
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        let (kind, name, row) = item_row(row)?;
        let id = uuid_of(row.id);
        let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&id, Type::UUID)];
        let versions = client.query_typed(VERSIONS, &values).await?;
        let versions = versions.iter().map(|row| version_row(kind, &name, row, 0));
        items.push(CopiedItem {
            kind,
            versions: versions.collect::<Result<_, _>>()?,
            labels: labels_of(client, shared, &row).await?,
            name,
            row,
        });
    }
    Ok(items)
}

fn rows_of(copied: &CopiedProject) -> MadeRows {
    let mut made = MadeRows::default();
    if let Some(project) = &copied.project {
        made.created = Some(project.clone());
        made.projects.insert(project.id, project.clone());
    }
    for label in &copied.protected {
        made.protected.push((copied.id, label.clone(), true));
    }
    for item in &copied.items {
        made.items.push(MadeItem {
            is_new: true,
            project: copied.id,
            kind: item.kind,
            name: item.name.clone(),
            id: item.row.id,
            first: item.row.first,
            head: item.row.head,
            is_deleted: item.row.is_deleted,
            uri: item.uri().map(Box::from),
        });
        for version in &item.versions {
            made.versions.push(MadeVersion {
                item: item.row.id,
                version: version.clone(),
                digest: version.digest(item.kind, &item.name),
            });
        }
        for (label, version) in &item.labels {
            let label = (item.row.clone(), label.clone(), Some(*version));
            made.labels.push(label);
        }
    }
    for change in &copied.changes {
        let [prompts, resources, history] = counts_after(change);
        made.changes.push(MadeChange {
            after: [prompts, resources, history],
            project: copied.id,
            kind: change.kind.clone(),
            name: change.name.clone(),
            version: change.version,
            detail: change.detail.clone(),
            entry: change.entry.clone(),
            digest: change.digest,
        });
    }
    made
}
