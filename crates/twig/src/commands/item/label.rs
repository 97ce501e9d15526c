//! `twig prompt label`: names for versions.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::{
    Author, ItemKind, LabelChange, LabelName, LabelWrite, Store, StoreName, Write, Written,
};
use twig_sources::Access;

use super::super::store::{ProjectArgs, ProjectTarget, parse_version};
use super::show;
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ItemLabelArgs {
    /// Its name
    name: String,

    /// The label: lower case letters, digits, `-` and `_`; without it, all labels are listed
    label: Option<String>,

    #[command(flatten)]
    place: ProjectArgs,

    /// The version to label; by default the last
    #[arg(long, value_name = "N", value_parser = parse_version, requires = "label")]
    version: Option<u64>,

    /// Remove the label; the version stays
    #[arg(long, requires = "label", conflicts_with = "version")]
    remove: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One label as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct LabelRow<'c> {
    label: &'c str,
    version: u64,
    /// Whether only an administrator moves or removes it.
    protected: bool,
    time: String,
    author: &'c str,
    description: Option<&'c str>,
}

/// The result of setting or removing a label, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct LabelResult<'c> {
    workspace: &'c str,
    project: &'c str,
    name: &'c str,
    label: &'c str,
    /// The version that it names, or named.
    version: u64,
    removed: bool,
    changed: bool,
}

pub(super) fn run(
    kind: ItemKind,
    options: &ItemLabelArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(kind.noun(), &options.name)?;
    let Some(label) = &options.label else {
        return list(kind, &name, options, ui);
    };
    let label = LabelName::parse(label)?;
    let target = ProjectTarget::open(&options.place, Access::Write)?;
    let change = if options.remove {
        LabelChange::Remove
    } else {
        LabelChange::Set {
            version: options.version,
        }
    };
    let written = target.write(Write::Label(Box::new(LabelWrite {
        project: target.project.clone(),
        kind,
        name: name.clone(),
        label: label.clone(),
        change,
        // Whoever can write the workspace's file can do everything.
        is_admin: true,
        author: Author::Person,
    })))?;
    say(kind, &target, (&name, &label), &written, options.remove, ui);
    if options.json {
        ui.json(&LabelResult {
            workspace: target.workspace(),
            project: target.project.as_str(),
            name: name.as_str(),
            label: label.as_str(),
            version: written.version,
            removed: options.remove,
            changed: written.is_new,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(
    kind: ItemKind,
    target: &ProjectTarget,
    (name, label): (&StoreName, &LabelName),
    written: &Written,
    is_removed: bool,
    ui: &mut Ui,
) {
    let (noun, project, version) = (kind.as_str(), &target.project, written.version);
    ui.say(if is_removed {
        format!(
            "removed label `{label}` from version {version} of {noun} `{name}` in project `{project}`"
        )
    } else if written.is_new {
        format!("`{name}@{label}` is version {version} of {noun} `{name}` in project `{project}` now")
    } else {
        format!(
            "nothing to change: `{name}@{label}` is version {version} of {noun} `{name}` in project `{project}` already"
        )
    });
}

fn list(
    kind: ItemKind,
    name: &StoreName,
    options: &ItemLabelArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let target = ProjectTarget::open(&options.place, Access::ReadOrUpdate)?;
    let versions = show::versions(&target, kind, name)?;
    let labels = target.store.labels(&target.project, kind, name)?;
    let protected = target.store.protected_labels(&target.project)?;
    let rows = labels.iter().filter_map(|(label, number)| {
        let version = versions.iter().find(|version| version.number == *number)?;
        Some(LabelRow {
            label: label.as_str(),
            version: *number,
            protected: protected.contains(label),
            time: version.at.to_string(),
            author: &version.author,
            description: version.description.as_deref(),
        })
    });
    let rows: Vec<LabelRow<'_>> = rows.collect();
    if options.json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = rows.iter().map(|row| {
        vec![
            row.label.to_owned(),
            row.version.to_string(),
            row.time.clone(),
            row.author.to_owned(),
            if row.protected { "protected" } else { "" }.to_owned(),
        ]
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    if rows.is_empty() {
        let (noun, project) = (kind.as_str(), &target.project);
        ui.say(format!(
            "no labels of {noun} `{name}` in project `{project}`\n\
             hint: set one with `twig {noun} label {name} production{}`",
            target.flags
        ));
    }
    Ok(ExitCode::SUCCESS)
}
