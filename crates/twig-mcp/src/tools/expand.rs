//! `expand_prompt`: a prompt rendered with what the user wrote after its name.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use twig_core::render::{self, Audience, Block, ComputedRender, Message, RenderError, Rendering};
use twig_core::{Dialect, Limits, Lookup, Prompt, PromptRef, Role, suggest};

use super::given::ToolArguments;
use super::{ToolAnswer, input, reply, trigger};
use crate::call::{Call, CallOutcome};
use crate::error::Refusal;
use crate::in_flight::{PendingJob, Work};
use crate::json::{self, Object};
use crate::prompts;
use crate::schema;

/// The name of the tool.
pub(super) const NAME: &str = "expand_prompt";

/// The placeholder for the user's text in a stored prompt.
const SLOT: &str = "{{input}}";

/// What happens to the text that is no value of an argument.
#[derive(Debug, PartialEq, Eq)]
enum Tail {
    /// There is none.
    None,
    /// It follows after an empty line.
    Append(String),
    /// It replaces every `{{input}}` of the text; if there is none, it is appended.
    Slot(String),
}

/// Renders a prompt.
pub(super) fn call(
    call: &Call<'_>,
    given: &ToolArguments<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let found = find(call, given.text("command"))?;
    let limits = &call.server.limits;
    let text = given.text("input");
    if text.len() > limits.argument_value {
        let error = RenderError::ValueTooLarge {
            what: "Argument `input`".to_owned(),
            limit: limits.argument_value,
        };
        return Err(error.to_string());
    }
    let rendered = prompts::in_turn(call, found, || answer(call, found, text, result));
    rendered.map_err(|refusal| refusal.to_string())?
}

/// Renders a prompt and writes it, or starts its job.
fn answer(
    call: &Call<'_>,
    found: PromptRef<'_>,
    text: &str,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let prompt = found.prompt;
    let (values, tail) = arguments(found, text);
    let audience = Audience {
        is_remote: call.server.is_remote,
        ..Audience::default()
    };
    let (work, rest) = match render::render_for(audience, call.world, found, &values) {
        Ok(Rendering::Done(messages)) => {
            check_room(&messages, &tail, &call.server.limits)?;
            write(messages, tail, result);
            return Ok(CallOutcome::Complete);
        }
        Ok(Rendering::Computed(ComputedRender { job, rest })) => (Work::Render(job), Some(rest)),
        Ok(Rendering::Function(function)) => (Work::Function(function), None),
        Err(error) if error.missing_arguments().is_some() => return Err(missing(prompt, &error)),
        Err(error) => {
            let libraries = call.world.catalog.libraries();
            let error = call.server.report(&prompt.full_name, libraries, error);
            return Err(error.to_string());
        }
    };
    let (name, library) = (prompt.full_name.clone(), Arc::clone(found.library));
    let job = PendingJob::render(found, work, rest, move |finished, server, result| {
        match finished {
            Ok(finished) => write(finished.messages, tail, result),
            Err(error) => {
                let error = server.report(&name, [&library], error);
                reply::failed(&error.to_string(), result);
            }
        }
        Ok(())
    });
    Ok(CallOutcome::Job(Box::new(job)))
}

/// Finds the prompt of a command, with or without the trigger.
fn find<'a>(call: &Call<'a>, command: &str) -> Result<PromptRef<'a>, String> {
    let command = command.trim();
    let catalog = call.world.catalog;
    let bare = command.strip_prefix(trigger(call));
    let name = match bare {
        Some(bare) if matches!(catalog.find(command), Lookup::Missing) => bare.trim_start(),
        _ => command,
    };
    if name.is_empty() {
        return Err("`command` is empty: give the name of a prompt".to_owned());
    }
    prompts::find(call, name).map_err(|refusal| {
        let near = match &refusal {
            Refusal::Prompt { suggestions, .. } => suggestions.as_slice(),
            _ => &[],
        };
        match suggest::did_you_mean_any(near) {
            Some(hint) => format!("{refusal}; {hint}"),
            None => refusal.to_string(),
        }
    })
}

type ExpandValues<'v> = Vec<(Cow<'v, str>, Cow<'v, str>)>;

/// The values of a prompt's arguments, and the remaining text.
fn arguments<'v>(found: PromptRef<'v>, text: &'v str) -> (ExpandValues<'v>, Tail) {
    let append = |rest: String| {
        if rest.is_empty() {
            Tail::None
        } else {
            Tail::Append(rest)
        }
    };
    let prompt = found.prompt;
    match prompt.dialect {
        Dialect::Input => (vec![("input".into(), text.into())], Tail::None),
        Dialect::Verbatim if found.library.stored().is_some() => {
            (Vec::new(), Tail::Slot(text.to_owned()))
        }
        _ if prompt.arguments.is_empty() => (Vec::new(), append(text.to_owned())),
        _ => {
            let names: Vec<&str> = prompt.arguments.iter().map(|it| &*it.name).collect();
            let input = input::read(text, &names);
            let values = input.values.into_iter();
            let mut values: ExpandValues<'v> = values
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            let is_free = |name: &&&str| values.iter().all(|(known, _)| known != **name);
            match names.iter().find(is_free) {
                Some(name) if !input.rest.is_empty() => {
                    values.push(((*name).into(), input.rest.into()));
                    (values, Tail::None)
                }
                _ => (values, append(input.rest)),
            }
        }
    }
}

/// Names the missing arguments, and lists all arguments of the prompt.
fn missing(prompt: &Prompt, error: &RenderError) -> String {
    let mut sentence = format!(
        "{error}\nGive them in `input` as key=value or key=\"several words\". `{}` takes:",
        prompt.full_name
    );
    for argument in &prompt.arguments {
        let is_required = schema::is_required(argument);
        let need = if is_required { "required" } else { "optional" };
        // Writing to a `String` cannot fail.
        let _ = write!(sentence, "\n- {} ({need})", argument.name);
        if let Some(description) = &argument.description {
            let _ = write!(sentence, ": {description}");
        }
    }
    sentence
}

/// Refuses a text that many slots would make too long: a whole prompt and one input always fit.
fn check_room(messages: &[Message], tail: &Tail, limits: &Limits) -> Result<(), String> {
    let Tail::Slot(input) = tail else {
        return Ok(());
    };
    let limit = limits.verbatim.saturating_add(limits.argument_value);
    let length = messages.iter().map(|message| match &message.block {
        Block::Text(text) => {
            let slots = text.matches(SLOT).count();
            let values = slots.saturating_mul(input.len());
            text.len()
                .saturating_sub(slots * SLOT.len())
                .saturating_add(values)
        }
        _ => 0,
    });
    if length.fold(0, usize::saturating_add) > limit {
        return Err(format!(
            "The rendered prompt exceeds the limit of {limit} bytes"
        ));
    }
    Ok(())
}

/// Writes a rendered prompt: its texts as one, followed by the other content.
fn write(mut messages: Vec<Message>, tail: Tail, result: &mut Object<'_>) {
    place(&mut messages, tail);
    let prompt = join(&messages);
    messages.retain(|message| !matches!(message.block, Block::Text(_)));
    prompts::reserve(&messages, result);
    reply::structured_with(
        |content| content.text("prompt", &prompt),
        &messages,
        |buffer, message| {
            json::object(buffer, |content| prompts::block(&message.block, content));
        },
        result,
    );
}

/// Inserts the remaining input into the messages.
fn place(messages: &mut Vec<Message>, tail: Tail) {
    let input = match tail {
        Tail::None => return,
        Tail::Append(input) => input,
        Tail::Slot(input) => {
            let mut has_slot = false;
            for message in &mut *messages {
                if let Block::Text(text) = &mut message.block
                    && text.contains(SLOT)
                {
                    has_slot = true;
                    *text = text.replace(SLOT, &input);
                }
            }
            if has_slot || input.is_empty() {
                return;
            }
            input
        }
    };
    let mut texts = messages.iter_mut().rev();
    let last = texts.find_map(|message| match &mut message.block {
        Block::Text(text) => Some((message.role, text)),
        _ => None,
    });
    if let Some((Role::User, text)) = last {
        text.push_str("\n\n");
        text.push_str(&input);
        return;
    }
    messages.push(Message {
        role: Role::User,
        block: Block::Text(input),
    });
}

/// The texts as one; a role is named only if it is the model.
fn join(messages: &[Message]) -> String {
    let texts = || {
        messages.iter().filter_map(|message| match &message.block {
            Block::Text(text) => Some((message.role, text)),
            _ => None,
        })
    };
    let names_speakers = texts().any(|(role, _)| role == Role::Assistant);
    let mut prompt = String::new();
    for (at, (role, text)) in texts().enumerate() {
        if at > 0 {
            prompt.push_str("\n\n");
        }
        if names_speakers {
            prompt.push_str(match role {
                Role::User => "User:\n",
                Role::Assistant => "Assistant:\n",
            });
        }
        prompt.push_str(text);
    }
    prompt
}
