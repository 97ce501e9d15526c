//! What a client subscribed to, and what it was last notified of.
//!
//! Nothing is queued: each catalog is compared with the last notification, so that a client that
//! reads slowly gets one notification for many changes and misses none.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;
use twig_core::{Catalog, Revisions};

use crate::error::Refusal;

/// What one client is notified of.
#[derive(Debug, Default)]
pub(crate) struct ListenerState {
    /// The last revision of the list of prompts that it knows; `None` if it did not ask for it.
    pub(crate) prompts: Option<u64>,
    /// The same for documents.
    pub(crate) documents: Option<u64>,
    /// The same for tools.
    pub(crate) tools: Option<u64>,
    /// The revision of contents when the watched documents were last compared.
    pub(crate) contents: u64,
    pub(crate) watched: Vec<Watched>,
}

/// A watched document.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) uri: Box<str>,
    /// What it was last notified of; `None` if it was gone.
    version: Option<u64>,
}

/// A change to announce.
#[derive(Debug, Clone, Copy)]
pub(crate) enum News<'a> {
    /// The list of prompts changed.
    Prompts,
    /// The list of documents or of their templates changed.
    Documents,
    /// The list of tools changed.
    Tools,
    /// A document changed, went away or came back.
    Document(&'a str),
}

impl ListenerState {
    /// Announces the changes of a catalog.
    pub(crate) fn catch_up(
        &mut self,
        catalog: &Catalog,
        now: Revisions,
        mut tell: impl FnMut(News<'_>),
    ) {
        for (known, now, news) in [
            (&mut self.prompts, now.prompts, News::Prompts),
            (&mut self.documents, now.documents, News::Documents),
            (&mut self.tools, now.tools, News::Tools),
        ] {
            if let Some(known) = known
                && *known != now
            {
                *known = now;
                tell(news);
            }
        }
        if self.contents == now.contents {
            return;
        }
        self.contents = now.contents;
        for watched in &mut self.watched {
            let version = version(catalog, &watched.uri);
            if watched.version != version {
                watched.version = version;
                tell(News::Document(&watched.uri));
            }
        }
    }

    /// Watches one more document, if it is not watched already.
    pub(crate) fn watch(
        &mut self,
        uri: Box<str>,
        catalog: &Catalog,
        limit: usize,
    ) -> Result<(), Refusal> {
        if self.watched.iter().any(|known| known.uri == uri) {
            return Ok(());
        }
        if self.watched.len() >= limit {
            return Err(Refusal::Subscriptions(limit));
        }
        let version = version(catalog, &uri);
        self.watched.push(Watched { uri, version });
        Ok(())
    }
}

/// Reads a list of URIs and keeps those of documents, each once and within the limit.
pub(crate) fn watched(
    uris: &RawValue,
    catalog: &Catalog,
    limit: usize,
) -> Result<Vec<Watched>, Refusal> {
    let mut json = serde_json::Deserializer::from_str(uris.get());
    let keeper = Keeper { catalog, limit };
    json.deserialize_seq(keeper).map_err(|_| {
        let what = "`notifications.resourceSubscriptions` must be a list of strings";
        Refusal::Params(what.to_owned())
    })
}

/// Stores only URIs of existing documents; a list of millions takes no more memory than an empty
/// one.
struct Keeper<'c> {
    catalog: &'c Catalog,
    limit: usize,
}

impl<'de> Visitor<'de> for Keeper<'_> {
    type Value = Vec<Watched>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut uris: A) -> Result<Self::Value, A::Error> {
        let mut kept = ListenerState::default();
        while let Some(uri) = uris.next_element::<Cow<'de, str>>()? {
            if self.catalog.document(&uri).is_some() {
                // Past the limit no more documents are watched; the acknowledgement shows that.
                let _ = kept.watch(uri.into(), self.catalog, self.limit);
            }
        }
        Ok(kept.watched)
    }
}

fn version(catalog: &Catalog, uri: &str) -> Option<u64> {
    catalog.document(uri).map(|found| found.document.version)
}
