//! `twig library`: which libraries there are, and which of them may run programs.

mod add;
mod detect;
mod remove;
mod trust;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::{Library, LibraryKind};
use twig_sources::{LockError, PlaceOrigin, SearchedPlace, Trust, TrustVerdict, examine};

pub(super) use self::add::LibraryAddArgs;
pub(super) use self::detect::bases;
use self::trust::TrustArgs;
use super::check::counted;
use super::opened_catalog::{OpenedCatalog, SourceArgs, library_of};
use super::packages::why::PackageOrigin;
use crate::command_error::{CommandError, not_locked, reason};
use crate::places::Places;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum LibraryCommand {
    /// List libraries: where they are, their contents, whether they are trusted
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        sources: SourceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add folders and packages, so that they are served from now on
    Add(LibraryAddArgs),
    /// Remove a package or a folder that was added; a folder's files stay
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(LibraryRemoveArgs),
    /// Allow a library to run its programs, as they are now
    Trust(TrustArgs),
    /// Stop allowing a library to run its programs
    Distrust {
        /// The library's name, or its folder
        #[arg(value_name = "NAME|PATH")]
        library: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

// What is no longer served.
#[derive(Debug, Args)]
pub(crate) struct LibraryRemoveArgs {
    /// The name of the package or library, or the folder that was added
    #[arg(value_name = "NAME|PATH")]
    library: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One library as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ConfiguredLibraryRow<'c> {
    name: &'c str,
    kind: &'static str,
    path: &'c str,
    /// Prompts that are served.
    prompts: usize,
    /// Prompts that run a program, served or not.
    functions: usize,
    /// Whether these may run; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
    /// True if these may run whatever changes in them: they are the user's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    own: bool,
    /// Why it is served: `flag`, `project`, `configuration` or `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<PackageOrigin>,
}

pub(super) fn run(what: &LibraryCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        LibraryCommand::List { sources, json } => list(sources, *json, ui),
        LibraryCommand::Add(options) if options.detect => detect::run(options, ui),
        LibraryCommand::Add(options) => add::run(options, true, ui),
        LibraryCommand::Remove(options) => run_remove(options, ui),
        LibraryCommand::Trust(options) => trust::run(options, ui),
        LibraryCommand::Distrust { library, json } => trust::end(library, *json, ui),
    }
}

/// `twig remove`.
pub(super) fn run_remove(
    options: &LibraryRemoveArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    remove::run(&options.library, options.json, ui)
}

/// `twig add`.
pub(super) fn run_add(options: &LibraryAddArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    if options.detect {
        return detect::run(options, ui);
    }
    add::run(options, false, ui)
}

fn list(sources: &SourceArgs, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(sources)?;
    let catalog = opened.live.snapshot();
    let record = read_record(&opened.places)?.1;
    let found = opened.live.found();
    let rows: Vec<ConfiguredLibraryRow<'_>> = catalog
        .libraries()
        .iter()
        .filter(|library| library.stored().is_none())
        .map(|library| row(&opened, library, &record, &found))
        .collect();
    if json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = rows.iter().map(|row| {
        let trusted = match (row.trusted, row.functions) {
            (None, _) => String::new(),
            (Some(true), count) if row.own => {
                let count = counted(count, "command", "commands");
                format!("trusted as yours ({count})")
            }
            (Some(true), count) => format!("trusted ({})", counted(count, "command", "commands")),
            (Some(false), count) => {
                format!("not trusted ({})", counted(count, "command", "commands"))
            }
        };
        vec![
            row.name.to_owned(),
            row.kind.to_owned(),
            counted(row.prompts, "prompt", "prompts"),
            match &row.package {
                Some(package) => format!("{} {}", package.source, package.version),
                None => opened.places.shown(Path::new(row.path)),
            },
            row.origin.map_or(String::new(), |origin| match origin {
                "flag" => "from --library".to_owned(),
                "data" => "from the data folder".to_owned(),
                origin => format!("from the {origin}"),
            }),
            trusted,
            match row.package.as_ref().and_then(PackageOrigin::followed) {
                Some(followed) => format!("followed, {followed}"),
                None => String::new(),
            },
        ]
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    if rows.is_empty() {
        ui.say(super::list::nothing(&opened));
    }
    Ok(ExitCode::SUCCESS)
}

fn row<'c>(
    opened: &OpenedCatalog,
    library: &'c Library,
    record: &Trust,
    found: &[SearchedPlace],
) -> ConfiguredLibraryRow<'c> {
    let root = Path::new(&*library.root);
    let data = opened.places.data.as_deref();
    let functions = library.prompts.iter().filter(|p| p.function().is_some());
    let functions = functions.count();
    let is_trusted = || {
        examine(root).is_ok_and(|survey| {
            record.library_verdict(library, &survey, data) == TrustVerdict::Trusted
        })
    };
    let served = library.prompts.iter().filter(|p| p.unavailable.is_none());
    ConfiguredLibraryRow {
        name: library.name.as_str(),
        kind: library.kind.as_str(),
        path: &library.root,
        prompts: served.count(),
        functions,
        trusted: (functions > 0).then(is_trusted),
        own: record.is_own(root),
        origin: origin(root, found).map(PlaceOrigin::as_str),
        package: PackageOrigin::of(opened, library),
    }
}

/// Why a library is served.
fn origin(root: &Path, found: &[SearchedPlace]) -> Option<PlaceOrigin> {
    let has_it = |place: &&SearchedPlace| place.libraries.iter().any(|it| it.root == root);
    found.iter().find(has_it).map(|place| place.origin)
}

/// The selected library: by its name if it is served anyway, else by its folder.
fn find(named: &str) -> Result<(Places, Arc<Library>), CommandError> {
    let is_path = named.contains(std::path::MAIN_SEPARATOR) || named.starts_with('.');
    if is_path {
        return find_at(Some(named), named);
    }
    // A name wins over a folder beside it.
    match find_at(None, named) {
        Err(error) if !Path::new(named).is_dir() => Err(error),
        Err(_) => find_at(Some(named), named),
        found => found,
    }
}

fn find_at(folder: Option<&str>, named: &str) -> Result<(Places, Arc<Library>), CommandError> {
    let path = folder.map(|folder| library_of(Path::new(folder)));
    let path = path.transpose()?;
    let sources = SourceArgs {
        library: path.iter().cloned().collect(),
        kind: path.as_deref().and_then(kind_of),
        ..SourceArgs::default()
    };
    let opened = OpenedCatalog::open(&sources)?;
    let catalog = opened.live.snapshot();
    let found = match &path {
        Some(path) => catalog
            .libraries()
            .iter()
            .chain(catalog.shadowed())
            .find(|library| Path::new(&*library.root) == path.as_path()),
        None => catalog.library(named),
    };
    let Some(found) = found else {
        let error = CommandError::fixable(match &path {
            Some(path) => format!("{} is no library", opened.places.shown(path)),
            None => format!("there is no library `{named}`"),
        });
        let others = catalog
            .libraries()
            .iter()
            .map(|library| library.name.as_str());
        let near = twig_core::suggest::did_you_mean(named, others);
        let hint = near.unwrap_or_else(|| {
            "run `twig library list`; one that --library names is trusted by its folder".to_owned()
        });
        return Err(error.hint(hint));
    };
    let found = Arc::clone(found);
    Ok((opened.places, found))
}

/// A folder with the files of a `functions` library is read as one.
fn kind_of(path: &Path) -> Option<LibraryKind> {
    let is_there = |name: &str| path.join(name).is_file();
    (!is_there("twig.toml") && is_there("prompts.json")).then_some(LibraryKind::Functions)
}

pub(super) fn read_record(places: &Places) -> Result<(PathBuf, Trust), CommandError> {
    let Some(path) = &places.trust else {
        let error = CommandError::fixable("there is no place for the record of trusted libraries");
        return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
    };
    match Trust::read(path) {
        Ok(trust) => Ok((path.clone(), trust)),
        Err(error) => Err(CommandError::fixable(format!(
            "{} cannot be read: {}",
            places.shown(path),
            match error.kind() {
                // The JSON error says more than the error kind.
                std::io::ErrorKind::InvalidData => error.to_string(),
                _ => reason(&error),
            }
        ))
        .hint("fix or remove the file, then trust your libraries again")),
    }
}

/// Changes the record as it is now: other commands may have changed it since it was read.
fn change<R>(
    places: &Places,
    path: &Path,
    change: impl FnOnce(&mut Trust) -> io::Result<R>,
) -> Result<R, CommandError> {
    let shown = places.shown(path);
    Trust::change(path, change).map_err(|error| match error {
        LockError::Io(error) => {
            CommandError::fixable(format!("{shown} cannot be written: {}", reason(&error)))
        }
        error => not_locked(&shown, &error),
    })
}
