//! The thread that notices writes of this process and of others, and reports them.
//!
//! A notification of the database only wakes it early: it compares the revision, and also looks
//! once a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::pg_hints::PgHearing;
use super::{PgShared, PgStoreReader};

/// How often to look without a notification.
const TICK: Duration = Duration::from_secs(1);

/// The pause after a change was noticed. Under steady writes, every server would otherwise ask the
/// database about each of them; clients are notified less often than this.
const PACE: Duration = Duration::from_millis(20);

/// The thread; dropping this ends it.
pub(super) struct PgWatcher {
    signals: SyncSender<()>,
    is_over: Arc<AtomicBool>,
    _hearing: PgHearing,
}

impl Drop for PgWatcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = self.signals.try_send(());
    }
}

impl PgWatcher {
    pub(super) fn start(
        shared: Arc<PgShared>,
        reader: Arc<PgStoreReader>,
        on_write: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        // One signal that waits is as good as many.
        let (signals, received) = sync_channel(1);
        let is_over: Arc<AtomicBool> = Arc::default();
        shared.add_watcher(signals.clone());
        let hearing = shared.database.hear(shared.id, signals.clone());
        let is_ended = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().name("twig-store-watch".to_owned());
        let started = thread.spawn(move || {
            let mut last = reader.look(&shared).ok();
            loop {
                let woken = received.recv_timeout(TICK);
                if is_ended.load(Ordering::Acquire)
                    || shared.is_closing.load(Ordering::Acquire)
                    || woken == Err(RecvTimeoutError::Disconnected)
                {
                    return;
                }
                let now = reader.look(&shared).ok();
                if now != last {
                    last = now;
                    on_write();
                    std::thread::sleep(PACE);
                }
            }
        });
        if let Err(error) = started {
            tracing::warn!("writes of other servers are not followed: {error}");
        }
        Self {
            signals,
            is_over,
            _hearing: hearing,
        }
    }
}
