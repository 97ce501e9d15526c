//! `twig project export` and `twig project import`.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use twig_core::store::{Author, Noun, StoreError, StoreName};
use twig_sources::{Access, ProjectFolderError, check_project, export_project, import_project};

use super::check::counted;
use super::project::existing;
use super::store::{Stores, WorkspaceArgs, read_project};
use crate::command_error::CommandError;
use crate::places::{Places, on_disk};
use crate::ui::Ui;

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
    let items = counted(
        exported.items,
        "prompt or resource",
        "prompts and resources",
    );
    ui.say(format!(
        "Exported project '{name}' to {}: {items}, {} written",
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

pub(super) fn import(
    folder: &Path,
    name: Option<&str>,
    place: &WorkspaceArgs,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = name.map(|name| StoreName::parse(Noun::Project, name));
    let name = name.transpose()?;
    let stores = Stores::new()?;
    let folder = on_disk(folder);
    let checked = check_project(&folder, &stores.limits)
        .map_err(|error| trouble(&stores.places, &folder, &error))?;
    let store = stores.open_or_make(place)?;
    let imported = import_project(&store, checked, name.as_ref(), &Author::Person);
    let imported = imported.map_err(|error| match error {
        ProjectFolderError::Store(error @ StoreError::ProjectExists { .. }) => {
            CommandError::from(error).hint("give it another name with `--name NAME`")
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
        "Imported project '{}' into workspace '{}': {}, {}",
        imported.name,
        place.workspace,
        counted(imported.prompts, "prompt", "prompts"),
        counted(imported.resources, "resource", "resources"),
    ));
    if json {
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

fn trouble(places: &Places, folder: &Path, error: &ProjectFolderError) -> CommandError {
    let hint = match error {
        ProjectFolderError::NotEmpty => Some("name an empty folder, or one that is to be made"),
        ProjectFolderError::OtherProject(_) => {
            Some("use --force to put this project there instead, or name another folder")
        }
        ProjectFolderError::Edited(_) => Some(
            "use --force to replace what is there; `twig project import FOLDER --name NAME` keeps it as another project",
        ),
        ProjectFolderError::NoManifest => Some("`twig project export` makes such a folder"),
        _ => None,
    };
    let message = format!("{}: {error}", places.shown(folder));
    hint.into_iter()
        .fold(CommandError::fixable(message), CommandError::hint)
}
