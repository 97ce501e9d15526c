//! `twig workspace backup` and `twig workspace restore`: one file for one person's safety.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::problem::shell_word;
use twig_core::store::{Noun, Store, StoreName};
use twig_sources::{Access, DEFAULT_WORKSPACE};

use super::check::counted;
use super::store::Stores;
use crate::command_error::CommandError;
use crate::places::on_disk;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write
    file: PathBuf,

    /// The workspace
    #[arg(short, long, value_name = "NAME", default_value = DEFAULT_WORKSPACE)]
    workspace: String,

    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The file of the backup
    file: PathBuf,

    /// The name of the workspace to create
    #[arg(value_name = "NAME", default_value = DEFAULT_WORKSPACE)]
    name: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A backup, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct BackupRow<'c> {
    workspace: &'c str,
    file: String,
    projects: usize,
    bytes: u64,
}

/// A workspace that was created from a backup, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct RestoredWorkspace<'c> {
    name: &'c str,
    file: String,
    projects: usize,
}

/// What to do in a database.
const PG_DUMP: &str =
    "back it up with `pg_dump`, restore it with `pg_restore`, then run `twig store verify`";

pub(super) fn back_up(
    options: &BackupArgs,
    stores: &Stores,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Workspace, &options.workspace)?;
    if !stores.workspaces.exists(&name) {
        let hint = "`twig workspace list` lists all of them";
        return Err(stores.no_workspace(&name, hint.to_owned()));
    }
    let access = Access::ReadOrUpdate;
    let store = stores.workspaces.open(&name, access, &stores.limits)?;
    let store = store.file(PG_DUMP)?;
    let projects = store.projects()?.len();
    let file = on_disk(&options.file);
    if file.is_dir() {
        let message = format!(
            "{} is a folder, not a file to write",
            stores.places.shown(&file)
        );
        let example = options.file.join(format!("{name}.db"));
        let example = shell_word(&example.display().to_string());
        return Err(CommandError::fixable(message).hint(format!(
            "name a file in it, such as `twig workspace backup {example}`"
        )));
    }
    let is_there = file.symlink_metadata().is_ok() && !options.force;
    let bytes = store.back_up(&file, options.force).map_err(|error| {
        let hint = is_there.then_some("name another file, or replace it with --force");
        hint.into_iter()
            .fold(CommandError::from(error), CommandError::hint)
    })?;
    let shown = stores.places.shown(&file);
    ui.say(format!(
        "backed up workspace `{name}` to {shown}: {}, {bytes} bytes",
        counted(projects, "project", "projects")
    ));
    ui.say(format!(
        "hint: `twig workspace restore {} NAME` brings it back as workspace NAME",
        pasted(&shown, &file)
    ));
    if options.json {
        ui.json(&BackupRow {
            workspace: name.as_str(),
            file: file.display().to_string(),
            projects,
            bytes,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A path for a command that the user may paste: in quotes, `~` would stay as it is.
fn pasted(shown: &str, file: &Path) -> String {
    match shell_word(shown) {
        plain if plain == shown => plain,
        _ => shell_word(&file.display().to_string()),
    }
}

pub(super) fn restore(
    options: &RestoreArgs,
    stores: &Stores,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Workspace, &options.name)?;
    let file = on_disk(&options.file);
    let shown = stores.places.shown(&file);
    let files = stores.workspaces.files(PG_DUMP)?;
    files.restore(&name, &file).map_err(|error| {
        let is_there = stores.workspaces.exists(&name);
        let hint = is_there.then(|| {
            let file = pasted(&shown, &file);
            format!("choose another name, such as `twig workspace restore {file} {name}-2`")
        });
        hint.into_iter()
            .fold(CommandError::from(error), CommandError::hint)
    })?;
    let access = Access::ReadOrUpdate;
    let store = stores.workspaces.open(&name, access, &stores.limits)?;
    let projects = store.projects()?.len();
    ui.say(format!(
        "created workspace `{name}` from {shown}: {}",
        counted(projects, "project", "projects")
    ));
    if options.json {
        ui.json(&RestoredWorkspace {
            name: name.as_str(),
            file: file.display().to_string(),
            projects,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
