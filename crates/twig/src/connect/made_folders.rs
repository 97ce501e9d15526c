//! The record of the folders that `twig connect` made for clients' files: removing Twig removes
//! these again if they are empty, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_sources::{LockError, LockedFile, NewFile};

/// The most folders that are recorded; further ones stay when Twig is removed.
const MOST: usize = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MadeFolders {
    folders: BTreeSet<String>,
}

/// The folders of a file that do not exist yet, the innermost first.
pub(crate) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1);
    let missing = folders.take_while(|folder| folder.symlink_metadata().is_err());
    missing.map(Path::to_owned).collect()
}

/// Records folders that were made. If that fails, they stay when Twig is removed.
pub(crate) fn record_folders(record: Option<&Path>, made: &[PathBuf]) {
    let texts = made.iter().filter_map(|folder| folder.to_str());
    let mut texts = texts.map(str::to_owned).peekable();
    let (Some(record), Some(_)) = (record, texts.peek()) else {
        return;
    };
    let changed = change(record, |made| {
        let room = MOST.saturating_sub(made.folders.len());
        made.folders.extend(texts.take(room));
    });
    log_failure(record, changed);
}

/// Removes those folders of a file that were made for it and are empty now, the innermost first.
pub(crate) fn remove_made_folders(record: Option<&Path>, file: &Path) {
    let Some(record) = record.filter(|record| record.exists()) else {
        return;
    };
    let changed = change(record, |made| {
        for folder in file.ancestors().skip(1) {
            let is_made = folder
                .to_str()
                .is_some_and(|text| made.folders.remove(text));
            // Only an empty folder can be removed this way.
            if !is_made || fs::remove_dir(folder).is_err() {
                return;
            }
        }
    });
    log_failure(record, changed);
}

/// The folders that are recorded, for commands that only read.
pub(crate) fn made_folders(record: Option<&Path>) -> BTreeSet<PathBuf> {
    let text = record.and_then(|record| fs::read(record).ok());
    let made = text.and_then(|text| serde_json::from_slice::<MadeFolders>(&text).ok());
    let folders = made.unwrap_or_default().folders;
    folders.into_iter().map(PathBuf::from).collect()
}

/// True if a folder is one that was made, and nothing in it is of the client: only `file` and its
/// backups, and further folders of that kind.
pub(crate) fn holds_only(folder: &Path, file: &Path, made: &BTreeSet<PathBuf>) -> bool {
    let is_of_file = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let own = file.file_name().unwrap_or_default().to_string_lossy();
        path.parent() == file.parent() && name.starts_with(&*own)
    };
    let Some(entries) = fs::read_dir(folder).ok().filter(|_| made.contains(folder)) else {
        return false;
    };
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.all(|path| is_of_file(&path) || holds_only(&path, file, made))
}

fn log_failure(record: &Path, changed: Result<(), LockError>) {
    if let Err(error) = changed {
        tracing::warn!("{} was not changed: {error}", record.display());
    }
}

fn change(record: &Path, change: impl FnOnce(&mut MadeFolders)) -> Result<(), LockError> {
    let file = LockedFile::open(record)?;
    let before = file.read()?;
    let recorded = before.as_deref().map(serde_json::from_slice::<MadeFolders>);
    let recorded = recorded.transpose().map_err(io::Error::from)?;
    let recorded = recorded.unwrap_or_default();
    let mut made = recorded.clone();
    change(&mut made);
    match &before {
        _ if made == recorded => Ok(()),
        Some(before) if made.folders.is_empty() => Ok(file.remove(before)?),
        before => {
            let mut text = serde_json::to_vec_pretty(&made).map_err(io::Error::from)?;
            text.push(b'\n');
            Ok(file.replace(before.as_deref(), &text, NewFile::PRIVATE)?)
        }
    }
}
