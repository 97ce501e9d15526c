//! The thread that writes, one write after the other, each durable before anybody hears of it.

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
    /// Something is wrong with it or its files; a job may be left that it was not used for.
    Wrong(Option<Queued>),
}

impl Hand {
    fn run(&mut self, jobs: &Waiting) {
        let mut left = None;
        while let Some(queued) = left.take().or_else(|| jobs.recv().ok()) {
            if self.site.is_closing.load(Ordering::Acquire) {
                queued.tell(Err(stopping()));
                continue;
            }
            self.site.deadline.set(queued.job.until);
            match open(&self.site) {
                Err(error) => queued.tell(Err(error)),
                Ok(opened) => {
                    self.sound = opened.files.stamp();
                    match self.work(&opened, queued, jobs) {
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

    /// Does one job after the other with one connection.
    fn work(&mut self, opened: &Opened, first: Queued, jobs: &Waiting) -> End {
        let sql = Sql::new(&opened.connection);
        let mut queued = first;
        loop {
            // What was removed or replaced meanwhile is not written to.
            if !opened.files.are_there() {
                return End::Wrong(Some(queued));
            }
            self.site.deadline.set(queued.job.until);
            let attempt = || self.carry_out(opened, &sql, &queued.job.write);
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Ok(written)) => queued.tell(Ok(written)),
                Ok(Err(Fault::Refused(error))) if error.is_callers() => queued.tell(Err(error)),
                Ok(Err(fault)) => {
                    queued.tell(Err(self.site.tell(fault)));
                    return End::Wrong(None);
                }
                Err(_) => {
                    queued.tell(Err(mistake(opened.connection.is_autocommit())));
                    return End::Wrong(None);
                }
            }
            queued = match jobs.recv() {
                Ok(queued) if self.site.is_closing.load(Ordering::Acquire) => {
                    queued.tell(Err(stopping()));
                    for queued in jobs {
                        queued.tell(Err(stopping()));
                    }
                    return End::Done;
                }
                Ok(queued) => queued,
                Err(_) => return End::Done,
            };
        }
    }

    /// Carries out a write and makes sure that it is really there.
    fn carry_out(
        &mut self,
        opened: &Opened,
        sql: &Sql<'_>,
        write: &Write,
    ) -> Result<Written, Fault> {
        let before = opened.files.stamp();
        sql.run("BEGIN IMMEDIATE", [])?;
        let applied = apply(sql, &self.site.workspace, &self.limits, write, now());
        let ended = match &applied {
            Ok(written) if written.is_new => sql.run("COMMIT", []),
            // Nothing was changed, or nothing is to be.
            _ => sql.run("ROLLBACK", []),
        };
        if !opened.files.are_there() {
            let workspace = self.site.workspace.clone();
            return Err(StoreError::Moved { workspace }.into());
        }
        // What SQLite says of the write comes before what it says of the end, which it may have
        // brought about itself.
        if matches!(applied, Ok(_) | Err(Fault::Refused(_))) {
            ended?;
        }
        let written = applied?;
        if before == self.sound {
            // If it differs now, it was this very write that wrote the log back.
            self.sound = opened.files.stamp();
        } else {
            self.look_again(opened, write)?;
        }
        Ok(written)
    }

    /// Looks with fresh eyes whether what was written is really there, since somebody else wrote to
    /// the file. Mostly the log was only written back; but a file that was copied over it goes
    /// unnoticed by who keeps its pages in memory.
    fn look_again(&mut self, opened: &Opened, write: &Write) -> Result<(), Fault> {
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
            let Write::Item(write) = write else {
                return Ok(());
            };
            // Who deleted the project since then found it sound.
            if let Some(project) = rows::project(&sql, &write.project)? {
                rows::items(&sql, &project, false)?;
                rows::items(&sql, &project, true)?;
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

fn now() -> Timestamp {
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
