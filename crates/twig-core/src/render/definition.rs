//! Renders the `{{name}}` dialect: values and documents are inserted into the text, each once.

use std::sync::Arc;

use super::embed::{Embedded, Embedding, NOTHING_GIVEN};
use super::{Block, GivenArguments, Message, RenderError, media, value_at};
use crate::braces::{BraceNode, Braces, UriPattern};
use crate::catalog::PromptRef;
use crate::document::{Contents, Document};
use crate::model::Content;
use crate::world::World;

/// The separator between two documents of one folder.
const RULE: &str = "\n\n---\n\n";
const SOURCE: &str = "\nSource: ";
const BLANK_LINE: &str = "\n\n";

/// A part of a message.
enum MessagePiece<'a> {
    Text(&'a str),
    Document(&'a Document, Arc<Contents>),
}

/// Renders a prompt of this dialect.
pub(super) fn render(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
) -> Result<Vec<Message>, RenderError> {
    let prompt = found.prompt;
    let arguments = prompt.arguments.iter().enumerate();
    let values: Vec<Option<&str>> = arguments
        .map(|(at, argument)| value_at(given, at, argument).or(argument.default.as_deref()))
        .collect();
    let limits = world.templates.limits();
    let mut embedding = Embedding::new(world);
    let mut media_room = limits.media;
    let mut room = limits.rendered;
    let mut messages = Vec::with_capacity(prompt.messages.len());
    for message in &prompt.messages {
        let block = match &message.content {
            Content::Braces { text, .. } => {
                let pieces = pieces(text, &values, &mut embedding)?;
                Block::Text(join(&pieces, &mut room, limits.rendered)?)
            }
            Content::Document { uri, is_link, .. } => embedding.block(uri, *is_link, &values)?,
            _ => match media(world, found.library, message, &mut media_room)? {
                Some(media) => Block::Media(media),
                None => continue,
            },
        };
        messages.push(Message {
            role: message.role,
            block,
        });
    }
    Ok(messages)
}

/// The text of the documents of a constant pattern, as a prompt contains them.
pub(super) fn documents(
    embedding: &mut Embedding<'_>,
    pattern: &UriPattern,
) -> Result<String, RenderError> {
    let mut pieces = Vec::new();
    embed(pattern, NOTHING_GIVEN, embedding, &mut pieces)?;
    // The output of a template is bounded when it is rendered.
    let mut room = usize::MAX;
    join(&pieces, &mut room, usize::MAX)
}

fn embed<'a>(
    pattern: &UriPattern,
    values: &[Option<&str>],
    embedding: &mut Embedding<'a>,
    pieces: &mut Vec<MessagePiece<'a>>,
) -> Result<(), RenderError> {
    let mut is_first = true;
    embedding.texts(pattern, values, |Embedded { document, contents }| {
        if !is_first {
            pieces.push(MessagePiece::Text(RULE));
        }
        is_first = false;
        pieces.push(MessagePiece::Document(document, contents));
    })
}

fn pieces<'a>(
    text: &'a Braces,
    values: &[Option<&'a str>],
    embedding: &mut Embedding<'a>,
) -> Result<Vec<MessagePiece<'a>>, RenderError> {
    let mut pieces = Vec::with_capacity(text.nodes().len());
    for node in text.nodes() {
        match node {
            BraceNode::Text(range) => pieces.push(MessagePiece::Text(text.text(range))),
            BraceNode::Argument(at) => {
                let value = values.get(*at).copied().flatten();
                pieces.push(MessagePiece::Text(value.unwrap_or_default()));
            }
            BraceNode::Documents(pattern) => {
                embed(pattern, values, embedding, &mut pieces)?;
            }
        }
    }
    Ok(pieces)
}

/// Joins pieces in one allocation. The contents of documents do not count here: they have a limit
/// of their own.
fn join(
    pieces: &[MessagePiece<'_>],
    room: &mut usize,
    limit: usize,
) -> Result<String, RenderError> {
    let mut own = 0_usize;
    let mut embedded = 0;
    for piece in pieces {
        match piece {
            MessagePiece::Text(text) => own = own.saturating_add(text.len()),
            MessagePiece::Document(document, contents) => {
                let around = ["# ", SOURCE, BLANK_LINE]
                    .map(str::len)
                    .iter()
                    .sum::<usize>();
                own =
                    own.saturating_add(document.shown_title().len() + document.uri.len() + around);
                embedded += contents.len();
            }
        }
    }
    if own > *room {
        return Err(RenderError::Limit(format!(
            "The rendered prompt exceeds the limit of {limit} bytes"
        )));
    }
    *room -= own;
    let mut text = String::with_capacity(own + embedded);
    for piece in pieces {
        match piece {
            MessagePiece::Text(piece) => text.push_str(piece),
            MessagePiece::Document(document, contents) => {
                for part in [
                    "# ",
                    document.shown_title(),
                    SOURCE,
                    &document.uri,
                    BLANK_LINE,
                ] {
                    text.push_str(part);
                }
                text.push_str(contents.text().unwrap_or_default().trim_end());
            }
        }
    }
    Ok(text)
}
