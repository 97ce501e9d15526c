//! `twig workspace`: each workspace is one file that holds all of its projects.

use std::process::ExitCode;

use clap::Subcommand;
use serde::Serialize;
use twig_core::access::AccessPlace;
use twig_core::store::{Noun, Store, StoreError, StoreName, Summary};
use twig_sources::{Access, WorkspaceStore};

use super::backup::{self, BackupArgs, RestoreArgs};
use super::check::counted;
use super::compact;
use super::compact::CompactArgs;
use super::key::KnownAccess;
use super::question::{YesArgs, ask_to_delete};
use super::store::Stores;
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List workspaces and how many projects they have
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a workspace
    #[command(aliases = ["new", "add"])]
    Create {
        /// Its name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Drop old versions and free the disk space of deleted content
    Compact(CompactArgs),
    /// Write a copy of a workspace to a file, while servers go on
    Backup(BackupArgs),
    /// Create a workspace from the file of a backup
    Restore(RestoreArgs),
    /// Delete a workspace, its projects and all their versions, for good
    #[command(visible_alias = "rm", alias = "remove")]
    Delete {
        /// Its name
        name: String,
        #[command(flatten)]
        yes: YesArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// One workspace as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct WorkspaceRow {
    name: String,
    /// Absent if the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<usize>,
    /// What is wrong with it, such as why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// The result of changing a workspace.
#[derive(Debug, Serialize)]
struct WorkspaceChange<'c> {
    name: &'c str,
    changed: bool,
}

pub(super) fn run(what: WorkspaceCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let stores = Stores::new()?;
    match what {
        WorkspaceCommand::List { json } => list(&stores, json, ui),
        WorkspaceCommand::Create { name, json } => {
            let name = StoreName::parse(Noun::Workspace, &name)?;
            stores.workspaces.create(&name)?;
            ui.say(format!("created workspace `{name}`"));
            tell(&name, json, ui)
        }
        WorkspaceCommand::Compact(options) => compact::run(&options, &stores, ui),
        WorkspaceCommand::Backup(options) => backup::back_up(&options, &stores, ui),
        WorkspaceCommand::Restore(options) => backup::restore(&options, &stores, ui),
        WorkspaceCommand::Delete { name, yes, json } => {
            let name = StoreName::parse(Noun::Workspace, &name)?;
            if !stores.workspaces.exists(&name) {
                let hint = "`twig workspace list` lists all of them";
                return Err(stores.no_workspace(&name, hint.to_owned()));
            }
            let losing = losing(projects(&stores, &name));
            if !yes.is_given(ui) && !ask_to_delete(&format!("workspace `{name}`"), &losing, ui)? {
                return Ok(ExitCode::FAILURE);
            }
            stores.workspaces.delete(&name)?;
            ui.say(format!("deleted workspace `{name}`"));
            KnownAccess::forget(&AccessPlace::Workspace(name.clone()), ui)?;
            tell(&name, json, ui)
        }
    }
}

fn list(stores: &Stores, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let rows = rows(stores, |_| Ok(()))?;
    if json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    ui.table(&rows.iter().map(WorkspaceRow::cells).collect::<Vec<_>>())?;
    if rows.is_empty() {
        ui.say("no workspaces\nhint: `twig project create NAME` makes the first");
    }
    Ok(ExitCode::SUCCESS)
}

/// Every workspace, and the problem of each one that cannot be opened or fails the check.
pub(super) fn rows(
    stores: &Stores,
    check: fn(&WorkspaceStore) -> Result<(), StoreError>,
) -> Result<Vec<WorkspaceRow>, CommandError> {
    let names = stores.workspaces.list()?;
    let rows = names.iter().map(|name| {
        let store = stores
            .workspaces
            .open(name, Access::ReadOrUpdate, &stores.limits);
        let found = store.and_then(|store| {
            check(&store)?;
            store.projects()
        });
        WorkspaceRow {
            name: name.to_string(),
            projects: found.as_ref().ok().map(Vec::len),
            problem: match found {
                Ok(_) => stores.workspaces.held_log(name),
                Err(error) => Some(error.to_string()),
            },
        }
    });
    Ok(rows.collect())
}

impl WorkspaceRow {
    /// The row of a table.
    pub(super) fn cells(&self) -> Vec<String> {
        let what = match (self.projects, &self.problem) {
            (Some(count), None) => counted(count, "project", "projects"),
            (Some(count), Some(problem)) => {
                format!("{}; {problem}", counted(count, "project", "projects"))
            }
            (None, problem) => problem.clone().unwrap_or_default(),
        };
        vec![self.name.clone(), what]
    }
}

fn projects(stores: &Stores, name: &StoreName) -> Result<Vec<Summary>, StoreError> {
    let store = stores
        .workspaces
        .open(name, Access::ReadOrUpdate, &stores.limits)?;
    store.projects()
}

fn losing(projects: Result<Vec<Summary>, StoreError>) -> String {
    match projects {
        Ok(projects) if projects.is_empty() => "it has no projects".to_owned(),
        Ok(projects) => {
            let all = |of: fn(&Summary) -> u64| {
                let sum: u64 = projects.iter().map(of).sum();
                usize::try_from(sum).unwrap_or(usize::MAX)
            };
            format!(
                "{}, {}, {} and all their versions would be lost for good",
                counted(projects.len(), "project", "projects"),
                counted(all(|p| p.prompts), "prompt", "prompts"),
                counted(all(|p| p.resources), "resource", "resources")
            )
        }
        Err(error) => format!("what would be lost cannot be counted: {error}"),
    }
}

fn tell(name: &StoreName, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    if json {
        let name = name.as_str();
        ui.json(&WorkspaceChange {
            name,
            changed: true,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
