//! `twig search`: finds prompts and documents by words or a sentence, best first.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::search::{Hit, MatchedWords, Query, SearchScope, SearchTarget};
use twig_core::{Catalog, Lookup};
use twig_sources::SearchIndex;

use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::{documents, list};
use crate::command_error::{CommandError, ErrorKind};
use crate::ui::{Ui, one_line};

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to search for: words, the beginnings of words, or a sentence
    #[arg(required = true)]
    words: Vec<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The maximum number of results.
const MOST: usize = 100;
/// If fewer results than this have all words, results with some of the words are added.
const ENOUGH: usize = 10;

/// A search result, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct SearchHitRow<'c> {
    #[serde(flatten)]
    what: HitTarget<'c>,
    /// The text around the words.
    snippet: &'c str,
    /// Whether it has all words, or some of them.
    matched: &'static str,
}

/// A prompt has a `name`, a document a `uri`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum HitTarget<'c> {
    Prompt(list::PromptRow<'c>),
    Document(documents::DocumentRow<'c>),
}

pub(super) fn run(options: &SearchArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let text = options.words.join(" ");
    if text.trim().is_empty() {
        let error = CommandError::new(ErrorKind::Usage, "the query is empty");
        return Err(error.hint("give words, or the beginnings of words"));
    }
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = opened.live.snapshot();
    opened.report_unread(&catalog, ui);
    let query = Query {
        text,
        scope: SearchScope::All,
        limit: MOST,
        enough: ENOUGH,
    };
    let total = catalog.len() + catalog.document_count();
    let progress = ui.counted_progress("indexing", total);
    let mut index = SearchIndex::new(opened.config.limits.clone());
    index.count_in(progress.counter());
    let hits = index.search(&catalog, &opened.live, &query);
    drop(progress);
    let hits = hits.map_err(CommandError::fixable)?;
    if options.json {
        let rows = hits.iter().filter_map(|hit| row(&catalog, hit));
        ui.json(&rows.collect::<Vec<_>>())?;
        return Ok(found(&hits));
    }
    let table: Vec<Vec<String>> = hits
        .iter()
        .flat_map(|hit| lines(&catalog, hit, &query.text))
        .collect();
    ui.table(&table)?;
    let has_all = |hit: &&Hit| hit.matched == MatchedWords::All;
    match (hits.len(), hits.iter().filter(has_all).count()) {
        (0, _) => ui.say(format!("no match for `{}`", query.text)),
        (_, 0) => ui.say("these have some of the words, the best first"),
        _ => {}
    }
    Ok(found(&hits))
}

/// As in `grep`: 1 if there is no match.
fn found(hits: &[Hit]) -> ExitCode {
    if hits.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The description, and below it the snippet, unless the first line already contains every word.
fn lines(catalog: &Catalog, hit: &Hit, words: &str) -> Vec<Vec<String>> {
    let name = match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => name.to_string(),
        SearchTarget::Document { uri, .. } => uri.to_string(),
    };
    let label = hit.description.as_deref().or(hit.title.as_deref());
    let mut label = one_line(label.unwrap_or_default());
    if let SearchTarget::Prompt(name) | SearchTarget::Skill(name) = &hit.target
        && let Lookup::Found(found) = catalog.find(name)
        && found.library.is_offered()
    {
        label = list::marked(&label);
    }
    // In front: on a terminal, the end of a long line is cut.
    let mark = match hit.matched {
        MatchedWords::All => "",
        MatchedWords::Some => "(some words) ",
    };
    let snippet = hit.snippet.to_string();
    if label.is_empty() {
        return vec![vec![name, format!("{mark}{snippet}")]];
    }
    let line = format!("{name} {label}").to_lowercase();
    let words = words.to_lowercase();
    let is_known = words.split_whitespace().all(|word| line.contains(word))
        || label.contains(snippet.trim_matches('…'));
    let mut lines = vec![vec![name, format!("{mark}{label}")]];
    if !is_known {
        lines.push(vec![String::new(), snippet]);
    }
    lines
}

fn row<'c>(catalog: &'c Catalog, hit: &'c Hit) -> Option<SearchHitRow<'c>> {
    let what = match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => match catalog.find(name) {
            Lookup::Found(found) => HitTarget::Prompt(list::row(found.library, found.prompt, None)),
            _ => return None,
        },
        SearchTarget::Document { uri, .. } => {
            HitTarget::Document(documents::row(catalog.document(uri)?))
        }
    };
    Some(SearchHitRow {
        what,
        snippet: &hit.snippet,
        matched: hit.matched.as_str(),
    })
}
