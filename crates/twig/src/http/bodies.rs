//! Bodies of requests: read to their end, within bounds of length, time and memory.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use twig_mcp::http::Trouble;

/// How long a body that nobody wants may take.
const UNWANTED_TIME: Duration = Duration::from_secs(1);
/// Bytes that every body may have.
const SMALL: usize = 64 * 1024;
/// Longer bodies that may be held at once; others wait for their turn.
const LARGE: usize = 32;

/// Room for the bodies of all requests.
pub(super) struct Bodies {
    time: Duration,
    large: Semaphore,
}

/// A whole body, and its turn where it is a long one.
pub(super) struct Whole<'b> {
    bytes: Vec<u8>,
    turn: Option<SemaphorePermit<'b>>,
}

impl Whole<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Bodies {
    /// Room for bodies of which each may take that time.
    pub(super) fn new(time: Duration) -> Self {
        Self {
            time,
            large: Semaphore::new(LARGE),
        }
    }

    /// Reads a body, and no further than the limit.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Whole<'_>, Trouble> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > limit) {
            return Err(Trouble::TooLarge(limit));
        }
        let read = timeout(self.time, self.collect(body, limit)).await;
        read.unwrap_or(Err(Trouble::Slow))
    }

    async fn collect(&self, body: Body, limit: usize) -> Result<Whole<'_>, Trouble> {
        let mut chunks = body.into_data_stream();
        let mut whole = Whole {
            bytes: Vec::new(),
            turn: None,
        };
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Trouble::Body)?;
            let length = whole.bytes.len() + chunk.len();
            if length > limit {
                return Err(Trouble::TooLarge(limit));
            }
            if length > SMALL && whole.turn.is_none() {
                whole.turn = self.large.acquire().await.ok();
            }
            whole.bytes.extend_from_slice(&chunk);
        }
        Ok(whole)
    }
}

/// Lets a body that nobody wants go by, as long as it is short, and says whether it ended.
///
/// A client that still sends would find its connection closed, and may take that for an outage.
pub(super) async fn pass_by(body: Body) -> bool {
    if body.size_hint().lower() > SMALL as u64 {
        return false;
    }
    let end = async {
        let mut left = SMALL;
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let rest = chunk.ok().and_then(|chunk| left.checked_sub(chunk.len()));
            let Some(rest) = rest else {
                return false;
            };
            left = rest;
        }
        true
    };
    timeout(UNWANTED_TIME, end).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_take_turns_and_short_ones_do_not() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (bodies, headers) = (Bodies::new(Duration::from_secs(30)), HeaderMap::new());
            let read = |length| bodies.read(&headers, Body::from(vec![b' '; length]), 2 * SMALL);
            let mut held = Vec::new();
            for _ in 0..LARGE {
                held.push(read(SMALL + 1).await.ok().unwrap());
            }
            assert_eq!(bodies.large.available_permits(), 0);
            assert_eq!(read(SMALL).await.ok().unwrap().bytes().len(), SMALL);
            let waits = timeout(Duration::from_millis(10), read(SMALL + 1)).await;
            assert!(waits.is_err());
            held.pop();
            assert!(read(2 * SMALL).await.is_ok());
            let longer = read(2 * SMALL + 1).await;
            assert_eq!(longer.err(), Some(Trouble::TooLarge(2 * SMALL)));
        });
    }
}
