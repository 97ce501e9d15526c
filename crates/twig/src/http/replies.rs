//! Limits the memory of long replies that clients have not read yet.
//!
//! A document is encoded once, however many clients read it at the same time, and counts once. A
//! reply waits until there is memory for it; meanwhile, clients that read nothing lose their
//! replies.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Bytes, Frame, SizeHint};
use tokio::sync::{Notify, OnceCell};
use tokio::time::timeout;
use twig_mcp::http::{HttpRefusal, Reply};

use super::limits::{SMALL_REPLY, WAITING_REPLIES};

/// Memory for the long replies of all connections.
pub(super) struct Replies {
    /// Bytes in all.
    room: usize,
    /// How long a reply may wait for memory.
    wait: Duration,
    state: Mutex<ReplyState>,
    freed: Notify,
    /// Replies that wait for memory.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct ReplyState {
    taken: usize,
    /// Bytes of encoded replies that wait for memory.
    written: usize,
    /// By URI.
    documents: HashMap<String, Weak<SentDocument>>,
}

/// A long document that is being sent to any number of clients.
pub(super) struct SentDocument {
    room: OnceCell<ReplyRoom>,
    /// Held while the document is read and encoded: later requests find it done.
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// Reserved memory, released when this is dropped.
pub(super) struct ReplyRoom {
    replies: Arc<Replies>,
    bytes: usize,
}

impl Replies {
    /// Memory for `room` bytes; a reply waits for it at most `wait`.
    pub(super) fn new(room: usize, wait: Duration) -> Self {
        Self {
            room,
            wait,
            state: Mutex::default(),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether a reply waits for memory.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Reserves memory for a document of this many bytes, shared with other clients that read the
    /// same one.
    pub(super) async fn document(
        self: &Arc<Self>,
        uri: String,
        bytes: usize,
    ) -> Result<Arc<SentDocument>, HttpRefusal> {
        let document = self.state().document(uri);
        let room = document.room.get_or_try_init(|| self.take(bytes));
        match timeout(self.wait, room).await {
            Ok(Ok(_)) => {}
            _ => return Err(HttpRefusal::Busy),
        }
        Ok(document)
    }

    /// The body of a reply, once there is memory for it.
    pub(super) async fn body(
        self: &Arc<Self>,
        reply: Reply,
        document: Option<Arc<SentDocument>>,
    ) -> Result<Body, HttpRefusal> {
        let Reply {
            mut body, shared, ..
        } = reply;
        let room = self.take_written(body.len()).await?;
        let mut pieces = VecDeque::with_capacity(3);
        let after = shared.as_ref().map(|part| body.split_off(part.at));
        pieces.push_back(Bytes::from_owner(OwnBytes(body, room)));
        if let Some(part) = shared {
            pieces.push_back(Bytes::from_owner(SharedBytes(part.bytes, document)));
        }
        pieces.extend(after.map(Bytes::from));
        Ok(Body::new(ReplyPieces(pieces)))
    }

    /// An event of a stream, once there is memory for it.
    pub(super) async fn event(self: &Arc<Self>, event: Vec<u8>) -> Result<Bytes, HttpRefusal> {
        let room = self.take_written(event.len()).await?;
        Ok(Bytes::from_owner(OwnBytes(event, room)))
    }

    /// Reserves memory for an encoded reply. Only a few may wait: they use memory meanwhile.
    async fn take_written(
        self: &Arc<Self>,
        bytes: usize,
    ) -> Result<Option<ReplyRoom>, HttpRefusal> {
        if bytes <= SMALL_REPLY {
            return Ok(None);
        }
        if let Some(room) = self.try_take(bytes) {
            return Ok(Some(room));
        }
        let written = WrittenReply::new(self, bytes).ok_or(HttpRefusal::Busy)?;
        let room = timeout(self.wait, self.take(bytes)).await;
        drop(written);
        room.map_err(|_| HttpRefusal::Busy)?.map(Some)
    }

    /// Waits for memory.
    async fn take(self: &Arc<Self>, bytes: usize) -> Result<ReplyRoom, HttpRefusal> {
        if let Some(room) = self.try_take(bytes) {
            return Ok(room);
        }
        let _waiter = RoomWaiter::new(&self.waiting);
        loop {
            // From here on, released memory wakes this task.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(room) = self.try_take(bytes) {
                return Ok(room);
            }
            freed.await;
        }
    }

    /// A reply larger than the whole limit is sent when no other is.
    fn try_take(self: &Arc<Self>, bytes: usize) -> Option<ReplyRoom> {
        let mut state = self.state();
        let taken = state.taken.saturating_add(bytes);
        if state.taken > 0 && taken > self.room {
            return None;
        }
        state.taken = taken;
        Some(ReplyRoom {
            replies: Arc::clone(self),
            bytes,
        })
    }

    fn state(&self) -> MutexGuard<'_, ReplyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplyState {
    fn document(&mut self, uri: String) -> Arc<SentDocument> {
        if let Some(document) = self.documents.get(&uri).and_then(Weak::upgrade) {
            return document;
        }
        self.documents.retain(|_, known| known.strong_count() > 0);
        let document = Arc::new(SentDocument {
            room: OnceCell::new(),
            turn: tokio::sync::Mutex::default(),
        });
        self.documents.insert(uri, Arc::downgrade(&document));
        document
    }
}

impl Drop for ReplyRoom {
    fn drop(&mut self) {
        self.replies.state().taken -= self.bytes;
        self.replies.freed.notify_waiters();
    }
}

/// Counts as waiting until it is dropped.
struct RoomWaiter<'r>(&'r AtomicUsize);

impl<'r> RoomWaiter<'r> {
    fn new(waiting: &'r AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for RoomWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of an encoded reply that waits for memory, until this is dropped.
struct WrittenReply<'r> {
    replies: &'r Replies,
    bytes: usize,
}

impl<'r> WrittenReply<'r> {
    fn new(replies: &'r Replies, bytes: usize) -> Option<Self> {
        let mut state = replies.state();
        let written = state.written.saturating_add(bytes);
        if written > replies.room / WAITING_REPLIES {
            return None;
        }
        state.written = written;
        Some(Self { replies, bytes })
    }
}

impl Drop for WrittenReply<'_> {
    fn drop(&mut self) {
        self.replies.state().written -= self.bytes;
    }
}

/// The bytes of one reply, and their reservation.
struct OwnBytes(
    Vec<u8>,
    #[expect(dead_code, reason = "it is given back with the bytes")] Option<ReplyRoom>,
);

impl AsRef<[u8]> for OwnBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes that several replies share, and the reservation for all of them.
struct SharedBytes(
    Arc<Vec<u8>>,
    #[expect(dead_code, reason = "it is given back with the last of them")]
    Option<Arc<SentDocument>>,
);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A body in a few pieces, of known length.
struct ReplyPieces(VecDeque<Bytes>);

impl hyper::body::Body for ReplyPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 8 * SMALL_REPLY;

    fn block_on(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    fn replies() -> Arc<Replies> {
        Arc::new(Replies::new(ROOM, Duration::from_millis(1)))
    }

    fn reply(length: usize) -> Reply {
        Reply {
            status: 200,
            body: vec![b' '; length],
            shared: None,
            error: None,
        }
    }

    #[test]
    fn long_replies_take_room_until_they_are_written() {
        block_on(async {
            let replies = replies();
            let first = replies.body(reply(ROOM - 1), None).await.ok().unwrap();
            assert_eq!(replies.state().taken, ROOM - 1);
            let none = replies.body(reply(SMALL_REPLY + 1), None).await;
            assert_eq!(none.err(), Some(HttpRefusal::Busy));
            // A reply that would use much memory while it waits does not wait.
            let long = replies.body(reply(ROOM / 2), None).await;
            assert_eq!(long.err(), Some(HttpRefusal::Busy));
            assert!(replies.body(reply(SMALL_REPLY), None).await.is_ok());
            drop(first);
            let state = replies.state();
            assert_eq!((state.taken, state.written), (0, 0));
        });
    }

    #[test]
    fn who_waits_is_served_when_there_is_room() {
        block_on(async {
            let replies = Arc::new(Replies::new(ROOM, Duration::from_secs(60)));
            let first = replies.body(reply(ROOM), None).await.ok().unwrap();
            let waits = Arc::clone(&replies);
            let waits = tokio::spawn(async move { waits.body(reply(2 * SMALL_REPLY), None).await });
            tokio::task::yield_now().await;
            assert!(replies.is_waited_for());
            drop(first);
            assert!(waits.await.unwrap().is_ok());
            assert!(!replies.is_waited_for());
        });
    }

    #[test]
    fn a_reply_that_is_larger_than_all_the_room_is_sent_alone() {
        block_on(async {
            let replies = replies();
            let large = replies.body(reply(2 * ROOM), None).await.ok().unwrap();
            assert!(replies.body(reply(SMALL_REPLY + 1), None).await.is_err());
            drop(large);
            assert!(replies.body(reply(SMALL_REPLY + 1), None).await.is_ok());
        });
    }

    #[test]
    fn a_document_takes_room_once() {
        block_on(async {
            let replies = replies();
            let document = || replies.document("twig://a".to_owned(), ROOM);
            let [first, second] = [document().await, document().await].map(|d| d.ok().unwrap());
            assert!(Arc::ptr_eq(&first, &second));
            assert_eq!(replies.state().taken, ROOM);
            let other = replies.document("twig://b".to_owned(), ROOM).await;
            assert_eq!(other.err(), Some(HttpRefusal::Busy));
            drop((first, second));
            assert_eq!(replies.state().taken, 0);
            assert!(replies.document("twig://b".to_owned(), ROOM).await.is_ok());
            assert_eq!(replies.state().documents.len(), 1);
        });
    }
}
