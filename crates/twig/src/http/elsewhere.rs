//! Jobs: what is run elsewhere while its request waits, and given up with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use twig_core::search::{Hit, Query};
use twig_core::store::{ItemWrite, StoreError, Written};
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome};
use twig_mcp::{Job, Ticket, Work, WorkKind, WorkOutcome};

use super::Shared;
use super::accept::is_over;
use super::peers::HttpPeer;
use super::sessions::Session;
use crate::fair_queue::Lane;
use crate::worker::Pool;

/// How long jobs may still take when the server ends; the rest of its last moments is for telling
/// that they were given up.
const LAST_JOBS: Duration = Duration::from_millis(300);

impl Shared {
    /// Runs a job of a peer's request, which may be one of a session.
    pub(super) async fn run(
        &self,
        job: Job,
        peer: Option<&Arc<HttpPeer>>,
        session: Option<Arc<Session>>,
    ) -> WorkOutcome {
        let lane = lane(peer, session.as_ref(), job.prompt.as_deref());
        match job.work {
            Work::Render(render) => WorkOutcome::Render(self.render(lane, render).await),
            Work::Write(write) => WorkOutcome::Write(self.write(*write).await),
            Work::Search(query) => WorkOutcome::Search(self.search(query).await),
            Work::Function(call) => {
                let session = session.map(|session| (session, job.ticket));
                WorkOutcome::Function(self.call(lane, call, session).await)
            }
        }
    }

    /// A request that is given up gives up its render, unless it has begun; then the limit of its
    /// time ends it.
    async fn render(&self, lane: Lane, job: ComputedJob) -> JobOutcome {
        let (waiting, outcome) = oneshot::channel();
        self.pool.submit(lane, waiting, job);
        let pool = &self.pool;
        let mut render = Render { outcome, pool };
        tokio::select! {
            outcome = &mut render.outcome => {
                outcome.unwrap_or_else(|_| JobOutcome::limit("the render was given up"))
            }
            () = self.last_moment() => JobOutcome::limit("the server is ending"),
        }
    }

    /// A request that is given up ends its function, even where it runs already.
    async fn call(
        &self,
        lane: Lane,
        call: Box<FunctionCall>,
        session: Option<(Arc<Session>, Ticket)>,
    ) -> FunctionOutcome {
        let (waiting, outcome) = oneshot::channel();
        let mut waited = Waited {
            shared: self,
            outcome,
        };
        let whose = Whose {
            waiting: Mutex::new(Some(waiting)),
            session,
        };
        self.functions.submit(lane, whose, call);
        let failed = |why: &str| FunctionOutcome::Failed(why.to_owned());
        tokio::select! {
            outcome = &mut waited.outcome => outcome.unwrap_or_else(|_| failed("was given up")),
            () = self.last_moment() => failed("was given up: the server is ending"),
        }
    }

    /// A search goes on even if its request is given up: it takes a moment, and nobody is told.
    async fn search(&self, query: Query) -> Result<Vec<Hit>, String> {
        let (tell, told) = oneshot::channel();
        self.service.search(self.catalog(), query, move |outcome| {
            let _ = tell.send(outcome);
        });
        let given_up = || "The search was given up".to_owned();
        tokio::select! {
            outcome = told => outcome.unwrap_or_else(|_| Err(given_up())),
            () = self.last_moment() => Err(given_up()),
        }
    }

    /// A write is carried out even if its request is given up.
    async fn write(&self, write: ItemWrite) -> Result<Written, StoreError> {
        let (tell, told) = oneshot::channel();
        self.service.write(write, move |outcome| {
            let _ = tell.send(outcome);
        });
        let given_up = || StoreError::Unavailable(WorkKind::Write.ending().to_owned());
        tokio::select! {
            outcome = told => outcome.unwrap_or_else(|_| Err(given_up())),
            () = self.last_moment() => Err(given_up()),
        }
    }

    /// Waits until what is not done yet can no longer be told to its client.
    async fn last_moment(&self) {
        is_over(&mut self.ending.clone()).await;
        tokio::time::sleep(LAST_JOBS).await;
    }

    /// Ends the functions of a session that its client cancelled, or ended with the session.
    ///
    /// Other sessions are not looked at: one whose disk does not answer would be waited for.
    pub(super) fn end_cancelled(&self, session: &Arc<Session>) {
        self.functions.end(|whose| whose.was_cancelled(session));
    }
}

/// Whose turn the work for a request takes.
pub(super) fn lane(
    peer: Option<&Arc<HttpPeer>>,
    session: Option<&Arc<Session>>,
    prompt: Option<&str>,
) -> Lane {
    let peer = peer.map(|peer| (peer.network(), peer.number()));
    let (network, number) = peer.unwrap_or_default();
    let client = match session {
        Some(session) => (true, Arc::as_ptr(session).addr() as u64),
        None => (false, number),
    };
    Lane::new(network, prompt, client)
}

/// A render that somebody waits for.
struct Render<'p> {
    outcome: oneshot::Receiver<JobOutcome>,
    pool: &'p Pool<oneshot::Sender<JobOutcome>>,
}

/// Once nobody waits for it, it makes room for others.
impl Drop for Render<'_> {
    fn drop(&mut self) {
        self.outcome.close();
        self.pool.forget(oneshot::Sender::is_closed);
    }
}

/// A request that waits for a function.
struct Waited<'s> {
    shared: &'s Shared,
    outcome: oneshot::Receiver<FunctionOutcome>,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        self.outcome.close();
        self.shared.functions.end(Whose::has_left);
    }
}

/// Whose function it is.
pub(super) struct Whose {
    waiting: Mutex<Option<oneshot::Sender<FunctionOutcome>>>,
    session: Option<(Arc<Session>, Ticket)>,
}

impl Whose {
    pub(super) fn tell(&self, outcome: FunctionOutcome) {
        if let Some(waiting) = self.waiting().take() {
            let _ = waiting.send(outcome);
        }
    }

    /// The request has gone.
    fn has_left(&self) -> bool {
        let is_open = |waiting: &oneshot::Sender<_>| !waiting.is_closed();
        !self.waiting().as_ref().is_some_and(is_open)
    }

    /// It is of this session, which does not want it any more.
    fn was_cancelled(&self, by: &Arc<Session>) -> bool {
        let mine = self.session.as_ref();
        let mine = mine.filter(|(session, _)| Arc::ptr_eq(session, by));
        mine.is_some_and(|(session, ticket)| !session.inside().connection.wants(*ticket))
    }

    fn waiting(&self) -> MutexGuard<'_, Option<oneshot::Sender<FunctionOutcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
