//! `twig export`: writes prompts as files that another client reads.

mod pick;
mod report;
mod repository;
mod target;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_clients::clients::{ExportFormat, KnownClient, exported_client, exported_clients};
use twig_clients::export::{FileNames, ShellTranslation, plan};
use twig_core::Latest;
use twig_core::LibraryKind;
use twig_sources::{EarlierExports, ExportMode, export_prompts};

use self::pick::{Picked, current_names};
use self::report::ExportReport;
use self::repository::Repository;
use self::target::ExportDestination;
use super::list::nothing;
use super::old_spelling::{changed, renamed};
use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_folder, parse_kind, parse_only};
use super::scope::ScopeArgs;
use crate::command_error::CommandError;
use crate::config;
use crate::connect::ConfigScope;
use crate::jobs::{JobSettings, Jobs};
use crate::places::Places;
use crate::ui::Ui;
use twig_core::problem::shell_word;

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each of them is a flag of its own"
)]
pub(crate) struct ExportArgs {
    /// Prompts to write, with `*` for any characters, such as `review:*`; by default what `[export]`
    /// in `.twig/config.toml` names, or else the prompts of all libraries
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[arg(long, value_name = "CLIENT", value_parser = parse_client, help = to_help())]
    to: Option<ExportClient>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Write into this folder of the project or of your home instead of the client's own
    #[arg(long = "in", value_name = "FOLDER")]
    folder: Option<String>,

    #[command(flatten)]
    from: ExportSourceArgs,

    /// Write nothing; exit with 1 if files differ from what would be written. In a project, only
    /// its own prompts count, and those that --library and -p add
    #[arg(long, conflicts_with_all = ["dry_run", "force", "prune"])]
    check: bool,

    /// Write nothing; show what would be done
    #[arg(long)]
    dry_run: bool,

    /// Replace files that were changed or are not Twig's; keeps a copy of each
    #[arg(short, long)]
    force: bool,

    /// Remove files that were exported from prompts that are no longer exported
    #[arg(long)]
    prune: bool,

    /// Translate the commands and files that a prompt's own client puts in, such as !`git status`,
    /// so that this client runs and reads them; files for the same client always keep them
    #[arg(long)]
    keep_shell: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

// Where prompts come from: as in other commands, but `--project` named the folder for the files in
// earlier versions.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExportSourceArgs {
    /// Write only these: libraries and projects by name, or prompts as LIBRARY:NAME; `*` stands for
    /// any characters (may be given several times)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_only)]
    only: Vec<String>,

    /// Add this folder of prompts for this run, before all others (may be given several times)
    #[arg(long, value_name = "PATH", value_parser = parse_folder)]
    library: Vec<PathBuf>,

    /// The kind of --library's files, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind, requires = "library")]
    kind: Option<LibraryKind>,

    /// Add this project of the store, before all libraries
    #[arg(short = 'p', value_name = "NAME", group = "stored")]
    stored_project: Option<String>,

    /// The same; once a folder.
    #[arg(long, hide = true, value_name = "NAME", group = "stored")]
    project: Option<String>,

    /// The old spelling of `-p`.
    #[arg(long, hide = true, value_name = "NAME", group = "stored")]
    from_project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "stored")]
    workspace: Option<String>,
}

impl ExportSourceArgs {
    /// The same as the arguments of other commands.
    fn sources(&self, ui: &mut Ui) -> Result<SourceArgs, CommandError> {
        if let Some(project) = &self.project {
            let is_path = project.contains(['/', '\\']) || project.starts_with('.');
            if is_path || Path::new(project).is_dir() {
                let error = changed("`--project` is a project of the store, not a folder");
                let folder = shell_word(project);
                return Err(error
                    .hint(format!(
                        "run `twig -C {folder} export …` to write into that folder"
                    ))
                    .hint("use `-p NAME` for a project of the store"));
            }
        }
        if self.from_project.is_some() {
            renamed("--from-project", "-p", ui);
        }
        let project = self.stored_project.as_ref().or(self.project.as_ref());
        Ok(SourceArgs {
            only: self.only.clone(),
            library: self.library.clone(),
            kind: self.kind,
            project: project.or(self.from_project.as_ref()).cloned(),
            workspace: self.workspace.clone(),
            ..SourceArgs::default()
        })
    }
}

/// A client, and the format that is written for it.
#[derive(Debug, Clone, Copy)]
struct ExportClient {
    client: &'static KnownClient,
    format: ExportFormat,
}

impl ExportClient {
    /// What is written, if that is not a format of the client's own.
    fn detour(self) -> Option<String> {
        let title = self.client.title;
        let is_own = self.client.writes.is_some();
        (!is_own).then(|| format!("{title} reads skills, so prompts are written as skills"))
    }
}

/// The help of `--to`.
fn to_help() -> String {
    let names: Vec<&str> = exported_clients().map(|client| client.id).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!(
        "Whose files to write: {} or {last}; by default those in `.twig/config.toml`",
        others.join(", ")
    )
}

fn parse_client(text: &str) -> Result<ExportClient, String> {
    let (client, format) = exported_client(text)?;
    Ok(ExportClient { client, format })
}

pub(super) fn run(options: &ExportArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let sources = options.from.sources(ui)?;
    let scope = options.scope.get(ConfigScope::Project, ui);
    let mut places = Places::from_environment();
    let mut config = config::load(&places)?;
    let repository = match scope {
        ConfigScope::Project => Repository::around(&places, &config.limits)?,
        ConfigScope::User => Repository::default(),
    };
    // What a repository exports is the same for everyone who works in it.
    let is_shared = scope == ConfigScope::Project && (options.check || repository.exports());
    if is_shared {
        repository.keep_only(&mut places, &mut config);
    }
    let targets = targets(options, scope, &repository, &places)?;
    let seen = is_shared.then(|| repository.what_is_seen(&places));
    let with_seen = |error: CommandError| seen.iter().fold(error, CommandError::hint);
    let opened = OpenedCatalog::with(places, config, &sources);
    let opened = opened.map_err(|error| {
        if sources.only.is_empty() {
            error
        } else {
            with_seen(error)
        }
    })?;
    let catalog = Latest::from(opened.live.snapshot());
    let is_picked = !options.names.is_empty() || !sources.only.is_empty();
    let picked = if is_picked {
        Picked::by_name(&opened, &catalog, &options.names)
    } else {
        Picked::by_settings(&catalog, &repository, &opened.places)
    };
    let picked = picked.map_err(with_seen)?;
    if catalog.is_empty() {
        ui.say(match &seen {
            Some(seen) => format!("nothing to export: {seen}"),
            None => nothing(&opened),
        });
    }
    let mut reports = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for (client, target) in &targets {
        if let Some(said) = client.detour() {
            ui.say(format!("note: {said}"));
        }
        let report = export(
            options,
            &opened,
            &catalog,
            &picked,
            client.format,
            target,
            ui,
        )?;
        let is_done = !report.has_failed() && !report.lacks(|name| picked.is_named(name));
        if options.check && report.has_drifted() || !is_done {
            code = ExitCode::FAILURE;
        }
        reports.push(report);
    }
    report::print(&reports, options, &opened.places, ui)?;
    Ok(code)
}

/// The clients and where their files go.
fn targets(
    options: &ExportArgs,
    scope: ConfigScope,
    repository: &Repository,
    places: &Places,
) -> Result<Vec<(ExportClient, ExportDestination)>, CommandError> {
    let mut targets: Vec<(ExportClient, ExportDestination)> = Vec::new();
    let clients = match options.to {
        Some(client) => vec![client],
        None => repository.clients(scope, places)?,
    };
    for client in clients {
        let own = || repository.folder_for(client.format);
        let folder = options.folder.clone().or_else(own);
        let base = repository.base();
        let target =
            ExportDestination::find(client.format, folder.as_deref(), scope, base, places)?;
        let is_same = |(other, known): &(ExportClient, ExportDestination)| {
            other.format == client.format && known.path() == target.path()
        };
        if !targets.iter().any(is_same) {
            targets.push((client, target));
        }
    }
    Ok(targets)
}

/// Writes the files of one client.
fn export<'t>(
    options: &ExportArgs,
    opened: &OpenedCatalog,
    catalog: &Latest<'_>,
    picked: &Picked<'_>,
    format: ExportFormat,
    target: &'t ExportDestination,
    ui: &mut Ui,
) -> Result<ExportReport<'t>, CommandError> {
    let world = opened.world(catalog);
    let progress = ui.counted_progress("exporting", picked.prompts.len());
    let names = FileNames::new(world, format, picked.prompts.iter().copied());
    let jobs = Jobs::new(JobSettings::default());
    let prompts = picked.prompts.iter().copied();
    let prompts = prompts.inspect(|_| progress.step());
    let translation = if options.keep_shell {
        ShellTranslation::On
    } else {
        ShellTranslation::Off
    };
    let mut compute = |job: &_| jobs.render(Clone::clone(job));
    let plan = plan(world, format, translation, &names, prompts, &mut compute);
    let mode = ExportMode {
        is_dry: options.check || options.dry_run,
        force: options.force,
        prune: options.prune,
    };
    if !mode.is_dry {
        target.make_base()?;
    }
    let (filter, separator) = (catalog.filter(), &opened.config.separator);
    let is_meant = |name: &str| picked.is_meant(name) && filter.has_name(name, separator);
    let earlier = EarlierExports {
        is_meant: &is_meant,
        current: &current_names(catalog),
    };
    let files = export_prompts(target.get(format), &plan, earlier, &opened.live, mode);
    drop(progress);
    let files = files.map_err(|error| target.trouble(&opened.places, &error))?;
    Ok(ExportReport {
        client: format,
        target,
        mode,
        files,
        left: plan.left,
    })
}
