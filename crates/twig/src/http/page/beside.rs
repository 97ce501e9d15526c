//! What stands beside the screens: the palette, an entry beside the list, completion, and media.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use twig_core::document_cache::document_bytes;
use twig_core::{BodyError, Content, Lookup};
use twig_page::IMAGES;

use super::answers::{PageVisit, parameter};
use super::{json, secured, typed};

/// The most bytes of an image.
const IMAGE: usize = 16 * 1024 * 1024;
/// The most values that are offered.
const VALUES: usize = 50;

/// A value to complete.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompletionRequest {
    name: String,
    argument: String,
    value: String,
}

/// Values that begin like it.
#[derive(Serialize)]
struct CompletionAnswer<'a> {
    values: Vec<&'a str>,
}

impl PageVisit {
    /// What the palette offers for a text.
    pub(super) async fn palette(&self, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() {
            return String::new();
        }
        let hits = self.search(text).await.unwrap_or_default();
        block_in_place(|| twig_page::palette(&self.catalog(), text, &hits).into_string())
    }

    /// A prompt beside the list.
    pub(super) fn peek(&self, name: &str) -> Option<String> {
        self.shown_prompt(name, twig_page::peek)
    }

    /// A document beside the list.
    pub(super) fn peek_document(&self, uri: &str) -> Option<String> {
        self.shown_document(uri, false, twig_page::peek_document)
    }

    /// What the value of an argument can be, as `completion/complete` has it.
    pub(super) fn complete(&self, asked: &CompletionRequest) -> Response {
        let catalog = self.catalog();
        let Lookup::Found(found) = catalog.find(&asked.name) else {
            return secured(StatusCode::NOT_FOUND.into_response());
        };
        let mut arguments = found.prompt.arguments.iter();
        let argument = arguments.find(|argument| *argument.name == *asked.argument);
        let choices = argument.map_or(&[][..], |argument| &*argument.choices);
        let names = match choices {
            [] => catalog.names_for(found.prompt, &asked.argument),
            _ => Vec::new(),
        };
        let all = choices.iter().map(|choice| &**choice);
        let all = all.chain(names.iter().map(|name| &**name));
        let typed = asked.value.to_lowercase();
        let fitting = all.filter(|value| value.to_lowercase().starts_with(&typed));
        json(&CompletionAnswer {
            values: fitting.take(VALUES).collect(),
        })
    }

    /// The bytes of an image. They are of no type that a browser would show as a document.
    pub(super) fn media(&self, query: &str) -> Response {
        let found = block_in_place(|| match parameter(query, "uri") {
            Some(uri) => self.document_image(&uri),
            None => self.message_image(query),
        });
        match found {
            Some(Ok(bytes)) => secured(typed("application/octet-stream", Body::from(bytes))),
            Some(Err(error)) => {
                tracing::debug!("an image of the page cannot be read: {error}");
                secured(StatusCode::NOT_FOUND.into_response())
            }
            None => secured(StatusCode::NOT_FOUND.into_response()),
        }
    }

    fn document_image(&self, uri: &str) -> Option<Result<Vec<u8>, BodyError>> {
        let catalog = self.catalog();
        let found = catalog.document(uri)?;
        if !IMAGES.contains(&&*found.document.mime) {
            return None;
        }
        let peer = self.peer.as_ref();
        let files = self.shared.disk.for_request(self.files(), peer);
        let read = document_bytes(&files, found.library, found.document, IMAGE);
        Some(read.map(|blob| blob.bytes))
    }

    /// The image in a message of a prompt.
    fn message_image(&self, query: &str) -> Option<Result<Vec<u8>, BodyError>> {
        let (name, at) = (parameter(query, "prompt")?, parameter(query, "message")?);
        let catalog = self.catalog();
        let Lookup::Found(found) = catalog.find(&name) else {
            return None;
        };
        let message = found.prompt.messages.get(at.parse::<usize>().ok()?)?;
        let Content::Media { mime, path, .. } = &message.content else {
            return None;
        };
        if !IMAGES.contains(mime) {
            return None;
        }
        let peer = self.peer.as_ref();
        let files = self.shared.disk.for_request(self.files(), peer);
        let read = twig_core::Bodies::bytes(&files, found.library, path, IMAGE);
        Some(read.map(|blob| blob.bytes))
    }
}
