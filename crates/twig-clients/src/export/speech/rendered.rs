//! Dialects with their own rules: what can be exported, and its text.
//!
//! The prompt is rendered with values that do not occur in it, and the result is split at these
//! values: the export has exactly the text that Twig would serve.

use std::borrow::Cow;

use super::{SpeechPart, fold, refuse_exported};
use crate::export::Compute;
use twig_core::World;
use twig_core::argument::Argument;
use twig_core::catalog::PromptRef;
use twig_core::model::{Content, Prompt, Role};
use twig_core::render::{self, Audience, Block, Checked, Message, RenderError, Rendering};
use twig_core::template::{Printing, printing};

/// Templates that only print can be exported with other marks; others would have to be run.
pub(super) fn look_at_templates(
    world: World<'_>,
    found: PromptRef<'_>,
    arguments: &mut [Argument],
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let has_arguments = !arguments.is_empty();
    let mut is_computed = false;
    let mut has_documents = false;
    for message in &found.prompt.messages {
        if !matches!(message.content, Content::File(_) | Content::Text { .. }) {
            continue;
        }
        let found = printing(world.template_files(), found.library, &message.content);
        let Printing {
            defaults,
            does_more,
            documents,
        } = found.map_err(|error| error.to_string())?;
        if let Some(what) = does_more {
            if has_arguments {
                return Err(format!("its template has {what}, which a file cannot hold"));
            }
            is_computed = true;
        }
        has_documents |= documents;
        for (name, default) in defaults {
            let argument = arguments.iter_mut().find(|one| *one.name == *name);
            if let Some(argument) = argument.filter(|one| one.default.is_none()) {
                argument.default = Some(default.into());
            }
        }
    }
    if is_computed {
        notes.push("is written as its template renders now".to_owned());
    }
    if has_documents {
        notes.push(DOCUMENTS.to_owned());
    }
    Ok(())
}

const DOCUMENTS: &str = "the documents in it are written out as they are now";

/// A value that chooses a document cannot be exported.
pub(super) fn look_at_patterns(prompt: &Prompt, notes: &mut Vec<String>) -> Result<(), String> {
    let mut has_documents = false;
    for message in &prompt.messages {
        let patterns = match &message.content {
            Content::Braces { text, .. } => text.patterns().collect(),
            Content::Document { uri, .. } => vec![uri],
            _ => Vec::new(),
        };
        for pattern in patterns {
            // A link is left out, and says so itself.
            has_documents |= !matches!(message.content, Content::Document { is_link: true, .. });
            if !pattern.is_constant() {
                let uri = pattern.as_str();
                return Err(format!(
                    "a value chooses the document `{uri}`, and a file reads none"
                ));
            }
        }
    }
    if has_documents && !notes.iter().any(|note| note == DOCUMENTS) {
        notes.push(DOCUMENTS.to_owned());
    }
    Ok(())
}

/// The messages of a prompt rendered with marks as values, split at these.
pub(super) fn rendered(
    world: World<'_>,
    found: PromptRef<'_>,
    compute: &mut Compute<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<SpeechPart>, String> {
    if let [message] = &*found.prompt.messages
        && let Content::File(path) = &message.content
        && found.library.kind.is_format()
    {
        let text = render::read(world, found.library, path).map_err(|error| error.to_string())?;
        refuse_exported(found.library.kind, &text)?;
    }
    // Clients ask for prompts with `$1` as a value, so such values pass every rule of an argument.
    // If a text happens to have the same number as ours, a second render with another number shows
    // it.
    for turn in 0..4_u64 {
        let salts = [7_340_912_586 + 2 * turn, 7_340_912_587 + 2 * turn];
        let one = said(world, found, salts[0], compute)?;
        let two = said(world, found, salts[1], compute)?;
        let text = text_of(&one, notes, turn == 0)?;
        let other = text_of(&two, &mut Vec::new(), false)?;
        if !other.contains(&mark(salts[0])) && !text.contains(&mark(salts[1])) {
            return Ok(cut(&text, salts[0], found.prompt.arguments.len()));
        }
    }
    Err("its text cannot be distinguished from the places of its arguments".to_owned())
}

fn mark(salt: u64) -> String {
    format!("${salt}")
}

fn said(
    world: World<'_>,
    found: PromptRef<'_>,
    salt: u64,
    compute: &mut Compute<'_>,
) -> Result<Vec<Message>, String> {
    let arguments = found.prompt.arguments.iter().enumerate();
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = arguments
        .map(|(at, argument)| {
            let value = format!("{}{at:05}", mark(salt));
            (Cow::Borrowed(&*argument.name), Cow::Owned(value))
        })
        .collect();
    let sentence = |error: RenderError| error.to_string();
    let audience = Audience {
        checked: Checked::None,
        ..Audience::default()
    };
    match render::render_for(audience, world, found, &given).map_err(sentence)? {
        Rendering::Done(messages) => Ok(messages),
        Rendering::Computed(computed) => {
            let outcome = compute(&computed.job);
            computed.rest.finish(outcome).map_err(sentence)
        }
        Rendering::Function(_) => Err("a program makes it, and a file runs none".to_owned()),
    }
}

/// All messages as one text.
fn text_of(
    messages: &[Message],
    notes: &mut Vec<String>,
    is_first: bool,
) -> Result<String, String> {
    let roles: Vec<Role> = messages
        .iter()
        .filter(|message| !matches!(message.block, Block::Link { .. }))
        .map(|message| message.role)
        .collect();
    let mut said = Vec::new();
    fold(&roles, &mut said)?;
    let mut texts: Vec<&str> = Vec::new();
    for message in messages {
        match &message.block {
            Block::Text(text) => texts.push(text),
            Block::Resource { uri, contents, .. } => match contents.text() {
                Some(text) => texts.push(text),
                None => return Err(format!("has `{uri}`, which is not text")),
            },
            Block::Media(media) => {
                return Err(format!("has {}, which a file cannot hold", media.mime));
            }
            Block::Link { uri, .. } => said.push(format!("the link to `{uri}` is left out")),
            // Not asked for.
            Block::Escaped(_) => return Err("has text as it stands in JSON".to_owned()),
        }
    }
    if is_first {
        notes.append(&mut said);
    }
    Ok(texts.join("\n\n"))
}

/// Splits a text at the values.
fn cut(text: &str, salt: u64, arguments: usize) -> Vec<SpeechPart> {
    let mark = mark(salt);
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(&mark) {
        let behind = &rest[at + mark.len()..];
        let number = behind.get(..5).and_then(|digits| digits.parse().ok());
        let Some(number) = number.filter(|number| *number < arguments) else {
            break;
        };
        parts.push(SpeechPart::Text(rest[..at].to_owned()));
        parts.push(SpeechPart::Argument(number));
        rest = &behind[5..];
    }
    parts.push(SpeechPart::Text(rest.to_owned()));
    parts
}
