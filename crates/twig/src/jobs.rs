//! Runs the work that requests wait for: renders, functions and searches, each kind on its own few
//! threads behind a queue in which clients take turns. The store has its own thread for writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use twig_core::limits::TOO_MANY_WAIT;
use twig_core::search::{Hit, Query};
use twig_core::store::{Store, StoreError, VersionQuery};
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome, Limits};
use twig_mcp::{FoundVersions, VersionsRequest, Work, WorkKind, WorkOutcome};
use twig_sources::SearchIndex;

use crate::fair_queue::{FairQueue, Lane};
use crate::function::{Allowed, Stop};
use crate::worker::Worker;

/// Jobs of each kind that may run at once.
const RENDERS: usize = 2;
const FUNCTIONS: usize = 4;
const SEARCHES: usize = 1;
const READS: usize = 1;
/// Jobs that may wait for their turn. The transport decides how many renders may.
const WAITING_FUNCTIONS: usize = 16;
const WAITING_SEARCHES: usize = 64;
const WAITING_READS: usize = 64;
/// A thread without work for this long ends, and so does its render worker.
const IDLE: Duration = Duration::from_secs(30);

const NO_PROJECT: &str = "No project is served, so nothing was written";
const NO_VERSIONS: &str = "No project is served";
const NO_SEARCH: &str = "Nothing can be searched here";
const BROKEN: &str = "The request failed because of a bug in Twig";
/// The outcome of a cancelled job; its client does not wait for it.
pub(crate) const CANCELLED: &str = "The request was cancelled";

/// What jobs need.
#[derive(Default)]
pub(crate) struct JobSettings {
    /// What functions are allowed to do.
    pub(crate) allowed: Allowed,
    /// Renders that may wait for their turn.
    pub(crate) waiting_renders: usize,
    pub(crate) limits: Limits,
}

/// What a job searches, and where it writes.
#[derive(Clone, Default)]
pub(crate) struct JobPlace {
    /// The catalog to search.
    pub(crate) searched: Option<Arc<dyn SearchedCatalog>>,
    /// The store of the served project, if there is one.
    pub(crate) store: Option<Arc<dyn Store>>,
}

/// A catalog that can be searched.
pub(crate) trait SearchedCatalog: Send + Sync {
    /// Tells catalogs apart: each has an index of its own.
    fn number(&self) -> u64;

    /// Searches it as it is now; the error is a sentence.
    fn search(&self, index: &mut SearchIndex, query: &Query) -> Result<Vec<Hit>, String>;
}

/// The most indexes of catalogs that are kept.
const INDEXES: usize = 32;

/// The indexes of the catalogs that were searched last, the last one first.
struct SearchIndexes {
    limits: Limits,
    kept: Vec<(u64, SearchIndex)>,
}

impl SearchIndexes {
    fn search(&mut self, catalog: &dyn SearchedCatalog, query: &Query) -> WorkOutcome {
        let number = catalog.number();
        let known = self.kept.iter().position(|(known, _)| *known == number);
        // Taken out: after a panic it is gone, and the next search starts over.
        let mut index = match known {
            Some(known) => self.kept.remove(known).1,
            None => SearchIndex::new(self.limits.clone()),
        };
        let found = catalog.search(&mut index, query);
        self.kept.insert(0, (number, index));
        self.kept.truncate(INDEXES);
        WorkOutcome::Search(found)
    }
}

/// The single runner of jobs.
pub(crate) struct Jobs {
    renders: Arc<JobPool>,
    functions: Arc<JobPool>,
    searches: Arc<JobPool>,
    /// Versions in the store.
    reads: Arc<JobPool>,
}

/// A started job. Dropping it cancels the job: a queued one is dropped, a running function is
/// killed, the result of a running render or search is discarded. A write always completes.
pub(crate) struct RunningJob {
    kind: WorkKind,
    stop: Arc<Stop>,
    /// `None` for a write.
    pool: Option<Arc<JobPool>>,
}

type RunWork = dyn Fn(Work, &JobPlace, &mut Worker, &Stop) -> WorkOutcome + Send + Sync;
type JobDone = Box<dyn FnOnce(WorkOutcome) + Send>;

impl Jobs {
    /// A runner without any thread yet.
    pub(crate) fn new(settings: JobSettings) -> Self {
        let JobSettings {
            allowed,
            waiting_renders,
            limits,
        } = settings;
        let wait = Duration::from_millis(limits.queue_millis);
        let indexes = Mutex::new(SearchIndexes {
            limits,
            kept: Vec::new(),
        });
        let run = move |work: Work, place: &JobPlace, worker: &mut Worker, stop: &Stop| match work {
            Work::Render(job) => WorkOutcome::Render(worker.run(&job)),
            Work::Function(call) => WorkOutcome::Function(allowed.run(&call, stop)),
            Work::Search(query) => match &place.searched {
                Some(searched) => {
                    let mut indexes = indexes.lock().unwrap_or_else(PoisonError::into_inner);
                    indexes.search(&**searched, &query)
                }
                None => WorkKind::Search.refused(NO_SEARCH),
            },
            Work::Write(_) => WorkKind::Write.refused(NO_PROJECT),
            Work::Versions(request) => match &place.store {
                Some(store) => WorkOutcome::Versions(versions(&**store, &request)),
                None => WorkKind::Versions.refused(NO_VERSIONS),
            },
            // The transport waits for the answer.
            Work::Question => WorkOutcome::Unanswered,
        };
        let run: Arc<RunWork> = Arc::new(run);
        Self::with(&run, wait, waiting_renders)
    }

    fn with(run: &Arc<RunWork>, wait: Duration, waiting_renders: usize) -> Self {
        let pool = |name, most_running, most_waiting| {
            Arc::new(JobPool {
                name,
                most_running,
                most_waiting,
                wait,
                run: Arc::clone(run),
                state: Mutex::default(),
                work: Condvar::new(),
            })
        };
        Self {
            renders: pool("render", RENDERS, waiting_renders),
            functions: pool("function", FUNCTIONS, WAITING_FUNCTIONS),
            searches: pool("search", SEARCHES, WAITING_SEARCHES),
            reads: pool("read", READS, WAITING_READS),
        }
    }

    /// Starts a job, which takes turns with the jobs of other lanes. `done` is called at most once
    /// with the outcome, on any thread, possibly before this returns; never if the job was
    /// cancelled.
    pub(crate) fn start(
        &self,
        work: Work,
        place: &JobPlace,
        lane: Lane,
        done: impl FnOnce(WorkOutcome) + Send + 'static,
    ) -> RunningJob {
        let (kind, stop) = (work.kind(), Arc::new(Stop::default()));
        let (pool, work) = match work {
            Work::Write(write) => {
                let done = move |outcome| done(WorkOutcome::Write(outcome));
                match &place.store {
                    Some(store) => store.write(*write, Box::new(done)),
                    None => done(Err(StoreError::Unavailable(NO_PROJECT.to_owned()))),
                }
                let pool = None;
                return RunningJob { kind, stop, pool };
            }
            Work::Render(_) => (&self.renders, work),
            Work::Function(_) => (&self.functions, work),
            Work::Search(_) => (&self.searches, work),
            Work::Versions(_) | Work::Question => (&self.reads, work),
        };
        let job = QueuedJob {
            work,
            place: place.clone(),
            stop: Arc::clone(&stop),
            done: Box::new(done),
        };
        pool.submit(lane, job);
        let pool = Some(Arc::clone(pool));
        RunningJob { kind, stop, pool }
    }

    /// Renders a computed template and waits for it.
    pub(crate) fn render(&self, job: ComputedJob) -> JobOutcome {
        match self.run(Work::Render(job)) {
            WorkOutcome::Render(outcome) => outcome,
            _ => JobOutcome::limit(BROKEN),
        }
    }

    /// Runs a function and waits for it.
    pub(crate) fn call(&self, call: Box<FunctionCall>) -> FunctionOutcome {
        match self.run(Work::Function(call)) {
            WorkOutcome::Function(outcome) => outcome,
            _ => FunctionOutcome::Refused(BROKEN.to_owned()),
        }
    }

    fn run(&self, work: Work) -> WorkOutcome {
        let kind = work.kind();
        let (done, outcome) = sync_channel(1);
        let place = JobPlace::default();
        let _running = self.start(work, &place, Lane::default(), move |outcome| {
            let _ = done.send(outcome);
        });
        outcome.recv().unwrap_or_else(|_| kind.refused(BROKEN))
    }

    /// How many jobs of each kind wait for their turn.
    pub(crate) fn waiting(&self) -> [(&'static str, usize); 4] {
        let pools = [&self.renders, &self.functions, &self.searches, &self.reads];
        pools.map(|pool| (pool.name, pool.lock().queue.len()))
    }

    /// Ends the running jobs and drops the queued ones.
    pub(crate) fn close(&self) {
        for pool in [&self.renders, &self.functions, &self.searches, &self.reads] {
            let mut state = pool.lock();
            state.is_closed = true;
            let waiting = state.queue.take_if(|_| true);
            for stop in &state.running {
                stop.now();
            }
            drop(state);
            drop(waiting);
            pool.work.notify_all();
        }
    }
}

/// Reads versions, and the content of the first one if it is wanted.
fn versions(store: &dyn Store, request: &VersionsRequest) -> Result<FoundVersions, StoreError> {
    let versions = store.versions(&request.query)?;
    let first = versions.first().filter(|_| request.wants_content);
    let content = first.map(|first| store.content(&first.content.digest));
    let labels = if request.wants_labels {
        let VersionQuery {
            project,
            kind,
            name,
            ..
        } = &request.query;
        store.labels(project, *kind, name)?
    } else {
        Vec::new()
    };
    Ok(FoundVersions {
        content: content.transpose()?,
        versions,
        labels,
    })
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.close();
    }
}

impl RunningJob {
    pub(crate) fn kind(&self) -> WorkKind {
        self.kind
    }

    /// Cancels the job, unless it is done or a write.
    pub(crate) fn cancel(&self) {
        let Some(pool) = &self.pool else { return };
        self.stop.now();
        let is_this = |job: &QueuedJob| Arc::ptr_eq(&job.stop, &self.stop);
        let forgotten = pool.lock().queue.take_if(is_this);
        // Not under the lock: dropping these may wake others.
        drop(forgotten);
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// A few threads and the jobs that wait for them.
struct JobPool {
    name: &'static str,
    most_running: usize,
    most_waiting: usize,
    /// How long a job may wait for its turn.
    wait: Duration,
    run: Arc<RunWork>,
    state: Mutex<PoolState>,
    work: Condvar,
}

#[derive(Default)]
struct PoolState {
    queue: FairQueue<QueuedJob>,
    running: Vec<Arc<Stop>>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct QueuedJob {
    work: Work,
    place: JobPlace,
    stop: Arc<Stop>,
    done: JobDone,
}

impl QueuedJob {
    fn refuse(self, sentence: &str) {
        tell(self.done, self.work.kind().refused(sentence));
    }
}

/// Reports an outcome. If the receiver panics, the next job must not suffer.
fn tell(done: JobDone, outcome: WorkOutcome) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
}

impl JobPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(self: &Arc<Self>, lane: Lane, job: QueuedJob) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        // A job that is about to start does not count as waiting.
        let free = self.most_running - state.running.len();
        let mut refused = match free {
            0 => state.queue.take_expired(self.wait),
            _ => Vec::new(),
        };
        let most = self.most_waiting.saturating_add(free);
        refused.extend(state.queue.push(lane, job, most));
        let mut failed = None;
        if state.idle >= state.queue.len() {
            self.work.notify_one();
        } else if state.threads < self.most_running {
            let pool = Arc::clone(self);
            let thread = thread::Builder::new().name(self.name.to_owned());
            match thread.spawn(move || pool.serve()) {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => {
                    failed = state.queue.pop().map(|job| (job, error));
                }
                Err(_) => {}
            }
        }
        drop(state);
        for job in refused {
            job.refuse(TOO_MANY_WAIT);
        }
        if let Some((job, error)) = failed {
            job.refuse(&format!("The request needs a thread: {error}"));
        }
    }

    fn serve(&self) {
        let mut worker = Worker::new();
        while let Some(job) = self.next() {
            let QueuedJob {
                work,
                place,
                stop,
                done,
            } = job;
            let kind = work.kind();
            // A bug of ours may fail this job, but must not use up its thread: other jobs wait for
            // it.
            let run = AssertUnwindSafe(|| (self.run)(work, &place, &mut worker, &stop));
            let outcome = catch_unwind(run);
            let mut state = self.lock();
            state.running.retain(|known| !Arc::ptr_eq(known, &stop));
            let expired = state.queue.take_expired(self.wait);
            drop(state);
            for job in expired {
                job.refuse(TOO_MANY_WAIT);
            }
            if stop.is_stopped() {
                continue;
            }
            let outcome = outcome.unwrap_or_else(|_| {
                // Ends the processes that the job started.
                stop.now();
                worker.stop();
                kind.refused(BROKEN)
            });
            tell(done, outcome);
        }
    }

    /// Waits for a job; `None` when there is none for a while, or the pool has closed.
    fn next(&self) -> Option<QueuedJob> {
        let mut state = self.lock();
        let mut has_waited = false;
        loop {
            if let Some(job) = state.queue.pop() {
                state.running.push(Arc::clone(&job.stop));
                return Some(job);
            }
            if state.is_closed || has_waited {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, IDLE);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            has_waited = timeout.timed_out();
        }
    }
}

#[cfg(test)]
mod tests;
