//! `twig key`: the keys with which people use a server over HTTP.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::access::{
    AccessError, AccessKey, AccessPlace, AccessRecord, AccessRole, KeyState, KeyText, RANDOM_BYTES,
};
use twig_core::store::{Noun, Store, StoreName, Timestamp};
use twig_core::suggest::did_you_mean;
use twig_sources::{
    Access, AccessHolder, AccessStore, AccessStoreError, DEFAULT_WORKSPACE, access_marker, now,
    read_access,
};

use super::age::{Age, parse_age};
use super::check::counted;
use super::opened_catalog::parse_known;
use super::store::Stores;
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::config;
use crate::http::{LOST_ROW, LOST_TABLE};
use crate::places::{Places, on_disk};
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
    /// Move the keys and roles of a file to the database of the store
    Import {
        /// The file `access.json` of another server; without it, that of this one
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
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

/// The result of an import.
#[derive(Debug, Serialize)]
struct ImportedKeys {
    keys: usize,
    roles: usize,
    changed: bool,
}

pub(super) fn run(what: KeyCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let known = KnownAccess::find()?;
    let done = match what {
        KeyCommand::Create(options) => create(&known, &options, ui),
        KeyCommand::List { all, json } => list(&known, all, json, ui),
        KeyCommand::Rotate {
            name,
            grace,
            expires,
            json,
        } => rotate(&known, &name, (grace, expires), json, ui),
        KeyCommand::Revoke { name, json } => revoke(&known, &name, json, ui),
        KeyCommand::Import { file, json } => import(&known, file.as_deref(), json, ui),
    }?;
    known.hint_at_file(ui)?;
    Ok(done)
}

/// The keys and roles, for commands.
pub(super) struct KnownAccess {
    store: AccessStore,
    /// The file of this server.
    path: PathBuf,
    shown: String,
}

impl KnownAccess {
    pub(super) fn find() -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let workspaces = config::load(&places)?.store.place(&places)?;
        let path = places.access();
        let Some(store) = AccessStore::new(workspaces.as_ref(), path.clone()) else {
            let error = CommandError::fixable("there is no place for keys");
            return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
        };
        let path = path.unwrap_or_default();
        let shown = places.shown(&path);
        Ok(Self { store, path, shown })
    }

    pub(super) fn read(&self) -> Result<AccessRecord, CommandError> {
        let read = self.store.read();
        Ok(read.map_err(|error| self.explained(error))?.0)
    }

    /// Says so if these are the keys of a file, and servers share a database.
    pub(super) fn hint_at_file(&self, ui: &mut Ui) -> Result<(), CommandError> {
        if !self.store.is_database() {
            return Ok(());
        }
        let (_, holder) = self.store.read().map_err(|error| self.explained(error))?;
        if holder == AccessHolder::File {
            ui.say(format!(
                "hint: these keys are in {}, for servers with that file alone: `twig key import` moves \
                 them to the database",
                self.shown
            ));
        }
        Ok(())
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
        let known = Self::find()?;
        // Most have no keys at all, and so no file.
        if change(&mut known.read()?) == 0 {
            return Ok(());
        }
        let count = known.change(|record| Ok(change(record)))?;
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
        let changed = self.store.change(change);
        changed.map_err(|error| self.explained(error))
    }

    fn explained(&self, error: AccessStoreError) -> CommandError {
        match error {
            AccessStoreError::Lost => self.lost(),
            AccessStoreError::LostRow => {
                CommandError::fixable(format!("{error}, though it was made with the table"))
                    .hint(LOST_ROW)
            }
            AccessStoreError::LostTable => {
                CommandError::fixable(error.to_string()).hint(LOST_TABLE)
            }
            AccessStoreError::File(error) => not_locked(&self.shown, &error),
            AccessStoreError::Unreadable(error) => {
                let why = reason(&error);
                CommandError::fixable(format!("{} cannot be read: {why}", self.shown))
            }
            AccessStoreError::Refused(error) => self.refused(&error),
            AccessStoreError::Database(error) => error.into(),
            error => CommandError::fixable(error.to_string()),
        }
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

    fn refused(&self, error: &AccessError) -> CommandError {
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
            AccessError::HasKeys => {
                message.hint("`twig key list` lists them; nothing was changed")
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
    known: &KnownAccess,
    options: &KeyCreateArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let place = place(options.workspace.as_deref(), options.project.as_deref())?;
    let at = now();
    let expires = options.expires.map(|time| time.after(at));
    let random = random()?;
    let is_first = !known.read()?.asks_for_keys();
    let (name, role) = (&options.name, options.role);
    let key = known.change(|record| {
        let place = place.clone();
        record.create_key(name, role, place, expires, &random, at)
    })?;
    let until = expires.map_or_else(String::new, |until| format!(", until {until}"));
    ui.say(format!(
        "created a key for `{name}`: {} {place}{until}; it is not shown again",
        role.as_str()
    ));
    KnownAccess::warn_of_missing(&place, ui)?;
    if is_first {
        ui.say("from now on every request over HTTP needs a key");
    }
    print_key(name, &key, expires, options.json, ui)
}

fn rotate(
    known: &KnownAccess,
    name: &str,
    (grace, expires): (Option<Age>, Option<Age>),
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let at = now();
    let until = grace.map(|grace| grace.after(at));
    let expires = expires.map(|time| time.after(at));
    let random = random()?;
    let (key, expires) = known.change(|record| {
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

fn list(known: &KnownAccess, all: bool, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let (record, at) = (known.read()?, now());
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
    known: &KnownAccess,
    name: &str,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    known.change(|record| record.revoke_key(name, now()))?;
    ui.say(format!("revoked the key of `{name}`"));
    if json {
        ui.json(&RevokedKey {
            name,
            changed: true,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Moves the keys of a file to where servers look for them; the file stays, and is not used any more.
fn import(
    known: &KnownAccess,
    file: Option<&Path>,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if !known.store.is_database() {
        let message = "the keys of this server are in a file, which needs no import";
        let hint = "set `[store] url` or TWIG_STORE_URL to the address of a PostgreSQL database";
        return Err(CommandError::fixable(message).hint(hint));
    }
    let path = file.map_or_else(|| known.path.clone(), on_disk);
    let shown = Places::from_environment().shown(&path);
    let record = read_access(&path).map_err(|error| {
        CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)))
    })?;
    if !record.asks_for_keys() {
        let message = format!("there are no keys in {shown}");
        return Err(CommandError::fixable(message).hint("nothing was changed"));
    }
    if let Err(broken) = record.verify() {
        let message = format!("the log of keys and roles in {shown} was changed: {broken}");
        return Err(CommandError::fixable(message).hint("nothing was imported"));
    }
    let working = record.keys.iter().filter(|key| key.revoked.is_none());
    let (keys, roles) = (working.count(), record.grants.len());
    let imported = known
        .store
        .change_shared(|shared| shared.take_over(record, now()));
    imported.map_err(|error| known.explained(error))?;
    ui.say(format!(
        "moved {} and {} to the database; {shown} is not used any more",
        counted(keys, "key", "keys"),
        counted(roles, "role", "roles"),
    ));
    if json {
        ui.json(&ImportedKeys {
            keys,
            roles,
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
