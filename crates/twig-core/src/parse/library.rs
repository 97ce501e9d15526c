//! From a folder's documents to a [`Library`]: loading never fails, it reports.

use crate::body::BodyError;
use crate::limits::Limits;
use crate::model::{About, Kind, Library};
use crate::name::{LibraryName, RelativePath};
use crate::problem::Problem;

/// What a source knows of a library's folder.
#[derive(Debug, Clone)]
pub struct Folder {
    /// The library's name.
    pub name: LibraryName,
    /// The folder, absolute.
    pub root: Box<str>,
    /// The folder as people like to read it (`~` for home).
    pub shown_root: Box<str>,
    /// What stands between a library's name and a prompt's.
    pub separator: Box<str>,
}

/// Says what stands at a path of the library, without reading it.
pub trait Files {
    /// `Ok` for a regular file inside the library's folder.
    fn look(&self, path: &RelativePath) -> Result<(), BodyError>;
}

/// Makes a library of `twig.toml`'s text.
pub fn twig_library(
    folder: &Folder,
    manifest: &str,
    files: &dyn Files,
    limits: &Limits,
) -> Library {
    let _ = (manifest, files, limits);
    empty_library(folder, Kind::Twig, Vec::new())
}

/// Makes a library of Markdown files with front matter, each with its text or why it has none.
pub fn markdown_library(
    folder: &Folder,
    files: &[(RelativePath, Result<String, BodyError>)],
    limits: &Limits,
) -> Library {
    let _ = (files, limits);
    empty_library(folder, Kind::Markdown, Vec::new())
}

/// A library that could not be read at all: no prompts, only problems.
pub fn empty_library(folder: &Folder, kind: Kind, problems: Vec<Problem>) -> Library {
    Library {
        name: folder.name.clone(),
        kind,
        root: folder.root.clone(),
        shown_root: folder.shown_root.clone(),
        about: About::default(),
        prompts: Vec::new(),
        problems,
        digest: [0; 32],
    }
}
