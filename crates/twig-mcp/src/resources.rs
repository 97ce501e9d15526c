//! Resources: none yet, and every question about them answered correctly.

use twig_core::Contents;

use crate::dispatch::{Call, Outcome};
use crate::error::Refusal;
use crate::json::Object;
use crate::params::{self, Fields};

/// A list that has nothing on it, under the name that its items would have.
pub(crate) fn empty_list(
    call: &Call<'_>,
    fields: &Fields<'_>,
    items: &'static str,
    result: &mut Object<'_>,
) -> Result<Outcome, Refusal> {
    if fields.cursor.is_some() {
        params::text(fields.cursor, "cursor")?;
        return Err(Refusal::Cursor);
    }
    result.raw(items, "[]");
    call.era.keep_list(result);
    Ok(Outcome::Complete)
}

/// `resources/read` and `resources/subscribe`: there is nothing by any name.
pub(crate) fn not_found(fields: &Fields<'_>) -> Result<Outcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?.into_owned();
    Err(Refusal::Resource { uri })
}

/// `resources/unsubscribe`: whatever was not subscribed to is not any more.
pub(crate) fn unsubscribe(fields: &Fields<'_>) -> Result<Outcome, Refusal> {
    params::text(fields.uri, "uri")?;
    Ok(Outcome::Complete)
}

/// Writes the members of a document's contents.
pub(crate) fn contents(uri: &str, mime: &str, contents: &Contents, item: &mut Object<'_>) {
    item.text("uri", uri);
    item.text("mimeType", mime);
    match contents {
        Contents::Text(text) => item.text("text", text),
        Contents::Bytes(bytes) => item.base64("blob", bytes),
    }
}
