//! What to type in a client once it has Twig: a call of one of the user's own prompts.

use twig_clients::clients::PromptCall;
use twig_core::{Argument, Prompt};

use crate::commands::list::short_names;
use crate::commands::opened_catalog::OpenedCatalog;

/// A prompt that is easy to try.
#[derive(Debug)]
pub(super) struct ExamplePrompt {
    name: String,
    /// The name without its library, if no other prompt has it.
    short: Option<String>,
    /// The arguments that it needs, with a value each.
    values: Vec<(String, String)>,
    /// What marks a prompt in the message of a client without prompts.
    trigger: String,
}

impl ExamplePrompt {
    /// The first prompt in the list of a client that can be called with the fewest invented values.
    pub(super) fn of(opened: &OpenedCatalog, client: &str) -> Option<Self> {
        let catalog = opened.live.snapshot();
        let needed = |prompt: &Prompt| {
            let arguments = prompt.arguments.iter();
            let needed = arguments.filter(|it| it.required && known(it).is_none());
            needed.count()
        };
        let listed = catalog.listed_for(client, true).into_iter();
        let found = listed.min_by_key(|found| needed(found.prompt))?;
        let arguments = found.prompt.arguments.iter().filter(|it| it.required);
        let values = arguments.map(|it| {
            let value = known(it).map_or_else(|| it.name.to_uppercase(), str::to_owned);
            (it.name.to_string(), value)
        });
        let short = found.prompt.name.as_str();
        let is_one = short_names(&catalog).contains(short);
        Some(Self {
            short: is_one.then(|| short.to_owned()),
            name: found.prompt.full_name.to_string(),
            values: values.collect(),
            trigger: opened.config.trigger.clone(),
        })
    }
}

/// A value that the prompt's author wrote, if it is one word.
fn known(argument: &Argument) -> Option<&str> {
    let first = argument.choices.first().map(|choice| &**choice);
    let value = argument.default.as_deref().or(first)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_word = !value.is_empty() && value.len() <= 40 && value.chars().all(fits);
    is_word.then_some(value)
}

/// What to type to call a prompt of the server.
pub(super) fn call(call: PromptCall, server: &str, example: Option<&ExamplePrompt>) -> String {
    // A tool of Twig finds a prompt by its short name; clients list whole names.
    let short = example.filter(|_| call.before.is_none());
    let short = short.and_then(|example| example.short.as_deref());
    let name = short.or(example.map(|example| &*example.name));
    let name = name.unwrap_or("NAME");
    let trigger = example.map_or(":", |example| &example.trigger);
    let values = example.map_or(&[][..], |example| &example.values);
    call.line(server, trigger, name, values)
}
