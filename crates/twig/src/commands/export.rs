//! `twig export`: writes prompts as files that another client reads.

mod pick;
mod report;
mod target;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_clients::clients::{CLIENTS, ExportFormat, KnownClient, client};
use twig_clients::export::{FileNames, plan};
use twig_core::Latest;
use twig_core::LibraryKind;
use twig_core::suggest::did_you_mean;
use twig_sources::{ExportMode, export_prompts};

use self::pick::Picked;
use self::report::ExportReport;
use self::target::ExportDestination;
use super::list::nothing;
use super::old_spelling::{changed, renamed};
use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_folder, parse_kind, parse_only};
use super::scope::ScopeArgs;
use crate::command_error::CommandError;
use crate::connect::ConfigScope;
use crate::jobs::{JobSettings, Jobs};
use crate::ui::Ui;
use twig_core::problem::shell_word;

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each of them is a flag of its own"
)]
pub(crate) struct ExportArgs {
    /// Prompts to write, with `*` for any characters, such as `review:*`; all served prompts by
    /// default
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[arg(long, value_name = "CLIENT", value_parser = parse_client, help = to_help())]
    to: ExportClient,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Write into this folder of the project or of your home instead of the client's own
    #[arg(long = "in", value_name = "FOLDER")]
    folder: Option<String>,

    #[command(flatten)]
    from: ExportSourceArgs,

    /// Write nothing; exit with 1 if files differ from what would be written
    #[arg(long, conflicts_with_all = ["dry_run", "force", "prune"])]
    check: bool,

    /// Write nothing; show what would be done
    #[arg(long)]
    dry_run: bool,

    /// Replace files that were changed or are not Twig's; keeps a copy of each
    #[arg(short, long)]
    force: bool,

    /// Remove files that were exported from prompts that no longer exist
    #[arg(long)]
    prune: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where prompts come from: as in other commands, but `--project` named the folder for the files in
/// earlier versions.
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

/// The names of the clients for which files can be written.
fn exported() -> Vec<&'static str> {
    let clients = CLIENTS.iter();
    let clients = clients.filter(|client| client.export_format().is_some());
    clients.map(|client| client.id).collect()
}

/// The help of `--to`.
fn to_help() -> String {
    let names = exported();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("Whose files to write: {} or {last}", others.join(", "))
}

fn parse_client(text: &str) -> Result<ExportClient, String> {
    let Some(client) = client(text) else {
        let names = exported();
        let near = did_you_mean(text, names.iter().copied());
        return Err(near.unwrap_or_else(|| format!("known clients: {}", names.join(", "))));
    };
    let Some(format) = client.export_format() else {
        let how = match client.servers {
            Some(_) => format!("; `twig connect {}` gives it your prompts", client.id),
            None => String::new(),
        };
        return Err(format!("Twig writes no files for {}{how}", client.title));
    };
    Ok(ExportClient { client, format })
}

pub(super) fn run(options: &ExportArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.from.sources(ui)?)?;
    let catalog = Latest::from(opened.live.snapshot());
    let scope = options.scope.get(ConfigScope::Project, ui);
    let target = ExportDestination::find(options, scope, &opened.places)?;
    let picked = Picked::of(&opened, &catalog, &options.names)?;
    if catalog.is_empty() {
        ui.say(nothing(&opened));
    }
    if let Some(said) = options.to.detour() {
        ui.say(format!("note: {said}"));
    }
    let format = options.to.format;
    let world = opened.world(&catalog);
    let progress = ui.progress("rendering prompts");
    let names = FileNames::new(world, format, picked.prompts.iter().copied());
    let jobs = Jobs::new(JobSettings::default());
    let prompts = picked.prompts.iter().copied();
    let plan = plan(world, format, &names, prompts, &mut |job| {
        jobs.render(job.clone())
    });
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
    let files = export_prompts(target.get(format), &plan, &is_meant, &opened.live, mode);
    drop(progress);
    let files = files.map_err(|error| target.trouble(&opened.places, &error))?;
    let report = ExportReport {
        client: format,
        target: &target,
        mode,
        files: &files,
        left: &plan.left,
    };
    report.print(options, &opened.places, ui)?;
    if options.check && report.has_drifted() || files.iter().any(|file| file.is_failed) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
