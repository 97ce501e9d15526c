//! Legacy sessions: a connection's state, kept while the client uses it. Its id says enough to go on
//! without that state, for example after a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::block_in_place;
use twig_mcp::http::ResumedRequest;
use twig_mcp::{Connection, Ticket};

use super::ended_sessions::EndedSessions;
use super::sealed_id::{SessionOwner, SessionSealer};
use crate::jobs::RunningJob;

/// How often to look for unused sessions.
const SWEEP: Duration = Duration::from_secs(30);

pub(super) struct Sessions {
    limit: usize,
    /// The connection of a session that is unused for this long is dropped.
    idle: Duration,
    sealer: SessionSealer,
    ended: EndedSessions,
    open: Mutex<HashMap<String, Arc<HttpSession>>>,
}

pub(super) struct HttpSession {
    owner: SessionOwner,
    inside: Mutex<SessionState>,
    presence: Mutex<Presence>,
}

pub(super) struct SessionState {
    pub(super) connection: Connection,
    /// Knows which changes were sent to the client.
    pub(super) changes: watch::Receiver<u64>,
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
    pub(super) fn new(
        limit: usize,
        idle: Duration,
        sealer: SessionSealer,
        ended: EndedSessions,
    ) -> Self {
        Self {
            limit,
            idle,
            sealer,
            ended,
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

    /// Makes the id of a session, and keeps its connection if there is room. Nothing is lost if there
    /// is none: the id says what is needed to go on.
    pub(super) fn start(
        &self,
        owner: SessionOwner,
        connection: Connection,
        changes: watch::Receiver<u64>,
    ) -> Option<String> {
        let id = self.sealer.seal(owner, &connection.client_state())?;
        let session = Arc::new(HttpSession::new(owner, connection, changes));
        self.keep(&id, &session);
        Some(id)
    }

    /// Keeps a session, if there is room.
    fn keep(&self, id: &str, session: &Arc<HttpSession>) -> bool {
        let mut open = lock(&self.open);
        let has_room = self.make_room(&mut open);
        if has_room {
            open.insert(id.to_owned(), Arc::clone(session));
        }
        has_room
    }

    /// Removes the unused sessions and, if that is not enough, the one that was unused for the
    /// longest time. Its client gets another connection with its next request.
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

    /// Finds the session of an owner and records that its client has just used it. A session that is
    /// not kept here goes on with the connection that `resume` makes of the client's state.
    ///
    /// The id is not a password: the door has asked for one before, and the owner has to be the
    /// caller. `None` whatever is wrong with the id.
    pub(super) fn find(
        &self,
        id: &str,
        owner: SessionOwner,
        resume: impl FnOnce(&[u8]) -> (Connection, watch::Receiver<u64>),
    ) -> Option<FoundSession> {
        if self.ended.has(id) {
            return None;
        }
        let known = lock(&self.open).get(id).cloned();
        if let Some(known) = known.filter(|known| !known.is_idle(self.idle)) {
            if known.owner != owner {
                return None;
            }
            known.touch();
            return Some(FoundSession {
                session: known,
                is_kept: true,
            });
        }
        let state = self.sealer.open_id(id, owner)?;
        let (connection, changes) = resume(&state);
        let session = Arc::new(HttpSession::new(owner, connection, changes));
        session.touch();
        let is_kept = self.keep(id, &session);
        Some(FoundSession { session, is_kept })
    }

    /// Ends a session, its stream and its jobs. False if there is no such session of this owner.
    pub(super) fn end(&self, id: &str, owner: SessionOwner) -> bool {
        if self.sealer.open_id(id, owner).is_none() || self.ended.has(id) {
            return false;
        }
        self.ended.add(id);
        if let Some(session) = lock(&self.open).remove(id) {
            session.close();
        }
        true
    }

    /// Whether other servers may have ended sessions that this one has to ask for.
    pub(super) fn is_stale(&self) -> bool {
        self.ended.is_stale()
    }

    /// Ends the sessions that clients have ended on other servers.
    pub(super) fn refresh(&self) {
        if !self.ended.refresh() {
            return;
        }
        let mut open = lock(&self.open);
        let ended = open.extract_if(|id, _| self.ended.has(id));
        let ended: Vec<Arc<HttpSession>> = ended.map(|(_, session)| session).collect();
        drop(open);
        for session in ended {
            session.close();
        }
    }

    /// Removes the unused sessions.
    pub(super) fn expire(&self) {
        lock(&self.open).retain(|_, session| !session.is_idle(self.idle));
    }
}

/// A session of the caller.
pub(super) struct FoundSession {
    pub(super) session: Arc<HttpSession>,
    /// Whether the next request finds the same connection.
    pub(super) is_kept: bool,
}

impl HttpSession {
    fn new(owner: SessionOwner, connection: Connection, changes: watch::Receiver<u64>) -> Self {
        Self {
            owner,
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
        }
    }

    /// Ends its stream and its jobs.
    fn close(&self) {
        lock(&self.presence).stream = None;
        let mut inside = self.inside();
        inside.connection.abandon_all();
        inside.end_cancelled();
    }

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

    fn sessions() -> Sessions {
        let sealer = SessionSealer::open(Some("a key"), None, None).unwrap();
        let idle = Duration::from_secs(300);
        Sessions::new(LIMIT, idle, sealer, EndedSessions::open(None))
    }

    fn owner() -> SessionOwner {
        SessionOwner::new("local", "/mcp")
    }

    fn connection() -> Connection {
        let identity = ServerIdentity {
            name: String::new(),
            title: String::new(),
            version: String::new(),
        };
        let server = Server::new(&identity, Limits::default(), Tools::default());
        Connection::new(Arc::new(server))
    }

    fn start(sessions: &Sessions) -> String {
        let changes = watch::channel(0).1;
        sessions.start(owner(), connection(), changes).unwrap()
    }

    fn find(sessions: &Sessions, id: &str) -> Option<FoundSession> {
        sessions.find(id, owner(), |_| (connection(), watch::channel(0).1))
    }

    fn is_kept(sessions: &Sessions, id: &str) -> bool {
        lock(&sessions.open).contains_key(id)
    }

    /// Makes it look as if a session was last used long ago.
    fn age(sessions: &Sessions, id: &str) {
        let session = find(sessions, id).unwrap().session;
        lock(&session.presence).used = Instant::now().checked_sub(sessions.idle).unwrap();
    }

    #[test]
    fn the_connection_of_an_unused_session_is_dropped_and_its_id_still_works() {
        let sessions = sessions();
        let (kept, idle) = (start(&sessions), start(&sessions));
        age(&sessions, &idle);
        sessions.expire();
        assert!(!is_kept(&sessions, &idle) && is_kept(&sessions, &kept));
        assert!(find(&sessions, &idle).unwrap().is_kept);
        assert!(is_kept(&sessions, &idle));
    }

    #[test]
    fn the_session_that_was_unused_for_the_longest_time_makes_room() {
        let sessions = sessions();
        let ids: Vec<String> = (0..LIMIT).map(|_| start(&sessions)).collect();
        assert!(find(&sessions, &ids[0]).is_some(), "it is used");
        // Sessions whose clients never came back go first, oldest first; then the one that was used
        // again.
        for gone in [1, 2, 0] {
            let id = start(&sessions);
            assert!(find(&sessions, &id).is_some());
            assert!(!is_kept(&sessions, &ids[gone]), "{gone}");
        }
        assert_eq!(lock(&sessions.open).len(), LIMIT);
    }

    #[test]
    fn a_session_in_use_makes_no_room() {
        let sessions = sessions();
        let ids: Vec<String> = (0..LIMIT).map(|_| start(&sessions)).collect();
        let streams: Vec<_> = ids[1..]
            .iter()
            .filter_map(|id| Some(find(&sessions, id)?.session.open_stream()))
            .collect();
        let answered = find(&sessions, &ids[0]);
        let more = start(&sessions);
        assert!(!is_kept(&sessions, &more));
        assert!(!find(&sessions, &more).unwrap().is_kept, "it is answered");
        drop(answered);
        assert!(find(&sessions, &more).unwrap().is_kept);
        assert!(!is_kept(&sessions, &ids[0]));
        drop(streams);
    }

    #[test]
    fn a_stream_ends_with_its_session_or_with_the_next_stream() {
        let sessions = sessions();
        let id = start(&sessions);
        let session = find(&sessions, &id).unwrap().session;
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
        assert!(sessions.end(&id, owner()));
        assert!(matches!(
            second.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        ));
        assert!(find(&sessions, &id).is_none(), "it does not come back");
        assert!(!sessions.end(&id, owner()));
    }

    #[test]
    fn a_session_belongs_to_its_owner() {
        let sessions = sessions();
        let id = start(&sessions);
        let other = SessionOwner::new("anna", "/mcp");
        let resume = |_: &[u8]| (connection(), watch::channel(0).1);
        assert!(sessions.find(&id, other, resume).is_none());
        age(&sessions, &id);
        assert!(sessions.find(&id, other, resume).is_none());
        assert!(!sessions.end(&id, other));
        assert!(find(&sessions, &id).is_some());
    }
}
