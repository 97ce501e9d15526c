//! The limits of serving over HTTP: counts, sizes and times.
//!
//! Each is a default that `[http]` in the configuration may change. The limits of a single message
//! are in `twig-core`, with the others.

use std::time::Duration;

use super::allowance::AllowanceLimits;

/// The minimum length of a token, in characters, if other machines can connect.
pub(super) const TOKEN: usize = 16;
/// The length from which on a token gets no warning.
pub(super) const GOOD_TOKEN: usize = 20;
/// How many refused hosts are logged.
pub(super) const LOGGED_HOSTS: usize = 32;
/// Bytes that every body may have.
pub(super) const SMALL_BODY: usize = 64 * 1024;
/// Bytes of all longer bodies, and of jobs made from them, at once.
pub(super) const BODY_ROOM: usize = 48 * 1024 * 1024;
/// How many longer bodies are read at once when no memory is left for them, and how long each may
/// take.
pub(super) const BODY_TURNS: usize = 16;
pub(super) const BODY_TURN: Duration = Duration::from_secs(5);
/// Replies up to this size do not count.
pub(super) const SMALL_REPLY: usize = 64 * 1024;
/// Replies that wait for memory may hold one part in this many of the memory for replies.
pub(super) const WAITING_REPLIES: usize = 4;
/// A client that reads nothing for this long loses its reply if another reply waits for memory.
pub(super) const BRIEF_STALL: Duration = Duration::from_secs(1);
/// Wrong tokens from one network that are refused without delay.
pub(super) const WRONG_TOKENS_AT_ONCE: u32 = 10;
/// Maximum delay before a wrong token is refused.
pub(super) const WRONG_TOKEN_DELAY: Duration = Duration::from_secs(2);
/// Number of networks whose wrong tokens are counted.
pub(super) const WRONG_TOKEN_NETWORKS: usize = 1_024;

/// Limits on counts, sizes and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    /// Connections at once.
    pub(crate) connections: usize,
    /// Connections from one address other than this machine's; by default a quarter of all.
    pub(crate) address_connections: Option<usize>,
    /// Legacy sessions at once.
    pub(crate) sessions: usize,
    /// Renders that may wait for a worker, for all clients together.
    pub(crate) renders: usize,
    /// Bytes of long replies that clients have not read yet.
    pub(crate) reply_bytes: usize,
    /// How long a request's head may take, and the silence before the first request.
    pub(crate) head: Duration,
    /// How long a request's body may take.
    pub(crate) body: Duration,
    /// How long a connection is kept between two requests.
    pub(crate) idle: Duration,
    /// How long a client may go without reading more of its reply.
    pub(crate) stall: Duration,
    /// How often an idle stream sends a comment to stay open.
    pub(crate) keep_alive: Duration,
    /// How long an unused session is kept.
    pub(crate) session: Duration,
    /// How much one person may ask for.
    pub(crate) person: AllowanceLimits,
    /// How long the server goes on after a signal before it stops accepting.
    pub(crate) drain: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            address_connections: None,
            sessions: 256,
            renders: 256,
            reply_bytes: 64 * 1024 * 1024,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            session: Duration::from_secs(5 * 60),
            person: AllowanceLimits::default(),
            drain: Duration::ZERO,
        }
    }
}

impl HttpLimits {
    /// The maximum number of connections from one address, given the room for all of them.
    pub(super) fn share(&self, room: usize) -> usize {
        self.address_connections.unwrap_or(room / 4).max(1)
    }
}
