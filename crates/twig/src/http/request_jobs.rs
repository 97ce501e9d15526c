//! Jobs of requests; cancelling the request cancels its job.

use std::sync::Arc;

use tokio::sync::oneshot;
use twig_mcp::{Job, WorkOutcome};

use super::Shared;
use super::drain::is_over;
use super::peers::HttpPeer;
use super::sessions::HttpSession;
use crate::fair_queue::Lane;
use crate::jobs::CANCELLED;

impl Shared {
    /// Runs a job for a peer's request, which may belong to a session. Dropping the request, or
    /// cancelling it in the session, cancels the job.
    pub(super) async fn run(
        &self,
        job: Job,
        peer: Option<&Arc<HttpPeer>>,
        session: Option<&Arc<HttpSession>>,
    ) -> WorkOutcome {
        let lane = lane(peer, session, job.prompt.as_deref());
        let kind = job.work.kind();
        let (done, outcome) = oneshot::channel();
        let running = self.service.jobs.start(job.work, lane, move |outcome| {
            let _ = done.send(outcome);
        });
        let running = Arc::new(running);
        if let Some(session) = session {
            session.inside().follow(job.ticket, &running);
        }
        tokio::select! {
            outcome = outcome => outcome.unwrap_or_else(|_| kind.refused(CANCELLED)),
            () = self.last_moment() => kind.refused(kind.ending()),
        }
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
