//! Checks whether a template would be served, before it is written.

use std::sync::Arc;

use crate::argument::Argument;
use crate::body::{Blob, Bodies, Body, BodyError, Stamp};
use crate::catalog::Catalog;
use crate::limits::Limits;
use crate::model::{Content, Library, LibraryKind, TextForm};
use crate::name::{LibraryName, RelativePath};
use crate::parse::library::{LibraryRoot, empty_library};
use crate::template::{BundleError, PromptSources, TemplateFiles, inspect};

/// Reports what is wrong with a template, as `check` would.
pub fn probe(source: &str, arguments: &[Argument], limits: &Limits) -> Result<(), String> {
    let Some(name) = LibraryName::from_folder("import") else {
        return Ok(());
    };
    let folder = LibraryRoot {
        name,
        root: "import".into(),
        shown_root: "import".into(),
        prefix: "import:".into(),
    };
    let library = Arc::new(empty_library(&folder, LibraryKind::Twig, Vec::new()));
    let files = TemplateFiles {
        catalog: &Catalog::build(vec![Arc::clone(&library)]),
        bodies: &Nothing,
        limits,
    };
    let content = Content::Text {
        text: source.into(),
        line: 1,
        form: TextForm::Lines,
        file: None,
    };
    let found = inspect(files, &library, &content, &mut PromptSources::default());
    let found = found.map_err(|error| BundleError::into_problem(error).message)?;
    if let Some(problem) = found.unknown.into_iter().next() {
        return Err(problem.message);
    }
    let is_argument = |name: &str| arguments.iter().any(|argument| *argument.name == *name);
    match found.free.iter().find(|free| !is_argument(free.name())) {
        Some(free) => Err(format!("`{}` is unknown", free.name())),
        None => Ok(()),
    }
}

/// A source without files.
struct Nothing;

impl Bodies for Nothing {
    fn read(&self, _: &Library, _: &RelativePath) -> Result<Body, BodyError> {
        Err(BodyError::NotFound)
    }

    fn bytes(&self, _: &Library, _: &RelativePath, _: usize) -> Result<Blob, BodyError> {
        Err(BodyError::NotFound)
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Err(BodyError::NotFound)
    }
}
