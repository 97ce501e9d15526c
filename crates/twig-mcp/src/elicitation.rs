//! Asks for missing arguments with a form.
//!
//! A modern client gets the form as the result of its request, and repeats the request with the
//! answer. A legacy client gets a request with the form; its answer lets the first request go on.

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::{Argument, Limits};

use crate::arguments::{ArgumentPair, RequestArguments};
use crate::call::{Call, CallOutcome, LegacyForm, Question};
use crate::era::Era;
use crate::error::Refusal;
use crate::id;
use crate::in_flight::PendingJob;
use crate::json::{self, Object};
use crate::params::{self, ObjectMembers};
use crate::schema;

/// The key of the only form that is sent.
const KEY: &str = "arguments";

/// The method of a client that shows a form.
pub(crate) const METHOD: &str = "elicitation/create";

/// The values of the form that was sent for a request.
#[derive(Debug, Default)]
pub(crate) struct FormValues<'a> {
    values: Vec<ArgumentPair<'a>>,
    /// True if a form may be sent for what is still missing.
    pub(crate) may_ask: bool,
}

impl<'a> FormValues<'a> {
    /// Adds the values to those of a request. The form asked only for missing ones: given values
    /// stay as they are.
    pub(crate) fn add_to(self, given: &mut Vec<ArgumentPair<'a>>) {
        for (name, value) in self.values {
            if given.iter().all(|(known, _)| *known != name) {
                given.push((name, value));
            }
        }
    }
}

/// The client's response to the form.
#[derive(Debug)]
enum Response<'a> {
    /// The client was not asked yet.
    None,
    /// These values.
    Accepted(Vec<ArgumentPair<'a>>),
    /// The person declined.
    Refused,
}

/// A result of [`METHOD`].
#[derive(Default, Deserialize)]
struct Form<'a> {
    #[serde(borrow, default)]
    action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<RequestArguments<'a>>,
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

/// The values of a request's form. A modern request has them in `inputResponses`.
pub(crate) fn values<'a>(
    call: &Call<'a>,
    input_responses: Option<&'a RawValue>,
) -> Result<FormValues<'a>, Refusal> {
    let limits = &call.server.limits;
    let (response, may_ask) = match (call.era, call.form) {
        (Era::Modern, _) => {
            let response = read(input_responses, limits)?;
            (response, is_offered(call.meta.capabilities()))
        }
        (Era::Legacy, LegacyForm::Unavailable) => (Response::None, false),
        (Era::Legacy, LegacyForm::Available) => (Response::None, true),
        // It is asked once: a client that answers without the values gets the error.
        (Era::Legacy, LegacyForm::Answered(None)) => (Response::Refused, false),
        (Era::Legacy, LegacyForm::Answered(result)) => {
            let form = params::read::<Form<'a>>(result).unwrap_or_default();
            let response = form.response(limits)?;
            (response.unwrap_or(Response::Refused), false)
        }
    };
    Ok(match response {
        Response::None => FormValues {
            values: Vec::new(),
            may_ask,
        },
        Response::Accepted(values) => FormValues { values, may_ask },
        Response::Refused => FormValues {
            values: Vec::new(),
            may_ask: false,
        },
    })
}

/// Reads `inputResponses`.
fn read<'a>(responses: Option<&'a RawValue>, limits: &Limits) -> Result<Response<'a>, Refusal> {
    #[derive(Default, Deserialize)]
    struct Responses<'a> {
        #[serde(borrow, default)]
        arguments: Option<ObjectMembers<Form<'a>>>,
    }
    let Some(ObjectMembers(form)) = params::read::<Responses<'a>>(responses)?.arguments else {
        return Ok(Response::None);
    };
    form.response(limits)?.ok_or_else(|| {
        Refusal::Params(
            "The `action` of a response must be `accept`, `decline` or `cancel`".to_owned(),
        )
    })
}

impl<'a> Form<'a> {
    /// What the person did; `None` if it is none of what a person can do.
    fn response(self, limits: &Limits) -> Result<Option<Response<'a>>, Refusal> {
        let action = self.action.and_then(|action| id::decode(action.get()));
        Ok(match action.as_deref() {
            Some("accept") => {
                let content = self.content.unwrap_or_default();
                Some(Response::Accepted(content.into_pairs(limits)?))
            }
            Some("decline" | "cancel") => Some(Response::Refused),
            _ => None,
        })
    }
}

/// Asks for every missing argument with one form. `unanswered` writes the result of a legacy request
/// whose client does not answer.
pub(crate) fn ask(
    call: &Call<'_>,
    prompt: &str,
    missing: &[Argument],
    unanswered: impl FnOnce(&mut Object<'_>) -> Result<(), Refusal> + Send + 'static,
    result: &mut Object<'_>,
) -> CallOutcome {
    match call.era {
        Era::Modern => {
            result.object("inputRequests", |requests| {
                requests.object(KEY, |request| {
                    request.text("method", METHOD);
                    request.object("params", |params| {
                        params.text("mode", "form");
                        write_form(prompt, missing, params);
                    });
                });
            });
            CallOutcome::InputRequired
        }
        Era::Legacy => {
            let mut params = Vec::new();
            // `mode` came with 2025-11-25; without it, a form is meant.
            json::object(&mut params, |params| write_form(prompt, missing, params));
            let job = PendingJob::question(unanswered);
            CallOutcome::Question(Box::new(Question { params, job }))
        }
    }
}

fn write_form(prompt: &str, missing: &[Argument], params: &mut Object<'_>) {
    let what = if missing.len() == 1 {
        "a value"
    } else {
        "values"
    };
    params.text("message", &format!("`{prompt}` needs {what} to continue"));
    params.object("requestedSchema", |form| schema::form(missing, form));
}
