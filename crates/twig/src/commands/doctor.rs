//! `twig doctor`: reports what was found where, what is wrong, and whether clients can reach it.

mod clients;
mod database;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use twig_core::Latest;
use twig_core::{Catalog, Library, Problem, Severity};
use twig_packages::LockedLibrary;
use twig_sources::{FollowRecord, FoundState, PackageStore, SearchedPlace, Trust, WorkspaceStore};

use self::database::DatabaseRow;
use super::check::{ProblemRow, contents, counted, is_problem};
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::packages::scope::PackageScope;
use super::packages::version_of;
use super::packages::why::looked_at;
use super::store::Stores;
use super::workspace;
use crate::command_error::CommandError;
use crate::config::{self, Config};
use crate::installation::{self, Installation};
use crate::places::{ClientPlaces, Places};
use crate::ui::Ui;
use twig_core::problem::shell_word;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// List notes, too
    #[arg(short, long)]
    verbose: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct DoctorReport<'r> {
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    features: Vec<&'static str>,
    binary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<Installation>,
    config: Option<String>,
    config_problem: Option<String>,
    places: Vec<PlaceRow<'r>>,
    /// The project that is served with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<ProjectRow<'r>>,
    libraries: Vec<LibraryRow<'r>>,
    shadowed: Vec<LibraryRow<'r>>,
    /// Folders of libraries whose programs run whatever changes in them: they are the user's own.
    own: Vec<String>,
    /// The database that the workspaces are in, if they are in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<DatabaseRow>,
    workspaces: Vec<workspace::WorkspaceRow>,
    /// The clients that have Twig, and whether they reach it.
    clients: Vec<clients::ServerRow>,
    problems: Vec<ProblemRow<'r>>,
    packages: Vec<PackageState>,
}

/// A package that a configuration asks for.
#[derive(Debug, Serialize)]
struct PackageState {
    name: String,
    source: String,
    /// Absent if the lock has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    installed: bool,
    /// Whether a server follows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    followed: bool,
    /// When its source last answered the server that follows it, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<u64>,
}

#[derive(Debug, Serialize)]
struct PlaceRow<'r> {
    path: String,
    state: String,
    skipped: Vec<SkippedRow<'r>>,
}

#[derive(Debug, Serialize)]
struct SkippedRow<'r> {
    name: &'r str,
    why: &'static str,
}

#[derive(Debug, Serialize)]
struct LibraryRow<'r> {
    name: &'r str,
    kind: &'static str,
    path: &'r str,
    prompts: usize,
    documents: usize,
}

#[derive(Debug, Serialize)]
struct ProjectRow<'r> {
    name: &'r str,
    workspace: &'r str,
    prompts: usize,
    resources: usize,
}

pub(super) fn run(options: &DoctorArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    // A broken configuration is one of the findings, not a reason to stop.
    let (config, config_problem) = match config::load(&places) {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error.message)),
    };
    let opened = OpenedCatalog::with(places, config, &options.sources)?;
    let catalog = Latest::from(opened.live.snapshot());
    let found = opened.live.found();
    let problems = opened.problems(&catalog);
    let (database, workspaces) = workspaces(&opened)?;
    let binary = std::env::current_exe()?;
    let report = DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        commit: installation::commit(),
        features: installation::features(),
        binary: binary.display().to_string(),
        installed: Installation::of(&binary),
        config: opened
            .places
            .config
            .as_ref()
            .map(|path| path.display().to_string()),
        config_problem,
        places: found.iter().map(place_row).collect(),
        project: catalog.project().and_then(|library| project_row(library)),
        libraries: catalog
            .libraries()
            .iter()
            .filter(|library| library.stored().is_none())
            .map(|library| library_row(&catalog, library))
            .collect(),
        shadowed: catalog
            .shadowed()
            .iter()
            .map(|library| library_row(&catalog, library))
            .collect(),
        own: own(&opened.places),
        database,
        workspaces,
        clients: clients::rows(&opened.places, &ClientPlaces::from_environment(), &catalog),
        problems: problems.iter().map(ProblemRow::from).collect(),
        packages: packages(&opened.places),
    };
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    if options.json {
        ui.json(&report)?;
    } else {
        print(&opened, &report, &problems, options.verbose, ui)?;
    }
    let is_broken = report.workspaces.iter().any(|it| it.problem.is_some())
        || report.clients.iter().any(clients::ServerRow::is_broken)
        || report.database.as_ref().is_some_and(DatabaseRow::is_broken);
    Ok(
        if errors > 0 || is_broken || report.config_problem.is_some() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        },
    )
}

/// The libraries that are trusted as the user's own. A record that cannot be read is a problem
/// already, and then nothing is trusted.
fn own(places: &Places) -> Vec<String> {
    let record = places.trust.as_deref().map(Trust::read);
    let record = record.and_then(Result::ok).unwrap_or_default();
    record.own_libraries().map(str::to_owned).collect()
}

/// The database if there is one, and the user's workspaces, if there is a place for them.
fn workspaces(
    opened: &OpenedCatalog,
) -> Result<(Option<DatabaseRow>, Vec<workspace::WorkspaceRow>), CommandError> {
    let store = &opened.config.store;
    if opened.places.workspaces.is_none() && !store.is_database() {
        return Ok((None, Vec::new()));
    }
    let stores = Stores::of(opened.places.clone(), opened.config.limits.clone(), store)?;
    let database = DatabaseRow::new(&stores.workspaces);
    if database.as_ref().is_some_and(|it| !it.answers()) {
        return Ok((database, Vec::new()));
    }
    let rows = workspace::rows(&stores, WorkspaceStore::check_pages)?;
    Ok((database, rows))
}

/// The packages of the user and of the repository. What cannot be read is a problem already.
fn packages(places: &Places) -> Vec<PackageState> {
    let store = places.packages.as_deref().map(PackageStore::new);
    let mut states = Vec::new();
    for scope in PackageScope::all(places).unwrap_or_default() {
        let lock = scope.read_lock(places).unwrap_or_default();
        let record = scope.is_followed.then(|| FollowRecord::read(&scope.lock));
        for package in scope.wanted(places).unwrap_or_default() {
            let wanted = package.wanted;
            let locked = lock.library(&wanted.name).filter(|it| wanted.is_of(it));
            let is_here = |it: &LockedLibrary| store.as_ref().is_some_and(|at| at.has(it.tree));
            states.push(PackageState {
                name: wanted.name.to_string(),
                source: wanted.source.to_string(),
                version: locked.map(version_of),
                installed: locked.is_some_and(is_here),
                followed: scope.is_followed,
                looked_at: record.as_ref().and_then(|it| it.state(&wanted)?.looked_at),
            });
        }
    }
    states
}

fn print_packages(packages: &[PackageState], ui: &mut Ui) -> Result<(), CommandError> {
    if packages.is_empty() {
        return Ok(());
    }
    let count = counted(packages.len(), "package", "packages");
    let missing: Vec<&str> = packages
        .iter()
        .filter(|it| !it.installed && !it.followed)
        .map(|it| it.name.as_str())
        .collect();
    ui.line("\npackages")?;
    ui.line(match &*missing {
        [] => format!("  {count}, all installed"),
        missing => format!(
            "  {count}, not installed: {} (run `twig install`)",
            missing.join(", ")
        ),
    })?;
    for package in packages.iter().filter(|it| it.followed) {
        let version = package.version.as_deref().unwrap_or("not fetched yet");
        let looked = package.looked_at.and_then(looked_at);
        let looked = looked.map_or(String::new(), |looked| format!(", {looked}"));
        ui.line(format!("  {} is followed: {version}{looked}", package.name))?;
    }
    Ok(())
}

fn place_row(found: &SearchedPlace) -> PlaceRow<'_> {
    PlaceRow {
        path: found.path.display().to_string(),
        state: match &found.state {
            FoundState::Folder => "found".to_owned(),
            FoundState::Missing => "not there yet".to_owned(),
            FoundState::Unreadable(why) => format!("cannot be read: {why}"),
            _ => "is not a folder".to_owned(),
        },
        skipped: found
            .skipped
            .iter()
            .map(|s| SkippedRow {
                name: &s.name,
                why: s.why,
            })
            .collect(),
    }
}

impl ProjectRow<'_> {
    fn cells(&self) -> Vec<String> {
        vec![
            self.name.to_owned(),
            counted(self.prompts, "prompt", "prompts"),
            counted(self.resources, "resource", "resources"),
            format!("in workspace `{}`", self.workspace),
        ]
    }
}

fn project_row(library: &Library) -> Option<ProjectRow<'_>> {
    let (workspace, name) = library.stored()?;
    Some(ProjectRow {
        name,
        workspace,
        prompts: library.prompts.len(),
        resources: library.documents.len(),
    })
}

fn library_row<'r>(catalog: &Catalog, library: &'r Library) -> LibraryRow<'r> {
    let prompts = catalog.prompts_of(library);
    let is_whole = catalog.is_whole(library);
    LibraryRow {
        name: library.name.as_str(),
        kind: library.kind.as_str(),
        path: &library.root,
        prompts: prompts.filter(|it| it.unavailable.is_none()).count(),
        documents: if is_whole { library.documents.len() } else { 0 },
    }
}

fn print_program(report: &DoctorReport<'_>, ui: &mut Ui) -> Result<(), CommandError> {
    ui.line(format!("twig {} at {}", report.version, report.binary))?;
    ui.line(match &report.installed {
        Some(it) => format!("installed by {}; to upgrade: {}", it.by, it.upgrade),
        None => "copied here by hand; to upgrade, put a newer program in its place".to_owned(),
    })?;
    Ok(())
}

fn print(
    opened: &OpenedCatalog,
    report: &DoctorReport<'_>,
    problems: &[Problem],
    lists_notes: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let shown = |path: &str| opened.places.shown(std::path::Path::new(path));
    print_program(report, ui)?;
    if let Some(config) = &report.config {
        let state = if std::path::Path::new(config).exists() {
            ""
        } else {
            " (not there: defaults)"
        };
        ui.line(format!("configuration {}{state}", shown(config)))?;
    }
    ui.line("\nplaces")?;
    if report.places.is_empty() {
        ui.line("  none: there is no home folder; set HOME to an absolute path, or TWIG_DATA_DIR")?;
    }
    for place in &report.places {
        ui.line(format!("  {} ({})", shown(&place.path), place.state))?;
        for skipped in &place.skipped {
            ui.line(format!("    skipped {}: {}", skipped.name, skipped.why))?;
        }
    }
    if let Some(project) = &report.project {
        ui.line("\nproject")?;
        ui.facts("  ", &[project.cells()])?;
    }
    for (title, libraries) in [
        ("libraries", &report.libraries),
        ("shadowed", &report.shadowed),
    ] {
        if libraries.is_empty() {
            continue;
        }
        ui.line(format!("\n{title}"))?;
        let rows: Vec<Vec<String>> = libraries
            .iter()
            .map(|library| {
                let count = contents(library.prompts, library.documents);
                vec![
                    library.name.to_owned(),
                    library.kind.to_owned(),
                    count,
                    shown(library.path),
                ]
            })
            .collect();
        ui.facts("  ", &rows)?;
    }
    print_packages(&report.packages, ui)?;
    if report.libraries.is_empty() {
        ui.line("\nno libraries yet: make one with `twig new library NAME`")?;
    }
    if !report.own.is_empty() {
        ui.line("\ntrusted as yours: edits keep the trust")?;
        for path in &report.own {
            ui.line(format!("  {}", shown(path)))?;
        }
    }
    print_store(report, ui)?;
    let (problems, remarks): (Vec<&Problem>, _) = problems.iter().partition(|it| is_problem(it));
    print_problems(report, &problems, ui)?;
    print_notes(&remarks, lists_notes, ui)?;
    let mut args = vec!["serve".to_owned()];
    for name in &opened.sources.only {
        args.extend(["--only".to_owned(), name.clone()]);
    }
    for path in &opened.sources.library {
        args.extend(["--library".to_owned(), path.display().to_string()]);
    }
    if let Some(kind) = opened.sources.kind {
        args.extend(["--kind".to_owned(), kind.as_str().to_owned()]);
    }
    for (flag, name) in [
        ("--project", &opened.sources.project),
        ("--workspace", &opened.sources.workspace),
    ] {
        let name = name.iter().cloned();
        args.extend(name.flat_map(|name| [flag.to_owned(), name]));
    }
    let data = opened
        .places
        .data
        .as_ref()
        .filter(|_| opened.places.data_is_named);
    let data = data.map(|path| path.display().to_string());
    connect(
        &ServerLaunch {
            binary: &report.binary,
            args,
            data,
        },
        ui,
    )?;
    Ok(())
}

/// The database and the workspaces.
fn print_store(report: &DoctorReport<'_>, ui: &mut Ui) -> Result<(), CommandError> {
    if let Some(database) = &report.database {
        ui.line("\ndatabase")?;
        ui.line(database.to_string().trim_end())?;
    }
    if !report.workspaces.is_empty() {
        ui.line("\nworkspaces")?;
        let rows: Vec<_> = report
            .workspaces
            .iter()
            .map(workspace::WorkspaceRow::cells)
            .collect();
        ui.facts("  ", &rows)?;
    }
    Ok(())
}

/// Problems between clients and Twig, and with libraries.
fn print_problems(
    report: &DoctorReport<'_>,
    problems: &[&Problem],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if !report.clients.is_empty() {
        ui.line("\nclients")?;
    }
    for client in &report.clients {
        ui.line(format!("  {client}"))?;
    }
    ui.line("\nproblems")?;
    // Each is described in full above.
    let clients = report.clients.iter().filter(|it| it.is_broken()).count();
    let workspaces = report.workspaces.iter();
    let workspaces = workspaces.filter(|it| it.problem.is_some()).count();
    if clients > 0 {
        let clients = counted(clients, "client does", "clients do");
        ui.line(format!("  {clients} not reach Twig: see clients above"))?;
    }
    if workspaces > 0 {
        let workspaces = counted(workspaces, "workspace has", "workspaces have");
        ui.line(format!("  {workspaces} a problem: see workspaces above"))?;
    }
    let has_database = report.database.as_ref().is_none_or(|it| !it.is_broken());
    if !has_database {
        ui.line("  the database has a problem: see database above")?;
    }
    let is_fine = clients + workspaces == 0 && has_database && report.config_problem.is_none();
    if is_fine && problems.is_empty() {
        ui.line("  none")?;
    }
    if let Some(problem) = &report.config_problem {
        ui.line(format!("  {problem}"))?;
    }
    for problem in problems {
        ui.line(format!("  {problem}"))?;
    }
    Ok(())
}

/// What is worth knowing: how much there is, or all of it.
fn print_notes(remarks: &[&Problem], are_listed: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if remarks.is_empty() {
        return Ok(());
    }
    ui.line("\nnotes")?;
    if !are_listed {
        ui.line(format!("  {} (-v lists them)", remarks.len()))?;
        return Ok(());
    }
    for remark in remarks {
        ui.line(format!("  {remark}"))?;
    }
    Ok(())
}

/// How clients start this same server: with the sources that were named here, and nothing else.
struct ServerLaunch<'l> {
    binary: &'l str,
    args: Vec<String>,
    /// The data folder, if the environment names it: a client may not pass that on.
    data: Option<String>,
}

fn connect(launch: &ServerLaunch<'_>, ui: &mut Ui) -> Result<(), CommandError> {
    let mut server = json!({"command": launch.binary, "args": launch.args});
    if let Some(data) = &launch.data {
        server["env"] = json!({"TWIG_DATA_DIR": data});
    }
    let mut command = vec!["twig connect CLIENT".to_owned()];
    if let [_, flags @ ..] = launch.args.as_slice()
        && !flags.is_empty()
    {
        command.push("--".to_owned());
        command.extend(flags.iter().map(|arg| shell_word(arg)));
    }
    ui.line("\nconnect a client")?;
    ui.line("  twig connect    says which clients are installed, and which have Twig")?;
    ui.line(format!("  {}", command.join(" ")))?;
    ui.line("  others          put this into the client's MCP configuration:")?;
    ui.line(format!(
        "                  {}",
        json!({"mcpServers": {"twig": server}})
    ))?;
    Ok(())
}
