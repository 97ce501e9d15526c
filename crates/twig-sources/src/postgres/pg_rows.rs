//! Reads rows and compares them with their digests: every value that leaves this module is as it was
//! written.

use tokio_postgres::Row;
use twig_core::audit::ChainDigest;
use twig_core::plan::{ChangedItem, ItemRow, RecordedChange, StoredProject};
use twig_core::problem::shorten;
use twig_core::store::{
    ContentInfo, Digest, ItemKind, LabelName, Noun, Operation, StoreName, Timestamp, Version,
};
use uuid::Uuid;

use super::pg_fault::PgFault;

/// The columns of [`project_row`].
macro_rules! project_columns {
    () => {
        "p.id, p.name, p.created, p.rev, p.prompts, p.resources, p.history, p.changed, p.chain, \
         EXISTS (SELECT 1 FROM twig.label o WHERE o.workspace = p.workspace AND o.project = p.id)"
    };
}

/// The columns of [`item_row`].
macro_rules! item_columns {
    () => {
        "i.project, i.kind, i.name, i.id, i.head, i.deleted, i.first"
    };
}

/// The columns of [`version_row`].
macro_rules! version_columns {
    () => {
        "v.number, v.operation, v.restored_from, v.description, v.uri, v.mime, v.content, v.size, \
         v.is_text, v.at, v.author, v.digest"
    };
}

/// The columns of [`change_row`].
macro_rules! change_columns {
    () => {
        "rev, kind, name, version, at, prompts, resources, history, action, detail, actor, client, \
         digest"
    };
}

/// The last version `v` of item `i` in workspace `$1`.
macro_rules! with_head {
    () => {
        " LEFT JOIN LATERAL (SELECT * FROM twig.version \
          WHERE workspace = $1 AND item = i.id AND number = i.head OFFSET 0) v ON true"
    };
}

pub(super) use {change_columns, item_columns, project_columns, version_columns, with_head};

/// How many columns [`item_columns`] has.
pub(super) const ITEM_COLUMNS: usize = 7;

pub(super) fn project_row(row: &Row) -> Result<StoredProject, PgFault> {
    Ok(StoredProject {
        id: id(row, 0)?,
        name: name(Noun::Project, row, 1)?,
        created: Timestamp(row.try_get(2)?),
        rev: number(row, 3)?,
        prompts: number(row, 4)?,
        resources: number(row, 5)?,
        history: number(row, 6)?,
        changed: Timestamp(row.try_get(7)?),
        digest: maybe_digest(row, 8)?.map(ChainDigest::from_bytes),
        has_labels: row.try_get(9)?,
    })
}

pub(super) fn item_row(row: &Row) -> Result<(ItemKind, StoreName, ItemRow), PgFault> {
    let kind = kind(row, 1)?;
    let item = ItemRow {
        project: id(row, 0)?,
        id: id(row, 3)?,
        head: number(row, 4)?,
        is_deleted: row.try_get(5)?,
        first: number(row, 6)?,
    };
    Ok((kind, name(kind.noun(), row, 2)?, item))
}

pub(super) fn version_row(
    kind: ItemKind,
    name: &StoreName,
    row: &Row,
    first: usize,
) -> Result<Version, PgFault> {
    let restored_from: Option<i64> = row.try_get(first + 2)?;
    let operation: Option<&str> = row.try_get(first + 1)?;
    let operation = match (operation, restored_from) {
        (Some("create"), None) => Operation::Create,
        (Some("update"), None) => Operation::Update,
        (Some("delete"), None) => Operation::Delete,
        (Some("restore"), Some(_)) => Operation::Restore {
            from: number(row, first + 2)?,
        },
        _ => {
            let what = format!("{} '{name}' has lost a version", kind.as_str());
            return Err(PgFault::Damaged(what));
        }
    };
    let version = Version {
        number: number(row, first)?,
        operation,
        description: text(row, first + 3)?,
        uri: text(row, first + 4)?,
        mime: text(row, first + 5)?,
        content: ContentInfo {
            digest: digest(row, first + 6)?,
            size: number(row, first + 7)?,
            is_text: row.try_get(first + 8)?,
        },
        at: Timestamp(row.try_get(first + 9)?),
        author: row.try_get::<_, &str>(first + 10)?.into(),
    };
    if digest(row, first + 11)? == version.digest(kind, name) {
        return Ok(version);
    }
    Err(PgFault::Damaged(format!(
        "version {} of {} '{name}' differs from what was written",
        version.number,
        kind.as_str()
    )))
}

pub(super) fn change_row(project: &str, row: &Row) -> Result<RecordedChange, PgFault> {
    let needed =
        |at: usize| -> Result<Box<str>, PgFault> { Ok(row.try_get::<_, &str>(at)?.into()) };
    let (kind, name, action) = (needed(1)?, needed(2)?, needed(8)?);
    let detail = text(row, 9)?;
    let version = number(row, 3)?;
    let changed = ChangedItem {
        kind: &kind,
        name: &name,
        version,
        action: &action,
        detail: detail.as_deref(),
    };
    let after = [number(row, 5)?, number(row, 6)?, number(row, 7)?];
    let author = (text(row, 10)?, text(row, 11)?);
    let entry = changed.entry(number(row, 0)?, after, author, Timestamp(row.try_get(4)?));
    let digest = maybe_digest(row, 12)?.map(ChainDigest::from_bytes);
    Ok(RecordedChange {
        project: project.into(),
        kind,
        name,
        version,
        detail,
        entry,
        digest,
    })
}

pub(super) fn id(row: &Row, at: usize) -> Result<[u8; 16], PgFault> {
    Ok(row.try_get::<_, Uuid>(at)?.into_bytes())
}

pub(super) fn kind(row: &Row, at: usize) -> Result<ItemKind, PgFault> {
    match row.try_get(at)? {
        "prompt" => Ok(ItemKind::Prompt),
        "resource" => Ok(ItemKind::Resource),
        _ => Err(PgFault::Damaged(
            "something is neither prompt nor resource".to_owned(),
        )),
    }
}

pub(super) fn name(noun: Noun, row: &Row, at: usize) -> Result<StoreName, PgFault> {
    let text = row.try_get(at)?;
    StoreName::parse(noun, text)
        .map_err(|_| PgFault::Damaged(format!("{:?} is no valid name", shorten(text, 64))))
}

pub(super) fn label(row: &Row, at: usize) -> Result<LabelName, PgFault> {
    let text = row.try_get(at)?;
    LabelName::parse(text)
        .map_err(|_| PgFault::Damaged(format!("{:?} is no valid label", shorten(text, 64))))
}

pub(super) fn number(row: &Row, at: usize) -> Result<u64, PgFault> {
    let signed: i64 = row.try_get(at)?;
    u64::try_from(signed).map_err(|_| PgFault::Damaged("a number is negative".to_owned()))
}

/// PostgreSQL's integers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn digest(row: &Row, at: usize) -> Result<Digest, PgFault> {
    maybe_digest(row, at)?.ok_or_else(|| PgFault::Damaged("a digest is missing".to_owned()))
}

pub(super) fn maybe_digest(row: &Row, at: usize) -> Result<Option<Digest>, PgFault> {
    let bytes: Option<&[u8]> = row.try_get(at)?;
    let digest = bytes.map(Digest::try_from).transpose();
    digest.map_err(|_| PgFault::Damaged("a digest has another length".to_owned()))
}

fn text(row: &Row, at: usize) -> Result<Option<Box<str>>, PgFault> {
    Ok(row.try_get::<_, Option<&str>>(at)?.map(Box::from))
}
