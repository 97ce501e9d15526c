//! Server-sent events: notifications for a client for as long as it listens.
//!
//! A stream makes its next event only when the client has read the last one, and combines the
//! changes in between. So a slow reader costs no memory.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::unfold;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};
use twig_core::Catalog;
use twig_mcp::{Connection, Outbox, Server};

use super::Shared;
use super::caller::Caller;
use super::drain::StreamEnding;
use super::metrics::OpenStream;
use super::sessions::HttpSession;

/// A comment, which clients ignore.
pub(super) const COMMENT: &[u8] = b":\n\n";

/// The stream of a subscription, which begins with its acknowledgement.
pub(super) fn subscription(
    connection: Connection,
    acknowledgement: &[u8],
    changes: watch::Receiver<u64>,
    caller: Caller,
    shared: &Arc<Shared>,
) -> Response {
    let mut first = Events::default();
    first.bytes(acknowledgement);
    first.message_end();
    respond(Stream {
        voice: StreamConnection::Own(Box::new(connection)),
        first: Some(first.0),
        changes,
        keep_alive: shared.limits.keep_alive,
        beat: Instant::now() + shared.limits.keep_alive,
        ending: shared.stream_ending(),
        ended: None,
        caller,
        shared: Arc::clone(shared),
        _open: shared.streams.open(),
    })
}

/// The one stream of a session.
pub(super) fn session(session: Arc<HttpSession>, caller: Caller, shared: &Arc<Shared>) -> Response {
    let ended = session.open_stream();
    let changes = session.inside().changes.clone();
    respond(Stream {
        voice: StreamConnection::Session(session),
        first: Some(COMMENT.to_vec()),
        changes,
        keep_alive: shared.limits.keep_alive,
        beat: Instant::now() + shared.limits.keep_alive,
        ending: shared.stream_ending(),
        ended: Some(ended),
        caller,
        shared: Arc::clone(shared),
        _open: shared.streams.open(),
    })
}

fn respond(stream: Stream) -> Response {
    let events = unfold(Some(stream), |stream| async {
        let (event, stream) = stream?.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    event_stream(Body::from_stream(events))
}

/// A response whose body is a stream of events.
pub(super) fn event_stream(events: Body) -> Response {
    let mut response = Response::new(events);
    let headers = response.headers_mut();
    let set = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Asks a proxy not to buffer events.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in set {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

struct Stream {
    voice: StreamConnection,
    first: Option<Vec<u8>>,
    changes: watch::Receiver<u64>,
    /// The keep-alive interval, and when the next one is due.
    keep_alive: Duration,
    beat: Instant,
    ending: StreamEnding,
    ended: Option<oneshot::Receiver<()>>,
    caller: Caller,
    shared: Arc<Shared>,
    _open: OpenStream,
}

/// The connection that a stream belongs to.
enum StreamConnection {
    Own(Box<Connection>),
    Session(Arc<HttpSession>),
}

impl Stream {
    /// The next event, and the stream unless that was the last one.
    async fn next(mut self) -> Option<(Vec<u8>, Option<Self>)> {
        if let Some(first) = self.first.take() {
            return Some((first, Some(self)));
        }
        loop {
            let mut events = Events::default();
            tokio::select! {
                biased;
                () = self.ending.reached() => {
                    self.voice.close(&mut events);
                    return (!events.0.is_empty()).then_some((events.0, None));
                }
                () = gone(self.ended.as_mut()) => return None,
                changed = self.changes.changed() => {
                    changed.ok()?;
                    self.changes.mark_unchanged();
                    // A caller who may not read here any more hears nothing more.
                    self.caller = self.caller.renewed(&self.shared)?;
                    let view = &self.caller.view;
                    let catalog = view.published(&self.shared.service);
                    self.voice.announce(&catalog, &view.server, &mut events);
                }
                () = sleep_until(self.beat) => {
                    self.voice.touch();
                    events.0.extend_from_slice(COMMENT);
                }
            }
            if !events.0.is_empty() {
                // Counted from what was sent: changes that this client is not notified of do not
                // count.
                self.beat = Instant::now() + self.keep_alive;
                return Some((events.0, Some(self)));
            }
        }
    }
}

impl StreamConnection {
    fn announce(&mut self, catalog: &Catalog, server: &Arc<Server>, out: &mut Events) {
        match self {
            Self::Own(connection) => {
                connection.serve_as(server);
                connection.catch_up(catalog, out);
            }
            Self::Session(session) => {
                let mut inside = session.inside();
                // The session's own receiver knows which changes were sent.
                inside.changes.mark_unchanged();
                inside.connection.serve_as(server);
                inside.connection.catch_up(catalog, out);
            }
        }
    }

    fn close(&mut self, out: &mut Events) {
        if let Self::Own(connection) = self {
            connection.close(out);
        }
    }

    fn touch(&self) {
        if let Self::Session(session) = self {
            session.touch();
        }
    }
}

/// Waits until a stream is replaced or its session ends; for ever if neither can happen.
async fn gone(ended: Option<&mut oneshot::Receiver<()>>) {
    match ended {
        Some(ended) => {
            let _ = ended.await;
        }
        None => std::future::pending().await,
    }
}

/// Messages as events. Compact JSON has no line breaks, so one line holds a message.
#[derive(Default)]
pub(super) struct Events(pub(super) Vec<u8>);

impl Outbox for Events {
    fn bytes(&mut self, bytes: &[u8]) {
        if self.0.is_empty() || self.0.ends_with(b"\n\n") {
            self.0.extend_from_slice(b"event: message\ndata: ");
        }
        self.0.extend_from_slice(bytes);
    }

    fn message_end(&mut self) {
        self.0.extend_from_slice(b"\n\n");
    }
}
