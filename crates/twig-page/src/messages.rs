//! What a prompt was rendered to, with the given values marked.

use maud::{Markup, html};

use crate::visible::visible;

/// One message of a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewMessage {
    /// Its role.
    pub role: &'static str,
    /// Its content.
    pub block: PreviewBlock,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewBlock {
    /// Text in parts.
    Text(Vec<TextSpan>),
    /// A document that is embedded, with its text if it is text.
    Document {
        /// Its URI.
        uri: String,
        /// Its type.
        mime: String,
        /// Its length in bytes.
        size: usize,
        /// Its text.
        text: Option<String>,
    },
    /// A document that the client may read.
    Link {
        /// Its URI.
        uri: String,
        /// Its name for people.
        title: String,
    },
    /// An image or audio.
    Media {
        /// Its type.
        mime: String,
        /// Its length in bytes.
        size: usize,
        /// What asks for it, if it can be shown.
        query: Option<String>,
    },
}

/// A part of a message's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSpan {
    /// The author's.
    Plain(String),
    /// What was put in for an argument.
    Value {
        /// The argument.
        argument: String,
        /// Its value.
        text: String,
    },
    /// The place of an argument that has no value yet.
    Missing(String),
}

/// The longest text of an embedded document that is shown.
const EMBEDDED: usize = 16 * 1024;

/// The messages, or why there are none.
pub fn preview(messages: &[PreviewMessage], error: Option<&str>) -> Markup {
    html! {
        @if let Some(error) = error {
            p.failure role="alert" { span.dot.error aria-hidden="true" {} (visible(error)) }
        }
        @for message in messages {
            article.message data-role=(message.role) {
                h3.role { (message.role) }
                (block(&message.block))
            }
        }
    }
}

fn block(block: &PreviewBlock) -> Markup {
    html! {
        @match block {
            PreviewBlock::Text(spans) => {
                div.text dir="auto" { @for span in spans { (text_span(span)) } }
            }
            PreviewBlock::Document { uri, mime, size, text } => {
                details.embedded {
                    summary {
                        "embedded " span.mono { (visible(uri)) }
                        span.faint { " " (mime) ", " (size_of(*size)) }
                    }
                    @if let Some(text) = text { div.text dir="auto" { (visible(shortened(text))) } }
                }
            }
            PreviewBlock::Link { uri, title } => {
                p.embedded { "link to " a.mono href=(crate::link::document(uri)) { (visible(title)) } }
            }
            PreviewBlock::Media { mime, size, query } => {
                @if let Some(query) = query { (crate::media::image(query, mime, "Image of this prompt")) }
                p.embedded { span.mono { (mime) } span.faint { ", " (size_of(*size)) } }
            }
        }
    }
}

fn text_span(span: &TextSpan) -> Markup {
    html! {
        @match span {
            TextSpan::Plain(text) => { (visible(text)) }
            TextSpan::Value { argument, text } => {
                mark.value title=(argument) { (visible(text)) }
            }
            TextSpan::Missing(argument) => { span.missing { (visible(argument)) } }
        }
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(EMBEDDED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A number of bytes in words.
pub(crate) fn size_of(bytes: usize) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KB", bytes.div_ceil(1_024)),
        _ => format!("{} MB", bytes.div_ceil(1_048_576)),
    }
}
