//! `list_prompts`: every prompt, for clients without prompts.

use twig_core::{Catalog, Prompt};

use super::reply;
use crate::call::{Call, CallOutcome};
use crate::json;
use crate::schema;

/// Answers with all prompts; the answer is written once for each snapshot and era.
pub(super) fn call(call: &Call<'_>) -> CallOutcome {
    let Call { server, era, .. } = *call;
    let catalog = call.world.catalog;
    let page = server.pages().commands(catalog, era, || {
        let mut page = Vec::new();
        json::object(&mut page, |result| {
            reply::structured(|content| write(catalog, content), result);
            schema::seal(era, &server.info, "complete", None, result);
        });
        // It is kept as long as the snapshot.
        page.shrink_to_fit();
        page
    });
    CallOutcome::Page(page)
}

fn write(catalog: &Catalog, content: &mut json::Object<'_>) {
    content.list("prompts", catalog.prompts(0), |buffer, found| {
        let prompt = found.prompt;
        json::object(buffer, |item| {
            item.text("name", &prompt.full_name);
            let description = prompt.description.as_deref();
            let description = description.or(prompt.title.as_deref());
            item.text("description", description.unwrap_or_default());
            if let Some(version) = schema::stored_prompt(found) {
                item.number("version", version);
            }
            if !takes_input_alone(prompt) {
                schema::arguments(&prompt.arguments, item);
            }
        });
    });
}

/// True if `input` is its only argument.
fn takes_input_alone(prompt: &Prompt) -> bool {
    match &*prompt.arguments {
        [] => true,
        [only] => *only.name == *"input",
        _ => false,
    }
}
