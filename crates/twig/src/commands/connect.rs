//! `twig connect`: adds Twig to the configuration of AI clients, and removes it again.

mod example;
mod list;
mod server;
mod step;

pub(super) use self::list::problem;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_clients::clients::{CONNECTED, client};
use twig_core::access::{KeyMistake, KeyText};
use twig_core::suggest::did_you_mean;
use twig_sources::{LockError, LockedFile};

use self::example::ExamplePrompt;
use self::step::{ConnectStep, StepReport};
use super::old_spelling::changed;
use super::opened_catalog::OpenedCatalog;
use super::scope::ScopeArgs;
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::connect::{
    ClientConfig, ConfigError, ConfigScope, ConnectClient, RemoteServer, ServerTarget, installed,
    link_out, made_folders, missing_folders, survey,
};
use crate::edit_error::EditError;
use crate::places::{ClientPlaces, Places, on_disk};
use crate::ui::Ui;
use twig_core::problem::shell_word;

// Adding Twig to a client's configuration.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
#[command(after_help = clients())]
pub(crate) struct ConnectArgs {
    /// The clients; without any, lists all of them and what they have
    #[arg(value_name = "CLIENT", conflicts_with = "all")]
    clients: Vec<String>,

    /// Every client that is installed; with --remove, every client that has the entry
    #[arg(long)]
    all: bool,

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

    /// Connect to a server that runs already (`twig serve --http`), at this address
    #[arg(long, value_name = "URL", conflicts_with_all = ["serve", "remove"], value_parser = parse_url)]
    url: Option<String>,

    /// The variable with the token for that server; its value is written nowhere
    #[arg(long, value_name = "NAME", requires = "url", value_parser = parse_variable)]
    token_env: Option<String>,

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

/// The address of a server.
fn parse_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://");
    let rest = rest.or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let fits = |c: char| c.is_ascii_graphic() && !"\"'`<>\\^{}|$".contains(c);
    match host {
        Some(host) if host.contains('@') => {
            Err("a password does not belong into an address: use --token-env".to_owned())
        }
        Some(host) if !host.is_empty() && text.chars().all(fits) => Ok(text.to_owned()),
        _ => Err("it has to be an address such as http://127.0.0.1:7373/mcp".to_owned()),
    }
}

/// The name of an environment variable.
fn parse_variable(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && text.len() <= 128 && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("it has to be the name of a variable, such as TWIG_TOKEN, and not the token".to_owned())
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
    if let Some(named) = &options.project {
        return Err(old_project(options, named));
    }
    let folder = on_disk(Path::new("."));
    let ground = ConnectGround {
        places: Places::from_environment(),
        homes: ClientPlaces::from_environment(),
        folder: folder.components().collect(),
    };
    if options.clients.is_empty() && !options.all {
        let is_about_one = options.dry_run || options.remove || options.force;
        if is_about_one || options.url.is_some() || !options.serve.is_empty() {
            let error = CommandError::new(ErrorKind::Usage, "no client is named");
            return Err(error.hint("run `twig connect` to see which there are"));
        }
        return list::run(&ground, options.json, ui);
    }
    let scope = options.scope.get(ConfigScope::User, ui);
    let clients = if options.all {
        all(options, scope, &ground)?
    } else {
        named(&options.clients)?
    };
    let (target, opened) = match &options.url {
        _ if options.remove => (None, None),
        Some(_) if options.token_env.as_deref().is_some_and(is_key) => {
            let message = "`--token-env` takes the name of a variable, and this is a key";
            let error = CommandError::new(ErrorKind::Usage, message);
            return Err(error.hint(
                "put the key into a variable: `export TWIG_TOKEN=…`, then `--token-env TWIG_TOKEN`",
            ));
        }
        Some(url) => {
            let server = RemoteServer {
                url: url.clone(),
                token_env: options.token_env.clone(),
                has_other_headers: false,
            };
            (Some(ServerTarget::Address(server)), None)
        }
        None => {
            let (launch, sources) = server::launch(options, scope, &ground)?;
            let is_said = !options.dry_run && !options.json;
            let opened = is_said.then(|| OpenedCatalog::open(&sources).ok());
            (Some(ServerTarget::Program(launch)), opened.flatten())
        }
    };
    let job = ConnectJob {
        options,
        scope,
        target,
        opened,
    };
    let is_one = !options.all && clients.len() == 1;
    let mut reports = Vec::new();
    let mut all_done = true;
    for client in clients {
        let why_not = job.target.as_ref().and_then(|it| cannot(client, it));
        let report = match why_not {
            Some(why) if options.all => {
                ui.say(format!("{} is left out: {why}", client.title()));
                continue;
            }
            Some(why) => Err(CommandError::fixable(why)),
            None => job.run(client, &ground, ui),
        };
        match report {
            Ok(Some(report)) if options.json => reports.push(report),
            Ok(Some(report)) => report.print(ui)?,
            Ok(None) => all_done = false,
            Err(error) if is_one => return Err(error),
            Err(error) => {
                ui.error(&error);
                all_done = false;
            }
        }
    }
    match reports.as_slice() {
        _ if !options.json => {}
        [report] if is_one => ui.json(report)?,
        [] if is_one => {}
        reports => ui.json(&reports)?,
    }
    Ok(if all_done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Where files are.
struct ConnectGround {
    places: Places,
    homes: ClientPlaces,
    /// The folder of a project.
    folder: PathBuf,
}

/// The clients that are named, each once.
fn named(names: &[String]) -> Result<Vec<ConnectClient>, CommandError> {
    let mut clients: Vec<ConnectClient> = Vec::new();
    for name in names {
        let client = ConnectClient::of(name).ok_or_else(|| no_client(name))?;
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    Ok(clients)
}

/// Every client that is installed, or from which Twig can be removed.
fn all(
    options: &ConnectArgs,
    scope: ConfigScope,
    ground: &ConnectGround,
) -> Result<Vec<ConnectClient>, CommandError> {
    let found = survey(&ground.folder, &ground.homes);
    let made = made_folders(ground.places.made_folders.as_deref());
    let installed = installed(&found, &made, &ground.homes);
    let has_file = |client: ConnectClient| {
        let file = client.file(scope, &ground.folder, &ground.homes);
        file.is_some()
    };
    let has_entry = |client: ConnectClient| {
        let mut files = found.iter();
        let file = files.find(|it| (it.0, it.1) == (client, scope));
        file.is_some_and(|(.., config)| match config {
            Ok(config) => config.entry(&options.name).is_some(),
            Err(_) => true,
        })
    };
    let clients = ConnectClient::all().zip(installed);
    let clients = clients.filter(|(client, is_installed)| {
        if options.remove {
            has_entry(*client)
        } else {
            *is_installed && has_file(*client)
        }
    });
    let clients: Vec<ConnectClient> = clients.map(|(client, _)| client).collect();
    if clients.is_empty() {
        let message = if options.remove {
            format!("no client has `{}`", options.name)
        } else {
            "no client was found here".to_owned()
        };
        let error = CommandError::fixable(message);
        return Err(error.hint("run `twig connect` to see which there are"));
    }
    Ok(clients)
}

/// Why a client cannot have such a server.
fn cannot(client: ConnectClient, target: &ServerTarget) -> Option<String> {
    let ServerTarget::Address(server) = target else {
        return None;
    };
    let title = client.title();
    match (client.remote(), &server.token_env) {
        (None, _) => Some(format!(
            "the file of {title} has no servers over HTTP: add the address in its settings"
        )),
        (Some(remote), Some(_)) if remote.token.is_none() => Some(format!(
            "{title} cannot take a token from a variable: connect it without --token-env, then write the \
             header `Authorization` into its file yourself"
        )),
        _ => None,
    }
}

/// What is done for each client.
struct ConnectJob<'j> {
    options: &'j ConnectArgs,
    scope: ConfigScope,
    /// `None` if the entry is removed.
    target: Option<ServerTarget>,
    /// What the server will serve, if an example of it is named.
    opened: Option<OpenedCatalog>,
}

impl ConnectJob<'_> {
    /// Changes the file of one client; `None` if the user said no.
    fn run(
        &self,
        client: ConnectClient,
        ground: &ConnectGround,
        ui: &mut Ui,
    ) -> Result<Option<StepReport>, CommandError> {
        let (options, scope, places) = (self.options, self.scope, &ground.places);
        let Some(path) = client.file(scope, &ground.folder, &ground.homes) else {
            return Err(no_file(client, scope));
        };
        let shown = places.shown(&path);
        let out = (scope == ConfigScope::Project).then(|| link_out(&path, &ground.folder));
        if let Some(link) = out.flatten() {
            let link = places.shown(&link);
            let message =
                format!("{shown} was not changed: the symlink {link} points out of the project");
            return Err(CommandError::fixable(message)
                .hint("replace the symlink by a file or folder of the project"));
        }
        let made = missing_folders(&path);
        let file = lock(options, scope, &path, &ground.folder).map_err(|error| match error {
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
            record: places.made_folders.clone(),
        };
        match &self.target {
            Some(target) => {
                let opened = self.opened.as_ref();
                let example = opened.and_then(|it| ExamplePrompt::of(it, client.as_str()));
                step.add(target, example.as_ref(), ui)
            }
            None => step.remove(ui),
        }
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
    let is_client = options.clients.is_empty() && ConnectClient::of(named).is_some();
    let client = Some(named).filter(|_| is_client);
    let first = options.clients.first().map(String::as_str);
    let client = client.or(first).unwrap_or("CLIENT");
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

/// The error for a name that is no client's, or one that Twig cannot connect.
pub(super) fn no_client(name: &str) -> CommandError {
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

/// Whether a text is the key of a person.
fn is_key(text: &str) -> bool {
    KeyText::parse(text) != Err(KeyMistake::Form)
}
