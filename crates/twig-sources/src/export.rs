//! Writes prompts as files of another client: checks which files exist, and decides what to write
//! and what to keep.
//!
//! `twig-core` decides the contents of the files. Everything is opened beneath the named folder: a
//! symlink that points out of it is refused. A file that the user wrote or changed is never touched
//! unless requested, and then a copy of it is kept next to it.

mod disk;
mod look;
mod skill;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use twig_clients::clients::ExportFormat;
use twig_clients::export::{ExportItem, Plan, marked_name};
use twig_core::{Bodies, BodyError};

use self::disk::ExportFolder;
use self::look::ExistingFile;
use crate::locked_file::{LockError, LockedFolder};
use crate::root::Root;

/// Where prompts are written.
#[derive(Debug, Clone, Copy)]
pub struct ExportTarget<'a> {
    /// The project, or the user's home.
    pub base: &'a Path,
    /// The client's folder beneath it.
    pub folder: &'a str,
    /// The client's format.
    pub client: ExportFormat,
}

/// What an export may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExportMode {
    /// Whether to write nothing at all.
    pub is_dry: bool,
    /// Whether to replace files that the user wrote or changed.
    pub force: bool,
    /// Whether to remove files of prompts that no longer exist.
    pub prune: bool,
}

/// Why nothing was exported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The project or home cannot be opened.
    #[error(transparent)]
    Base(BodyError),
    /// Another export to the same folder does not end.
    #[error("{0}")]
    Busy(String),
}

/// The state of a prompt's file before the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportState {
    /// It does not exist.
    New,
    /// It is up to date.
    Current,
    /// It is an earlier export of a prompt that has changed.
    Changed,
    /// The user changed it since it was exported.
    Edited,
    /// The user's own file has its name.
    Taken,
    /// Something that is not a file has its name, or the path is not accessible; it is never
    /// replaced.
    Barred,
    /// The prompt is read from this very folder.
    Own,
    /// An earlier export of a prompt that no longer exists or has another file now.
    Gone,
}

/// What was done with a file, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportAction {
    /// It was created.
    Written,
    /// An earlier export was replaced.
    Updated,
    /// A file that the user wrote or changed was replaced; a copy is kept next to it.
    Replaced,
    /// It was removed.
    Removed,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// The prompt's full name.
    pub prompt: String,
    /// The file, relative to the client's folder.
    pub path: String,
    /// Its state before the export.
    pub state: ExportState,
    /// What was done, or would be.
    pub action: Option<ExportAction>,
    /// Why nothing was done; continues a sentence after the path.
    pub why: Option<String>,
    /// Whether that is a failure.
    pub is_failed: bool,
    /// Copies of replaced files.
    pub backups: Vec<String>,
    /// What the format cannot hold.
    pub notes: Vec<String>,
}

/// What is known of the prompts that files were exported from before. Names are as markers spell
/// them.
#[derive(Clone, Copy)]
pub struct EarlierExports<'a> {
    /// Decides by a prompt's name whether to consider an outdated file of it.
    pub is_meant: &'a dyn Fn(&str) -> bool,
    /// The names that prompts have and had, each with the current name.
    pub current: &'a BTreeMap<String, String>,
}

/// Writes prompts as files.
pub fn export_prompts(
    target: ExportTarget<'_>,
    plan: &Plan,
    earlier: EarlierExports<'_>,
    bodies: &dyn Bodies,
    mode: ExportMode,
) -> Result<Vec<ExportedFile>, ExportError> {
    let root = Root::open(target.base).map_err(ExportError::Base)?;
    let _lock = if mode.is_dry {
        None
    } else {
        lock(&root, target.folder, !plan.items.is_empty())?
    };
    let disk = ExportFolder::new(&root, target);
    let planned: BTreeSet<String> = plan
        .items
        .iter()
        .map(|item| marked_name(&item.prompt))
        .collect();
    // A prompt that is exported as well has a file of its own.
    let owner = |marked: &str| {
        let owner = earlier.current.get(marked);
        owner.filter(|owner| !planned.contains(*owner)).cloned()
    };
    let mut files = Vec::with_capacity(plan.items.len());
    for item in &plan.items {
        files.push(one(&disk, item, &owner, bodies, mode));
    }
    let wanted: BTreeSet<String> = plan
        .items
        .iter()
        .map(|item| item.path.to_lowercase())
        .collect();
    // A prompt whose file has another name now would be there twice.
    let is_there = |file: &&ExportedFile| {
        let is_done = file.state == ExportState::Current || file.action.is_some();
        is_done && !file.is_failed
    };
    let renamed = files.iter().filter(is_there);
    let renamed: BTreeSet<String> = renamed.map(|file| marked_name(&file.prompt)).collect();
    for (path, text) in disk.earlier(&wanted) {
        files.extend(gone(&disk, path, &text, earlier, &renamed, mode));
    }
    Ok(files)
}

/// Waits for other exports to the same folder. A folder that cannot be opened has no lock: the
/// problem is reported for each file.
fn lock(root: &Root, folder: &str, is_made: bool) -> Result<Option<LockedFolder>, ExportError> {
    let open = || {
        if is_made {
            root.dir().create_dir_all(folder)?;
        }
        root.dir().open_dir(folder)
    };
    match LockedFolder::take(open) {
        Ok(lock) => Ok(Some(lock)),
        Err(busy @ LockError::Busy) => Err(ExportError::Busy(busy.to_string())),
        Err(_) => Ok(None),
    }
}

fn one(
    disk: &ExportFolder<'_>,
    item: &ExportItem,
    owner: &dyn Fn(&str) -> Option<String>,
    bodies: &dyn Bodies,
    mode: ExportMode,
) -> ExportedFile {
    let mut file = ExportedFile {
        prompt: item.prompt.to_string(),
        path: item.path.clone(),
        state: ExportState::Own,
        action: None,
        why: None,
        is_failed: false,
        backups: Vec::new(),
        notes: item.notes.clone(),
    };
    if disk.holds(item) {
        file.why = Some("is read from this folder already".to_owned());
        return file;
    }
    let seen = look::at(disk, item, owner);
    file.state = seen.state();
    file.action = match &seen {
        ExistingFile::Nothing => Some(ExportAction::Written),
        ExistingFile::Changed(_) => Some(ExportAction::Updated),
        ExistingFile::Edited | ExistingFile::Foreign | ExistingFile::OfPrompt(_) if mode.force => {
            Some(ExportAction::Replaced)
        }
        _ => None,
    };
    file.why = match &seen {
        ExistingFile::Other(why) | ExistingFile::Barred(why) => Some(why.clone()),
        ExistingFile::Edited if !mode.force => Some("was changed since it was exported".to_owned()),
        ExistingFile::Foreign if !mode.force => Some("was not written by Twig".to_owned()),
        ExistingFile::OfPrompt(other) if !mode.force => {
            Some(format!("is the file of another prompt, `{other}`"))
        }
        _ => None,
    };
    // A forced write that was not done is a failure.
    file.is_failed = match seen {
        ExistingFile::Barred(_) => true,
        ExistingFile::Other(_) => mode.force,
        _ => false,
    };
    let Some(action) = file.action.filter(|_| !mode.is_dry) else {
        return file;
    };
    let is_kept = action == ExportAction::Replaced;
    let before = match &seen {
        ExistingFile::Changed(files) => files.as_slice(),
        _ => &[],
    };
    if let Err(why) = skill::write(disk, item, bodies, before, is_kept, &mut file.backups) {
        file.why = Some(why);
        file.is_failed = true;
        file.action = None;
    }
    file
}

/// An earlier export that is no longer wanted; `None` if it was not selected.
fn gone(
    disk: &ExportFolder<'_>,
    path: String,
    text: &str,
    earlier: EarlierExports<'_>,
    renamed: &BTreeSet<String>,
    mode: ExportMode,
) -> Option<ExportedFile> {
    let (marker, bundled) = look::marker(disk, &path, text)?;
    let current = earlier.current.get(marker.prompt);
    let name = current.map_or(marker.prompt, String::as_str);
    if !(earlier.is_meant)(name) {
        return None;
    }
    let is_removed = mode.prune || renamed.contains(name);
    let mut file = ExportedFile {
        prompt: marker.prompt.to_owned(),
        path,
        state: ExportState::Gone,
        action: (is_removed && marker.is_intact).then_some(ExportAction::Removed),
        why: None,
        is_failed: false,
        backups: Vec::new(),
        notes: Vec::new(),
    };
    if !marker.is_intact {
        file.why = Some("was changed since it was exported".to_owned());
    }
    if file.action.is_some()
        && !mode.is_dry
        && let Err(why) = skill::remove(disk, &file.path, &bundled)
    {
        file.why = Some(why);
        file.is_failed = true;
        file.action = None;
    }
    Some(file)
}
