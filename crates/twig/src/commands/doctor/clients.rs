//! Whether the clients that have Twig reach it: the configured command is started as the client
//! would start it, and asked for its prompts.
//!
//! Only Twig is ever started. A file of a project may come from anybody, so from there nothing is
//! started but this very program, and only to serve.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fmt, thread};

use clap::Parser;
use serde::Serialize;
use serde_json::json;

use crate::commands::check::counted;
use crate::commands::client::{CallError, Client};
use crate::commands::connect::{Program, is_same, problem};
use crate::commands::{Cli, TwigCommand};
use crate::connect::{Config, Entry, Launch, Scope, survey};
use crate::places::{self, ClientPlaces, Places, on_disk};

/// How long a server may take for an answer; clients wait longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server in a client's file.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    client: &'static str,
    scope: &'static str,
    file: String,
    /// Nothing where the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `reached`, `broken`, or `skipped`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<usize>,
    /// What is wrong, or why it was not started, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Row {
    pub(super) fn is_broken(&self) -> bool {
        self.state == "broken"
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.client, self.scope)?;
        match self.name.as_deref() {
            Some("twig") | None => {}
            Some(name) => write!(f, ", as {name}")?,
        }
        match (self.prompts, &self.problem) {
            (Some(prompts), _) => write!(f, "): {}", counted(prompts, "prompt", "prompts")),
            (None, problem) => write!(f, "): {}", problem.as_deref().unwrap_or_default()),
        }
    }
}

/// What becomes of one entry.
enum Verdict {
    Start(Box<Command>),
    /// It is left alone, for a reason.
    Skip(String),
    Broken(String),
}

/// Every Twig in the files of clients, of this person and of the folder that this is run in.
pub(super) fn rows(places: &Places, homes: &ClientPlaces) -> Vec<Row> {
    let folder = on_disk(Path::new("."));
    let folder: PathBuf = folder.components().collect();
    let found = survey(&folder, homes);
    thread::scope(|scope| {
        let mut rows = Vec::new();
        for (client, whose, path, config) in &found {
            let row = |name: Option<&str>| Row {
                client: client.as_str(),
                scope: whose.as_str(),
                file: path.display().to_string(),
                name: name.map(str::to_owned),
                state: "broken",
                prompts: None,
                problem: None,
            };
            let config = match config {
                Ok(config) => config,
                Err(error) => {
                    let shown = places.shown(path);
                    let problem = format!("{shown} cannot be read: {}", problem(error));
                    rows.push(scope.spawn(move || Row {
                        problem: Some(problem),
                        ..row(None)
                    }));
                    continue;
                }
            };
            let named = |entry: &&Entry| entry.is_twig() || entry.name == "twig";
            for entry in config.entries.iter().filter(named) {
                let row = row(Some(&entry.name));
                let folder = &folder;
                // Each may take its time; none waits for another.
                rows.push(scope.spawn(move || told(row, judge(config, entry, folder, homes))));
            }
        }
        let rows = rows.into_iter();
        rows.filter_map(|row| row.join().ok()).collect()
    })
}

fn told(row: Row, verdict: Verdict) -> Row {
    let (state, prompts, problem) = match verdict {
        Verdict::Skip(why) => ("skipped", None, Some(why)),
        Verdict::Broken(why) => ("broken", None, Some(why)),
        Verdict::Start(command) => match count(*command) {
            Ok(prompts) => ("reached", Some(prompts), None),
            Err(why) => ("broken", None, Some(why)),
        },
    };
    Row {
        state,
        prompts,
        problem,
        ..row
    }
}

fn judge(config: &Config, entry: &Entry, folder: &Path, homes: &ClientPlaces) -> Verdict {
    let Some(launch) = entry.launch.as_ref().filter(|launch| launch.is_twig()) else {
        let why = "its entry `twig` does not start Twig, and is left alone";
        return Verdict::Skip(why.to_owned());
    };
    if entry.is_off {
        return Verdict::Skip("it is switched off there".to_owned());
    }
    let program = match Program::of(launch, config.scope, folder, homes) {
        Program::Found(program) => program,
        Program::Unknown(why) => {
            return Verdict::Skip(format!("{why}, so it is not started here"));
        }
        Program::Missing => {
            let again = again(config, entry);
            let why = format!("the program {} is not there: run `{again}`", launch.program);
            return Verdict::Broken(why);
        }
    };
    if launch.args.iter().any(|arg| arg.starts_with("--http")) {
        let why = "a client cannot talk to it: take `--http` out of its arguments";
        return Verdict::Broken(why.to_owned());
    }
    let own = std::env::current_exe().unwrap_or_default();
    let mut command = match config.scope {
        Scope::User => Command::new(program),
        Scope::Project if is_harmless(launch, entry) && is_same(&program, &own) => {
            Command::new(own)
        }
        Scope::Project => {
            let why = format!(
                "it is not started here, since a project's file may be anybody's and this entry \
                 does more than serve with this program: look at `{}` in {}",
                entry.name,
                config.path.display()
            );
            return Verdict::Skip(why);
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
    Verdict::Start(Box::new(command))
}

/// Whether an entry only serves: with no environment that could lead to other code, in the folder
/// that it is in.
fn is_harmless(launch: &Launch, entry: &Entry) -> bool {
    let words = ["twig"].into_iter();
    let words = words.chain(launch.args.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words);
    let serves = cli.is_ok_and(|cli| match cli.command {
        TwigCommand::Serve(serve) => serve.http.address.is_none(),
        _ => false,
    });
    serves && launch.env.is_empty() && entry.folder.is_none()
}

/// The command that writes an entry anew.
fn again(config: &Config, entry: &Entry) -> String {
    let mut command = format!("twig connect {}", config.client.as_str());
    if config.scope == Scope::Project {
        command += " --project";
    }
    if entry.name != "twig" {
        command = format!("{command} --name {}", entry.name);
    }
    command
}

/// How many prompts a server lists.
fn count(command: Command) -> Result<usize, String> {
    let mut client = Client::start(command, PATIENCE).map_err(|error| error.to_string())?;
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
