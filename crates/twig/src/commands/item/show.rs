//! The contents of a project, one prompt or resource of it, and its versions.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::{
    Item, ItemKind, LabelName, Operation, Store, StoreName, Version, VersionChoice, VersionQuery,
    base64, split_label,
};
use twig_sources::Access;

use super::super::check::counted;
use super::super::store::{ProjectArgs, ProjectTarget, parse_version};
use super::{find, missing};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ItemListArgs {
    #[command(flatten)]
    place: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ItemShowArgs {
    /// Its name; `NAME@LABEL` is the version that has the label
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Its content at this version
    #[arg(long, value_name = "N", value_parser = parse_version)]
    version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ItemHistoryArgs {
    /// Its name; `NAME@LABEL` is the version that has the label
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One prompt or resource as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct StoredItemRow<'c> {
    name: &'c str,
    #[serde(flatten)]
    version: VersionRow<'c>,
}

/// One version as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct VersionRow<'c> {
    version: u64,
    operation: &'static str,
    /// The version that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
    time: String,
    author: &'c str,
    description: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'c str>,
    size: u64,
    /// The labels that name it.
    labels: Vec<&'c str>,
}

#[derive(Debug, Serialize)]
struct ShownItem<'c> {
    workspace: &'c str,
    project: &'c str,
    #[serde(flatten)]
    row: StoredItemRow<'c>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'c str>,
    /// Content that is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

pub(super) fn list(
    kind: ItemKind,
    options: &ItemListArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let target = ProjectTarget::open(&options.place, Access::ReadOrUpdate)?;
    let mut items = target.read()?.items;
    items.retain(|item| item.kind == kind);
    if options.json {
        let labels_of = |item: &Item| -> Labels {
            let labels = item.labels.iter();
            let labels = labels.map(|it| (it.label.clone(), it.version.number));
            labels.collect()
        };
        let labels: Vec<Labels> = items.iter().map(labels_of).collect();
        let rows = items
            .iter()
            .zip(&labels)
            .map(|(item, labels)| StoredItemRow {
                name: item.name.as_str(),
                version: row(&item.head, labels),
            });
        ui.json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    ui.table(&items.iter().map(cells).collect::<Vec<_>>())?;
    if items.is_empty() {
        let noun = kind.as_str();
        let own = match kind {
            ItemKind::Prompt => "-c TEXT",
            ItemKind::Resource => "--uri URI -c TEXT",
        };
        ui.say(format!(
            "no {noun}s in project `{}`\nhint: add one with `twig {noun} add NAME{} {own}`",
            target.project, target.flags
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(item: &Item) -> Vec<String> {
    let mut cells = vec![item.name.to_string()];
    cells.extend(own_cells(item.kind, &item.head));
    cells
}

/// The fields besides the content; a prompt has neither URI nor type.
fn own_cells(kind: ItemKind, version: &Version) -> Vec<String> {
    let (uri, mime) = (version.uri.as_deref(), version.mime.as_deref());
    let description = version.description.as_deref();
    let own = match kind {
        ItemKind::Prompt => vec![description],
        ItemKind::Resource => vec![uri, mime, description],
    };
    let own = own.into_iter().map(Option::unwrap_or_default);
    own.map(str::to_owned).collect()
}

pub(super) fn show(
    kind: ItemKind,
    options: &ItemShowArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (name, choice) = named(kind, &options.name)?;
    let target = ProjectTarget::open(&options.place, Access::ReadOrUpdate)?;
    let version = match options.version.map(VersionChoice::Number).or(choice) {
        None => find(&target, kind, &name)?.head,
        Some(choice) => one_version(&target, kind, &name, &choice)?,
    };
    let bytes = target.store.content(&version.content.digest)?;
    let is_text = version.content.is_text;
    if options.json {
        let labels = labels(&target, kind, &name)?;
        ui.json(&ShownItem {
            workspace: target.workspace(),
            project: target.project.as_str(),
            row: StoredItemRow {
                name: name.as_str(),
                version: row(&version, &labels),
            },
            text: std::str::from_utf8(&bytes).ok().filter(|_| is_text),
            base64: (!is_text).then(|| base64(&bytes)),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_screen = io::stdout().is_terminal();
    if !is_text && is_screen {
        let size = counted(bytes.len(), "byte", "bytes");
        let mime = version.mime.as_deref().unwrap_or_default();
        let message = format!("{} `{name}` is not text: {size} of {mime}", kind.as_str());
        let hint = "write it to a file with `> FILE`, or use --json";
        return Err(CommandError::fixable(message).hint(hint));
    }
    ui.bytes(&bytes)?;
    // Otherwise the shell would write its prompt after the last word.
    if is_screen && !bytes.is_empty() && !bytes.ends_with(b"\n") {
        ui.raw("\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn history(
    kind: ItemKind,
    options: &ItemHistoryArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (name, choice) = named(kind, &options.name)?;
    let target = ProjectTarget::open(&options.place, Access::ReadOrUpdate)?;
    let versions = match choice {
        Some(choice) => vec![one_version(&target, kind, &name, &choice)?],
        None => versions(&target, kind, &name)?,
    };
    let labels = labels(&target, kind, &name)?;
    if options.json {
        let rows = versions.iter().map(|version| row(version, &labels));
        ui.json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = versions.iter().map(|version| {
        let operation = match version.operation {
            Operation::Restore { from } => format!("restore of {from}"),
            other => other.as_str().to_owned(),
        };
        let size = usize::try_from(version.content.size).unwrap_or(usize::MAX);
        let mut cells = vec![
            version.number.to_string(),
            version.at.to_string(),
            operation,
            version.author.to_string(),
            counted(size, "byte", "bytes"),
        ];
        cells.extend(own_cells(kind, version));
        cells.push(names_of(version, &labels).collect::<Vec<_>>().join(", "));
        cells
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    Ok(ExitCode::SUCCESS)
}

/// The name of an item, and the version that `NAME@LABEL` or `NAME@NUMBER` chooses.
fn named(kind: ItemKind, text: &str) -> Result<(StoreName, Option<VersionChoice>), CommandError> {
    // No name in a project has an `@`.
    let (name, choice) = match split_label(text) {
        Some((name, choice)) => (name, Some(VersionChoice::parse(choice)?)),
        None => (text, None),
    };
    Ok((StoreName::parse(kind.noun(), name)?, choice))
}

/// The labels of an item, and the versions that they name.
type Labels = Vec<(LabelName, u64)>;

fn labels(
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
) -> Result<Labels, CommandError> {
    let labels = target.store.labels(&target.project, kind, name);
    labels.map_err(|error| target.explain(error))
}

/// The labels that name a version.
fn names_of<'l>(version: &Version, labels: &'l Labels) -> impl Iterator<Item = &'l str> {
    let number = version.number;
    let labels = labels.iter().filter(move |(_, named)| *named == number);
    labels.map(|(label, _)| label.as_str())
}

/// The version with that number or label.
pub(super) fn one_version(
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
    choice: &VersionChoice,
) -> Result<Version, CommandError> {
    let versions = target.store.versions(&VersionQuery {
        project: target.project.clone(),
        kind,
        name: name.clone(),
        before: None,
        most: 1,
        only: Some(choice.clone()),
    });
    let versions = versions.map_err(|error| target.explain(error))?;
    let first = versions.into_iter().next();
    first.ok_or_else(|| missing(target, kind, name))
}

/// Every version, oldest first; at least one.
pub(super) fn versions(
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
) -> Result<Vec<Version>, CommandError> {
    let versions = target.store.history(&target.project, kind, name);
    let versions = versions.map_err(|error| target.explain(error))?;
    if versions.is_empty() {
        // A missing project is a better error than a missing prompt.
        target.read()?;
        return Err(missing(target, kind, name));
    }
    Ok(versions)
}

fn row<'c>(version: &'c Version, labels: &'c Labels) -> VersionRow<'c> {
    VersionRow {
        version: version.number,
        operation: version.operation.as_str(),
        from: restored_from(version.operation),
        time: version.at.to_string(),
        author: &version.author,
        description: version.description.as_deref(),
        uri: version.uri.as_deref(),
        mime_type: version.mime.as_deref(),
        size: version.content.size,
        labels: names_of(version, labels).collect(),
    }
}

/// The version that a restore copied.
pub(super) fn restored_from(operation: Operation) -> Option<u64> {
    match operation {
        Operation::Restore { from } => Some(from),
        _ => None,
    }
}
