//! The program: parses the command line, runs one command, and is the one place that picks the
//! exit code.

// The log of reads: one JSON object a line, through a bounded queue.
mod audit_log;
// Every error that ends a command, with its exit code and hints.
mod command_error;
// The command line: one module a command, with its flags and its work.
mod commands;
// `config.toml`: reads it, and changes it without touching other bytes.
mod config;
// Adds Twig to the configuration files of AI clients and removes it.
mod connect;
// Where and why an edit of a file was refused.
mod edit_error;
// A queue in which addresses, prompts and clients take turns.
mod fair_queue;
// Wakes the thread that follows packages, and ends it.
mod follow_signals;
// Runs prompt functions in a sandbox.
mod function;
// The HTTP transport.
mod http;
// What the program was built from, and how it was installed.
mod installation;
// The one runner of jobs: renders, functions and searches; writes go to the store.
mod jobs;
// The log, on standard error.
mod log;
// The language server, for editors.
mod lsp;
// The messages of a prompt as one text.
mod message_text;
// Paths and variables: the one door to the environment.
mod places;
// What operating systems do differently with streams, terminals, signals and processes.
mod platform;
// Everything that a transport serves.
mod service;
// Log lines that wait for a slow reader of standard error, within a bound.
mod stderr;
// The stdio transport: one thread, one loop.
mod stdio;
// The difference of two texts.
mod text_diff;
// Edits a TOML file in place.
mod toml_file;
// All printing.
mod ui;
// How often prompts are used, counted in one small file.
mod use_counts;
// Passes answered requests to the log of reads and to the counts of use.
mod use_observer;
// Renders computed templates in a separate process with limits.
mod worker;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches};

use crate::command_error::{CommandError, reason};
use crate::commands::Cli;
use crate::ui::{Ui, UiOptions};

fn main() -> ExitCode {
    platform::keep_descriptors();
    let arguments = commands::with_help_flag(std::env::args_os().collect());
    let parsed = commands::command_line(arguments.iter().cloned()).try_get_matches_from(&arguments);
    let is_json = match &parsed {
        Ok(matches) => commands::wants_json(matches),
        Err(_) => places::arguments_have("--json"),
    };
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) if is_json && error.use_stderr() => {
            let mut ui = Ui::new(UiOptions::default());
            ui.report_errors_as_json();
            let code = report(&CommandError::from(without_hidden(error)), &mut ui);
            stderr::finish();
            return code;
        }
        Err(error) => {
            let error = without_hidden(error);
            // Help and version come this way too, and are no mistake.
            let code = if error.use_stderr() { 2 } else { 0 };
            return error
                .print()
                .map_or(ExitCode::from(1), |()| ExitCode::from(code));
        }
    };
    log::start(cli.log_level);
    platform::survive_large_files();
    let mut ui = Ui::new(UiOptions {
        color: cli.color,
        is_quiet: cli.quiet,
    });
    if is_json {
        ui.report_errors_as_json();
    }
    let moved = cli.working_folder.as_deref().map_or(Ok(()), go_to);
    let code = match moved.and_then(|()| commands::run(cli.command, &mut ui)) {
        Ok(code) => code,
        Err(error) => report(&error, &mut ui),
    };
    stderr::finish();
    code
}

/// Makes a folder the working folder, for everything that follows.
fn go_to(folder: &Path) -> Result<(), CommandError> {
    std::env::set_current_dir(folder).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
            _ => reason(&error),
        };
        CommandError::fixable(format!("cannot run in `{}`: {why}", folder.display()))
    })
}

/// Hidden commands are for other processes of Twig: no tip names them.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    let kind = ContextKind::SuggestedSubcommand;
    let Some(ContextValue::Strings(mut names)) = error.remove(kind) else {
        return error;
    };
    let commands = Cli::command();
    let is_hidden = |name: &String| {
        let found = commands.find_subcommand(name);
        found.is_some_and(clap::Command::is_hide_set)
    };
    names.retain(|name| !is_hidden(name));
    if !names.is_empty() {
        error.insert(kind, ContextValue::Strings(names));
    }
    error
}

fn report(error: &CommandError, ui: &mut Ui) -> ExitCode {
    if error.is_closed_pipe() {
        return ExitCode::SUCCESS;
    }
    ui.error(error);
    ExitCode::from(error.kind.exit_code())
}
