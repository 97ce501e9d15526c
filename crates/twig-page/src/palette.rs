//! What the palette offers for a few words: prompts and documents as options of a list.

use maud::{Markup, html};
use twig_core::Catalog;
use twig_core::search::Hit;

use crate::library::{ListEntry, ListQuery, everything, found};
use crate::link;
use crate::visible::label;

/// Options in one answer.
const OPTIONS: usize = 12;

/// The options for what was typed; `hits` are what the search index found, the best first.
pub fn palette(catalog: &Catalog, text: &str, hits: &[Hit]) -> Markup {
    let query = ListQuery {
        text: text.to_owned(),
        ..ListQuery::default()
    };
    let all = everything(catalog);
    let found = found(catalog, &query, &all, hits);
    html! {
        @for entry in found.iter().take(OPTIONS) { (option(*entry)) }
    }
}

fn option(entry: ListEntry<'_>) -> Markup {
    let (address, name, about, kind) = match entry {
        ListEntry::Prompt(found) => (
            link::prompt(&found.prompt.full_name),
            found.prompt.name.as_str(),
            found.prompt.description.as_deref(),
            if found.prompt.unavailable.is_some() {
                "not served"
            } else if crate::library::is_skill(found) {
                "skill"
            } else {
                "prompt"
            },
        ),
        ListEntry::Document(found) => (
            link::document(&found.document.uri),
            found.document.shown_title(),
            found.document.description.as_deref(),
            "document",
        ),
    };
    html! {
        li role="option" data-address=(address) {
            span.name.mono { (label(name)) }
            span.about { (label(about.unwrap_or_default())) }
            span.library { (entry.library().name.as_str()) " · " (kind) }
        }
    }
}
