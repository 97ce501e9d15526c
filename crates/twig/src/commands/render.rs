//! `twig render`: renders a prompt with its arguments, as a client would get it.

use std::borrow::Cow;
use std::fs;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use twig_core::Latest;
use twig_core::render::{self, ComputedRender};
use twig_core::{Block, Message, Prompt, RenderError, Rendering, function};

use super::content::{Spelled, spelled};
use super::find;
use super::opened_catalog::{FunctionArgs, OpenedCatalog, SourceArgs};
use crate::command_error::{CommandError, ErrorKind, reason};
use crate::jobs::{JobSettings, Jobs};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The prompt's name
    name: String,

    /// Values for its arguments; KEY=@FILE reads a file, KEY=@@TEXT starts with an @
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,

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

type GivenPair = (Cow<'static, str>, Cow<'static, str>);

pub(super) fn run(options: &RenderArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.sources)?;
    let catalog = Latest::from(opened.live.snapshot());
    let found = find(&catalog, &options.name)?;
    let given: Vec<GivenPair> = options
        .arguments
        .iter()
        .map(|text| pair(text))
        .collect::<Result<_, _>>()?;
    for (at, (name, _)) in given.iter().enumerate() {
        if given[..at].iter().any(|(other, _)| other == name) {
            return Err(CommandError::new(
                ErrorKind::Usage,
                format!("`{name}` is given twice"),
            ));
        }
    }
    // If unknown arguments are refused, the refusal says it all.
    let dropped = if render::refuses_unknown(found) {
        Vec::new()
    } else {
        render::unknown(&found.prompt.arguments, &given)
    };
    for name in dropped {
        let names = found
            .prompt
            .arguments
            .iter()
            .map(|argument| &*argument.name);
        let near = twig_core::suggest::did_you_mean(name, names);
        let near = near.map(|near| format!("; {near}")).unwrap_or_default();
        ui.say(format!(
            "warning: prompt `{}` has no argument `{name}`{near}",
            options.name
        ));
    }
    let world = opened.world(&catalog);
    let jobs = Jobs::new(JobSettings {
        allowed: opened.allowed(&options.functions),
        ..JobSettings::default()
    });
    let explain = |error| explain(error, found.prompt);
    let mut description = found.prompt.description.clone();
    let messages = match render::render(world, found, &given).map_err(explain)? {
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
    print(options, found.prompt, description.as_deref(), messages, ui)?;
    Ok(ExitCode::SUCCESS)
}

fn print(
    options: &RenderArgs,
    prompt: &Prompt,
    description: Option<&str>,
    messages: Vec<Message>,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if options.json {
        let messages = messages.into_iter().map(|message| {
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
        });
        return ui.json(&Rendered {
            name: &prompt.full_name,
            description,
            messages: messages.collect(),
        });
    }
    let several = messages.len() > 1;
    for message in &messages {
        if several {
            ui.line(format!("[{}]", message.role.as_str()))?;
        }
        match &message.block {
            Block::Text(text) => {
                ui.raw(text)?;
                if !text.ends_with('\n') {
                    ui.raw("\n")?;
                }
            }
            Block::Resource {
                uri,
                mime,
                contents,
            } => {
                ui.line(format!("[{uri}: {mime}, {} bytes]", contents.len()))?;
            }
            Block::Link { uri, .. } => ui.line(format!("[link to {uri}]"))?,
            Block::Media(media) => {
                ui.line(format!("[{}, {} bytes]", media.mime, media.bytes.len()))?;
            }
        }
    }
    Ok(())
}

/// `KEY=VALUE`, `KEY=@FILE` or `KEY=@@TEXT`.
fn pair(text: &str) -> Result<GivenPair, CommandError> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        let message = format!("`{text}` is not KEY=VALUE");
        let error = CommandError::new(ErrorKind::Usage, message);
        return Err(error.hint("put quotes round a value with spaces: KEY=\"several words\""));
    };
    let value = match spelled(value) {
        Spelled::Text(text) => text.to_owned(),
        Spelled::File(path) => fs::read_to_string(path).map_err(|error| {
            let why = reason(&error);
            CommandError::fixable(format!(
                "the file `{path}` for `{key}` cannot be read: {why}"
            ))
            .hint(format!("write {key}=@@… for a value that starts with an @"))
        })?,
    };
    Ok((Cow::Owned(key.to_owned()), Cow::Owned(value)))
}

fn explain(error: RenderError, prompt: &Prompt) -> CommandError {
    let hint = match error.missing_arguments() {
        Some(missing) => {
            let pairs: Vec<String> = missing
                .iter()
                .map(|argument| format!("{}=…", argument.name))
                .collect();
            Some(format!(
                "twig render {} {}",
                prompt.full_name,
                pairs.join(" ")
            ))
        }
        None => None,
    };
    hint.into_iter().fold(error.into(), CommandError::hint)
}
