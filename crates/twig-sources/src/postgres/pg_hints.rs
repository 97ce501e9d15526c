//! Notifications of the database, which wake the threads that follow something in it. One connection
//! listens for all of them.
//!
//! A notification is only a hint: a thread that hears it compares what it knows with the database, and
//! also does so now and then without one.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout_at};
use tokio_postgres::{AsyncMessage, Client};
use uuid::Uuid;

use super::database::PgDatabase;
use super::pg_fault::PgFault;
use crate::store::clock::new_id;

/// How often to look whether anybody still follows, and how long the first notification may take.
const TICK: Duration = Duration::from_secs(1);

/// How often the connection that listens is tried, and how long an answer may take.
const PROBE: Duration = Duration::from_secs(15);

/// The pause before listening again after the connection was lost.
const PAUSE: Duration = Duration::from_millis(500);

/// The pause before listening again where no notification arrives.
const UNHEARD: Duration = Duration::from_secs(60);

/// Who is woken by the notifications of a database.
#[derive(Debug, Default)]
pub(super) struct PgHints(Mutex<HintedParts>);

#[derive(Debug, Default)]
struct HintedParts {
    /// By their numbers, with what they follow.
    parts: Vec<(u64, Uuid, SyncSender<()>)>,
    next: u64,
    is_listening: bool,
}

/// Someone who is woken, until this is dropped.
#[derive(Debug)]
pub(super) struct PgHearing {
    hints: Arc<PgHints>,
    number: u64,
}

impl Drop for PgHearing {
    fn drop(&mut self) {
        self.hints
            .parts()
            .parts
            .retain(|(number, ..)| *number != self.number);
    }
}

impl PgHints {
    fn parts(&self) -> MutexGuard<'_, HintedParts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who follow what a notification names, or everyone.
    fn wake(&self, named: Option<&str>) {
        let id = named.map(Uuid::try_parse);
        for (_, follows, signals) in &self.parts().parts {
            if id.as_ref().is_none_or(|id| id.as_ref() == Ok(follows)) {
                // One signal that waits is as good as many.
                let _ = signals.try_send(());
            }
        }
    }

    /// Whether nobody follows anything any more; nothing listens after that.
    fn is_over(&self) -> bool {
        let mut parts = self.parts();
        parts.is_listening = !parts.parts.is_empty();
        !parts.is_listening
    }
}

impl PgDatabase {
    /// Signals when a notification names this, and whenever listening begins again.
    pub(super) fn hear(self: &Arc<Self>, follows: Uuid, signals: SyncSender<()>) -> PgHearing {
        let mut parts = self.hints.parts();
        let number = parts.next;
        parts.next += 1;
        parts.parts.push((number, follows, signals));
        if !std::mem::replace(&mut parts.is_listening, true) {
            self.spawn(listen(Arc::downgrade(self), Arc::clone(&self.hints)));
        }
        PgHearing {
            hints: Arc::clone(&self.hints),
            number,
        }
    }
}

/// What a connection that listened has heard.
enum Heard {
    /// At least the notification that tries it.
    Own,
    Nothing,
}

/// Listens while anybody follows something; connects again when the connection is lost.
async fn listen(database: Weak<PgDatabase>, hints: Arc<PgHints>) {
    while !hints.is_over() {
        let Some(database) = database.upgrade() else {
            return;
        };
        let pause = match listen_once(&database, &hints).await {
            Ok(Heard::Nothing) => UNHEARD,
            Ok(Heard::Own) => PAUSE,
            Err(fault) => {
                let reason = fault.reason();
                tracing::debug!("listening to PostgreSQL ended: {reason}");
                // Of a database that is away, the connection that reads says so.
                if database.listens_elsewhere() || !fault.is_lost() {
                    database.say_polling(&reason);
                }
                PAUSE
            }
        };
        drop(database);
        let until = Instant::now() + pause;
        while Instant::now() < until && !hints.parts().parts.is_empty() {
            sleep(PAUSE).await;
        }
    }
}

async fn listen_once(database: &PgDatabase, hints: &Arc<PgHints>) -> Result<Heard, PgFault> {
    let hinted = Arc::clone(hints);
    let listener = PgListener::start(database, move |heard| hinted.wake(Some(heard)));
    let mut listener = listener.await?;
    // What was written before it listened.
    hints.wake(None);
    if !listener.hears(database).await? {
        database.say_polling("it delivers no notifications");
        return Ok(Heard::Nothing);
    }
    database.is_heard();
    listener.stay(hints).await?;
    Ok(Heard::Own)
}

/// Whether notifications of other connections arrive.
pub(super) async fn is_heard(database: &PgDatabase) -> Result<bool, PgFault> {
    let mut listener = PgListener::start(database, |_| {}).await?;
    listener.hears(database).await
}

/// A connection that listens; dropping this ends it.
struct PgListener {
    client: Client,
    driver: JoinHandle<()>,
    /// The notification that tries it.
    test: String,
    arrived: Option<oneshot::Receiver<()>>,
}

impl Drop for PgListener {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl PgListener {
    async fn start(
        database: &PgDatabase,
        on_other: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, PgFault> {
        let connecting = timeout_at(Instant::now() + PROBE, database.connect_to_listen());
        let (client, mut connection) = connecting.await.unwrap_or(Err(PgFault::Late))?;
        let test = new_id().to_string();
        let (arrive, arrived) = oneshot::channel();
        let (mut arrive, awaited) = (Some(arrive), test.clone());
        let driver = tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(heard)) if heard.payload() == awaited => {
                        if let Some(arrive) = arrive.take() {
                            let _ = arrive.send(());
                        }
                    }
                    Ok(AsyncMessage::Notification(heard)) => on_other(heard.payload()),
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        });
        let listener = Self {
            client,
            driver,
            test,
            arrived: Some(arrived),
        };
        ask(&listener.client, "LISTEN twig").await?;
        Ok(listener)
    }

    /// Whether a notification sent by another connection arrives.
    async fn hears(&mut self, database: &PgDatabase) -> Result<bool, PgFault> {
        let test = &self.test;
        let sending = async {
            let client = database.connect().await?;
            // Standbys may be away, which says nothing about notifications.
            let send = format!(
                "BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_notify('twig', '{test}'); \
                 COMMIT"
            );
            Ok(client.batch_execute(&send).await?)
        };
        let sent = timeout_at(Instant::now() + PROBE, sending).await;
        sent.unwrap_or(Err(PgFault::Late))?;
        let Some(arrived) = self.arrived.take() else {
            return Ok(false);
        };
        match timeout_at(Instant::now() + TICK, arrived).await {
            Ok(Ok(())) => Ok(true),
            // The connection ended meanwhile, which says nothing about notifications.
            Ok(Err(_)) => Err(PgFault::Away("the connection was lost".into())),
            Err(_) => Ok(false),
        }
    }

    /// Keeps the connection open while it answers and anybody follows something.
    async fn stay(&self, hints: &PgHints) -> Result<(), PgFault> {
        let mut ticks = interval(TICK);
        let mut last = Instant::now();
        while !self.driver.is_finished() && !hints.parts().parts.is_empty() {
            ticks.tick().await;
            if last.elapsed() >= PROBE {
                ask(&self.client, "SELECT 1").await?;
                last = Instant::now();
            }
        }
        Ok(())
    }
}

impl PgDatabase {
    /// Logs once, for all that listen to a database, that changes of other servers are noticed by asking.
    fn say_polling(&self, why: &str) {
        if self.is_polling.swap(true, Ordering::AcqRel) {
            return;
        }
        let (where_from, what_to_do) = if self.listens_elsewhere() {
            ("at `listen_url`", "correct `listen_url` in [store]")
        } else {
            (
                "of the store",
                "if its address is that of a pooler, set `listen_url` in [store] to the address of \
                 the database itself",
            )
        };
        tracing::warn!(
            "the database {where_from} cannot be listened to ({why}), so changes of other servers \
             are looked for once a second: {what_to_do}"
        );
    }
}

async fn ask(client: &Client, sql: &str) -> Result<(), PgFault> {
    let asked = timeout_at(Instant::now() + PROBE, client.batch_execute(sql)).await;
    Ok(asked.map_err(|_| PgFault::Late)??)
}
