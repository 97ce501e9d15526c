//! Reads rows and compares them with their digests: every value that leaves this module is as it
//! was written.

use std::ops::Range;

use rusqlite::Row;
use sha2::{Digest as _, Sha256};
use twig_core::audit::ChainDigest;
use twig_core::plan::{ItemRow, StoredProject};
use twig_core::store::{
    ContentInfo, Digest, Item, ItemKind, LabelName, LabelledVersion, Noun, Operation, StoreName,
    Timestamp, Version,
};
use twig_core::suggest;

use super::sql::Sql;
use super::sqlite_error::SqliteError;

/// All projects, or the one with a name.
macro_rules! project_query {
    ($end:literal) => {
        concat!(
            "SELECT id, project.name, created, rev, prompts, resources, history, at, digest, \
             EXISTS (SELECT 1 FROM label WHERE label.project = project.id) \
             FROM project LEFT JOIN change ON project = id \
             AND rev = (SELECT max(rev) FROM change WHERE project = id) ",
            $end
        )
    };
}

/// All projects, sorted by name.
pub(super) fn projects(sql: &Sql<'_>) -> Result<Vec<StoredProject>, SqliteError> {
    let mut projects = Vec::new();
    sql.each(project_query!("ORDER BY project.name"), [], |row| {
        projects.push(project_row(row)?);
        Ok(())
    })?;
    Ok(projects)
}

/// The project with that name.
pub(super) fn project(
    sql: &Sql<'_>,
    name: &StoreName,
) -> Result<Option<StoredProject>, SqliteError> {
    let one = project_query!("WHERE project.name = ?1");
    sql.first(one, [name.as_str()], project_row)
}

fn project_row(row: &Row<'_>) -> Result<StoredProject, SqliteError> {
    let name = name(Noun::Project, row, 1)?;
    if row.get::<_, Option<i64>>(3)?.is_none() {
        let what = format!("project '{name}' has lost its changes");
        return Err(SqliteError::damaged(what));
    }
    Ok(StoredProject {
        id: row.get(0)?,
        name,
        created: Timestamp(row.get(2)?),
        rev: number(row, 3)?,
        prompts: number(row, 4)?,
        resources: number(row, 5)?,
        history: number(row, 6)?,
        changed: Timestamp(row.get(7)?),
        digest: row
            .get::<_, Option<Digest>>(8)?
            .map(ChainDigest::from_bytes),
        has_labels: row.get(9)?,
    })
}

/// A prompt or resource, deleted or not.
pub(super) fn item(
    sql: &Sql<'_>,
    project: &StoredProject,
    kind: ItemKind,
    name: &StoreName,
) -> Result<Option<ItemRow>, SqliteError> {
    let one = "SELECT id, head, deleted, first FROM item \
        WHERE project = ?1 AND kind = ?2 AND name = ?3";
    sql.first(one, (project.id, kind.as_str(), name.as_str()), |row| {
        Ok(ItemRow {
            project: project.id,
            id: row.get(0)?,
            head: number(row, 1)?,
            is_deleted: row.get(2)?,
            first: number(row, 3)?,
        })
    })
}

/// The columns of [`version_row`].
macro_rules! version_columns {
    () => {
        "version.number, version.operation, version.restored_from, version.description, \
         version.uri, version.mime, version.content, version.size, version.is_text, version.at, \
         version.author, version.digest"
    };
}

/// One version of an item; `None` if there is no such version.
pub(super) fn version(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
    number: u64,
) -> Result<Option<Version>, SqliteError> {
    let one = concat!(
        "SELECT ",
        version_columns!(),
        " FROM version WHERE item = ?1 AND number = ?2"
    );
    sql.first(one, (item.id, signed(number)), |row| {
        version_row(kind, name, row, 0)
    })
}

/// The last version of an item.
pub(super) fn head(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
) -> Result<Version, SqliteError> {
    let newest = "SELECT max(number) FROM version WHERE item = ?1";
    let newest = sql.first(newest, [item.id], |row| Ok(number(row, 0)?))?;
    let head = version(sql, kind, name, item, item.head)?;
    match head {
        Some(head) if newest == Some(item.head) && item.is_deleted == is_deletion(&head) => {
            Ok(head)
        }
        _ => Err(lost(kind, name)),
    }
}

/// Every kept version of an item, oldest first.
pub(super) fn history(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
) -> Result<Vec<Version>, SqliteError> {
    let mut versions: Vec<Version> = Vec::new();
    let all = concat!(
        "SELECT ",
        version_columns!(),
        " FROM version WHERE item = ?1 ORDER BY number"
    );
    sql.each(all, [item.id], |row| {
        versions.push(version_row(kind, name, row, 0)?);
        Ok(())
    })?;
    // Of those before the first one, only the ones with a label have to be there.
    let old = versions.partition_point(|version| version.number < item.first);
    let (old, kept) = versions.split_at(old);
    let kept = kept.iter().map(|version| version.number);
    if item.first <= item.head
        && kept.eq(item.first..=item.head)
        && has_labelled(sql, item, old, 0..u64::MAX)?
    {
        Ok(versions)
    } else {
        Err(lost(kind, name))
    }
}

/// Up to `most` kept versions of an item before a number, newest first.
pub(super) fn versions(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
    before: u64,
    most: usize,
) -> Result<Vec<Version>, SqliteError> {
    let some = concat!(
        "SELECT ",
        version_columns!(),
        " FROM version WHERE item = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3"
    );
    let mut versions: Vec<Version> = Vec::new();
    sql.each(
        some,
        (item.id, signed(before), signed(most as u64)),
        |row| {
            versions.push(version_row(kind, name, row, 0)?);
            Ok(())
        },
    )?;
    let last = item.head.min(before.saturating_sub(1));
    let expected = (item.first..=last).rev().take(most);
    let kept = versions.partition_point(|version| version.number >= item.first);
    let (kept, old) = versions.split_at(kept);
    let from = match versions.last() {
        Some(oldest) if versions.len() >= most => oldest.number,
        _ => 0,
    };
    if expected.eq(kept.iter().map(|version| version.number))
        && has_labelled(sql, item, old, from..before)?
    {
        Ok(versions)
    } else {
        Err(lost(kind, name))
    }
}

/// True if versions before the first one that is kept include those in a range that have a label.
fn has_labelled(
    sql: &Sql<'_>,
    item: &ItemRow,
    old: &[Version],
    range: Range<u64>,
) -> Result<bool, SqliteError> {
    let is_there = |number: u64| old.iter().any(|version| version.number == number);
    let labels = labels(sql, item)?;
    let mut numbers = labels.iter().map(|(_, number)| *number);
    Ok(numbers.all(|number| number >= item.first || !range.contains(&number) || is_there(number)))
}

/// The labels of an item with the numbers of their versions, sorted by label.
pub(super) fn labels(sql: &Sql<'_>, item: &ItemRow) -> Result<Vec<(LabelName, u64)>, SqliteError> {
    const LABELS: &str = "SELECT label, number FROM label WHERE project = ?1 AND item = ?2 \
        ORDER BY label";
    let mut labels = Vec::new();
    sql.each(LABELS, (item.project, item.id), |row| {
        labels.push((label(row, 0)?, number(row, 1)?));
        Ok(())
    })?;
    Ok(labels)
}

/// The same with the versions themselves. Most projects have no labels at all.
pub(super) fn labelled(
    sql: &Sql<'_>,
    project: &StoredProject,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
) -> Result<Vec<LabelledVersion>, SqliteError> {
    if !project.has_labels {
        return Ok(Vec::new());
    }
    let labels = labels(sql, item)?.into_iter();
    let labelled = labels.map(|(label, number)| {
        let version = version(sql, kind, name, item, number)?;
        let version = version.ok_or_else(|| lost(kind, name))?;
        Ok(LabelledVersion { label, version })
    });
    labelled.collect()
}

/// The labels of a project that are protected, sorted.
pub(super) fn protected_labels(
    sql: &Sql<'_>,
    project: &StoredProject,
) -> Result<Vec<LabelName>, SqliteError> {
    const PROTECTED: &str = "SELECT label FROM protected_label WHERE project = ?1 ORDER BY label";
    let mut labels = Vec::new();
    sql.each(PROTECTED, [project.id], |row| {
        labels.push(label(row, 0)?);
        Ok(())
    })?;
    Ok(labels)
}

fn label(row: &Row<'_>, at: usize) -> Result<LabelName, SqliteError> {
    let text: Box<str> = row.get(at)?;
    LabelName::parse(&text).map_err(|_| SqliteError::damaged("a label is none"))
}

pub(super) fn lost(kind: ItemKind, name: &StoreName) -> SqliteError {
    SqliteError::damaged(format!("{} '{name}' has lost a version", kind.as_str()))
}

/// The current contents of a project: prompts first, then resources, each sorted by name.
pub(super) fn items(sql: &Sql<'_>, project: &StoredProject) -> Result<Vec<Item>, SqliteError> {
    let all = concat!(
        "SELECT item.kind, item.name, item.uri, \
         (SELECT max(number) FROM version WHERE version.item = item.id), ",
        version_columns!(),
        " FROM item LEFT JOIN version ON version.item = item.id AND version.number = item.head \
         WHERE item.project = ?1 AND item.deleted = 0 ORDER BY item.kind, item.name"
    );
    let mut items: Vec<Item> = Vec::new();
    sql.each(all, [project.id], |row| {
        let kind = kind(row, 0)?;
        let name = name(kind.noun(), row, 1)?;
        let uri: Option<Box<str>> = row.get(2)?;
        let newest = number(row, 3)?;
        let head = version_row(kind, &name, row, 4)?;
        let is_after = |last: &Item| (last.kind, &last.name) < (kind, &name);
        if newest != head.number
            || is_deletion(&head)
            || uri != head.uri
            || !items.last().is_none_or(is_after)
        {
            let what = format!("{} '{name}' is out of date", kind.as_str());
            return Err(SqliteError::damaged(what));
        }
        let labels = Vec::new();
        items.push(Item {
            kind,
            name,
            head,
            labels,
        });
        Ok(())
    })?;
    add_labels(sql, project, &mut items)?;
    if are_all(&items, project) {
        Ok(items)
    } else {
        let what = format!("project '{}' lacks something", project.name);
        Err(SqliteError::damaged(what))
    }
}

/// Adds the labelled versions of all items of a project.
fn add_labels(
    sql: &Sql<'_>,
    project: &StoredProject,
    items: &mut [Item],
) -> Result<(), SqliteError> {
    if !project.has_labels {
        return Ok(());
    }
    let all = concat!(
        "SELECT item.kind, item.name, label.label, ",
        version_columns!(),
        " FROM item CROSS JOIN label ON label.project = item.project AND label.item = item.id \
         LEFT JOIN version ON version.item = item.id AND version.number = label.number \
         WHERE item.project = ?1 AND item.deleted = 0"
    );
    sql.each(all, [project.id], |row| {
        let kind = kind(row, 0)?;
        let name = name(kind.noun(), row, 1)?;
        let label = label(row, 2)?;
        let version = version_row(kind, &name, row, 3)?;
        let at = items.binary_search_by(|item| (item.kind, &item.name).cmp(&(kind, &name)));
        let at = at.map_err(|_| lost(kind, &name))?;
        items[at].labels.push(LabelledVersion { label, version });
        Ok(())
    })?;
    for item in items {
        item.labels.sort_by(|one, two| one.label.cmp(&two.label));
    }
    Ok(())
}

/// True if there are as many prompts and resources as the project records.
pub(super) fn are_all(items: &[Item], project: &StoredProject) -> bool {
    let prompts = items.partition_point(|item| item.kind == ItemKind::Prompt);
    let counts = [prompts, items.len() - prompts].map(|count| count as u64);
    counts == [project.prompts, project.resources]
}

/// The content with a digest.
pub(super) fn content(sql: &Sql<'_>, digest: &Digest) -> Result<Option<Vec<u8>>, SqliteError> {
    let one = "SELECT bytes FROM content WHERE digest = ?1";
    let found = sql.first(one, [digest], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
    match found {
        Some(bytes) if Sha256::digest(&bytes).as_slice() == digest => Ok(Some(bytes)),
        Some(_) => Err(SqliteError::damaged(
            "a content differs from what was written",
        )),
        None => {
            let used = "SELECT 1 FROM version WHERE content = ?1";
            match sql.first(used, [digest], |_| Ok(()))? {
                Some(()) => Err(SqliteError::damaged("a content is missing")),
                None => Ok(None),
            }
        }
    }
}

fn version_row(
    kind: ItemKind,
    name: &StoreName,
    row: &Row<'_>,
    first: usize,
) -> Result<Version, SqliteError> {
    let restored_from: Option<i64> = row.get(first + 2)?;
    let operation = match (&*row.get::<_, Box<str>>(first + 1)?, restored_from) {
        ("create", None) => Operation::Create,
        ("update", None) => Operation::Update,
        ("delete", None) => Operation::Delete,
        ("restore", Some(_)) => Operation::Restore {
            from: number(row, first + 2)?,
        },
        _ => return Err(SqliteError::damaged("an operation is none")),
    };
    let version = Version {
        number: number(row, first)?,
        operation,
        description: row.get(first + 3)?,
        uri: row.get(first + 4)?,
        mime: row.get(first + 5)?,
        content: ContentInfo {
            digest: row.get(first + 6)?,
            size: number(row, first + 7)?,
            is_text: row.get(first + 8)?,
        },
        at: Timestamp(row.get(first + 9)?),
        author: row.get(first + 10)?,
    };
    if row.get::<_, Digest>(first + 11)? == version.digest(kind, name) {
        Ok(version)
    } else {
        let what = format!(
            "version {} of {} '{name}' differs from what was written",
            version.number,
            kind.as_str()
        );
        Err(SqliteError::damaged(what))
    }
}

/// Compares every item with its last version, and looks for versions that are missing.
pub(super) fn verify_items(sql: &Sql<'_>) -> Result<(), SqliteError> {
    let all = "SELECT item.kind, item.name, \
         item.head - item.first + 1 = (SELECT count(*) FROM version \
          WHERE version.item = item.id AND version.number BETWEEN item.first AND item.head), \
         item.deleted = (head.operation = 'delete') AND (item.deleted OR item.uri IS head.uri) \
         FROM item LEFT JOIN version AS head ON head.item = item.id AND head.number = item.head";
    sql.each(all, [], |row| {
        let kind = kind(row, 0)?;
        let name = name(kind.noun(), row, 1)?;
        if !row.get::<_, bool>(2)? {
            return Err(lost(kind, &name));
        }
        if row.get::<_, bool>(3)? {
            return Ok(());
        }
        let what = format!("{} '{name}' is out of date", kind.as_str());
        Err(SqliteError::damaged(what))
    })
}

/// Compares every version of every item with its digest, and looks for its content; counts them.
pub(super) fn verify_versions(sql: &Sql<'_>) -> Result<u64, SqliteError> {
    let all = concat!(
        "SELECT item.kind, item.name, content.digest IS NOT NULL, ",
        version_columns!(),
        " FROM version LEFT JOIN item ON version.item = item.id \
         LEFT JOIN content ON content.digest = version.content"
    );
    let mut count = 0;
    sql.each(all, [], |row| {
        let kind = kind(row, 0)?;
        version_row(kind, &name(kind.noun(), row, 1)?, row, 3)?;
        if !row.get::<_, bool>(2)? {
            return Err(SqliteError::damaged("a content is missing"));
        }
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

pub(super) fn is_deletion(version: &Version) -> bool {
    version.operation == Operation::Delete
}

fn kind(row: &Row<'_>, at: usize) -> Result<ItemKind, SqliteError> {
    match &*row.get::<_, Box<str>>(at)? {
        "prompt" => Ok(ItemKind::Prompt),
        "resource" => Ok(ItemKind::Resource),
        _ => Err(SqliteError::damaged(
            "something is neither prompt nor resource",
        )),
    }
}

fn name(noun: Noun, row: &Row<'_>, at: usize) -> Result<StoreName, SqliteError> {
    let text: Box<str> = row.get(at)?;
    StoreName::parse(noun, &text).map_err(|_| SqliteError::damaged("a name is none"))
}

pub(super) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let signed: i64 = row.get(at)?;
    u64::try_from(signed).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, signed))
}

/// SQLite's integers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The names of prompts, or of resources, of a project that are similar to one that it lacks.
pub(super) fn near(
    sql: &Sql<'_>,
    project: &StoredProject,
    kind: ItemKind,
    wanted: &StoreName,
) -> Result<Vec<Box<str>>, SqliteError> {
    const NAMES: &str = "SELECT name FROM item WHERE project = ?1 AND kind = ?2 AND deleted = 0";
    let mut names: Vec<Box<str>> = Vec::new();
    sql.each(NAMES, (project.id, kind.as_str()), |row| {
        names.push(row.get(0)?);
        Ok(())
    })?;
    let near = suggest::near(wanted.as_str(), names.iter().map(|name| &**name));
    Ok(near.into_iter().map(Box::from).collect())
}

/// The items changed in a project since one of its revisions, each once; `None` if there are more
/// than `most`.
pub(super) fn changed(
    sql: &Sql<'_>,
    project: &StoredProject,
    since: u64,
    most: u64,
) -> Result<Option<Vec<(ItemKind, StoreName)>>, SqliteError> {
    const CHANGED: &str = "SELECT kind, name FROM change WHERE project = ?1 AND rev > ?2";
    let expected = project.rev.checked_sub(since).filter(|new| *new <= most);
    let Some(expected) = expected else {
        return Ok(None);
    };
    let mut changed = Vec::new();
    let mut found = 0;
    sql.each(CHANGED, (project.id, signed(since)), |row| {
        found += 1;
        if row.get_ref(0)?.as_str().ok() != Some("project") {
            let kind = kind(row, 0)?;
            changed.push((kind, name(kind.noun(), row, 1)?));
        }
        Ok(())
    })?;
    changed.sort_unstable();
    changed.dedup();
    Ok((found == expected).then_some(changed))
}
