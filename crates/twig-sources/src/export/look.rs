//! Examines a prompt's path before it is written.

use std::path::Path;

use twig_clients::clients::ExportFormat;
use twig_clients::export::{BundledFile, ExportItem, Marker, bundled_of, marker_of};
use twig_core::RelativePath;

use super::ExportState;
use super::disk::{ExportFileError, ExportFolder};
use crate::platform;

/// What is there.
pub(super) enum ExistingFile {
    Nothing,
    Current,
    /// An earlier export, and the files that came with it.
    Changed(Vec<RelativePath>),
    Edited,
    /// The user's own file.
    Foreign,
    /// The file of this prompt, which still exists and is not exported now.
    OfPrompt(String),
    /// Not a file, and so never replaced.
    Other(String),
    /// It cannot be examined.
    Barred(String),
}

impl ExistingFile {
    pub(super) fn state(&self) -> ExportState {
        match self {
            Self::Nothing => ExportState::New,
            Self::Current => ExportState::Current,
            Self::Changed(_) => ExportState::Changed,
            Self::Edited => ExportState::Edited,
            Self::Foreign | Self::OfPrompt(_) => ExportState::Taken,
            Self::Other(_) | Self::Barred(_) => ExportState::Barred,
        }
    }
}

/// Examines the path of a prompt's file.
pub(super) fn at(
    disk: &ExportFolder<'_>,
    item: &ExportItem,
    owner: &dyn Fn(&str) -> Option<String>,
) -> ExistingFile {
    let bytes = match disk.read(&item.path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return nothing(disk, item),
        Err(ExportFileError::Other(why)) => return ExistingFile::Other(why),
        Err(ExportFileError::Barred(why)) => return ExistingFile::Barred(why),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return ExistingFile::Foreign;
    };
    let Some((marker, bundled)) = marker(disk, &item.path, &text) else {
        return ExistingFile::Foreign;
    };
    if !marker.is_intact {
        return ExistingFile::Edited;
    }
    if let Some(owner) = owner(marker.prompt) {
        return ExistingFile::OfPrompt(owner);
    }
    let next = marker_of(disk.client, &item.text, []);
    match next {
        Some(next) if next.digest == marker.digest => {
            let misses_bit = |file: &BundledFile| {
                is_executable(file) && !disk.is_executable(&beside(&item.path, &file.to))
            };
            if item.bundled.iter().any(misses_bit) {
                ExistingFile::Changed(bundled)
            } else {
                ExistingFile::Current
            }
        }
        // Files that are new to the skill may be the user's own.
        _ if item.bundled.iter().any(|file| {
            let is_known = bundled.iter().any(|known| known.as_str() == file.to);
            !is_known && disk.is_there(&beside(&item.path, &file.to))
        }) =>
        {
            ExistingFile::Edited
        }
        _ => ExistingFile::Changed(bundled),
    }
}

/// There is no file; a skill's folder may still be the user's own.
fn nothing(disk: &ExportFolder<'_>, item: &ExportItem) -> ExistingFile {
    let is_taken = |to: &str| disk.is_there(&beside(&item.path, to));
    if item.bundled.iter().any(|file| is_taken(&file.to)) {
        return ExistingFile::Foreign;
    }
    ExistingFile::Nothing
}

/// The marker of a file, compared with the current text, and the files that came with it.
pub(super) fn marker<'t>(
    disk: &ExportFolder<'_>,
    path: &str,
    text: &'t str,
) -> Option<(Marker<'t>, Vec<RelativePath>)> {
    let bundled = match disk.client {
        ExportFormat::Skills => bundled_of(text),
        _ => Vec::new(),
    };
    let digests = bundled.iter().map(|file| {
        let digest = disk.digest(&beside(path, file.as_str()));
        (file.as_str(), digest.unwrap_or_default())
    });
    let digests: Vec<(&str, [u8; 32])> = digests.collect();
    let marker = marker_of(disk.client, text, digests)?;
    Some((marker, bundled))
}

/// Whether a file that comes with a skill can be run where it is read from.
pub(super) fn is_executable(file: &BundledFile) -> bool {
    let path = Path::new(&*file.library.root).join(file.path.as_str());
    let metadata = path.metadata();
    metadata.is_ok_and(|it| it.is_file() && platform::is_executable(&it))
}

/// A path in the same folder as another.
pub(super) fn beside(path: &str, file: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{file}"),
        None => file.to_owned(),
    }
}
