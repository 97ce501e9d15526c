//! The thread that notices writes of this process and of others, and reports them.
//!
//! A notification of the database only wakes it early: it compares the revision, and also looks
//! once a second.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tokio::time::{Instant, interval, sleep, timeout_at};
use tokio_postgres::{AsyncMessage, Client};

use super::pg_fault::PgFault;
use super::{PgShared, PgStoreReader};

/// How often to look without a notification.
const TICK: Duration = Duration::from_secs(1);

/// How often the connection that listens is tried, and how long an answer may take.
const PROBE: Duration = Duration::from_secs(15);

/// The pause before listening again after the connection was lost.
const PAUSE: Duration = Duration::from_millis(500);

/// The thread; dropping this ends it.
pub(super) struct PgWatcher {
    signals: SyncSender<()>,
    is_over: Arc<AtomicBool>,
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
        let listening = listen(Arc::clone(&shared), signals.clone(), Arc::clone(&is_over));
        shared.database.spawn(listening);
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
                }
            }
        });
        if let Err(error) = started {
            tracing::warn!("writes of other servers are not followed: {error}");
        }
        Self { signals, is_over }
    }
}

/// Listens until the watcher is dropped; connects again when the connection is lost.
async fn listen(shared: Arc<PgShared>, signals: SyncSender<()>, is_over: Arc<AtomicBool>) {
    let is_ended = || is_over.load(Ordering::Acquire) || shared.is_closing.load(Ordering::Acquire);
    while !is_ended() {
        if let Err(fault) = listen_once(&shared, &signals, &is_ended).await {
            tracing::debug!("listening to PostgreSQL ended: {}", fault.reason());
        }
        sleep(PAUSE).await;
    }
}

async fn listen_once(
    shared: &PgShared,
    signals: &SyncSender<()>,
    is_ended: &impl Fn() -> bool,
) -> Result<(), PgFault> {
    let connecting = shared.database.connect_raw();
    let (client, mut connection) = timeout_at(Instant::now() + PROBE, connecting)
        .await
        .unwrap_or(Err(PgFault::Late))?;
    let own = shared.id.to_string();
    let signal = signals.clone();
    let driver = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(heard)) if heard.payload() == own => {
                    let _ = signal.try_send(());
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
    let outcome = stay(&client, signals, is_ended, &driver).await;
    driver.abort();
    outcome
}

/// Keeps the connection open while it answers.
async fn stay(
    client: &Client,
    signals: &SyncSender<()>,
    is_ended: &impl Fn() -> bool,
    driver: &tokio::task::JoinHandle<()>,
) -> Result<(), PgFault> {
    let ask = async |sql: &str| -> Result<(), PgFault> {
        let asked = timeout_at(Instant::now() + PROBE, client.batch_execute(sql)).await;
        Ok(asked.map_err(|_| PgFault::Late)??)
    };
    ask("LISTEN twig").await?;
    // What was written before it listened.
    let _ = signals.try_send(());
    let mut ticks = interval(TICK);
    let mut last = Instant::now();
    while !is_ended() && !driver.is_finished() {
        ticks.tick().await;
        if last.elapsed() >= PROBE {
            ask("SELECT 1").await?;
            last = Instant::now();
        }
    }
    Ok(())
}
