//! Whether the database of the workspaces answers.

use std::time::Duration;

/// Whether a database answers, as its last calls have shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreHealth {
    /// Whether it has answered since the start.
    pub is_confirmed: bool,
    /// For how long it has not answered; what is served may be that old.
    pub stale: Option<Duration>,
    /// Calls since the start; each is one transaction or a few.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
}
