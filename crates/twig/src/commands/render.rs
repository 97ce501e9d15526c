//! `twig render`: renders a prompt with its arguments, as a client would get it.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use twig_core::Latest;
use twig_core::render::{self, ComputedRender};
use twig_core::{Block, Message, Prompt, PromptRef, Rendering, function};

use super::clipboard;
use super::opened_catalog::{FunctionArgs, OpenedCatalog, SourceArgs};
use super::values::{self, GivenPair, ValueArgs};
use crate::command_error::CommandError;
use crate::jobs::{JobSettings, Jobs};
use crate::message_text;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The prompt's name
    name: String,

    #[command(flatten)]
    values: ValueArgs,

    /// Copy the text to the clipboard instead of printing it
    #[arg(long, conflicts_with = "json")]
    copy: bool,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    functions: FunctionArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Rendered<'c> {
    name: &'c str,
    description: Option<&'c str>,
    messages: Vec<RenderedMessage>,
}

#[derive(Debug, Serialize)]
struct RenderedMessage {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Content that is not text, as clients get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
}

pub(super) fn run(options: &RenderArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = Latest::from(opened.live.snapshot());
    let found = opened.find(&catalog, &options.name)?;
    let mut given = values::given(found.prompt, &options.values, &opened.config.limits, ui)?;
    values::ask_for_missing(found.prompt, &mut given)?;
    let rendered = rendered(&opened, &catalog, found, &given, &options.functions)?;
    if options.json {
        let messages = rendered.messages.into_iter().map(json_message);
        ui.json(&Rendered {
            name: &found.prompt.full_name,
            description: rendered.description.as_deref(),
            messages: messages.collect(),
        })?;
    } else {
        print(found.prompt, &rendered.messages, options.copy, ui)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A prompt as a client would get it.
pub(super) struct RenderedPrompt {
    description: Option<Box<str>>,
    pub(super) messages: Vec<Message>,
}

/// Renders a prompt, and waits for what computes it.
pub(super) fn rendered(
    opened: &OpenedCatalog,
    catalog: &Latest<'_>,
    found: PromptRef<'_>,
    given: &[GivenPair],
    functions: &FunctionArgs,
) -> Result<RenderedPrompt, CommandError> {
    let world = opened.world(catalog);
    let jobs = Jobs::new(JobSettings {
        allowed: opened.allowed(functions),
        ..JobSettings::default()
    });
    let explain = |error| values::explain(error, found.prompt);
    let mut description = found.prompt.description.clone();
    let messages = match render::render(world, found, given).map_err(explain)? {
        Rendering::Done(messages) => messages,
        Rendering::Computed(ComputedRender { job, rest }) => {
            let outcome = jobs.render(job);
            rest.finish(outcome).map_err(explain)?
        }
        Rendering::Function(call) => {
            let finished = function::finish(&found.prompt.full_name, jobs.call(call))?;
            description = finished.description.or(description);
            finished.messages
        }
    };
    Ok(RenderedPrompt {
        description,
        messages,
    })
}

/// Prints the text of messages, or copies it.
pub(super) fn print(
    prompt: &Prompt,
    messages: &[Message],
    is_copied: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let (text, links) = message_text::printed(messages);
    if is_copied {
        clipboard::copy(&text, ui)?;
    } else {
        ui.text(&text)?;
        if !text.ends_with('\n') {
            ui.raw("\n")?;
        }
    }
    if !links.is_empty() {
        ui.say(format!(
            "hint: `{}` also links to {}",
            prompt.full_name,
            links.join(", ")
        ));
    }
    Ok(())
}

fn json_message(message: Message) -> RenderedMessage {
    let role = message.role.as_str();
    let (text, content) = match message.block {
        Block::Text(text) => (Some(text), None),
        block => (None, Some(twig_mcp::content(&block))),
    };
    RenderedMessage {
        role,
        text,
        content,
    }
}
