//! `twig store`: the tables of a database, and a check of everything that is stored.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::store::{Noun, Store, StoreError, StoreName};
use twig_sources::{Access, StorePlace, StoreRoles, VerifiedRows, copy_workspace};

use super::check::counted;
use super::store::Stores;
use crate::command_error::CommandError;
use crate::config::StoreSettings;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create the tables of Twig in the database, or bring them up to date
    Migrate(StoreMigrateArgs),
    /// Compare every version, content and change with its digest
    Verify(StoreVerifyArgs),
    /// Copy a workspace with its history to a database, or to a file
    Copy(StoreCopyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StoreMigrateArgs {
    /// Give a role the rights that servers need, and no more
    #[arg(long, value_name = "NAME")]
    app_role: Option<String>,
    /// Give a role the rights that dumps need
    #[arg(long, value_name = "NAME")]
    backup_role: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreCopyArgs {
    /// The workspace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    workspace: String,
    /// Where to: the URL of a database, `@FILE` for a file with that URL, or `files`
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// The name of the copy, if it is another one
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of a copy; this shape is stable.
#[derive(Debug, Serialize)]
struct CopiedWorkspace<'c> {
    workspace: &'c str,
    name: &'c str,
    projects: usize,
    versions: u64,
    contents: u64,
}

#[derive(Debug, Args)]
pub(crate) struct StoreVerifyArgs {
    /// Only this workspace
    #[arg(short, long, value_name = "NAME")]
    workspace: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of a migration; this shape is stable.
#[derive(Debug, Serialize)]
struct MigratedTables {
    from: u32,
    to: u32,
    changed: bool,
}

/// One workspace that was checked; this shape is stable.
#[derive(Debug, Serialize)]
struct VerifiedWorkspace {
    workspace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<u64>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn run(what: &StoreCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let stores = Stores::new()?;
    match what {
        StoreCommand::Migrate(options) => migrate(&stores.workspaces, options, ui),
        StoreCommand::Verify(options) => verify(&stores, options, ui),
        StoreCommand::Copy(options) => copy(&stores, options, ui),
    }
}

fn migrate(
    workspaces: &StorePlace,
    options: &StoreMigrateArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let roles = StoreRoles {
        app: options.app_role.as_deref(),
        backup: options.backup_role.as_deref(),
    };
    let Some((from, to)) = workspaces.migrate(roles)? else {
        let message = "the workspaces are files, which need no migration";
        let hint = "set `[store] url` or TWIG_STORE_URL to the address of a PostgreSQL database";
        return Err(CommandError::fixable(message).hint(hint));
    };
    if from == to {
        ui.say(format!("the tables are up to date (version {to})"));
    } else if from == 0 {
        ui.say(format!(
            "created the tables in schema `twig` (version {to})"
        ));
    } else {
        ui.say(format!("brought the tables from version {from} to {to}"));
    }
    for (role, purpose) in [(roles.app, "servers"), (roles.backup, "dumps")] {
        if let Some(role) = role {
            ui.say(format!("role `{role}` has the rights for {purpose}"));
        }
    }
    if from == 0 && roles.app.is_none() {
        ui.say(
            "hint: servers that connect with a role of their own can neither change tables nor edit \
             history: `twig store migrate --app-role NAME --backup-role NAME` gives two roles their \
             rights",
        );
    }
    if options.json {
        let changed = from != to;
        ui.json(&MigratedTables { from, to, changed })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(
    stores: &Stores,
    options: &StoreVerifyArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let names = match options.workspace.as_deref() {
        Some(name) => vec![StoreName::parse(Noun::Workspace, name)?],
        None => stores.workspaces.list()?,
    };
    let mut rows = Vec::new();
    for name in &names {
        let row = verified(stores, name)
            .unwrap_or_else(|error| VerifiedWorkspace::of(name, None, None, &[error.to_string()]));
        rows.push(row);
    }
    let is_good = rows.iter().all(|row| row.problem.is_none());
    if options.json {
        ui.json(&rows)?;
    } else {
        ui.table(
            &rows
                .iter()
                .map(VerifiedWorkspace::cells)
                .collect::<Vec<_>>(),
        )?;
        if rows.is_empty() {
            ui.say("no workspaces");
        }
    }
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn copy(stores: &Stores, options: &StoreCopyArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let workspace = StoreName::parse(Noun::Workspace, &options.workspace)?;
    let name = options.name.as_deref().unwrap_or(&options.workspace);
    let name = StoreName::parse(Noun::Workspace, name)?;
    let target = StoreSettings::named(&options.to).place(&stores.places)?;
    let Some(target) = target else {
        return Err(CommandError::fixable("there is no place for workspaces"));
    };
    if !stores.workspaces.exists(&workspace) {
        let hint = "`twig workspace list` lists all of them";
        return Err(stores.no_workspace(&workspace, hint.to_owned()));
    }
    let limits = &stores.limits;
    let store = stores
        .workspaces
        .open(&workspace, Access::ReadOrUpdate, limits)?;
    let projects = store.projects()?.len();
    // The place is no setting, so no hint about settings helps.
    let found = copy_workspace(&store, &target, &name, limits)
        .map_err(|error| CommandError::fixable(error.to_string()))?;
    ui.say(format!(
        "copied workspace `{workspace}` as `{name}` with its history: {}, {}",
        counted(projects, "project", "projects"),
        many(Some(found.versions), "version", "versions"),
    ));
    if options.json {
        ui.json(&CopiedWorkspace {
            workspace: workspace.as_str(),
            name: name.as_str(),
            projects,
            versions: found.versions,
            contents: found.contents,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn many(count: Option<u64>, one: &str, many: &str) -> String {
    let count = usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX);
    counted(count, one, many)
}

/// The rows and the logs of a workspace: damage of the one says nothing of the other.
fn verified(stores: &Stores, name: &StoreName) -> Result<VerifiedWorkspace, StoreError> {
    let store = stores
        .workspaces
        .open(name, Access::ReadOrUpdate, &stores.limits)?;
    let mut problems = Vec::new();
    let rows = match store.verify() {
        Ok(rows) => Some(rows),
        Err(error) if error.is_damage() => {
            problems.push(error.to_string());
            None
        }
        Err(error) => return Err(error),
    };
    let changes = match store.check_changes() {
        Ok(chains) => {
            problems.extend(chains.iter().filter_map(|chain| {
                let broken = chain.broken?;
                Some(format!(
                    "in the log of project '{}' {broken}",
                    chain.project
                ))
            }));
            Some(chains.iter().map(|chain| chain.changes).sum())
        }
        Err(error) => {
            problems.push(match error {
                StoreError::DamagedRows { what, .. } => format!("in the log of a project {what}"),
                error => error.to_string(),
            });
            None
        }
    };
    // A file that is no database fails both checks in the same words.
    problems.dedup();
    Ok(VerifiedWorkspace::of(name, rows, changes, &problems))
}

impl VerifiedWorkspace {
    fn of(
        name: &StoreName,
        rows: Option<VerifiedRows>,
        changes: Option<u64>,
        problems: &[String],
    ) -> Self {
        Self {
            workspace: name.to_string(),
            versions: rows.map(|rows| rows.versions),
            contents: rows.map(|rows| rows.contents),
            changes,
            problem: (!problems.is_empty()).then(|| problems.join("; ")),
        }
    }

    /// The row of a table.
    fn cells(&self) -> Vec<String> {
        let what = match &self.problem {
            Some(problem) => problem.clone(),
            None => format!(
                "{}, {} and {} are as they were written",
                many(self.versions, "version", "versions"),
                many(self.contents, "content", "contents"),
                many(self.changes, "change", "changes")
            ),
        };
        vec![self.workspace.clone(), what]
    }
}
