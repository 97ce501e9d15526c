//! How a conversation starts: `initialize` in the legacy era, `server/discover` in the modern one.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::call::{Call, CallOutcome, InitializedClient};
use crate::client;
use crate::content_kinds::ContentKinds;
use crate::elicitation;
use crate::era::{FIRST_VERSION, MODERN, NEWEST_LEGACY, SUPPORTED_VERSIONS};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, ParamFields};
use crate::roots;
use crate::server::Tools;

/// The capabilities, with what they say of resources.
macro_rules! capabilities {
    ($resources:literal) => {
        concat!(
            r#"{"prompts":{"listChanged":true},"resources":{"#,
            $resources,
            r#""listChanged":true},"tools":{"listChanged":true},"completions":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}}"#
        )
    };
}

/// What the server can do. Everything is declared, even lists that are empty, so that later changes
/// can be announced.
const CAPABILITIES: &str = capabilities!(r#""subscribe":true,"#);

/// The same for a session that several servers share: a subscription is known to one of them alone.
const SHARED_CAPABILITIES: &str = capabilities!("");

/// `initialize`: agrees on a legacy version.
pub(crate) fn initialize(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let requested = params::text(fields.protocol_version, "protocolVersion")?;
    params::check_object(fields.capabilities, "capabilities")?;
    params::check_object(fields.client_info, "clientInfo")?;
    let version = SUPPORTED_VERSIONS
        .into_iter()
        .find(|version| *version == requested && *version != MODERN)
        .unwrap_or(NEWEST_LEGACY);
    result.text("protocolVersion", version);
    let is_shared = call.server.shares_sessions;
    result.raw(
        "capabilities",
        if is_shared {
            SHARED_CAPABILITIES
        } else {
            CAPABILITIES
        },
    );
    result.raw("serverInfo", &call.server.info);
    result.text("instructions", &instructions(&call.server.tools));
    Ok(CallOutcome::Initialized(InitializedClient {
        name: client::name(fields.client_info),
        kinds: ContentKinds::of(version),
        // The answer to a question could reach another server.
        shows_forms: !is_shared && elicitation::is_offered(fields.capabilities.map(RawValue::get)),
        // SDKs of the first version declare roots for every client, and hang if it does not answer.
        has_roots: version > FIRST_VERSION && roots::is_declared(fields.capabilities),
    }))
}

/// `server/discover`: the same answer for every client.
pub(crate) fn discover(call: &Call<'_>, result: &mut Object<'_>) -> CallOutcome {
    result.texts("supportedVersions", SUPPORTED_VERSIONS);
    result.raw("capabilities", CAPABILITIES);
    result.text("instructions", &instructions(&call.server.tools));
    call.era.keep_discovery(result);
    CallOutcome::Complete
}

/// What a model should know before it uses the server: how a person calls a prompt, and which tools
/// find and use one. Some clients show a model nothing else before it looks for tools.
fn instructions(tools: &Tools) -> String {
    let trigger = tools.trigger();
    let mut text = format!(
        "Twig serves the user's own prompts, skills and documents. If a message contains a word such as `{trigger}name`, perhaps followed by more words, call use_prompt with that name as the command and those words as the input, then follow the text that it returns. To find a prompt or skill that fits a task, call search with the user's own words; list_prompts lists all of them."
    );
    if let Some(project) = &tools.project {
        let what = if tools.writes {
            "create_prompt, update_prompt and delete_prompt write to"
        } else {
            "get_prompt and history read"
        };
        // Writing to a `String` cannot fail.
        let _ = write!(text, " {what} the project `{project}`.");
    }
    text
}
