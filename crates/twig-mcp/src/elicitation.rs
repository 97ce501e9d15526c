//! Asks for missing arguments: the client gets a form and repeats the request with the answer.

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::{Argument, Limits};

use crate::arguments::{ArgumentPair, RequestArguments};
use crate::error::Refusal;
use crate::id;
use crate::json::Object;
use crate::params::{self, ObjectMembers};
use crate::schema;

/// The key of the only form that is sent.
const KEY: &str = "arguments";

/// The client's response to the form.
#[derive(Debug)]
pub(crate) enum Response<'a> {
    /// The client was not asked yet.
    None,
    /// These values.
    Accepted(Vec<ArgumentPair<'a>>),
    /// The person declined.
    Refused,
}

/// True if a client can show a form. An empty `elicitation` means forms, as does one that says so.
pub(crate) fn is_offered(capabilities: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Capabilities<'a> {
        #[serde(borrow, default)]
        elicitation: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Elicitation<'a> {
        #[serde(borrow, default)]
        form: Option<&'a RawValue>,
        #[serde(borrow, default)]
        url: Option<&'a RawValue>,
    }
    capabilities
        .and_then(|json| serde_json::from_str::<Capabilities<'_>>(json).ok())
        .and_then(|all| all.elicitation)
        .and_then(|json| serde_json::from_str::<ObjectMembers<Elicitation<'_>>>(json.get()).ok())
        .is_some_and(|ObjectMembers(modes)| modes.form.is_some() || modes.url.is_none())
}

/// Reads `inputResponses`.
pub(crate) fn read<'a>(
    responses: Option<&'a RawValue>,
    limits: &Limits,
) -> Result<Response<'a>, Refusal> {
    #[derive(Default, Deserialize)]
    struct Responses<'a> {
        #[serde(borrow, default)]
        arguments: Option<ObjectMembers<Form<'a>>>,
    }
    #[derive(Deserialize)]
    struct Form<'a> {
        #[serde(borrow, default)]
        action: Option<&'a RawValue>,
        #[serde(borrow, default)]
        content: Option<RequestArguments<'a>>,
    }
    let Some(ObjectMembers(form)) = params::read::<Responses<'a>>(responses)?.arguments else {
        return Ok(Response::None);
    };
    let action = form.action.and_then(|action| id::decode(action.get()));
    match action.as_deref() {
        Some("accept") => {
            let content = form.content.unwrap_or_default();
            content.into_pairs(limits).map(Response::Accepted)
        }
        Some("decline" | "cancel") => Ok(Response::Refused),
        _ => Err(Refusal::Params(
            "The `action` of a response must be `accept`, `decline` or `cancel`".to_owned(),
        )),
    }
}

/// Writes the request for a form that asks for every missing argument.
pub(crate) fn ask(prompt: &str, missing: &[Argument], result: &mut Object<'_>) {
    result.object("inputRequests", |requests| {
        requests.object(KEY, |request| {
            request.text("method", "elicitation/create");
            request.object("params", |params| {
                params.text("mode", "form");
                let what = if missing.len() == 1 {
                    "a value"
                } else {
                    "values"
                };
                params.text("message", &format!("`{prompt}` needs {what} to continue"));
                params.object("requestedSchema", |form| schema::form(missing, form));
            });
        });
    });
}
