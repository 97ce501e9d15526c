//! `twig project export` and `twig project import`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;
use twig_core::problem::shell_word;
use twig_core::store::{Author, ItemKind, Noun, Project, Store, StoreError, StoreName};
use twig_sources::{
    Access, CheckedFolder, FolderItem, FolderUpdate, PreferredSide, ProjectFolderError,
    WorkspaceStore, check_project, export_project, import_project, update_project,
};

use super::check::counted;
use super::project::existing;
use super::store::{Stores, WorkspaceArgs, no_project, read_project, workspace_flag};
use crate::command_error::CommandError;
use crate::places::{Places, on_disk};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ProjectImportArgs {
    /// The folder
    folder: PathBuf,

    /// The project's name, if not the exported one
    #[arg(long)]
    name: Option<String>,

    #[command(flatten)]
    place: WorkspaceArgs,

    /// Bring what changed in the folder since its export into the existing project
    #[arg(short, long)]
    update: bool,

    /// In a conflict, take this side; without it, a conflict changes nothing
    #[arg(long, value_enum, value_name = "SIDE", requires = "update")]
    prefer: Option<PreferArg>,

    /// Show what would change, and change nothing
    #[arg(long, requires = "update")]
    dry_run: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PreferArg {
    /// What the folder has
    Folder,
    /// What the project has
    Project,
}

impl From<PreferArg> for PreferredSide {
    fn from(side: PreferArg) -> Self {
        match side {
            PreferArg::Folder => Self::Folder,
            PreferArg::Project => Self::Project,
        }
    }
}

/// The result of an update, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct UpdateRow<'c> {
    workspace: &'c str,
    name: &'c str,
    dry_run: bool,
    /// Whether the changes were made: never with conflicts.
    written: bool,
    created: Vec<UpdatedItem<'c>>,
    updated: Vec<UpdatedItem<'c>>,
    /// Changed or deleted in the project since the export.
    kept: Vec<UpdatedItem<'c>>,
    conflicts: Vec<UpdatedItem<'c>>,
    unchanged: usize,
    only_in_project: usize,
    /// Files that `project.json` does not list, and that were not imported.
    without_entry: &'c [String],
}

/// One item of an update.
#[derive(Debug, Serialize)]
struct UpdatedItem<'c> {
    kind: &'static str,
    name: &'c str,
    file: &'c str,
    /// Why it is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl<'c> UpdatedItem<'c> {
    fn of(item: &'c FolderItem) -> Self {
        Self {
            kind: item.kind.as_str(),
            name: item.name.as_str(),
            file: &item.file,
            reason: None,
        }
    }
}

/// The result of an export, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ExportRow<'c> {
    workspace: &'c str,
    name: &'c str,
    /// Prompts and resources.
    items: usize,
    /// Files that were written.
    written: usize,
    removed: &'c [String],
    /// Files of items that are no longer in the project, kept because they were changed since the
    /// last export.
    kept: &'c [String],
}

/// The result of an import, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ImportRow<'c> {
    workspace: &'c str,
    name: &'c str,
    prompts: usize,
    resources: usize,
    /// Files that were changed since the export.
    edited: &'c [String],
}

pub(super) fn export(
    name: &str,
    folder: &Path,
    place: &WorkspaceArgs,
    force: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let name = StoreName::parse(Noun::Project, name)?;
    let (store, _) = existing(&name, place, Access::ReadOrUpdate)?;
    let project = read_project(&store, &name)?;
    let folder = on_disk(folder);
    let exported = export_project(&store, &project, &folder, force)
        .map_err(|error| trouble(&places, &folder, &error))?;
    let (prompts, resources) = counts(&project);
    ui.say(format!(
        "exported project `{name}` to {}: {prompts}, {resources}; {} written",
        places.shown(&folder),
        counted(exported.written, "file", "files"),
    ));
    for path in &exported.removed {
        ui.say(format!("removed {path}, which is no longer in the project"));
    }
    for path in &exported.kept {
        ui.say(format!(
            "kept {path}, which is no longer in the project: it was changed since the last export"
        ));
    }
    if json {
        ui.json(&ExportRow {
            workspace: &place.workspace,
            name: name.as_str(),
            items: exported.items,
            written: exported.written,
            removed: &exported.removed,
            kept: &exported.kept,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many prompts and resources a project has, in words.
fn counts(project: &Project) -> (String, String) {
    let items = &project.items;
    let of = |kind| items.iter().filter(|item| item.kind == kind).count();
    (
        counted(of(ItemKind::Prompt), "prompt", "prompts"),
        counted(of(ItemKind::Resource), "resource", "resources"),
    )
}

pub(super) fn import(options: &ProjectImportArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let ProjectImportArgs { place, json, .. } = options;
    let name = options.name.as_deref();
    let name = name.map(|name| StoreName::parse(Noun::Project, name));
    let name = name.transpose()?;
    let stores = Stores::new()?;
    let folder = on_disk(&options.folder);
    let checked = check_project(&folder, &stores.limits)
        .map_err(|error| trouble(&stores.places, &folder, &error))?;
    let store = if options.dry_run {
        // A dry run makes no workspace.
        stores.open(place, Access::ReadOrUpdate)?
    } else {
        Some(stores.open_or_make(place)?)
    };
    let Some(store) = store else {
        let name = name.as_ref().unwrap_or(checked.name());
        return Err(no_project(name, &place.workspace, &[]));
    };
    if options.update {
        let name = name.as_ref().unwrap_or(checked.name()).clone();
        if store.project(&name)?.is_some() {
            return update(&stores, &store, &checked, &name, options, ui);
        }
        if options.dry_run {
            return Err(no_project(&name, &place.workspace, &store.projects()?));
        }
    }
    let imported = import_project(&store, checked, name.as_ref(), &Author::Person);
    let imported = imported.map_err(|error| match error {
        ProjectFolderError::Store(error @ StoreError::ProjectExists { .. }) => {
            let hint = "bring the folder's changes into it with `--update`, or give the folder's another name with `--name NAME`";
            CommandError::from(error).hint(hint)
        }
        ProjectFolderError::Store(error) => error.into(),
        error => trouble(&stores.places, &folder, &error),
    })?;
    for path in &imported.edited {
        ui.say(format!(
            "{path} was changed since the export: taken as it is now"
        ));
    }
    ui.say(format!(
        "imported project `{}`{}: {}, {}",
        imported.name,
        stores.named("into", &place.workspace),
        counted(imported.prompts, "prompt", "prompts"),
        counted(imported.resources, "resource", "resources"),
    ));
    if *json {
        ui.json(&ImportRow {
            workspace: &place.workspace,
            name: imported.name.as_str(),
            prompts: imported.prompts,
            resources: imported.resources,
            edited: &imported.edited,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings the changes of a folder into an existing project.
fn update(
    stores: &Stores,
    store: &WorkspaceStore,
    checked: &CheckedFolder<'_>,
    name: &StoreName,
    options: &ProjectImportArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let folder = on_disk(&options.folder);
    let preferred = options.prefer.map(PreferredSide::from);
    let dry = options.dry_run;
    let done = update_project(store, checked, name, &Author::Person, preferred, dry);
    let done = done.map_err(|error| match error {
        ProjectFolderError::Store(error) => error.into(),
        error @ ProjectFolderError::Item { .. } => trouble(&stores.places, &folder, &error)
            .hint("some other items may have been changed already: run it again"),
        error => trouble(&stores.places, &folder, &error),
    })?;
    let is_written = !dry && done.conflicts.is_empty();
    if options.json {
        ui.json(&update_row(&done, name, options, is_written))?;
    } else {
        ui.facts("", &update_cells(&done))?;
    }
    let shown = stores.places.shown(&folder);
    if !done.conflicts.is_empty() {
        let conflicts = counted(done.conflicts.len(), "conflict", "conflicts");
        let message =
            format!("nothing was changed: {conflicts} between {shown} and project `{name}`");
        let hint = "`--prefer folder` takes the folder's side of each conflict, `--prefer project` the project's";
        return Err(CommandError::fixable(message).hint(hint));
    }
    let (did, place) = (if dry { "would update" } else { "updated" }, &options.place);
    ui.say(format!(
        "{did} project `{name}` in workspace `{}`: {} new, {} changed, {} kept, {} unchanged",
        place.workspace,
        done.created.len(),
        done.updated.len(),
        done.kept.len(),
        done.unchanged,
    ));
    if let Some(file) = done.without_entry.first() {
        let (noun, uri) = if file.starts_with("prompts/") {
            ("prompt", "")
        } else {
            ("resource", " --uri URI")
        };
        let (flag, path) = (workspace_flag(&place.workspace), folder.join(file));
        ui.say(format!(
            "hint: `twig {noun} add NAME -p {name}{flag}{uri} -c @{}` adds {file} to the project",
            shell_word(&path.display().to_string())
        ));
    }
    if !done.kept.is_empty() || done.only_in_project > 0 {
        let flag = workspace_flag(&place.workspace);
        ui.say(format!(
            "hint: `twig project export {name} {shown}{flag}` writes what only the project has to the folder"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn update_cells(done: &FolderUpdate) -> Vec<Vec<String>> {
    let row = |word: &str, item: &FolderItem, why: &str| {
        vec![
            word.to_owned(),
            format!("{} {}", item.kind.as_str(), item.name),
            item.file.clone(),
            why.to_owned(),
        ]
    };
    let created = done.created.iter().map(|item| row("new", item, ""));
    let updated = done.updated.iter().map(|item| row("changed", item, ""));
    let kept = done
        .kept
        .iter()
        .map(|item| row("kept", item, "newer in the project"));
    let conflicts = done.conflicts.iter();
    let conflicts = conflicts.map(|(item, why)| row("conflict", item, why.sentence()));
    let without_entry = done.without_entry.iter().map(|file| {
        let why = "is not listed in project.json, and was not imported";
        ["ignored", "-", file, why].map(str::to_owned).to_vec()
    });
    created
        .chain(updated)
        .chain(kept)
        .chain(conflicts)
        .chain(without_entry)
        .collect()
}

fn update_row<'c>(
    done: &'c FolderUpdate,
    name: &'c StoreName,
    options: &'c ProjectImportArgs,
    written: bool,
) -> UpdateRow<'c> {
    let items = |items: &'c [FolderItem]| items.iter().map(UpdatedItem::of).collect();
    UpdateRow {
        workspace: &options.place.workspace,
        name: name.as_str(),
        dry_run: options.dry_run,
        written,
        created: items(&done.created),
        updated: items(&done.updated),
        kept: items(&done.kept),
        conflicts: done
            .conflicts
            .iter()
            .map(|(item, why)| UpdatedItem {
                reason: Some(why.as_str()),
                ..UpdatedItem::of(item)
            })
            .collect(),
        unchanged: done.unchanged,
        only_in_project: done.only_in_project,
        without_entry: &done.without_entry,
    }
}

fn trouble(places: &Places, folder: &Path, error: &ProjectFolderError) -> CommandError {
    let hint = match error {
        ProjectFolderError::NotEmpty => Some("name an empty folder, or one that is to be made"),
        ProjectFolderError::OtherProject(_) => {
            Some("use --force to put this project there instead, or name another folder")
        }
        ProjectFolderError::Edited(_) => Some(
            "use --force to replace what is there; `twig project import FOLDER --update` brings what is there into the project",
        ),
        ProjectFolderError::NoManifest => Some("`twig project export` makes such a folder"),
        _ => None,
    };
    let message = format!("{}: {error}", places.shown(folder));
    hint.into_iter()
        .fold(CommandError::fixable(message), CommandError::hint)
}
