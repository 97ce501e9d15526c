//! Exports projects as folders of plain files, and imports them.
//!
//! `twig-core` decides the contents of `project.json` and the names of the files.

mod export;
mod import;
mod update;

use std::path::Path;

use twig_core::BodyError;
use twig_core::store::{ExportedProject, FolderError, StoreError};

pub use self::export::{Exported, export_project};
pub use self::import::{CheckedFolder, ImportSummary, check_project, import_project};
pub(crate) use self::import::{ImportedWrite, UNDER_WAY, UNDER_WAY_BYTES, start, wait};
pub use self::update::{FolderItem, FolderUpdate, PreferredSide, update_project};
use crate::reader::{SavePatience, read_text};

/// The file that lists the folder's contents.
const MANIFEST: &str = "project.json";

/// Its maximum size in bytes: ten thousand items with all their fields fit in.
const MANIFEST_LIMIT: usize = 64 * 1024 * 1024;

/// Why a project was not exported or imported; continues a sentence after the folder's path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectFolderError {
    /// The folder itself, or one of its files, cannot be read.
    #[error("{path} {}", sentence_of(.error))]
    Read {
        /// Which file.
        path: String,
        /// Why not.
        error: BodyError,
    },
    /// A symlink, which could expose a file that was not meant to be shared.
    #[error("{path} is a symlink, and symlinks are not imported: put the file itself there")]
    Link {
        /// Which file or folder.
        path: String,
    },
    /// Something cannot be written.
    #[error("{path} cannot be written: {reason}")]
    Write {
        /// What.
        path: String,
        /// Why not.
        reason: String,
    },
    /// A file where a folder should be.
    #[error("it is not a folder")]
    NotAFolder,
    /// A folder that is not an export.
    #[error("there is no {MANIFEST}")]
    NoManifest,
    /// `project.json` is not valid.
    #[error("{MANIFEST} {0}")]
    Manifest(FolderError),
    /// A folder that holds something else.
    #[error("the folder is not empty and is not an exported project")]
    NotEmpty,
    /// The export of another project.
    #[error("the folder holds project `{0}`")]
    OtherProject(String),
    /// Files that were changed since they were exported, or added.
    #[error("{} not as the last export left it: {}", if .0.len() == 1 { "one file is" } else { "some files are" }, named(.0))]
    Edited(Vec<String>),
    /// The store would refuse one of the items.
    #[error("{path}: {error}")]
    Item {
        /// Its file.
        path: String,
        /// Why not.
        error: StoreError,
    },
    /// The store's error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a file is not accessible, in the words of libraries where they fit.
fn sentence_of(error: &BodyError) -> String {
    match error {
        BodyError::NotFound => "is not there".to_owned(),
        BodyError::Outside => "leads outside the folder".to_owned(),
        other => other.to_string(),
    }
}

/// A few names, and how many more there are.
fn named(names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(5));
    let shown = shown.join(", ");
    match more.len() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn read_manifest(root: &Path) -> Result<ExportedProject, ProjectFolderError> {
    let read = read_text(root, MANIFEST, MANIFEST_LIMIT, SavePatience::NONE);
    let read = read.map_err(|error| match error {
        BodyError::NotFound => ProjectFolderError::NoManifest,
        error => ProjectFolderError::Read {
            path: MANIFEST.to_owned(),
            error,
        },
    })?;
    ExportedProject::parse(&read.text).map_err(ProjectFolderError::Manifest)
}
