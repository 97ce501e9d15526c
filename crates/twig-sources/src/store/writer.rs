//! The thread that writes, one write after the other, each durable before anybody hears of it: those
//! that wait together are written together, and the disk is waited for once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use twig_core::Limits;
use twig_core::store::{OnWritten, StoreError, Write, Written};

use super::apply::apply;
use super::clock::now;
use super::fault::Fault;
use super::identity::{Identity, retire};
use super::open::{LARGE_LOG, Opened, held_log_sentence, open};
use super::queue::{NotTaken, Queue, Queued, Waiting};
use super::reader::StoreReader;
use super::site::{Site, stopping};
use super::sql::Sql;
use crate::stamp::FileStamp;

/// How long the end waits for a write that was begun: whoever stops a server waits two seconds.
const LAST_WRITE: Duration = Duration::from_millis(1_500);

/// Writes that are made durable together, at most.
const TOGETHER: usize = 32;

/// Something to do, and whom to tell.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) done: OnWritten,
    /// When whoever waits for it has waited long enough for others, however many are before it.
    pub(super) until: Instant,
}

impl Job {
    /// Tells what came of it. Whoever hears it cannot take the thread down.
    pub(super) fn tell(self, outcome: Result<Written, StoreError>) {
        let done = self.done;
        if catch_unwind(AssertUnwindSafe(|| done(outcome))).is_err() {
            tracing::error!("whoever was told of a write failed");
        }
    }
}

/// The thread; dropping this ends it once it has finished what it has begun.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Queue>,
    thread: ThreadId,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Writer {
    pub(super) fn start(
        site: &Site,
        limits: Limits,
        reader: Arc<Mutex<StoreReader>>,
    ) -> std::io::Result<Self> {
        let site = site.for_writer();
        let (jobs, waiting) = Queue::new();
        let (ending, ended) = channel();
        let handle = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                let mut hand = Hand {
                    site,
                    limits,
                    reader,
                    is_log_large: false,
                    known: None,
                };
                hand.run(&waiting);
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: handle.thread().id(),
            ended,
        })
    }

    /// Hands a job over; gives it back where too many wait, or the thread is no more.
    pub(super) fn send(&self, job: Job) -> Result<(), (Job, NotTaken)> {
        match &self.jobs {
            Some(jobs) => jobs.send(job),
            None => Err((job, NotTaken::Ended)),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        // What hears of the last write may be what holds the store.
        if std::thread::current().id() != self.thread {
            let _ = self.ended.recv_timeout(LAST_WRITE);
        }
    }
}

struct Hand {
    site: Site,
    limits: Limits,
    /// The connection that reads, which is closed with the others where a lock is stuck.
    reader: Arc<Mutex<StoreReader>>,
    /// Whether the log was larger than it should be after the last write.
    is_log_large: bool,
    /// What the system said of the file after the last write of this connection. SQLite trusts the
    /// pages that it has in memory, so a connection is not used once another program wrote to the file.
    known: Option<FileStamp>,
}

/// How a connection comes to its end.
enum End {
    /// There is nothing more to do.
    Done,
    /// The disk is full, and what is to be done makes room: it is tried again with what is kept for it.
    Full(Vec<Queued>),
    /// The lock could not be had. It may be this process that has it, where the system failed to
    /// release it; what was not done is left.
    Stuck(Vec<Queued>),
    /// Something is wrong with it or its files; what it was not used for is left.
    Wrong(Vec<Queued>),
}

/// What came of each of several writes.
type Outcomes = Vec<Result<Written, StoreError>>;

/// Why none of several writes was made.
struct Failed {
    /// The one whose fault it is, where it is not everybody's: the others may be tried again.
    at: Option<usize>,
    fault: Fault,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self { at: None, fault }
    }
}

impl Hand {
    fn run(&mut self, jobs: &Waiting) {
        let mut left = Vec::new();
        loop {
            if left.is_empty() {
                left.extend(jobs.recv());
            }
            let Some(first) = left.first() else {
                return;
            };
            if self.site.is_closing.load(Ordering::Acquire) {
                tell_all(left.drain(..), &stopping());
                continue;
            }
            self.site.deadline.set(first.job.until);
            match open(&self.site) {
                Err(error) => left.remove(0).tell(Err(error)),
                Ok(opened) => {
                    self.site.keeps_reserve = true;
                    self.known = opened.files.stamp();
                    match self.work(&opened, left, jobs) {
                        End::Done => return,
                        End::Wrong(queued) => {
                            opened.leave(&self.site);
                            left = queued;
                        }
                        End::Full(queued) => {
                            opened.release_reserve(&self.site);
                            opened.leave(&self.site);
                            self.site.keeps_reserve = false;
                            left = queued;
                        }
                        End::Stuck(queued) => {
                            let identity = opened.files.identity();
                            opened.leave(&self.site);
                            self.close_all(identity);
                            left = queued;
                        }
                    }
                }
            }
        }
    }

    /// Has all connections of this process to a file closed; each is opened again when it is needed.
    fn close_all(&self, identity: Identity) {
        retire(identity);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.close_if_retired(&self.site);
    }

    /// Does one job after the other with one connection; those that wait together are made durable
    /// together.
    fn work(&mut self, opened: &Opened, mut batch: Vec<Queued>, jobs: &Waiting) -> End {
        let sql = Sql::new(&opened.connection);
        let mut is_used = false;
        loop {
            if batch.is_empty() {
                batch.extend(jobs.recv());
            }
            batch.extend(jobs.try_iter().take(TOGETHER.saturating_sub(batch.len())));
            // The first one has waited longest.
            let Some(first) = batch.first() else {
                return End::Done;
            };
            if self.site.is_closing.load(Ordering::Acquire) {
                tell_all(batch.into_iter().chain(jobs), &stopping());
                return End::Done;
            }
            self.site.deadline.set(first.job.until);
            // What was removed, replaced or overwritten meanwhile is not written to.
            if !opened.is_usable() || (is_used && opened.files.stamp() != self.known) {
                return End::Wrong(batch);
            }
            is_used = true;
            let attempt = || self.carry_out(opened, &sql, &batch);
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Ok(outcomes)) => {
                    for (queued, outcome) in batch.drain(..).zip(outcomes) {
                        queued.tell(outcome);
                    }
                    // By the next write there may be room again.
                    if opened.is_tight {
                        return End::Wrong(batch);
                    }
                }
                Ok(Err(Failed { at, fault }))
                    if fault.is_full() && !opened.is_tight && makes_room(&batch, at) =>
                {
                    return End::Full(batch);
                }
                Ok(Err(Failed { at, fault })) => {
                    let is_stuck = fault.is_stuck();
                    let error = self.site.tell(fault);
                    match at {
                        Some(at) => batch.remove(at).tell(Err(error)),
                        None => tell_all(batch.drain(..), &error),
                    }
                    return if is_stuck {
                        End::Stuck(batch)
                    } else {
                        End::Wrong(batch)
                    };
                }
                Err(_) => {
                    let error = mistake(opened.connection.is_autocommit());
                    tell_all(batch.drain(..), &error);
                    return End::Wrong(batch);
                }
            }
        }
    }

    /// Carries out several writes in one transaction and makes sure that they are really there.
    fn carry_out(
        &mut self,
        opened: &Opened,
        sql: &Sql<'_>,
        batch: &[Queued],
    ) -> Result<Outcomes, Failed> {
        let begun = sql.run("BEGIN IMMEDIATE", []);
        // The others have more patience left.
        begun.map_err(|fault| Failed { at: Some(0), fault })?;
        let applied = self.apply_each(sql, batch, opened.is_tight);
        let is_news = |outcomes: &Outcomes| outcomes.iter().flatten().any(|it| it.is_new);
        let ended = if applied.as_ref().is_ok_and(is_news) {
            sql.run("COMMIT", [])
        } else {
            // Nothing was changed, or nothing is to be.
            sql.run("ROLLBACK", [])
        };
        if !opened.files.are_there() {
            let workspace = self.site.workspace.clone();
            return Err(Fault::from(StoreError::Moved { workspace }).into());
        }
        // What SQLite says of a write comes before what it says of the end, which it may have
        // brought about itself.
        let outcomes = applied?;
        ended?;
        self.watch_log(opened);
        // If it differs now, it was this very write that wrote the log back.
        self.known = opened.files.stamp();
        Ok(outcomes)
    }

    /// Says that the log cannot be written back, once for each time that it grows.
    fn watch_log(&mut self, opened: &Opened) {
        let bytes = opened.files.log_bytes();
        let is_large = bytes > LARGE_LOG;
        if is_large && !self.is_log_large {
            tracing::warn!(
                "{}",
                held_log_sentence(&self.site.workspace, bytes, &opened.main)
            );
            // It may be a lock of this process that the system failed to release.
            self.close_all(opened.files.identity());
        }
        self.is_log_large = is_large;
    }

    /// Applies one write after the other; one that is refused leaves no trace.
    fn apply_each(
        &self,
        sql: &Sql<'_>,
        batch: &[Queued],
        is_tight: bool,
    ) -> Result<Outcomes, Failed> {
        let apply_one = |write: &Write| {
            if is_tight && !write.makes_room() {
                return Ok(Err(StoreError::DiskFull));
            }
            sql.run("SAVEPOINT one", [])?;
            let outcome = match apply(sql, &self.site.workspace, &self.limits, write, now()) {
                Ok(written) => Ok(written),
                Err(Fault::Refused(error)) if error.is_callers() => {
                    sql.run("ROLLBACK TO one", [])?;
                    Err(error)
                }
                Err(fault) => return Err(fault),
            };
            sql.run("RELEASE one", [])?;
            Ok(outcome)
        };
        let each = batch.iter().enumerate();
        each.map(|(at, queued)| {
            let at = Some(at);
            apply_one(&queued.job.write).map_err(|fault| Failed { at, fault })
        })
        .collect()
    }
}

/// True if the write that failed, or one of those that failed together, makes room.
fn makes_room(batch: &[Queued], at: Option<usize>) -> bool {
    let failed = match at {
        Some(at) => batch.get(at..=at).unwrap_or_default(),
        None => batch,
    };
    failed.iter().any(|queued| queued.job.write.makes_room())
}

fn tell_all(all: impl IntoIterator<Item = Queued>, error: &StoreError) {
    for queued in all {
        queued.tell(Err(error.clone()));
    }
}

/// What is known when a write panicked: as long as its transaction is open, nothing was written.
fn mistake(has_ended: bool) -> StoreError {
    StoreError::Unavailable(
        if has_ended {
            "A mistake in Twig cut the change short, and it may have been written: \
             look whether it was before you repeat it"
        } else {
            "The change could not be made because of a mistake in Twig, nothing was written"
        }
        .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_mistake_says_that_nothing_was_written_only_where_that_is_known() {
        let connection = Connection::open_in_memory().unwrap();
        let said = || mistake(connection.is_autocommit()).to_string();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(said().ends_with("nothing was written"), "{}", said());
        connection.execute_batch("COMMIT").unwrap();
        assert!(said().contains("may have been written"), "{}", said());
    }
}
