//! A few workers behind a queue, so that a slow template holds up neither the protocol nor, as far
//! as possible, other computed ones.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use twig_core::limits::TOO_MANY_WAIT;
use twig_core::template::{ComputedJob, JobOutcome};

use super::Worker;
use crate::fair_queue::{FairQueue, Lane};

/// Workers that may run at once.
const WORKERS: usize = 2;
/// A worker without work for so long is let go.
const IDLE: Duration = Duration::from_secs(30);

/// Takes jobs and calls back with what came of them. `K` says whose job it is.
pub(crate) struct Pool<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    /// Jobs that may wait, and how long.
    most: usize,
    wait: Duration,
    state: Mutex<State<K>>,
    work: Condvar,
    done: Box<dyn Fn(K, JobOutcome) + Send + Sync>,
}

struct State<K> {
    queue: FairQueue<(K, ComputedJob)>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl<K: Send + 'static> Pool<K> {
    /// A pool without any worker yet, for which so many jobs may wait for so long; `done` is called
    /// from the workers' threads, or from `submit` for a job that may not wait.
    pub(crate) fn new(
        most: usize,
        wait: Duration,
        done: impl Fn(K, JobOutcome) + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            most,
            wait,
            state: Mutex::new(State {
                queue: FairQueue::new(),
                threads: 0,
                idle: 0,
                closed: false,
            }),
            work: Condvar::new(),
            done: Box::new(done),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Queues a job; it gets its turn among those of other lanes.
    pub(crate) fn submit(&self, lane: Lane, whose: K, job: ComputedJob) {
        let mut state = self.shared.lock();
        let mut refused = state.queue.take_expired(self.shared.wait);
        refused.extend(state.queue.push(lane, (whose, job), self.shared.most));
        if !refused.is_empty() {
            drop(state);
            self.shared.refuse(refused);
            state = self.shared.lock();
        }
        if state.queue.is_empty() {
            return;
        }
        if state.idle >= state.queue.len() {
            self.shared.work.notify_one();
        } else if state.threads < WORKERS {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new()
                .name("render".to_owned())
                .spawn(move || shared.serve());
            match spawned {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => {
                    let job = state.queue.pop();
                    drop(state);
                    if let Some((whose, _)) = job {
                        let message = format!("no thread for a render worker: {error}");
                        (self.shared.done)(whose, JobOutcome::limit(message));
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Jobs that no worker has taken yet.
    pub(crate) fn queued(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Forgets a queued job that nobody wants any more.
    pub(crate) fn forget(&self, unwanted: impl Fn(&K) -> bool) {
        let mut state = self.shared.lock();
        state.queue.retain(|(whose, _)| !unwanted(whose));
    }
}

impl<K> Drop for Pool<K> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.queue.clear();
        self.shared.work.notify_all();
    }
}

impl<K> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those that may not wait, or not any longer.
    fn refuse(&self, jobs: Vec<(K, ComputedJob)>) {
        for (whose, _) in jobs {
            (self.done)(whose, JobOutcome::limit(TOO_MANY_WAIT));
        }
    }

    fn serve(&self) {
        let mut worker = Worker::new();
        while let Some((whose, job)) = self.next(&mut worker) {
            let outcome = worker.run(&job);
            (self.done)(whose, outcome);
        }
    }

    /// Waits for a job; `None` when the pool has closed.
    fn next(&self, worker: &mut Worker) -> Option<(K, ComputedJob)> {
        let mut state = self.lock();
        loop {
            if state.closed {
                state.threads -= 1;
                return None;
            }
            let expired = state.queue.take_expired(self.wait);
            if !expired.is_empty() {
                drop(state);
                self.refuse(expired);
                state = self.lock();
                continue;
            }
            if let Some(job) = state.queue.pop() {
                return Some(job);
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, IDLE);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                worker.stop();
            }
        }
    }
}
