//! The methods that list something: each answers with one of the list's pages.

use twig_clients::clients::settings_name;
use twig_clients::list_habits::{fills_required_only, rewrites_names};
use twig_core::ListView;

use crate::call::{Call, CallOutcome};
use crate::cursor::{Cursor, List};
use crate::error::Refusal;
use crate::pages::{ListForm, NameForm};
use crate::params::{self, ParamFields};

/// Answers a request for a list with one of its pages.
pub(crate) fn list(
    call: &Call<'_>,
    fields: &ParamFields<'_>,
    list: List,
) -> Result<CallOutcome, Refusal> {
    let (info, catalog) = (&*call.server.info, call.world.catalog);
    let form = match list {
        List::Prompts => form(call),
        _ => ListForm::PLAIN,
    };
    let Some(cursor) = fields.cursor else {
        let list = (list, form);
        let page = call.server.pages().first(info, catalog, call.era, list);
        return Ok(CallOutcome::Page(page));
    };
    let cursor = params::text(Some(cursor), "cursor")?;
    let cursor = Cursor::parse(&cursor).filter(|cursor| cursor.list == list);
    let cursor = cursor.ok_or(Refusal::Cursor)?;
    let cursor = (cursor, form);
    let page = call.server.pages().at(info, catalog, call.era, cursor);
    page.map(CallOutcome::Page).ok_or(Refusal::Cursor)
}

/// The form of the list of prompts that the client of a request can use.
fn form(call: &Call<'_>) -> ListForm {
    let Some(name) = call.client_name() else {
        return ListForm::PLAIN;
    };
    // Both forms of names are the same nearly everywhere: one page is enough then.
    let has_others = || {
        let mut prompts = call.world.catalog.prompts(0);
        prompts.any(|found| !found.prompt.name.as_str().is_ascii())
    };
    let names = if rewrites_names(&name) && has_others() {
        NameForm::Short
    } else {
        NameForm::Native
    };
    ListForm {
        names,
        requires_one: fills_required_only(&name),
        view: view(call, &name),
    }
}

/// The prompts that a client's list shows, if they are not the usual ones. A client on another
/// machine loads nothing of this one.
fn view(call: &Call<'_>, name: &str) -> Option<ListView> {
    let is_here = !call.server.is_remote;
    call.world.catalog.view_of(&settings_name(name), is_here)
}
