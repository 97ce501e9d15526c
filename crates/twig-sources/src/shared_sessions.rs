//! What servers on one database share about sessions: the key that seals their ids, and which ones
//! clients have ended.

use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most ended sessions that wait to be written while the database is away.
const MOST: usize = 100_000;

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
        drop(exchange);
        let _ = self.signals.try_send(());
    }

    /// The sessions that were ended on any server since the last call.
    pub fn take_ended(&self) -> Vec<SessionDigest> {
        std::mem::take(&mut self.exchange().ended)
    }

    /// Whether something was not written yet.
    pub fn has_unwritten(&self) -> bool {
        !self.exchange().unwritten.is_empty()
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

    /// Adds what was ended on any server.
    pub(crate) fn add_ended(&self, sessions: Vec<SessionDigest>) {
        self.exchange().ended.extend(sessions);
    }

    fn exchange(&self) -> MutexGuard<'_, SessionExchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
