//! The files that an import reads: one, or all files of a folder that could hold prompts.
//!
//! It reads nothing outside the named path and does not follow symlinks to folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use twig_clients::import::{SourceFile, is_candidate};
use twig_core::{BodyError, NotAFile};

use super::ImportError;
use crate::reader::{SavePatience, read_text_beneath};
use crate::root::{Root, sentence};

/// The largest file in bytes.
const FILE: usize = 32 * 1024 * 1024;
/// Bytes of all files together.
const BYTES: usize = 128 * 1024 * 1024;
/// Maximum number of files and folders.
const ENTRIES: usize = 50_000;
/// Maximum depth of folders.
const DEPTH: usize = 16;

/// What was found at a path.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The files that were read, sorted by path.
    pub files: Vec<SourceFile>,
    /// Files that should have been read, and why they were not.
    pub unread: Vec<(String, String)>,
    /// How many files are there for another purpose.
    pub others: usize,
    /// Whether the path is a file.
    pub is_file: bool,
}

/// Reads a file, or the files of a folder that could be prompts.
///
/// Skips hidden folders, except the named one.
pub fn gather(path: &Path) -> Result<Gathered, ImportError> {
    gather_with(path, is_candidate, drop_stray_texts)
}

/// Reads a file, or the files of a folder whose paths are wanted, under the limits of an import.
///
/// Skips hidden folders, except the named one.
pub fn gather_files(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Gathered, ImportError> {
    gather_with(path, is_wanted, |_| 0)
}

/// `drop_others` removes paths that are not wanted after all, and returns how many.
fn gather_with(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
    drop_others: impl Fn(&mut Vec<String>) -> usize,
) -> Result<Gathered, ImportError> {
    let path = path.canonicalize().map_err(|error| trouble(&error))?;
    let metadata = path.metadata().map_err(|error| trouble(&error))?;
    if metadata.is_dir() {
        return folder(&path, is_wanted, drop_others);
    }
    let parent = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let root = Root::open(&parent).map_err(|error| ImportError::Unreadable(error.to_string()))?;
    let mut gathered = Gathered {
        is_file: true,
        ..Gathered::default()
    };
    match read_text_beneath(&root, &parent, &name, FILE, SavePatience::NONE) {
        Ok(read) => gathered.files.push(SourceFile {
            path: name.into_owned(),
            text: read.text,
        }),
        Err(error) => gathered.unread.push((name.into_owned(), error.to_string())),
    }
    Ok(gathered)
}

fn folder(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
    drop_others: impl Fn(&mut Vec<String>) -> usize,
) -> Result<Gathered, ImportError> {
    let root = Root::open(path).map_err(|error| ImportError::Unreadable(error.to_string()))?;
    let mut found = Gathered::default();
    let mut paths = Vec::new();
    let mut folders = vec![(String::new(), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        let entries = match root.entries(&folder) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() => {
                return Err(ImportError::Unreadable(error.to_string()));
            }
            Err(error) => {
                found.unread.push((folder, error.to_string()));
                continue;
            }
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > ENTRIES {
                return Err(ImportError::TooManyFiles(ENTRIES));
            }
            let Ok(name) = entry.file_name().into_string() else {
                let shown = entry.file_name().to_string_lossy().into_owned();
                found
                    .unread
                    .push((shown, "its name is not UTF-8".to_owned()));
                continue;
            };
            let is_hidden = name.starts_with('.') || name == "node_modules";
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match (is_folder, is_hidden) {
                (true, true) => {}
                (true, false) if depth < DEPTH => folders.push((path, depth + 1)),
                (true, false) => {
                    let why = format!("it lies more than {DEPTH} folders deep");
                    found.unread.push((path, why));
                }
                (false, _) if is_wanted(&path) => paths.push(path),
                (false, _) => found.others += 1,
            }
        }
    }
    paths.sort();
    found.others += drop_others(&mut paths);
    let mut total = 0;
    for file in paths {
        match read_text_beneath(&root, path, &file, FILE, SavePatience::NONE) {
            Ok(read) => {
                total += read.text.len();
                if total > BYTES {
                    return Err(ImportError::TooManyBytes(BYTES));
                }
                found.files.push(SourceFile {
                    path: file,
                    text: read.text,
                });
            }
            Err(BodyError::Outside) => {
                let why = "leads outside the folder that is imported";
                found.unread.push((file, why.to_owned()));
            }
            // A symlink to a folder that is named like a file.
            Err(BodyError::NotAFile(NotAFile::Folder)) => found.others += 1,
            Err(error) => found.unread.push((file, error.to_string())),
        }
    }
    Ok(found)
}

/// Removes Markdown files that belong to no `prompt.yaml` next to them; returns how many.
fn drop_stray_texts(paths: &mut Vec<String>) -> usize {
    fn cut(path: &str) -> (&str, &str) {
        path.rsplit_once('/').unwrap_or(("", path))
    }
    let homes: BTreeSet<String> = paths
        .iter()
        .map(|path| cut(path))
        .filter(|(_, name)| matches!(*name, "prompt.yaml" | "prompt.yml"))
        .map(|(folder, _)| folder.to_owned())
        .collect();
    let before = paths.len();
    paths.retain(|path| {
        let is_text = path.to_ascii_lowercase().ends_with(".md");
        !is_text || homes.contains(cut(path).0)
    });
    before - paths.len()
}

fn trouble(error: &std::io::Error) -> ImportError {
    match error.kind() {
        std::io::ErrorKind::NotFound => ImportError::NotThere,
        _ => ImportError::Unreadable(sentence(error)),
    }
}
