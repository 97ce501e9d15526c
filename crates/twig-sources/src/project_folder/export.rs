//! Writes a project to a folder. Files that the user added or changed are not lost.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, DirEntry};
use twig_core::BodyError;
use twig_core::RelativePath;
use twig_core::store::{Digest, ExportedProject, FolderError, Project, Store};

use super::{MANIFEST, ProjectFolderError, read_manifest};
use crate::locked_file::{LockError, LockedFolder};
use crate::root::{Root, body_error, digest, sentence};
use crate::write_file::{Existing, NewFile, is_unfinished, write_file};

/// Keeps git from changing line ends.
const ATTRIBUTES: &str = ".gitattributes";

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many prompts and resources there are.
    pub items: usize,
    /// How many files were written.
    pub written: usize,
    /// Removed files of items that are no longer in the project.
    pub removed: Vec<String>,
    /// Such files that were kept because they were changed.
    pub kept: Vec<String>,
}

/// Writes a project to a folder, or updates an earlier export. `force` replaces files that were
/// changed since then.
pub fn export_project(
    store: &dyn Store,
    project: &Project,
    path: &Path,
    force: bool,
) -> Result<Exported, ProjectFolderError> {
    let next = ExportedProject::of(project).map_err(ProjectFolderError::Manifest)?;
    if path.exists() && !path.is_dir() {
        return Err(ProjectFolderError::NotAFolder);
    }
    std::fs::create_dir_all(path).map_err(|error| cannot_write("the folder", &error))?;
    let _lock = LockedFolder::open(path).map_err(|error| ProjectFolderError::Write {
        path: "the folder".to_owned(),
        reason: match error {
            LockError::Io(error) => sentence(&error),
            error => error.to_string(),
        },
    })?;
    let root = Root::open(path).map_err(|error| ProjectFolderError::Read {
        path: "the folder".to_owned(),
        error,
    })?;
    let before = earlier(&root, path)?;
    if let Some(before) = &before
        && before.name != next.name
        && !force
    {
        return Err(ProjectFolderError::OtherProject(before.name.to_string()));
    }
    let dir = root.dir();
    let json = next.to_json();
    if before.is_none() {
        // First: if this is interrupted, the folder is an export, and the next run fills it.
        write(dir, MANIFEST, json.as_bytes())?;
    }
    let before = before.as_ref().map(|before| before.files().collect());
    let before: Vec<ExportedFileEntry<'_>> = before.unwrap_or_default();
    let is_spare = |digest: &Digest| store.content(digest).is_ok();
    let stale = look(&root, &next, &before, force, is_spare)?;
    for (file, digest) in &stale {
        let digest = digest.unwrap_or_default();
        write(dir, file.as_str(), &store.content(&digest)?)?;
    }
    if !dir.exists(ATTRIBUTES) {
        write(dir, ATTRIBUTES, b"* -text\n")?;
    }
    // Last: until then the folder is still the earlier export, with newer files.
    if dir.read(MANIFEST).ok().as_deref() != Some(json.as_bytes()) {
        write(dir, MANIFEST, json.as_bytes())?;
    }
    let mut exported = Exported {
        items: next.entries.len(),
        written: stale.len(),
        ..Exported::default()
    };
    remove(&root, &next, &before, &mut exported);
    Ok(exported)
}

/// The existing export, if any.
fn earlier(root: &Root, path: &Path) -> Result<Option<ExportedProject>, ProjectFolderError> {
    let entries = root.entries("").map_err(|error| ProjectFolderError::Read {
        path: "the folder".to_owned(),
        error,
    })?;
    let mut is_empty = true;
    for name in entries.flatten().map(|entry| entry.file_name()) {
        if is_unfinished(&name) {
            // The folder is locked: the export that was writing this file was killed.
            let _ = root.dir().remove_file(name);
        } else {
            // A new repository counts as empty, too.
            is_empty &= name == ".git";
        }
    }
    if is_empty {
        return Ok(None);
    }
    match read_manifest(path) {
        Ok(folder) => Ok(Some(folder)),
        Err(
            ProjectFolderError::NoManifest | ProjectFolderError::Manifest(FolderError::Shape(_)),
        ) => Err(ProjectFolderError::NotEmpty),
        Err(error) => Err(error),
    }
}

/// A file of an export, and its digest then.
type ExportedFileEntry<'f> = (&'f RelativePath, Option<Digest>);

/// The files that must be written. A file that `is_spare` is not lost: an interrupted
/// export wrote it, and the store still has its content.
fn look<'f>(
    root: &Root,
    next: &'f ExportedProject,
    before: &[ExportedFileEntry<'_>],
    force: bool,
    is_spare: impl Fn(&Digest) -> bool,
) -> Result<Vec<ExportedFileEntry<'f>>, ProjectFolderError> {
    let known: BTreeMap<&str, Option<Digest>> = before
        .iter()
        .map(|(file, digest)| (file.as_str(), *digest))
        .collect();
    let mut stale = Vec::new();
    let mut edited = Vec::new();
    for (file, digest) in next.files() {
        let path = file.as_str();
        let now = digest_of(root, path);
        if matches!(now, Ok(now) if Some(now) == digest) {
            continue;
        }
        let is_ours = match now {
            Err(BodyError::NotFound) => true,
            Ok(now) => known.get(path) == Some(&Some(now)) || is_spare(&now),
            Err(_) => false,
        };
        if !is_ours {
            edited.push(path.to_owned());
        }
        stale.push((file, digest));
    }
    if edited.is_empty() || force {
        Ok(stale)
    } else {
        Err(ProjectFolderError::Edited(edited))
    }
}

/// Removes the files of the earlier export that this one no longer has.
fn remove(
    root: &Root,
    next: &ExportedProject,
    before: &[ExportedFileEntry<'_>],
    exported: &mut Exported,
) {
    let dir = root.dir();
    let key = |file: &RelativePath| file.as_str().to_lowercase();
    let wanted: BTreeMap<String, &str> = next
        .files()
        .map(|(file, _)| (key(file), file.as_str()))
        .collect();
    for (file, digest) in before {
        let path = file.as_str();
        // On a file system that ignores case, two names may be one file.
        let is_wanted = |twin: &&str| {
            let are_two = path != *twin && is_listed(root, path) && is_listed(root, twin);
            !are_two
        };
        if wanted.get(&key(file)).is_some_and(is_wanted) {
            continue;
        }
        match digest_of(root, path) {
            Ok(now) if Some(now) == *digest && dir.remove_file(path).is_ok() => {
                exported.removed.push(path.to_owned());
            }
            Err(BodyError::NotFound) => {}
            _ => exported.kept.push(path.to_owned()),
        }
    }
    for folder in ["prompts", "resources"] {
        // A folder that is not empty stays.
        let _ = dir.remove_dir(folder);
    }
}

/// Whether a folder's listing has exactly this name.
fn is_listed(root: &Root, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_it = |entry: io::Result<DirEntry>| entry.is_ok_and(|entry| entry.file_name() == name);
    root.entries(folder)
        .is_ok_and(|mut entries| entries.any(is_it))
}

/// The digest of the current file, however large it is.
fn digest_of(root: &Root, path: &str) -> Result<Digest, BodyError> {
    digest(root.open_file(path)?).map_err(|error| body_error(&error))
}

fn write(dir: &Dir, path: &str, bytes: &[u8]) -> Result<(), ProjectFolderError> {
    write_file(dir, Path::new(path), bytes, NewFile::SHARED, Existing::ANY)
        .map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &str, error: &io::Error) -> ProjectFolderError {
    ProjectFolderError::Write {
        path: path.to_owned(),
        reason: sentence(error),
    }
}
