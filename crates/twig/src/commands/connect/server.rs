//! The command that a client starts.

use std::path::{Path, PathBuf};

use clap::Parser;

use crate::command_error::{CommandError, ErrorKind};
use crate::commands::connect::{ConnectArgs, ConnectGround};
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::commands::{Cli, TwigCommand};
use crate::connect::{ClientLaunch, ConfigScope};
use crate::places::{self, ClientPlaces, is_program, on_disk};

/// This Twig, with the user's arguments after `--`, and what these arguments say of its sources.
pub(super) fn launch(
    options: &ConnectArgs,
    scope: ConfigScope,
    ground: &ConnectGround,
) -> Result<(ClientLaunch, SourceArgs), CommandError> {
    let (homes, project) = (&ground.homes, &*ground.folder);
    let mut args = vec!["serve".to_owned()];
    args.extend(options.serve.iter().cloned());
    let serve = check(&args)?;
    if scope == ConfigScope::User && !serve.only.is_empty() {
        OpenedCatalog::open(&serve)?;
    }
    let mut is_path = false;
    let mut is_folder = false;
    for arg in &mut args {
        let flag = "--library=";
        if is_path {
            *arg = library(arg, scope, project)?;
        } else if let Some(path) = arg.strip_prefix(flag) {
            *arg = format!("{flag}{}", library(path, scope, project)?);
        } else if is_folder && scope == ConfigScope::User {
            *arg = text(&on_disk(Path::new(arg)))?;
        }
        is_folder = !is_path && arg == "-C";
        is_path = arg == "--library";
    }
    // Clients may not pass on the variables that name library folders, so the entry names them. A
    // project's file is shared with users whose folders are elsewhere, so it does not.
    let named = match scope {
        ConfigScope::User => places::named_folders(),
        ConfigScope::Project => Vec::new(),
    };
    let env = named.into_iter();
    let env = env.filter_map(|(name, path)| Some((name.to_owned(), path.to_str()?.to_owned())));
    let launch = ClientLaunch {
        program: program(scope, homes)?,
        args,
        env: env.collect(),
    };
    Ok((launch, serve))
}

/// For a user: the absolute path of this program, because graphical clients do not know a shell's
/// `PATH`. It is the path found on `PATH` if that is this program, because it stays the same when a
/// package manager puts the next version elsewhere. For a project, whose file is shared: `twig`, as
/// long as that means this program here.
fn program(scope: ConfigScope, homes: &ClientPlaces) -> Result<String, CommandError> {
    let own = std::env::current_exe()?;
    let is_own = |path: &PathBuf| is_same(path, &own);
    let on_path = homes.program("twig").filter(is_own);
    match (scope, on_path) {
        (ConfigScope::Project, Some(_)) => Ok("twig".to_owned()),
        (_, on_path) => text(&on_path.unwrap_or(own)),
    }
}

/// Whether two paths are the same file.
pub(in crate::commands) fn is_same(one: &Path, other: &Path) -> bool {
    let one = one.canonicalize().ok();
    one.is_some() && one == other.canonicalize().ok()
}

/// The program of an entry.
pub(in crate::commands) enum EntryProgram {
    Found(PathBuf),
    Missing,
    /// Only the client can resolve it; the text says why.
    Unknown(&'static str),
}

impl EntryProgram {
    /// The program that an entry starts when its client runs in a folder.
    pub(in crate::commands) fn of(
        launch: &ClientLaunch,
        scope: ConfigScope,
        folder: &Path,
        homes: &ClientPlaces,
    ) -> Self {
        let program = launch.program.as_str();
        if program.contains('$') {
            return Self::Unknown("only the client knows the variable in its command");
        }
        let path = Path::new(program);
        if scope == ConfigScope::User && path.is_relative() && path.components().count() > 1 {
            return Self::Unknown("its command depends on where the client is started");
        }
        let found = if program.contains(std::path::is_separator) {
            Some(folder.join(program)).filter(|path| is_program(path))
        } else {
            homes.program(program.trim_end_matches(".exe"))
        };
        found.map_or(Self::Missing, Self::Found)
    }
}

/// Refuses arguments that `twig serve` would refuse, before the client runs into it.
fn check(args: &[String]) -> Result<SourceArgs, CommandError> {
    let words = ["twig"].into_iter().chain(args.iter().map(String::as_str));
    let wrong = |message: String| CommandError::new(ErrorKind::Usage, message);
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(TwigCommand::Serve(serve)) if serve.http.address.is_none() => {
            serve.sources.check_project()?;
            Ok(serve.sources)
        }
        Ok(_) => Err(wrong(
            "clients start Twig on standard input and output, without --http".to_owned(),
        )),
        Err(error) if !error.use_stderr() => Err(wrong(
            "what follows `--` has to be flags of `twig serve`".to_owned(),
        )),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            Err(wrong(format!("`twig serve` would refuse this: {first}"))
                .hint("run `twig serve --help` to see its flags"))
        }
    }
}

/// A library's path; for a user it must work wherever the client is started.
fn library(path: &str, scope: ConfigScope, project: &Path) -> Result<String, CommandError> {
    let whole = match scope {
        ConfigScope::User => on_disk(Path::new(path)),
        ConfigScope::Project => project.join(path),
    };
    if !whole.exists() {
        let message = format!("there is nothing at {}", whole.display());
        return Err(CommandError::fixable(message));
    }
    match scope {
        ConfigScope::User => text(&whole),
        ConfigScope::Project => Ok(path.to_owned()),
    }
}

fn text(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!(
            "{} cannot be written into a file: it is not UTF-8",
            path.display()
        );
        CommandError::fixable(message)
    })
}
