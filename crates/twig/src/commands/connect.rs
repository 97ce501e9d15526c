//! `twig connect`: adds Twig to the configuration of an AI client, and removes it again.

mod list;
mod server;
mod step;

pub(super) use self::list::problem;
pub(super) use self::server::{EntryProgram, is_same};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_clients::clients::{CONNECTED, client};
use twig_core::suggest::did_you_mean;
use twig_sources::{LockError, LockedFile};

use self::step::ConnectStep;
use super::old_spelling::changed;
use super::scope::ScopeArgs;
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::connect::{
    ClientConfig, ConfigError, ConfigScope, ConnectClient, link_out, missing_folders,
};
use crate::edit_error::EditError;
use crate::places::{ClientPlaces, Places, on_disk};
use crate::ui::Ui;
use twig_core::problem::shell_word;

/// Adding Twig to a client's configuration.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
#[command(after_help = clients())]
pub(crate) struct ConnectArgs {
    /// The client; without one, lists all of them and what they have
    client: Option<String>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// The old spelling of `--scope project`.
    #[arg(long, hide = true, value_name = "DIR", num_args = 0..=1, default_missing_value = "")]
    project: Option<String>,

    /// The name of the server there
    #[arg(long, value_name = "NAME", default_value = "twig", value_parser = parse_name)]
    name: String,

    /// Show the change and write nothing
    #[arg(long, visible_alias = "print")]
    dry_run: bool,

    /// Remove the entry with that name, if it starts a program called twig
    #[arg(long, conflicts_with = "serve")]
    remove: bool,

    /// Replace an entry with that name that differs from what Twig would write, or remove one that
    /// starts another program
    #[arg(long)]
    force: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Arguments for `twig serve`, such as `-- --library PATH`
    #[arg(last = true, value_name = "SERVE ARGS")]
    serve: Vec<String>,
}

/// The supported clients.
fn clients() -> String {
    let names = CONNECTED.map(|client| client.id);
    format!("Clients: {}.", names.join(", "))
}

/// A server name; clients derive commands and tool names from it.
fn parse_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("it has to be 1 to 64 letters, digits, - or _".to_owned())
}

pub(super) fn run(options: &ConnectArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let homes = ClientPlaces::from_environment();
    if let Some(named) = &options.project {
        return Err(old_project(options, named));
    }
    let folder = on_disk(Path::new("."));
    let folder: PathBuf = folder.components().collect();
    let Some(client) = options.client.as_deref() else {
        let is_about_one = options.dry_run || options.remove || options.force;
        if is_about_one || !options.serve.is_empty() {
            let error = CommandError::new(ErrorKind::Usage, "no client is named");
            return Err(error.hint("run `twig connect` to see which there are"));
        }
        return list::run(&places, &homes, &folder, options.json, ui);
    };
    let client = ConnectClient::of(client).ok_or_else(|| no_client(client))?;
    let scope = options.scope.get(ConfigScope::User, ui);
    let Some(path) = client.file(scope, &folder, &homes) else {
        return Err(no_file(client, scope));
    };
    let shown = places.shown(&path);
    let out = (scope == ConfigScope::Project).then(|| link_out(&path, &folder));
    if let Some(link) = out.flatten() {
        let link = places.shown(&link);
        let message =
            format!("{shown} was not changed: the symlink {link} points out of the project");
        return Err(CommandError::fixable(message)
            .hint("replace the symlink by a file or folder of the project"));
    }
    let launch = if options.remove {
        None
    } else {
        Some(server::launch(options, scope, &homes, &folder)?)
    };
    let made = missing_folders(&path);
    let file = lock(options, scope, &path, &folder).map_err(|error| match error {
        LockError::Io(error) => refused(&shown, &ConfigError::Write(error)),
        error => not_locked(&shown, &error),
    })?;
    let read = match file {
        Some(file) => ClientConfig::read_locked(client, scope, path.clone(), file),
        None => ClientConfig::read(client, scope, path.clone()),
    };
    let config = match read {
        // A file without a place for servers has no Twig to remove, whatever its syntax.
        Err(ConfigError::Edit(error)) if options.remove && error.advice.is_some() => {
            ClientConfig::without_servers(client, scope, path)
        }
        read => read.map_err(|error| refused(&shown, &error))?,
    };
    let step = ConnectStep {
        options,
        config,
        shown,
        made,
        record: places.made_folders,
    };
    match launch {
        Some(launch) => step.add(&launch, ui),
        None => step.remove(ui),
    }
}

/// Prevents other commands from changing the file; `None` if it is only read.
fn lock(
    options: &ConnectArgs,
    scope: ConfigScope,
    path: &Path,
    project: &Path,
) -> Result<Option<LockedFile>, LockError> {
    let is_there = path.symlink_metadata().is_ok();
    if options.dry_run || options.remove && !is_there {
        return Ok(None);
    }
    match path.strip_prefix(project) {
        // The project may belong to another user.
        Ok(inner) if scope == ConfigScope::Project => LockedFile::open_beneath(project, inner),
        _ => LockedFile::open(path),
    }
    .map(Some)
}

/// The error for `--project`, which was a folder here: it named one, or nothing, or came before the
/// client.
fn old_project(options: &ConnectArgs, named: &str) -> CommandError {
    let is_client = options.client.is_none() && ConnectClient::of(named).is_some();
    let client = Some(named).filter(|_| is_client);
    let client = client.or(options.client.as_deref()).unwrap_or("CLIENT");
    let folder = if is_client || matches!(named, "" | ".") {
        String::new()
    } else {
        format!("-C {} ", shell_word(named))
    };
    changed("`--project` is a project of the store, not a folder")
        .hint(format!(
            "run `twig {folder}connect {client} --scope project` to write the file of a folder"
        ))
        .hint(format!(
            "run `twig connect {client} -- --project NAME` to serve a project of the store"
        ))
}

fn no_client(name: &str) -> CommandError {
    if let Some(known) = client(name) {
        let message = format!("Twig does not know how to connect {}", known.title);
        let error = CommandError::new(ErrorKind::Usage, message);
        let hint = match known.export_format() {
            Some(_) => format!("`twig export --to {}` writes files for it", known.id),
            None => "add the server `twig serve` in its settings".to_owned(),
        };
        return error.hint(hint);
    }
    let error = CommandError::new(ErrorKind::Usage, format!("there is no client `{name}`"));
    let names = CONNECTED.map(|client| client.id);
    let begin: Vec<&str> = names
        .into_iter()
        .filter(|it| it.starts_with(name))
        .collect();
    let near = match begin.as_slice() {
        [] => did_you_mean(name, names),
        begin => Some(format!("did you mean `{}`?", begin.join("` or `"))),
    };
    error.hint(near.unwrap_or_else(|| format!("known clients: {}", names.join(", "))))
}

fn no_file(client: ConnectClient, scope: ConfigScope) -> CommandError {
    let title = client.title();
    match scope {
        ConfigScope::User => CommandError::fixable(format!(
            "it is not known where {title} keeps its configuration, since there is no home folder"
        ))
        .hint("set HOME to an absolute path"),
        ConfigScope::Project => CommandError::fixable(format!(
            "{title} has no configuration of its own for a project"
        ))
        .hint(format!(
            "run `twig connect {}` for all projects",
            client.as_str()
        )),
    }
}

/// The error for a file that is not changed, and why.
fn refused(shown: &str, error: &ConfigError) -> CommandError {
    let message = match error {
        ConfigError::Read(cause) => format!("{shown} cannot be read: {}", reason(cause)),
        ConfigError::Write(cause) => format!("{shown} cannot be written: {}", reason(cause)),
        ConfigError::Edit(place) => format!("{shown} cannot be edited: {place}"),
    };
    let hint = match error {
        ConfigError::Edit(EditError { advice, .. }) => {
            let advice = advice.as_deref().unwrap_or("fix it");
            format!("the file stays as it is; {advice}, then try again")
        }
        _ => "the file stays as it is".to_owned(),
    };
    CommandError::fixable(message).hint(hint)
}
