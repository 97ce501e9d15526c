//! The thread that writes. Each write is durable before its outcome is reported. Writes that are
//! queued together share one transaction.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use twig_core::Limits;
use twig_core::store::{Digest, StoreError, Write};

use super::loaded_rows::RowId;
use super::pg_batch::{PgOutcomes, is_shared, plan_batch};
use super::pg_commit::commit;
use super::pg_fault::PgFault;
use super::pg_rows::{maybe_digest, signed};
use super::{PgShared, lock_key, uuid_of};
use crate::store::queue::{QueueError, QueuedWrite, WaitingWrites, WriteQueue};
use crate::store::writer::WriteJob;

/// Maximum number of writes in one transaction.
const TOGETHER: usize = 30;

/// How often a batch is tried again when other writers were in the way.
const TRIES: usize = 5;

/// The pause between two attempts to learn the outcome of a commit.
const PAUSE: Duration = Duration::from_millis(100);

/// How long dropping waits for a running write.
const LAST_WRITE: Duration = Duration::from_millis(1_500);

/// The thread; dropping this ends it after its current work.
#[derive(Debug)]
pub(super) struct PgWriter {
    jobs: Option<WriteQueue>,
    thread: ThreadId,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl PgWriter {
    pub(super) fn start(shared: Arc<PgShared>, limits: Limits) -> std::io::Result<Self> {
        let (jobs, waiting) = WriteQueue::new();
        let (ending, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("twig-store-write".to_owned())
            .spawn(move || {
                let _ending: Sender<()> = ending;
                let mut writer = PgWriterThread {
                    shared,
                    limits,
                    client: None,
                };
                writer.run(&waiting);
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: thread.thread().id(),
            ended,
        })
    }

    /// Queues a job; returns it if the queue is full or the thread has ended.
    pub(super) fn send(&self, job: WriteJob) -> Result<(), Box<(WriteJob, QueueError)>> {
        match &self.jobs {
            Some(jobs) => jobs.send(job),
            None => Err(Box::new((job, QueueError::Ended))),
        }
    }
}

impl Drop for PgWriter {
    fn drop(&mut self) {
        self.jobs = None;
        // The callback of the last write may own the store.
        if std::thread::current().id() != self.thread {
            let _ = self.ended.recv_timeout(LAST_WRITE);
        }
    }
}

struct PgWriterThread {
    shared: Arc<PgShared>,
    limits: Limits,
    client: Option<Client>,
}

/// How an attempt to write a batch ended without outcomes.
enum AttemptEnd {
    /// Nothing was written.
    Failed(PgFault),
    /// The connection was lost after the commit was sent: these are the outcomes if it was made.
    Unknown((RowId, u64, Digest), PgOutcomes),
}

impl PgWriterThread {
    fn run(&mut self, jobs: &WaitingWrites) {
        let mut queued: VecDeque<QueuedWrite> = VecDeque::new();
        loop {
            if queued.is_empty() {
                queued.extend(jobs.recv());
            }
            queued.extend(jobs.try_iter().take(TOGETHER));
            if queued.is_empty() {
                return;
            }
            if self.shared.is_closing.load(Ordering::Acquire) {
                for queued in queued.drain(..) {
                    queued.report(Err(crate::store::stopping()));
                }
                continue;
            }
            let shared = queued.iter().take(TOGETHER);
            let shared = shared.take_while(|queued| is_shared(&queued.job.write));
            let count = shared.count().max(1);
            let batch: Vec<QueuedWrite> = queued.drain(..count).collect();
            // The first one has waited longest.
            let until = batch
                .first()
                .map(|queued| Instant::from_std(queued.job.until));
            let until = until.unwrap_or_else(Instant::now);
            let writes: Vec<&Write> = batch.iter().map(|queued| &queued.job.write).collect();
            let outcomes = self.carry_out(&writes, until);
            let is_written = outcomes.iter().flatten().any(|written| written.is_new);
            if is_written {
                self.shared.wrote();
            }
            for (queued, outcome) in batch.into_iter().zip(outcomes) {
                queued.report(outcome);
            }
            if is_written {
                self.hint();
            }
        }
    }

    /// Tells other servers that something was written, and does not wait for it: they also look
    /// without being told.
    fn hint(&mut self) {
        let (Some(client), id) = (&self.client, self.shared.id.to_string()) else {
            return;
        };
        let values: [super::PgValue<'_>; 1] = [(&id, Type::TEXT)];
        // The first poll sends it.
        let _ = client
            .query_typed("SELECT pg_notify('twig', $1)", &values)
            .now_or_never();
    }

    fn carry_out(&mut self, writes: &[&Write], until: Instant) -> PgOutcomes {
        let shared = Arc::clone(&self.shared);
        // Each step has its own deadline.
        let far = until + Duration::from_secs(60);
        let outcome = shared
            .database
            .wait(far, async { Ok(self.write_all(writes, until).await) });
        outcome.unwrap_or_else(|fault| self.all(writes, fault))
    }

    /// The same refusal for all writes.
    fn all(&self, writes: &[&Write], fault: PgFault) -> PgOutcomes {
        let error = fault.describe(&self.shared.workspace, self.limits.store_millis, true);
        writes.iter().map(|_| Err(error.clone())).collect()
    }

    async fn write_all(&mut self, writes: &[&Write], until: Instant) -> PgOutcomes {
        let mut tries = 0;
        loop {
            tries += 1;
            // A connection that was used before may have been lost since.
            let was_open = self.client.is_some();
            let fault = match self.attempt(writes, until).await {
                Ok(outcomes) => return outcomes,
                Err(AttemptEnd::Failed(fault)) => fault,
                Err(AttemptEnd::Unknown(evidence, outcomes)) => {
                    match self.resolve(&evidence, until).await {
                        Some(true) => return outcomes,
                        Some(false) if tries < TRIES => continue,
                        Some(false) => {
                            let reason = "the connection was lost".to_owned();
                            return self.all(writes, PgFault::Away(reason));
                        }
                        None => return self.unknown(outcomes),
                    }
                }
            };
            let is_again = fault.is_conflict()
                || (was_open && fault.is_lost() && !matches!(fault, PgFault::Late));
            if !is_again || tries >= TRIES || Instant::now() >= until {
                return self.all(writes, fault);
            }
        }
    }

    /// One attempt. A connection that failed is not used again.
    async fn attempt(
        &mut self,
        writes: &[&Write],
        until: Instant,
    ) -> Result<PgOutcomes, AttemptEnd> {
        let failed = AttemptEnd::Failed;
        let timed = |result: Result<_, _>| result.unwrap_or(Err(PgFault::Late));
        let open = self.client.take().filter(|client| !client.is_closed());
        let client = match open {
            Some(client) => client,
            None => {
                timed(timeout_at(until, self.shared.connect_checked(true)).await).map_err(failed)?
            }
        };
        let place = (self.shared.id, &self.shared.workspace);
        let planning = plan_batch(&client, place, &self.limits, writes);
        let planned = timeout_at(until, planning)
            .await
            .unwrap_or(Err(PgFault::Late));
        let planned = match planned {
            Ok(planned) => planned,
            Err(fault) => {
                self.end(client, until, &fault).await;
                return Err(failed(fault));
            }
        };
        let Some(evidence) = planned.evidence() else {
            self.end(client, until, &PgFault::Refused(StoreError::DiskFull))
                .await;
            return Ok(planned.outcomes);
        };
        let committing = commit(&client, self.shared.id, &planned.made);
        match timeout_at(until, committing)
            .await
            .unwrap_or(Err(PgFault::Late))
        {
            Ok(()) => {
                self.client = Some(client);
                Ok(planned.outcomes)
            }
            Err(fault) if fault.is_lost() => Err(AttemptEnd::Unknown(evidence, planned.outcomes)),
            Err(fault) => {
                self.end(client, until, &fault).await;
                Err(failed(fault))
            }
        }
    }

    /// Rolls back and keeps the connection, unless a fault may have broken it.
    async fn end(&mut self, client: Client, until: Instant, fault: &PgFault) {
        if fault.is_lost() {
            return;
        }
        let rolled_back = timeout_at(until, client.batch_execute("ROLLBACK")).await;
        if matches!(rolled_back, Ok(Ok(()))) {
            self.client = Some(client);
        }
    }

    /// Whether a commit was made whose answer was lost; `None` if that cannot be found out in time.
    ///
    /// Having the lock proves that the transaction is over, because it held the same one.
    async fn resolve(&mut self, evidence: &(RowId, u64, Digest), until: Instant) -> Option<bool> {
        let (project, rev, digest) = evidence;
        let lock = format!(
            "BEGIN; SET LOCAL lock_timeout = '2s'; SELECT pg_advisory_xact_lock({})",
            lock_key(self.shared.id)
        );
        while Instant::now() < until {
            let looking = async {
                let client = self.shared.connect_checked(true).await?;
                client.batch_execute(&lock).await?;
                let (id, rev) = (uuid_of(*project), signed(*rev));
                let found = client
                    .query_typed(
                        "SELECT digest FROM twig.change \
                         WHERE workspace = $1 AND project = $2 AND rev = $3",
                        &[
                            (&self.shared.id, Type::UUID),
                            (&id, Type::UUID),
                            (&rev, Type::INT8),
                        ],
                    )
                    .await?;
                let found = found.first().map(|row| maybe_digest(row, 0)).transpose()?;
                client.batch_execute("ROLLBACK").await?;
                Ok::<_, PgFault>(found.flatten().as_ref() == Some(digest))
            };
            if let Ok(Ok(is_written)) = timeout_at(until, looking).await {
                return Some(is_written);
            }
            sleep(PAUSE).await;
        }
        None
    }

    fn unknown(&self, outcomes: PgOutcomes) -> PgOutcomes {
        let workspace = &self.shared.workspace;
        let unknown = |outcome: Result<twig_core::store::Written, StoreError>| match outcome {
            Ok(written) if written.is_new => Err(StoreError::Unknown {
                workspace: workspace.clone(),
            }),
            outcome => outcome,
        };
        outcomes.into_iter().map(unknown).collect()
    }
}
