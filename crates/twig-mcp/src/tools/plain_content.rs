//! A rendered prompt as plain content, in the order of its messages: what a model reads is text, and
//! only what cannot be text is content of its own.
//!
//! Clients differ in what they hand to a model beside text and images: some drop embedded documents
//! and links, others write their JSON. So documents of text and links are written into the text.

use std::sync::Arc;

use twig_core::Contents;
use twig_core::media::{Media, MediaKind};
use twig_core::render::{Block, Message};

use super::expand::{names_speakers, speaker};
use crate::content_kinds::ContentKinds;
use crate::json::{self, Object};
use crate::prompts;

/// Writes the content of a result.
pub(super) fn write(messages: Vec<Message>, kinds: ContentKinds, result: &mut Object<'_>) {
    prompts::reserve(&messages, result);
    let blocks = blocks(messages, kinds);
    result.list("content", &blocks, |buffer, block| {
        json::object(buffer, |content| prompts::block(block, content));
    });
}

/// The blocks of content: neighboring texts as one, with an empty line between them.
fn blocks(mut messages: Vec<Message>, kinds: ContentKinds) -> Vec<Block> {
    if names_speakers(&messages) {
        for message in &mut messages {
            if let Block::Text(text) = &mut message.block {
                text.insert_str(0, speaker(message.role));
            }
        }
    }
    kinds.without_links().fit(&mut messages);
    let mut blocks: Vec<Block> = Vec::new();
    for message in messages {
        match (blocks.last_mut(), plain(message.block)) {
            (Some(Block::Text(before)), Block::Text(text)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, block) => blocks.push(block),
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Text(String::new()));
    }
    blocks
}

/// A document as text if it can be, or as an image if it is one.
fn plain(block: Block) -> Block {
    let Block::Resource {
        uri,
        mime,
        contents,
    } = block
    else {
        return block;
    };
    if let Contents::Text(text) = &*contents {
        return Block::Text(format!("Document {uri} ({mime}):\n\n{text}"));
    }
    if !mime.starts_with("image/") {
        return Block::Resource {
            uri,
            mime,
            contents,
        };
    }
    let bytes = match Arc::unwrap_or_clone(contents) {
        Contents::Bytes(bytes) => bytes,
        Contents::Text(text) => text.into_bytes(),
    };
    Block::Media(Media {
        kind: MediaKind::Image,
        mime,
        bytes,
    })
}
