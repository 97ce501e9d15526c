//! The thread that writes, one write after the other, each durable before anybody hears of it: those
//! that wait together are written together, and the disk is waited for once.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime};

use twig_core::Limits;
use twig_core::store::{OnWritten, StoreError, Timestamp, Write, Written};

use super::apply::apply;
use super::fault::Fault;
use super::open::{Opened, open};
use super::queue::{NotTaken, Queue, Queued, Waiting};
use super::rows;
use super::site::{Deadline, Site, stopping};
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
    pub(super) fn start(site: &Site, limits: Limits) -> std::io::Result<Self> {
        let site = Site {
            // Nobody else waits for what a job waits for.
            deadline: Deadline::default(),
            ..site.clone()
        };
        let (jobs, waiting) = Queue::new();
        let (ending, ended) = channel();
        let handle = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                let mut hand = Hand {
                    site,
                    limits,
                    sound: None,
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
    /// What the system said of the file when it was last found to hold together.
    sound: Option<FileStamp>,
}

/// How a connection comes to its end.
enum End {
    /// There is nothing more to do.
    Done,
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
                    self.sound = opened.files.stamp();
                    match self.work(&opened, left, jobs) {
                        End::Done => return,
                        End::Wrong(queued) => {
                            opened.leave(&self.site);
                            left = queued;
                        }
                    }
                }
            }
        }
    }

    /// Does one job after the other with one connection; those that wait together are made durable
    /// together.
    fn work(&mut self, opened: &Opened, mut batch: Vec<Queued>, jobs: &Waiting) -> End {
        let sql = Sql::new(&opened.connection);
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
            // What was removed or replaced meanwhile is not written to.
            if !opened.files.are_there() {
                return End::Wrong(batch);
            }
            let attempt = || self.carry_out(opened, &sql, &batch);
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Ok(outcomes)) => {
                    for (queued, outcome) in batch.drain(..).zip(outcomes) {
                        queued.tell(outcome);
                    }
                }
                Ok(Err(Failed { at, fault })) => {
                    let error = self.site.tell(fault);
                    match at {
                        Some(at) => batch.remove(at).tell(Err(error)),
                        None => tell_all(batch.drain(..), &error),
                    }
                    return End::Wrong(batch);
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
        let before = opened.files.stamp();
        let begun = sql.run("BEGIN IMMEDIATE", []);
        // The others have more patience left.
        begun.map_err(|fault| Failed { at: Some(0), fault })?;
        let applied = self.apply_each(sql, batch);
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
        if before == self.sound {
            // If it differs now, it was this very write that wrote the log back.
            self.sound = opened.files.stamp();
        } else {
            self.look_again(opened, batch)?;
        }
        Ok(outcomes)
    }

    /// Applies one write after the other; one that is refused leaves no trace.
    fn apply_each(&self, sql: &Sql<'_>, batch: &[Queued]) -> Result<Outcomes, Failed> {
        let apply_one = |write: &Write| {
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

    /// Looks with fresh eyes whether what was written is really there, since somebody else wrote to
    /// the file. Mostly the log was only written back; but a file that was copied over it goes
    /// unnoticed by who keeps its pages in memory.
    fn look_again(&mut self, opened: &Opened, batch: &[Queued]) -> Result<(), Fault> {
        let stamp = opened.files.stamp();
        let fresh = match open(&self.site) {
            Ok(fresh) => fresh,
            Err(error @ StoreError::Damaged { .. }) => return Err(error.into()),
            // The write is in the log; whoever writes next looks.
            Err(_) => return Ok(()),
        };
        let looked = (|| {
            let transaction = fresh.connection.unchecked_transaction()?;
            let sql = Sql::new(&transaction);
            rows::projects(&sql)?;
            let written = batch.iter().filter_map(|queued| match &queued.job.write {
                Write::Item(write) => Some(&write.project),
                _ => None,
            });
            for name in written.collect::<BTreeSet<_>>() {
                // Who deleted the project since then found it sound.
                if let Some(project) = rows::project(&sql, name)? {
                    rows::items(&sql, &project, false)?;
                    rows::items(&sql, &project, true)?;
                }
            }
            Ok(())
        })();
        match looked {
            Ok(()) => self.sound = stamp,
            Err(_) => fresh.leave(&self.site),
        }
        looked
    }
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

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }))
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
