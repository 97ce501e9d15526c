//! From a folder's documents to a [`Library`]: loading never fails, it reports.

use sha2::{Digest, Sha256};

use super::functions::{self, FunctionFiles, LIST, SCRIPT};
use super::manifest::Manifest;
use super::{markdown, toml};
use crate::body::BodyError;
use crate::limits::Limits;
use crate::model::{About, Kind, Library, Prompt};
use crate::name::{LibraryName, RelativePath};
use crate::problem::{Problem, Severity};

/// The manifest's file name, by which a Twig library is known.
pub const MANIFEST: &str = "twig.toml";

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

    /// `Ok` for such a file that the system would start.
    fn look_program(&self, path: &RelativePath) -> Result<(), BodyError> {
        self.look(path)
    }
}

/// Makes a library of `twig.toml`'s text.
pub fn twig_library(
    folder: &Folder,
    manifest: &str,
    files: &dyn Files,
    limits: &Limits,
) -> Library {
    let path = format!("{}/{MANIFEST}", folder.root);
    let mut library = empty_library(folder, Kind::Twig, Vec::new());
    match toml::read(manifest) {
        Ok(table) => {
            let mut reader = Manifest {
                folder,
                path: &path,
                text: manifest,
                files,
                limits,
                problems: Vec::new(),
            };
            let contents = reader.read(&table);
            library.problems = reader.problems;
            // Tables are read in their own order; people read from top to bottom.
            library
                .problems
                .sort_by_key(|problem| (problem.line, problem.column));
            library.about = contents.about;
            library.prompts = contents.prompts;
        }
        Err(error) => {
            let span = error.span.unwrap_or(0..0);
            let message = format!("{MANIFEST} is not valid TOML: {}", error.message);
            let problem = Problem::at(
                "manifest-syntax",
                Severity::Error,
                &path,
                manifest,
                span,
                message,
            );
            library.problems.push(problem);
        }
    }
    library.digest = digest(&library.prompts, [manifest.as_bytes()]);
    library
}

/// Makes a library of Markdown files with front matter, each with its text or why it has none.
pub fn markdown_library(
    folder: &Folder,
    files: &[(RelativePath, Result<String, BodyError>)],
    limits: &Limits,
) -> Library {
    let mut library = empty_library(folder, Kind::Markdown, Vec::new());
    for (path, text) in files {
        let prompt = markdown::read(folder, path, text, limits, &mut library.problems);
        library.prompts.extend(prompt);
    }
    library.prompts.sort_by(|one, two| one.name.cmp(&two.name));
    let documents = files.iter().flat_map(|(path, text)| {
        let text = text.as_ref().map(String::as_str).unwrap_or_default();
        [path.as_str().as_bytes(), text.as_bytes()]
    });
    library.digest = digest(&library.prompts, documents);
    library
}

/// Makes a library of `prompts.json` and the script with its functions.
pub fn functions_library(folder: &Folder, files: &FunctionFiles<'_>, limits: &Limits) -> Library {
    let mut library = empty_library(folder, Kind::Functions, Vec::new());
    let mut reader = functions::Reader {
        folder,
        path: format!("{}/{LIST}", folder.root),
        files,
        limits,
        problems: Vec::new(),
    };
    let prompts = RelativePath::parse(SCRIPT).map(|script| reader.read(&script));
    library.problems = reader.problems;
    match prompts {
        Ok(Ok(prompts)) => library.prompts = prompts,
        Ok(Err(problem)) => library.problems.push(*problem),
        Err(_) => {}
    }
    let script = files.script.as_ref().map_or("", String::as_str);
    let documents = [files.list, script, files.prefix].map(str::as_bytes);
    library.digest = digest(&library.prompts, documents);
    library
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
        documents: Vec::new(),
        templates: Vec::new(),
        problems,
        digest: [0; 32],
    }
}

/// The documents that were read, and which of the prompts can be served.
fn digest<'d>(prompts: &[Prompt], documents: impl IntoIterator<Item = &'d [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for document in documents {
        hash.update((document.len() as u64).to_le_bytes());
        hash.update(document);
    }
    for prompt in prompts {
        hash.update([u8::from(prompt.unavailable.is_some())]);
    }
    hash.finalize().into()
}
