//! `twig library add`: adds folders to the configuration, so that they are served from now on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::{LibraryKind, LibraryName, ProblemCode, Severity};
use twig_sources::{FoundLibrary, LiveCatalog, PlaceOrigin, Remembered, SearchedPlace};

use super::super::check::counted;
use super::super::opened_catalog::{OpenedCatalog, SourceArgs, library_of, parse_kind};
use crate::command_error::{CommandError, ErrorKind};
use crate::config::{Config, ConfigFile, LibraryEntry, bad_name};
use crate::places::{Places, on_disk};
use crate::ui::Ui;

/// Folders to add.
#[derive(Debug, Args)]
pub(crate) struct LibraryAddArgs {
    /// Folders: libraries, folders of a client such as `.claude/commands`, or a project with some
    #[arg(value_name = "PATH", required_unless_present = "detect")]
    pub(super) paths: Vec<PathBuf>,

    /// The kind of their files, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(super) kind: Option<LibraryKind>,

    /// The name of the library, if not its folder's
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,

    /// Search your home and this project for clients' folders, and pick from them
    #[arg(long, conflicts_with_all = ["paths", "kind", "name"])]
    pub(super) detect: bool,

    /// Add everything that was found without asking
    #[arg(short, long, requires = "detect")]
    pub(super) yes: bool,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// One library of a folder as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct AddedLibraryRow {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) path: PathBuf,
    pub(super) prompts: usize,
    pub(super) skills: usize,
    /// The number of problems, without those that were corrected automatically.
    pub(super) problems: usize,
    /// Whether the configuration has it now, or had it before.
    pub(super) added: bool,
}

impl AddedLibraryRow {
    pub(super) fn of(library: &FoundLibrary, added: bool) -> Self {
        Self {
            name: library.name.clone(),
            kind: library.kind.as_str(),
            path: library.root.clone(),
            prompts: library.prompts,
            skills: library.skills,
            problems: library.problems,
            added,
        }
    }

    pub(super) fn cells(&self, places: &Places) -> Vec<String> {
        let count = |count, one, many| match count {
            0 => String::new(),
            count => counted(count, one, many),
        };
        vec![
            self.name.clone(),
            self.kind.to_owned(),
            counted(self.prompts, "prompt", "prompts"),
            count(self.skills, "skill", "skills"),
            count(self.problems, "problem", "problems"),
            places.shown(&self.path),
        ]
    }
}

pub(super) fn run(options: &LibraryAddArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let name = options.name.as_deref().map(checked_name).transpose()?;
    if name.is_some() && options.paths.len() > 1 {
        let message = "--name is for one folder, and several are given";
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    let paths = options.paths.iter().map(|path| {
        check_path(&places, path)?;
        library_of(path)
    });
    let paths = paths.collect::<Result<Vec<PathBuf>, CommandError>>()?;
    let mut file = ConfigFile::open(&places)?;
    let mut rows = Vec::new();
    let mut is_new = false;
    for path in paths {
        let remembered = Remembered {
            path: path.clone(),
            kind: options.kind,
            name: name.clone(),
            ..Remembered::default()
        };
        let config = file.check(&places)?;
        if let Some(known) = known(&config, &path) {
            say_known(&places, known, &remembered, ui);
            continue;
        }
        let Some(found) = look(&places, &config, remembered)? else {
            let shown = places.shown(&path);
            ui.say(format!(
                "what is in {shown} is served already, and nothing changed"
            ));
            continue;
        };
        let name = name.as_ref().or(found.name.as_ref());
        file.add(&places, &entry(&places, &path, options.kind, name))?;
        is_new = true;
        ui.say(format!("added {}", places.shown(&path)));
        let served = found.place.libraries.iter().filter(|it| !is_empty(it));
        rows.extend(served.map(|library| AddedLibraryRow::of(library, true)));
    }
    if is_new {
        file.save(&places)?;
    }
    print(&places, &rows, options.json, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the added libraries.
pub(super) fn print(
    places: &Places,
    rows: &[AddedLibraryRow],
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if json {
        return ui.json(&rows);
    }
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells(places)).collect();
    ui.table(&cells)?;
    if rows.iter().any(|row| row.problems > 0) {
        ui.say("hint: run `twig check` to see what is wrong");
    }
    Ok(())
}

/// The configuration entry for this folder.
pub(super) fn known<'c>(config: &'c Config, path: &Path) -> Option<&'c Remembered> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real(path);
    let mut entries = config.libraries.iter();
    entries.find(|entry| real(&entry.path) == path)
}

/// The entry to write for a folder: with `~` for home, so that the file can be copied to another
/// machine.
pub(super) fn entry(
    places: &Places,
    path: &Path,
    kind: Option<LibraryKind>,
    name: Option<&LibraryName>,
) -> LibraryEntry {
    LibraryEntry {
        path: places.shown(path),
        kind,
        name: name.map(ToString::to_string),
    }
}

fn say_known(places: &Places, known: &Remembered, wanted: &Remembered, ui: &mut Ui) {
    ui.say(format!(
        "{} was added before, and nothing changed",
        places.shown(&known.path)
    ));
    let differs = (wanted.kind.is_some() && wanted.kind != known.kind)
        || (wanted.name.is_some() && wanted.name != known.name);
    if differs {
        ui.say(format!(
            "hint: to add it another way, run `twig library remove {}` first",
            places.shown(&known.path)
        ));
    }
}

fn checked_name(text: &str) -> Result<LibraryName, CommandError> {
    let name = LibraryName::from_folder(text).filter(|name| name.as_str() == text);
    name.ok_or_else(|| CommandError::new(ErrorKind::Usage, bad_name(text)))
}

/// Whether a client's folder is empty, and so not worth reporting.
fn is_empty(library: &FoundLibrary) -> bool {
    library.kind.is_format() && library.prompts == 0
}

/// Refuses paths that cannot be a library, whatever they contain.
fn check_path(places: &Places, path: &Path) -> Result<(), CommandError> {
    let path = on_disk(path);
    let shown = places.shown(&path);
    if path.is_file() {
        let message = format!("{shown} was not added: it is a file, and libraries are folders");
        return Err(CommandError::fixable(message).hint("name the folder that holds it"));
    }
    let real = path.canonicalize().unwrap_or(path);
    if real.parent().is_none() {
        let message = format!("{shown} was not added: it is the root of the file system");
        return Err(CommandError::fixable(message).hint("name the folder that holds your prompts"));
    }
    Ok(())
}

/// The name of a library that could not have its own: writing it down keeps it when the other
/// library goes.
pub(super) fn lasting_name(live: &LiveCatalog, library: &FoundLibrary) -> Option<LibraryName> {
    let is_renamed = live.problems().iter().any(|problem| {
        problem.code == ProblemCode::LibraryRenamed && Path::new(&*problem.path) == library.root
    });
    LibraryName::from_folder(&library.name).filter(|_| is_renamed)
}

/// What would be served from a folder.
struct Looked {
    place: SearchedPlace,
    /// The name to write down, if it differs from the library's own.
    name: Option<LibraryName>,
}

/// What would be served from a folder, and under which names; `None` if all of it is served
/// already.
fn look(
    places: &Places,
    config: &Config,
    folder: Remembered,
) -> Result<Option<Looked>, CommandError> {
    let path = folder.path.clone();
    let is_called = folder.name.is_some();
    let mut config = config.clone();
    config.libraries.push(folder);
    let live = OpenedCatalog::with(places.clone(), config, &SourceArgs::default())?.live;
    let is_it =
        |found: &SearchedPlace| found.origin == PlaceOrigin::Configuration && found.path == path;
    let shown = places.shown(&path);
    let (own, others): (Vec<SearchedPlace>, Vec<SearchedPlace>) =
        live.found().into_iter().partition(is_it);
    let Some(found) = own.into_iter().next() else {
        return Ok(None);
    };
    let is_served = |library: &FoundLibrary| {
        let mut served = others.iter().flat_map(|place| &place.libraries);
        served.any(|it| it.root == library.root)
    };
    if !found.libraries.is_empty() && found.libraries.iter().all(is_served) {
        return Ok(None);
    }
    if !found.libraries.iter().all(is_empty) {
        let name = match &*found.libraries {
            [library] if !is_called => lasting_name(&live, library),
            _ => None,
        };
        return Ok(Some(Looked { place: found, name }));
    }
    // The most severe problem says most.
    let mut problems = live.problems();
    problems.extend(live.snapshot().problems().cloned());
    problems.retain(|problem| Path::new(&*problem.path).starts_with(&path));
    problems.sort_by_key(|problem| match problem.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    });
    let why = problems.first().map(|problem| problem.message.clone());
    let why = why.unwrap_or_else(|| "nothing there is read as a prompt".to_owned());
    let error = CommandError::fixable(format!("{shown} was not added: {why}"));
    Err(error.hint("say how to read it with --kind, or name another folder"))
}
