//! Opens a workspace, finds the selected project, and writes to it.

use std::sync::mpsc;

use clap::Args;
use twig_core::Limits;
use twig_core::store::{
    ItemKind, Noun, Operation, Project, Store, StoreError, StoreName, Summary, VersionChoice,
    VersionQuery, Write, Written,
};
use twig_core::suggest::did_you_mean;
use twig_sources::{Access, DEFAULT_WORKSPACE, StorePlace, WorkspaceStore};

use crate::command_error::{CommandError, ErrorKind};
use crate::config::{self, Config, StoreSettings};
use crate::places::Places;

// The selected workspace.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkspaceArgs {
    /// The workspace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(super) workspace: String,
}

// The selected project.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectArgs {
    #[command(flatten)]
    pub(super) place: WorkspaceArgs,

    /// The project; may be omitted if the workspace has just one
    #[arg(short, long, value_name = "NAME")]
    pub(super) project: Option<String>,
}

impl ProjectArgs {
    /// A project whose workspace may be omitted.
    pub(super) fn new(workspace: Option<&str>, project: Option<&str>) -> Self {
        let workspace = workspace.unwrap_or(DEFAULT_WORKSPACE).to_owned();
        Self {
            place: WorkspaceArgs { workspace },
            project: project.map(str::to_owned),
        }
    }
}

/// A version number, counted from 1.
pub(super) fn parse_version(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it has to be a whole number from 1".to_owned())
}

/// A version number, or a label.
pub(super) fn parse_choice(text: &str) -> Result<VersionChoice, String> {
    VersionChoice::parse(text)
        .map_err(|_| "it has to be a whole number from 1, or a label".to_owned())
}

/// What the commands for the store work on.
pub(super) struct Stores {
    pub(super) places: Places,
    pub(super) limits: Limits,
    pub(super) workspaces: StorePlace,
}

impl Stores {
    pub(super) fn new() -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let config = config::load(&places)?;
        Self::of(places, config.limits, &config.store)
    }

    /// The same, if the configuration was read already.
    pub(super) fn of(
        places: Places,
        limits: Limits,
        store: &StoreSettings,
    ) -> Result<Self, CommandError> {
        let Some(workspaces) = store.place(&places)? else {
            let error = CommandError::fixable("there is no place for workspaces");
            return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
        };
        Ok(Self {
            places,
            limits,
            workspaces,
        })
    }

    /// Opens a workspace; `None` for a default workspace that does not exist yet.
    pub(super) fn open(
        &self,
        place: &WorkspaceArgs,
        access: Access,
    ) -> Result<Option<WorkspaceStore>, CommandError> {
        let name = StoreName::parse(Noun::Workspace, &place.workspace)?;
        if self.workspaces.exists(&name) {
            return Ok(Some(self.workspaces.open(&name, access, &self.limits)?));
        }
        if name.as_str() == DEFAULT_WORKSPACE {
            return Ok(None);
        }
        let hint = format!("make it with `twig workspace create {name}`");
        Err(self.no_workspace(&name, hint))
    }

    /// Opens a workspace to add something; creates the default one if it does not exist yet.
    pub(super) fn open_or_make(
        &self,
        place: &WorkspaceArgs,
    ) -> Result<WorkspaceStore, CommandError> {
        if let Some(store) = self.open(place, Access::Write)? {
            return Ok(store);
        }
        let name = StoreName::parse(Noun::Workspace, &place.workspace)?;
        Ok(self.workspaces.open(&name, Access::Write, &self.limits)?)
    }

    /// A workspace at the end of a sentence, where its name says more than nothing: if there are
    /// several.
    pub(super) fn named(&self, preposition: &str, workspace: &str) -> String {
        let names = self.workspaces.list().unwrap_or_default();
        if names.len() > 1 {
            format!(" {preposition} workspace `{workspace}`")
        } else {
            String::new()
        }
    }

    /// The error for a workspace that does not exist; it suggests similar names.
    pub(super) fn no_workspace(&self, name: &StoreName, otherwise: String) -> CommandError {
        let others = self.workspaces.list().unwrap_or_default();
        let near = did_you_mean(name.as_str(), others.iter().map(StoreName::as_str));
        let hint = near.unwrap_or(otherwise);
        CommandError::fixable(format!("Workspace '{name}' does not exist")).hint(hint)
    }
}

/// A project in its workspace.
pub(super) struct ProjectTarget {
    pub(super) store: WorkspaceStore,
    pub(super) project: StoreName,
    pub(super) limits: Limits,
    /// The flags that name it in suggested commands.
    pub(super) flags: String,
}

impl ProjectTarget {
    /// The named project, or the only one.
    pub(super) fn open(place: &ProjectArgs, access: Access) -> Result<Self, CommandError> {
        Self::find(Stores::new()?, place, access)
    }

    /// The same, if the configuration was read already.
    pub(super) fn find(
        stores: Stores,
        place: &ProjectArgs,
        access: Access,
    ) -> Result<Self, CommandError> {
        let named = place.project.as_deref();
        let named = named.map(|name| StoreName::parse(Noun::Project, name));
        let named = named.transpose()?;
        let workspace = &place.place.workspace;
        let Some(store) = stores.open(&place.place, access)? else {
            return Err(match named {
                Some(project) => no_project(&project, workspace, &[]),
                None => no_projects(workspace),
            });
        };
        let mut flags = workspace_flag(workspace);
        let project = match named {
            Some(project) => {
                flags = format!("{flags} -p {project}");
                project
            }
            None => only_project(&store)?,
        };
        Ok(Self {
            store,
            project,
            limits: stores.limits,
            flags,
        })
    }

    /// The workspace's name.
    pub(super) fn workspace(&self) -> &str {
        self.store.workspace().as_str()
    }

    /// How clients get a prompt of this project.
    pub(super) fn how_to_serve(&self, prompt: &StoreName, config: &Config) -> String {
        let (project, separator) = (&self.project, &config.separator);
        let flags = format!("{} -p {project}", workspace_flag(self.workspace()));
        let is_default = self.workspace() == DEFAULT_WORKSPACE;
        if is_default && config.serves_store != Some(false) {
            format!(
                "clients of `twig serve` get it as `{project}{separator}{prompt}`; \
                 with `twig serve{flags}` as `{prompt}`"
            )
        } else {
            format!("serve it with `twig serve{flags}`")
        }
    }

    /// The project with its contents.
    pub(super) fn read(&self) -> Result<Project, CommandError> {
        read_project(&self.store, &self.project)
    }

    /// Performs a write; a refusal comes with a hint.
    pub(super) fn write(&self, write: Write) -> Result<Written, CommandError> {
        finish(&self.store, write)?.map_err(|error| self.explain(error))
    }

    /// A refusal with what to do next.
    pub(super) fn explain(&self, error: StoreError) -> CommandError {
        let flags = &self.flags;
        let hint = match &error {
            StoreError::NoProject { project, workspace } => {
                let others = self.store.projects().unwrap_or_default();
                return no_project(project, workspace.as_str(), &others);
            }
            StoreError::Missing { kind, name, .. } => Some(self.missing_hint(*kind, name)),
            StoreError::Exists { kind, name, .. } => Some(format!(
                "change it with `twig {} update {name}{flags}`",
                kind.as_str()
            )),
            StoreError::NoLabel { kind, name, .. } => Some(format!(
                "`twig {} label {name}{flags}` lists all labels",
                kind.as_str()
            )),
            StoreError::Stale { kind, name, .. }
            | StoreError::NoVersion { kind, name, .. }
            | StoreError::NotDeleted { kind, name, .. } => Some(format!(
                "`twig {} history {name}{flags}` lists all versions",
                kind.as_str()
            )),
            _ => None,
        };
        hint.into_iter()
            .fold(CommandError::from(error), CommandError::hint)
    }

    /// Suggests similar names, or how to restore a deleted item.
    fn missing_hint(&self, kind: ItemKind, name: &StoreName) -> String {
        let (noun, flags) = (kind.as_str(), &self.flags);
        let versions = self.store.versions(&VersionQuery {
            project: self.project.clone(),
            kind,
            name: name.clone(),
            before: None,
            most: 1,
            only: None,
        });
        let last = versions.unwrap_or_default().pop();
        if last.is_some_and(|last| last.operation == Operation::Delete) {
            return format!("it was deleted; restore it with `twig {noun} restore {name}{flags}`");
        }
        let items = self.store.project(&self.project).ok().flatten();
        let items = items.map_or_else(Vec::new, |project| project.items);
        let names = items.iter().filter(|item| item.kind == kind);
        did_you_mean(name.as_str(), names.map(|item| item.name.as_str()))
            .unwrap_or_else(|| format!("`twig {noun} list{flags}` lists all of them"))
    }
}

/// A project with its contents.
pub(super) fn read_project(
    store: &dyn Store,
    project: &StoreName,
) -> Result<Project, CommandError> {
    if let Some(found) = store.project(project)? {
        return Ok(found);
    }
    let others = store.projects()?;
    Err(no_project(project, store.workspace().as_str(), &others))
}

/// Performs a write to a project itself.
pub(super) fn write_to(store: &dyn Store, write: Write) -> Result<Written, CommandError> {
    finish(store, write)?.map_err(|error| {
        let is_there = matches!(error, StoreError::ProjectExists { .. });
        let flag = workspace_flag(store.workspace().as_str());
        let hint = is_there.then(|| format!("`twig project list{flag}` lists all of them"));
        hint.into_iter()
            .fold(CommandError::from(error), CommandError::hint)
    })
}

/// Starts a write and waits for its result.
fn finish(store: &dyn Store, write: Write) -> Result<Result<Written, StoreError>, CommandError> {
    let (told, outcome) = mpsc::channel();
    store.write(write, Box::new(move |written| drop(told.send(written))));
    outcome.recv().map_err(|_| {
        let message = "the store has ended before the write was done";
        CommandError::new(ErrorKind::Internal, message)
    })
}

pub(super) fn no_project(project: &StoreName, workspace: &str, others: &[Summary]) -> CommandError {
    let message = format!("Project '{project}' does not exist in workspace '{workspace}'");
    let names = others.iter().map(|other| other.name.as_str());
    let near = did_you_mean(project.as_str(), names);
    let hint = near.unwrap_or_else(|| {
        let flag = workspace_flag(workspace);
        format!("make it with `twig project create {project}{flag}`")
    });
    CommandError::fixable(message).hint(hint)
}

fn no_projects(workspace: &str) -> CommandError {
    let flag = workspace_flag(workspace);
    CommandError::fixable(format!("workspace `{workspace}` has no projects"))
        .hint(format!("make one with `twig project create NAME{flag}`"))
}

/// The flag that names a workspace in suggested commands.
pub(super) fn workspace_flag(workspace: &str) -> String {
    if workspace == DEFAULT_WORKSPACE {
        String::new()
    } else {
        format!(" -w {workspace}")
    }
}

fn only_project(store: &dyn Store) -> Result<StoreName, CommandError> {
    let mut projects = store.projects()?;
    let workspace = store.workspace();
    match projects.len() {
        0 => Err(no_projects(workspace.as_str())),
        1 => Ok(projects.remove(0).name),
        count => {
            let names: Vec<&str> = projects.iter().map(|p| p.name.as_str()).collect();
            let shown = names[..count.min(20)].join(", ");
            let more = count.saturating_sub(20);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let message = format!("workspace `{workspace}` has several projects: {shown}{more}");
            Err(CommandError::new(ErrorKind::Usage, message).hint("say which one with `-p NAME`"))
        }
    }
}
