//! Long documents as JSON: encoded once and shared by all replies in progress.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use twig_core::document_cache::document_stamp;
use twig_core::{BodyError, Contents, DocumentRef, Stamp, World};

use crate::json;

/// Documents of more bytes than this are shared.
pub(crate) const LONG: usize = 64 * 1024;

/// The documents in the replies that are being sent.
#[derive(Debug, Default)]
pub(crate) struct LongDocuments {
    shared: Mutex<Vec<LongDocument>>,
}

#[derive(Debug)]
struct LongDocument {
    root: Box<str>,
    path: Box<str>,
    stamp: Stamp,
    json: Weak<Vec<u8>>,
}

/// The contents of a document, for a reply.
pub(crate) enum EncodedDocument {
    /// Still to be written.
    Short(Arc<Contents>),
    /// A member, `text` or `blob`, with its value.
    Long(Arc<Vec<u8>>),
}

impl LongDocuments {
    /// Reads a document of at most `limit` bytes, unless it is long and a reply in progress has its
    /// current contents.
    pub(crate) fn read(
        &self,
        world: World<'_>,
        limit: usize,
        found: &DocumentRef<'_>,
    ) -> Result<EncodedDocument, BodyError> {
        let DocumentRef { library, document } = found;
        let (root, path) = (&*library.root, document.place());
        if let Some((json, stamp)) = self.find(root, path)
            && document_stamp(world.bodies, library, document)? == stamp
        {
            return Ok(EncodedDocument::Long(json));
        }
        let cache = world.templates.documents();
        let (contents, stamp) = cache.read_stamped(world.bodies, library, document, limit)?;
        if contents.len() <= LONG {
            return Ok(EncodedDocument::Short(contents));
        }
        let json = Arc::new(json::member(|member| match &*contents {
            Contents::Text(text) => member.text("text", text),
            Contents::Bytes(bytes) => member.base64("blob", bytes),
        }));
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|known| known.json.strong_count() > 0 && !known.is(root, path));
        shared.push(LongDocument {
            root: root.into(),
            path: path.into(),
            stamp,
            json: Arc::downgrade(&json),
        });
        Ok(EncodedDocument::Long(json))
    }

    fn find(&self, root: &str, path: &str) -> Option<(Arc<Vec<u8>>, Stamp)> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let found = shared.iter().find(|known| known.is(root, path))?;
        Some((found.json.upgrade()?, found.stamp))
    }
}

impl LongDocument {
    fn is(&self, root: &str, path: &str) -> bool {
        *self.root == *root && *self.path == *path
    }
}
