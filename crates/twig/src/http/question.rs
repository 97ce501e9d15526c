//! The stream of a request that asked its client a question: the question, then the answer to the
//! request.
//!
//! The client sends its answer in a request of its own, which hands it over to this stream. The
//! stream ends after a while without an answer, and with the connection, the session or the request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::stream::unfold;
use hyper::body::Bytes;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};
use twig_core::limits::TOO_MANY_WAIT;
use twig_mcp::http::{Reply, ResumedRequest};
use twig_mcp::{Job, Outbox, WorkOutcome};

use super::Shared;
use super::caller::Caller;
use super::drain::StreamEnding;
use super::metrics::OpenStream;
use super::peers::HttpPeer;
use super::sessions::Pending;
use super::stream::{COMMENT, Events, event_stream};

/// The stream of a question.
pub(super) fn stream(
    pending: Pending,
    question: &[u8],
    caller: &Caller,
    peer: Option<&Arc<HttpPeer>>,
    shared: &Arc<Shared>,
) -> Response {
    let answer = pending.session.inside().await_answer(pending.ticket);
    let mut first = Events::default();
    first.bytes(question);
    first.message_end();
    let now = Instant::now();
    let stream = QuestionStream {
        first: Some(first.0),
        answer,
        end: now + Duration::from_millis(shared.service.limits.answer_millis),
        beat: now + shared.limits.keep_alive,
        caller: caller.clone(),
        changes: shared.changes.subscribe(),
        peer: peer.cloned(),
        shared: Arc::clone(shared),
        ending: shared.stream_ending(),
        pending,
        _open: shared.streams.open(),
    };
    let events = unfold(Some(stream), |stream| async {
        let (event, stream) = stream?.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    event_stream(Body::from_stream(events))
}

struct QuestionStream {
    first: Option<Vec<u8>>,
    answer: oneshot::Receiver<ResumedRequest>,
    /// When the time for an answer is over.
    end: Instant,
    /// When the next sign of life is due.
    beat: Instant,
    caller: Caller,
    changes: watch::Receiver<u64>,
    peer: Option<Arc<HttpPeer>>,
    shared: Arc<Shared>,
    ending: StreamEnding,
    pending: Pending,
    _open: OpenStream,
}

impl QuestionStream {
    /// The next event, and the stream unless that was the last one.
    async fn next(mut self) -> Option<(Bytes, Option<Self>)> {
        if let Some(first) = self.first.take() {
            return Some((first.into(), Some(self)));
        }
        tokio::select! {
            biased;
            resumed = &mut self.answer => return self.last(resumed.ok()?).await,
            () = self.ending.reached() => {}
            () = sleep_until(self.end) => {}
            _ = self.changes.changed() => {
                // A caller who may not be here any more is not asked any more.
                self.caller = self.caller.renewed(&self.shared)?;
                return Some((Bytes::from_static(COMMENT), Some(self)));
            }
            () = sleep_until(self.beat) => {
                self.pending.session.touch();
                self.beat = Instant::now() + self.shared.limits.keep_alive;
                return Some((Bytes::from_static(COMMENT), Some(self)));
            }
        }
        let events = self.finish(WorkOutcome::Unanswered);
        if events.is_empty() {
            // The answer came just now, or the request was cancelled.
            let resumed = (&mut self.answer).await;
            return self.last(resumed.ok()?).await;
        }
        Some((events.into(), None))
    }

    /// The last event: what the request is answered with.
    async fn last(mut self, resumed: ResumedRequest) -> Option<(Bytes, Option<Self>)> {
        let events = match resumed {
            ResumedRequest::Reply(reply) => {
                let mut events = Events::default();
                write(&reply, &mut events);
                events.0
            }
            ResumedRequest::Job(job) => self.run(job).await,
        };
        let event = self.shared.replies.event(events).await;
        // Too many clients do not read their long replies: this one gets none.
        Some((event.ok()?, None))
    }

    async fn run(&mut self, job: Job) -> Vec<u8> {
        self.pending.ticket = job.ticket;
        let kind = job.work.kind();
        let done = match self.shared.bodies.room_for_job(job.held) {
            Ok(_room) => {
                let session = Some(&self.pending.session);
                self.shared
                    .run(job, &self.caller, self.peer.as_ref(), session)
                    .await
            }
            Err(_) => kind.refused(TOO_MANY_WAIT),
        };
        self.finish(done)
    }

    /// The events of the request whose job is done; none if it was cancelled.
    fn finish(&self, done: WorkOutcome) -> Vec<u8> {
        let mut events = Events::default();
        let mut inside = self.pending.session.inside();
        inside
            .connection
            .finish(self.pending.ticket, done, &mut events);
        events.0
    }
}

fn write(reply: &Reply, events: &mut Events) {
    match &reply.shared {
        Some(part) => {
            let (before, after) = reply.body.split_at(part.at);
            events.bytes(before);
            events.bytes(&part.bytes);
            events.bytes(after);
        }
        None => events.bytes(&reply.body),
    }
    events.message_end();
}
