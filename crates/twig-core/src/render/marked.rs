//! Prompts of other clients' formats: marks become values, in one pass.

use std::borrow::Cow;

use super::arguments::value_at;
use super::{Block, Given, Message, RenderError, World, read};
use crate::catalog::PromptRef;
use crate::format::{self, Piece};
use crate::model::{Content, Marks};

/// Renders a prompt whose text has marks for its arguments.
pub(super) fn render(
    world: World<'_>,
    found: PromptRef<'_>,
    marks: Marks,
    given: &Given<'_>,
) -> Result<Vec<Message>, RenderError> {
    let prompt = found.prompt;
    let limit = world.templates.limits().rendered;
    let values: Vec<Option<&str>> = prompt
        .arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| value_at(given, at, &argument.name).or(argument.default.as_deref()))
        .collect();
    let mut messages = Vec::new();
    for message in &prompt.messages {
        let Content::File(path) = &message.content else {
            continue;
        };
        let text = read(world, found.library, path)?;
        let spoken = format::bodies(found.library.kind, &text).map_err(|why| {
            RenderError::Unavailable(format!("{}/{path} {why}", found.library.shown_root).into())
        })?;
        for spoken in spoken {
            let mut text = String::with_capacity(spoken.text.len());
            for piece in format::pieces(marks, &prompt.arguments, &spoken.text) {
                let part = match piece {
                    Piece::Text(text) => Cow::Borrowed(text),
                    Piece::Argument { at, mark } => {
                        Cow::Borrowed(values.get(at).copied().flatten().unwrap_or(mark))
                    }
                    Piece::All { .. } => {
                        let given: Vec<&str> = values.iter().copied().flatten().collect();
                        Cow::Owned(given.join(" "))
                    }
                };
                if text.len() + part.len() > limit {
                    return Err(RenderError::Limit(format!(
                        "The rendered prompt exceeds the limit of {limit} bytes"
                    )));
                }
                text.push_str(&part);
            }
            messages.push(Message {
                role: spoken.role,
                block: Block::Text(text),
            });
        }
    }
    Ok(messages)
}
