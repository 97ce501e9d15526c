//! `twig project`: the projects of a workspace.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde::Serialize;
use twig_core::access::AccessPlace;
use twig_core::store::{Author, LabelName, Noun, Store, StoreError, StoreName, Summary, Write};
use twig_core::suggest::did_you_mean;
use twig_sources::{Access, WorkspaceStore};

use super::check::counted;
use super::compact;
use super::key::KnownAccess;
use super::question::{YesArgs, ask_to_delete};
use super::store::{ProjectArgs, ProjectTarget, Stores, WorkspaceArgs, workspace_flag, write_to};
use super::transfer::{self, ProjectImportArgs};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List projects and their contents
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        place: WorkspaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a project has, where it is stored and when it was last changed
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        place: WorkspaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a project
    #[command(aliases = ["new", "add"])]
    Create {
        /// Its name
        name: String,
        #[command(flatten)]
        place: WorkspaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rename a project
    #[command(visible_alias = "mv")]
    Rename {
        /// Its name
        #[arg(value_name = "OLD")]
        name: String,
        /// Its new name
        #[arg(value_name = "NEW")]
        to: String,
        #[command(flatten)]
        place: WorkspaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a project, its contents and all their versions, for good
    #[command(visible_alias = "rm", alias = "remove")]
    Delete {
        /// Its name
        name: String,
        #[command(flatten)]
        place: WorkspaceArgs,
        #[command(flatten)]
        yes: YesArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a project as a folder of plain files, which git can hold
    Export {
        /// Its name
        name: String,
        /// The folder; an earlier export there is updated
        folder: PathBuf,
        #[command(flatten)]
        place: WorkspaceArgs,
        /// Replace files that were changed since the last export
        #[arg(short, long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Protect labels, so that only an administrator moves or removes them, or list protected ones
    Protect {
        /// The labels; without any, the protected ones are listed
        labels: Vec<String>,
        #[command(flatten)]
        place: ProjectArgs,
        /// Protect them no longer
        #[arg(long, requires = "labels")]
        remove: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a project from an exported folder, or bring the folder's changes into a project
    Import(ProjectImportArgs),
}

/// One project as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ProjectListRow<'c> {
    workspace: &'c str,
    name: &'c str,
    prompts: u64,
    resources: u64,
    /// The bytes of its versions, which are limited.
    history_bytes: u64,
    created: String,
    last_modified: String,
}

/// A project with the place of its workspace; this shape is stable.
#[derive(Debug, Serialize)]
struct ShownProject<'c> {
    #[serde(flatten)]
    row: ProjectListRow<'c>,
    /// The most that `history_bytes` may be.
    history_limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Labels that only an administrator moves or removes.
    protected_labels: Vec<String>,
}

/// The result of changing a project.
#[derive(Debug, Serialize)]
struct ProjectChange<'c> {
    workspace: &'c str,
    name: &'c str,
    changed: bool,
}

/// The protected labels of a project; this shape is stable.
#[derive(Debug, Serialize)]
struct ProtectedRow<'c> {
    workspace: &'c str,
    project: &'c str,
    protected_labels: &'c [String],
}

/// The result of deleting a project.
#[derive(Debug, Serialize)]
struct Deleted<'c> {
    workspace: &'c str,
    name: &'c str,
    changed: bool,
    /// Whether its content is gone from the workspace's files, too.
    erased: bool,
}

pub(super) fn run(what: ProjectCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        ProjectCommand::List { place, json } => list(&place, json, ui),
        ProjectCommand::Show { name, place, json } => show(&name, &place, json, ui),
        ProjectCommand::Create { name, place, json } => create(&name, &place, json, ui),
        ProjectCommand::Rename {
            name,
            to,
            place,
            json,
        } => rename(&name, &to, &place, json, ui),
        ProjectCommand::Delete {
            name,
            place,
            yes,
            json,
        } => delete(&name, &place, &yes, json, ui),
        ProjectCommand::Export {
            name,
            folder,
            place,
            force,
            json,
        } => transfer::export(&name, &folder, &place, force, json, ui),
        ProjectCommand::Protect {
            labels,
            place,
            remove,
            json,
        } => protect(&labels, &place, remove, json, ui),
        ProjectCommand::Import(options) => transfer::import(&options, ui),
    }
}

fn list(place: &WorkspaceArgs, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let store = Stores::new()?.open(place, Access::ReadOrUpdate)?;
    let projects = match &store {
        Some(store) => store.projects()?,
        None => Vec::new(),
    };
    if json {
        let rows: Vec<ProjectListRow<'_>> =
            projects.iter().map(|p| row(p, &place.workspace)).collect();
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = projects.iter().map(|project| {
        vec![
            project.name.to_string(),
            many(project.prompts, "prompt", "prompts"),
            many(project.resources, "resource", "resources"),
        ]
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    if projects.is_empty() {
        let flag = workspace_flag(&place.workspace);
        let there = Stores::new()?.named("in", &place.workspace);
        ui.say(format!(
            "no projects{there}\nhint: make one with `twig project create NAME{flag}`"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn row<'c>(project: &'c Summary, workspace: &'c str) -> ProjectListRow<'c> {
    ProjectListRow {
        workspace,
        name: project.name.as_str(),
        prompts: project.prompts,
        resources: project.resources,
        history_bytes: project.history,
        created: project.created.to_string(),
        last_modified: project.changed.to_string(),
    }
}

fn show(
    name: &str,
    place: &WorkspaceArgs,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Project, name)?;
    let stores = Stores::new()?;
    let limit = stores.limits.project_history;
    let (store, found) = existing(&name, place, Access::ReadOrUpdate)?;
    let row = row(&found, &place.workspace);
    let protected = store.protected_labels(&name)?;
    let protected: Vec<String> = protected.iter().map(ToString::to_string).collect();
    let file = store.path();
    if json {
        ui.json(&ShownProject {
            row,
            history_limit: limit,
            path: file.map(|path| path.display().to_string()),
            protected_labels: protected,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    ui.heading(row.name)?;
    let items = format!(
        "{}, {}",
        many(row.prompts, "prompt", "prompts"),
        many(row.resources, "resource", "resources")
    );
    let history = format!("{} of {limit} bytes", row.history_bytes);
    let facts = [
        ("has", items),
        ("history", history),
        ("created", row.created),
        ("changed", row.last_modified),
        ("workspace", row.workspace.to_owned()),
    ];
    let file = file.map(|path| ("file", stores.places.shown(path)));
    let labels = (!protected.is_empty()).then(|| ("protected", protected.join(", ")));
    let facts = facts.into_iter().chain(file).chain(labels);
    let facts = facts.map(|(what, fact)| vec![what.to_owned(), fact]);
    ui.facts("  ", &facts.collect::<Vec<_>>())?;
    Ok(ExitCode::SUCCESS)
}

fn create(
    name: &str,
    place: &WorkspaceArgs,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Project, name)?;
    let stores = Stores::new()?;
    let store = stores.open_or_make(place)?;
    let write = Write::CreateProject {
        name: name.clone(),
        author: Author::Person,
    };
    write_to(&store, write)?;
    let there = stores.named("in", &place.workspace);
    ui.say(format!("created project `{name}`{there}"));
    tell(&name, place, true, json, ui)
}

fn rename(
    name: &str,
    to: &str,
    place: &WorkspaceArgs,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Project, name)?;
    let to = StoreName::parse(Noun::Project, to)?;
    let (store, _) = existing(&name, place, Access::Write)?;
    if name == to {
        ui.say(format!(
            "nothing changed: project `{name}` has that name already"
        ));
        return tell(&name, place, false, json, ui);
    }
    let write = Write::RenameProject {
        name: name.clone(),
        to: to.clone(),
        author: Author::Person,
    };
    write_to(&store, write)?;
    KnownAccess::rename(&role_place(place, &name)?, &role_place(place, &to)?, ui)?;
    let there = Stores::new()?.named("in", &place.workspace);
    ui.say(format!("renamed project `{name}` to `{to}`{there}"));
    tell(&to, place, true, json, ui)
}

/// Protects labels, or lists those that are.
fn protect(
    labels: &[String],
    place: &ProjectArgs,
    remove: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let labels = labels.iter().map(|label| LabelName::parse(label));
    let labels: Vec<LabelName> = labels.collect::<Result<_, _>>()?;
    let access = if labels.is_empty() {
        Access::ReadOrUpdate
    } else {
        Access::Write
    };
    let target = ProjectTarget::open(place, access)?;
    let project = &target.project;
    for label in &labels {
        let written = target.write(Write::Protect {
            project: project.clone(),
            label: label.clone(),
            is_protected: !remove,
            author: Author::Person,
        })?;
        ui.say(match (written.is_new, remove) {
            (true, false) => format!("protected label `{label}` in project `{project}`"),
            (true, true) => {
                format!("label `{label}` in project `{project}` is protected no longer")
            }
            (false, false) => {
                format!("label `{label}` in project `{project}` is protected already")
            }
            (false, true) => format!("label `{label}` in project `{project}` was not protected"),
        });
    }
    let protected = target.store.protected_labels(project)?;
    let protected: Vec<String> = protected.iter().map(ToString::to_string).collect();
    if json {
        ui.json(&ProtectedRow {
            workspace: target.workspace(),
            project: project.as_str(),
            protected_labels: &protected,
        })?;
    } else if labels.is_empty() {
        for label in &protected {
            ui.line(label)?;
        }
        if protected.is_empty() {
            ui.say(format!("no protected labels in project `{project}`"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A project as the place of roles.
fn role_place(place: &WorkspaceArgs, project: &StoreName) -> Result<AccessPlace, CommandError> {
    let workspace = StoreName::parse(Noun::Workspace, &place.workspace)?;
    Ok(AccessPlace::Project(workspace, project.clone()))
}

fn delete(
    name: &str,
    place: &WorkspaceArgs,
    yes: &YesArgs,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Project, name)?;
    let (store, found) = existing(&name, place, Access::Write)?;
    if !yes.is_given(ui) && !ask_to_delete(&format!("project `{name}`"), &losing(&found), ui)? {
        return Ok(ExitCode::FAILURE);
    }
    let write = Write::DeleteProject {
        name: name.clone(),
        author: Author::Person,
    };
    write_to(&store, write)?;
    let there = Stores::new()?.named("from", &place.workspace);
    ui.say(format!("deleted project `{name}`{there}"));
    KnownAccess::forget(&role_place(place, &name)?, ui)?;
    let erased = match &store {
        WorkspaceStore::Sqlite(file) => compact::erase(store.workspace(), file.reclaim(), ui),
        // The database frees the space of deleted rows itself.
        _ => true,
    };
    if json {
        ui.json(&Deleted {
            workspace: &place.workspace,
            name: name.as_str(),
            changed: true,
            erased,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An existing project, and its workspace.
pub(super) fn existing(
    name: &StoreName,
    place: &WorkspaceArgs,
    access: Access,
) -> Result<(WorkspaceStore, Summary), CommandError> {
    let mut others = Vec::new();
    if let Some(store) = Stores::new()?.open(place, access)? {
        others = store.projects()?;
        if let Some(at) = others.iter().position(|project| project.name == *name) {
            return Ok((store, others.swap_remove(at)));
        }
    }
    let near = did_you_mean(name.as_str(), others.iter().map(|p| p.name.as_str()));
    let flag = workspace_flag(&place.workspace);
    let hint = near.unwrap_or_else(|| format!("`twig project list{flag}` lists all of them"));
    Err(CommandError::from(StoreError::NoProject {
        project: name.clone(),
        workspace: StoreName::parse(Noun::Workspace, &place.workspace)?,
    })
    .hint(hint))
}

fn losing(project: &Summary) -> String {
    format!(
        "{}, {} and all their versions would be lost for good",
        many(project.prompts, "prompt", "prompts"),
        many(project.resources, "resource", "resources")
    )
}

fn many(count: u64, one: &str, many: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), one, many)
}

fn tell(
    name: &StoreName,
    place: &WorkspaceArgs,
    changed: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if json {
        ui.json(&ProjectChange {
            workspace: &place.workspace,
            name: name.as_str(),
            changed,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
