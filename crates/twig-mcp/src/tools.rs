//! Tools: none yet, so that any name is an unknown one.

use crate::dispatch::Outcome;
use crate::error::Refusal;
use crate::params::{self, Fields};

/// `tools/call`.
pub(crate) fn call(fields: &Fields<'_>) -> Result<Outcome, Refusal> {
    let name = params::text(fields.name, "name")?.into_owned();
    Err(Refusal::Tool(name))
}
