//! The database of the workspaces, as probes and metrics see it.

use std::time::Duration;

use twig_sources::{StoreHealth, StorePlace};

/// Between two questions to a database that nothing else has asked.
pub(super) const PROBE: Duration = Duration::from_secs(1);

/// The database of the workspaces, and how long it may be away.
pub(crate) struct ServedDatabase {
    pub(crate) place: StorePlace,
    /// How long the server is ready while it is away; for ever if `None`.
    pub(crate) stale_limit: Option<Duration>,
}

impl ServedDatabase {
    /// Whether it answers.
    pub(super) fn health(&self) -> StoreHealth {
        self.place.health().unwrap_or_default()
    }

    /// Why clients should know, if they should, and whether the server is ready nevertheless.
    pub(super) fn reason(&self) -> Option<(&'static str, bool)> {
        let health = self.health();
        if !health.is_confirmed {
            return Some(("store", false));
        }
        let age = health.stale?;
        let is_ready = self.stale_limit.is_none_or(|limit| age <= limit);
        Some(("stale", is_ready))
    }

    /// Asks it whether it answers. The answer is in its health.
    pub(super) fn probe(&self) {
        if let Err(error) = self.place.probe() {
            tracing::debug!("the database of the store does not answer: {error}");
        }
    }
}
