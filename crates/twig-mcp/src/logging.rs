//! `logging/setLevel`: every level is accepted, since nothing is ever logged to a client.
//!
//! Logging was deprecated with 2026-07-28 and is not declared here. There is no reason to refuse an
//! older client that sets a level anyway: a server that sends no log messages complies with any
//! level.

use crate::call::CallOutcome;
use crate::error::Refusal;
use crate::params::{self, ParamFields};

/// The levels, from the most to the least verbose.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// `logging/setLevel`.
pub(crate) fn set_level(fields: &ParamFields<'_>) -> Result<CallOutcome, Refusal> {
    let level = params::text(fields.level, "level")?;
    if LEVELS.contains(&&*level) {
        return Ok(CallOutcome::Complete);
    }
    let levels = LEVELS.join("`, `");
    Err(Refusal::Params(format!(
        "`level` must be one of `{levels}`"
    )))
}
