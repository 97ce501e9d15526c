//! Request bodies: read to their end, within limits of length, time and memory.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};
use twig_mcp::http::HttpRefusal;

use super::limits::{BODY_ROOM, BODY_TURN, BODY_TURNS, SMALL_BODY};

/// How long to read a body that will be discarded.
const UNWANTED_TIME: Duration = Duration::from_secs(1);

/// Memory for the bodies of all requests.
///
/// A long body takes from it the memory that it uses. If none is left, the body waits for one of a
/// few turns, in which it is read to its end. So clients that stop in the middle block no other
/// client while there is memory left, and not for long when there is none.
pub(super) struct RequestBodies {
    time: Duration,
    wait: Duration,
    room: Semaphore,
    turns: Semaphore,
}

/// A whole body and, if it is a long one, the memory or the turn that it took.
pub(super) struct Whole<'b> {
    bytes: Vec<u8>,
    bodies: &'b RequestBodies,
    room: Option<SemaphorePermit<'b>>,
    turn: Option<SemaphorePermit<'b>>,
}

impl<'b> Whole<'b> {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory that a job made from this body still needs: as much as the job holds, and at
    /// least the size of the body.
    pub(super) fn room_for_job(
        &self,
        held: usize,
    ) -> Result<Option<SemaphorePermit<'b>>, HttpRefusal> {
        let length = self.bytes.len().max(held);
        if length <= SMALL_BODY {
            return Ok(None);
        }
        let more = self.more_room(length);
        more.map(Some).ok_or(HttpRefusal::Busy)
    }

    /// Drops the body and its turn for a job that was made from it; returns the memory that the job
    /// keeps.
    pub(super) fn into_room(self) -> Option<SemaphorePermit<'b>> {
        self.room
    }

    /// Reserves memory for this many bytes in all, if there is any left.
    fn take_room(&mut self, length: usize) -> bool {
        let Some(more) = self.more_room(length) else {
            return false;
        };
        match &mut self.room {
            Some(room) => room.merge(more),
            empty => *empty = Some(more),
        }
        true
    }

    fn more_room(&self, length: usize) -> Option<SemaphorePermit<'b>> {
        let taken = self.room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = u32::try_from(length.saturating_sub(taken)).ok()?;
        self.bodies.room.try_acquire_many(more).ok()
    }
}

impl RequestBodies {
    /// Memory for bodies that may each take `time` to arrive, and `wait` for a turn.
    pub(super) fn new(time: Duration, wait: Duration) -> Self {
        Self {
            time,
            wait,
            room: Semaphore::new(BODY_ROOM),
            turns: Semaphore::new(BODY_TURNS),
        }
    }

    /// The memory that a job needs whose request is no longer there.
    pub(super) fn room_for_job(
        &self,
        held: usize,
    ) -> Result<Option<SemaphorePermit<'_>>, HttpRefusal> {
        if held <= SMALL_BODY {
            return Ok(None);
        }
        let room = u32::try_from(held).ok();
        let room = room.and_then(|room| self.room.try_acquire_many(room).ok());
        room.map(Some).ok_or(HttpRefusal::Busy)
    }

    /// Reads a body, up to the limit.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Whole<'_>, HttpRefusal> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > limit) {
            return Err(HttpRefusal::TooLarge(limit));
        }
        let read = timeout(self.time, self.collect(body, limit)).await;
        read.unwrap_or(Err(HttpRefusal::Slow))
    }

    async fn collect(&self, body: Body, limit: usize) -> Result<Whole<'_>, HttpRefusal> {
        let mut chunks = body.into_data_stream();
        let mut turn_end = None;
        let mut whole = Whole {
            bytes: Vec::new(),
            bodies: self,
            room: None,
            turn: None,
        };
        loop {
            let chunk = match turn_end {
                None => chunks.next().await,
                Some(end) => {
                    let chunk = timeout_at(end, chunks.next()).await;
                    chunk.map_err(|_| HttpRefusal::Slow)?
                }
            };
            let Some(chunk) = chunk else {
                return Ok(whole);
            };
            let chunk = chunk.map_err(|_| HttpRefusal::Body)?;
            let length = whole.bytes.len() + chunk.len();
            if length > limit {
                return Err(HttpRefusal::TooLarge(limit));
            }
            if length > SMALL_BODY && whole.turn.is_none() && !whole.take_room(length) {
                let turn = timeout(self.wait, self.turns.acquire()).await;
                whole.turn = turn.map_err(|_| HttpRefusal::Busy)?.ok();
                turn_end = Some(Instant::now() + BODY_TURN);
            }
            whole.bytes.extend_from_slice(&chunk);
        }
    }
}

/// Reads and discards a short body. Returns whether it ended.
///
/// A client that is still sending would find its connection closed, and might take that for an
/// outage.
pub(super) async fn pass_by(body: Body) -> bool {
    if body.size_hint().lower() > SMALL_BODY as u64 {
        return false;
    }
    let end = async {
        let mut left = SMALL_BODY;
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

    const MINUTE: Duration = Duration::from_secs(60);

    fn block_on(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    async fn read(bodies: &RequestBodies, length: usize) -> Result<Whole<'_>, HttpRefusal> {
        let body = Body::from(vec![b' '; length]);
        bodies.read(&HeaderMap::new(), body, BODY_ROOM).await
    }

    fn take_all(semaphore: &Semaphore) -> SemaphorePermit<'_> {
        let all = semaphore.available_permits().try_into().unwrap();
        semaphore.try_acquire_many(all).unwrap()
    }

    #[test]
    fn long_bodies_take_room_then_turns_and_short_ones_neither() {
        block_on(async {
            let bodies = RequestBodies::new(MINUTE, MINUTE);
            let first = read(&bodies, BODY_ROOM).await.ok().unwrap();
            assert_eq!(bodies.room.available_permits(), 0);
            let mut turns = Vec::new();
            for _ in 0..BODY_TURNS {
                turns.push(read(&bodies, SMALL_BODY + 1).await.ok().unwrap());
            }
            assert_eq!(bodies.turns.available_permits(), 0);
            let short = read(&bodies, SMALL_BODY).await.ok().unwrap();
            assert_eq!(short.bytes().len(), SMALL_BODY);
            let waits = timeout(Duration::from_millis(10), read(&bodies, SMALL_BODY + 1)).await;
            assert!(waits.is_err());
            turns.pop();
            assert!(read(&bodies, 2 * SMALL_BODY).await.is_ok());
            drop((first, turns, short));
            assert_eq!(bodies.room.available_permits(), BODY_ROOM);
            assert_eq!(bodies.turns.available_permits(), BODY_TURNS);
            let longer = read(&bodies, BODY_ROOM + 1).await;
            assert_eq!(longer.err(), Some(HttpRefusal::TooLarge(BODY_ROOM)));
        });
    }

    #[test]
    fn waiting_for_a_turn_has_an_end() {
        block_on(async {
            let bodies = RequestBodies::new(MINUTE, Duration::from_millis(1));
            let _all = take_all(&bodies.room);
            let _turns = take_all(&bodies.turns);
            let busy = read(&bodies, SMALL_BODY + 1).await;
            assert_eq!(busy.err(), Some(HttpRefusal::Busy));
        });
    }

    #[test]
    fn a_job_gives_its_turn_up_and_takes_room() {
        block_on(async {
            let bodies = RequestBodies::new(MINUTE, MINUTE);
            let all = take_all(&bodies.room);
            let [lucky, late] = [read(&bodies, 2 * SMALL_BODY), read(&bodies, 2 * SMALL_BODY)];
            let (lucky, late) = (lucky.await.ok().unwrap(), late.await.ok().unwrap());
            assert_eq!(late.room_for_job(0).err(), Some(HttpRefusal::Busy));
            drop(late);
            assert_eq!(bodies.turns.available_permits(), BODY_TURNS - 1);
            drop(all);
            let job = (lucky.room_for_job(0).ok().unwrap(), lucky.into_room());
            assert_eq!(bodies.turns.available_permits(), BODY_TURNS);
            assert_eq!(bodies.room.available_permits(), BODY_ROOM - 2 * SMALL_BODY);
            drop(job);
            assert_eq!(bodies.room.available_permits(), BODY_ROOM);
        });
    }
}
