//! How a session ends: pending requests are still answered, and the results of running writes are
//! reported.

use std::io;
use std::time::{Duration, Instant};

use twig_mcp::{WorkKind, WorkOutcome};

use super::StdioSession;
use crate::jobs::RunningJob;

/// Once the input has ended: how much longer than its own limit the next job may take.
const LAST_RENDERS: Duration = Duration::from_millis(500);
/// Once the input has ended: how long a client may pause before it reads on.
const LAST_READS: Duration = Duration::from_secs(10);
/// After a signal: how long a client that does not read, or a write, may delay the end.
const LAST_WRITES: Duration = Duration::from_millis(500);

impl StdioSession<'_> {
    /// The input has ended: pending requests are still answered, unless nothing makes progress.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let mut moved = Instant::now();
        loop {
            self.pump()?;
            // No answer can come any more.
            while let Some((ticket, _)) = self.questions.pop_first() {
                let unanswered = WorkOutcome::Unanswered;
                self.connection.finish(ticket, unanswered, &mut self.output);
            }
            let patience = match (self.output.is_empty(), self.connection.in_flight()) {
                (true, 0) => return Ok(()),
                (true, _) => (moved + self.longest_job()).saturating_duration_since(Instant::now()),
                (false, _) => LAST_READS,
            };
            let ready = self.wait(false, patience)?;
            if ready.timed_out || ready.signal {
                return Ok(());
            }
            self.events.drain_news();
            if self.take_news() {
                moved = Instant::now();
            }
        }
    }

    /// How long the next job may take to end.
    fn longest_job(&self) -> Duration {
        let limits = &self.service.limits;
        let is_render = |job: &RunningJob| job.kind() == WorkKind::Render;
        let longest = if self.running.values().all(is_render) {
            limits.render_millis
        } else {
            let longest = limits.function_millis.max(limits.store_millis);
            longest.max(limits.render_millis)
        };
        Duration::from_millis(longest) + LAST_RENDERS
    }

    /// Completes open subscriptions and writes the rest, unless the client does not read it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + LAST_WRITES;
        self.take_last_writes(deadline);
        self.connection.close(&mut self.output);
        loop {
            self.output.flush()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if self.output.is_empty() || left.is_zero() {
                return Ok(());
            }
            self.events.wait_for_output(left)?;
        }
    }

    /// A running write most likely finishes in a moment, and its client should know.
    fn take_last_writes(&mut self, deadline: Instant) {
        let is_awaited = |session: &Self| {
            let mut running = session.running.iter();
            running.any(|(ticket, job)| {
                job.kind() == WorkKind::Write && session.connection.wants(*ticket)
            })
        };
        while is_awaited(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.outcomes.recv_timeout(left) {
                Ok(outcome) => self.take(outcome),
                Err(_) => return,
            }
        }
    }
}
