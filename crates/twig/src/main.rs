//! The program: parses the command line, runs one command, and is the one place that picks the
//! exit code.

mod command_error;
mod commands;
mod config;
mod connect;
mod edit_error;
mod fair_queue;
mod function;
mod http;
mod jobs;
mod log;
mod places;
mod service;
mod stderr;
mod stdio;
mod toml_file;
mod ui;
mod worker;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use crate::command_error::CommandError;
use crate::commands::Cli;
use crate::ui::Ui;

fn main() -> ExitCode {
    keep_descriptors();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, and are no mistake.
            let code = if error.use_stderr() { 2 } else { 0 };
            return error
                .print()
                .map_or(ExitCode::from(1), |()| ExitCode::from(code));
        }
    };
    log::start(cli.log_level);
    survive_large_files();
    let mut ui = Ui::new();
    let code = match commands::run(cli.command, &mut ui) {
        Ok(code) => code,
        Err(error) => report(&error, &mut ui),
    };
    stderr::finish();
    code
}

/// What was open when this program was started is nothing to those that it starts.
fn keep_descriptors() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// A file that grows past what this shell allows is an error like a full disk, not the end.
fn survive_large_files() {
    // Whoever hears the signal survives it; that it came is of no interest.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

fn report(error: &CommandError, ui: &mut Ui) -> ExitCode {
    if error.is_closed_pipe() {
        return ExitCode::SUCCESS;
    }
    ui.error(error);
    ExitCode::from(error.kind.exit_code())
}
