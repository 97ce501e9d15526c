//! The thread that writes, for every kind of store: started by the first write, ended with the store.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use twig_core::store::{StoreError, StoreName};

use super::queue::{QueueError, WaitingWrites, WriteJob, WriteQueue};

/// How long dropping waits for a running write: clients wait two seconds for a server to stop.
const LAST_WRITE: Duration = Duration::from_millis(1_500);

/// The thread of a store, once there was a write.
#[derive(Debug, Default)]
pub(crate) struct LazyWriter(Mutex<Option<WriteThread>>);

impl LazyWriter {
    /// Queues a job; reports its outcome at once if that is not possible. `work` is what the thread
    /// does if it has to be started.
    pub(crate) fn hand_over<W>(
        &self,
        workspace: &StoreName,
        job: WriteJob,
        work: impl FnOnce() -> W,
    ) where
        W: FnOnce(&WaitingWrites) + Send + 'static,
    {
        let could_not = |reason: &str| {
            StoreError::Unavailable(format!(
                "The change could not be made, nothing was written: {reason}"
            ))
        };
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let started = match writer.take() {
            Some(started) => Ok(started),
            None => WriteThread::start(work()),
        };
        let (job, error) = match started {
            Err(error) => (job, could_not(&error.to_string())),
            Ok(started) => {
                let sent = started.send(job);
                let reason = sent.as_ref().err().map(|refused| refused.1);
                if reason != Some(QueueError::Ended) {
                    *writer = Some(started);
                }
                let Err(refused) = sent else { return };
                let (job, reason) = *refused;
                let error = match reason {
                    QueueError::Full => too_many(workspace),
                    QueueError::Ended => could_not("the thread that writes has ended"),
                };
                (job, error)
            }
        };
        // The callback may write again.
        drop(writer);
        job.report(Err(error));
    }

    /// Ends the thread after its current work.
    pub(crate) fn end(&self) {
        let writer = self.0.lock().map(|mut writer| writer.take());
        // Wait for the thread without the lock: the callback of its last write may take it.
        drop(writer);
    }
}

fn too_many(workspace: &StoreName) -> StoreError {
    StoreError::Unavailable(format!(
        "Too many changes wait to be written to workspace '{workspace}', nothing was written: \
         try again in a moment"
    ))
}

/// The thread; dropping this ends it after its current work.
#[derive(Debug)]
struct WriteThread {
    jobs: Option<WriteQueue>,
    thread: ThreadId,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl WriteThread {
    fn start(work: impl FnOnce(&WaitingWrites) + Send + 'static) -> io::Result<Self> {
        let (jobs, waiting) = WriteQueue::new();
        let (ending, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                work(&waiting);
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: thread.thread().id(),
            ended,
        })
    }

    /// Queues a job; returns it if the queue is full or the thread has ended.
    fn send(&self, job: WriteJob) -> Result<(), Box<(WriteJob, QueueError)>> {
        match &self.jobs {
            Some(jobs) => jobs.send(job),
            None => Err(Box::new((job, QueueError::Ended))),
        }
    }
}

impl Drop for WriteThread {
    fn drop(&mut self) {
        self.jobs = None;
        // The callback of the last write may own the store.
        if std::thread::current().id() != self.thread {
            let _ = self.ended.recv_timeout(LAST_WRITE);
        }
    }
}
