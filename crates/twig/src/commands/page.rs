//! `twig page`: opens the page of a server in the browser; starts a server if none runs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;

use super::check::counted;
use super::serve::{self, ServeArgs};
use crate::command_error::{CommandError, reason};
use crate::http::{self, PAGE_FOLDER, parse_address};
use crate::places::{self, ClientPlaces, Places};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Print the link and start no browser
    #[arg(long)]
    no_open: bool,

    /// End the access of all browsers
    #[arg(long, conflicts_with = "no_open")]
    forget: bool,
}

/// The programs that open a link in the user's browser.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(super) fn run(options: &PageArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let folder = places.state().map(|state| state.join(PAGE_FOLDER));
    let folder = folder.ok_or_else(|| CommandError::fixable("there is no home folder"))?;
    if options.forget {
        let count = http::forget_keys(&folder).map_err(|error| unusable(&folder, &error))?;
        ui.say(format!(
            "ended the access of {}",
            counted(count, "browser", "browsers")
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(address) = http::running(&folder).first() {
        open(options, &folder, address, ui)?;
        return Ok(ExitCode::SUCCESS);
    }
    serve_with_page(options, &folder, ui)
}

/// Starts a server, at the usual port if that is free, and goes on as that server.
fn serve_with_page(
    options: &PageArgs,
    folder: &Path,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let mut serving = ServeArgs::default();
    let free = parse_address(":0").map_err(CommandError::fixable)?;
    let usual = parse_address("localhost").map_err(CommandError::fixable)?;
    let is_free = std::net::TcpListener::bind(usual).is_ok();
    serving.http.address = Some(Some(if is_free { usual } else { free }));
    serve::run_then(&serving, ui, |front, ui| {
        let Some(address) = front.page_address() else {
            return Err(CommandError::fixable("this server has no page"));
        };
        // The browser waits for the server, which listens already.
        open(options, folder, &address, ui)?;
        ui.say("hint: this is the server now; Ctrl-C ends it");
        Ok(())
    })
}

/// Prints a link that works once, and opens it.
fn open(options: &PageArgs, folder: &Path, address: &str, ui: &mut Ui) -> Result<(), CommandError> {
    let code = http::new_code(folder, address).map_err(|error| unusable(folder, &error))?;
    let link = format!("{address}/#enter={code}");
    ui.line(&link)?;
    ui.flush()?;
    ui.say("hint: the link works once, for a minute");
    if options.no_open {
        return Ok(());
    }
    // The arguments of a program are public, its files are not.
    let file = http::redirect_file(folder, &link).map_err(|error| unusable(folder, &error))?;
    let Some(opener) = opener() else {
        return Ok(());
    };
    let mut command = Command::new(opener);
    command.arg(file).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        ui.say(format!("hint: no browser was started: {}", reason(&error)));
    }
    Ok(())
}

/// The program that opens a link here; `None` if this is no desktop.
fn opener() -> Option<PathBuf> {
    let is_set = |name| places::variable(name).is_some_and(|value| !value.is_empty());
    let is_desktop = cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    let programs = ClientPlaces::from_environment();
    let mut openers = OPENERS.iter().filter(|_| is_desktop);
    openers.find_map(|name| programs.program(name))
}

fn unusable(folder: &Path, error: &std::io::Error) -> CommandError {
    let (folder, why) = (folder.display(), reason(error));
    CommandError::fixable(format!("{folder} cannot be used: {why}"))
}
