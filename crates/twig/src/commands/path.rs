//! `twig path`: where the file of a prompt, a document or a library is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::parse::project::CONFIG;
use twig_core::{Library, LibraryKind, Lookup};

use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::origin::OriginRow;
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// The prompt, library or document; without it, the data folder
    name: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A path as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct PathRow {
    path: String,
}

pub(super) fn run(options: &PathArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.sources)?;
    let path = match &options.name {
        Some(name) => named(&opened, name, |library| PathBuf::from(&*library.root))?,
        None => opened.places.data.clone().ok_or_else(|| {
            CommandError::fixable("there is no data folder").hint("set HOME or TWIG_DATA_DIR")
        })?,
    };
    let path = path.display().to_string();
    if options.json {
        ui.json(&PathRow { path })?;
    } else {
        ui.line(path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that an author edits for a name: a library has its manifest.
pub(super) fn file_to_edit(opened: &OpenedCatalog, name: &str) -> Result<PathBuf, CommandError> {
    let path = named(opened, name, |library| {
        let file = match library.kind {
            LibraryKind::Definitions => CONFIG,
            _ => MANIFEST,
        };
        Path::new(&*library.root).join(file)
    })?;
    let catalog = opened.live.snapshot();
    let mut libraries = catalog.libraries().iter();
    if let Some(library) = libraries.find(|it| path.starts_with(&*it.root)) {
        refuse_package(library, name)?;
    }
    if !path.exists() {
        let message = format!("{} is not there", opened.places.shown(&path));
        let hint = "name one of its prompts, as `twig list` shows them";
        return Err(CommandError::fixable(message).hint(hint));
    }
    Ok(path)
}

/// The file of a prompt or document, or what `of_library` gives for a library.
fn named(
    opened: &OpenedCatalog,
    name: &str,
    of_library: impl FnOnce(&Library) -> PathBuf,
) -> Result<PathBuf, CommandError> {
    let catalog = opened.live.snapshot();
    if let Some(found) = catalog.document(name) {
        return on_disk(OriginRow::of_document(found.library, found.document), name);
    }
    if let (Lookup::Missing, Some(library)) =
        (catalog.find_by_any_name(name), catalog.library(name))
    {
        if library.stored().is_some() {
            return Err(in_store(name));
        }
        return Ok(of_library(library));
    }
    let found = opened.find(&catalog, name)?;
    on_disk(OriginRow::of_prompt(found.library, found.prompt), name)
}

fn on_disk(origin: OriginRow<'_>, name: &str) -> Result<PathBuf, CommandError> {
    match origin {
        OriginRow::File { path, .. } => Ok(path.into()),
        OriginRow::Project { .. } => Err(in_store(name)),
    }
}

/// Refuses to change a library of a package: its files are those that were fetched.
pub(super) fn refuse_package(library: &Library, name: &str) -> Result<(), CommandError> {
    let Some(package) = &library.package else {
        return Ok(());
    };
    let message = format!(
        "`{name}` was not changed: it belongs to the package `{}` from {}, whose files stay as they were fetched",
        package.name, package.source
    );
    let hint = format!(
        "copy what you want to change: `twig show {name}` prints it, and `twig new prompt` makes one of your own"
    );
    Err(CommandError::fixable(message).hint(hint))
}

/// Something that has versions in the store instead of a file.
pub(super) fn in_store(name: &str) -> CommandError {
    let message = format!("`{name}` is in the store, so it has no file");
    CommandError::fixable(message)
        .hint("`twig prompt` and `twig resource` change what is in the store")
}
