//! `twig workspace compact`: drops old versions and frees their disk space.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::{Noun, StoreError, StoreName};
use twig_sources::{Access, OldVersions, Reclaimed, WorkspaceStore};

use super::check::counted;
use super::question::ask;
use super::store::{Stores, parse_version};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// Its name
    #[arg(default_value = "default")]
    name: String,

    /// Drop all but the last N versions of each prompt and resource, for good
    #[arg(long, value_name = "N", value_parser = parse_version)]
    keep: Option<u64>,

    /// Drop versions of this project only
    #[arg(short, long, value_name = "NAME", requires = "keep")]
    project: Option<String>,

    /// Drop them without asking
    #[arg(short, long)]
    yes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was dropped and freed; this shape is stable.
#[derive(Debug, Serialize)]
struct Compacted<'c> {
    workspace: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'c str>,
    /// How many versions of each prompt and resource are kept; absent if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<u64>,
    dropped_versions: u64,
    dropped_bytes: u64,
    /// The bytes of the files; absent in a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_after: Option<u64>,
}

pub(super) fn run(
    options: &CompactArgs,
    stores: &Stores,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(Noun::Workspace, &options.name)?;
    let project = options.project.as_deref();
    let project = project.map(|name| StoreName::parse(Noun::Project, name));
    let project = project.transpose()?;
    if !stores.workspaces.exists(&name) {
        let hint = "`twig workspace list` lists all of them";
        return Err(stores.no_workspace(&name, hint.to_owned()));
    }
    let store = stores
        .workspaces
        .open(&name, Access::Write, &stores.limits)?;
    let place = match &project {
        Some(project) => format!("project `{project}`"),
        None => format!("workspace `{name}`"),
    };
    let mut dropped = OldVersions::default();
    if let Some(keep) = options.keep {
        let old = store.count_old_versions(project.as_ref(), keep)?;
        if old.versions > 0 && !options.yes && !ask_to_drop(old, keep, &place, ui)? {
            return Ok(ExitCode::FAILURE);
        }
        dropped = store.drop_old_versions(project.as_ref(), keep)?;
        ui.say(format!("dropped {} from {place}", words(dropped)));
    }
    let files = reclaim(&name, &store, ui)?;
    if options.json {
        ui.json(&Compacted {
            workspace: name.as_str(),
            project: project.as_ref().map(StoreName::as_str),
            keep: options.keep,
            dropped_versions: dropped.versions,
            dropped_bytes: dropped.bytes,
            bytes_before: files.map(|files| files.before),
            bytes_after: files.map(|files| files.after),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives the space of deleted content back; `None` in a database, which does that itself.
fn reclaim(
    name: &StoreName,
    store: &WorkspaceStore,
    ui: &mut Ui,
) -> Result<Option<Reclaimed>, CommandError> {
    let WorkspaceStore::Sqlite(file) = store else {
        ui.say("the database frees the space of deleted rows itself");
        return Ok(None);
    };
    let files = file.reclaim().map_err(|error| {
        let hint = "nothing else is lost: run it again later to give the space back";
        CommandError::from(error).hint(hint)
    })?;
    ui.say(format!(
        "the files of workspace `{name}` take {} bytes now, {} before",
        files.after, files.before
    ));
    warn_of_log(name, files, ui);
    Ok(Some(files))
}

fn words(old: OldVersions) -> String {
    let count = usize::try_from(old.versions).unwrap_or(usize::MAX);
    let versions = counted(count, "version", "versions");
    format!("{versions} ({} bytes)", old.bytes)
}

fn ask_to_drop(
    old: OldVersions,
    keep: u64,
    place: &str,
    ui: &mut Ui,
) -> Result<bool, CommandError> {
    let what = words(old);
    let unanswered = || {
        let message = format!(
            "nothing was dropped from {place}: this is not a terminal, so you cannot be asked to confirm it \
             ({what} would be lost for good)"
        );
        CommandError::fixable(message).hint("use --yes to drop them without being asked")
    };
    let question = format!(
        "drop {what} from {place}? the last {keep} of each prompt and resource stay, \
         the others are lost for good"
    );
    let is_meant = ask(&question, unanswered, ui)?;
    if !is_meant {
        ui.say("nothing was dropped");
    }
    Ok(is_meant)
}

/// Frees the disk space of deleted content; says so if it cannot.
pub(super) fn erase(
    workspace: &StoreName,
    reclaim: Result<Reclaimed, StoreError>,
    ui: &mut Ui,
) -> bool {
    match reclaim {
        Ok(files) => {
            warn_of_log(workspace, files, ui);
            !files.is_log_held
        }
        Err(error) => {
            ui.say(format!(
                "warning: its text is still in the workspace's file: {error}\n\
                 hint: run `twig workspace compact {workspace}` later"
            ));
            false
        }
    }
}

fn warn_of_log(workspace: &StoreName, files: Reclaimed, ui: &mut Ui) {
    if files.is_log_held {
        ui.say(format!(
            "warning: another program reads an older state of workspace `{workspace}`, which stays in its log \
             until that is over\nhint: run `twig workspace compact {workspace}` later"
        ));
    }
}
