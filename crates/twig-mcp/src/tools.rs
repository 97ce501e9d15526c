//! Tools: none yet, and every question about them answered correctly.

use crate::dispatch::{Call, Outcome};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, Fields};

/// `tools/list`: there is nothing on it.
pub(crate) fn list(
    call: &Call<'_>,
    fields: &Fields<'_>,
    result: &mut Object<'_>,
) -> Result<Outcome, Refusal> {
    if fields.cursor.is_some() {
        params::text(fields.cursor, "cursor")?;
        return Err(Refusal::Cursor);
    }
    result.raw("tools", "[]");
    call.era.keep_list(result);
    Ok(Outcome::Complete)
}

/// `tools/call`.
pub(crate) fn call(fields: &Fields<'_>) -> Result<Outcome, Refusal> {
    let name = params::text(fields.name, "name")?.into_owned();
    Err(Refusal::Tool(name))
}
