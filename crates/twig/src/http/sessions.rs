//! Legacy sessions: a connection's state, kept under an unguessable id for as long as the client
//! uses it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::block_in_place;
use twig_core::Catalog;
use twig_mcp::http::ResumedRequest;
use twig_mcp::{Connection, Ticket};

use crate::jobs::RunningJob;

/// How often to look for unused sessions.
const SWEEP: Duration = Duration::from_secs(30);
/// Random bytes of an id.
const ID_BYTES: usize = 24;

pub(super) struct Sessions {
    limit: usize,
    /// A session that is unused for this long is removed.
    idle: Duration,
    open: Mutex<HashMap<String, Arc<HttpSession>>>,
}

pub(super) struct HttpSession {
    inside: Mutex<SessionState>,
    presence: Mutex<Presence>,
}

pub(super) struct SessionState {
    pub(super) connection: Connection,
    /// Knows which changes were sent to the client.
    pub(super) changes: watch::Receiver<Arc<Catalog>>,
    /// The running jobs of its requests.
    running: BTreeMap<Ticket, Weak<RunningJob>>,
    /// The streams of requests that wait for the answer to a question.
    questions: BTreeMap<Ticket, oneshot::Sender<ResumedRequest>>,
}

impl SessionState {
    /// Registers the stream of a question; the receiver gets what its request goes on with, or
    /// learns that the request was cancelled.
    pub(super) fn await_answer(&mut self, ticket: Ticket) -> oneshot::Receiver<ResumedRequest> {
        let (answered, answer) = oneshot::channel();
        self.questions.insert(ticket, answered);
        answer
    }

    /// Hands a request that goes on to the stream of its question.
    pub(super) fn resume(&mut self, ticket: Ticket, resumed: ResumedRequest) {
        if let Some(stream) = self.questions.remove(&ticket) {
            // A stream that has just ended abandons the request.
            let _ = stream.send(resumed);
        }
    }

    /// Tracks a job, so that the client can cancel it.
    pub(super) fn follow(&mut self, ticket: Ticket, job: &Arc<RunningJob>) {
        self.running.insert(ticket, Arc::downgrade(job));
        // The client may have cancelled it just before.
        self.end_cancelled();
    }

    /// Cancels the jobs that the client has cancelled.
    pub(super) fn end_cancelled(&mut self) {
        let connection = &self.connection;
        self.questions.retain(|ticket, _| connection.wants(*ticket));
        self.running.retain(|ticket, job| {
            let is_wanted = connection.wants(*ticket);
            if let Some(job) = job.upgrade().filter(|_| !is_wanted) {
                job.cancel();
            }
            is_wanted
        });
    }
}

/// Whether the client is still there. It has its own lock, so that looking through all sessions
/// does not wait for a session that is being answered.
struct Presence {
    used: Instant,
    /// Whether a second request arrived: sessions without one are removed first.
    came_back: bool,
    /// Dropping this ends the client's stream; there is at most one.
    stream: Option<oneshot::Sender<()>>,
}

impl Sessions {
    /// Room for `limit` sessions, each kept for `idle` after its last use.
    pub(super) fn new(limit: usize, idle: Duration) -> Self {
        Self {
            limit,
            idle,
            open: Mutex::default(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    /// The most sessions at once.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// How often to call [`Self::expire`].
    pub(super) fn sweep(&self) -> Duration {
        self.idle.min(SWEEP)
    }

    /// Stores a connection and returns the id of its session, or nothing if all sessions are in
    /// use.
    pub(super) fn start(
        &self,
        connection: Connection,
        changes: watch::Receiver<Arc<Catalog>>,
    ) -> Option<String> {
        let id = new_id()?;
        let session = HttpSession {
            inside: Mutex::new(SessionState {
                connection,
                changes,
                running: BTreeMap::new(),
                questions: BTreeMap::new(),
            }),
            presence: Mutex::new(Presence {
                used: Instant::now(),
                came_back: false,
                stream: None,
            }),
        };
        let mut open = lock(&self.open);
        if !self.make_room(&mut open) {
            return None;
        }
        open.insert(id.clone(), Arc::new(session));
        Some(id)
    }

    /// Whether another session fits.
    pub(super) fn has_room(&self) -> bool {
        self.make_room(&mut lock(&self.open))
    }

    /// Removes the unused sessions and, if that is not enough, the one that was unused for the
    /// longest time. Its client gets an error that makes it start another session.
    fn make_room(&self, open: &mut HashMap<String, Arc<HttpSession>>) -> bool {
        if open.len() < self.limit {
            return true;
        }
        open.retain(|_, session| !session.is_idle(self.idle));
        if open.len() >= self.limit {
            let unused = open.iter().filter_map(|(id, session)| {
                // There is no other reference, so no request of this session is being answered.
                let is_free = Arc::strong_count(session) == 1;
                let used = session.unused_since().filter(|_| is_free)?;
                Some((used, id))
            });
            if let Some(id) = unused.min().map(|(_, id)| id.clone()) {
                open.remove(&id);
            }
        }
        open.len() < self.limit
    }

    /// Finds a session and records that its client has just used it. The id is not a password: the
    /// token was checked before, and all clients share that one token, so there is no other client
    /// to protect the session from.
    pub(super) fn find(&self, id: &str) -> Option<Arc<HttpSession>> {
        let found = Arc::clone(lock(&self.open).get(id)?);
        if found.is_idle(self.idle) {
            self.end(id);
            return None;
        }
        found.touch();
        Some(found)
    }

    /// Ends a session, its stream and its jobs. False if there is no such session.
    pub(super) fn end(&self, id: &str) -> bool {
        let Some(session) = lock(&self.open).remove(id) else {
            return false;
        };
        lock(&session.presence).stream = None;
        let mut inside = session.inside();
        inside.connection.abandon_all();
        inside.end_cancelled();
        true
    }

    /// Removes the unused sessions.
    pub(super) fn expire(&self) {
        lock(&self.open).retain(|_, session| !session.is_idle(self.idle));
    }
}

impl HttpSession {
    /// The state, for one request at a time. The holder may wait for a disk, so waiting for this
    /// lock moves to another thread.
    pub(super) fn inside(&self) -> MutexGuard<'_, SessionState> {
        match self.inside.try_lock() {
            Ok(inside) => inside,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => block_in_place(|| lock(&self.inside)),
        }
    }

    /// Records that the client is still there.
    pub(super) fn touch(&self) {
        let mut presence = lock(&self.presence);
        presence.used = Instant::now();
        presence.came_back = true;
    }

    /// Opens the session's stream in place of an older one. The receiver reports the stream's end.
    pub(super) fn open_stream(&self) -> oneshot::Receiver<()> {
        let (stream, ended) = oneshot::channel();
        lock(&self.presence).stream = Some(stream);
        ended
    }

    fn is_idle(&self, limit: Duration) -> bool {
        let unused = self.unused_since();
        unused.is_some_and(|(_, used)| used.elapsed() >= limit)
    }

    /// Whether the client ever came back, and when it last did; `None` while it listens to a
    /// stream.
    fn unused_since(&self) -> Option<(bool, Instant)> {
        let presence = lock(&self.presence);
        let listens = presence.stream.as_ref().is_some_and(|s| !s.is_closed());
        (!listens).then_some((presence.came_back, presence.used))
    }
}

/// A job or question of a session; dropping it removes it from the session.
pub(super) struct Pending {
    pub(super) session: Arc<HttpSession>,
    pub(super) ticket: Ticket,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut inside = self.session.inside();
        inside.connection.abandon(self.ticket);
        inside.running.remove(&self.ticket);
        inside.questions.remove(&self.ticket);
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

/// The data behind these locks is consistent at every moment, so a panic elsewhere does not spoil
/// it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use twig_core::Limits;
    use twig_mcp::{Server, ServerIdentity, Tools};

    use super::*;

    const LIMIT: usize = 3;

    fn start(sessions: &Sessions) -> Option<String> {
        let identity = ServerIdentity {
            name: String::new(),
            title: String::new(),
            version: String::new(),
        };
        let server = Arc::new(Server::new(&identity, Limits::default(), Tools::default()));
        sessions.start(Connection::new(server), watch::channel(Arc::default()).1)
    }

    /// Makes it look as if a session was last used long ago.
    fn age(sessions: &Sessions, id: &str) {
        let session = sessions.find(id).unwrap();
        lock(&session.presence).used = Instant::now().checked_sub(sessions.idle).unwrap();
    }

    #[test]
    fn a_session_that_nobody_uses_is_forgotten() {
        let sessions = Sessions::new(LIMIT, Duration::from_secs(300));
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
    fn the_session_that_was_unused_for_the_longest_time_makes_room() {
        let sessions = Sessions::new(LIMIT, Duration::from_secs(300));
        let ids: Vec<String> = (0..LIMIT).filter_map(|_| start(&sessions)).collect();
        assert_eq!(ids.len(), LIMIT);
        assert!(sessions.find(&ids[0]).is_some(), "it is used");
        // Sessions whose clients never came back go first, oldest first; then the one that was used
        // again.
        for gone in [1, 2, 0] {
            let id = start(&sessions).unwrap();
            assert!(sessions.find(&id).is_some());
            assert!(sessions.find(&ids[gone]).is_none(), "{gone}");
        }
        assert_eq!(lock(&sessions.open).len(), LIMIT);
    }

    #[test]
    fn a_session_in_use_makes_no_room() {
        let sessions = Sessions::new(LIMIT, Duration::from_secs(300));
        let ids: Vec<String> = (0..LIMIT).filter_map(|_| start(&sessions)).collect();
        let streams: Vec<_> = ids[1..]
            .iter()
            .filter_map(|id| Some(sessions.find(id)?.open_stream()))
            .collect();
        let answered = sessions.find(&ids[0]);
        assert!(start(&sessions).is_none());
        drop(answered);
        assert!(start(&sessions).is_some());
        assert!(sessions.find(&ids[0]).is_none());
        drop(streams);
    }

    #[test]
    fn a_stream_ends_with_its_session_or_with_the_next_stream() {
        let sessions = Sessions::new(LIMIT, Duration::from_secs(300));
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
