//! `twig key`: the keys with which people use a server over HTTP.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::access::{
    AccessError, AccessKey, AccessPlace, AccessRecord, AccessRole, KeyState, KeyText, RANDOM_BYTES,
};
use twig_core::store::{Noun, Store, StoreName, Timestamp};
use twig_core::suggest::did_you_mean;
use twig_sources::{
    Access, AccessFileError, DEFAULT_WORKSPACE, access_marker, change_access, now, read_access,
};

use super::age::{Age, parse_age};
use super::check::counted;
use super::opened_catalog::parse_known;
use super::store::Stores;
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::places::Places;
use crate::ui::Ui;

/// The roles that a first grant can have; `run` is given by name.
const ROLES: [AccessRole; 3] = [AccessRole::Reader, AccessRole::Writer, AccessRole::Admin];

/// Milliseconds of a century.
const CENTURY: i64 = 100 * 365 * 24 * 60 * 60 * 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key for a person, and print it once
    #[command(aliases = ["new", "add"])]
    Create(KeyCreateArgs),
    /// List keys: whose they are, what they allow, and until when
    #[command(visible_alias = "ls")]
    List {
        /// Also list revoked keys
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace a key by a new one, and print that once
    Rotate {
        /// The person
        name: String,
        /// Accept the old key for this long, such as 24h
        #[arg(long, value_name = "TIME", value_parser = parse_age)]
        grace: Option<Age>,
        /// Refuse the new key after this time, such as 90d; without it, the old end stays
        #[arg(long, value_name = "TIME", value_parser = parse_lifetime)]
        expires: Option<Age>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: within a second it opens nothing any more
    #[command(visible_alias = "rm", aliases = ["remove", "delete"])]
    Revoke {
        /// The person
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeyCreateArgs {
    /// The person, or the program, that gets the key
    name: String,

    /// What they may do: reader, writer or admin
    #[arg(long, value_name = "ROLE", value_parser = parse_role)]
    role: AccessRole,

    /// Only in this workspace
    #[arg(short, long, value_name = "NAME")]
    workspace: Option<String>,

    /// Only in this project, as NAME or WORKSPACE/NAME
    #[arg(short, long, value_name = "NAME")]
    project: Option<String>,

    /// Refuse the key after this time, such as 90d
    #[arg(long, value_name = "TIME", value_parser = parse_lifetime)]
    expires: Option<Age>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A new key as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct NewKey<'k> {
    name: &'k str,
    id: &'k str,
    /// The secret, which is not shown again.
    key: &'k str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
}

/// One key as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct KeyRow<'k> {
    name: &'k str,
    id: &'k str,
    state: &'static str,
    roles: Vec<RoleRow>,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
    /// Until when the key before the last rotation is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_until: Option<String>,
}

/// A role and where it applies; an empty place is every place.
#[derive(Debug, Serialize)]
struct RoleRow {
    role: &'static str,
    #[serde(rename = "where")]
    place: String,
}

/// The result of revoking a key.
#[derive(Debug, Serialize)]
struct RevokedKey<'k> {
    name: &'k str,
    changed: bool,
}

pub(super) fn run(what: KeyCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let file = AccessPath::find()?;
    match what {
        KeyCommand::Create(options) => create(&file, &options, ui),
        KeyCommand::List { all, json } => list(&file, all, json, ui),
        KeyCommand::Rotate {
            name,
            grace,
            expires,
            json,
        } => rotate(&file, &name, (grace, expires), json, ui),
        KeyCommand::Revoke { name, json } => revoke(&file, &name, json, ui),
    }
}

/// The file of keys and roles, for commands.
pub(super) struct AccessPath {
    path: PathBuf,
    shown: String,
}

impl AccessPath {
    pub(super) fn find() -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let Some(path) = places.access() else {
            let error = CommandError::fixable("there is no place for keys");
            return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
        };
        let shown = places.shown(&path);
        Ok(Self { path, shown })
    }

    pub(super) fn read(&self) -> Result<AccessRecord, CommandError> {
        let record = read_access(&self.path).map_err(|error| {
            CommandError::fixable(format!("{} cannot be read: {}", self.shown, reason(&error)))
        })?;
        if !record.asks_for_keys() && access_marker(&self.path).exists() {
            return Err(self.lost());
        }
        Ok(record)
    }

    /// Takes away the roles in a place that was deleted.
    pub(super) fn forget(place: &AccessPlace, ui: &mut Ui) -> Result<(), CommandError> {
        Self::carry_over(ui, "removed", |record| record.forget_place(place, now()))
    }

    /// Moves the roles in a project that was renamed.
    pub(super) fn rename(
        from: &AccessPlace,
        to: &AccessPlace,
        ui: &mut Ui,
    ) -> Result<(), CommandError> {
        Self::carry_over(ui, "moved", |record| record.move_place(from, to, now()))
    }

    fn carry_over(
        ui: &mut Ui,
        done: &str,
        change: impl Fn(&mut AccessRecord) -> usize,
    ) -> Result<(), CommandError> {
        let file = Self::find()?;
        // Most have no keys at all, and so no file.
        if change(&mut file.read()?) == 0 {
            return Ok(());
        }
        let count = file.change(|record| Ok(change(record)))?;
        ui.say(format!(
            "{done} {} of people there",
            counted(count, "role", "roles")
        ));
        Ok(())
    }

    pub(super) fn change<R>(
        &self,
        change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
    ) -> Result<R, CommandError> {
        change_access(&self.path, change).map_err(|error| match error {
            AccessFileError::Lost => self.lost(),
            AccessFileError::File(error) => not_locked(&self.shown, &error),
            AccessFileError::Refused(error) => self.explained(&error),
            error => CommandError::fixable(error.to_string()),
        })
    }

    /// The error for a record that was lost.
    fn lost(&self) -> CommandError {
        let marker = access_marker(&self.path);
        let message = format!("{} is gone, though keys were made", self.shown);
        CommandError::fixable(message).hint(format!(
            "restore it from a backup; to start over without these keys, remove {}",
            marker.display()
        ))
    }

    /// Says so if a role is for a place that does not exist.
    pub(super) fn warn_of_missing(place: &AccessPlace, ui: &mut Ui) -> Result<(), CommandError> {
        let (workspace, project) = match place {
            AccessPlace::Everywhere => return Ok(()),
            AccessPlace::Workspace(workspace) => (workspace, None),
            AccessPlace::Project(workspace, project) => (workspace, Some(project)),
        };
        let stores = Stores::new()?;
        if !stores.workspaces.exists(workspace) {
            let names = stores.workspaces.list()?;
            let near = did_you_mean(workspace.as_str(), names.iter().map(StoreName::as_str));
            let near = near.map_or_else(String::new, |near| format!("; {near}"));
            ui.insist(format!(
                "warning: there is no workspace `{workspace}` yet{near}"
            ));
            return Ok(());
        }
        let Some(project) = project else {
            return Ok(());
        };
        let store = stores
            .workspaces
            .open(workspace, Access::ReadOrUpdate, &stores.limits)?;
        let projects = store.projects()?;
        if !projects.iter().any(|it| it.name == *project) {
            let near = did_you_mean(project.as_str(), projects.iter().map(|it| it.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!("; {near}"));
            ui.insist(format!(
                "warning: there is no project `{project}` in workspace `{workspace}` yet{near}"
            ));
        }
        Ok(())
    }

    fn explained(&self, error: &AccessError) -> CommandError {
        let message = CommandError::fixable(error.to_string());
        match error {
            AccessError::KeyExists(name) => message.hint(format!(
                "replace it with `twig key rotate {name}`, or give it another role with `twig grant add {name} ROLE`"
            )),
            AccessError::NoKey(name) => {
                let record = self.read().unwrap_or_default();
                let is_revoked = |key: &AccessKey| key.revoked.is_some();
                if record.keys.iter().any(|key| key.name == *name && is_revoked(key)) {
                    return message.hint("it was revoked; `twig key list --all` lists it");
                }
                let keys = record.keys.iter().filter(|key| !is_revoked(key));
                let near = did_you_mean(name, keys.map(|key| &*key.name));
                message.hint(near.unwrap_or_else(|| "`twig key list` lists all keys".to_owned()))
            }
            AccessError::Expired(_) => {
                message.hint("say how long the new one works: `--expires 90d`")
            }
            AccessError::GrantExists { .. } | AccessError::NoGrant { .. } => {
                message.hint("`twig grant list` lists all roles")
            }
            _ => message,
        }
    }
}

fn create(
    file: &AccessPath,
    options: &KeyCreateArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let place = place(options.workspace.as_deref(), options.project.as_deref())?;
    let at = now();
    let expires = options.expires.map(|time| time.after(at));
    let random = random()?;
    let is_first = !file.read()?.asks_for_keys();
    let (name, role) = (&options.name, options.role);
    let key = file.change(|record| {
        let place = place.clone();
        record.create_key(name, role, place, expires, &random, at)
    })?;
    let until = expires.map_or_else(String::new, |until| format!(", until {until}"));
    ui.say(format!(
        "created a key for `{name}`: {} {place}{until}; it is not shown again",
        role.as_str()
    ));
    AccessPath::warn_of_missing(&place, ui)?;
    if is_first {
        ui.say("from now on every request over HTTP needs a key");
    }
    print_key(name, &key, expires, options.json, ui)
}

fn rotate(
    file: &AccessPath,
    name: &str,
    (grace, expires): (Option<Age>, Option<Age>),
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let at = now();
    let until = grace.map(|grace| grace.after(at));
    let expires = expires.map(|time| time.after(at));
    let random = random()?;
    let (key, expires) = file.change(|record| {
        let key = record.rotate_key(name, until, expires, &random, at)?;
        Ok((key, record.working(name).and_then(|key| key.expires)))
    })?;
    ui.say(match until {
        Some(until) => format!("replaced the key of `{name}`; the old one works until {until}"),
        None => format!("replaced the key of `{name}`; the old one does not work any more"),
    });
    print_key(name, &key, expires, json, ui)
}

fn print_key(
    name: &str,
    key: &KeyText,
    expires: Option<Timestamp>,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if json {
        ui.json(&NewKey {
            name,
            id: key.id(),
            key: key.reveal(),
            expires: expires.map(|at| at.to_string()),
        })?;
    } else {
        ui.line(key.reveal())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(file: &AccessPath, all: bool, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let (record, at) = (file.read()?, now());
    let keys = record.keys.iter();
    let keys: Vec<&AccessKey> = keys
        .filter(|key| all || key.state(at) != KeyState::Revoked)
        .collect();
    if json {
        let rows = keys.iter().map(|key| KeyRow {
            name: &key.name,
            id: &key.id,
            state: key.state(at).as_str(),
            roles: roles_of(&record, key),
            created: key.created.to_string(),
            expires: key.expires.map(|at| at.to_string()),
            revoked: key.revoked.map(|at| at.to_string()),
            old_until: key.old.as_ref().map(|old| old.until.to_string()),
        });
        ui.json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = keys.iter().map(|key| {
        let roles = roles_of(&record, key)
            .into_iter()
            .map(|row| match &*row.place {
                "" => row.role.to_owned(),
                place => format!("{} {place}", row.role),
            });
        let state = match (key.state(at), key.expires) {
            (KeyState::Valid, Some(until)) => format!("until {until}"),
            (KeyState::Valid, None) => String::new(),
            (state, _) => state.as_str().to_owned(),
        };
        vec![
            key.name.to_string(),
            key.id.to_string(),
            roles.collect::<Vec<_>>().join(", "),
            state,
        ]
    });
    ui.table(&rows.collect::<Vec<_>>())?;
    if keys.is_empty() {
        ui.say("no keys\nhint: `twig key create NAME --role reader` makes one");
    }
    Ok(ExitCode::SUCCESS)
}

/// The roles of a key's person, without those of everyone.
fn roles_of(record: &AccessRecord, key: &AccessKey) -> Vec<RoleRow> {
    let grants = record.grants.iter();
    let theirs = grants.filter(|grant| grant.who.to_string() == *key.name);
    let roles = theirs.map(|grant| RoleRow {
        role: grant.role.as_str(),
        place: grant.place.as_text(),
    });
    roles.collect()
}

fn revoke(
    file: &AccessPath,
    name: &str,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    file.change(|record| record.revoke_key(name, now()))?;
    ui.say(format!("revoked the key of `{name}`"));
    if json {
        ui.json(&RevokedKey {
            name,
            changed: true,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a key works.
fn place(workspace: Option<&str>, project: Option<&str>) -> Result<AccessPlace, CommandError> {
    let Some(project) = project else {
        return Ok(match workspace {
            Some(name) => AccessPlace::Workspace(StoreName::parse(Noun::Workspace, name)?),
            None => AccessPlace::Everywhere,
        });
    };
    let (named, project) = match project.split_once('/') {
        Some((workspace, project)) => (Some(workspace), project),
        None => (None, project),
    };
    if let (Some(one), Some(two)) = (workspace, named)
        && one != two
    {
        let message = format!("`--workspace {one}` and `--project {two}/{project}` differ");
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    let workspace = workspace.or(named).unwrap_or(DEFAULT_WORKSPACE);
    Ok(AccessPlace::Project(
        StoreName::parse(Noun::Workspace, workspace)?,
        StoreName::parse(Noun::Project, project)?,
    ))
}

/// How long a key works: some time, and less than a century.
fn parse_lifetime(text: &str) -> Result<Age, String> {
    let age = parse_age(text)?;
    let end = age.after(Timestamp(0)).0;
    if end > 0 && end < CENTURY {
        return Ok(age);
    }
    Err("it has to be more than nothing and less than a century, such as 90d".to_owned())
}

fn random() -> Result<Vec<u8>, CommandError> {
    let mut random = vec![0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        CommandError::fixable(format!("the system has no random numbers: {error}"))
    })?;
    Ok(random)
}

fn parse_role(text: &str) -> Result<AccessRole, String> {
    if text == AccessRole::Run.as_str() {
        return Err("give it by name with `twig grant add NAME run`".to_owned());
    }
    parse_known(text, &ROLES, AccessRole::as_str, "roles")
}
