//! `list_prompts`: the prompts, for clients without prompts.

use std::sync::Arc;

use twig_core::catalog::is_match;
use twig_core::problem::shorten;
use twig_core::{Argument, Catalog, Prompt, PromptRef};

use super::ToolAnswer;
use super::given::ToolArguments;
use super::list_page::ListPage;
use crate::call::{Call, CallOutcome};
use crate::cursor::List;
use crate::json::{self, Object};
use crate::schema;

/// Bytes of one page. Codex shows a model 12 KB of a result and cuts the rest out of its middle.
const PAGE_BYTES: usize = 10_000;

/// The longest description, in characters.
const DESCRIPTION: usize = 1_000;

/// Answers with one page of the prompts, or of those that match a filter.
pub(super) fn call(
    call: &Call<'_>,
    given: &ToolArguments<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let filter = given.text("filter").trim();
    let key = format!("list_prompts {filter}");
    let cursor = given.maybe_text("cursor");
    let page = ListPage::at(call, List::Prompts, key, cursor, Catalog::len)?;
    let filter = WordFilter::parse(filter);
    let catalog = Arc::clone(&page.catalog);
    let items = catalog.prompts(page.offset).map(|found| {
        filter.matches(found.prompt).then(|| {
            let mut item = Vec::new();
            json::object(&mut item, |item| write(found, item));
            item
        })
    });
    page.write("prompts", items, usize::MAX, PAGE_BYTES, result);
    Ok(CallOutcome::Complete)
}

/// Words that a listed prompt has to have, all of them, in any case.
struct WordFilter {
    words: Vec<String>,
}

impl WordFilter {
    fn parse(text: &str) -> Self {
        let words = text.split_whitespace().map(str::to_lowercase);
        Self {
            words: words.collect(),
        }
    }

    fn matches(&self, prompt: &Prompt) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let name = prompt.full_name.to_lowercase();
        let lower = |text: Option<&str>| text.map(str::to_lowercase).unwrap_or_default();
        let title = lower(prompt.title.as_deref());
        let description = lower(prompt.description.as_deref());
        self.words.iter().all(|word| {
            if word.contains('*') {
                return is_match(word, &name);
            }
            [&name, &title, &description]
                .into_iter()
                .any(|text| text.contains(&**word))
        })
    }
}

fn write(found: PromptRef<'_>, item: &mut Object<'_>) {
    let prompt = found.prompt;
    item.text("name", &prompt.full_name);
    let description = prompt.description.as_deref().or(prompt.title.as_deref());
    let description = shorten(description.unwrap_or_default(), DESCRIPTION);
    item.text("description", &description);
    if let Some(version) = schema::stored_prompt(found) {
        item.number("version", version);
    }
    if let Some(package) = &found.library.package {
        schema::package("package", package, item);
    }
    if !takes_input_alone(prompt) {
        item.list("arguments", prompt.arguments.iter(), |buffer, argument| {
            json::object(buffer, |entry| write_argument(argument, entry));
        });
    }
}

fn write_argument(argument: &Argument, entry: &mut Object<'_>) {
    entry.text("name", &argument.name);
    let description = argument.description.as_deref();
    let description = description.map(|text| shorten(text, DESCRIPTION));
    entry.maybe("description", description.as_deref());
    entry.flag("required", schema::is_required(argument));
    if !argument.choices.is_empty() {
        entry.texts("choices", &argument.choices);
    }
    entry.maybe("default", argument.default.as_deref());
}

/// True if a free text as `input` is its only argument.
fn takes_input_alone(prompt: &Prompt) -> bool {
    match &*prompt.arguments {
        [] => true,
        [only] => *only.name == *"input" && only.choices.is_empty() && only.default.is_none(),
        _ => false,
    }
}
