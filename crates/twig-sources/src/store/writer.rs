//! The thread that writes. Each write is durable before its outcome is reported. Writes that are
//! queued together share one transaction, and wait for the disk once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::Limits;
use twig_core::store::{StoreError, Write, Written};

use super::apply::apply;
use super::clock::now;
use super::identity::{FileIdentity, retire};
use super::open::{LARGE_LOG, OpenConnection, held_log_sentence, open};
use super::queue::{QueuedWrite, WaitingWrites};
use super::reader::StoreReader;
use super::sql::Sql;
use super::sqlite_error::SqliteError;
use super::workspace_handle::{WorkspaceHandle, stopping};
use crate::stamp::FileStamp;

/// Maximum number of writes in one transaction.
const TOGETHER: usize = 32;

/// What the thread does: it writes what is queued, until the queue is closed.
pub(super) fn thread_work(
    handle: &WorkspaceHandle,
    limits: Limits,
    reader: Arc<Mutex<StoreReader>>,
) -> impl FnOnce(&WaitingWrites) + Send + use<> {
    let mut writer = WriterThread {
        handle: handle.for_writer(),
        limits,
        reader,
        is_log_large: false,
        known: None,
    };
    move |jobs| writer.run(jobs)
}

struct WriterThread {
    handle: WorkspaceHandle,
    limits: Limits,
    /// The connection that reads; it is closed with the others if a lock is stuck.
    reader: Arc<Mutex<StoreReader>>,
    /// Whether the log was too large after the last write.
    is_log_large: bool,
    /// The file's metadata after the last write of this connection. SQLite trusts its cached pages,
    /// so a connection is not used once another program wrote to the file.
    known: Option<FileStamp>,
}

/// How the use of a connection ends.
enum ConnectionEnd {
    /// No work is left.
    Done,
    /// The disk is full, and these writes free space: try again with the reserve.
    Full(Vec<QueuedWrite>),
    /// The lock was not available. This process may hold it itself, if the system failed to release
    /// it; these writes are not done.
    Stuck(Vec<QueuedWrite>),
    /// The connection or its files are faulty; these writes are not done.
    Wrong(Vec<QueuedWrite>),
}

/// The outcome of each of several writes.
type Outcomes = Vec<Result<Written, StoreError>>;

/// Why none of several writes was made.
struct BatchError {
    /// The write that failed, if it was a single one: the others may be tried again.
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
                    self.known = opened.files.in_place().map(|files| files.stamp);
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

    /// Closes all connections of this process to a file; each is reopened when it is needed.
    fn close_all(&self, identity: FileIdentity) {
        retire(identity);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.close_if_retired(&self.handle);
    }

    /// Performs jobs with one connection; those queued together become durable together.
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
            // Do not write to a file that was removed, replaced or overwritten meanwhile.
            let stamp = opened.usable_files().map(|files| files.stamp);
            if stamp.is_none() || (is_used && stamp != self.known) {
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

    /// Performs several writes in one transaction and checks that they are durable.
    fn carry_out(
        &mut self,
        opened: &OpenConnection,
        sql: &Sql<'_>,
        batch: &[QueuedWrite],
    ) -> Result<Outcomes, BatchError> {
        let begun = sql.run("BEGIN IMMEDIATE", []);
        // The others have more time left.
        begun.map_err(|fault| BatchError { at: Some(0), fault })?;
        let applied = self.apply_each(sql, batch, opened.is_tight);
        let is_news = |outcomes: &Outcomes| outcomes.iter().flatten().any(|it| it.is_new);
        let ended = if applied.as_ref().is_ok_and(is_news) {
            sql.run("COMMIT", [])
        } else {
            // Nothing was changed, or nothing may be.
            sql.run("ROLLBACK", [])
        };
        let Some(files) = opened.files.in_place() else {
            let workspace = self.handle.workspace.clone();
            return Err(SqliteError::from(StoreError::Moved { workspace }).into());
        };
        // SQLite's error about a write takes precedence over the error at the end, which the first
        // may have caused.
        let outcomes = applied?;
        ended?;
        self.watch_log(opened, files.log_bytes);
        // If it differs now, this very write checkpointed the log.
        self.known = Some(files.stamp);
        Ok(outcomes)
    }

    /// Logs that the log cannot be checkpointed, once for each time that it grows.
    fn watch_log(&mut self, opened: &OpenConnection, bytes: u64) {
        let is_large = bytes > LARGE_LOG;
        if is_large && !self.is_log_large {
            tracing::warn!(
                "{}",
                held_log_sentence(&self.handle.workspace, bytes, &opened.main)
            );
            // This process may hold the lock, if the system failed to release it.
            self.close_all(opened.files.identity());
        }
        self.is_log_large = is_large;
    }

    /// Applies the writes in order; a refused one leaves no trace.
    fn apply_each(
        &self,
        sql: &Sql<'_>,
        batch: &[QueuedWrite],
        is_tight: bool,
    ) -> Result<Outcomes, BatchError> {
        // A single write needs none: if it is refused, the whole transaction is rolled back. SQLite
        // copies every page that is written after a savepoint.
        let savepoint = |step: &'static str| match batch.len() {
            1 => Ok(0),
            _ => sql.run(step, []),
        };
        let apply_one = |write: &Write| {
            if is_tight && !write.makes_room() {
                return Ok(Err(StoreError::DiskFull));
            }
            savepoint("SAVEPOINT one")?;
            let outcome = match apply(sql, &self.handle.workspace, &self.limits, write, now()) {
                Ok(written) => Ok(written),
                Err(SqliteError::Refused(error)) if error.is_callers() => {
                    savepoint("ROLLBACK TO one")?;
                    Err(error)
                }
                Err(fault) => return Err(fault),
            };
            savepoint("RELEASE one")?;
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

/// True if the failed write, or one of those that failed together, frees space.
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

/// The outcome after a panic: while the transaction is open, nothing was written.
fn mistake(has_ended: bool) -> StoreError {
    StoreError::Unavailable(
        if has_ended {
            "A bug in Twig interrupted the change, and it may have been written: check \
             before you repeat it"
        } else {
            "The change could not be made because of a bug in Twig, nothing was written"
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
