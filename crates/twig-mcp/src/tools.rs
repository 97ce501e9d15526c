//! Tools: `tools/list` and `tools/call`, for clients without prompts and agents that write.
//!
//! A mistake of the caller becomes the result of a failed tool, so that a model can read it; only
//! an unknown tool is a protocol error.

mod commands;
mod content_part;
mod expand;
mod given;
mod input;
mod label;
mod list_page;
mod plain_content;
mod read_resource;
mod reply;
mod resource_list;
mod search;
mod table;
mod tool;
mod versions;
mod write;

use twig_core::store::{ItemKind, StoreError};
use twig_core::suggest;

use self::given::ToolArguments;
use self::table::TOOLS;
use self::tool::{Does, Tool, Verb};
use crate::call::{Call, CallOutcome};
use crate::elicitation;
use crate::error::Refusal;
use crate::json::{self, Object};
use crate::params::{self, ParamFields};

/// The answer of a tool; otherwise a sentence that says what went wrong, and nothing was written.
type ToolAnswer = Result<CallOutcome, String>;

/// `tools/list`: all tools, always in the same order.
pub(crate) fn list(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    if fields.cursor.is_some() {
        params::text(fields.cursor, "cursor")?;
        return Err(Refusal::Cursor);
    }
    let trigger = call.server.tools.trigger();
    let has_many = call.world.catalog.has_many_prompts();
    result.list("tools", offered(call), |buffer, tool| {
        json::object(buffer, |item| tool.write(trigger, has_many, item));
    });
    call.era.keep_list(call.world.catalog, result);
    Ok(CallOutcome::Complete)
}

/// `tools/call`.
pub(crate) fn call(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let name = params::text(fields.name, "name")?;
    let found = TOOLS.iter().find(|tool| tool.name == name);
    // The store checks whether the project still exists: a write needs no catalog.
    let has_project = call.server.tools.project.is_some();
    let found = found.filter(|tool| tool.is_offered(call.server.tools.writes, has_project));
    let tool = found.ok_or_else(|| unknown(call, &name))?;
    call.note(|note| note.tool = Some(tool.name.into()));
    let form_values = match tool.does {
        Does::ExpandPrompt(_) => Some(elicitation::values(call, fields.input_responses)?),
        _ => None,
    };
    let answer = given::read(fields.arguments, tool).and_then(|given| match tool.does {
        Does::ListPrompts => commands::call(call, &given, result),
        Does::ExpandPrompt(form) => {
            expand::call(call, &given, form, form_values.unwrap_or_default(), result)
        }
        Does::Search => search::call(call, &given),
        Does::Write(kind, verb) => write::call(call, kind, verb, &given),
        Does::ReadResource => read_resource::call(call, &given, result),
        Does::ListResources => resource_list::call(call, &given, result),
        Does::GetPrompt => versions::get_prompt(call, &given),
        Does::History => versions::history(call, &given),
        Does::Label => label::call(call, &given),
        Does::Restore => write::call(call, kind(&given), Verb::Restore, &given),
    });
    Ok(answer.unwrap_or_else(|sentence| {
        reply::failed(&sentence, result);
        CallOutcome::Complete
    }))
}

/// The tools that are currently available.
fn offered(call: &Call<'_>) -> impl Iterator<Item = &'static Tool> + use<> {
    let has_project = call.server.tools.project.is_some() && call.world.catalog.project().is_some();
    let writes = call.server.tools.writes;
    let is_offered = move |tool: &&Tool| tool.is_offered(writes, has_project);
    TOOLS.iter().filter(is_offered)
}

/// What a tool for prompts and resources is called for.
fn kind(given: &ToolArguments<'_>) -> ItemKind {
    match given.maybe_text("kind") {
        Some("resource") => ItemKind::Resource,
        _ => ItemKind::Prompt,
    }
}

/// The sentence for an error of the store, with similar names.
fn sentence(error: &StoreError) -> String {
    if let StoreError::Missing { name, near, .. } = error
        && let near = near.iter().map(|near| &**near)
        && let Some(hint) = suggest::did_you_mean(name.as_str(), near)
    {
        return format!("{error}; {hint}");
    }
    error.to_string()
}

/// Refuses an unknown tool, and says how to enable it.
fn unknown(call: &Call<'_>, name: &str) -> Refusal {
    let known = TOOLS.iter().find(|tool| tool.name == name);
    let hint = known.map(|tool| match (tool.writes(), call.server.tools.writes) {
        (true, false) => " (it writes, and here you may only read)",
        (true, true) => {
            " (it writes to a project, and none is selected: start the server with --project)"
        }
        (false, _) => {
            " (it reads a project, and none is selected: start the server with --project)"
        }
    });
    Refusal::Tool {
        suggestions: suggest::near(name, offered(call).map(|tool| tool.name)),
        hint,
        name: name.to_owned(),
    }
}
