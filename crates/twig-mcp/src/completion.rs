//! `completion/complete`: the choices of an argument, the names of the documents that it can be, or
//! segments of document URIs, that start with what was typed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::uri::decode;
use twig_core::{Catalog, Limits, TemplateRef, suggest};

use crate::call::{Call, CallOutcome};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, ParamFields};
use crate::prompts;

#[derive(Default, Deserialize)]
struct CompletionReference<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct CompletionArgument<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// The other arguments, as far as the client knows them.
#[derive(Default, Deserialize)]
struct CompletionContext<'a> {
    #[serde(borrow, default)]
    arguments: Option<HashMap<Cow<'a, str>, Cow<'a, str>>>,
}

/// Completes a value.
pub(crate) fn complete(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let reference: CompletionReference<'_> = params::read(fields.reference)?;
    let argument: CompletionArgument<'_> = params::read(fields.argument)?;
    let name = params::text(argument.name, "argument.name")?;
    let typed = params::text(argument.value, "argument.value")?;
    let kind = params::text(reference.kind, "ref.type")?;
    let values: Vec<Cow<'_, str>> = match &*kind {
        "ref/prompt" => {
            let prompt = params::text(reference.name, "ref.name")?;
            let found = prompts::find(call, &prompt)?;
            let arguments = &found.prompt.arguments;
            let argument = arguments.iter().find(|argument| *argument.name == *name);
            match argument {
                Some(argument) if !argument.choices.is_empty() => argument
                    .choices
                    .iter()
                    .map(|choice| Cow::Borrowed(&**choice))
                    .collect(),
                _ => call.world.catalog.names_for(found.prompt, &name),
            }
        }
        "ref/resource" => {
            let uri = params::text(reference.uri, "ref.uri")?;
            let context: CompletionContext<'_> = params::read(fields.context)?;
            let given = context.arguments.unwrap_or_default();
            parts(call, &uri, &name, &given)?
        }
        _ => {
            let what = "`ref.type` must be `ref/prompt` or `ref/resource`";
            return Err(Refusal::Params(what.to_owned()));
        }
    };
    write(&values, &typed, &call.server.limits, result);
    Ok(CallOutcome::Complete)
}

/// The values of a variable in the URIs of documents that match a template and the known values of
/// the other variables: sorted, each once.
fn parts<'c>(
    call: &Call<'c>,
    uri: &str,
    name: &str,
    given: &HashMap<Cow<'_, str>, Cow<'_, str>>,
) -> Result<Vec<Cow<'c, str>>, Refusal> {
    let catalog: &'c Catalog = call.world.catalog;
    let Some(TemplateRef { template, .. }) = catalog.template(uri) else {
        // A URI without variables has nothing to complete.
        if catalog.document(uri).is_some() {
            return Ok(Vec::new());
        }
        let known = catalog.templates().map(|found| found.template.as_str());
        return Err(Refusal::Template {
            suggestions: suggest::near(uri, known),
            uri: uri.to_owned(),
        });
    };
    let uris = catalog.documents(0).map(|found| &*found.document.uri);
    let mut parts = BTreeSet::new();
    for values in uris.filter_map(|uri| template.values(uri)) {
        let mut wanted = None;
        // A client encodes values when it fills in a template: compare them decoded.
        let agrees = template.variables().zip(values).all(|(variable, value)| {
            let value = decode(value);
            if variable != name {
                return given.get(variable).is_none_or(|known| *known == value);
            }
            wanted = Some(value);
            true
        });
        parts.extend(wanted.filter(|_| agrees));
    }
    Ok(parts.into_iter().collect())
}

fn write(choices: &[Cow<'_, str>], typed: &str, limits: &Limits, result: &mut Object<'_>) {
    let typed = typed.to_lowercase();
    let values: Vec<&str> = choices
        .iter()
        .map(|choice| &**choice)
        .filter(|choice| choice.to_lowercase().starts_with(&typed))
        .collect();
    let shown = values.len().min(limits.completions);
    result.object("completion", |completion| {
        completion.texts("values", &values[..shown]);
        completion.number("total", values.len() as i128);
        completion.flag("hasMore", shown < values.len());
    });
}
