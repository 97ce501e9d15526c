//! What a transport serves.

use std::sync::Arc;

use twig_core::Limits;
use twig_core::search::{Hit, Query};
use twig_core::store::StoreName;
use twig_core::template::Templates;
use twig_mcp::{Observer, Server, ServerIdentity, Tools};
use twig_sources::{LiveCatalog, SearchIndex};

use crate::jobs::{JobPlace, Jobs, SearchedCatalog};

/// The catalog, the render caches, and the server's identity.
pub(crate) struct Service {
    pub(crate) live: Arc<LiveCatalog>,
    pub(crate) templates: Templates,
    pub(crate) server: Arc<Server>,
    pub(crate) limits: Limits,
    pub(crate) jobs: Jobs,
    /// What jobs search, and where they write.
    pub(crate) place: JobPlace,
    /// Makes the servers of those who see only a part.
    pub(crate) servers: ServerMaker,
}

/// All catalogs of a server that are not a view.
const WHOLE: u64 = 0;

/// The whole catalog, for searches.
pub(crate) struct WholeCatalog(pub(crate) Arc<LiveCatalog>);

impl SearchedCatalog for WholeCatalog {
    fn number(&self) -> u64 {
        WHOLE
    }

    fn search(&self, index: &mut SearchIndex, query: &Query) -> Result<Vec<Hit>, String> {
        index.search(&self.0.snapshot(), &*self.0, query)
    }
}

/// Makes servers that differ in the tools that they offer.
#[derive(Debug, Clone)]
pub(crate) struct ServerMaker {
    pub(crate) limits: Limits,
    pub(crate) trigger: String,
    pub(crate) command_clients: Vec<String>,
    /// Whether no tool may write.
    pub(crate) is_read_only: bool,
    /// Whether clients may be on other machines.
    pub(crate) is_remote: bool,
    /// Whether other servers may answer requests of a session that began here.
    pub(crate) shares_sessions: bool,
    /// What wants to know about answered requests.
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl ServerMaker {
    /// A server with the tools of a project, if there is one.
    pub(crate) fn make(&self, project: Option<StoreName>, may_write: bool) -> Arc<Server> {
        let tools = Tools {
            project,
            writes: may_write && !self.is_read_only,
            trigger: self.trigger.clone(),
        };
        let server = Server::new(&identity(), self.limits.clone(), tools)
            .with_command_clients(self.command_clients.clone());
        let server = match &self.observer {
            Some(observer) => server.with_observer(Arc::clone(observer)),
            None => server,
        };
        let server = if self.is_remote {
            server.for_remote_clients()
        } else {
            server
        };
        Arc::new(if self.shares_sessions {
            server.with_shared_sessions()
        } else {
            server
        })
    }
}

/// The server's name and version for clients; none of it comes from a library.
fn identity() -> ServerIdentity {
    ServerIdentity {
        name: "twig".to_owned(),
        title: "Twig".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
