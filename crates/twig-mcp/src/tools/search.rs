//! `search`: prompts and documents by their words. Another crate keeps the index.

use twig_core::search::{Hit, Query, SearchScope, SearchTarget};

use super::given::ToolArguments;
use super::{ToolAnswer, reply};
use crate::call::CallOutcome;
use crate::in_flight::PendingJob;
use crate::json::{self, Object};

/// The longest query, in characters.
pub(super) const LONGEST: usize = 1000;

/// The maximum number of results if the caller gives none.
pub(super) const LIMIT: u64 = 10;

/// Starts the search.
pub(super) fn call(given: &ToolArguments<'_>) -> ToolAnswer {
    let text = given.text("query").trim();
    if text.is_empty() {
        return Err("The query is empty: give words, or the beginnings of words".to_owned());
    }
    let query = Query {
        text: text.to_owned(),
        scope: match given.maybe_text("kind") {
            Some("prompt") => SearchScope::Prompts,
            Some("resource") => SearchScope::Documents,
            _ => SearchScope::All,
        },
        limit: usize::try_from(given.number("limit").unwrap_or(LIMIT)).unwrap_or_default(),
    };
    Ok(CallOutcome::Job(Box::new(PendingJob::search(
        query, finish,
    ))))
}

/// Writes the results.
fn finish(outcome: Result<Vec<Hit>, String>, result: &mut Object<'_>) {
    match outcome {
        Ok(hits) => reply::structured(
            |content| {
                content.list("results", &hits, |buffer, hit| {
                    json::object(buffer, |item| write(hit, item));
                });
            },
            result,
        ),
        Err(sentence) => reply::failed(&sentence, result),
    }
}

fn write(hit: &Hit, item: &mut Object<'_>) {
    match &hit.target {
        SearchTarget::Prompt(name) => {
            item.text("type", "prompt");
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
}
