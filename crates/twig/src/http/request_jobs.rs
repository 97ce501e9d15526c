//! Jobs of requests; cancelling the request cancels its job.

use std::sync::Arc;

use tokio::sync::oneshot;
use twig_mcp::{Job, Ticket, Work, WorkKind, WorkOutcome};

use super::Shared;
use super::caller::Caller;
use super::doorkeeper::Person;
use super::drain::is_over;
use super::peers::HttpPeer;
use super::sessions::HttpSession;
use crate::fair_queue::Lane;
use crate::jobs::{CANCELLED, JobPlace};

/// The answer to a person who runs as many functions as one may.
const TOO_MANY_FUNCTIONS: &str =
    "You run as many functions as one person may: wait until one of them is done";

impl Shared {
    /// Runs a job for a peer's request, which may belong to a session. Dropping the request, or
    /// cancelling it in the session, cancels the job.
    pub(super) async fn run(
        &self,
        job: Job,
        caller: &Caller,
        peer: Option<&Arc<HttpPeer>>,
        session: Option<&Arc<HttpSession>>,
    ) -> WorkOutcome {
        let session = session.map(|session| (session, job.ticket));
        let place = &caller.view.place;
        self.run_work(
            job.work,
            job.prompt.as_deref(),
            caller,
            place,
            peer,
            session,
        )
        .await
    }

    /// The same for work in any place, that is perhaps for a prompt and perhaps for a request of a
    /// session.
    pub(super) async fn run_work(
        &self,
        mut work: Work,
        prompt: Option<&str>,
        caller: &Caller,
        place: &JobPlace,
        peer: Option<&Arc<HttpPeer>>,
        session: Option<(&Arc<HttpSession>, Ticket)>,
    ) -> WorkOutcome {
        let person = caller.admission.person().map(Person::name);
        let lane = match person {
            // People take turns, from however many addresses and connections they ask.
            Some(name) => Lane::new(("person", name), prompt, ()),
            None => lane(peer, session.map(|(session, _)| session), prompt),
        };
        let kind = work.kind();
        if let Work::Write(write) = &mut work {
            caller.author_of(write);
        }
        let person = caller.admission.person();
        let person = person.filter(|_| kind == WorkKind::Function);
        let turn = person.map(|person| person.allowance.function());
        if matches!(turn, Some(None)) {
            return kind.refused(TOO_MANY_FUNCTIONS);
        }
        let (done, outcome) = oneshot::channel();
        let running = self.service.jobs.start(work, place, lane, move |outcome| {
            let _ = done.send(outcome);
        });
        let running = Arc::new(running);
        if let Some((session, ticket)) = session {
            session.inside().follow(ticket, &running);
        }
        let outcome = tokio::select! {
            outcome = outcome => outcome.unwrap_or_else(|_| kind.refused(CANCELLED)),
            () = self.last_moment() => kind.refused(kind.ending()),
        };
        drop(turn);
        if kind == WorkKind::Write {
            // Others who see the project hear of it at once.
            self.announce();
        }
        outcome
    }

    /// Waits until the last moment at which a client can still be sent a result.
    async fn last_moment(&self) {
        is_over(&mut self.ending.clone()).await;
        tokio::time::sleep(self.last_jobs()).await;
    }
}

/// The queue lane for a request's work.
pub(super) fn lane(
    peer: Option<&Arc<HttpPeer>>,
    session: Option<&Arc<HttpSession>>,
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
