//! Imports a folder as a project: all of it, or nothing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use sha2::{Digest as _, Sha256};
use twig_core::Limits;
use twig_core::store::{
    Author, Change, Digest, ExportedItem, ExportedProject, ItemKind, ItemWrite, LabelChange,
    LabelWrite, Noun, Patch, Store, StoreError, StoreName, Write, Written, decide,
};

use super::{MANIFEST, ProjectFolderError, read_manifest};
use crate::reader::{SavePatience, read_bytes};
use crate::store::clock::new_id;

/// Concurrent writes, so that several become durable together.
pub(crate) const UNDER_WAY: usize = 32;

/// Maximum bytes of them: a store queues only a limited amount.
pub(crate) const UNDER_WAY_BYTES: usize = 16 * 1024 * 1024;

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSummary {
    /// The project's name.
    pub name: StoreName,
    /// How many prompts it has.
    pub prompts: usize,
    /// How many resources it has.
    pub resources: usize,
    /// Files that were changed since they were exported; they were imported as they are.
    pub edited: Vec<String>,
}

/// An exported folder, with every file checked.
#[derive(Debug)]
pub struct CheckedFolder<'l> {
    pub(super) root: PathBuf,
    pub(super) folder: ExportedProject,
    edited: Vec<String>,
    pub(super) limits: &'l Limits,
}

impl CheckedFolder<'_> {
    /// The name of the project that was exported.
    pub fn name(&self) -> &StoreName {
        &self.folder.name
    }
}

/// Checks a whole folder as the store would, before anything is written.
pub fn check_project<'l>(
    root: &Path,
    limits: &'l Limits,
) -> Result<CheckedFolder<'l>, ProjectFolderError> {
    refuse_links(root, MANIFEST)?;
    let folder = read_manifest(root)?;
    let edited = check(root, &folder, limits)?;
    Ok(CheckedFolder {
        root: root.to_owned(),
        folder,
        edited,
        limits,
    })
}

/// Creates a project from a folder, under its own name or another.
///
/// The project gets its name last, so that no reader ever sees half of it under that name.
pub fn import_project(
    store: &dyn Store,
    checked: CheckedFolder<'_>,
    name: Option<&StoreName>,
    author: &Author,
) -> Result<ImportSummary, ProjectFolderError> {
    let name = name.unwrap_or(&checked.folder.name).clone();
    if store.project(&name)?.is_some() {
        return Err(taken(store, &name).into());
    }
    let unfinished = format!("importing-{}", new_id().simple());
    let unfinished = StoreName::parse(Noun::Project, &unfinished)?;
    let author = author.clone();
    let created = Write::CreateProject {
        name: unfinished.clone(),
        author: author.clone(),
    };
    wait(&start(store, created))?;
    let filled = fill(store, &checked, &unfinished, &author).and_then(|()| {
        for entry in &checked.folder.entries {
            set_labels(store, &checked, entry, &unfinished, &author, true)?;
        }
        let renamed = Write::RenameProject {
            name: unfinished.clone(),
            to: name.clone(),
            author: author.clone(),
        };
        Ok(wait(&start(store, renamed))?)
    });
    if let Err(error) = filled {
        // Report the first error.
        let delete = Write::DeleteProject {
            name: unfinished,
            author,
        };
        let _ = wait(&start(store, delete));
        return Err(error);
    }
    let entries = &checked.folder.entries;
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    Ok(ImportSummary {
        name,
        prompts: of(ItemKind::Prompt),
        resources: of(ItemKind::Resource),
        edited: checked.edited,
    })
}

fn taken(store: &dyn Store, name: &StoreName) -> StoreError {
    StoreError::ProjectExists {
        project: name.clone(),
        workspace: store.workspace().clone(),
    }
}

/// Checks every file as the store would; returns which ones were changed since they were exported.
fn check(
    root: &Path,
    folder: &ExportedProject,
    limits: &Limits,
) -> Result<Vec<String>, ProjectFolderError> {
    let name = &folder.name;
    if folder.entries.len() > limits.project_items {
        let (project, limit) = (name.clone(), limits.project_items);
        return Err(StoreError::Full { project, limit }.into());
    }
    let mut edited = Vec::new();
    for entry in &folder.entries {
        for entry in in_order(entry) {
            let bytes = read(root, &entry, limits)?;
            let digest: Digest = Sha256::digest(&bytes).into();
            if entry.sha256.is_some_and(|known| known != digest) {
                edited.push(entry.file.to_string());
            }
            decide(
                &creation(&entry, bytes, name, &Author::Person),
                None,
                None,
                limits,
            )
            .map_err(|error| of_item(&entry, error))?;
        }
    }
    Ok(edited)
}

fn fill(
    store: &dyn Store,
    checked: &CheckedFolder<'_>,
    project: &StoreName,
    author: &Author,
) -> Result<(), ProjectFolderError> {
    let entries = checked.folder.entries.iter();
    let versions = entries.flat_map(|entry| {
        let first = [true].into_iter().chain(std::iter::repeat(false));
        in_order(entry).into_iter().zip(first)
    });
    carry_out(
        store,
        versions.map(|(entry, is_first)| {
            let bytes = read(&checked.root, &entry, checked.limits)?;
            let mut write = creation(&entry, bytes, project, author);
            if let (false, Change::Create(draft)) = (is_first, &write.change) {
                write.change = Change::Update(Patch {
                    content: Some(draft.content.clone()),
                    description: Some(draft.description.clone().unwrap_or_default()),
                    uri: draft.uri.clone(),
                    mime: draft.mime.clone(),
                });
            }
            Ok((entry, write))
        }),
    )
}

/// The versions of an item in a folder, oldest first: those that have a label, then its last one.
fn in_order(entry: &ExportedItem) -> Vec<ExportedItem> {
    let versions = entry.versions.iter().map(|version| entry.at(version));
    versions.chain([entry.clone()]).collect()
}

/// Gives the versions of an item the labels that they have in a folder. Labels that the project
/// moved stay, unless `moves` is set; so do those of versions that it does not have. Returns how
/// many were set.
pub(super) fn set_labels(
    store: &dyn Store,
    checked: &CheckedFolder<'_>,
    entry: &ExportedItem,
    project: &StoreName,
    author: &Author,
    moves: bool,
) -> Result<usize, ProjectFolderError> {
    if entry.labels.is_empty() {
        return Ok(0);
    }
    let versions = store.history(project, entry.kind, &entry.name)?;
    let known = store.labels(project, entry.kind, &entry.name)?;
    let mut count = 0;
    for (label, number) in &entry.labels {
        let labelled = match entry.versions.iter().find(|it| it.number == *number) {
            Some(version) => entry.at(version),
            None => entry.clone(),
        };
        let bytes = read(&checked.root, &labelled, checked.limits)?;
        let content: Digest = Sha256::digest(&bytes).into();
        let Some(version) = labelled.find_in(&content, &versions) else {
            continue;
        };
        let current = known.iter().find(|(known, _)| known == label);
        if current.is_some_and(|(_, current)| !moves || *current == version.number) {
            continue;
        }
        let write = LabelWrite {
            project: project.clone(),
            kind: entry.kind,
            name: entry.name.clone(),
            label: label.clone(),
            change: LabelChange::Set {
                version: Some(version.number),
            },
            is_admin: true,
            author: author.clone(),
        };
        wait(&start(store, Write::Label(Box::new(write))))
            .map_err(|error| of_item(entry, error))?;
        count += 1;
    }
    Ok(count)
}

/// Carries out writes of a folder's items, several at once; ends with the first error.
pub(super) fn carry_out(
    store: &dyn Store,
    writes: impl Iterator<Item = Result<(ExportedItem, ItemWrite), ProjectFolderError>>,
) -> Result<(), ProjectFolderError> {
    let mut under_way: VecDeque<(ExportedItem, usize, ImportedWrite)> =
        VecDeque::with_capacity(UNDER_WAY);
    let mut total = 0;
    for write in writes {
        let (entry, write) = write?;
        let size = write.content_len();
        while (under_way.len() == UNDER_WAY || total + size > UNDER_WAY_BYTES)
            && let Some((entry, size, outcome)) = under_way.pop_front()
        {
            wait(&outcome).map_err(|error| of_item(&entry, error))?;
            total -= size;
        }
        total += size;
        let outcome = start(store, Write::Item(Box::new(write)));
        under_way.push_back((entry, size, outcome));
    }
    for (entry, _, outcome) in under_way {
        wait(&outcome).map_err(|error| of_item(&entry, error))?;
    }
    Ok(())
}

fn creation(
    entry: &ExportedItem,
    bytes: Vec<u8>,
    project: &StoreName,
    author: &Author,
) -> ItemWrite {
    ItemWrite {
        project: project.clone(),
        kind: entry.kind,
        name: entry.name.clone(),
        change: Change::Create(entry.draft(bytes)),
        expected: None,
        author: author.clone(),
    }
}

/// Reads the file of an item.
pub(super) fn read(
    root: &Path,
    entry: &ExportedItem,
    limits: &Limits,
) -> Result<Vec<u8>, ProjectFolderError> {
    let limit = match entry.kind {
        ItemKind::Prompt => limits.verbatim,
        ItemKind::Resource => limits.document,
    };
    refuse_links(root, entry.file.as_str())?;
    match read_bytes(root, entry.file.as_str(), limit, SavePatience::NONE) {
        Ok(read) => Ok(read.bytes),
        Err(error) => Err(ProjectFolderError::Read {
            path: entry.file.to_string(),
            error,
        }),
    }
}

/// Refuses a path that contains a symlink.
fn refuse_links(root: &Path, path: &str) -> Result<(), ProjectFolderError> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    for end in ends.chain([path.len()]) {
        let part = &path[..end];
        let is_link = root.join(part).symlink_metadata();
        if is_link.is_ok_and(|metadata| metadata.is_symlink()) {
            let path = part.to_owned();
            return Err(ProjectFolderError::Link { path });
        }
    }
    Ok(())
}

fn of_item(entry: &ExportedItem, error: StoreError) -> ProjectFolderError {
    let path = entry.file.to_string();
    ProjectFolderError::Item { path, error }
}

/// The result of a write.
pub(crate) type ImportedWrite = mpsc::Receiver<Result<Written, StoreError>>;

pub(crate) fn start(store: &dyn Store, write: Write) -> ImportedWrite {
    let (told, outcome) = mpsc::channel();
    // The receiver is gone after the first error.
    store.write(write, Box::new(move |written| drop(told.send(written))));
    outcome
}

pub(crate) fn wait(outcome: &ImportedWrite) -> Result<(), StoreError> {
    let ended = "The store has ended before the write was done";
    match outcome.recv() {
        Ok(written) => written.map(drop),
        Err(_) => Err(StoreError::Unavailable(ended.to_owned())),
    }
}
