//! `twig prompt` and `twig resource`: what a project holds, and every change to it.

mod show;

use std::process::ExitCode;

use serde::Serialize;
use twig_core::store::{
    Author, Change, Draft, Given, Item, ItemKind, ItemWrite, Operation, Patch, StoreError,
    StoreName, Write, Written,
};
use twig_sources::Access;

use super::content::{content, guess};
use super::question::ask_to_delete;
use super::store::Target;
use crate::cli::{self, InProject};
use crate::command_error::CommandError;
use crate::ui::Ui;

/// What a write did, as scripts see it; this shape is a promise.
#[derive(Debug, Serialize)]
struct Done<'c> {
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

/// What only resources have.
#[derive(Debug, Default)]
struct OfResource {
    uri: Option<String>,
    mime: Option<String>,
}

/// A prompt or resource that a command line names.
struct Named<'c> {
    kind: ItemKind,
    name: &'c str,
    place: &'c InProject,
}

pub(super) fn run_prompt(what: cli::Prompt, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let kind = ItemKind::Prompt;
    match what {
        cli::Prompt::List(options) => show::list(kind, &options, ui),
        cli::Prompt::Show(options) => show::show(kind, &options, ui),
        cli::Prompt::Add(options) => add(kind, &options, OfResource::default(), ui),
        cli::Prompt::Update(options) => update(kind, &options, OfResource::default(), ui),
        cli::Prompt::Delete(options) => delete(kind, &options, ui),
        cli::Prompt::History(options) => show::history(kind, &options, ui),
        cli::Prompt::Restore(options) => restore(kind, &options, ui),
    }
}

pub(super) fn run_resource(what: cli::Resource, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let kind = ItemKind::Resource;
    match what {
        cli::Resource::List(options) => show::list(kind, &options, ui),
        cli::Resource::Show(options) => show::show(kind, &options, ui),
        cli::Resource::Add(cli::AddResource {
            item,
            uri,
            mime_type: mime,
        }) => {
            let uri = Some(uri);
            add(kind, &item, OfResource { uri, mime }, ui)
        }
        cli::Resource::Update(cli::UpdateResource {
            item,
            uri,
            mime_type: mime,
        }) => update(kind, &item, OfResource { uri, mime }, ui),
        cli::Resource::Delete(options) => delete(kind, &options, ui),
        cli::Resource::History(options) => show::history(kind, &options, ui),
        cli::Resource::Restore(options) => restore(kind, &options, ui),
    }
}

fn add(
    kind: ItemKind,
    options: &cli::AddItem,
    own: OfResource,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let named = Named {
        kind,
        name: &options.name,
        place: &options.place,
    };
    let (target, name) = named.open()?;
    let content = content(kind, &options.content, &target.limits)?;
    let is_empty = is_read_empty(&content);
    let uri = own.uri.as_deref();
    let guessed = || uri.map(|uri| guess(&options.content, uri, &content).to_owned());
    let mime = own.mime.or_else(guessed);
    let draft = Draft {
        content,
        description: options.description.as_deref().map(Into::into),
        uri: uri.map(Into::into),
        mime: mime.map(Into::into),
    };
    let written = write(&target, kind, &name, Change::Create(draft), None)?;
    let (noun, project) = (kind.as_str(), &target.project);
    ui.say(format!("Created {noun} '{name}' in project '{project}'"));
    warn_of_nothing(is_empty, ui);
    tell(&target, &name, &written, options.json, ui)
}

fn update(
    kind: ItemKind,
    options: &cli::UpdateItem,
    own: OfResource,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let named = Named {
        kind,
        name: &options.name,
        place: &options.place,
    };
    let (target, name) = named.open()?;
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
    let (noun, project, version) = (kind.as_str(), &target.project, written.version);
    ui.say(if written.is_new {
        format!("Updated {noun} '{name}' in project '{project}': it is version {version} now")
    } else {
        format!(
            "Nothing to change: {noun} '{name}' in project '{project}' stays at version {version}"
        )
    });
    warn_of_nothing(is_empty, ui);
    tell(&target, &name, &written, options.json, ui)
}

fn delete(
    kind: ItemKind,
    options: &cli::DeleteItem,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let named = Named {
        kind,
        name: &options.name,
        place: &options.place,
    };
    let (target, name) = named.open()?;
    let noun = kind.as_str();
    let mut expected = options.expected_version;
    if !options.force.force {
        let head = find(&target, kind, &name)?.head;
        let losing = format!(
            "its {} can be brought back with `twig {noun} restore`",
            match head.number {
                1 => "one version".to_owned(),
                number => format!("{number} versions"),
            }
        );
        if !ask_to_delete(&format!("{noun} '{name}'"), &losing, ui)? {
            return Ok(ExitCode::FAILURE);
        }
        // What was asked about, and nothing that was written meanwhile.
        expected = expected.or(Some(head.number));
    }
    let written = write(&target, kind, &name, Change::Delete, expected)?;
    let project = &target.project;
    ui.say(format!("Deleted {noun} '{name}' from project '{project}'"));
    ui.say(format!(
        "hint: `twig {noun} restore {name}{} --version {}` brings it back",
        target.flags,
        written.version.saturating_sub(1)
    ));
    tell(&target, &name, &written, options.json, ui)
}

fn restore(
    kind: ItemKind,
    options: &cli::RestoreItem,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let named = Named {
        kind,
        name: &options.name,
        place: &options.place,
    };
    let (target, name) = named.open()?;
    let from = options.version;
    let written = write(
        &target,
        kind,
        &name,
        Change::Restore { version: from },
        None,
    )?;
    let (noun, project, version) = (kind.as_str(), &target.project, written.version);
    ui.say(if written.is_new {
        format!("Restored {noun} '{name}' in project '{project}' from version {from}: it is version {version} now")
    } else {
        format!("Nothing to restore: {noun} '{name}' in project '{project}' is at version {version}, which is like version {from}")
    });
    tell(&target, &name, &written, options.json, ui)
}

/// Whether a file or standard input was read and had nothing in it.
fn is_read_empty(content: &Given) -> bool {
    matches!(content, Given::Bytes(bytes) if bytes.is_empty())
}

/// A command that fed us may have failed; the store keeps what was there before.
fn warn_of_nothing(is_empty: bool, ui: &mut Ui) {
    if is_empty {
        ui.say("warning: it is empty");
    }
}

impl Named<'_> {
    fn open(&self) -> Result<(Target, StoreName), CommandError> {
        let name = StoreName::parse(self.kind.noun(), self.name)?;
        Ok((Target::open(self.place, Access::Write)?, name))
    }
}

fn write(
    target: &Target,
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

/// What is there now.
fn find(target: &Target, kind: ItemKind, name: &StoreName) -> Result<Item, CommandError> {
    let items = target.read()?.items;
    let mut items = items.into_iter();
    let found = items.find(|item| item.kind == kind && item.name == *name);
    found.ok_or_else(|| missing(target, kind, name))
}

fn missing(target: &Target, kind: ItemKind, name: &StoreName) -> CommandError {
    let error = StoreError::Missing {
        kind,
        name: name.clone(),
        project: target.project.clone(),
        near: Vec::new(),
    };
    target.explain(error)
}

fn tell(
    target: &Target,
    name: &StoreName,
    written: &Written,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if json {
        let operation = written.operation;
        ui.json(&Done {
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
