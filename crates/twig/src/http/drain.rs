//! The end of a server: at once, or after a drain that no client notices.
//!
//! With `drain_millis`, a signal first makes `/readyz` answer 503, so that load balancers send new
//! clients elsewhere; meanwhile the server accepts and answers as before. Then it stops accepting,
//! ends each stream after a random delay, so that not all clients connect again in the same moment,
//! and gives requests under way the time that they need.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::{Shared, notify_socket};

/// How long clients may take to read the last replies at shutdown: without a drain, and with one.
const LAST_WRITES: Duration = Duration::from_millis(500);
const DRAINED_LAST_WRITES: Duration = Duration::from_secs(13);
/// How long jobs may still run when the server ends; the rest of the shutdown time is for reporting
/// that they were cancelled.
const LAST_JOBS: Duration = Duration::from_millis(300);
const DRAINED_LAST_JOBS: Duration = Duration::from_secs(12);
/// The longest delay before a stream ends, in milliseconds.
const STREAM_DELAY: u64 = 2_000;

/// The end of one stream.
pub(super) struct StreamEnding {
    ending: watch::Receiver<bool>,
    delay: Duration,
    /// Known once the server ends.
    at: Option<Instant>,
}

impl StreamEnding {
    /// Waits until the stream has to end. It may be dropped and called again.
    pub(super) async fn reached(&mut self) {
        is_over(&mut self.ending).await;
        if self.delay.is_zero() {
            return;
        }
        let at = *self.at.get_or_insert_with(|| Instant::now() + self.delay);
        sleep_until(at).await;
    }
}

impl Shared {
    /// Tells everyone who asks that the server is ending.
    pub(super) fn start_drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        notify_socket::stopping();
        tracing::debug!("ending on a signal");
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Has a client close its connection, so that its next request finds another server and does not
    /// meet the end of this one.
    pub(super) fn close_if_draining(&self, response: &mut Response) {
        if self.is_draining() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
    }

    /// When a stream that begins now has to end, once the server ends.
    pub(super) fn stream_ending(&self) -> StreamEnding {
        StreamEnding {
            ending: self.ending.clone(),
            delay: if self.limits.drain.is_zero() {
                Duration::ZERO
            } else {
                random_delay()
            },
            at: None,
        }
    }

    pub(super) fn last_writes(&self) -> Duration {
        if self.limits.drain.is_zero() {
            LAST_WRITES
        } else {
            DRAINED_LAST_WRITES
        }
    }

    pub(super) fn last_jobs(&self) -> Duration {
        if self.limits.drain.is_zero() {
            LAST_JOBS
        } else {
            DRAINED_LAST_JOBS
        }
    }
}

/// Waits until the server ends.
pub(super) async fn is_over(ending: &mut watch::Receiver<bool>) {
    // Without a sender there is no server either.
    let _ = ending.wait_for(|is_over| *is_over).await;
}

fn random_delay() -> Duration {
    // Without random numbers, all streams end at once.
    let random = getrandom::u64().unwrap_or_default();
    Duration::from_millis(random % (STREAM_DELAY + 1))
}
