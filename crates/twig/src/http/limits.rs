//! The limits of serving over HTTP: how many of everything, and how long for anything.
//!
//! Each is a default that `[http]` in the configuration may change. What protects a single message
//! is with the other limits, in `twig-core`.

use std::time::Duration;

/// How much of anything is taken, and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Connections at once.
    pub(crate) connections: usize,
    /// Legacy sessions at once.
    pub(crate) sessions: usize,
    /// Renders that may wait for a worker, of all clients together.
    pub(crate) renders: usize,
    /// How long a request's head may take, and the silence before the first.
    pub(crate) head: Duration,
    /// How long a request's body may take.
    pub(crate) body: Duration,
    /// How long a connection is kept between two requests.
    pub(crate) idle: Duration,
    /// How long a client may take to make room for more of its reply.
    pub(crate) stall: Duration,
    /// How often a silent stream shows that it is alive.
    pub(crate) keep_alive: Duration,
    /// How long a session is kept that nobody uses.
    pub(crate) session: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            sessions: 256,
            renders: 256,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            session: Duration::from_secs(5 * 60),
        }
    }
}
