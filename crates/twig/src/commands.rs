//! The command line: one module per command, with its flags and what it does. This module
//! dispatches; help, completions and the man page come from the same clap definition.

mod backup;
mod check;
mod client;
mod clipboard;
mod compact;
mod connect;
mod content;
mod demo;
mod doctor;
mod documents;
mod editor;
mod export;
mod help;
mod import;
mod init;
mod item;
mod library;
mod list;
mod new;
mod old_spelling;
mod opened_catalog;
mod origin;
mod project;
mod question;
mod render;
mod scope;
mod search;
mod serve;
mod show;
mod store;
mod transfer;
mod values;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use self::check::CheckArgs;
use self::connect::ConnectArgs;
use self::doctor::DoctorArgs;
use self::export::ExportArgs;
use self::help::HelpArgs;
use self::import::ImportArgs;
use self::init::InitArgs;
use self::item::{PromptCommand, ResourceCommand};
use self::library::LibraryCommand;
use self::list::ListArgs;
use self::new::NewCommand;
use self::project::ProjectCommand;
use self::render::RenderArgs;
use self::search::SearchArgs;
use self::serve::ServeArgs;
use self::show::ShowArgs;
use self::workspace::WorkspaceCommand;
use crate::command_error::{CommandError, ErrorKind};
use crate::function;
use crate::log::LogLevel;
use crate::ui::Ui;
use crate::worker;

/// Keep your prompts in one place and serve them to every AI client
#[derive(Debug, Parser)]
#[command(
    name = "twig",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
#[command(
    after_help = "Start with `twig demo`, then `twig connect` to have your prompts in a client."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: TwigCommand,

    /// Run as if started in this folder
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub(crate) working_folder: Option<PathBuf>,

    /// How much to log on stderr
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    pub(crate) log_level: LogLevel,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TwigCommand {
    /// Serve your prompts over MCP on standard input and output, or over HTTP
    #[command(alias = "start")]
    Serve(ServeArgs),
    /// Show a server and a client talking to each other, with a sample library
    Demo,
    /// List prompts, or documents
    List(ListArgs),
    /// Show one prompt with its arguments and text, or one document
    Show(ShowArgs),
    /// Render a prompt with arguments
    Render(RenderArgs),
    /// Search prompts and documents by name, title, description and text
    Search(SearchArgs),
    /// Check libraries and report problems
    Check(CheckArgs),
    /// Create starter prompts and documents for a project
    Init(InitArgs),
    /// Create a library or prompt
    #[command(subcommand)]
    New(NewCommand),
    /// Import prompts that were written for other tools
    Import(ImportArgs),
    /// List libraries, add folders, and trust libraries that run programs
    #[command(subcommand)]
    Library(LibraryCommand),
    /// Create and delete workspaces, which hold projects
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Create, rename, delete, export and import projects
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Change the prompts of a project, and restore earlier versions
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Change the resources of a project, and restore earlier versions
    #[command(subcommand)]
    Resource(ResourceCommand),
    /// Write prompts as files that another client reads
    Export(ExportArgs),
    /// Add Twig to the configuration of an AI client
    Connect(ConnectArgs),
    /// Report what was found where, what is wrong, and whether clients can reach it
    Doctor(DoctorArgs),
    /// Print a shell completion script
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the man page of twig, or of one of its commands
    Man {
        /// The command, such as `new prompt`
        command: Vec<String>,
    },
    /// Print a page of the documentation, or the help of a command
    Help(HelpArgs),
    /// Run a prompt function for another Twig process
    #[command(hide = true)]
    RunFunction,
    /// Render computed templates for another Twig process
    #[command(hide = true)]
    RenderWorker,
}

/// Runs a command.
pub(crate) fn run(command: TwigCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let code = match command {
        TwigCommand::Serve(options) => serve::run(&options)?,
        TwigCommand::Demo => demo::run(ui)?,
        TwigCommand::List(options) => list::run(&options, ui)?,
        TwigCommand::Show(options) => show::run(&options, ui)?,
        TwigCommand::Render(options) => render::run(&options, ui)?,
        TwigCommand::Search(options) => search::run(&options, ui)?,
        TwigCommand::Check(options) => check::run(&options, ui)?,
        TwigCommand::Init(options) => init::run(&options, ui)?,
        TwigCommand::New(what) => new::run(what, ui)?,
        TwigCommand::Connect(options) => connect::run(&options, ui)?,
        TwigCommand::Export(options) => export::run(&options, ui)?,
        TwigCommand::Doctor(options) => doctor::run(&options, ui)?,
        TwigCommand::Completions { shell } => completions(shell, ui)?,
        TwigCommand::Man { command } => man(&command, ui)?,
        TwigCommand::Help(options) => help::run(&options, ui)?,
        TwigCommand::Import(options) => import::run(&options, ui)?,
        TwigCommand::Library(what) => library::run(&what, ui)?,
        TwigCommand::Workspace(what) => workspace::run(what, ui)?,
        TwigCommand::Project(what) => project::run(what, ui)?,
        TwigCommand::Prompt(what) => item::run_prompt(what, ui)?,
        TwigCommand::Resource(what) => item::run_resource(what, ui)?,
        TwigCommand::RunFunction => function::child::run()?,
        TwigCommand::RenderWorker => worker::child::run()?,
    };
    ui.flush()?;
    Ok(code)
}

fn completions(shell: clap_complete::Shell, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "twig", &mut script);
    ui.raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The man page of `twig` itself, or of one of its commands.
fn man(command: &[String], ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut found = Cli::command();
    found.build();
    for name in command {
        let Some(inner) = found
            .find_subcommand(name)
            .filter(|inner| !inner.is_hide_set())
        else {
            let names: Vec<String> = found
                .get_subcommands()
                .map(|c| c.get_name().to_owned())
                .collect();
            let error =
                CommandError::new(ErrorKind::Usage, format!("there is no command `{name}`"));
            let near = twig_core::suggest::did_you_mean(name, names.iter().map(String::as_str));
            return Err(near.into_iter().fold(error, CommandError::hint));
        };
        found = inner.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(found).render(&mut page)?;
    ui.raw(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
