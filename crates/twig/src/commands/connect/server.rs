//! The command that a client starts.

use std::path::Path;

use clap::Parser;

use crate::command_error::{CommandError, ErrorKind};
use crate::commands::connect::{ConnectArgs, ConnectGround};
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::commands::{Cli, TwigCommand};
use crate::connect::{ClientLaunch, ConfigScope, own_program};
use crate::places::{self, on_disk};

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
        program: text(&own_program(scope, homes)?)?,
        args,
        env: env.collect(),
    };
    Ok((launch, serve))
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
