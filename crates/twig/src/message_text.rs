//! The messages of a prompt as one text, as commands print it and as it is copied.

use std::fmt::Write as _;

use twig_core::{Block, Message};

use crate::ui::visible;

/// The text of messages, and the documents that it links to besides.
pub(crate) fn printed(messages: &[Message]) -> (String, Vec<&str>) {
    match one_text(messages) {
        Some((text, links)) => (text.to_owned(), links),
        None => (text_of(messages), Vec::new()),
    }
}

/// The only text of a prompt, and the links beside it; a skill has one to each of its files.
fn one_text(messages: &[Message]) -> Option<(&str, Vec<&str>)> {
    let first = messages.first()?;
    let mut text = None;
    let mut links = Vec::new();
    for message in messages {
        match &message.block {
            _ if message.role != first.role => return None,
            Block::Text(more) if text.is_none() => text = Some(&**more),
            Block::Link { uri, .. } => links.push(&**uri),
            _ => return None,
        }
    }
    Some((text?, links))
}

/// All messages; several have their roles above them.
fn text_of(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        if messages.len() > 1 {
            let _ = writeln!(text, "[{}]", message.role.as_str());
        }
        match &message.block {
            Block::Text(block) => {
                text.push_str(block);
                if !block.ends_with('\n') {
                    text.push('\n');
                }
            }
            // Not asked for.
            Block::Escaped(block) => text.push_str(&String::from_utf8_lossy(block)),
            Block::Resource {
                uri,
                mime,
                contents,
            } => {
                let (uri, mime) = (visible(uri), visible(mime));
                let _ = writeln!(text, "[{uri}: {mime}, {} bytes]", contents.len());
            }
            Block::Link { uri, .. } => {
                let _ = writeln!(text, "[link to {}]", visible(uri));
            }
            Block::Media(media) => {
                let _ = writeln!(text, "[{}, {} bytes]", media.mime, media.bytes.len());
            }
        }
    }
    text
}
