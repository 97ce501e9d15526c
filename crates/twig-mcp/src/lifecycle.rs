//! How a conversation starts: `initialize` in the legacy era, `server/discover` in the modern one.

use crate::call::{Call, CallOutcome};
use crate::client;
use crate::era::{MODERN, NEWEST_LEGACY, SUPPORTED_VERSIONS};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, ParamFields};

/// What the server can do. Everything is declared, even lists that are empty, so that later changes
/// can be announced.
const CAPABILITIES: &str = r#"{"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"completions":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}}"#;

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
    result.raw("capabilities", CAPABILITIES);
    result.raw("serverInfo", &call.server.info);
    result.maybe("instructions", call.server.instructions.as_deref());
    Ok(CallOutcome::Initialized {
        client: client::name(fields.client_info),
    })
}

/// `server/discover`: the same answer for every client.
pub(crate) fn discover(call: &Call<'_>, result: &mut Object<'_>) -> CallOutcome {
    result.texts("supportedVersions", SUPPORTED_VERSIONS);
    result.raw("capabilities", CAPABILITIES);
    result.maybe("instructions", call.server.instructions.as_deref());
    call.era.keep_discovery(result);
    CallOutcome::Complete
}
