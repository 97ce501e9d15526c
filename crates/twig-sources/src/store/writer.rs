//! The thread that writes, one write after the other, each durable before its outcome is reported: writes
//! that wait together are one transaction, and wait for the disk once.

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
use super::identity::{FileIdentity, retire};
use super::open::{LARGE_LOG, OpenConnection, held_log_sentence, open};
use super::queue::{QueueError, QueuedWrite, WaitingWrites, WriteQueue};
use super::reader::StoreReader;
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::{WorkspaceHandle, stopping};
use crate::stamp::FileStamp;

/// How long the end waits for a write that was begun: clients wait two seconds for a server to stop.
const LAST_WRITE: Duration = Duration::from_millis(1_500);

/// Writes that are made durable together, at most.
const TOGETHER: usize = 32;

/// A write, and the callback for its outcome.
pub(super) struct WriteJob {
    pub(super) write: Write,
    pub(super) done: OnWritten,
    /// Until when it waits for its turn, however many are before it.
    pub(super) until: Instant,
}

impl WriteJob {
    /// Reports the outcome. A callback that panics does not take the thread down.
    pub(super) fn report(self, outcome: Result<Written, StoreError>) {
        let done = self.done;
        if catch_unwind(AssertUnwindSafe(|| done(outcome))).is_err() {
            tracing::error!("the callback of a write panicked");
        }
    }
}

/// The thread; dropping this ends it once it has finished what it has begun.
#[derive(Debug)]
pub(super) struct StoreWriter {
    jobs: Option<WriteQueue>,
    thread: ThreadId,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl StoreWriter {
    pub(super) fn start(
        handle: &WorkspaceHandle,
        limits: Limits,
        reader: Arc<Mutex<StoreReader>>,
    ) -> std::io::Result<Self> {
        let handle = handle.for_writer();
        let (jobs, waiting) = WriteQueue::new();
        let (ending, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                let mut writer = WriterThread {
                    handle,
                    limits,
                    reader,
                    is_log_large: false,
                    known: None,
                };
                writer.run(&waiting);
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: thread.thread().id(),
            ended,
        })
    }

    /// Hands a job over; gives it back where too many wait, or the thread is no more.
    pub(super) fn send(&self, job: WriteJob) -> Result<(), (WriteJob, QueueError)> {
        match &self.jobs {
            Some(jobs) => jobs.send(job),
            None => Err((job, QueueError::Ended)),
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.jobs = None;
        // What hears of the last write may be what holds the store.
        if std::thread::current().id() != self.thread {
            let _ = self.ended.recv_timeout(LAST_WRITE);
        }
    }
}

struct WriterThread {
    handle: WorkspaceHandle,
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
enum ConnectionEnd {
    /// There is nothing more to do.
    Done,
    /// The disk is full, and what is to be done makes room: it is tried again with what is kept for it.
    Full(Vec<QueuedWrite>),
    /// The lock could not be had. It may be this process that has it, where the system failed to
    /// release it; what was not done is left.
    Stuck(Vec<QueuedWrite>),
    /// Something is wrong with it or its files; what it was not used for is left.
    Wrong(Vec<QueuedWrite>),
}

/// The outcome of each of several writes.
type Outcomes = Vec<Result<Written, StoreError>>;

/// Why none of several writes was made.
struct BatchError {
    /// The write that failed, where it was a single one: the others may be tried again.
    at: Option<usize>,
    fault: SqliteError,
}

impl From<SqliteError> for BatchError {
    fn from(fault: SqliteError) -> Self {
        Self { at: None, fault }
    }
}

impl WriterThread {
    fn run(&mut self, jobs: &WaitingWrites) {
        let mut left = Vec::new();
        loop {
            if left.is_empty() {
                left.extend(jobs.recv());
            }
            let Some(first) = left.first() else {
                return;
            };
            if self.handle.is_closing.load(Ordering::Acquire) {
                report_all(left.drain(..), &stopping());
                continue;
            }
            self.handle.deadline.set(first.job.until);
            match open(&self.handle) {
                Err(error) => left.remove(0).report(Err(error)),
                Ok(opened) => {
                    self.handle.keeps_reserve = true;
                    self.known = opened.files.stamp();
                    match self.work(&opened, left, jobs) {
                        ConnectionEnd::Done => return,
                        ConnectionEnd::Wrong(queued) => {
                            opened.leave(&self.handle);
                            left = queued;
                        }
                        ConnectionEnd::Full(queued) => {
                            opened.release_reserve(&self.handle);
                            opened.leave(&self.handle);
                            self.handle.keeps_reserve = false;
                            left = queued;
                        }
                        ConnectionEnd::Stuck(queued) => {
                            let identity = opened.files.identity();
                            opened.leave(&self.handle);
                            self.close_all(identity);
                            left = queued;
                        }
                    }
                }
            }
        }
    }

    /// Has all connections of this process to a file closed; each is opened again when it is needed.
    fn close_all(&self, identity: FileIdentity) {
        retire(identity);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.close_if_retired(&self.handle);
    }

    /// Does one job after the other with one connection; those that wait together are made durable
    /// together.
    fn work(
        &mut self,
        opened: &OpenConnection,
        mut batch: Vec<QueuedWrite>,
        jobs: &WaitingWrites,
    ) -> ConnectionEnd {
        let sql = Sql::new(&opened.connection);
        let mut is_used = false;
        loop {
            if batch.is_empty() {
                batch.extend(jobs.recv());
            }
            batch.extend(jobs.try_iter().take(TOGETHER.saturating_sub(batch.len())));
            // The first one has waited longest.
            let Some(first) = batch.first() else {
                return ConnectionEnd::Done;
            };
            if self.handle.is_closing.load(Ordering::Acquire) {
                report_all(batch.into_iter().chain(jobs), &stopping());
                return ConnectionEnd::Done;
            }
            self.handle.deadline.set(first.job.until);
            // What was removed, replaced or overwritten meanwhile is not written to.
            if !opened.is_usable() || (is_used && opened.files.stamp() != self.known) {
                return ConnectionEnd::Wrong(batch);
            }
            is_used = true;
            let attempt = || self.carry_out(opened, &sql, &batch);
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Ok(outcomes)) => {
                    for (queued, outcome) in batch.drain(..).zip(outcomes) {
                        queued.report(outcome);
                    }
                    // By the next write there may be room again.
                    if opened.is_tight {
                        return ConnectionEnd::Wrong(batch);
                    }
                }
                Ok(Err(BatchError { at, fault }))
                    if fault.is_full() && !opened.is_tight && makes_room(&batch, at) =>
                {
                    return ConnectionEnd::Full(batch);
                }
                Ok(Err(BatchError { at, fault })) => {
                    let is_stuck = fault.is_stuck();
                    let error = self.handle.describe(fault);
                    match at {
                        Some(at) => batch.remove(at).report(Err(error)),
                        None => report_all(batch.drain(..), &error),
                    }
                    return if is_stuck {
                        ConnectionEnd::Stuck(batch)
                    } else {
                        ConnectionEnd::Wrong(batch)
                    };
                }
                Err(_) => {
                    let error = mistake(opened.connection.is_autocommit());
                    report_all(batch.drain(..), &error);
                    return ConnectionEnd::Wrong(batch);
                }
            }
        }
    }

    /// Carries out several writes in one transaction and makes sure that they are really there.
    fn carry_out(
        &mut self,
        opened: &OpenConnection,
        sql: &Sql<'_>,
        batch: &[QueuedWrite],
    ) -> Result<Outcomes, BatchError> {
        let begun = sql.run("BEGIN IMMEDIATE", []);
        // The others have more patience left.
        begun.map_err(|fault| BatchError { at: Some(0), fault })?;
        let applied = self.apply_each(sql, batch, opened.is_tight);
        let is_news = |outcomes: &Outcomes| outcomes.iter().flatten().any(|it| it.is_new);
        let ended = if applied.as_ref().is_ok_and(is_news) {
            sql.run("COMMIT", [])
        } else {
            // Nothing was changed, or nothing is to be.
            sql.run("ROLLBACK", [])
        };
        if !opened.files.are_there() {
            let workspace = self.handle.workspace.clone();
            return Err(SqliteError::from(StoreError::Moved { workspace }).into());
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
    fn watch_log(&mut self, opened: &OpenConnection) {
        let bytes = opened.files.log_bytes();
        let is_large = bytes > LARGE_LOG;
        if is_large && !self.is_log_large {
            tracing::warn!(
                "{}",
                held_log_sentence(&self.handle.workspace, bytes, &opened.main)
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
        batch: &[QueuedWrite],
        is_tight: bool,
    ) -> Result<Outcomes, BatchError> {
        let apply_one = |write: &Write| {
            if is_tight && !write.makes_room() {
                return Ok(Err(StoreError::DiskFull));
            }
            sql.run("SAVEPOINT one", [])?;
            let outcome = match apply(sql, &self.handle.workspace, &self.limits, write, now()) {
                Ok(written) => Ok(written),
                Err(SqliteError::Refused(error)) if error.is_callers() => {
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
            apply_one(&queued.job.write).map_err(|fault| BatchError { at, fault })
        })
        .collect()
    }
}

/// True if the write that failed, or one of those that failed together, makes room.
fn makes_room(batch: &[QueuedWrite], at: Option<usize>) -> bool {
    let failed = match at {
        Some(at) => batch.get(at..=at).unwrap_or_default(),
        None => batch,
    };
    failed.iter().any(|queued| queued.job.write.makes_room())
}

fn report_all(all: impl IntoIterator<Item = QueuedWrite>, error: &StoreError) {
    for queued in all {
        queued.report(Err(error.clone()));
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
