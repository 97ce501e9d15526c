//! What a transport serves.

use std::sync::Arc;

use twig_core::Limits;
use twig_core::store::Store;
use twig_core::template::Templates;
use twig_mcp::Server;
use twig_sources::LiveCatalog;

use crate::jobs::Jobs;

/// The catalog, what rendering keeps, and who the server is.
pub(crate) struct Service {
    pub(crate) live: Arc<LiveCatalog>,
    pub(crate) templates: Templates,
    pub(crate) server: Arc<Server>,
    pub(crate) limits: Limits,
    pub(crate) jobs: Jobs,
    /// Where the project is kept that is served, if one is.
    pub(crate) store: Option<Arc<dyn Store>>,
}
