//! Jobs: what is run elsewhere while its request waits, and given up with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome};
use twig_mcp::{Done, Ticket, Work};

use super::Shared;
use super::sessions::Session;

/// Renders that may wait for a worker, of all clients together.
const QUEUED: usize = 256;

impl Shared {
    /// Runs a job of a request, which may be one of a session.
    pub(super) async fn run(&self, work: Work, session: Option<(Arc<Session>, Ticket)>) -> Done {
        match work {
            Work::Render(job) => Done::Render(self.render(job).await),
            Work::Function(call) => Done::Function(self.call(call, session).await),
        }
    }

    /// A request that is given up gives up its render, unless it has begun.
    async fn render(&self, job: ComputedJob) -> JobOutcome {
        let (waiting, outcome) = oneshot::channel();
        if self.pool.queued() >= QUEUED {
            self.pool.forget(oneshot::Sender::is_closed);
            if self.pool.queued() >= QUEUED {
                let message = format!("the limit of {QUEUED} renders that wait is reached");
                return JobOutcome::limit(message);
            }
        }
        self.pool.submit(waiting, job);
        let given_up = || JobOutcome::limit("the render was given up".to_owned());
        outcome.await.unwrap_or_else(|_| given_up())
    }

    /// A request that is given up ends its function, even where it runs already.
    async fn call(
        &self,
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
        self.functions.submit(whose, call);
        let outcome = (&mut waited.outcome).await;
        outcome.unwrap_or_else(|_| FunctionOutcome::Failed("was given up".to_owned()))
    }

    /// Ends the functions that nobody waits for any more.
    pub(super) fn end_unwanted(&self) {
        self.functions.end(Whose::is_unwanted);
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
        self.shared.end_unwanted();
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

    /// The request has gone, or its client cancelled it or ended the session.
    fn is_unwanted(&self) -> bool {
        let is_open = |waiting: &oneshot::Sender<_>| !waiting.is_closed();
        let waits = self.waiting().as_ref().is_some_and(is_open);
        let is_wanted =
            |(session, ticket): &(Arc<Session>, Ticket)| session.inside().connection.wants(*ticket);
        !waits || !self.session.as_ref().is_none_or(is_wanted)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<oneshot::Sender<FunctionOutcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
