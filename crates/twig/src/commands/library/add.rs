//! `twig add` and `twig library add`: adds folders and packages to the configuration, so that they are
//! served from now on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_clients::format::Options;
use twig_core::model::ShellLines;
use twig_core::shell_lines::shell_lines_of;
use twig_core::{LibraryKind, LibraryName, ProblemCode, Severity};
use twig_sources::{FoundLibrary, LiveCatalog, PlaceOrigin, Remembered, SearchedPlace, scope_of};

use super::super::check::counted;
use super::super::opened_catalog::{OpenedCatalog, SourceArgs, library_of, parse_kind};
use super::super::packages;
use super::super::packages::add::{PackageAddOptions, is_package};
use crate::command_error::{CommandError, ErrorKind};
use crate::config::{Config, ConfigFile, LibraryEntry, bad_name};
use crate::connect::ConfigScope;
use crate::places::{Places, on_disk};
use crate::ui::Ui;

// Folders and packages to add.
#[allow(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Debug, Args)]
pub(crate) struct LibraryAddArgs {
    /// Packages, as `owner/repo[/folder][#version]` on GitHub, the address of a repository or that of
    /// a host with an index of skills, or folders that start with ./, ../, / or ~
    #[arg(value_name = "SOURCE", required_unless_present_any = ["detect", "from"])]
    pub(super) sources: Vec<String>,

    /// Take over what another tool installed: skills-lock.json, .skill-lock.json, apm.yml,
    /// apm.lock.yaml or rulesync.lock
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["sources", "kind", "name", "shell_lines", "only", "scope", "detect"]
    )]
    pub(super) from: Option<PathBuf>,

    /// Take only what has these names; `*` stands for any characters (may be given several times)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) only: Vec<String>,

    /// Add a package to your own configuration, even in a repository with a `.twig` folder
    #[arg(long)]
    pub(super) global: bool,

    /// Fetch a package and show what is in it, and change nothing else
    #[arg(long)]
    pub(super) dry_run: bool,

    /// The kind of their files, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(super) kind: Option<LibraryKind>,

    /// The name of the library, if not its folder's or its repository's
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(super) name: Option<String>,

    /// Where they are served: `user` for everywhere, or `project` for only in the repository that
    /// the folder is in (default: `user`; with --detect, `project` for the folders of this project)
    #[arg(long, value_enum, value_name = "SCOPE", hide_possible_values = true)]
    pub(super) scope: Option<ConfigScope>,

    /// Tell the model to run the commands and read the files that a client would put into its
    /// prompts, instead of serving them as text
    #[arg(long, value_name = "HOW", value_parser = ["text", "instruct"])]
    pub(super) shell_lines: Option<String>,

    /// Search your home and this project for clients' folders, and pick from them
    #[arg(long, conflicts_with_all = ["sources", "kind", "name", "shell_lines", "only"])]
    pub(super) detect: bool,

    /// Add everything that was found, or that is in the package, without asking
    #[arg(short, long)]
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
    /// How many of the prompts `twig export` wrote there.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) exported: usize,
    /// The repository in which alone it is served, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<PathBuf>,
    /// Whether the configuration has it now, or had it before.
    pub(super) added: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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
            exported: 0,
            repository: None,
            added,
        }
    }

    pub(super) fn cells(&self, places: &Places) -> Vec<String> {
        let count = |count, one, many| match count {
            0 => String::new(),
            count => counted(count, one, many),
        };
        let prompts = counted(self.prompts, "prompt", "prompts");
        vec![
            self.name.clone(),
            self.kind.to_owned(),
            match self.exported {
                0 => prompts,
                exported => format!("{prompts}, {exported} exported"),
            },
            count(self.skills, "skill", "skills"),
            count(self.problems, "problem", "problems"),
            places.shown(&self.path),
            self.repository
                .as_ref()
                .map_or_else(String::new, |it| format!("only in {}", places.shown(it))),
        ]
    }
}

/// Adds what is named; `prefers_folders` says what `a/b` means where there is a folder of that name.
pub(super) fn run(
    options: &LibraryAddArgs,
    prefers_folders: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let mut package_options = PackageAddOptions {
        is_global: options.global,
        is_yes: options.yes,
        is_trial: options.dry_run,
        json: options.json,
        ..PackageAddOptions::default()
    };
    if let Some(file) = &options.from {
        package_options.keeps_going = true;
        return packages::from::run(file, &package_options, ui);
    }
    let sources = options.sources.iter();
    let (packages, folders): (Vec<&String>, Vec<&String>) =
        sources.partition(|text| is_package(text, prefers_folders));
    if packages.is_empty() {
        return add_folders(options, &folders, ui);
    }
    if !folders.is_empty() {
        let message = "folders and packages are added one after the other, not in one command";
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    for (flag, is_given) in [
        ("--kind", options.kind.is_some()),
        ("--scope", options.scope.is_some()),
        ("--shell-lines", options.shell_lines.is_some()),
    ] {
        if is_given {
            let message = format!("{flag} is for folders, and {} is a package", packages[0]);
            return Err(CommandError::new(ErrorKind::Usage, message));
        }
    }
    package_options.sources = packages.iter().map(|text| text.as_str()).collect();
    package_options.name = options.name.as_deref().map(checked_name).transpose()?;
    package_options.only = options.only.iter().map(|name| name.trim().into()).collect();
    packages::add::run(&package_options, ui)
}

fn add_folders(
    options: &LibraryAddArgs,
    folders: &[&String],
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let name = options.name.as_deref().map(checked_name).transpose()?;
    if name.is_some() && folders.len() > 1 {
        let message = "--name is for one folder, and several are given";
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    for (flag, is_given) in [
        ("--only", !options.only.is_empty()),
        ("--global", options.global),
        ("--dry-run", options.dry_run),
    ] {
        if is_given {
            let message = format!("{flag} is for packages, and {} is a folder", folders[0]);
            return Err(CommandError::new(ErrorKind::Usage, message));
        }
    }
    let paths = folders.iter().map(|text| {
        let path = home_path(&places, text);
        check_path(&places, &path)?;
        library_of(&path)
    });
    let paths = paths.collect::<Result<Vec<PathBuf>, CommandError>>()?;
    let mut file = ConfigFile::open(&places)?;
    let mut rows = Vec::new();
    let mut is_new = false;
    let shell_lines = options.shell_lines.as_deref().and_then(ShellLines::parse);
    let shell_lines = shell_lines.unwrap_or_default();
    for path in paths {
        let remembered = Remembered {
            path: path.clone(),
            kind: options.kind,
            name: name.clone(),
            options: Options {
                shell_lines,
                ..Options::default()
            },
            ..Remembered::default()
        };
        let config = file.check(&places)?;
        let repository = match options.scope {
            Some(ConfigScope::Project) => Some(repository(&places, &path)?),
            _ => None,
        };
        if let Some(known) = known(&config, &path) {
            let differs = (options.kind.is_some() && options.kind != known.kind)
                || (name.is_some() && name != known.name)
                || (options.scope.is_some() && repository != known.repository)
                || (options.shell_lines.is_some() && shell_lines != known.options.shell_lines);
            say_known(&places, known, differs, ui);
            continue;
        }
        let Some(found) = look(&places, &config, remembered, ui)? else {
            let shown = places.shown(&path);
            ui.say(format!(
                "what is in {shown} is served already, and nothing changed"
            ));
            continue;
        };
        let name = name.as_ref().or(found.name.as_ref());
        let remembered = Remembered {
            kind: options.kind,
            name: name.cloned(),
            repository: repository.clone(),
            path: path.clone(),
            options: Options {
                shell_lines,
                ..Options::default()
            },
            package: None,
            workspace: None,
            followed: None,
        };
        file.add(&places, &entry(&places, &remembered))?;
        is_new = true;
        ui.say(format!("added {}", places.shown(&path)));
        if found.with_shell_lines > 0 && options.shell_lines.is_none() {
            let prompts = counted(found.with_shell_lines, "prompt has", "prompts have");
            ui.say(format!(
                "hint: {prompts} commands or files for the client to put in; `shell_lines = \"instruct\"` under the entry in config.toml has the model do it"
            ));
        }
        let served = found.place.libraries.iter().filter(|it| !is_empty(it));
        rows.extend(served.map(|library| AddedLibraryRow {
            repository: repository.clone(),
            ..AddedLibraryRow::of(library, true)
        }));
    }
    if is_new {
        file.save(&places)?;
    }
    print(&places, &rows, options.json, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// A folder as it is written, with the home for `~`.
fn home_path(places: &Places, text: &str) -> PathBuf {
    let below = match text {
        "~" => Some(""),
        text => text.strip_prefix("~/"),
    };
    match (below, &places.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(text),
    }
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
pub(super) fn entry(places: &Places, folder: &Remembered) -> LibraryEntry {
    LibraryEntry {
        path: places.shown(&folder.path),
        kind: folder.kind,
        name: folder.name.as_ref().map(ToString::to_string),
        repository: folder.repository.as_deref().map(|it| places.shown(it)),
        shell_lines: (folder.options.shell_lines == ShellLines::Instruct).then_some("instruct"),
    }
}

/// The repository of a folder.
fn repository(places: &Places, path: &Path) -> Result<PathBuf, CommandError> {
    scope_of(path, places.home.as_deref()).ok_or_else(|| {
        let message = format!(
            "{} was not added: it is in no repository",
            places.shown(path)
        );
        CommandError::fixable(message).hint("without `--scope project` it is served everywhere")
    })
}

fn say_known(places: &Places, known: &Remembered, differs: bool, ui: &mut Ui) {
    ui.say(format!(
        "{} was added before, and nothing changed",
        places.shown(&known.path)
    ));
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
    /// How many of its prompts have commands or files that their client would put in.
    with_shell_lines: usize,
}

/// What would be served from a folder, and under which names; `None` if all of it is served
/// already.
fn look(
    places: &Places,
    config: &Config,
    folder: Remembered,
    ui: &mut Ui,
) -> Result<Option<Looked>, CommandError> {
    let path = folder.path.clone();
    let is_called = folder.name.is_some();
    let mut config = config.clone();
    config.libraries.push(folder);
    let opened = OpenedCatalog::with(places.clone(), config, &SourceArgs::default())?;
    let live = &opened.live;
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
            [library] if !is_called => lasting_name(live, library),
            _ => None,
        };
        opened.report_unread_in(&path, &live.snapshot(), ui);
        let with_shell_lines = with_shell_lines(live, &found);
        return Ok(Some(Looked {
            place: found,
            name,
            with_shell_lines,
        }));
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
    let why = problems.first().map(|problem| match problem.line {
        Some(number) => {
            let file = places.shown(Path::new(&*problem.path));
            format!("{file}:{number}: {}", problem.message)
        }
        None => problem.message.clone(),
    });
    let why = why.unwrap_or_else(|| "nothing there is read as a prompt".to_owned());
    let error = CommandError::fixable(format!("{shown} was not added: {why}"));
    Err(error.hint("say how to read it with --kind, or name another folder"))
}

/// How many prompts of a place have commands or files that their client would put in.
fn with_shell_lines(live: &LiveCatalog, place: &SearchedPlace) -> usize {
    let catalog = live.snapshot();
    let is_here = |root: &str| {
        let mut libraries = place.libraries.iter();
        libraries.any(|it| it.root == Path::new(root))
    };
    let libraries = catalog.libraries().iter().filter(|it| is_here(&it.root));
    let prompts = libraries.flat_map(|library| {
        let prompts = library.prompts.iter();
        prompts.filter(|prompt| !shell_lines_of(live, library, prompt).is_empty())
    });
    prompts.count()
}
