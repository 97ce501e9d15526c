//! How a prompt is called in each client, and what the client shows of it.

use serde::Serialize;
use twig_clients::clients::{CONNECTED, KnownClient, ServerFile, ValueForm};
use twig_core::catalog::PromptListing;
use twig_core::{Argument, Catalog, Prompt, PromptRef};

use super::preview::Given;

/// How a prompt is called in a client.
#[derive(Serialize)]
pub(super) struct ClientLine {
    id: &'static str,
    title: &'static str,
    line: String,
    /// What a person should know besides.
    note: String,
}

/// What to type in each client. `is_here` is true if the clients run where the server does.
pub(super) fn client_lines(
    catalog: &Catalog,
    found: PromptRef<'_>,
    given: &Given,
    is_here: bool,
) -> Vec<ClientLine> {
    let prompt = found.prompt;
    let values = |argument: &Argument| {
        let value = given.iter().find(|(name, _)| **name == *argument.name);
        value.map(|(name, value)| (name.to_string(), value.to_string()))
    };
    // Values are in the author's order, whatever the form's.
    let values: Vec<(String, String)> = prompt.arguments.iter().filter_map(values).collect();
    let lines = CONNECTED.iter().filter_map(|client| {
        let servers = client.servers.as_ref()?;
        let listing = catalog.listing_for(client.id, found, is_here);
        Some(ClientLine {
            id: client.id,
            title: client.title,
            line: servers.call.line("twig", ":", &prompt.full_name, &values),
            note: note(client, servers, prompt, listing),
        })
    });
    lines.collect()
}

/// What a client shows of a prompt, and how it takes values.
fn note(
    client: &KnownClient,
    servers: &ServerFile,
    prompt: &Prompt,
    listing: PromptListing,
) -> String {
    let call = servers.call;
    let Some(before) = call.before else {
        return "It has no menu of MCP prompts: write this in a message.".to_owned();
    };
    let count = prompt.arguments.len();
    let mut sentences = Vec::new();
    match listing {
        PromptListing::LoadedByClient => sentences.push(format!(
            "{} loads this file itself, so Twig leaves it out of its menu.",
            client.title
        )),
        PromptListing::Hidden => {
            sentences.push("It is hidden from lists: type its whole name.".to_owned());
        }
        PromptListing::Shown => {}
    }
    match call.most_arguments {
        Some(most) if count > most => {
            let arguments = if most == 1 { "argument" } else { "arguments" };
            return format!(
                "It lists prompts with at most {most} {arguments}, so it does not show this one."
            );
        }
        _ => {}
    }
    if before.is_empty() {
        sentences.push("Choose it in the menu; nothing is typed.".to_owned());
    }
    if count > 0 {
        let how = match call.values {
            ValueForm::Asked => "It asks for each value.",
            ValueForm::Words => "Values follow as words, in the order of the fields.",
            ValueForm::Flags => "Values follow as `--name=\"value\"`.",
            ValueForm::Pairs => "Values follow as `name=\"value\"`.",
        };
        sentences.push(how.to_owned());
        sentences.extend(servers.note.map(|note| format!("{note}.")));
    }
    sentences.join(" ")
}
