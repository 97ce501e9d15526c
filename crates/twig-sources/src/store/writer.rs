//! The thread that writes, one write after the other, each durable before anybody hears of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use std::time::{Duration, SystemTime};

use rusqlite::{Transaction, TransactionBehavior};
use twig_core::Limits;
use twig_core::store::{OnWritten, StoreError, Timestamp, Write, Written};

use super::apply::apply;
use super::fault::Fault;
use super::open::{Opened, open};
use super::rows;
use super::site::Site;
use crate::stamp::FileStamp;

/// How long the end waits for a write that was begun.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// Something to do, and whom to tell.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) done: OnWritten,
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
    jobs: Option<Sender<Job>>,
    thread: ThreadId,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Writer {
    pub(super) fn start(site: Site, limits: Limits) -> std::io::Result<Self> {
        let (jobs, received) = channel::<Job>();
        let (ending, ended) = channel();
        let handle = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                let mut hand = Hand {
                    site,
                    limits,
                    opened: None,
                    sound: None,
                };
                for job in received {
                    let outcome = hand.carry_out(&job.write);
                    job.tell(outcome);
                }
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: handle.thread().id(),
            ended,
        })
    }

    /// Hands a job over; gives it back where the thread is no more.
    pub(super) fn send(&self, job: Job) -> Result<(), Job> {
        match &self.jobs {
            Some(jobs) => jobs.send(job).map_err(|unsent| unsent.0),
            None => Err(job),
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
    opened: Option<Opened>,
    /// What the system said of the file when it was last found to hold together.
    sound: Option<FileStamp>,
}

impl Hand {
    fn carry_out(&mut self, write: &Write) -> Result<Written, StoreError> {
        if self.site.is_closing.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable(
                "The server is stopping, nothing was written: start it again, then repeat the change"
                    .to_owned(),
            ));
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.try_write(write)));
        outcome.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "The change could not be made because of a mistake in Twig, nothing was written"
                    .to_owned(),
            ))
        })
    }

    fn try_write(&mut self, write: &Write) -> Result<Written, StoreError> {
        // What was removed or replaced meanwhile is not written to.
        if let Some(gone) = self.opened.take_if(|opened| !opened.files.are_there()) {
            gone.leave(&self.site);
        }
        // Whatever happens, the connection is kept only where all went well.
        let opened = if let Some(opened) = self.opened.take() {
            opened
        } else {
            let opened = open(&self.site)?;
            self.sound = opened.files.stamp();
            opened
        };
        let mut outcome = self.commit(&opened, write);
        if !opened.files.are_there() {
            opened.leave(&self.site);
            return Err(StoreError::Moved {
                workspace: self.site.workspace.clone(),
            });
        }
        if outcome.is_ok()
            && let Err(fault) = self.look_again(&opened, write)
        {
            outcome = Err(fault);
        }
        match outcome {
            Err(fault @ (Fault::Sql(_) | Fault::Damaged(_))) => {
                opened.leave(&self.site);
                Err(self.site.tell(fault))
            }
            outcome => {
                self.opened = Some(opened);
                outcome.map_err(|fault| self.site.tell(fault))
            }
        }
    }

    /// Looks with fresh eyes whether what was written is really there, if the file itself changed.
    /// Mostly the log was only written back; but a file that somebody copied over it goes unnoticed
    /// by who keeps its pages in memory.
    fn look_again(&mut self, opened: &Opened, write: &Write) -> Result<(), Fault> {
        let stamp = opened.files.stamp();
        if stamp == self.sound {
            return Ok(());
        }
        let fresh = match open(&self.site) {
            Ok(fresh) => fresh,
            Err(error @ StoreError::Damaged { .. }) => return Err(error.into()),
            // The write is in the log; whoever writes next looks.
            Err(_) => return Ok(()),
        };
        let looked = (|| {
            let connection = fresh.connection.unchecked_transaction()?;
            rows::projects(&connection)?;
            let Write::Item(write) = write else {
                return Ok(());
            };
            // Who deleted the project since then found it sound.
            if let Some(project) = rows::project(&connection, &write.project)? {
                rows::items(&connection, &project, false)?;
                rows::items(&connection, &project, true)?;
            }
            Ok(())
        })();
        match looked {
            Ok(()) => self.sound = stamp,
            Err(_) => fresh.leave(&self.site),
        }
        looked
    }

    fn commit(&self, opened: &Opened, write: &Write) -> Result<Written, Fault> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&opened.connection, behavior)?;
        let workspace = &self.site.workspace;
        let written = apply(&transaction, workspace, &self.limits, write, now())?;
        transaction.commit()?;
        Ok(written)
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }))
}
