//! Jobs of requests, which are cancelled with them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use twig_mcp::{Job, WorkOutcome};

use super::Shared;
use super::accept::is_over;
use super::peers::HttpPeer;
use super::sessions::HttpSession;
use crate::fair_queue::Lane;
use crate::jobs::CANCELLED;

/// How long jobs may still take when the server ends; the rest of its last moments is for telling
/// that they were given up.
const LAST_JOBS: Duration = Duration::from_millis(300);

impl Shared {
    /// Runs a job of a peer's request, which may be one of a session. Where the request goes away, or
    /// the session cancels it, the job is cancelled.
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

    /// Waits until what is not done yet can no longer be told to its client.
    async fn last_moment(&self) {
        is_over(&mut self.ending.clone()).await;
        tokio::time::sleep(LAST_JOBS).await;
    }
}

/// Whose turn the work for a request takes.
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
