//! `prompts/get`, and the JSON of messages.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use tracing::Level;
use twig_core::problem::shorten;
use twig_core::render::{self, Audience, Block, ComputedRender, Message};
use twig_core::store::{Noun, StoreName};
use twig_core::{Catalog, Lookup, PromptRef, Rendering, World};

use crate::call::{Call, CallOutcome};
use crate::command_clients::{self, CommandGuard};
use crate::elicitation;
use crate::error::{Refusal, RenderPlace};
use crate::in_flight::{PendingJob, Work};
use crate::json::{self, Object};
use crate::params::{self, GetParams};
use crate::schema::{self, ResultOrigin};

/// One prompt, rendered.
pub(crate) fn get(
    call: &Call<'_>,
    params: GetParams<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let limits = &call.server.limits;
    let name = params::text(params.name, "name")?;
    let found = find(call, &name)?;
    let mut given = match params.arguments {
        Some(arguments) => arguments.into_pairs(limits)?,
        None => Vec::new(),
    };
    let form = elicitation::values(call, params.input_responses)?;
    let may_ask = form.may_ask;
    form.add_to(&mut given);
    if tracing::enabled!(Level::DEBUG) {
        let dropped: Vec<String> = render::unknown(&found.prompt.arguments, &given)
            .into_iter()
            .map(|name| shorten(name, 64))
            .collect();
        if !dropped.is_empty() {
            tracing::debug!(prompt = %found.prompt.full_name, ?dropped, "arguments the prompt does not have");
        }
    }
    in_turn(call, found, || answer(call, found, given, may_ask, result))?
}

/// Renders a prompt and writes it, asks for its missing arguments, or starts its job.
fn answer(
    call: &Call<'_>,
    found: PromptRef<'_>,
    mut given: Vec<(Cow<'_, str>, Cow<'_, str>)>,
    may_ask: bool,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let guard = command_clients::guard(call, found.prompt, &mut given);
    let audience = Audience {
        checked: CommandGuard::checked(guard.as_ref()),
        is_remote: call.server.is_remote,
        line: None,
        // A guard has to see the text itself.
        escapes: guard.is_none(),
    };
    let kinds = call.content_kinds();
    let (work, rest) = match render::render_for(audience, call.world, found, &given) {
        Ok(Rendering::Done(mut rendered)) => {
            kinds.fit(&mut rendered);
            if let Some(guard) = guard {
                guard.messages(&mut rendered);
            }
            messages(found.prompt.description.as_deref(), &rendered, result);
            return Ok(CallOutcome::From(ResultOrigin::of_prompt(found)));
        }
        Ok(Rendering::Computed(ComputedRender { job, rest })) => (Work::Render(job), Some(rest)),
        Ok(Rendering::Function(function)) => (Work::Function(function), None),
        Err(error) => {
            let missing = error.missing_arguments().filter(|_| may_ask);
            let missing = missing.map(<[_]>::to_vec);
            let error = command_clients::error(guard.as_ref(), error);
            let libraries = call.world.catalog.libraries();
            let name = &found.prompt.full_name;
            let error = call.server.report(name, libraries, error);
            let refusal = RenderPlace::new(found).refusal(error);
            return match missing {
                Some(missing) => {
                    let unanswered = |_: &mut Object<'_>| Err(refusal);
                    Ok(elicitation::ask(call, name, &missing, unanswered, result))
                }
                None => Err(refusal),
            };
        }
    };
    let (name, library) = (found.prompt.full_name.clone(), Arc::clone(found.library));
    let description = found.prompt.description.clone();
    let place = RenderPlace::new(found);
    let job = PendingJob::render(found, work, rest, move |finished, server, result| {
        let mut finished = finished.map_err(|error| {
            let error = command_clients::error(guard.as_ref(), error);
            place.refusal(server.report(&name, [&library], error))
        })?;
        kinds.fit(&mut finished.messages);
        if let Some(guard) = guard {
            guard.messages(&mut finished.messages);
        }
        let description = finished.description.or(description);
        messages(description.as_deref(), &finished.messages, result);
        Ok(())
    });
    let job = job.with_origin(found);
    Ok(CallOutcome::Job(Box::new(job)))
}

/// Runs the render of a prompt. Images and audio take much memory, so prompts that have them take
/// turns where there are many clients.
pub(crate) fn in_turn<T: Send>(
    call: &Call<'_>,
    found: PromptRef<'_>,
    render: impl FnOnce() -> T + Send,
) -> Result<T, Refusal> {
    if !found.prompt.has_media() {
        return Ok(render());
    }
    let (mut render, mut done) = (Some(render), None);
    let bodies = call.world.bodies;
    bodies.with_media(found.prompt.name.as_str(), &mut || {
        done = render.take().map(|render| render());
    });
    done.ok_or(Refusal::TooManyWait)
}

/// Makes room for messages that have images or audio.
pub(crate) fn reserve(messages: &[Message], result: &mut Object<'_>) {
    /// For the names and marks around a message.
    const AROUND: usize = 256;
    let (mut media, mut other) = (0, 0);
    for message in messages {
        match &message.block {
            Block::Media(it) => media += it.bytes.len().div_ceil(3) * 4,
            Block::Text(text) => other += text.len() + text.len() / 8,
            Block::Escaped(text) => other += text.len(),
            Block::Resource { contents, .. } => other += contents.len() + contents.len() / 3,
            Block::Link { .. } => {}
        }
        other += AROUND;
    }
    if media > 0 {
        result.reserve(media + other + AROUND);
    }
}

/// Writes the members of the result of `prompts/get`.
pub(crate) fn messages(description: Option<&str>, messages: &[Message], result: &mut Object<'_>) {
    reserve(messages, result);
    result.maybe("description", description);
    result.list("messages", messages, |buffer, message| {
        json::object(buffer, |entry| {
            entry.text("role", message.role.as_str());
            entry.object("content", |content| block(&message.block, content));
        });
    });
}

/// The content of a message, as clients get it.
pub fn content(carried: &Block) -> Box<RawValue> {
    let mut buffer = Vec::new();
    json::object(&mut buffer, |content| block(carried, content));
    let json = String::from_utf8(buffer).ok();
    json.and_then(|json| RawValue::from_string(json).ok())
        .unwrap_or_default()
}

/// Writes the members of a content block.
pub(crate) fn block(block: &Block, content: &mut Object<'_>) {
    match block {
        Block::Media(media) => {
            content.text("type", media.kind.as_str());
            content.base64("data", &media.bytes);
            content.text("mimeType", &media.mime);
        }
        Block::Resource {
            uri,
            mime,
            contents,
        } => {
            content.text("type", "resource");
            content.object("resource", |resource| {
                schema::contents(uri, mime, contents, resource);
            });
        }
        Block::Link {
            uri,
            name,
            title,
            description,
            mime,
        } => {
            content.text("type", "resource_link");
            content.text("uri", uri);
            content.text("name", name);
            content.maybe("title", title.as_deref());
            content.maybe("description", description.as_deref());
            content.maybe("mimeType", mime.as_deref());
        }
        Block::Text(text) => {
            content.text("type", "text");
            content.text("text", text);
        }
        Block::Escaped(text) => {
            content.text("type", "text");
            content.escaped("text", text);
        }
    }
}

/// Finds a prompt; the refusal suggests others.
pub(crate) fn find<'a>(call: &Call<'a>, name: &str) -> Result<PromptRef<'a>, Refusal> {
    let World {
        catalog, bodies, ..
    } = call.world;
    call.note(|note| note.asked(name, true));
    let mut catalog: &'a Arc<Catalog> = catalog;
    let mut lookup = catalog.find(name);
    if let Lookup::Found(found) = &lookup
        && !bodies.is_current(found.library, found.prompt)
    {
        bodies.renew(found.library);
        catalog = call.world.catalog.renew();
        lookup = catalog.find(name);
    }
    match lookup {
        Lookup::Found(found) => {
            call.note(|note| {
                note.name = Some(found.prompt.full_name.clone());
                note.version = schema::stored_prompt(found);
            });
            Ok(found)
        }
        Lookup::Ambiguous(names) => Err(Refusal::Ambiguous {
            name: name.to_owned(),
            names: names.into_iter().map(str::to_owned).collect(),
        }),
        Lookup::NoLabel(missing) => {
            let labels = missing.labels.iter();
            Err(Refusal::Label {
                sentence: missing.to_string(),
                suggestions: labels.map(|it| format!("{}@{it}", missing.name)).collect(),
            })
        }
        Lookup::Missing => Err(Refusal::Prompt {
            suggestions: catalog.suggestions(name),
            project: project(catalog).filter(|_| StoreName::parse(Noun::Prompt, name).is_ok()),
            name: name.to_owned(),
        }),
    }
}

/// The name of the project that is served, if there is one.
pub(crate) fn project(catalog: &Catalog) -> Option<Box<str>> {
    catalog.project().and_then(|it| it.about.title.clone())
}
