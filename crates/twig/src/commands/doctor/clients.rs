//! Checks whether the clients that have Twig can reach it: starts the configured command as the
//! client would, and asks it for its prompts.
//!
//! It only ever starts Twig. Another user may have written a project's file, so from there it
//! starts only this very program, and only to serve.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fmt, thread};

use clap::Parser;
use serde::Serialize;
use serde_json::json;
use twig_clients::clients::client as known_client;
use twig_core::Catalog;

use crate::commands::check::counted;
use crate::commands::client::{CallError, ProbeClient};
use crate::commands::connect::problem;
use crate::commands::{Cli, TwigCommand};
use crate::connect::{
    ClientConfig, ClientLaunch, ConfigScope, EntryProgram, ServerEntry, is_same, survey,
};
use crate::places::{self, ClientPlaces, Places, on_disk};

/// How long a server may take to answer; clients wait longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server in a client's file.
#[derive(Debug, Serialize)]
pub(super) struct ServerRow {
    client: &'static str,
    scope: &'static str,
    file: String,
    /// `None` if the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `reached`, `broken`, or `skipped`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<usize>,
    /// Libraries that the client loads itself, so that its list leaves them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// What is wrong, or why it was not started, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl ServerRow {
    pub(super) fn is_broken(&self) -> bool {
        self.state == "broken"
    }
}

impl fmt::Display for ServerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.client, self.scope)?;
        match self.name.as_deref() {
            Some("twig") | None => {}
            Some(name) => write!(f, ", as {name}")?,
        }
        match (self.prompts, &self.problem) {
            (Some(prompts), _) => {
                write!(f, "): {}", counted(prompts, "prompt", "prompts"))?;
                match &*self.left_out {
                    [] => Ok(()),
                    own => write!(
                        f,
                        "; its list leaves out {}, which it loads itself (`serve_own = true` lists them)",
                        own.join(", ")
                    ),
                }
            }
            (None, problem) => write!(f, "): {}", problem.as_deref().unwrap_or_default()),
        }
    }
}

/// What to do with one entry.
enum EntryVerdict {
    Start(Box<Command>),
    /// Do not start it, for this reason.
    Skip(String),
    Broken(String),
}

/// Every Twig entry in the clients' files, for this user and for the working folder.
pub(super) fn rows(places: &Places, homes: &ClientPlaces, catalog: &Catalog) -> Vec<ServerRow> {
    let folder = on_disk(Path::new("."));
    let folder: PathBuf = folder.components().collect();
    let found = survey(&folder, homes);
    thread::scope(|scope| {
        let mut rows = Vec::new();
        for (client, whose, path, config) in &found {
            let row = |name: Option<&str>| ServerRow {
                client: client.as_str(),
                scope: whose.as_str(),
                file: path.display().to_string(),
                name: name.map(str::to_owned),
                state: "broken",
                prompts: None,
                left_out: left_out(catalog, client.as_str()),
                problem: None,
            };
            let config = match config {
                Ok(config) => config,
                Err(error) => {
                    let shown = places.shown(path);
                    let problem = format!("{shown} cannot be read: {}", problem(error));
                    rows.push(scope.spawn(move || ServerRow {
                        problem: Some(problem),
                        ..row(None)
                    }));
                    continue;
                }
            };
            let named = |entry: &&ServerEntry| entry.is_twig() || entry.name == "twig";
            for entry in config.entries.iter().filter(named) {
                let row = row(Some(&entry.name));
                let folder = &folder;
                // Each may take its time; they run in parallel.
                rows.push(scope.spawn(move || told(row, judge(config, entry, folder, homes))));
            }
        }
        let rows = rows.into_iter();
        rows.filter_map(|row| row.join().ok()).collect()
    })
}

fn told(row: ServerRow, verdict: EntryVerdict) -> ServerRow {
    let (state, prompts, problem) = match verdict {
        EntryVerdict::Skip(why) => ("skipped", None, Some(why)),
        EntryVerdict::Broken(why) => ("broken", None, Some(why)),
        EntryVerdict::Start(command) => match count(*command, row.client) {
            Ok(prompts) => ("reached", Some(prompts), None),
            Err(why) => ("broken", None, Some(why)),
        },
    };
    ServerRow {
        state,
        prompts,
        problem,
        ..row
    }
}

fn judge(
    config: &ClientConfig,
    entry: &ServerEntry,
    folder: &Path,
    homes: &ClientPlaces,
) -> EntryVerdict {
    if entry.is_off && entry.is_twig() {
        return EntryVerdict::Skip("it is switched off there".to_owned());
    }
    if let Some(server) = entry.address().filter(|_| entry.is_twig()) {
        let why = format!(
            "it is the server at {}, which is not asked from here",
            server.url
        );
        return EntryVerdict::Skip(why);
    }
    let Some(launch) = entry.launch().filter(|launch| launch.is_twig()) else {
        let why = "its entry `twig` does not start Twig, and is left alone";
        return EntryVerdict::Skip(why.to_owned());
    };
    let program = match EntryProgram::of(launch, config.scope, folder, homes) {
        EntryProgram::Found(program) => program,
        EntryProgram::Unknown(why) => {
            return EntryVerdict::Skip(format!("{why}, so it is not started here"));
        }
        EntryProgram::Missing => {
            let again = again(config, entry);
            let why = format!("the program {} is not there: run `{again}`", launch.program);
            return EntryVerdict::Broken(why);
        }
    };
    if launch.args.iter().any(|arg| arg.starts_with("--http")) {
        let why = "a client cannot talk to it: take `--http` out of its arguments";
        return EntryVerdict::Broken(why.to_owned());
    }
    let own = std::env::current_exe().unwrap_or_default();
    let mut command = match config.scope {
        ConfigScope::User => Command::new(program),
        ConfigScope::Project if is_harmless(launch, entry) && is_same(&program, &own) => {
            Command::new(own)
        }
        ConfigScope::Project => {
            let why = format!(
                "it is not started here, since another user may have written a project's file and \
                 this entry does more than serve with this program: check `{}` in {}",
                entry.name,
                config.path.display()
            );
            return EntryVerdict::Skip(why);
        }
    };
    let started_in = entry.folder.as_ref().map(|it| folder.join(it));
    command
        .args(&launch.args)
        .env_clear()
        .envs(places::passed_on())
        .envs(&launch.env)
        .current_dir(started_in.as_deref().unwrap_or(folder))
        .stderr(Stdio::piped());
    EntryVerdict::Start(Box::new(command))
}

/// Whether an entry only serves: with no environment that could load other code, in its own folder.
fn is_harmless(launch: &ClientLaunch, entry: &ServerEntry) -> bool {
    let words = ["twig"].into_iter();
    let words = words.chain(launch.args.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words);
    let serves = cli.is_ok_and(|cli| match cli.command {
        TwigCommand::Serve(serve) => serve.http.address.is_none() && cli.working_folder.is_none(),
        _ => false,
    });
    serves && launch.env.is_empty() && entry.folder.is_none()
}

/// The command that writes an entry again.
fn again(config: &ClientConfig, entry: &ServerEntry) -> String {
    let mut command = format!("twig connect {}", config.client.as_str());
    if config.scope == ConfigScope::Project {
        command += " --scope project";
    }
    if entry.name != "twig" {
        command = format!("{command} --name {}", entry.name);
    }
    command
}

/// The libraries that a client's list leaves out, since it loads them itself.
fn left_out(catalog: &Catalog, client: &str) -> Vec<String> {
    if catalog.serves_own_of(client) {
        return Vec::new();
    }
    let libraries = catalog.libraries().iter();
    let own = libraries.filter(|library| library.loaded_by.contains(&client));
    own.map(|library| library.name.to_string()).collect()
}

/// How many prompts a server lists for a client.
fn count(command: Command, client: &str) -> Result<usize, String> {
    let known = known_client(client).and_then(|known| known.called.first());
    let mut client = ProbeClient::start(command, PATIENCE).map_err(|error| error.to_string())?;
    if let Some(name) = known {
        client = client.called(name);
    }
    let mut prompts = 0;
    let mut cursor = None;
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        match client.call("prompts/list", params) {
            Ok(listed) => {
                let Some(page) = listed["prompts"].as_array() else {
                    return Err("it answers, but lists no prompts".to_owned());
                };
                prompts += page.len();
                cursor = listed["nextCursor"].as_str().map(str::to_owned);
                if cursor.is_none() {
                    return Ok(prompts);
                }
            }
            Err(error @ CallError::Ended) => {
                let complaint = client.complaint();
                return Err(complaint.map_or_else(
                    || error.to_string(),
                    |complaint| format!("it ended at once: {complaint}"),
                ));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
