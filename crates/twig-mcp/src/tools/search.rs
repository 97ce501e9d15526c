//! `search`: prompts and documents by their words. Another crate keeps the index.

use std::sync::Arc;

use twig_core::search::{Hit, Query, SearchScope, SearchTarget};
use twig_core::{Catalog, LibraryPackage, Lookup};

use super::given::ToolArguments;
use super::{ToolAnswer, reply};
use crate::call::{Call, CallOutcome};
use crate::in_flight::PendingJob;
use crate::json::{self, Object};
use crate::schema;

/// The longest query, in characters.
pub(super) const LONGEST: usize = 1000;

/// The maximum number of results if the caller gives none.
pub(super) const LIMIT: u64 = 10;

/// Starts the search.
pub(super) fn call(call: &Call<'_>, given: &ToolArguments<'_>) -> ToolAnswer {
    let text = given.text("query").trim();
    if text.is_empty() {
        return Err("The query is empty: give words, or the beginnings of words".to_owned());
    }
    let limit = usize::try_from(given.number("limit").unwrap_or(LIMIT)).unwrap_or_default();
    let query = Query {
        text: text.to_owned(),
        scope: match given.maybe_text("kind") {
            Some("prompt") => SearchScope::Prompts,
            Some("resource") => SearchScope::Documents,
            _ => SearchScope::All,
        },
        limit,
        enough: limit,
    };
    let catalog: Arc<Catalog> = Arc::clone(call.world.catalog);
    let job = PendingJob::search(query, move |outcome, result| {
        finish(&catalog, outcome, result);
    });
    Ok(CallOutcome::Job(Box::new(job)))
}

/// Writes the results.
fn finish(catalog: &Catalog, outcome: Result<Vec<Hit>, String>, result: &mut Object<'_>) {
    match outcome {
        Ok(hits) => reply::structured(
            |content| {
                content.list("results", &hits, |buffer, hit| {
                    json::object(buffer, |item| write(catalog, hit, item));
                });
            },
            result,
        ),
        Err(sentence) => reply::failed(&sentence, result),
    }
}

fn write(catalog: &Catalog, hit: &Hit, item: &mut Object<'_>) {
    match &hit.target {
        SearchTarget::Prompt(name) => {
            item.text("type", "prompt");
            item.text("name", name);
        }
        SearchTarget::Skill(name) => {
            item.text("type", "skill");
            item.text("name", name);
        }
        SearchTarget::Document { uri, name } => {
            item.text("type", "resource");
            item.text("name", name);
            item.text("uri", uri);
        }
    }
    item.maybe("title", hit.title.as_deref());
    item.maybe("description", hit.description.as_deref());
    item.text("snippet", &hit.snippet);
    item.text("matched", hit.matched.as_str());
    if let Some(package) = package_of(catalog, &hit.target) {
        schema::package("package", package, item);
    }
}

/// The package that a result comes from.
fn package_of<'c>(catalog: &'c Catalog, target: &SearchTarget) -> Option<&'c LibraryPackage> {
    let library = match target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => match catalog.find(name) {
            Lookup::Found(found) => found.library,
            _ => return None,
        },
        SearchTarget::Document { uri, .. } => catalog.document(uri)?.library,
    };
    library.package.as_deref()
}
