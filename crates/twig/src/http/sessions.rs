//! Legacy sessions: a connection that is kept under an id nobody can guess, for as long as its
//! client shows up.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use twig_mcp::{Connection, Ticket};

/// Sessions at once.
pub(super) const SESSIONS: usize = 256;
/// A session that is not used for so long is forgotten.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// How often such sessions are looked for.
pub(super) const SWEEP: Duration = Duration::from_secs(30);
/// Random bytes of an id.
const ID_BYTES: usize = 24;

#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
}

pub(super) struct Session {
    inside: Mutex<Inside>,
}

pub(super) struct Inside {
    pub(super) connection: Connection,
    /// Knows which changes the client was told of.
    pub(super) changes: watch::Receiver<()>,
    used: Instant,
    /// Ends the client's stream when it is dropped; there is one at most.
    stream: Option<oneshot::Sender<()>>,
}

impl Sessions {
    /// Keeps a connection; gives the id of its session, or nothing where there are too many.
    pub(super) fn start(
        &self,
        connection: Connection,
        changes: watch::Receiver<()>,
    ) -> Option<String> {
        let id = new_id()?;
        let session = Session {
            inside: Mutex::new(Inside {
                connection,
                changes,
                used: Instant::now(),
                stream: None,
            }),
        };
        if !self.has_room() {
            return None;
        }
        lock(&self.open).insert(id.clone(), Arc::new(session));
        Some(id)
    }

    /// Whether there may be one more.
    pub(super) fn has_room(&self) -> bool {
        let mut open = lock(&self.open);
        if open.len() >= SESSIONS {
            open.retain(|_, session| !session.is_idle());
        }
        open.len() < SESSIONS
    }

    /// The session of that id, which its client has just used.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let found = Arc::clone(lock(&self.open).get(id)?);
        if found.is_idle() {
            self.end(id);
            return None;
        }
        found.touch();
        Some(found)
    }

    /// Ends a session and its stream; says whether there was one.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = lock(&self.open).remove(id);
        if let Some(session) = &ended {
            let mut inside = session.inside();
            inside.stream = None;
            inside.connection.abandon_all();
        }
        ended.is_some()
    }

    /// Forgets those that nobody uses.
    pub(super) fn expire(&self) {
        lock(&self.open).retain(|_, session| !session.is_idle());
    }
}

impl Session {
    pub(super) fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }

    /// Says that the client is still there.
    pub(super) fn touch(&self) {
        self.inside().used = Instant::now();
    }

    /// Opens the session's stream in place of an older one; gives what its end is heard through.
    pub(super) fn open_stream(&self) -> oneshot::Receiver<()> {
        let (stream, ended) = oneshot::channel();
        self.inside().stream = Some(stream);
        ended
    }

    fn is_idle(&self) -> bool {
        self.inside().used.elapsed() >= IDLE
    }
}

/// A job of a session; a request that is given up leaves nothing behind.
pub(super) struct Pending {
    pub(super) session: Arc<Session>,
    pub(super) ticket: Ticket,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.session.inside().connection.abandon(self.ticket);
    }
}

fn new_id() -> Option<String> {
    let mut bytes = [0; ID_BYTES];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!("the system has no random numbers: {error}");
        return None;
    }
    let mut id = String::with_capacity(2 * ID_BYTES);
    for byte in bytes {
        let _ = write!(id, "{byte:02x}");
    }
    Some(id)
}

/// What these locks guard is whole at every moment, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use twig_core::Limits;
    use twig_mcp::{Identity, Server};

    use super::*;

    fn start(sessions: &Sessions) -> Option<String> {
        let identity = Identity {
            name: String::new(),
            title: String::new(),
            version: String::new(),
            instructions: None,
        };
        let server = Arc::new(Server::new(identity, Limits::default()));
        sessions.start(Connection::new(server), watch::channel(()).1)
    }

    /// Makes it look as if a session was last used long ago.
    fn age(sessions: &Sessions, id: &str) {
        let session = sessions.find(id).unwrap();
        session.inside().used = Instant::now().checked_sub(IDLE).unwrap();
    }

    #[test]
    fn a_session_that_nobody_uses_is_forgotten() {
        let sessions = Sessions::default();
        let (kept, idle) = (start(&sessions).unwrap(), start(&sessions).unwrap());
        age(&sessions, &idle);
        assert!(sessions.find(&idle).is_none());
        let idle = start(&sessions).unwrap();
        age(&sessions, &idle);
        sessions.expire();
        assert!(!sessions.end(&idle));
        assert!(sessions.find(&kept).is_some());
    }

    #[test]
    fn idle_sessions_make_room_for_new_ones() {
        let sessions = Sessions::default();
        let ids: Vec<String> = (0..SESSIONS).filter_map(|_| start(&sessions)).collect();
        assert_eq!(ids.len(), SESSIONS);
        assert!(start(&sessions).is_none());
        age(&sessions, &ids[0]);
        assert!(start(&sessions).is_some());
        assert!(start(&sessions).is_none());
    }

    #[test]
    fn a_stream_ends_with_its_session_or_with_the_next_stream() {
        let sessions = Sessions::default();
        let id = start(&sessions).unwrap();
        let session = sessions.find(&id).unwrap();
        let mut first = session.open_stream();
        assert!(matches!(
            first.try_recv(),
            Err(oneshot::error::TryRecvError::Empty)
        ));
        let mut second = session.open_stream();
        assert!(matches!(
            first.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        ));
        sessions.end(&id);
        assert!(matches!(
            second.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        ));
    }
}
