//! Turns a folder's documents into a [`Library`]. Loading never fails; it reports problems.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use super::definition::DefinitionFile;
use super::documents::{DocumentLayout, templates};
use super::functions::{self, FunctionFiles, LIST, SCRIPT};
use super::manifest::Manifest;
use super::{definition, labels, toml};
use crate::body::BodyError;
use crate::document::Document;
use crate::limits::Limits;
use crate::model::{Content, Library, LibraryAbout, LibraryKind, LibraryOrigin, Prompt};
use crate::name::{LibraryName, RelativePath, full_path};
use crate::problem::{FileProblems, Problem, ProblemCode, Severity};
use crate::state_hash::StateHash;

/// The manifest's file name, which identifies a Twig library.
pub const MANIFEST: &str = "twig.toml";

/// What a source knows of a library's folder.
#[derive(Debug, Clone)]
pub struct LibraryRoot {
    /// The library's name.
    pub name: LibraryName,
    /// The folder, absolute.
    pub root: Box<str>,
    /// The folder in messages for people (`~` for home).
    pub shown_root: Box<str>,
    /// The prefix of a prompt's name: `library:`, or empty for a project's own.
    pub prefix: Box<str>,
}

impl LibraryRoot {
    /// The full path of a file, from its path in the library.
    pub fn path_of(&self, file: impl fmt::Display) -> String {
        full_path(&self.root, file)
    }

    /// The same in messages for people.
    pub fn shown_path_of(&self, file: impl fmt::Display) -> String {
        full_path(&self.shown_root, file)
    }

    /// True if it is a project's own folder.
    pub fn is_project(&self) -> bool {
        self.prefix.is_empty()
    }
}

/// The file that shows whether a prompt is current. `None` if all of its texts are files of their
/// own, which are checked when it is rendered: the watcher handles the manifest beside them, since
/// one more `stat` would cost every such request a sixth of its time.
pub fn source_of<'p>(library: &Library, prompt: &'p Prompt) -> Option<&'p str> {
    let file = |content: &'p Content| match content {
        Content::File(file)
        | Content::Text {
            file: Some(file), ..
        }
        | Content::Braces { file, .. }
        | Content::Document { file, .. } => Some(file.as_str()),
        _ => None,
    };
    match library.kind {
        LibraryKind::Twig => {
            let mut contents = prompt.messages.iter().map(|it| &it.content);
            let is_inline = contents.any(|content| !matches!(content, Content::File(_)));
            is_inline.then_some(MANIFEST)
        }
        LibraryKind::Functions => Some(LIST),
        _ => prompt.messages.iter().find_map(|it| file(&it.content)),
    }
}

/// Checks what is at a path of the library, without reading it.
pub trait Files {
    /// `Ok` for a regular file inside the library's folder.
    fn look(&self, path: &RelativePath) -> Result<(), BodyError>;

    /// `Ok` for such a file that the system can execute.
    fn look_program(&self, path: &RelativePath) -> Result<(), BodyError> {
        self.look(path)
    }

    /// The paths of the files in the folder of a path, to suggest one of them.
    fn beside(&self, _path: &RelativePath) -> Vec<String> {
        Vec::new()
    }
}

/// Builds a library from the text of `twig.toml`, without its documents.
pub fn twig_library(
    folder: &LibraryRoot,
    manifest: &str,
    files: &dyn Files,
    limits: &Limits,
) -> Library {
    twig_layout(folder, manifest, files, limits).library
}

/// A library without its documents.
#[derive(Debug)]
pub struct TwigLayout {
    /// The library.
    pub library: Library,
    /// Where its documents are, if that could be read.
    pub layout: Option<DocumentLayout>,
    /// False if the manifest is not valid TOML, and only some parts of it were read.
    pub is_whole: bool,
}

/// The same, and where its documents are.
///
/// Of a manifest that is not valid TOML, the sound parts are read; no function is among them.
pub fn twig_layout(
    folder: &LibraryRoot,
    manifest: &str,
    files: &dyn Files,
    limits: &Limits,
) -> TwigLayout {
    let path = folder.path_of(MANIFEST);
    let mut library = empty_library(folder, LibraryKind::Twig, Vec::new());
    let mut reader = Manifest {
        folder,
        path: &path,
        text: manifest,
        files,
        limits,
        problems: FileProblems::new(&path, manifest),
    };
    let table = toml::read(manifest);
    let is_whole = table.is_ok();
    let mut contents = match table {
        Ok(table) => reader.read(&table),
        Err(error) => reader.read_parts(&toml::read_parts(manifest, error)),
    };
    let mut hidden = Vec::new();
    labels::check(&path, manifest, &mut contents.prompts, &mut hidden);
    reader.problems.extend(hidden);
    library.problems = reader.problems.finish();
    library.about = contents.about;
    library.prompts = shared(contents.prompts);
    library.state = state(&library.prompts, [manifest.as_bytes()]);
    TwigLayout {
        library,
        layout: contents.layout,
        is_whole,
    }
}

/// Adds the documents to a library. Their contents are not in its hash: an edit of one changes no
/// list.
pub fn add_documents(library: &mut Library, layout: &DocumentLayout, mut documents: Vec<Document>) {
    labels::clean_documents(&library.root, &mut documents, &mut library.problems);
    library.documents_beside = layout.beside().cloned();
    let mut hash = StateHash::default();
    hash.part(&library.state.to_le_bytes());
    for document in &documents {
        for part in [&*document.uri, document.shown_title(), &*document.mime] {
            hash.part(part.as_bytes());
        }
    }
    library.state = hash.end();
    library.templates = templates(layout, &documents);
    library.documents = documents;
}

/// Builds a library from definitions, each a JSON file with its text or why it has none.
///
/// If two prompts have the same name, the one of the first file is kept, unless only the other can
/// be served.
pub fn definitions_library(
    folder: &LibraryRoot,
    definitions: &[DefinitionFile<'_>],
    files: &dyn Files,
    limits: &Limits,
) -> Library {
    let mut library = empty_library(folder, LibraryKind::Definitions, Vec::new());
    let context = definition::DefinitionContext {
        folder,
        files,
        limits,
    };
    let mut prompts: Vec<(&RelativePath, Prompt)> = Vec::with_capacity(definitions.len());
    for file in definitions {
        let mut prompt = definition::read(context, file, &mut library.problems);
        let (path, text) = file;
        let path = folder.path_of(path);
        let text = text.unwrap_or_default();
        labels::check(&path, text, prompt.as_mut_slice(), &mut library.problems);
        prompts.extend(prompt.map(|prompt| (file.0, prompt)));
    }
    // The sort keeps the order of files with the same name; those that can be served come first.
    prompts.sort_by(|(_, one), (_, two)| {
        let key = |prompt: &Prompt| prompt.unavailable.is_some();
        one.name.cmp(&two.name).then(key(one).cmp(&key(two)))
    });
    prompts.dedup_by(|(path, later), (kept, earlier)| {
        let is_double = later.name == earlier.name;
        if is_double && later.unavailable.is_none() {
            let message = format!("prompt `{}` is already defined in {kept}", later.name);
            let path = folder.path_of(path);
            let problem = Problem::of_file(
                ProblemCode::DuplicatePrompt,
                Severity::Error,
                &path,
                message,
            );
            let help = "rename one of the two";
            library.problems.push(problem.with_help(help));
        }
        is_double
    });
    library.prompts = shared(prompts.into_iter().map(|(_, prompt)| prompt));
    let texts = definitions.iter().flat_map(|(path, text)| {
        let text = text.unwrap_or_default();
        [path.as_str().as_bytes(), text.as_bytes()]
    });
    library.state = state(&library.prompts, texts);
    library
}

/// Builds a library from `prompts.json` and the script with its functions.
pub fn functions_library(
    folder: &LibraryRoot,
    files: &FunctionFiles<'_>,
    limits: &Limits,
) -> Library {
    let mut library = empty_library(folder, LibraryKind::Functions, Vec::new());
    let mut reader = functions::FunctionListReader {
        folder,
        path: folder.path_of(LIST),
        files,
        limits,
        problems: Vec::new(),
        unknown_fields: 0,
    };
    let prompts = RelativePath::parse(SCRIPT).map(|script| reader.read(&script));
    let mut found = reader.problems;
    let path = folder.path_of(LIST);
    match prompts {
        Ok(Ok(mut prompts)) => {
            labels::check(&path, files.list, &mut prompts, &mut found);
            library.prompts = shared(prompts);
        }
        Ok(Err(problem)) => found.push(*problem),
        Err(_) => {}
    }
    let mut problems = FileProblems::new(&path, files.list);
    problems.extend(found);
    library.problems = problems.finish();
    let script = files.script.unwrap_or_default();
    let documents = [files.list, script, files.prefix].map(str::as_bytes);
    library.state = state(&library.prompts, documents);
    library
}

/// A library that could not be read at all: no prompts, only problems.
pub fn empty_library(folder: &LibraryRoot, kind: LibraryKind, problems: Vec<Problem>) -> Library {
    Library {
        name: folder.name.clone(),
        kind,
        origin: if folder.is_project() {
            LibraryOrigin::ProjectFolder
        } else {
            LibraryOrigin::Folder
        },
        root: folder.root.clone(),
        shown_root: folder.shown_root.clone(),
        about: LibraryAbout::default(),
        prompts: Vec::new(),
        old_names: BTreeMap::new(),
        skills: Vec::new(),
        documents: Vec::new(),
        documents_beside: None,
        templates: Vec::new(),
        problems,
        state: 0,
        function_sources: Vec::new(),
        package: None,
        listing: crate::model::ListingRules::default(),
        loaded_by: Vec::new(),
        labelled: Vec::new(),
        shell_lines: crate::model::ShellLines::default(),
        workspace: None,
    }
}

/// Prompts as libraries hold them: an unchanged one is shared with the next catalog.
fn shared(prompts: impl IntoIterator<Item = Prompt>) -> Vec<Arc<Prompt>> {
    prompts.into_iter().map(Arc::new).collect()
}

/// The documents that were read, and which of the prompts can be served.
fn state<'d>(prompts: &[Arc<Prompt>], documents: impl IntoIterator<Item = &'d [u8]>) -> u64 {
    let mut hash = StateHash::default();
    for document in documents {
        hash.part(document);
    }
    for prompt in prompts {
        hash.part(&[u8::from(prompt.unavailable.is_some())]);
    }
    hash.end()
}
