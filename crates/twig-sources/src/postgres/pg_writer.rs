//! The thread that writes. Each write is durable before its outcome is reported. Writes that are
//! queued together share one transaction.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::types::Type;
use twig_core::Limits;
use twig_core::store::{Digest, StoreError, Write};

use super::database::PgAbsence;
use super::isolation::show;
use super::loaded_rows::RowId;
use super::pg_batch::{PgOutcomes, is_shared, plan_batch};
use super::pg_client::PgClient;
use super::pg_commit::commit;
use super::pg_fault::PgFault;
use super::pg_rows::{maybe_digest, signed};
use super::{PgShared, lock_key, uuid_of};
use crate::store::queue::{QueuedWrite, WaitingWrites};

/// Maximum number of writes in one transaction.
const TOGETHER: usize = 30;

/// The statement for it.
const HINT: &str = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('twig', $1)";

/// How often a batch is tried again when other writers were in the way.
const TRIES: usize = 5;

/// The pause between two hints: under steady writes, each would wake every server.
const HINTS: Duration = Duration::from_millis(20);

/// The pause between two attempts to learn the outcome of a commit.
const PAUSE: Duration = Duration::from_millis(100);

/// What the thread does: it writes what is queued, until the queue is closed.
pub(super) fn thread_work(
    shared: Arc<PgShared>,
    limits: Limits,
) -> impl FnOnce(&WaitingWrites) + Send + use<> {
    let mut writer = PgWriterThread {
        shared,
        limits,
        client: None,
        absence: PgAbsence::default(),
        hinted: None,
        owes_hint: false,
    };
    move |jobs| writer.run(jobs)
}

struct PgWriterThread {
    shared: Arc<PgShared>,
    limits: Limits,
    client: Option<PgClient>,
    absence: PgAbsence,
    /// When other servers were last told of writes, and whether there were more since.
    hinted: Option<std::time::Instant>,
    owes_hint: bool,
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
                match self.wait(jobs) {
                    Ok(job) => queued.push_back(job),
                    Err(RecvTimeoutError::Timeout) => {
                        self.hint();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        if self.owes_hint {
                            self.hint();
                        }
                        return;
                    }
                }
            }
            queued.extend(jobs.try_iter().take(TOGETHER));
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
            self.owes_hint |= is_written;
            if self.owes_hint && self.until_hint().is_zero() {
                self.hint();
            }
        }
    }

    /// Waits for a write, or until other servers have to be told of the last one.
    fn wait(&self, jobs: &WaitingWrites) -> Result<QueuedWrite, RecvTimeoutError> {
        if self.owes_hint {
            return jobs.recv_timeout(self.until_hint());
        }
        jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    fn until_hint(&self) -> Duration {
        let hinted = self.hinted.map_or(HINTS, |hinted| hinted.elapsed());
        HINTS.saturating_sub(hinted)
    }

    /// Tells other servers that something was written, and does not wait for it: they also look
    /// without being told. It need not be durable, so the next write does not wait for the disk.
    fn hint(&mut self) {
        self.owes_hint = false;
        self.hinted = Some(std::time::Instant::now());
        let (Some(client), id) = (&self.client, self.shared.id.to_string()) else {
            return;
        };
        let values: [super::PgValue<'_>; 1] = [(&id, Type::TEXT)];
        // The first poll sends it.
        let _ = client.query_typed(HINT, &values).now_or_never();
    }

    fn carry_out(&mut self, writes: &[&Write], until: Instant) -> PgOutcomes {
        let shared = Arc::clone(&self.shared);
        // Each step has its own deadline.
        let far = until + Duration::from_secs(60);
        let found = match self.absence.look() {
            Ok(found) => found,
            Err(fault) => return self.all(writes, fault),
        };
        let outcome = shared.database.wait(far, async {
            if let Some(found) = found {
                let checked = timeout_at(until, self.shared.check(found, true)).await;
                self.client = Some(checked.unwrap_or(Err(PgFault::Late))?);
            }
            self.write_all(writes, until).await
        });
        shared.database.record(&outcome);
        outcome.unwrap_or_else(|fault| {
            if fault.is_lost() {
                self.absence.begin(&shared.database, fault.away_reason());
            }
            self.all(writes, fault)
        })
    }

    /// The same refusal for all writes.
    fn all(&self, writes: &[&Write], fault: PgFault) -> PgOutcomes {
        let error = fault.describe(&self.shared.workspace, self.limits.store_millis, true);
        writes.iter().map(|_| Err(error.clone())).collect()
    }

    async fn write_all(
        &mut self,
        writes: &[&Write],
        until: Instant,
    ) -> Result<PgOutcomes, PgFault> {
        let mut tries = 0;
        loop {
            tries += 1;
            // A connection that was used before may have been lost since.
            let was_open = self.client.is_some();
            let fault = match self.attempt(writes, until).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(AttemptEnd::Failed(fault)) => fault,
                Err(AttemptEnd::Unknown(evidence, outcomes)) => {
                    match self.resolve(&evidence, until).await {
                        Some(true) => return Ok(outcomes),
                        Some(false) if tries < TRIES => continue,
                        Some(false) => {
                            let reason = "the connection was lost".into();
                            return Err(PgFault::Away(reason));
                        }
                        None => return Ok(self.unknown(outcomes)),
                    }
                }
            };
            let is_again = fault.is_conflict()
                || (was_open && fault.is_lost() && !matches!(fault, PgFault::Late));
            if !is_again || tries >= TRIES || Instant::now() >= until {
                return Err(fault);
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
    async fn end(&mut self, client: PgClient, until: Instant, fault: &PgFault) {
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
            "BEGIN; SET LOCAL lock_timeout = '2s'; {}; SELECT pg_advisory_xact_lock({})",
            show(self.shared.id),
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
