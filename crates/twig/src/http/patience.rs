//! How long a connection waits for a request: long between two requests, for clients that keep
//! connections open, and short once one has begun.
//!
//! hyper has one timeout for both. It asks for a timer when it starts to wait for a head and drops
//! it when the head is complete. This module decides how long that timer runs, by whether bytes
//! have arrived.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::time::Instant;

use super::HttpLimits;
use super::peers::HttpPeer;

/// Waiting for a request.
const WAITING: u8 = 0;
/// Bytes of it have arrived.
const BEGUN: u8 = 1;

/// The timeouts of one connection.
#[derive(Clone)]
pub(super) struct ConnectionPatience {
    head: Duration,
    idle: Duration,
    peer: Arc<HttpPeer>,
    state: Arc<AtomicU8>,
}

impl ConnectionPatience {
    pub(super) fn new(limits: &HttpLimits, peer: Arc<HttpPeer>) -> Self {
        Self {
            head: limits.head,
            idle: limits.idle,
            peer,
            state: Arc::new(AtomicU8::new(WAITING)),
        }
    }

    /// Records that bytes arrived.
    pub(super) fn hear(&self) {
        self.state.store(BEGUN, Ordering::Relaxed);
    }

    fn wait(&self) -> Pin<Box<dyn Sleep>> {
        self.peer.wait();
        self.state.store(WAITING, Ordering::Relaxed);
        let end = if self.peer.is_known() {
            Instant::now() + self.idle
        } else {
            // Neither a handshake nor requests that are refused gain time.
            self.peer.since() + self.head
        };
        Box::pin(Waiting {
            sleep: Box::pin(tokio::time::sleep_until(end)),
            patience: self.clone(),
            has_begun: false,
        })
    }
}

impl Timer for ConnectionPatience {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Sleep>> {
        self.wait()
    }

    fn sleep_until(&self, _: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        self.wait()
    }
}

struct Waiting {
    sleep: Pin<Box<tokio::time::Sleep>>,
    patience: ConnectionPatience,
    has_begun: bool,
}

impl Sleep for Waiting {}

impl Future for Waiting {
    type Output = ();

    /// hyper polls this whenever the head is still incomplete.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.has_begun && self.patience.state.load(Ordering::Relaxed) == BEGUN {
            self.has_begun = true;
            let end = Instant::now() + self.patience.head;
            if end < self.sleep.deadline() {
                self.sleep.as_mut().reset(end);
            }
        }
        self.sleep.as_mut().poll(context)
    }
}
