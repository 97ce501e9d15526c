//! The limits of serving over HTTP: how many of everything, and how long for anything.
//!
//! Each is a default that `[http]` in the configuration may change. What protects a single message
//! is with the other limits, in `twig-core`.

use std::time::Duration;

/// The shortest token, in characters, that keeps out others than the programs of this machine.
pub(super) const TOKEN: usize = 16;
/// Bytes that every body may have.
pub(super) const SMALL_BODY: usize = 64 * 1024;
/// Bytes of longer bodies, and of jobs that were made of them, at once.
pub(super) const BODY_ROOM: usize = 48 * 1024 * 1024;
/// Longer bodies that are read to their end at once where there is no room, and how long each may take.
pub(super) const BODY_TURNS: usize = 16;
pub(super) const BODY_TURN: Duration = Duration::from_secs(5);
/// Replies of so many bytes take no room.
pub(super) const SMALL_REPLY: usize = 64 * 1024;
/// Of the room for replies, the part that replies may have together that still wait for room.
pub(super) const WAITING_REPLIES: usize = 4;
/// A client that takes nothing for so long makes room for a reply that waits.
pub(super) const BRIEF_STALL: Duration = Duration::from_secs(1);
/// Wrong tokens of one network that are refused at once.
pub(super) const WRONG_TOKENS_AT_ONCE: u32 = 10;
/// The longest that the refusal of a wrong token waits.
pub(super) const WRONG_TOKEN_DELAY: Duration = Duration::from_secs(2);
/// Networks whose wrong tokens are counted.
pub(super) const WRONG_TOKEN_NETWORKS: usize = 1_024;

/// How much of anything is taken, and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    /// Connections at once.
    pub(crate) connections: usize,
    /// Connections of one address other than this machine's; a quarter of all where nothing is said.
    pub(crate) address_connections: Option<usize>,
    /// Legacy sessions at once.
    pub(crate) sessions: usize,
    /// Renders that may wait for a worker, of all clients together.
    pub(crate) renders: usize,
    /// Bytes of long replies that clients have not taken yet.
    pub(crate) reply_bytes: usize,
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
        }
    }
}

impl HttpLimits {
    /// The most connections of one address, where there is room for so many in all.
    pub(super) fn share(&self, room: usize) -> usize {
        self.address_connections.unwrap_or(room / 4).max(1)
    }
}
