//! What a transport serves.

use std::sync::Arc;

use twig_core::search::{Hit, Query};
use twig_core::store::{ItemWrite, Store, StoreError, Write, Written};
use twig_core::template::Templates;
use twig_core::{Catalog, Limits};
use twig_mcp::Server;
use twig_sources::{LiveCatalog, Searcher};

use crate::function::Allowed;

/// The catalog, what rendering keeps, and who the server is.
pub(crate) struct Service {
    pub(crate) live: Arc<LiveCatalog>,
    pub(crate) templates: Templates,
    pub(crate) server: Arc<Server>,
    pub(crate) limits: Limits,
    /// What functions are allowed.
    pub(crate) allowed: Allowed,
    /// Where the project is kept that is served, if one is.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) searcher: Searcher,
}

impl Service {
    /// Has prompts and documents searched; `done` hears of what was found, from another thread.
    pub(crate) fn search(
        &self,
        catalog: Arc<Catalog>,
        query: Query,
        done: impl FnOnce(Result<Vec<Hit>, String>) + Send + 'static,
    ) {
        self.searcher.submit(catalog, query, Box::new(done));
    }

    /// Hands a write to the project's store; `done` hears of it, perhaps from another thread.
    pub(crate) fn write(
        &self,
        write: ItemWrite,
        done: impl FnOnce(Result<Written, StoreError>) + Send + 'static,
    ) {
        match &self.store {
            Some(store) => store.write(Write::Item(Box::new(write)), Box::new(done)),
            None => done(Err(StoreError::Unavailable(
                "No project is served, so nothing was written".to_owned(),
            ))),
        }
    }
}
