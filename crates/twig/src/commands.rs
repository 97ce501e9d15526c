//! The command line: one module per command, with its flags and what it does. This module
//! dispatches; help, completions and the man page come from the same clap definition.

mod age;
mod audit;
mod backup;
mod bench;
mod budget;
mod check;
mod client;
mod clipboard;
mod compact;
mod complete;
mod completions;
mod connect;
mod content;
mod demo;
mod doctor;
mod documents;
mod edit;
mod editor;
mod examples;
mod export;
mod grant;
mod help;
mod import;
mod init;
mod item;
mod key;
mod keys;
mod library;
mod line_editor;
mod list;
mod lsp;
mod manifest_file;
mod mv;
mod new;
mod old_spelling;
mod opened_catalog;
mod origin;
mod packages;
#[cfg(feature = "page")]
mod page;
mod path;
mod pick;
mod project;
mod question;
mod raw_terminal;
mod render;
mod rm;
mod schema;
mod scope;
mod search;
mod serve;
mod show;
mod stats;
mod store;
mod store_check;
mod transfer;
mod values;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, Parser, Subcommand, ValueEnum};

use self::audit::AuditCommand;
use self::bench::BenchCommand;
use self::budget::BudgetArgs;
use self::check::CheckArgs;
use self::complete::CompleteArgs;
use self::completions::CompletionsArgs;
use self::connect::ConnectArgs;
use self::doctor::DoctorArgs;
use self::edit::EditArgs;
use self::export::ExportArgs;
use self::grant::GrantCommand;
use self::help::HelpArgs;
use self::import::ImportArgs;
use self::init::InitArgs;
use self::item::{PromptCommand, ResourceCommand};
use self::key::KeyCommand;
use self::library::{LibraryAddArgs, LibraryCommand, LibraryRemoveArgs};
use self::list::ListArgs;
use self::lsp::LspArgs;
use self::mv::MvArgs;
use self::new::NewCommand;
use self::packages::diff::DiffArgs;
use self::packages::gc::GcArgs;
use self::packages::install::InstallArgs;
use self::packages::inventory::InventoryArgs;
use self::packages::update::{OutdatedArgs, UpdateArgs};
use self::packages::vendor::VendorArgs;
use self::packages::verify::VerifyArgs;
use self::packages::why::WhyArgs;
#[cfg(feature = "page")]
use self::page::PageArgs;
use self::path::PathArgs;
use self::pick::PickArgs;
use self::project::ProjectCommand;
use self::render::RenderArgs;
use self::rm::RmArgs;
use self::schema::SchemaArgs;
use self::search::SearchArgs;
use self::serve::ServeArgs;
use self::show::ShowArgs;
use self::stats::StatsArgs;
use self::store_check::StoreCommand;
use self::workspace::WorkspaceCommand;
use crate::command_error::{CommandError, ErrorKind};
use crate::function;
use crate::installation;
use crate::log::LogLevel;
use crate::ui::{ColorWhen, Ui};
use crate::worker;

/// Keep your prompts in one place and serve them to every AI client
#[derive(Debug, Parser)]
#[command(
    name = "twig",
    version,
    long_version = installation::version(),
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

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorWhen,

    /// Print no hints and no messages about what was done; errors are printed
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The definition of the command line, with what it needs to parse and explain these words.
pub(crate) fn command_line(words: impl Iterator<Item = OsString> + Clone) -> Command {
    let command = Cli::command().color(color_of(words.clone()).for_clap());
    // Other commands do not wait for examples that nothing prints.
    let mut given = words.clone().skip(1);
    let wants_help = given.any(|word| word == "-h" || word == "--help" || word == "help");
    if wants_help || words.count() < 2 {
        return examples::with_examples(command);
    }
    command
}

/// The words with `twig library help add` written as `twig library add --help`.
pub(crate) fn with_help_flag(mut words: Vec<OsString>) -> Vec<OsString> {
    let help = words.iter().position(|word| word == "help");
    let Some(help) = help.filter(|at| *at > 1) else {
        return words;
    };
    let mut command = Cli::command();
    command.build();
    for word in &words[1..help] {
        let inner = command.find_subcommand(word);
        match inner.filter(|inner| inner.has_subcommands()) {
            Some(inner) => command = inner.clone(),
            // After any other word, `help` is a name like others.
            None => return words,
        }
    }
    words.remove(help);
    words.push("--help".into());
    words
}

/// The colour that the command line asks for, before it is parsed: clap prints mistakes in it, too.
fn color_of(words: impl Iterator<Item = OsString>) -> ColorWhen {
    let mut words = words.skip(1).take_while(|word| word != "--");
    let mut when = ColorWhen::default();
    while let Some(word) = words.next() {
        let value = match word.to_str() {
            Some("--color") => words.next().and_then(|value| value.into_string().ok()),
            Some(word) => word.strip_prefix("--color=").map(str::to_owned),
            None => None,
        };
        if let Some(value) = value {
            when = ColorWhen::from_str(&value, false).unwrap_or(when);
        }
    }
    when
}

/// A server defines its own flags only: those of other commands would take time and memory.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum TwigCommand {
    /// Serve your prompts over MCP on standard input and output, or over HTTP
    #[command(alias = "start")]
    Serve(ServeArgs),
    /// Show a server and a client talking to each other, with a sample library
    Demo,
    /// Open the page in the browser: browse, try and edit prompts, compare versions
    #[cfg(feature = "page")]
    Page(PageArgs),
    /// List prompts, or documents
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show one prompt with its arguments and text, or one document
    Show(ShowArgs),
    /// Render a prompt with arguments
    Render(RenderArgs),
    /// Find a prompt by typing, and print it with its arguments
    Pick(PickArgs),
    /// Search prompts and documents by name, title, description and text
    Search(SearchArgs),
    /// Measure how well a search answers questions
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Check libraries and report problems
    Check(CheckArgs),
    /// Create starter prompts and documents for a project
    Init(InitArgs),
    /// Create a library or prompt
    #[command(subcommand, visible_alias = "create")]
    New(NewCommand),
    /// Edit the file of a prompt, and check it
    Edit(EditArgs),
    /// Rename a prompt of a library
    #[command(alias = "rename")]
    Mv(MvArgs),
    /// Delete a prompt of a library
    #[command(alias = "delete")]
    Rm(RmArgs),
    /// Print the path of a prompt, document or library
    Path(PathArgs),
    /// Print the JSON Schema of `twig.toml`, or of another file, for your editor
    Schema(SchemaArgs),
    /// Serve your editor: problems, completion, hover and definitions, in prompts and manifests
    Lsp(LspArgs),
    /// Import prompts that were written for other tools
    Import(ImportArgs),
    /// Add packages of prompts and skills, or folders, so that they are served from now on
    Add(LibraryAddArgs),
    /// Make this machine match the lock: fetch what is missing, remove what is not wanted
    Install(InstallArgs),
    /// List packages that have newer versions
    Outdated(OutdatedArgs),
    /// Bring packages to their newest versions, after showing what changes
    #[command(visible_alias = "upgrade")]
    Update(UpdateArgs),
    /// Show what two versions of a package differ in
    Diff(DiffArgs),
    /// Compare the files of packages with their lists, and verify their signatures
    Verify(VerifyArgs),
    /// Show which library and package a prompt comes from, and at which version
    Why(WhyArgs),
    /// Remove a package or a folder that was added
    Remove(LibraryRemoveArgs),
    /// Remove fetched packages that no lock names
    Gc(GcArgs),
    /// Copy the locked files of packages into the repository, for people without Twig
    Vendor(VendorArgs),
    /// List every prompt and skill in clients' folders: who put it there, and whether it was changed
    Inventory(InventoryArgs),
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
    /// Make and revoke the keys with which people use a server over HTTP
    #[command(subcommand, alias = "keys")]
    Key(KeyCommand),
    /// Give people roles in workspaces and projects
    #[command(subcommand, alias = "grants")]
    Grant(GrantCommand),
    /// Show who changed what in projects, and check that the log is intact
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Set up the database of the store, and check what is stored
    #[command(subcommand)]
    Store(StoreCommand),
    /// Show how often prompts are used, and which are not
    Stats(StatsArgs),
    /// Write prompts as files that another client reads
    Export(ExportArgs),
    /// Add Twig to the configuration of AI clients
    Connect(ConnectArgs),
    /// Show how much of your prompts' names and descriptions clients can hold
    Budget(BudgetArgs),
    /// Report what was found where, what is wrong, and whether clients can reach it
    Doctor(DoctorArgs),
    /// Print or install the script that completes commands and names in your shell
    Completions(CompletionsArgs),
    /// Print the man page of twig, or of one of its commands
    Man {
        /// The command, such as `new prompt`
        command: Vec<String>,
    },
    /// Print a page of the documentation, or the help of a command
    Help(HelpArgs),
    /// List what could be typed next, for the scripts of `completions`
    #[command(hide = true)]
    Complete(CompleteArgs),
    /// Run a prompt function for another Twig process
    #[command(hide = true)]
    RunFunction,
    /// Render computed templates for another Twig process
    #[command(hide = true)]
    RenderWorker,
}

/// True if the command line asks for JSON, so that errors are JSON, too.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    let mut matches = matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let is_set = matches!(matches.try_get_one::<bool>("json"), Ok(Some(true)));
    let format = matches.try_get_raw("format").ok().flatten();
    is_set || format.is_some_and(|mut it| it.any(|it| it == "json" || it == "sarif"))
}

/// Runs a command.
pub(crate) fn run(command: TwigCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let code = match command {
        TwigCommand::Serve(options) => serve::run(&options, ui)?,
        TwigCommand::Demo => demo::run(ui)?,
        #[cfg(feature = "page")]
        TwigCommand::Page(options) => page::run(&options, ui)?,
        TwigCommand::List(options) => list::run(&options, ui)?,
        TwigCommand::Show(options) => show::run(&options, ui)?,
        TwigCommand::Render(options) => render::run(&options, ui)?,
        TwigCommand::Pick(options) => pick::run(&options, ui)?,
        TwigCommand::Search(options) => search::run(&options, ui)?,
        TwigCommand::Bench(what) => bench::run(&what, ui)?,
        TwigCommand::Check(options) => check::run(&options, ui)?,
        TwigCommand::Init(options) => init::run(&options, ui)?,
        TwigCommand::New(what) => new::run(what, ui)?,
        TwigCommand::Edit(options) => edit::run(&options, ui)?,
        TwigCommand::Mv(options) => mv::run(&options, ui)?,
        TwigCommand::Rm(options) => rm::run(&options, ui)?,
        TwigCommand::Path(options) => path::run(&options, ui)?,
        TwigCommand::Schema(options) => schema::run(&options, ui)?,
        TwigCommand::Lsp(options) => lsp::run(&options)?,
        TwigCommand::Connect(options) => connect::run(&options, ui)?,
        TwigCommand::Export(options) => export::run(&options, ui)?,
        TwigCommand::Budget(options) => budget::run(&options, ui)?,
        TwigCommand::Doctor(options) => doctor::run(&options, ui)?,
        TwigCommand::Completions(options) => completions::run(&options, ui)?,
        TwigCommand::Complete(options) => complete::run(&options, ui)?,
        TwigCommand::Man { command } => man(&command, ui)?,
        TwigCommand::Help(options) => help::run(&options, ui)?,
        TwigCommand::Import(options) => import::run(&options, ui)?,
        TwigCommand::Add(options) => library::run_add(&options, ui)?,
        TwigCommand::Install(options) => packages::install::run(&options, ui)?,
        TwigCommand::Outdated(options) => packages::update::outdated(&options, ui)?,
        TwigCommand::Update(options) => packages::update::run(&options, ui)?,
        TwigCommand::Diff(options) => packages::diff::run(&options, ui)?,
        TwigCommand::Verify(options) => packages::verify::run(&options, ui)?,
        TwigCommand::Why(options) => packages::why::run(&options, ui)?,
        TwigCommand::Remove(options) => library::run_remove(&options, ui)?,
        TwigCommand::Gc(options) => packages::gc::run(&options, ui)?,
        TwigCommand::Vendor(options) => packages::vendor::run(&options, ui)?,
        TwigCommand::Inventory(options) => packages::inventory::run(&options, ui)?,
        TwigCommand::Library(what) => library::run(&what, ui)?,
        TwigCommand::Workspace(what) => workspace::run(what, ui)?,
        TwigCommand::Project(what) => project::run(what, ui)?,
        TwigCommand::Prompt(what) => item::run_prompt(what, ui)?,
        TwigCommand::Resource(what) => item::run_resource(what, ui)?,
        TwigCommand::Key(what) => key::run(what, ui)?,
        TwigCommand::Grant(what) => grant::run(what, ui)?,
        TwigCommand::Audit(what) => audit::run(&what, ui)?,
        TwigCommand::Store(what) => store_check::run(&what, ui)?,
        TwigCommand::Stats(options) => stats::run(&options, ui)?,
        TwigCommand::RunFunction => function::run_child()?,
        TwigCommand::RenderWorker => worker::child::run()?,
    };
    ui.flush()?;
    Ok(code)
}

/// The man page of `twig` itself, or of one of its commands.
fn man(command: &[String], ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut found = examples::with_examples(Cli::command());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands without `--json`, and why.
    const WITHOUT: [(&str, &str); 9] = [
        ("serve", "its output is the protocol"),
        ("lsp", "its output is the protocol of editors"),
        ("demo", "it shows a conversation"),
        ("page", "it prints a link"),
        ("pick", "it asks on a terminal; --plain lists names"),
        ("completions", "it prints a script"),
        ("man", "it prints a page"),
        ("help", "it prints a page"),
        ("schema", "it prints JSON in any case"),
    ];

    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, bool)>) {
        for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name());
            if inner.get_subcommands().next().is_some() {
                leaves(inner, &path, found);
                continue;
            }
            let mut flags = inner.get_arguments();
            let has_json = flags.any(|flag| flag.get_long() == Some("json") && !flag.is_hide_set());
            found.push((path, has_json));
        }
    }

    #[test]
    fn every_command_that_prints_has_json_and_is_documented() {
        let mut found = Vec::new();
        let mut command = Cli::command();
        // Flags are built only when they are needed.
        command.build();
        leaves(&command, "twig", &mut found);
        let page = include_str!("../../../docs/json.md");
        for (path, has_json) in found {
            let name = path.trim_start_matches("twig ");
            let reason = WITHOUT.iter().find(|(without, _)| *without == name);
            assert_eq!(has_json, reason.is_none(), "{path}");
            // Resources print what prompts print.
            let shown = path.replace("twig resource", "twig prompt");
            let is_documented = page.contains(&format!("`{shown}`"));
            assert!(is_documented || !has_json, "docs/json.md lacks `{shown}`");
        }
    }
}
