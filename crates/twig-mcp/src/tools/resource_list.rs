//! `list_resources`: the resources that are served, for clients that have tools only.

use std::sync::Arc;

use twig_core::Catalog;

use super::given::ToolArguments;
use super::{ToolAnswer, reply};
use crate::call::{Call, CallOutcome};
use crate::cursor::{Cursor, List, snapshot_in};
use crate::error::Refusal;
use crate::json::{self, Object};
use crate::schema;

/// Resources on one page.
const PAGE: usize = 100;

/// Bytes of one page, which models read; always at least one resource.
const PAGE_BYTES: usize = 64 * 1024;

/// No folder has this name, so that a cursor of this list is none of a folder's.
const KEY: &str = "list_resources";

/// Answers with one page.
pub(super) fn call(
    call: &Call<'_>,
    given: &ToolArguments<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let now: &Arc<Catalog> = call.world.catalog;
    let (catalog, offset) = match given.maybe_text("cursor") {
        None => (Arc::clone(now), 0),
        Some(cursor) => {
            let wrong = || Refusal::Cursor.to_string();
            let cursor = Cursor::parse(cursor).ok_or_else(wrong)?;
            let is_meant = |of: &Catalog| snapshot_in(of.fingerprint(), KEY) == cursor.snapshot;
            let catalog = call.server.pages().catalog(now, is_meant);
            let catalog = catalog.ok_or_else(wrong)?;
            let offset = cursor.offset as usize;
            if offset == 0 || offset >= catalog.document_count() {
                return Err(wrong());
            }
            (catalog, offset)
        }
    };
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut written = 0;
    for found in catalog.documents(offset).take(PAGE) {
        let document = found.document;
        let mut item = Vec::new();
        json::object(&mut item, |item| {
            item.text("uri", &document.uri);
            item.text("name", &document.name);
            item.maybe("title", document.title.as_deref());
            item.maybe("description", document.description.as_deref());
            item.text("mimeType", &document.mime);
            item.number("size", document.size);
            if let Some(version) = schema::stored_document(found) {
                item.number("version", version);
            }
        });
        written += item.len();
        if written > PAGE_BYTES && !items.is_empty() {
            break;
        }
        items.push(item);
    }
    let next = offset + items.len();
    let next = (next < catalog.document_count()).then_some(next);
    let next = next.and_then(|next| u32::try_from(next).ok());
    reply::structured(
        |content| {
            content.list("resources", items, |buffer, item| {
                buffer.extend_from_slice(&item);
            });
            if let Some(offset) = next {
                let cursor = Cursor {
                    snapshot: snapshot_in(catalog.fingerprint(), KEY),
                    list: List::Documents,
                    offset,
                };
                content.text("nextCursor", &cursor.to_string());
            }
        },
        result,
    );
    if next.is_some() {
        call.server.pages().keep(&catalog);
    }
    Ok(CallOutcome::Complete)
}
