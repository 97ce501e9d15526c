//! `twig audit`: who changed what, and whether the log of changes is as it was written.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::access::{AccessChange, AccessRecord};
use twig_core::audit::{AuditEntry, ChainBreak, ChainDigest};
use twig_core::plan::{ChangeQuery, CheckedChain, RecordedChange};
use twig_core::store::{Noun, Store, StoreName};
use twig_sources::{Access, DEFAULT_WORKSPACE, WorkspaceStore, now};

use super::age::{Age, parse_age};
use super::check::counted;
use super::key::KnownAccess;
use super::store::{Stores, WorkspaceArgs};
use crate::audit_log::LOCAL;
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the changes of projects: when, who, with which client, and what
    Show(AuditShowArgs),
    /// Check that no change was altered or removed since it was logged
    Verify(AuditVerifyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditShowArgs {
    /// The workspace; all of them if it is omitted
    #[arg(short, long, value_name = "NAME")]
    workspace: Option<String>,

    /// Only changes of this project, also if it was deleted
    #[arg(short, long, value_name = "NAME")]
    project: Option<String>,

    /// Only changes that are not older, such as 7d, 12h or 30m
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    since: Option<Age>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// The workspace; all of them if it is omitted
    #[arg(short, long, value_name = "NAME")]
    workspace: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One change as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ShownChange {
    time: String,
    /// Absent for a log that is of no project.
    workspace: Option<String>,
    project: Option<String>,
    /// Counts the changes of the project.
    revision: u64,
    actor: String,
    client: Option<String>,
    action: String,
    kind: String,
    name: String,
    /// The version of a prompt or resource.
    version: Option<u64>,
    /// A label, or a name or number that it was done with.
    detail: Option<String>,
    digest: Option<String>,
}

/// One chain as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ShownChain {
    /// Absent for a log that is of no project.
    workspace: Option<String>,
    project: Option<String>,
    deleted: bool,
    /// How many changes were checked.
    changes: u64,
    /// How many changes are from before the chain.
    unchained: u64,
    /// The digest of the last change that was checked.
    last: Option<String>,
    /// The revision at which the chain breaks.
    broken_at: Option<u64>,
    /// What is wrong there.
    problem: Option<String>,
}

pub(super) fn run(what: &AuditCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        AuditCommand::Show(options) => show(options, ui),
        AuditCommand::Verify(options) => verify(options, ui),
    }
}

fn show(options: &AuditShowArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let changes = changes(options)?;
    if options.json {
        ui.json(&changes)?;
        return Ok(ExitCode::SUCCESS);
    }
    ui.page();
    ui.table(&changes.iter().map(ShownChange::cells).collect::<Vec<_>>())?;
    if changes.is_empty() {
        ui.say("no changes");
    }
    Ok(ExitCode::SUCCESS)
}

/// The changes of all logs that are asked for, oldest first.
fn changes(options: &AuditShowArgs) -> Result<Vec<ShownChange>, CommandError> {
    let project = options.project.as_deref();
    let project = project.map(|name| StoreName::parse(Noun::Project, name));
    let query = ChangeQuery {
        project: project.transpose()?,
        since: options.since.map(|age| age.before(now())),
    };
    let mut changes: Vec<ShownChange> = Vec::new();
    for store in open(options.workspace.as_deref(), &Stores::new()?)? {
        let workspace = store.workspace().as_str();
        let found = store.changes(&query)?;
        let found = found.iter();
        changes.extend(found.map(|change| ShownChange::of_project(change, workspace)));
    }
    changes.sort_by(|one, two| one.time.cmp(&two.time));
    if query.project.is_none() {
        let access = KnownAccess::find()?.read()?.changes;
        let is_asked = |entry: &AuditEntry| query.since.is_none_or(|since| entry.at >= since);
        let access = access.iter().filter(|(entry, _)| is_asked(entry));
        changes.extend(access.map(ShownChange::of_access));
        changes.sort_by(|one, two| one.time.cmp(&two.time));
    }
    Ok(changes)
}

fn verify(options: &AuditVerifyArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let stores = Stores::new()?;
    let chains = chains(options, &stores)?;
    if options.json {
        ui.json(&chains)?;
    } else {
        ui.table(&chains.iter().map(ShownChain::cells).collect::<Vec<_>>())?;
        if chains.is_empty() {
            ui.say("no changes");
        }
    }
    let broken: Vec<&ShownChain> = chains.iter().filter(|it| it.broken_at.is_some()).collect();
    let Some(first) = broken.first() else {
        return Ok(ExitCode::SUCCESS);
    };
    let message = format!(
        "the log of {} was changed: {}",
        first.place(),
        first.problem.as_deref().unwrap_or_default()
    );
    let error = CommandError::fixable(message).hint(match first.project {
        Some(_) if stores.workspaces.address().is_some() => {
            "compare it with a backup: restore a dump into another database"
        }
        Some(_) => "compare it with a backup: `twig workspace restore` makes a workspace of one",
        None => "compare it with a backup; `twig key list` shows what works now",
    });
    Err(match broken.len() {
        1 => error,
        count => error.hint(format!(
            "{count} logs were changed: all are in the list above"
        )),
    })
}

/// The chains of all logs, checked.
fn chains(options: &AuditVerifyArgs, stores: &Stores) -> Result<Vec<ShownChain>, CommandError> {
    let mut chains: Vec<ShownChain> = Vec::new();
    for store in open(options.workspace.as_deref(), stores)? {
        let workspace = store.workspace().as_str();
        let found = store.check_changes()?;
        let found = found.iter();
        chains.extend(found.map(|chain| ShownChain::of_project(chain, workspace)));
    }
    let access = KnownAccess::find()?.read()?;
    if !access.changes.is_empty() {
        chains.push(ShownChain::of_access(&access));
    }
    Ok(chains)
}

/// The workspace that is named, or all of them.
fn open(name: Option<&str>, stores: &Stores) -> Result<Vec<WorkspaceStore>, CommandError> {
    let all = match name {
        Some(_) => Vec::new(),
        None => stores.workspaces.list()?,
    };
    let all = all.iter().map(StoreName::as_str).chain(name);
    let opened = all.filter_map(|name| {
        let workspace = name.to_owned();
        let store = stores.open(&WorkspaceArgs { workspace }, Access::ReadOrUpdate);
        store.transpose()
    });
    opened.collect()
}

impl ShownChange {
    /// An entry of any log; `kind` says of which.
    fn of_entry(entry: &AuditEntry, kind: &str, digest: Option<ChainDigest>) -> Self {
        Self {
            time: entry.at.to_string(),
            workspace: None,
            project: None,
            revision: entry.number,
            actor: entry.actor.as_deref().unwrap_or(LOCAL).to_owned(),
            client: entry.client.as_deref().map(str::to_owned),
            action: entry.action.to_string(),
            kind: kind.to_owned(),
            name: entry.what.to_string(),
            version: None,
            detail: None,
            digest: digest.map(|digest| digest.to_string()),
        }
    }

    /// A change of keys or roles: its action says of which.
    fn of_access((entry, digest): &AccessChange) -> Self {
        let (kind, action) = entry
            .action
            .split_once('.')
            .unwrap_or(("key", &entry.action));
        Self {
            action: action.to_owned(),
            ..Self::of_entry(entry, kind, Some(*digest))
        }
    }

    fn of_project(change: &RecordedChange, workspace: &str) -> Self {
        Self {
            workspace: Some(workspace.to_owned()),
            project: Some(change.project.to_string()),
            name: change.name.to_string(),
            version: Some(change.version).filter(|version| *version > 0),
            detail: change.detail.as_deref().map(str::to_owned),
            ..Self::of_entry(&change.entry, &change.kind, change.digest)
        }
    }

    /// The row of a table.
    fn cells(&self) -> Vec<String> {
        let version = self.version.map(|version| format!(" version {version}"));
        let detail = self.detail.as_deref().unwrap_or_default();
        let detail = match (&*self.action, detail) {
            (_, "") => String::new(),
            ("rename", new) if self.kind != "project" => format!(" to {new}"),
            ("rename" | "renamed", old) => format!(" from {old}"),
            ("restore", from) => format!(" from version {from}"),
            ("compact", keep) => format!(" keep {keep}"),
            (_, label) => format!(" {label}"),
        };
        vec![
            self.time.clone(),
            match (&self.workspace, &self.project) {
                (Some(workspace), Some(project)) if workspace != DEFAULT_WORKSPACE => {
                    format!("{workspace}/{project}")
                }
                (_, project) => project.clone().unwrap_or_default(),
            },
            self.action.clone(),
            format!(
                "{} {}{}{detail}",
                self.kind,
                self.name,
                version.unwrap_or_default()
            ),
            self.actor.clone(),
            self.client.clone().unwrap_or_default(),
        ]
    }
}

impl ShownChain {
    fn of_project(chain: &CheckedChain, workspace: &str) -> Self {
        Self {
            workspace: Some(workspace.to_owned()),
            project: Some(chain.project.to_string()),
            deleted: chain.is_deleted,
            changes: chain.changes,
            unchained: chain.unchained,
            last: chain.last.map(|digest| digest.to_string()),
            broken_at: chain.broken.map(ChainBreak::number),
            problem: chain.broken.map(|broken| broken.to_string()),
        }
    }

    fn of_access(record: &AccessRecord) -> Self {
        let checked = record.verify();
        let broken = checked.as_ref().err();
        Self {
            workspace: None,
            project: None,
            deleted: false,
            changes: record.changes.len() as u64,
            unchained: 0,
            last: checked.as_ref().ok().map(ToString::to_string),
            broken_at: broken.map(|broken| broken.number()),
            problem: broken.map(ToString::to_string),
        }
    }

    /// What it is the log of.
    fn place(&self) -> String {
        let Some(project) = &self.project else {
            return "keys and roles".to_owned();
        };
        let workspace = self.workspace.as_deref().unwrap_or_default();
        format!("project `{project}` in workspace `{workspace}`")
    }

    /// The row of a table.
    fn cells(&self) -> Vec<String> {
        let changes = usize::try_from(self.changes).unwrap_or(usize::MAX);
        let unchained = match self.unchained {
            0 => String::new(),
            count => format!("{count} from before the chain"),
        };
        vec![
            self.project
                .clone()
                .unwrap_or_else(|| "keys and roles".to_owned()),
            counted(changes, "change", "changes"),
            match &self.problem {
                Some(problem) => problem.clone(),
                None => "intact".to_owned(),
            },
            self.last.clone().unwrap_or_default(),
            if self.deleted { "deleted" } else { "" }.to_owned(),
            unchained,
        ]
    }
}
