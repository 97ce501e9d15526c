//! Queued writes, limited in number and size.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Instant;

use twig_core::store::{Change, OnWritten, StoreError, Write, Written};

/// Maximum number of queued writes.
const MOST: usize = 256;

/// Maximum bytes of queued content; a single write may have more.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// A write, and the callback for its outcome.
pub(crate) struct WriteJob {
    pub(crate) write: Write,
    pub(crate) done: OnWritten,
    /// Until when it waits for its turn, however many are before it.
    pub(crate) until: Instant,
}

impl WriteJob {
    /// Reports the outcome. A callback that panics does not take the thread down.
    pub(crate) fn report(self, outcome: Result<Written, StoreError>) {
        let done = self.done;
        if catch_unwind(AssertUnwindSafe(|| done(outcome))).is_err() {
            tracing::error!("the callback of a write panicked");
        }
    }
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    jobs: SyncSender<QueuedWrite>,
    bytes: Arc<AtomicUsize>,
}

/// The receiving end.
pub(crate) type WaitingWrites = Receiver<QueuedWrite>;

/// A queued write; it counts as queued until it is dropped.
pub(crate) struct QueuedWrite {
    pub(crate) job: WriteJob,
    load: QueuedBytes,
}

impl QueuedWrite {
    /// Reports the outcome.
    pub(crate) fn report(self, outcome: Result<Written, StoreError>) {
        let Self { job, load } = self;
        // The callback may already send the next write.
        drop(load);
        job.report(outcome);
    }
}

/// Why a write was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueError {
    /// The queue is full.
    Full,
    /// The writer thread has ended.
    Ended,
}

impl WriteQueue {
    pub(crate) fn new() -> (Self, WaitingWrites) {
        let (jobs, waiting) = sync_channel(MOST);
        let bytes = Arc::default();
        (Self { jobs, bytes }, waiting)
    }

    /// Queues a write; returns it if it was not accepted.
    pub(crate) fn send(&self, job: WriteJob) -> Result<(), Box<(WriteJob, QueueError)>> {
        let Some(load) = QueuedBytes::add(&self.bytes, size(&job.write)) else {
            return Err(Box::new((job, QueueError::Full)));
        };
        let queued = QueuedWrite { job, load };
        self.jobs.try_send(queued).map_err(|unsent| {
            Box::new(match unsent {
                TrySendError::Full(queued) => (queued.job, QueueError::Full),
                TrySendError::Disconnected(queued) => (queued.job, QueueError::Ended),
            })
        })
    }
}

/// The bytes that a write adds to the queue.
struct QueuedBytes {
    bytes: Arc<AtomicUsize>,
    own: usize,
}

impl QueuedBytes {
    fn add(bytes: &Arc<AtomicUsize>, own: usize) -> Option<Self> {
        let fits = |now: usize| now == 0 || now.saturating_add(own) <= MOST_BYTES;
        let add = |now: usize| fits(now).then(|| now.saturating_add(own));
        bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add)
            .ok()?;
        Some(Self {
            bytes: Arc::clone(bytes),
            own,
        })
    }
}

impl Drop for QueuedBytes {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.own, Ordering::AcqRel);
    }
}

/// Bytes of a write's content.
fn size(write: &Write) -> usize {
    let Write::Item(write) = write else {
        return 0;
    };
    let texts = match &write.change {
        Change::Create(draft) => [&draft.description, &draft.uri, &draft.mime],
        Change::Update(patch) => [&patch.description, &patch.uri, &patch.mime],
        Change::Delete | Change::Restore { .. } => return 0,
    };
    let texts = texts.into_iter().flatten();
    write.content_len() + texts.map(|text| text.len()).sum::<usize>()
}
