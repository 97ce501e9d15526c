//! `twig prompt` and `twig resource`: the contents of a project, and every change to them.

mod diff;
mod edit;
mod label;
mod rename;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::store::{
    Author, Change, GivenContent, Item, ItemDraft, ItemKind, ItemWrite, Operation, Patch,
    StoreError, StoreName, Write, Written,
};
use twig_sources::Access;

use self::diff::ItemDiffArgs;
use self::edit::ItemEditArgs;
use self::label::ItemLabelArgs;
use self::rename::ItemRenameArgs;
use self::show::{ItemHistoryArgs, ItemListArgs, ItemShowArgs};
use super::content::{content, guess};
use super::question::{YesArgs, ask_to_delete};
use super::store::{ProjectArgs, ProjectTarget, parse_version};
use crate::command_error::CommandError;
use crate::config;
use crate::places::Places;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List the prompts of a project
    #[command(visible_alias = "ls")]
    List(ItemListArgs),
    /// Print the text of a prompt, and nothing else
    #[command(disable_version_flag = true)]
    Show(ItemShowArgs),
    /// Add a prompt to a project
    #[command(visible_alias = "create", alias = "new")]
    Add(ItemAddArgs),
    /// Change a prompt; the previous text is kept as a version
    Update(ItemUpdateArgs),
    /// Change the text of a prompt in your editor
    Edit(ItemEditArgs),
    /// Rename a prompt; it keeps its versions
    Rename(ItemRenameArgs),
    /// Delete a prompt; `restore` brings it back
    #[command(visible_alias = "rm", alias = "remove")]
    Delete(ItemDeleteArgs),
    /// List the versions of a prompt, including a deleted one
    History(ItemHistoryArgs),
    /// Show what the last change of a prompt changed, or how two versions differ
    Diff(ItemDiffArgs),
    /// List the labels of a prompt, or give a version one, such as `production`
    #[command(disable_version_flag = true)]
    Label(ItemLabelArgs),
    /// Restore an earlier version of a prompt, or a deleted prompt
    #[command(disable_version_flag = true)]
    Restore(ItemRestoreArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResourceCommand {
    /// List the resources of a project
    #[command(visible_alias = "ls")]
    List(ItemListArgs),
    /// Print the content of a resource, and nothing else
    #[command(disable_version_flag = true)]
    Show(ItemShowArgs),
    /// Add a resource to a project
    #[command(visible_alias = "create", alias = "new")]
    Add(ResourceAddArgs),
    /// Change a resource; the previous content is kept as a version
    Update(ResourceUpdateArgs),
    /// Change the text of a resource in your editor
    Edit(ItemEditArgs),
    /// Rename a resource; it keeps its versions and its URI
    Rename(ItemRenameArgs),
    /// Delete a resource; `restore` brings it back
    #[command(visible_alias = "rm", alias = "remove")]
    Delete(ItemDeleteArgs),
    /// List the versions of a resource, including a deleted one
    History(ItemHistoryArgs),
    /// Show what the last change of a resource changed, or how two versions differ
    Diff(ItemDiffArgs),
    /// List the labels of a resource, or give a version one, such as `production`
    #[command(disable_version_flag = true)]
    Label(ItemLabelArgs),
    /// Restore an earlier version of a resource, or a deleted resource
    #[command(disable_version_flag = true)]
    Restore(ItemRestoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ItemAddArgs {
    /// Its name: letters a to z, digits, `-`, `_` and `.`
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Its content; @FILE reads a file, - reads standard input, @@TEXT starts with an @
    #[arg(short, long, allow_hyphen_values = true)]
    content: String,

    /// What it is for
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResourceAddArgs {
    #[command(flatten)]
    item: ItemAddArgs,

    /// Its URI, such as `file:///docs/api.md`: only a key, nothing is read from it
    #[arg(long)]
    uri: String,

    /// Its MIME type; by default guessed from the names of file and URI, else text/plain
    #[arg(short, long, value_name = "TYPE")]
    mime_type: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ItemUpdateArgs {
    /// Its name
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Its content; @FILE reads a file, - reads standard input, @@TEXT starts with an @
    #[arg(short, long, allow_hyphen_values = true)]
    content: Option<String>,

    /// What it is for; an empty text removes the description
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// Change nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = parse_version)]
    expected_version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResourceUpdateArgs {
    #[command(flatten)]
    item: ItemUpdateArgs,

    /// Its new URI
    #[arg(long)]
    uri: Option<String>,

    /// Its new MIME type
    #[arg(short, long, value_name = "TYPE")]
    mime_type: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ItemDeleteArgs {
    /// Its name
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Delete nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = parse_version)]
    expected_version: Option<u64>,

    #[command(flatten)]
    yes: YesArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ItemRestoreArgs {
    /// Its name
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// The version to restore; without it, a deleted one is brought back
    #[arg(long, value_name = "N", value_parser = parse_version)]
    version: Option<u64>,

    /// Restore nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = parse_version)]
    expected_version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of a write, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ItemChange<'c> {
    workspace: &'c str,
    project: &'c str,
    name: &'c str,
    version: u64,
    operation: &'static str,
    /// The version that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
    /// Whether there is a new version.
    changed: bool,
    time: String,
}

/// The fields that only resources have.
#[derive(Debug, Default)]
struct OfResource {
    uri: Option<String>,
    mime: Option<String>,
}

pub(super) fn run_prompt(what: PromptCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let kind = ItemKind::Prompt;
    match what {
        PromptCommand::List(options) => show::list(kind, &options, ui),
        PromptCommand::Show(options) => show::show(kind, &options, ui),
        PromptCommand::Add(options) => add(kind, &options, OfResource::default(), ui),
        PromptCommand::Update(options) => update(kind, &options, OfResource::default(), ui),
        PromptCommand::Edit(options) => edit::run(kind, &options, ui),
        PromptCommand::Rename(options) => rename::run(kind, &options, ui),
        PromptCommand::Diff(options) => diff::run(kind, &options, ui),
        PromptCommand::Delete(options) => delete(kind, &options, ui),
        PromptCommand::History(options) => show::history(kind, &options, ui),
        PromptCommand::Label(options) => label::run(kind, &options, ui),
        PromptCommand::Restore(options) => restore(kind, &options, ui),
    }
}

pub(super) fn run_resource(what: ResourceCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let kind = ItemKind::Resource;
    match what {
        ResourceCommand::List(options) => show::list(kind, &options, ui),
        ResourceCommand::Show(options) => show::show(kind, &options, ui),
        ResourceCommand::Add(ResourceAddArgs {
            item,
            uri,
            mime_type: mime,
        }) => {
            let uri = Some(uri);
            add(kind, &item, OfResource { uri, mime }, ui)
        }
        ResourceCommand::Update(ResourceUpdateArgs {
            item,
            uri,
            mime_type: mime,
        }) => update(kind, &item, OfResource { uri, mime }, ui),
        ResourceCommand::Edit(options) => edit::run(kind, &options, ui),
        ResourceCommand::Rename(options) => rename::run(kind, &options, ui),
        ResourceCommand::Diff(options) => diff::run(kind, &options, ui),
        ResourceCommand::Delete(options) => delete(kind, &options, ui),
        ResourceCommand::History(options) => show::history(kind, &options, ui),
        ResourceCommand::Label(options) => label::run(kind, &options, ui),
        ResourceCommand::Restore(options) => restore(kind, &options, ui),
    }
}

fn add(
    kind: ItemKind,
    options: &ItemAddArgs,
    own: OfResource,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (target, name) = open(kind, &options.name, &options.place)?;
    let content = content(kind, &options.content, &target.limits)?;
    let is_empty = is_read_empty(&content);
    let uri = own.uri.as_deref();
    let guessed = || uri.map(|uri| guess(&options.content, uri, &content).to_owned());
    let mime = own.mime.or_else(guessed);
    let draft = ItemDraft {
        content,
        description: options.description.as_deref().map(Into::into),
        uri: uri.map(Into::into),
        mime: mime.map(Into::into),
    };
    let written = write(&target, kind, &name, Change::Create(draft), None)?;
    let (noun, project) = (kind.as_str(), &target.project);
    ui.say(format!("created {noun} `{name}` in project `{project}`"));
    warn_of_nothing(is_empty, ui);
    if kind == ItemKind::Prompt {
        let config = config::load(&Places::from_environment())?;
        ui.say(format!("hint: {}", target.how_to_serve(&name, &config)));
    }
    tell(&target, &name, &written, options.json, ui)
}

fn update(
    kind: ItemKind,
    options: &ItemUpdateArgs,
    own: OfResource,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (target, name) = open(kind, &options.name, &options.place)?;
    let given = options.content.as_deref();
    let given = given.map(|value| content(kind, value, &target.limits));
    let given = given.transpose()?;
    let is_empty = given.as_ref().is_some_and(is_read_empty);
    let patch = Patch {
        content: given,
        description: options.description.as_deref().map(Into::into),
        uri: own.uri.map(Into::into),
        mime: own.mime.map(Into::into),
    };
    let expected = options.expected_version;
    let written = write(&target, kind, &name, Change::Update(patch), expected)?;
    say_updated(&target, kind, &name, &written, ui);
    warn_of_nothing(is_empty, ui);
    tell(&target, &name, &written, options.json, ui)
}

/// Says what an update did.
fn say_updated(
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
    written: &Written,
    ui: &mut Ui,
) {
    let (noun, project, version) = (kind.as_str(), &target.project, written.version);
    ui.say(if written.is_new {
        format!("updated {noun} `{name}` in project `{project}`: it is version {version} now")
    } else {
        format!(
            "nothing to change: {noun} `{name}` in project `{project}` stays at version {version}"
        )
    });
}

fn delete(kind: ItemKind, options: &ItemDeleteArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let (target, name) = open(kind, &options.name, &options.place)?;
    let noun = kind.as_str();
    let mut expected = options.expected_version;
    if !options.yes.is_given(ui) {
        let head = find(&target, kind, &name)?.head;
        let losing = format!(
            "its {} can be brought back with `twig {noun} restore`",
            match head.number {
                1 => "one version".to_owned(),
                number => format!("{number} versions"),
            }
        );
        if !ask_to_delete(&format!("{noun} `{name}`"), &losing, ui)? {
            return Ok(ExitCode::FAILURE);
        }
        // Delete the version that the user confirmed, not one written meanwhile.
        expected = expected.or(Some(head.number));
    }
    let written = write(&target, kind, &name, Change::Delete, expected)?;
    let project = &target.project;
    ui.say(format!("deleted {noun} `{name}` from project `{project}`"));
    ui.say(format!(
        "hint: `twig {noun} restore {name}{}` brings it back",
        target.flags
    ));
    tell(&target, &name, &written, options.json, ui)
}

fn restore(
    kind: ItemKind,
    options: &ItemRestoreArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (target, name) = open(kind, &options.name, &options.place)?;
    let change = Change::Restore {
        version: options.version,
    };
    let written = write(&target, kind, &name, change, options.expected_version)?;
    let (noun, project, version) = (kind.as_str(), &target.project, written.version);
    let restored = written.operation.and_then(show::restored_from);
    // What is unchanged may have been made in another way; its version was given then.
    let from = options.version.or(restored).unwrap_or_default();
    ui.say(if written.is_new {
        format!("restored {noun} `{name}` in project `{project}` from version {from}: it is version {version} now")
    } else {
        format!("nothing to restore: {noun} `{name}` in project `{project}` is at version {version}, which is like version {from}")
    });
    tell(&target, &name, &written, options.json, ui)
}

/// Whether a file or standard input was read and was empty.
fn is_read_empty(content: &GivenContent) -> bool {
    matches!(content, GivenContent::Bytes(bytes) if bytes.is_empty())
}

/// Warns about empty input: the command that piped it may have failed. The store keeps the previous
/// version.
fn warn_of_nothing(is_empty: bool, ui: &mut Ui) {
    if is_empty {
        ui.say("warning: it is empty");
    }
}

/// The selected project, and the name of the item to write.
fn open(
    kind: ItemKind,
    name: &str,
    place: &ProjectArgs,
) -> Result<(ProjectTarget, StoreName), CommandError> {
    let name = StoreName::parse(kind.noun(), name)?;
    Ok((ProjectTarget::open(place, Access::Write)?, name))
}

fn write(
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
    change: Change,
    expected: Option<u64>,
) -> Result<Written, CommandError> {
    target.write(Write::Item(Box::new(ItemWrite {
        project: target.project.clone(),
        kind,
        name: name.clone(),
        change,
        expected,
        author: Author::Person,
    })))
}

/// The current version.
fn find(target: &ProjectTarget, kind: ItemKind, name: &StoreName) -> Result<Item, CommandError> {
    let items = target.read()?.items;
    let mut items = items.into_iter();
    let found = items.find(|item| item.kind == kind && item.name == *name);
    found.ok_or_else(|| missing(target, kind, name))
}

fn missing(target: &ProjectTarget, kind: ItemKind, name: &StoreName) -> CommandError {
    let error = StoreError::Missing {
        kind,
        name: name.clone(),
        project: target.project.clone(),
        near: Vec::new(),
    };
    target.explain(error)
}

fn tell(
    target: &ProjectTarget,
    name: &StoreName,
    written: &Written,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if json {
        let operation = written.operation;
        ui.json(&ItemChange {
            workspace: target.workspace(),
            project: target.project.as_str(),
            name: name.as_str(),
            version: written.version,
            operation: operation.map_or("", Operation::as_str),
            from: operation.and_then(show::restored_from),
            changed: written.is_new,
            time: written.at.to_string(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
