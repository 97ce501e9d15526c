//! The thread that follows keys, roles and ended sessions of all servers on a database.
//!
//! A notification only wakes it early: it compares the revision, and also looks about once a second.
//! While the database is away, what was read last stays valid.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use twig_core::store::StoreError;

use super::database::PgLine;
use super::pg_access::{
    NO_WORKSPACE, PgAccess, PgAccessStamp, PgAccessState, end_sessions, ended_after, read, stamp,
};
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_hints::PgHearing;
use super::pg_workspaces::describe_any;
use super::schema::is_without_access;
use crate::shared_sessions::SharedSessions;

/// How often to look without a notification: a change has to be effective within a second.
const TICK: Duration = Duration::from_millis(900);

/// The pause after each look, however many ask for one.
const PACE: Duration = Duration::from_millis(10);

/// How long one look may take.
const LONGEST: Duration = Duration::from_secs(2);

/// How long a caller waits for a look.
const PATIENCE: Duration = Duration::from_millis(250);

/// Keys, roles and ended sessions, as a thread reads them; dropping this ends it.
#[derive(Debug)]
pub(crate) struct FollowedPgAccess {
    news: Arc<AccessNews>,
    signals: SyncSender<()>,
    is_over: Arc<AtomicBool>,
    sessions: Option<Arc<SharedSessions>>,
    _hearing: PgHearing,
}

/// What the thread found, and who waits for it.
#[derive(Debug, Default)]
struct AccessNews {
    state: Mutex<NewsState>,
    looked: Condvar,
}

#[derive(Debug, Default)]
struct NewsState {
    /// What was read since the last call of `take`.
    read: Option<Result<PgAccessState, String>>,
    /// How often a look was asked for, and how many of these were answered.
    asked: u64,
    answered: u64,
}

impl AccessNews {
    fn state(&self) -> MutexGuard<'_, NewsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread needs and knows.
struct AccessThread {
    line: PgLine,
    news: Arc<AccessNews>,
    sessions: Option<Arc<SharedSessions>>,
    last: Option<PgAccessStamp>,
    /// The last revision of keys and roles that was read.
    revision: Option<i64>,
    /// Up to which ended session is known.
    ended: i64,
    /// Whether the tables are older than keys.
    is_absent: bool,
    /// Whether the last look failed.
    is_broken: bool,
    /// Whether the last ends of sessions could not be written.
    cannot_write: bool,
    on_news: Box<dyn Fn() + Send + Sync>,
}

impl FollowedPgAccess {
    /// Reads keys and roles, and follows them. `offered` becomes the key of sessions if there is none
    /// yet.
    pub(crate) fn start(
        access: &PgAccess,
        offered: [u8; 32],
        on_news: Box<dyn Fn() + Send + Sync>,
    ) -> Result<(Self, PgAccessState), StoreError> {
        let (signals, received) = sync_channel(1);
        let key = access.session_key(offered)?;
        let sessions = key.map(|key| Arc::new(SharedSessions::new(key, signals.clone())));
        let news: Arc<AccessNews> = Arc::default();
        let mut thread = AccessThread {
            line: PgLine::new(Arc::clone(&access.database)),
            news: Arc::clone(&news),
            sessions: sessions.clone(),
            last: None,
            revision: None,
            ended: 0,
            is_absent: key.is_none(),
            is_broken: false,
            cannot_write: false,
            on_news,
        };
        let first = thread.look().map_err(|fault| describe_any(fault, false))?;
        let first = first.unwrap_or(PgAccessState::Absent);
        let is_over: Arc<AtomicBool> = Arc::default();
        let hearing = access.database.hear(NO_WORKSPACE, signals.clone());
        let is_ended = Arc::clone(&is_over);
        let own = std::thread::Builder::new().name("twig-store-keys".to_owned());
        own.spawn(move || thread.run(&received, &is_ended))
            .map_err(|error| {
                StoreError::Unavailable(format!(
                    "The keys and roles in the database cannot be followed: {error}"
                ))
            })?;
        let followed = Self {
            news,
            signals,
            is_over,
            sessions,
            _hearing: hearing,
        };
        Ok((followed, first))
    }

    /// What was read since the last call, if it differs from what was read before, or why it was not.
    pub(crate) fn take(&self) -> Option<Result<PgAccessState, String>> {
        self.news.state().read.take()
    }

    /// Waits a moment for a look that begins now.
    pub(crate) fn look_now(&self) {
        let mut state = self.news.state();
        state.asked += 1;
        let own = state.asked;
        let _ = self.signals.try_send(());
        let waited = self
            .news
            .looked
            .wait_timeout_while(state, PATIENCE, |state| state.answered < own);
        drop(waited);
    }

    /// The sessions of all servers; `None` if the tables are older than them.
    pub(crate) fn sessions(&self) -> Option<&Arc<SharedSessions>> {
        self.sessions.as_ref()
    }
}

impl Drop for FollowedPgAccess {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = self.signals.try_send(());
    }
}

impl AccessThread {
    fn run(mut self, received: &Receiver<()>, is_over: &AtomicBool) {
        loop {
            let woken = received.recv_timeout(TICK);
            if is_over.load(Ordering::Acquire) || woken == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let asked = self.news.state().asked;
            let looked = self.look();
            let is_news = self.report(looked);
            self.news.state().answered = asked;
            self.news.looked.notify_all();
            if is_news {
                (self.on_news)();
            }
            std::thread::sleep(PACE);
        }
    }

    /// Keeps what a look found; returns whether there is something to take.
    fn report(&mut self, looked: Result<Option<PgAccessState>, PgFault>) -> bool {
        let read = match looked {
            Ok(None) => {
                self.is_broken = false;
                let sessions = self.sessions.as_ref();
                return sessions.is_some_and(|sessions| sessions.has_ended());
            }
            Ok(Some(state)) => Ok(state),
            Err(fault) => {
                // Read again when it works, and reported once.
                self.last = None;
                if std::mem::replace(&mut self.is_broken, true) {
                    return false;
                }
                Err(fault.reason())
            }
        };
        self.is_broken = read.is_err();
        self.news.state().read = Some(read);
        true
    }

    /// Writes what was ended here, and reads what has changed: the keys and roles, if they have.
    fn look(&mut self) -> Result<Option<PgAccessState>, PgFault> {
        let begun = Instant::now();
        self.write_ends(begun + LONGEST / 2);
        let looked = self.look_until(begun + LONGEST);
        if let Some(sessions) = &self.sessions {
            sessions.looked(begun.into_std(), looked.is_ok());
        }
        looked
    }

    /// Writes what was ended here. Whether that can be written does not matter for what is read: a key
    /// that was revoked must not go on working.
    fn write_ends(&mut self, until: Instant) {
        let Some(sessions) = self.sessions.clone() else {
            return;
        };
        let unwritten = sessions.unwritten();
        if unwritten.is_empty() {
            return;
        }
        let wrote = self.line.run(until, &async |client: &PgClient| {
            end_sessions(client, &unwritten).await
        });
        match wrote {
            Ok(()) => {
                sessions.wrote(unwritten.len());
                self.cannot_write = false;
            }
            Err(fault) => {
                sessions.refused();
                if !std::mem::replace(&mut self.cannot_write, true) {
                    tracing::warn!(
                        "ended sessions cannot be written to the database, so other servers go on \
                         with them: {}",
                        fault.reason()
                    );
                }
            }
        }
    }

    fn look_until(&mut self, until: Instant) -> Result<Option<PgAccessState>, PgFault> {
        let (known, ended) = (self.last.as_ref(), self.ended);
        let (is_shared, is_absent) = (self.sessions.is_some(), self.is_absent);
        let (now, read, heard) = self.line.run(until, &async |client: &PgClient| {
            if is_absent && is_without_access(client).await? {
                return Ok((None, None, None));
            }
            let Some(now) = stamp(client).await? else {
                return Ok((None, None, None));
            };
            let is_known = known.is_some_and(|known| known.has_same_access(&now));
            let read = if is_known {
                None
            } else {
                Some(read(client).await?)
            };
            let heard = if is_shared && now.ended != ended {
                // A counter that went back is that of a restored database.
                let known = if now.ended < ended { 0 } else { ended };
                Some(ended_after(client, known).await?)
            } else {
                None
            };
            Ok((Some(now), read, heard))
        })?;
        if let (Some((digests, last)), Some(now)) = (heard, &now) {
            self.ended = last.max(now.ended);
            if let Some(sessions) = &self.sessions {
                sessions.add_ended(digests);
            }
        }
        self.is_absent = now.is_none();
        let revision = now.as_ref().and_then(PgAccessStamp::revision);
        if let Some((before, after)) = self.revision.zip(revision)
            && after < before
        {
            tracing::warn!(
                "the keys and roles in the database went back from change {before} to {after}: revoke \
                 again the keys that were revoked since then"
            );
        }
        self.revision = revision.or(self.revision);
        self.last = now;
        Ok(read)
    }
}
