//! Searches for servers: one thread, started by the first search, so that nobody else ever waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::search::{Hit, Query};
use twig_core::{Bodies, Catalog, Limits};

use super::SearchIndex;

/// Searches that may wait.
const WAITING: usize = 64;

/// Hears what a search found; a sentence where it could not be made.
pub type Heard = Box<dyn FnOnce(Result<Vec<Hit>, String>) + Send>;

/// Makes searches one after the other, elsewhere.
///
/// When it is dropped, the searches that wait are still made; nobody waits for them.
pub struct Searcher {
    bodies: Arc<dyn Bodies>,
    limits: Limits,
    queue: Mutex<Option<SyncSender<Job>>>,
}

struct Job {
    catalog: Arc<Catalog>,
    query: Query,
    done: Heard,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searcher").finish_non_exhaustive()
    }
}

impl Searcher {
    /// A searcher that reads texts through that port. It costs nothing until it is asked.
    pub fn new(bodies: Arc<dyn Bodies>, limits: Limits) -> Self {
        Self {
            bodies,
            limits,
            queue: Mutex::default(),
        }
    }

    /// Has a search made in a catalog. `done` hears of it just once: from the searcher's thread, or
    /// from this one where too many wait already.
    pub fn submit(&self, catalog: Arc<Catalog>, query: Query, done: Heard) {
        let job = Job {
            catalog,
            query,
            done,
        };
        if let Err((job, sentence)) = self.send(job) {
            (job.done)(Err(sentence));
        }
    }

    fn send(&self, job: Job) -> Result<(), (Job, String)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*queue {
            Some(sender) => sender,
            None => match self.start() {
                Ok(sender) => queue.insert(sender),
                Err(error) => return Err((job, format!("the search could not start: {error}"))),
            },
        };
        match sender.try_send(job) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(job)) => {
                let sentence = format!(
                    "the limit of {WAITING} searches that wait is reached; try again in a moment"
                );
                Err((job, sentence))
            }
            Err(TrySendError::Disconnected(job)) => {
                // The next one starts another thread.
                *queue = None;
                Err((job, "the search was ended; try again".to_owned()))
            }
        }
    }

    fn start(&self) -> std::io::Result<SyncSender<Job>> {
        let (sender, jobs) = sync_channel(WAITING);
        let (bodies, limits) = (Arc::clone(&self.bodies), self.limits.clone());
        std::thread::Builder::new()
            .name("search".to_owned())
            .spawn(move || run(&jobs, &*bodies, limits))?;
        Ok(sender)
    }
}

fn run(jobs: &Receiver<Job>, bodies: &dyn Bodies, limits: Limits) {
    let mut index = SearchIndex::new(limits);
    for job in jobs {
        let Job {
            catalog,
            query,
            done,
        } = job;
        // A panic leaves an index that starts anew.
        let search = AssertUnwindSafe(|| index.search(&catalog, bodies, &query));
        let result = catch_unwind(search);
        let result = result.unwrap_or_else(|_| Err("the search ended in a bug of ours".to_owned()));
        // Whoever hears of it may fail as well; the next one is not to suffer.
        let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
    }
}
