//! `completion/complete`: the choices of an argument, or the names of the documents that it stands
//! for, that start with what was typed.

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::Limits;

use crate::dispatch::{Call, Outcome};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, Fields};
use crate::prompts;

#[derive(Default, Deserialize)]
struct Reference<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Argument<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// Completes a value.
pub(crate) fn complete(
    call: &Call<'_>,
    fields: &Fields<'_>,
    result: &mut Object<'_>,
) -> Result<Outcome, Refusal> {
    let reference: Reference<'_> = params::read(fields.reference)?;
    let argument: Argument<'_> = params::read(fields.argument)?;
    let name = params::text(argument.name, "argument.name")?;
    let typed = params::text(argument.value, "argument.value")?;
    let kind = params::text(reference.kind, "ref.type")?;
    let choices: Vec<&str> = match &*kind {
        "ref/prompt" => {
            let prompt = params::text(reference.name, "ref.name")?;
            let found = prompts::find(call, &prompt)?;
            let arguments = &found.prompt.arguments;
            let argument = arguments.iter().find(|argument| *argument.name == *name);
            match argument {
                Some(argument) if !argument.choices.is_empty() => {
                    argument.choices.iter().map(|choice| &**choice).collect()
                }
                _ => call.host.catalog.names_for(found.prompt, &name),
            }
        }
        "ref/resource" => {
            params::text(reference.uri, "ref.uri")?;
            Vec::new()
        }
        _ => {
            let what = "`ref.type` must be `ref/prompt` or `ref/resource`";
            return Err(Refusal::Params(what.to_owned()));
        }
    };
    write(&choices, &typed, &call.server.limits, result);
    Ok(Outcome::Complete)
}

fn write(choices: &[&str], typed: &str, limits: &Limits, result: &mut Object<'_>) {
    let typed = typed.to_lowercase();
    let values: Vec<&str> = choices
        .iter()
        .copied()
        .filter(|choice| choice.to_lowercase().starts_with(&typed))
        .collect();
    let shown = values.len().min(limits.completions);
    result.object("completion", |completion| {
        completion.texts("values", &values[..shown]);
        completion.number("total", values.len() as i128);
        let has_more = if shown < values.len() {
            "true"
        } else {
            "false"
        };
        completion.raw("hasMore", has_more);
    });
}
