//! Brings the changes of an exported folder back into its project.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use twig_core::store::{
    Author, Change, ExportedItem, Item, ItemKind, ItemWrite, MergeConflict, MergeStep, Store,
    StoreError, StoreName, folder_patch, merge,
};

use super::ProjectFolderError;
use super::import::{CheckedFolder, carry_out, read, set_labels};
use crate::listing::is_leftover;
use crate::root::Root;

/// Whose side to take in a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferredSide {
    /// The folder's.
    Folder,
    /// The project's.
    Project,
}

/// An item of a folder, and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderItem {
    /// Which of the two.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// Its file.
    pub file: String,
}

/// What an update does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderUpdate {
    /// Items that the project did not have.
    pub created: Vec<FolderItem>,
    /// Items that the folder changed.
    pub updated: Vec<FolderItem>,
    /// Items that the project changed or deleted since the export; they stay as they are there.
    pub kept: Vec<FolderItem>,
    /// How many items are the same on both sides.
    pub unchanged: usize,
    /// How many labels were set.
    pub labels: usize,
    /// How many items only the project has; they stay.
    pub only_in_project: usize,
    /// Conflicts for which no side was chosen; with any, nothing is written.
    pub conflicts: Vec<(FolderItem, MergeConflict)>,
    /// Files beside those of the items, which `project.json` does not list; they are not imported.
    pub without_entry: Vec<String>,
}

/// The most files that are looked at for those without an entry.
const LISTED: usize = 20_000;

/// Plans the update of an existing project, and carries it out unless there are conflicts or `dry`
/// is set. Each item is changed only if it is still as it was when the plan was made.
pub fn update_project(
    store: &dyn Store,
    checked: &CheckedFolder<'_>,
    name: &StoreName,
    author: &Author,
    preferred: Option<PreferredSide>,
    dry: bool,
) -> Result<FolderUpdate, ProjectFolderError> {
    let mut update = FolderUpdate::default();
    let mut planned = Vec::new();
    let items = store.project(name)?.map_or_else(Vec::new, |it| it.items);
    for entry in &checked.folder.entries {
        let bytes = read(&checked.root, entry, checked.limits)?;
        let now = Sha256::digest(&bytes).into();
        let head = find(&items, entry);
        // Most items differ in nothing: their versions need not be read.
        let versions = match head {
            Some(item) if item.head.content.digest == now => vec![item.head.clone()],
            _ => Vec::new(),
        };
        let mut step = merge(entry, &now, &versions);
        if step != MergeStep::Same {
            let versions = match store.history(name, entry.kind, &entry.name) {
                Err(StoreError::Missing { .. }) => Vec::new(),
                versions => versions?,
            };
            step = merge(entry, &now, &versions);
        }
        let step = match (step, preferred) {
            (MergeStep::Conflict(_), Some(PreferredSide::Project)) => MergeStep::Keep,
            (MergeStep::Conflict(_), Some(PreferredSide::Folder)) if head.is_none() => {
                MergeStep::Create
            }
            (MergeStep::Conflict(_), Some(PreferredSide::Folder)) => MergeStep::Update {
                content: true,
                fields: true,
            },
            (step, _) => step,
        };
        let item = FolderItem {
            kind: entry.kind,
            name: entry.name.clone(),
            file: entry.file.to_string(),
        };
        match step {
            MergeStep::Same => update.unchanged += 1,
            MergeStep::Keep => update.kept.push(item),
            MergeStep::Conflict(why) => update.conflicts.push((item, why)),
            MergeStep::Create => {
                update.created.push(item);
                planned.push((entry, step, None));
            }
            MergeStep::Update { .. } => {
                update.updated.push(item);
                planned.push((entry, step, head.map(|item| item.head.number)));
            }
        }
    }
    let own: BTreeSet<(ItemKind, &StoreName)> = checked
        .folder
        .entries
        .iter()
        .map(|entry| (entry.kind, &entry.name))
        .collect();
    let others = items
        .iter()
        .filter(|it| !own.contains(&(it.kind, &it.name)));
    update.only_in_project = others.count();
    update.without_entry = without_entry(checked);
    if dry || !update.conflicts.is_empty() {
        return Ok(update);
    }
    carry_out(
        store,
        planned.into_iter().map(|(entry, step, expected)| {
            let bytes = read(&checked.root, entry, checked.limits)?;
            let change = match step {
                MergeStep::Update { content, fields } => {
                    Change::Update(folder_patch(entry, content.then_some(bytes), fields))
                }
                _ => Change::Create(entry.draft(bytes)),
            };
            let write = ItemWrite {
                project: name.clone(),
                kind: entry.kind,
                name: entry.name.clone(),
                change,
                expected,
                author: author.clone(),
            };
            Ok((entry.clone(), write))
        }),
    )?;
    let moves = preferred == Some(PreferredSide::Folder);
    for entry in &checked.folder.entries {
        match set_labels(store, checked, entry, name, author, moves) {
            Ok(count) => update.labels += count,
            // It was deleted from the project, and stays so.
            Err(
                ProjectFolderError::Store(StoreError::Missing { .. })
                | ProjectFolderError::Item {
                    error: StoreError::Missing { .. },
                    ..
                },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(update)
}

/// The files in the folders of the items that no entry names, sorted.
fn without_entry(checked: &CheckedFolder<'_>) -> Vec<String> {
    let Ok(root) = Root::open(&checked.root) else {
        return Vec::new();
    };
    let files = checked.folder.files();
    // On a file system that ignores case, another spelling is the same file.
    let known: BTreeSet<String> = files.map(|(it, _)| it.as_str().to_lowercase()).collect();
    let mut files = Vec::new();
    for folder in ["prompts", "resources"] {
        let listed = root.entries(folder).into_iter().flatten().flatten();
        for entry in listed.take(LISTED) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let path = format!("{folder}/{name}");
            if is_file && !is_leftover(&name) && !known.contains(&path.to_lowercase()) {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    files
}

fn find<'i>(items: &'i [Item], entry: &ExportedItem) -> Option<&'i Item> {
    let key = |item: &Item| (item.kind, item.name.clone());
    let wanted = (entry.kind, entry.name.clone());
    let at = items.binary_search_by(|item| key(item).cmp(&wanted)).ok()?;
    items.get(at)
}
