//! `use_prompt` and `expand_prompt`: a prompt rendered with what the user wrote after its name, as
//! plain content or as JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use twig_core::marks::{takes_words, words};
use twig_core::render::{self, Audience, Block, ComputedRender, Message, RenderError, Rendering};
use twig_core::{Dialect, Limits, Lookup, Prompt, PromptRef, Role, suggest};

use super::given::ToolArguments;
use super::{ToolAnswer, input, plain_content, reply};
use crate::call::{Call, CallOutcome};
use crate::content_kinds::ContentKinds;
use crate::elicitation::{self, FormValues};
use crate::error::Refusal;
use crate::in_flight::{PendingJob, Work};
use crate::json::{self, Object};
use crate::prompts;
use crate::schema;

/// How the rendered prompt is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptForm {
    /// Its texts as one member of a JSON object, followed by other content.
    Json,
    /// As content that a model can follow as it is.
    Plain,
}

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
    form: PromptForm,
    answers: FormValues<'_>,
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
    let rendered = prompts::in_turn(call, found, || {
        answer(call, found, text, form, answers, result)
    });
    rendered.map_err(|refusal| refusal.to_string())?
}

/// Renders a prompt and writes it, or starts its job.
fn answer(
    call: &Call<'_>,
    found: PromptRef<'_>,
    text: &str,
    form: PromptForm,
    answers: FormValues<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let prompt = found.prompt;
    let (mut values, line, tail) = arguments(found, text);
    let may_ask = answers.may_ask;
    let written = values.len();
    answers.add_to(&mut values);
    // A line that a form completed is no longer what the person typed.
    let line = line.filter(|_| values.len() == written);
    let audience = Audience {
        is_remote: call.server.is_remote,
        line,
        ..Audience::default()
    };
    let kinds = call.content_kinds();
    let (work, rest) = match render::render_for(audience, call.world, found, &values) {
        Ok(Rendering::Done(messages)) => {
            check_room(&messages, &tail, &call.server.limits)?;
            write(messages, tail, (form, kinds), result);
            return Ok(CallOutcome::Complete);
        }
        Ok(Rendering::Computed(ComputedRender { job, rest })) => (Work::Render(job), Some(rest)),
        Ok(Rendering::Function(function)) => (Work::Function(function), None),
        Err(error) => {
            if let Some(asked) = error.missing_arguments() {
                let sentence = missing(prompt, &error);
                if !may_ask {
                    return Err(sentence);
                }
                let unanswered = move |result: &mut Object<'_>| {
                    reply::failed(&sentence, result);
                    Ok(())
                };
                let name = &prompt.full_name;
                return Ok(elicitation::ask(call, name, asked, unanswered, result));
            }
            let libraries = call.world.catalog.libraries();
            let error = call.server.report(&prompt.full_name, libraries, error);
            return Err(error.to_string());
        }
    };
    let (name, library) = (prompt.full_name.clone(), Arc::clone(found.library));
    let job = PendingJob::render(found, work, rest, move |finished, server, result| {
        match finished {
            Ok(finished) => write(finished.messages, tail, (form, kinds), result),
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
    let bare = command.strip_prefix(call.server.tools.trigger());
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

/// The values of a prompt's arguments, the line that they were split from, and the remaining text.
fn arguments<'v>(found: PromptRef<'v>, text: &'v str) -> (ExpandValues<'v>, Option<&'v str>, Tail) {
    let append = |rest: String| {
        if rest.is_empty() {
            Tail::None
        } else {
            Tail::Append(rest)
        }
    };
    let prompt = found.prompt;
    match prompt.dialect {
        Dialect::Input => (vec![("input".into(), text.into())], None, Tail::None),
        Dialect::Verbatim if found.library.stored().is_some() => {
            (Vec::new(), None, Tail::Slot(text.to_owned()))
        }
        _ if prompt.arguments.is_empty() => (Vec::new(), None, append(text.to_owned())),
        _ => {
            let names: Vec<&str> = prompt.arguments.iter().map(|it| &*it.name).collect();
            let input = input::read(text, &names);
            if let ([only], Dialect::Marks(_)) = (&*names, prompt.dialect)
                && !input.values.is_empty()
                && !input.rest.is_empty()
            {
                // One argument takes the whole line, in which `name=5` is only a part of a sentence.
                let line = text.trim();
                return (vec![((*only).into(), line.into())], Some(line), Tail::None);
            }
            let values = input.values.into_iter();
            let mut values: ExpandValues<'v> = values
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            // Without pairs, the text is the line that a person typed in the prompt's own client.
            let line = values.is_empty().then(|| text.trim());
            let is_given = |name: &str| values.iter().any(|(known, _)| known == name);
            let free: Vec<&str> = names.into_iter().filter(|name| !is_given(name)).collect();
            if free.is_empty() || input.rest.is_empty() {
                return (values, line, append(input.rest));
            }
            match prompt.dialect {
                Dialect::Marks(marks) if takes_words(marks, &prompt.arguments) => {
                    let words = words::split(&input.rest, free.len()).into_iter();
                    let words = words.map(|word| Cow::Owned(word.into_owned()));
                    values.extend(free.into_iter().map(Cow::Borrowed).zip(words));
                }
                _ => values.push((free[0].into(), input.rest.into())),
            }
            (values, line, Tail::None)
        }
    }
}

/// Names the missing arguments, and lists all arguments of the prompt.
fn missing(prompt: &Prompt, error: &RenderError) -> String {
    let mut sentence = format!(
        "{error}\nGive them in `input` as key=value or key=\"several words\". `{}` takes:",
        prompt.full_name
    );
    for argument in prompt.arguments.iter() {
        let is_required = schema::is_required(argument);
        let need = if is_required { "required" } else { "optional" };
        // Writing to a `String` cannot fail.
        let _ = write!(sentence, "\n- {} ({need}", argument.name);
        if !argument.choices.is_empty() {
            let _ = write!(sentence, ", one of: {}", argument.choices.join(", "));
        }
        if let Some(default) = &argument.default {
            let _ = write!(sentence, "; default: {default}");
        }
        sentence.push(')');
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

/// Writes a rendered prompt.
fn write(
    mut messages: Vec<Message>,
    tail: Tail,
    (form, kinds): (PromptForm, ContentKinds),
    result: &mut Object<'_>,
) {
    place(&mut messages, tail);
    match form {
        PromptForm::Json => write_json(messages, kinds, result),
        PromptForm::Plain => plain_content::write(messages, kinds, result),
    }
}

/// Writes its texts as one, followed by the other content.
fn write_json(mut messages: Vec<Message>, kinds: ContentKinds, result: &mut Object<'_>) {
    let prompt = join(&messages);
    messages.retain(|message| !matches!(message.block, Block::Text(_)));
    kinds.fit(&mut messages);
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

/// True if the texts say who speaks: only if the model is one of them.
pub(super) fn names_speakers(messages: &[Message]) -> bool {
    let is_model = |message: &Message| {
        matches!(message.block, Block::Text(_)) && message.role == Role::Assistant
    };
    messages.iter().any(is_model)
}

/// The line before a text that says who speaks.
pub(super) fn speaker(role: Role) -> &'static str {
    match role {
        Role::User => "User:\n",
        Role::Assistant => "Assistant:\n",
    }
}

/// The texts as one.
fn join(messages: &[Message]) -> String {
    let names_speakers = names_speakers(messages);
    let texts = messages.iter().filter_map(|message| match &message.block {
        Block::Text(text) => Some((message.role, text)),
        _ => None,
    });
    let mut prompt = String::new();
    for (at, (role, text)) in texts.enumerate() {
        if at > 0 {
            prompt.push_str("\n\n");
        }
        if names_speakers {
            prompt.push_str(speaker(role));
        }
        prompt.push_str(text);
    }
    prompt
}
