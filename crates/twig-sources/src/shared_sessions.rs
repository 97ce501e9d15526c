//! What servers on one database share about sessions: the key that seals their ids, and which ones
//! clients have ended.

use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most ended sessions that wait to be written while the database is away.
const MOST: usize = 100_000;

/// For how long what was read of ended sessions holds. A server that ends a session answers after
/// this time, and the others ask the database at least this often, so no server goes on with a
/// session whose end was answered, unless the database is away or slow.
pub const SESSIONS_HOLD: Duration = Duration::from_millis(50);

/// The digest of the id of a session.
pub type SessionDigest = [u8; 32];

/// The sessions of all servers on one database. A thread writes what was ended here, and reads what was
/// ended elsewhere.
#[derive(Debug)]
pub struct SharedSessions {
    key: [u8; 32],
    exchange: Mutex<SessionExchange>,
    /// Wakes the thread.
    signals: SyncSender<()>,
}

#[derive(Debug, Default)]
struct SessionExchange {
    /// Ended here, and not written yet.
    unwritten: Vec<SessionDigest>,
    /// Ended on any server, and not taken yet.
    ended: Vec<SessionDigest>,
    /// When the last look began.
    looked: Option<Instant>,
    /// Whether the last look failed.
    is_away: bool,
    /// Whether the database refused what was to be written last.
    is_refused: bool,
}

#[cfg_attr(not(feature = "postgres"), allow(dead_code))]
impl SharedSessions {
    pub(crate) fn new(key: [u8; 32], signals: SyncSender<()>) -> Self {
        Self {
            key,
            exchange: Mutex::default(),
            signals,
        }
    }

    /// The key that seals ids.
    pub fn key(&self) -> [u8; 32] {
        self.key
    }

    /// Ends a session on all servers. It is written later: the caller has to refuse it meanwhile.
    pub fn end(&self, session: SessionDigest) {
        let mut exchange = self.exchange();
        if exchange.unwritten.len() < MOST {
            exchange.unwritten.push(session);
        }
        exchange.is_refused = false;
        drop(exchange);
        let _ = self.signals.try_send(());
    }

    /// The sessions that were ended on any server since the last call.
    pub fn take_ended(&self) -> Vec<SessionDigest> {
        std::mem::take(&mut self.exchange().ended)
    }

    /// Whether the database has to be asked before a session goes on. While it is away, sessions go
    /// on with what is known.
    pub fn is_stale(&self) -> bool {
        let exchange = self.exchange();
        let is_held = |at: Instant| at.elapsed() < SESSIONS_HOLD;
        !exchange.is_away && !exchange.looked.is_some_and(is_held)
    }

    /// Notes whether a look succeeded, and when it began.
    pub(crate) fn looked(&self, begun: Instant, is_done: bool) {
        let mut exchange = self.exchange();
        exchange.is_away = !is_done;
        exchange.looked = Some(begun);
    }

    /// Whether something that was ended here is still to be written, to a database that takes it.
    pub fn is_writing(&self) -> bool {
        let exchange = self.exchange();
        !exchange.is_away && !exchange.is_refused && !exchange.unwritten.is_empty()
    }

    /// Whether there is something to take.
    pub(crate) fn has_ended(&self) -> bool {
        !self.exchange().ended.is_empty()
    }

    /// What was ended here, to be written.
    pub(crate) fn unwritten(&self) -> Vec<SessionDigest> {
        self.exchange().unwritten.clone()
    }

    /// The first `count` of that are written.
    pub(crate) fn wrote(&self, count: usize) {
        self.exchange().unwritten.drain(..count);
    }

    /// None of that could be written.
    pub(crate) fn refused(&self) {
        self.exchange().is_refused = true;
    }

    /// Adds what was ended on any server.
    pub(crate) fn add_ended(&self, sessions: Vec<SessionDigest>) {
        self.exchange().ended.extend(sessions);
    }

    fn exchange(&self) -> MutexGuard<'_, SessionExchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
