//! `twig prompt diff`: what a change changed.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::{ItemKind, Operation, Store, StoreName, Version, VersionChoice};
use twig_sources::Access;

use super::super::store::{ProjectArgs, ProjectTarget, parse_choice};
use super::show::{one_version, versions};
use crate::command_error::CommandError;
use crate::text_diff;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ItemDiffArgs {
    /// Its name
    name: String,

    /// The version before, or its label; by default the one before the last
    #[arg(value_parser = parse_choice)]
    from: Option<VersionChoice>,

    /// The version after, or its label; by default the last
    #[arg(value_parser = parse_choice)]
    to: Option<VersionChoice>,

    #[command(flatten)]
    place: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The difference of two versions, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ItemDiff<'c> {
    workspace: &'c str,
    project: &'c str,
    name: &'c str,
    /// The version before; 0 if it did not exist.
    from: u64,
    to: u64,
    changed: bool,
    /// A unified diff; empty if nothing differs.
    diff: &'c str,
}

pub(super) fn run(
    kind: ItemKind,
    options: &ItemDiffArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let name = StoreName::parse(kind.noun(), &options.name)?;
    let target = ProjectTarget::open(&options.place, Access::ReadOrUpdate)?;
    let mut all = versions(&target, kind, &name)?;
    let last = all.pop();
    let after = match (&options.to, last) {
        (Some(choice), _) => one_version(&target, kind, &name, choice)?,
        (None, Some(last)) => last,
        (None, None) => return Err(super::missing(&target, kind, &name)),
    };
    let before = match &options.from {
        Some(choice) => Some(one_version(&target, kind, &name, choice)?),
        None => all.pop(),
    };
    let diff = diff(&target, &name, before.as_ref(), &after)?;
    let from = before.map_or(0, |before| before.number);
    if options.json {
        ui.json(&ItemDiff {
            workspace: target.workspace(),
            project: target.project.as_str(),
            name: name.as_str(),
            from,
            to: after.number,
            changed: !diff.is_empty(),
            diff: &diff,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    ui.page();
    for line in diff.lines() {
        ui.diff_line(line)?;
    }
    if diff.is_empty() {
        let (noun, to) = (kind.as_str(), after.number);
        ui.say(format!(
            "versions {from} and {to} of {noun} `{name}` are the same"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The difference, with the fields of both versions above their texts.
fn diff(
    target: &ProjectTarget,
    name: &StoreName,
    before: Option<&Version>,
    after: &Version,
) -> Result<String, CommandError> {
    let old = before.map(|before| text(target, before)).transpose()?;
    let new = text(target, after)?;
    let title = |version: &Version| format!("{name} version {}", version.number);
    let old_title = before.map_or_else(|| "/dev/null".to_owned(), title);
    Ok(text_diff::unified(
        (&old_title, &old.unwrap_or_default()),
        (&title(after), &new),
    ))
}

/// A version as text.
fn text(target: &ProjectTarget, version: &Version) -> Result<String, CommandError> {
    // What is not text is named by its digest, which was not read.
    let is_read = version.content.is_text && version.operation != Operation::Delete;
    let content = if is_read {
        target.store.content(&version.content.digest)?
    } else {
        Vec::new()
    };
    Ok(text_diff::version_text(version, &content))
}
