//! The methods that list something: each answers with one of the list's pages.

use crate::call::{Call, CallOutcome};
use crate::cursor::{Cursor, List};
use crate::error::Refusal;
use crate::params::{self, ParamFields};

/// Answers a request for a list with one of its pages.
pub(crate) fn list(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    list: List,
) -> Result<CallOutcome, Refusal> {
    let (info, catalog) = (&*call.server.info, call.world.catalog);
    let Some(cursor) = fields.cursor else {
        let page = call.server.pages().first(info, catalog, call.era, list);
        return Ok(CallOutcome::Page(page));
    };
    let cursor = params::text(Some(cursor), "cursor")?;
    let cursor = Cursor::parse(&cursor).filter(|cursor| cursor.list == list);
    let cursor = cursor.ok_or(Refusal::Cursor)?;
    let page = call.server.pages().at(info, catalog, call.era, cursor);
    page.map(CallOutcome::Page).ok_or(Refusal::Cursor)
}
