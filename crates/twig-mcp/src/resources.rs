//! Documents, which the protocol calls resources: `resources/read`, and subscriptions to them.

use twig_core::{BodyError, DocumentRef};

use crate::call::{Call, CallOutcome};
use crate::error::Refusal;
use crate::json::{self, Object};
use crate::long_documents::EncodedDocument;
use crate::outbox::SharedPart;
use crate::params::{self, ParamFields};
use crate::prompts;
use crate::schema;

/// `resources/read`: the contents of a document, under the requested URI.
pub(crate) fn read(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    let found = find(call, &uri)?;
    let read = call
        .server
        .long_documents
        .read(call.world, call.server.limits.document, &found);
    let read = read.map_err(|error| match error {
        // It was removed, and the next catalog will not have it.
        BodyError::NotFound => not_found(call, &uri),
        error => Refusal::Document {
            uri: uri.to_string(),
            error,
        },
    })?;
    let mime = &found.document.mime;
    let mut part = None;
    result.list("contents", [read], |buffer, read| {
        json::object(buffer, |item| match read {
            EncodedDocument::Short(read) => schema::contents(&uri, mime, &read, item),
            EncodedDocument::Long(bytes) => {
                schema::about_contents(&uri, mime, item);
                let at = item.place();
                part = Some(SharedPart { at, bytes });
            }
        });
    });
    call.era.keep_list(call.world.catalog, result);
    let version = schema::stored_document(found);
    Ok(match part {
        Some(part) => CallOutcome::Shared { part, version },
        None => CallOutcome::From(version.into()),
    })
}

/// `resources/subscribe`: only for a document that exists.
pub(crate) fn subscribe(call: &Call<'_>, fields: &ParamFields<'_>) -> Result<CallOutcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    find(call, &uri)?;
    Ok(CallOutcome::Subscribe(uri.into()))
}

/// `resources/unsubscribe`: also succeeds without a subscription.
pub(crate) fn unsubscribe(fields: &ParamFields<'_>) -> Result<CallOutcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    Ok(CallOutcome::Unsubscribe(uri.into()))
}

/// Finds a document; the refusal suggests others.
pub(crate) fn find<'a>(call: &Call<'a>, uri: &str) -> Result<DocumentRef<'a>, Refusal> {
    let found = call.world.catalog.document(uri);
    call.note(|note| {
        note.asked(uri, false);
        note.version = found.and_then(schema::stored_document);
    });
    found.ok_or_else(|| not_found(call, uri))
}

/// The refusal of a document that is not there.
pub(crate) fn not_found(call: &Call<'_>, uri: &str) -> Refusal {
    Refusal::Resource {
        suggestions: call.world.catalog.near_documents(uri),
        project: prompts::project(call.world.catalog),
        uri: uri.to_owned(),
    }
}
