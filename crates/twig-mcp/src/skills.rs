//! The extension for skills, `io.modelcontextprotocol/skills`: `skills/get` and
//! `resources/directory/read`. `lists` has the list of skills; their files are documents like any
//! other.

use std::sync::Arc;

use twig_core::Catalog;

use crate::call::{Call, CallOutcome};
use crate::cursor::{Cursor, List, snapshot_in};
use crate::error::Refusal;
use crate::json::{self, Object};
use crate::pages::page_bytes;
use crate::params::{self, ParamFields};
use crate::schema;

/// `skills/get`: the entry of one skill, by the URI of its `SKILL.md`.
pub(crate) fn get(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    let catalog = call.world.catalog;
    let found = catalog.skill(&uri).ok_or_else(|| Refusal::Skill {
        suggestions: catalog.near_skills(&uri),
        uri: uri.to_string(),
    })?;
    result.object("skill", |item| schema::skill(found.skill, item));
    call.era.keep_list(call.world.catalog, result);
    Ok(CallOutcome::Complete)
}

/// `resources/directory/read`: the direct children of a folder.
pub(crate) fn read_directory(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    result: &mut Object<'_>,
) -> Result<CallOutcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    let now: &Arc<Catalog> = call.world.catalog;
    let (catalog, offset) = match fields.cursor {
        None => (Arc::clone(now), 0),
        Some(cursor) => {
            let cursor = params::text(Some(cursor), "cursor")?;
            // The list does not matter: a folder's cursors have snapshots that no list's cursor
            // has.
            let cursor = Cursor::parse(&cursor).ok_or(Refusal::Cursor)?;
            let is_meant = |of: &Catalog| snapshot_in(of.fingerprint(), &uri) == cursor.snapshot;
            let catalog = call.server.pages().catalog(now, is_meant);
            (catalog.ok_or(Refusal::Cursor)?, cursor.offset as usize)
        }
    };
    let children = catalog.directory(&uri).ok_or_else(|| Refusal::Directory {
        is_document: catalog.document(&uri).is_some(),
        suggestions: catalog.near_directories(&uri),
        uri: uri.to_string(),
    })?;
    let rest = children.get(offset..).unwrap_or_default();
    if rest.is_empty() {
        return Err(Refusal::Cursor);
    }
    let (count, bytes) = (
        call.server.limits.page.max(1),
        page_bytes(&call.server.limits),
    );
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut written = 0;
    for child in rest.iter().take(count) {
        let mut item = Vec::new();
        json::object(&mut item, |item| schema::child(*child, item));
        written += item.len() + 1;
        if written > bytes && !items.is_empty() {
            break;
        }
        items.push(item);
    }
    let next = offset + items.len();
    result.list("resources", items, |buffer, item| {
        buffer.extend_from_slice(&item);
    });
    if next < children.len()
        && let Ok(offset) = u32::try_from(next)
    {
        let cursor = Cursor {
            snapshot: snapshot_in(catalog.fingerprint(), &uri),
            list: List::Documents,
            offset,
        };
        result.text("nextCursor", &cursor.to_string());
        call.server.pages().keep(&catalog);
    }
    // The extension does not require it here, but some clients do.
    call.era.keep_list(call.world.catalog, result);
    Ok(CallOutcome::Complete)
}
