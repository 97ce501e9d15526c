//! Rows read and compared with their digests: what comes out of here is what was written.

use rusqlite::Row;
use sha2::{Digest as _, Sha256};
use twig_core::store::{
    ContentInfo, Digest, Item, ItemKind, Noun, Operation, StoreName, Timestamp, Version,
};

use super::fault::Fault;
use super::seal::{self, ProjectRow, toggle};
use super::sql::Sql;

/// The seals of all projects, toggled into one.
pub(super) fn state(sql: &Sql<'_>) -> Result<Digest, Fault> {
    let state = sql.first("SELECT state FROM workspace", [], |row| Ok(row.get(0)?))?;
    state.ok_or_else(|| Fault::damaged("it says nothing of itself"))
}

/// How often anybody wrote.
pub(super) fn revision(sql: &Sql<'_>) -> Result<u64, Fault> {
    let rev = sql.first("SELECT rev FROM workspace", [], |row| Ok(number(row, 0)?))?;
    rev.ok_or_else(|| Fault::damaged("it says nothing of itself"))
}

/// The columns of [`project_row`].
macro_rules! project_columns {
    () => {
        "id, name, created, prompts, resources, state, buried, seal, history"
    };
}

/// All projects, sorted by name.
pub(super) fn projects(sql: &Sql<'_>) -> Result<Vec<ProjectRow>, Fault> {
    let mut projects = Vec::new();
    let mut state = Digest::default();
    let all = concat!("SELECT ", project_columns!(), " FROM project ORDER BY name");
    sql.each(all, [], |row| {
        let project = project_row(row)?;
        toggle(&mut state, &project.seal());
        projects.push(project);
        Ok(())
    })?;
    if state == self::state(sql)? {
        Ok(projects)
    } else {
        Err(Fault::damaged("a project is missing or out of date"))
    }
}

/// The project of that name.
pub(super) fn project(sql: &Sql<'_>, name: &StoreName) -> Result<Option<ProjectRow>, Fault> {
    let one = concat!(
        "SELECT ",
        project_columns!(),
        " FROM project WHERE name = ?1"
    );
    match sql.first(one, [name.as_str()], project_row)? {
        Some(project) => Ok(Some(project)),
        // Before it is said that there is none, the others say whether one is missing.
        None => projects(sql).map(|_| None),
    }
}

fn project_row(row: &Row<'_>) -> Result<ProjectRow, Fault> {
    let project = ProjectRow {
        id: row.get(0)?,
        name: name(Noun::Project, row, 1)?,
        created: Timestamp(row.get(2)?),
        prompts: number(row, 3)?,
        resources: number(row, 4)?,
        state: row.get(5)?,
        buried: row.get(6)?,
        history: number(row, 8)?,
    };
    if row.get::<_, Digest>(7)? == project.seal() {
        Ok(project)
    } else {
        Err(Fault::damaged("a project is not what was written"))
    }
}

/// A prompt or resource, deleted or not.
#[derive(Debug, Clone)]
pub(super) struct ItemRow {
    pub(super) id: [u8; 16],
    pub(super) head: u64,
    pub(super) is_deleted: bool,
    /// The number of the first version that is kept.
    pub(super) first: u64,
}

pub(super) fn item(
    sql: &Sql<'_>,
    project: &ProjectRow,
    kind: ItemKind,
    name: &StoreName,
) -> Result<Option<ItemRow>, Fault> {
    let one = "SELECT id, head, deleted, first FROM item \
        WHERE project = ?1 AND kind = ?2 AND name = ?3";
    sql.first(one, (project.id, kind.as_str(), name.as_str()), |row| {
        Ok(ItemRow {
            id: row.get(0)?,
            head: number(row, 1)?,
            is_deleted: row.get(2)?,
            first: number(row, 3)?,
        })
    })
}

/// Makes sure of an item's absence before anybody is told of it: a damaged key may only not be
/// found.
pub(super) fn check_absent(
    sql: &Sql<'_>,
    project: &ProjectRow,
    kind: ItemKind,
    name: &StoreName,
) -> Result<(), Fault> {
    for are_deleted in [false, true] {
        let there = items(sql, project, are_deleted)?;
        if there
            .iter()
            .any(|item| item.kind == kind && item.name == *name)
        {
            return Err(out_of_place(kind, name));
        }
    }
    Ok(())
}

fn out_of_place(kind: ItemKind, name: &StoreName) -> Fault {
    Fault::damaged(format!("{} '{name}' is out of place", kind.as_str()))
}

/// The columns of [`version_row`].
macro_rules! version_columns {
    () => {
        "version.number, version.operation, version.restored_from, version.description, \
         version.uri, version.mime, version.content, version.size, version.is_text, version.at, \
         version.author, version.digest"
    };
}

/// One version of an item; `None` where there is no such one.
pub(super) fn version(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
    number: u64,
) -> Result<Option<Version>, Fault> {
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
) -> Result<Version, Fault> {
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

/// Every version of an item that is kept, oldest first.
pub(super) fn history(
    sql: &Sql<'_>,
    kind: ItemKind,
    name: &StoreName,
    item: &ItemRow,
) -> Result<Vec<Version>, Fault> {
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
    let numbers = versions.iter().map(|version| version.number);
    if item.first <= item.head && numbers.eq(item.first..=item.head) {
        Ok(versions)
    } else {
        Err(lost(kind, name))
    }
}

fn lost(kind: ItemKind, name: &StoreName) -> Fault {
    Fault::damaged(format!("{} '{name}' has lost a version", kind.as_str()))
}

/// All that a project holds now, or all that was deleted: prompts first, then resources, each sorted
/// by name.
pub(super) fn items(
    sql: &Sql<'_>,
    project: &ProjectRow,
    are_deleted: bool,
) -> Result<Vec<Item>, Fault> {
    let all = concat!(
        "SELECT item.kind, item.name, item.uri, \
         (SELECT max(number) FROM version WHERE version.item = item.id), ",
        version_columns!(),
        " FROM item LEFT JOIN version ON version.item = item.id AND version.number = item.head \
         WHERE item.project = ?1 AND item.deleted = ?2 ORDER BY item.kind, item.name"
    );
    let mut items: Vec<Item> = Vec::new();
    let mut state = Digest::default();
    let mut counts = [0_u64; 2];
    sql.each(all, (project.id, are_deleted), |row| {
        let kind = kind(row, 0)?;
        let name = name(kind.noun(), row, 1)?;
        let uri: Option<Box<str>> = row.get(2)?;
        let newest = number(row, 3)?;
        let head = version_row(kind, &name, row, 4)?;
        if newest != head.number || is_deletion(&head) != are_deleted || uri != head.uri {
            let what = format!("{} '{name}' is out of date", kind.as_str());
            return Err(Fault::damaged(what));
        }
        let is_after = |last: &Item| (last.kind, &last.name) < (kind, &name);
        if !items.last().is_none_or(is_after) {
            return Err(out_of_place(kind, &name));
        }
        toggle(&mut state, &seal::of_version(kind, &name, &head));
        counts[usize::from(kind == ItemKind::Resource)] += 1;
        items.push(Item { kind, name, head });
        Ok(())
    })?;
    let expected = if are_deleted {
        (project.buried, counts)
    } else {
        (project.state, [project.prompts, project.resources])
    };
    if (state, counts) != expected {
        let what = format!(
            "project '{}' lacks something or is out of date",
            project.name
        );
        return Err(Fault::damaged(what));
    }
    Ok(items)
}

/// What some version holds.
pub(super) fn content(sql: &Sql<'_>, digest: &Digest) -> Result<Option<Vec<u8>>, Fault> {
    let one = "SELECT bytes FROM content WHERE digest = ?1";
    let found = sql.first(one, [digest], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
    match found {
        Some(bytes) if Sha256::digest(&bytes).as_slice() == digest => Ok(Some(bytes)),
        Some(_) => Err(Fault::damaged("a content is not what was written")),
        None => {
            let used = "SELECT 1 FROM version WHERE content = ?1";
            match sql.first(used, [digest], |_| Ok(()))? {
                Some(()) => Err(Fault::damaged("a content is missing")),
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
) -> Result<Version, Fault> {
    let restored_from: Option<i64> = row.get(first + 2)?;
    let operation = match (&*row.get::<_, Box<str>>(first + 1)?, restored_from) {
        ("create", None) => Operation::Create,
        ("update", None) => Operation::Update,
        ("delete", None) => Operation::Delete,
        ("restore", Some(_)) => Operation::Restore {
            from: number(row, first + 2)?,
        },
        _ => return Err(Fault::damaged("an operation is none")),
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
    if row.get::<_, Digest>(first + 11)? == seal::of_version(kind, name, &version) {
        Ok(version)
    } else {
        let what = format!(
            "version {} of {} '{name}' is not what was written",
            version.number,
            kind.as_str()
        );
        Err(Fault::damaged(what))
    }
}

pub(super) fn is_deletion(version: &Version) -> bool {
    version.operation == Operation::Delete
}

fn kind(row: &Row<'_>, at: usize) -> Result<ItemKind, Fault> {
    match &*row.get::<_, Box<str>>(at)? {
        "prompt" => Ok(ItemKind::Prompt),
        "resource" => Ok(ItemKind::Resource),
        _ => Err(Fault::damaged("something is neither prompt nor resource")),
    }
}

fn name(noun: Noun, row: &Row<'_>, at: usize) -> Result<StoreName, Fault> {
    let text: Box<str> = row.get(at)?;
    StoreName::parse(noun, &text).map_err(|_| Fault::damaged("a name is none"))
}

pub(super) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let signed: i64 = row.get(at)?;
    u64::try_from(signed).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, signed))
}

/// SQLite's integers have a sign.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The names of all prompts, or of all resources, of a project.
pub(super) fn names(
    sql: &Sql<'_>,
    project: &ProjectRow,
    kind: ItemKind,
) -> Result<Vec<Box<str>>, Fault> {
    const NAMES: &str = "SELECT name FROM item WHERE project = ?1 AND kind = ?2 AND deleted = 0";
    let mut names = Vec::new();
    sql.each(NAMES, (project.id, kind.as_str()), |row| {
        names.push(row.get(0)?);
        Ok(())
    })?;
    Ok(names)
}

/// What was written in a project since a revision, each once; `None` where it is more than that.
pub(super) fn changed(
    sql: &Sql<'_>,
    project: &ProjectRow,
    since: u64,
    most: usize,
) -> Result<Option<Vec<(ItemKind, StoreName)>>, Fault> {
    const CHANGED: &str = "SELECT kind, name FROM changes WHERE rev > ?1 AND project = ?2 \
        AND kind <> 'project' LIMIT ?3";
    let mut changed = Vec::new();
    let limit = signed(most as u64 + 1);
    sql.each(CHANGED, (signed(since), project.id, limit), |row| {
        let kind = kind(row, 0)?;
        changed.push((kind, name(kind.noun(), row, 1)?));
        Ok(())
    })?;
    if changed.len() > most {
        return Ok(None);
    }
    changed.sort_unstable();
    changed.dedup();
    Ok(Some(changed))
}
