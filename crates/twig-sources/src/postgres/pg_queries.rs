//! What the connection that reads asks for: a project as of one moment, what changed in it, and the
//! versions of one item.

use std::collections::HashMap;

use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use twig_core::plan::{ItemRow, StoredProject, no_label};
use twig_core::store::{
    Item, ItemKind, LabelName, LabelledVersion, Operation, StoreError, StoreName, Version,
    VersionChoice,
};

use super::isolation::begin_snapshot;
use super::loaded_rows::{lost, with_near};
use super::pg_batch::live_names;
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_rows::{
    ITEM_COLUMNS, id, item_columns, item_row, kind, label, maybe_digest, name, number,
    project_columns, project_row, signed, version_columns, version_row, with_head,
};
use super::{PgShared, PgValue, uuid_of};

/// With more changes than this, the whole project is read.
const MOST_CHANGES: u64 = 256;

/// What became of a project since it was read.
pub(super) enum CaughtUp {
    /// It does not exist any more.
    Gone,
    /// The project, and the items that changed: `None` for those that were deleted.
    Changed(StoredProject, Vec<(ItemKind, StoreName, Option<Item>)>),
    /// The change that was its last one is not in its history any more. Its last change now.
    Replaced(u64),
    /// It has to be read again.
    Unclear,
}

/// Reads what changed since a project was read.
pub(super) async fn catch_up(
    client: &PgClient,
    shared: &PgShared,
    known: &StoredProject,
) -> Result<CaughtUp, PgFault> {
    let (of, rev) = (uuid_of(known.id), signed(known.rev));
    let named: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&known.name.as_str(), Type::TEXT)];
    let since: [PgValue<'_>; 3] = [
        (&shared.id, Type::UUID),
        (&of, Type::UUID),
        (&rev, Type::INT8),
    ];
    let (begun, project, at, items, labels, ended) = join!(
        biased;
        begin_snapshot(client, shared.id),
        client.query_typed(PROJECT, &named),
        client.query_typed(
            "SELECT digest FROM twig.change WHERE workspace = $1 AND project = $2 AND rev = $3",
            &since,
        ),
        client.query_typed(CHANGED_HEADS, &since),
        client.query_typed(CHANGED_LABELLED, &since),
        client.batch_execute("COMMIT"),
    );
    begun?;
    let project = project?.first().map(project_row).transpose()?;
    let at = at?.first().map(|row| maybe_digest(row, 0)).transpose()?;
    let (items, labels) = (items?, labels?);
    ended?;
    let Some(project) = project else {
        return Ok(CaughtUp::Gone);
    };
    if project.id != known.id {
        return Ok(CaughtUp::Unclear);
    }
    let is_kept = at.flatten() == known.digest.map(|digest| *digest.as_bytes());
    if !is_kept || project.rev < known.rev {
        return Ok(CaughtUp::Replaced(project.rev));
    }
    if project.rev - known.rev > MOST_CHANGES {
        return Ok(CaughtUp::Unclear);
    }
    let mut labels = labelled(&labels)?;
    let mut changes = Vec::new();
    for row in &items {
        let (kind, name, item) = item_row(row)?;
        let head = version_row(kind, &name, row, ITEM_COLUMNS)?;
        if (head.operation == Operation::Delete) != item.is_deleted {
            return Err(lost(kind, &name));
        }
        let labels = labels.remove(&item.id).unwrap_or_default();
        let current = Item {
            kind,
            name: name.clone(),
            head,
            labels,
        };
        changes.push((kind, name, Some(current).filter(|_| !item.is_deleted)));
    }
    Ok(CaughtUp::Changed(project, changes))
}

const PROJECT: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM twig.project p WHERE p.workspace = $1 AND p.name = $2"
);

/// The items `i` that changed in a project after a change: at most one more than [`MOST_CHANGES`].
macro_rules! changed_items {
    () => {
        " FROM (SELECT DISTINCT kind, name FROM (SELECT kind, name FROM twig.change \
          WHERE workspace = $1 AND project = $2 AND rev > $3 ORDER BY rev LIMIT 257) c) k \
         CROSS JOIN LATERAL (SELECT * FROM twig.item WHERE workspace = $1 AND project = $2 \
          AND kind = k.kind AND name = k.name OFFSET 0) i"
    };
}

/// The version `v` that label `l` of item `i` is at.
macro_rules! with_labelled {
    () => {
        " LEFT JOIN LATERAL (SELECT * FROM twig.version \
          WHERE workspace = $1 AND item = i.id AND number = l.number OFFSET 0) v ON true"
    };
}

const CHANGED_HEADS: &str = concat!(
    "SELECT ",
    item_columns!(),
    ", ",
    version_columns!(),
    changed_items!(),
    with_head!()
);

const CHANGED_LABELLED: &str = concat!(
    "SELECT i.id, i.kind, i.name, l.label, ",
    version_columns!(),
    changed_items!(),
    " CROSS JOIN LATERAL (SELECT * FROM twig.label \
      WHERE workspace = $1 AND project = $2 AND item = i.id OFFSET 0) l",
    with_labelled!()
);

const PROJECT_HEADS: &str = concat!(
    "SELECT ",
    item_columns!(),
    ", ",
    version_columns!(),
    " FROM (SELECT id FROM twig.project WHERE workspace = $1 AND name = $2) p \
     CROSS JOIN LATERAL (SELECT * FROM twig.item \
      WHERE workspace = $1 AND project = p.id AND NOT deleted OFFSET 0) i",
    with_head!()
);

const PROJECT_LABELLED: &str = concat!(
    "SELECT i.id, i.kind, i.name, l.label, ",
    version_columns!(),
    " FROM (SELECT id FROM twig.project WHERE workspace = $1 AND name = $2) p \
     CROSS JOIN LATERAL (SELECT * FROM twig.label \
      WHERE workspace = $1 AND project = p.id OFFSET 0) l \
     CROSS JOIN LATERAL (SELECT * FROM twig.item \
      WHERE workspace = $1 AND id = l.item AND NOT deleted OFFSET 0) i",
    with_labelled!()
);

/// Reads a project with all its items, as of one moment.
pub(super) async fn read_all(
    client: &PgClient,
    shared: &PgShared,
    name: &StoreName,
) -> Result<Option<(StoredProject, Vec<Item>)>, PgFault> {
    let named: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&name.as_str(), Type::TEXT)];
    let (begun, project, items, labels, ended) = join!(
        biased;
        begin_snapshot(client, shared.id),
        client.query_typed(PROJECT, &named),
        client.query_typed(PROJECT_HEADS, &named),
        client.query_typed(PROJECT_LABELLED, &named),
        client.batch_execute("COMMIT"),
    );
    begun?;
    let project = project?;
    let (items, labels) = (items?, labels?);
    ended?;
    let Some(row) = project.first() else {
        return Ok(None);
    };
    let project = project_row(row)?;
    let mut labels = labelled(&labels)?;
    let mut found = Vec::with_capacity(items.len());
    for row in &items {
        let (kind, name, item) = item_row(row)?;
        let head = version_row(kind, &name, row, ITEM_COLUMNS)?;
        if head.operation == Operation::Delete {
            return Err(lost(kind, &name));
        }
        let labels = labels.remove(&item.id).unwrap_or_default();
        found.push(Item {
            kind,
            name,
            head,
            labels,
        });
    }
    found.sort_unstable_by(|one, two| (one.kind, &one.name).cmp(&(two.kind, &two.name)));
    if are_all(&found, &project) {
        return Ok(Some((project, found)));
    }
    let what = format!("project '{}' lacks something", project.name);
    Err(PgFault::Damaged(what))
}

/// The labelled versions of items, sorted by label.
fn labelled(rows: &[Row]) -> Result<HashMap<[u8; 16], Vec<LabelledVersion>>, PgFault> {
    let mut labels: HashMap<[u8; 16], Vec<LabelledVersion>> = HashMap::new();
    for row in rows {
        let kind = kind(row, 1)?;
        let version = version_row(kind, &name(kind.noun(), row, 2)?, row, 4)?;
        let label = label(row, 3)?;
        let of = labels.entry(id(row, 0)?).or_default();
        of.push(LabelledVersion { label, version });
    }
    for of in labels.values_mut() {
        of.sort_by(|one, two| one.label.cmp(&two.label));
    }
    Ok(labels)
}

/// True if there are as many prompts and resources as the project records.
pub(super) fn are_all(items: &[Item], project: &StoredProject) -> bool {
    let prompts = items.partition_point(|item| item.kind == ItemKind::Prompt);
    let counts = [prompts, items.len() - prompts].map(|count| count as u64);
    counts == [project.prompts, project.resources]
}

pub(super) async fn find_project(
    client: &PgClient,
    shared: &PgShared,
    project: &StoreName,
) -> Result<StoredProject, PgFault> {
    let named: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&project.as_str(), Type::TEXT)];
    let rows = client.query_typed(PROJECT, &named).await?;
    let row = rows.first().ok_or_else(|| {
        PgFault::Refused(StoreError::NoProject {
            project: project.clone(),
            workspace: shared.workspace.clone(),
        })
    })?;
    project_row(row)
}

/// A prompt or resource, deleted or not; the error suggests similar names.
pub(super) async fn find_item(
    client: &PgClient,
    shared: &PgShared,
    project: &StoreName,
    kind: ItemKind,
    name: &StoreName,
) -> Result<ItemRow, PgFault> {
    let found = find_project(client, shared, project).await?;
    let of = uuid_of(found.id);
    let sql = concat!(
        "SELECT ",
        item_columns!(),
        " FROM twig.item i WHERE i.workspace = $1 AND i.project = $2 AND i.kind = $3 \
         AND i.name = $4"
    );
    let values: [PgValue<'_>; 4] = [
        (&shared.id, Type::UUID),
        (&of, Type::UUID),
        (&kind.as_str(), Type::TEXT),
        (&name.as_str(), Type::TEXT),
    ];
    let rows = client.query_typed(sql, &values).await?;
    if let Some(row) = rows.first() {
        return Ok(item_row(row)?.2);
    }
    let names = live_names(client, shared.id, project, kind).await?;
    let error = StoreError::Missing {
        kind,
        name: name.clone(),
        project: project.clone(),
        near: Vec::new(),
    };
    Err(with_near(error, &names).into())
}

pub(super) async fn labels_of(
    client: &PgClient,
    shared: &PgShared,
    item: &ItemRow,
) -> Result<Vec<(LabelName, u64)>, PgFault> {
    let (project, of) = (uuid_of(item.project), uuid_of(item.id));
    let sql = "SELECT label, number FROM twig.label \
        WHERE workspace = $1 AND project = $2 AND item = $3 ORDER BY label";
    let values: [PgValue<'_>; 3] = [
        (&shared.id, Type::UUID),
        (&project, Type::UUID),
        (&of, Type::UUID),
    ];
    let rows = client.query_typed(sql, &values).await?;
    let labels = rows.iter().map(|row| Ok((label(row, 0)?, number(row, 1)?)));
    labels.collect()
}

/// The version that a choice means.
pub(super) async fn one_version(
    client: &PgClient,
    shared: &PgShared,
    (kind, name): (ItemKind, &StoreName),
    item: &ItemRow,
    choice: &VersionChoice,
) -> Result<Version, PgFault> {
    let version = match choice {
        VersionChoice::Number(number) => *number,
        VersionChoice::Label(label) => {
            let labels = labels_of(client, shared, item).await?;
            match labels.iter().find(|(known, _)| known == label) {
                Some((_, number)) => *number,
                None => return Err(no_label(kind, name, label, labels).into()),
            }
        }
    };
    let sql = concat!(
        "SELECT ",
        version_columns!(),
        " FROM twig.version v WHERE v.workspace = $1 AND v.item = $2 AND v.number = $3"
    );
    let (of, wanted) = (uuid_of(item.id), signed(version));
    let values: [PgValue<'_>; 3] = [
        (&shared.id, Type::UUID),
        (&of, Type::UUID),
        (&wanted, Type::INT8),
    ];
    let rows = client.query_typed(sql, &values).await?;
    let row = rows.first().ok_or_else(|| {
        PgFault::Refused(StoreError::NoVersion {
            kind,
            name: name.clone(),
            version,
            first: item.first,
            last: item.head,
        })
    })?;
    version_row(kind, name, row, 0)
}
