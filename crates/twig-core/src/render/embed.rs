//! Documents in prompts: found by URI, read when needed, counted.
//!
//! `check` uses this too, so that it reports what a client would get.

use std::sync::Arc;

use super::{Block, RenderError};
use crate::body::BodyError;
use crate::braces::UriPattern;
use crate::catalog::DocumentRef;
use crate::document::{Contents, Document};
use crate::problem::shorten;
use crate::render_error::body_error;
use crate::world::World;

/// The values of a prompt whose patterns are checked before any request for it.
pub(crate) const NOTHING_GIVEN: &[Option<&str>] = &[];

/// What one prompt may still embed.
pub(crate) struct Embedding<'w> {
    world: World<'w>,
    /// The remaining number of documents.
    count: usize,
    /// The remaining bytes.
    bytes: usize,
}

/// A document and its contents.
pub(crate) struct Embedded<'w> {
    pub(crate) document: &'w Document,
    pub(crate) contents: Arc<Contents>,
}

impl<'w> Embedding<'w> {
    /// Starts with the limits.
    pub(crate) fn new(world: World<'w>) -> Self {
        let limits = world.templates.limits();
        Self {
            world,
            count: limits.embedded,
            bytes: limits.embedded_bytes,
        }
    }

    /// Passes on the texts of a pattern's documents, sorted by URI: at least one.
    pub(crate) fn texts(
        &mut self,
        pattern: &UriPattern,
        values: &[Option<&str>],
        mut take: impl FnMut(Embedded<'w>),
    ) -> Result<(), RenderError> {
        let uri = filled(pattern, values)?;
        if !pattern.is_folder {
            let found = self.find(&uri)?;
            let contents = self.read(found)?.ok_or_else(|| missing(&uri))?;
            if contents.text().is_none() {
                let uri = shorten(&uri, 200);
                return Err(RenderError::Template {
                    sentence: format!("Resource is not text and cannot be embedded: {uri}"),
                    place: None,
                });
            }
            take(Embedded {
                document: found.document,
                contents,
            });
            return Ok(());
        }
        let mut is_empty = true;
        for found in self.world.catalog.documents_in(&uri) {
            // Images and other binary data cannot be part of a text.
            if !found.document.is_text {
                continue;
            }
            // A document that was removed since the catalog was made is no longer in the folder.
            let Some(contents) = self.read(found)? else {
                continue;
            };
            if contents.text().is_some() {
                is_empty = false;
                take(Embedded {
                    document: found.document,
                    contents,
                });
            }
        }
        if is_empty {
            return Err(missing(&pattern.shown(&uri)));
        }
        Ok(())
    }

    /// A document as a message of its own.
    pub(crate) fn block(
        &mut self,
        pattern: &UriPattern,
        is_link: bool,
        values: &[Option<&str>],
    ) -> Result<Block, RenderError> {
        let uri = filled(pattern, values)?;
        let found = self.find(&uri)?;
        let document = found.document;
        if is_link {
            return Ok(Block::Link {
                uri: document.uri.clone(),
                name: document.name.clone(),
                title: document.title.clone(),
                description: document.description.clone(),
                mime: Some(document.mime.clone()),
            });
        }
        let contents = self.read(found)?.ok_or_else(|| missing(&uri))?;
        Ok(Block::Resource {
            uri: document.uri.clone(),
            mime: document.mime.clone(),
            contents,
        })
    }

    fn find(&self, uri: &str) -> Result<DocumentRef<'w>, RenderError> {
        let found = self.world.catalog.embedded_document(uri);
        found.ok_or_else(|| missing(uri))
    }

    /// The contents of a document, within the remaining limit; `None` if its file is gone.
    fn read(&mut self, found: DocumentRef<'w>) -> Result<Option<Arc<Contents>>, RenderError> {
        let limits = self.world.templates.limits();
        if self.count == 0 {
            return Err(RenderError::Limit(format!(
                "The prompt exceeds the limit of {} embedded resources",
                limits.embedded
            )));
        }
        let World {
            bodies, templates, ..
        } = self.world;
        let DocumentRef { library, document } = found;
        match templates
            .documents()
            .read(bodies, library, document, self.bytes)
        {
            Ok(contents) => {
                self.count -= 1;
                self.bytes -= contents.len().min(self.bytes);
                Ok(Some(contents))
            }
            Err(BodyError::NotFound) => Ok(None),
            Err(BodyError::TooLarge { .. }) => Err(RenderError::Limit(format!(
                "The prompt exceeds the limit of {} bytes of embedded resources",
                limits.embedded_bytes
            ))),
            Err(error) => Err(body_error(library, document.place(), error)),
        }
    }
}

fn filled(pattern: &UriPattern, values: &[Option<&str>]) -> Result<String, RenderError> {
    pattern
        .fill(values)
        .map_err(|uri| RenderError::MissingDocument { uri })
}

fn missing(uri: &str) -> RenderError {
    RenderError::MissingDocument {
        uri: shorten(uri, 200),
    }
}
