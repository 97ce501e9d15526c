//! What a transport serves.

use std::sync::Arc;

use twig_core::Limits;
use twig_core::template::Templates;
use twig_mcp::Server;
use twig_sources::LiveCatalog;

use crate::function::Allowed;

/// The catalog, what rendering keeps, and who the server is.
pub(crate) struct Service {
    pub(crate) live: Arc<LiveCatalog>,
    pub(crate) templates: Templates,
    pub(crate) server: Arc<Server>,
    pub(crate) limits: Limits,
    /// What functions are allowed.
    pub(crate) allowed: Allowed,
}
