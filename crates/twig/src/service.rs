//! What a transport serves.

use std::sync::Arc;

use twig_core::Limits;
use twig_core::store::Store;
use twig_core::template::Templates;
use twig_mcp::Server;
use twig_sources::LiveCatalog;

use crate::jobs::Jobs;

/// The catalog, the render caches, and the server's identity.
pub(crate) struct Service {
    pub(crate) live: Arc<LiveCatalog>,
    pub(crate) templates: Templates,
    pub(crate) server: Arc<Server>,
    pub(crate) limits: Limits,
    pub(crate) jobs: Jobs,
    /// The store of the served project, if there is one.
    pub(crate) store: Option<Arc<dyn Store>>,
}
