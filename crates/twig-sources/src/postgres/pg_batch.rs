//! A batch of writes in two round trips: one reads and locks, the plan decides in memory, one writes
//! and commits.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use twig_core::plan::plan;
use twig_core::store::{
    Change, Digest, GivenContent, ItemKind, LabelChange, Noun, StoreError, StoreName, Timestamp,
    Write, Written,
};
use twig_core::{Contents, Limits};
use uuid::Uuid;

use super::isolation::show_to;
use super::loaded_rows::{LoadedRows, MadeRows, RowId, with_near};
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_rows::{
    ITEM_COLUMNS, digest, id, item_columns, item_row, kind, label, name, number, project_columns,
    project_row, signed, version_columns, version_row, with_head,
};
use super::{PgValue, lock_key, schema};

/// The outcome of each write of a batch.
pub(super) type PgOutcomes = Vec<Result<Written, StoreError>>;

/// True if a write can share its transaction with others of its kind.
pub(super) fn is_shared(write: &Write) -> bool {
    matches!(
        write,
        Write::Item(_) | Write::Label(_) | Write::Protect { .. }
    )
}

/// A batch that was decided and not yet written.
pub(super) struct PlannedBatch {
    pub(super) made: MadeRows,
    pub(super) outcomes: PgOutcomes,
}

impl PlannedBatch {
    /// The change by which to find out whether the batch was committed.
    pub(super) fn evidence(&self) -> Option<(RowId, u64, Digest)> {
        let change = self.made.changes.last()?;
        let digest = *change.digest?.as_bytes();
        Some((change.project, change.entry.number, digest))
    }
}

/// The rows that writes ask for, as parallel lists for `unnest`.
#[derive(Default)]
struct WantedRows<'w> {
    projects: BTreeSet<&'w str>,
    items: [Vec<&'w str>; 3],
    versions: ([Vec<&'w str>; 3], Vec<i64>),
    /// Of this item, all versions.
    whole: Option<[&'w str; 3]>,
    contents: Vec<Vec<u8>>,
    has_labels: bool,
    uris: Vec<&'w str>,
    /// A restored version may have any URI.
    has_restore: bool,
    is_deletion: bool,
}

impl<'w> WantedRows<'w> {
    /// A URI whose owner is wanted. PostgreSQL takes no text with a NUL, and the plan refuses such a URI
    /// in words.
    fn uri(&mut self, uri: Option<&'w str>) {
        self.uris.extend(uri.filter(|uri| !uri.contains('\0')));
    }

    fn item(&mut self, project: &'w StoreName, kind: ItemKind, name: &'w StoreName) {
        let key = [project.as_str(), kind.as_str(), name.as_str()];
        self.projects.insert(key[0]);
        for (list, part) in self.items.iter_mut().zip(key) {
            list.push(part);
        }
    }

    fn version(
        &mut self,
        project: &'w StoreName,
        kind: ItemKind,
        name: &'w StoreName,
        number: u64,
    ) {
        let key = [project.as_str(), kind.as_str(), name.as_str()];
        for (list, part) in self.versions.0.iter_mut().zip(key) {
            list.push(part);
        }
        self.versions.1.push(signed(number));
    }

    fn content(&mut self, given: &GivenContent) {
        // Text of a binary type is base64, and the type may be that of the last version.
        if let Ok(Contents::Bytes(bytes)) = given.read("application/octet-stream") {
            self.contents.push(Sha256::digest(&bytes).to_vec());
        }
        let bytes: &[u8] = match given {
            GivenContent::Text(text) => text.as_bytes(),
            GivenContent::Bytes(bytes) => bytes,
        };
        self.contents.push(Sha256::digest(bytes).to_vec());
    }

    fn add(&mut self, write: &'w Write) {
        match write {
            Write::CreateProject { name, .. } => {
                self.projects.insert(name.as_str());
            }
            Write::RenameProject { name, to, .. } => {
                self.projects.extend([name.as_str(), to.as_str()]);
            }
            Write::DeleteProject { name, .. } => {
                self.is_deletion = true;
                self.projects.insert(name.as_str());
            }
            Write::RenameItem {
                project,
                kind,
                name,
                to,
                ..
            } => {
                self.item(project, *kind, name);
                self.item(project, *kind, to);
                self.whole = Some([project.as_str(), kind.as_str(), name.as_str()]);
            }
            Write::Protect { project, .. } => {
                self.has_labels = true;
                self.projects.insert(project.as_str());
            }
            Write::Label(write) => {
                self.has_labels = true;
                self.item(&write.project, write.kind, &write.name);
                if let LabelChange::Set {
                    version: Some(version),
                } = write.change
                {
                    self.version(&write.project, write.kind, &write.name, version);
                }
            }
            Write::Item(write) => {
                self.item(&write.project, write.kind, &write.name);
                match &write.change {
                    Change::Create(draft) => {
                        self.content(&draft.content);
                        self.uri(draft.uri.as_deref());
                    }
                    Change::Update(patch) => {
                        if let Some(content) = &patch.content {
                            self.content(content);
                        }
                        self.uri(patch.uri.as_deref());
                    }
                    Change::Delete => {}
                    Change::Restore { version } => {
                        self.has_restore = true;
                        if let Some(version) = version {
                            self.version(&write.project, write.kind, &write.name, *version);
                        }
                    }
                }
            }
        }
    }
}

/// Runs a statement if it is needed.
async fn query_if(
    is_needed: bool,
    client: &PgClient,
    sql: &'static str,
    parameters: &[PgValue<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    if is_needed {
        client.query_typed(sql, parameters).await
    } else {
        Ok(Vec::new())
    }
}

/// Begins a transaction, locks the projects of the writes and decides them. The transaction stays
/// open.
pub(super) async fn plan_batch(
    client: &PgClient,
    (workspace, workspace_name): (Uuid, &StoreName),
    limits: &Limits,
    writes: &[&Write],
) -> Result<PlannedBatch, PgFault> {
    let mut wanted = WantedRows::default();
    for write in writes {
        wanted.add(write);
    }
    client.prepare().await?;
    let (mut rows, now, is_there) = load(client, workspace, limits, &wanted).await?;
    if !is_there {
        return Err(PgFault::Refused(StoreError::NoWorkspace {
            workspace: workspace_name.clone(),
        }));
    }
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let kept = rows.made.contents.len();
        // The clocks of databases can be set back.
        let changed = rows.projects.values().map(|project| project.changed).max();
        let now = changed.map_or(now, |changed| now.max(changed));
        outcomes.push(match plan(&mut rows, workspace_name, limits, write, now) {
            Ok(written) => Ok(written),
            Err(PgFault::Refused(error)) if error.is_callers() => {
                rows.forget_contents(kept);
                Err(error)
            }
            Err(fault) => return Err(fault),
        });
    }
    for outcome in &mut outcomes {
        if let Err(StoreError::Missing { kind, project, .. }) = outcome {
            let names = live_names(client, workspace, project, *kind).await?;
            let error = std::mem::replace(outcome, Err(StoreError::DiskFull));
            *outcome = error.map_err(|error| with_near(error, &names));
        }
    }
    Ok(PlannedBatch {
        made: rows.made,
        outcomes,
    })
}

/// The names of items that exist.
pub(super) async fn live_names(
    client: &PgClient,
    workspace: Uuid,
    project: &StoreName,
    kind: ItemKind,
) -> Result<Vec<Box<str>>, PgFault> {
    let sql = "SELECT i.name FROM twig.item i JOIN twig.project p \
         ON p.workspace = i.workspace AND p.id = i.project \
         WHERE i.workspace = $1 AND p.name = $2 AND i.kind = $3 AND NOT i.deleted";
    let found = client
        .query_typed(
            sql,
            &[
                (&workspace, Type::UUID),
                (&project.as_str(), Type::TEXT),
                (&kind.as_str(), Type::TEXT),
            ],
        )
        .await?;
    let names = found.iter().map(|row| row.try_get::<_, &str>(0));
    let names: Result<Vec<&str>, _> = names.collect();
    Ok(names?.into_iter().map(Box::from).collect())
}

/// The items `i` of keys `k`.
macro_rules! items_of_keys {
    () => {
        " CROSS JOIN LATERAL (SELECT * FROM twig.project \
          WHERE workspace = $1 AND name = k.project OFFSET 0) p \
         CROSS JOIN LATERAL (SELECT * FROM twig.item WHERE workspace = $1 AND project = p.id \
          AND kind = k.kind AND name = k.name OFFSET 0) i"
    };
}

/// The items that lists of projects, kinds and names name.
macro_rules! named_items {
    () => {
        concat!(
            " FROM unnest($2::text[], $3::text[], $4::text[]) AS k (project, kind, name)",
            items_of_keys!()
        )
    };
}

const PROJECTS: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM twig.project p WHERE p.workspace = $1 AND p.name = ANY($2) ORDER BY p.name FOR UPDATE"
);

/// The time, and which tables these are by now; no row if there is no such workspace.
pub(super) const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, \
    m.schema, m.min_writer FROM twig.workspace w LEFT JOIN twig.meta m ON true WHERE w.id = $1";

const ITEMS: &str = concat!(
    "SELECT ",
    item_columns!(),
    ", ",
    version_columns!(),
    named_items!(),
    with_head!()
);

const VERSIONS: &str = concat!(
    "SELECT i.id, i.kind, i.name, ",
    version_columns!(),
    " FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) \
       AS k (project, kind, name, number)",
    items_of_keys!(),
    " CROSS JOIN LATERAL (SELECT * FROM twig.version \
      WHERE workspace = $1 AND item = i.id AND number = k.number OFFSET 0) v"
);

const ALL_VERSIONS: &str = concat!(
    "SELECT i.id, i.kind, i.name, ",
    version_columns!(),
    " FROM twig.project p JOIN twig.item i ON i.workspace = $1 AND i.project = p.id \
       AND i.kind = $3 AND i.name = $4 \
      JOIN twig.version v ON v.workspace = $1 AND v.item = i.id \
      WHERE p.workspace = $1 AND p.name = $2"
);

const LABELS: &str = concat!(
    "SELECT i.id, l.label, l.number",
    named_items!(),
    " CROSS JOIN LATERAL (SELECT * FROM twig.label \
      WHERE workspace = $1 AND project = i.project AND item = i.id OFFSET 0) l"
);

const LABEL_COUNTS: &str = "SELECT l.project, count(*) FROM twig.label l JOIN twig.project p \
    ON p.workspace = l.workspace AND p.id = l.project \
    WHERE l.workspace = $1 AND p.name = ANY($2) GROUP BY l.project";

const PROTECTED: &str = "SELECT l.project, l.label FROM twig.protected_label l \
    JOIN twig.project p ON p.workspace = l.workspace AND p.id = l.project \
    WHERE l.workspace = $1 AND p.name = ANY($2)";

const URIS: &str = "SELECT i.project, i.uri, i.kind, i.name FROM twig.project p \
    CROSS JOIN LATERAL (SELECT * FROM twig.item WHERE workspace = $1 AND project = p.id \
     AND NOT deleted AND uri IS NOT NULL AND ($4 OR uri = ANY($3)) OFFSET 0) i \
    WHERE p.workspace = $1 AND p.name = ANY($2)";

const CONTENTS: &str = "SELECT digest FROM twig.content WHERE workspace = $1 AND digest = ANY($2)";

/// The first statements of a transaction.
async fn begin(
    client: &PgClient,
    workspace: Uuid,
    limits: &Limits,
    is_deletion: bool,
) -> Result<(), PgFault> {
    const TIMEOUT: &str = "SELECT set_config('lock_timeout', $1, true)";
    // Whoever removes contents must be alone: others may be about to use one of them.
    let lock = if is_deletion {
        "SELECT pg_advisory_xact_lock($1)"
    } else {
        "SELECT pg_advisory_xact_lock_shared($1)"
    };
    let millis = limits.store_millis.clamp(1, 600_000).to_string();
    let (millis, key): ([PgValue<'_>; 1], [PgValue<'_>; 1]) = (
        [(&millis, Type::TEXT)],
        [(&lock_key(workspace), Type::INT8)],
    );
    let (begun, limited, shown, locked) = join!(
        biased;
        client.batch_execute("BEGIN"),
        client.query_typed(TIMEOUT, &millis),
        show_to(client, workspace),
        client.query_typed(lock, &key),
    );
    begun?;
    limited?;
    shown?;
    locked?;
    Ok(())
}

/// The first round trip. Each statement sees what was committed before it, and the second one waits
/// until nobody else writes to these projects.
async fn load(
    client: &PgClient,
    workspace: Uuid,
    limits: &Limits,
    wanted: &WantedRows<'_>,
) -> Result<(LoadedRows, Timestamp, bool), PgFault> {
    let of: PgValue<'_> = (&workspace, Type::UUID);
    let projects: Vec<&str> = wanted.projects.iter().copied().collect();
    let names: PgValue<'_> = (&projects, Type::TEXT_ARRAY);
    let in_projects = [of.clone(), names.clone()];
    let [item_projects, item_kinds, item_names] = &wanted.items;
    let item_keys: [PgValue<'_>; 4] = [
        of.clone(),
        (item_projects, Type::TEXT_ARRAY),
        (item_kinds, Type::TEXT_ARRAY),
        (item_names, Type::TEXT_ARRAY),
    ];
    let (keys, numbers) = &wanted.versions;
    let [version_projects, version_kinds, version_names] = keys;
    let version_keys: [PgValue<'_>; 5] = [
        of.clone(),
        (version_projects, Type::TEXT_ARRAY),
        (version_kinds, Type::TEXT_ARRAY),
        (version_names, Type::TEXT_ARRAY),
        (numbers, Type::INT8_ARRAY),
    ];
    let [whole_project, whole_kind, whole_name] = wanted.whole.unwrap_or_default();
    let whole_keys: [PgValue<'_>; 4] = [
        of.clone(),
        (&whole_project, Type::TEXT),
        (&whole_kind, Type::TEXT),
        (&whole_name, Type::TEXT),
    ];
    let uri_keys: [PgValue<'_>; 4] = [
        of.clone(),
        names.clone(),
        (&wanted.uris, Type::TEXT_ARRAY),
        (&wanted.has_restore, Type::BOOL),
    ];
    let content_keys: [PgValue<'_>; 2] = [of.clone(), (&wanted.contents, Type::BYTEA_ARRAY)];
    let (has_items, has_labels) = (!item_names.is_empty(), wanted.has_labels);
    let has_uris = wanted.has_restore || !wanted.uris.is_empty();
    let answers = join!(
        biased;
        begin(client, workspace, limits, wanted.is_deletion),
        client.query_typed(PROJECTS, &in_projects),
        client.query_typed(CLOCK, &in_projects[..1]),
        query_if(has_items, client, ITEMS, &item_keys),
        query_if(!numbers.is_empty(), client, VERSIONS, &version_keys),
        query_if(wanted.whole.is_some(), client, ALL_VERSIONS, &whole_keys),
        query_if(has_labels && has_items, client, LABELS, &item_keys),
        query_if(has_labels, client, LABEL_COUNTS, &in_projects),
        query_if(has_labels, client, PROTECTED, &in_projects),
        query_if(has_uris, client, URIS, &uri_keys),
        query_if(!wanted.contents.is_empty(), client, CONTENTS, &content_keys),
    );
    // The first error is the cause of all others.
    answers.0?;
    let projects = answers.1?;
    let clock = answers.2?;
    let answers = BatchAnswers {
        projects,
        items: answers.3?,
        versions: answers.4?.into_iter().chain(answers.5?).collect(),
        labels: answers.6?,
        label_counts: answers.7?,
        protected: answers.8?,
        uris: answers.9?,
        contents: answers.10?,
    };
    if let Some(row) = clock.first() {
        schema::check_row(row, 1)?;
    }
    let now = clock.first().map(|row| row.try_get(0)).transpose()?;
    let now_or_never = Timestamp(now.unwrap_or_default());
    Ok((answers.read()?, now_or_never, now.is_some()))
}

/// What the database said.
struct BatchAnswers {
    projects: Vec<Row>,
    items: Vec<Row>,
    versions: Vec<Row>,
    labels: Vec<Row>,
    label_counts: Vec<Row>,
    protected: Vec<Row>,
    uris: Vec<Row>,
    contents: Vec<Row>,
}

impl BatchAnswers {
    fn read(&self) -> Result<LoadedRows, PgFault> {
        let mut rows = LoadedRows::default();
        for row in &self.projects {
            let project = project_row(row)?;
            rows.projects.insert(project.name.clone(), project);
        }
        for row in &self.items {
            let (kind, name, item) = item_row(row)?;
            let head = version_row(kind, &name, row, ITEM_COLUMNS)?;
            rows.versions.insert((item.id, head.number), head);
            rows.items.insert((item.project, kind, name), item);
        }
        for row in &self.versions {
            let (item, kind) = (id(row, 0)?, kind(row, 1)?);
            let version = version_row(kind, &name(kind.noun(), row, 2)?, row, 3)?;
            rows.versions.insert((item, version.number), version);
        }
        for row in &self.labels {
            let of = rows.labels.entry(id(row, 0)?).or_default();
            of.insert(label(row, 1)?, number(row, 2)?);
        }
        for row in &self.label_counts {
            rows.label_counts.insert(id(row, 0)?, number(row, 1)?);
        }
        for row in &self.protected {
            let of = rows.protected.entry(id(row, 0)?).or_default();
            of.insert(label(row, 1)?);
        }
        for row in &self.uris {
            let uri: &str = row.try_get(1)?;
            let owner = (kind(row, 2)?, name(Noun::Resource, row, 3)?);
            rows.uris.insert((id(row, 0)?, uri.into()), owner);
        }
        for row in &self.contents {
            rows.contents.insert(digest(row, 0)?);
        }
        Ok(rows)
    }
}
