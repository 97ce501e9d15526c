//! `twig prompt rename`: another name, with all versions.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::{Author, ItemKind, StoreName, Write};

use super::super::check::counted;
use super::super::store::{ProjectArgs, parse_version};
use super::{open, show};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ItemRenameArgs {
    /// Its name
    #[arg(value_name = "OLD")]
    name: String,

    /// Its new name: letters a to z, digits, `-`, `_` and `.`
    #[arg(value_name = "NEW")]
    to: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Rename nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = parse_version)]
    expected_version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of renaming, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct RenamedItem<'c> {
    workspace: &'c str,
    project: &'c str,
    old_name: &'c str,
    name: &'c str,
    version: u64,
    changed: bool,
}

pub(super) fn run(
    kind: ItemKind,
    options: &ItemRenameArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let to = StoreName::parse(kind.noun(), &options.to)?;
    let (target, name) = open(kind, &options.name, &options.place)?;
    let written = target.write(Write::RenameItem {
        project: target.project.clone(),
        kind,
        name: name.clone(),
        to: to.clone(),
        expected: options.expected_version,
        author: Author::Person,
    })?;
    let (noun, project) = (kind.as_str(), &target.project);
    if written.is_new {
        let versions = show::versions(&target, kind, &to)?.len();
        let versions = counted(versions, "version", "versions");
        ui.say(format!(
            "renamed {noun} `{name}` to `{to}` in project `{project}`; it keeps its {versions}"
        ));
    } else {
        ui.say(format!(
            "nothing changed: {noun} `{name}` in project `{project}` has that name already"
        ));
    }
    if options.json {
        ui.json(&RenamedItem {
            workspace: target.workspace(),
            project: target.project.as_str(),
            old_name: name.as_str(),
            name: to.as_str(),
            version: written.version,
            changed: written.is_new,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
