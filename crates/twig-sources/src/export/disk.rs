//! The client's folder: reading, writing and removing files beneath the named folder.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use twig_clients::clients::ExportFormat;
use twig_clients::export::ExportItem;
use twig_core::BodyError;

use super::ExportTarget;
use crate::platform;
use crate::root::{Root, body_error, digest, regular, sentence};
use crate::write_file::{Existing, FileAccess, NewFile, write_file};

/// Bytes of a file that are searched for a marker.
const LARGEST: u64 = 8 * 1024 * 1024;
/// The bits of a file that somebody can run.
const EXECUTABLE: u32 = 0o111;
/// Entries of a folder that are searched for earlier exports.
const ENTRIES: usize = 20_000;

/// What is at a path instead of a file; continues a sentence after the path.
pub(super) enum ExportFileError {
    /// A symlink, a folder, a device.
    Other(String),
    /// The path points elsewhere, or the system refused.
    Barred(String),
}

/// The folder that is written to.
pub(super) struct ExportFolder<'r> {
    root: &'r Root,
    folder: &'r str,
    pub(super) client: ExportFormat,
    /// Its canonical path, if it exists.
    real: Option<PathBuf>,
}

impl<'r> ExportFolder<'r> {
    pub(super) fn new(root: &'r Root, target: ExportTarget<'r>) -> Self {
        Self {
            root,
            folder: target.folder,
            client: target.client,
            real: target.base.join(target.folder).canonicalize().ok(),
        }
    }

    fn full(&self, path: &str) -> String {
        format!("{}/{path}", self.folder)
    }

    /// Whether a prompt is read from this very folder.
    pub(super) fn holds(&self, item: &ExportItem) -> bool {
        let source = item.source.as_ref();
        let source = source.and_then(|source| std::fs::canonicalize(source).ok());
        match (source, &self.real) {
            (Some(source), Some(real)) => source.starts_with(real),
            _ => false,
        }
    }

    /// The bytes of the file at a path, or `None`. The error says what else is there.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ExportFileError> {
        let full = self.full(path);
        let barred = |error: &BodyError| ExportFileError::Barred(trouble(error));
        match self.root.dir().symlink_metadata(&full) {
            Err(error) => match body_error(&error) {
                BodyError::NotFound => return Ok(None),
                error => return Err(barred(&error)),
            },
            Ok(metadata) if metadata.is_symlink() => {
                return Err(ExportFileError::Other("is a link".to_owned()));
            }
            Ok(metadata) if metadata.len() > LARGEST && metadata.is_file() => {
                return Err(ExportFileError::Other(
                    "is too large to be an export".to_owned(),
                ));
            }
            Ok(metadata) => {
                let is_file = regular(metadata.file_type());
                is_file.map_err(|error| ExportFileError::Other(trouble(&error)))?;
            }
        }
        let file = self.root.open_file(&full).map_err(|error| barred(&error))?;
        let mut bytes = Vec::new();
        let read = file.take(LARGEST).read_to_end(&mut bytes);
        read.map_err(|error| ExportFileError::Barred(sentence(&error)))?;
        Ok(Some(bytes))
    }

    /// The digest of a regular file; `None` if there is none.
    pub(super) fn digest(&self, path: &str) -> Option<[u8; 32]> {
        let full = self.full(path);
        let metadata = self.root.dir().symlink_metadata(&full).ok()?;
        if !metadata.is_file() {
            return None;
        }
        digest(self.root.open_file(&full).ok()?).ok()
    }

    /// Whether anything exists at a path.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.root.dir().symlink_metadata(self.full(path)).is_ok()
    }

    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        let full = self.full(path);
        let dir = self.root.dir();
        write_file(dir, Path::new(&full), bytes, NewFile::SHARED, Existing::ANY)
            .map_err(|error| cannot_write(&error))
    }

    /// Whether a file can be run.
    pub(super) fn is_executable(&self, path: &str) -> bool {
        let metadata = self.root.dir().symlink_metadata(self.full(path));
        let mode = metadata.ok().filter(cap_std::fs::Metadata::is_file);
        let mode = mode.and_then(|it| platform::mode_beneath(&it));
        mode.is_some_and(|mode| mode & EXECUTABLE != 0)
    }

    /// Lets everybody run a file who may read it.
    pub(super) fn make_executable(&self, path: &str) -> Result<(), String> {
        let (dir, full) = (self.root.dir(), self.full(path));
        let made = dir.symlink_metadata(&full).and_then(|metadata| {
            let Some(mode) = platform::mode_beneath(&metadata) else {
                return Ok(());
            };
            let readers = mode & 0o444;
            platform::set_mode_beneath(dir, &full, mode | readers >> 2)
        });
        made.map_err(|error| format!("cannot be made executable: {}", refusal(&error)))
    }

    /// Copies a file to a backup next to it; returns the backup's name.
    pub(super) fn keep(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = match self.read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(ExportFileError::Other(why) | ExportFileError::Barred(why)) => return Err(why),
        };
        let name = |turn: usize| match turn {
            0 => format!("{path}.bak"),
            turn => format!("{path}.bak{turn}"),
        };
        let free = (0..1000).map(name).find(|name| !self.is_there(name));
        let free = free.ok_or_else(|| "has too many copies beside it".to_owned())?;
        let dir = self.root.dir();
        let like = FileAccess::of(dir, Path::new(&self.full(path)));
        let copy = self.full(&free);
        let existing = Existing::Refused(like.as_ref());
        write_file(dir, Path::new(&copy), &bytes, NewFile::PRIVATE, existing)
            .map_err(|error| cannot_write(&error))?;
        Ok(Some(free))
    }

    pub(super) fn remove(&self, path: &str) -> Result<(), String> {
        let removed = self.root.dir().remove_file(self.full(path));
        removed.map_err(|error| format!("cannot be removed: {}", refusal(&error)))
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_folder(&self, path: &str) {
        let _ = self.root.dir().remove_dir(self.full(path));
    }

    /// The files that may be earlier exports, besides those that are written now.
    pub(super) fn earlier(&self, wanted: &BTreeSet<String>) -> Vec<(String, String)> {
        let Ok(entries) = self.root.entries(self.folder) else {
            return Vec::new();
        };
        let names = entries.flatten().take(ENTRIES);
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let ending = self.client.ending();
        let mut paths: Vec<String> = if ending.starts_with('/') {
            names.map(|name| format!("{name}{ending}")).collect()
        } else {
            names.filter(|name| name.ends_with(ending)).collect()
        };
        paths.sort();
        let others = paths
            .into_iter()
            .filter(|path| !wanted.contains(&path.to_lowercase()));
        let texts = others.filter_map(|path| {
            let bytes = self.read(&path).ok().flatten()?;
            Some((path, String::from_utf8(bytes).ok()?))
        });
        texts.collect()
    }
}

fn cannot_write(error: &io::Error) -> String {
    format!("cannot be written: {}", refusal(error))
}

/// Why the system refused a path.
fn refusal(error: &io::Error) -> String {
    match body_error(error) {
        BodyError::Outside => trouble(&BodyError::Outside),
        _ => sentence(error),
    }
}

/// Why something beneath the folder is not accessible; continues a sentence after its path.
fn trouble(error: &BodyError) -> String {
    match error {
        BodyError::Outside => "leads outside the folder".to_owned(),
        BodyError::Unreadable(why) => why.clone(),
        BodyError::NotAFile(what) => format!("is {what}"),
        error => error.to_string(),
    }
}
