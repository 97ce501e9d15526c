//! The thread that notices writes of anybody and says so.
//!
//! The system's events only wake it early; what counts is whether `data_version` moved on a
//! connection of its own. An event can come before the write it tells of can be seen, so it asks
//! several times.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::open::{Opened, open};
use super::site::Site;

/// How long after an event it is asked.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(25),
    Duration::from_millis(100),
];

/// How often it is asked by itself.
const TICK: Duration = Duration::from_millis(250);

/// The same where the system tells of nothing.
const FAST_TICK: Duration = Duration::from_millis(50);

/// How long the end waits for the connection to close.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// What wakes the thread.
enum Signal {
    Touched,
    Stop,
}

/// The thread; dropping this ends it.
pub(super) struct Watcher {
    signals: Sender<Signal>,
    ended: Receiver<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Stop);
        // It may be busy telling of a write to whoever drops this.
        let _ = self.ended.recv_timeout(LAST_LOOK);
    }
}

impl Watcher {
    pub(super) fn start(site: Site, on_write: Box<dyn Fn() + Send + Sync>) -> Self {
        let (signals, received) = channel();
        let (ending, ended) = channel();
        let hints = signals.clone();
        let ears = Ears {
            seen: None,
            site,
            opened: None,
            received,
            on_write,
        };
        let thread = std::thread::Builder::new().name("twig-store-watch".to_owned());
        let spawned = thread.spawn(move || {
            let _ending: Sender<()> = ending;
            // Dropped before the word that it is over: its connection is closed by then.
            let mut ears = ears;
            ears.run(hints);
        });
        if let Err(error) = spawned {
            tracing::warn!("writes of others are not announced: {error}");
        }
        Self { signals, ended }
    }
}

struct Ears {
    site: Site,
    opened: Option<Opened>,
    /// What `data_version` was last; `None` until the file could be asked.
    seen: Option<i64>,
    received: Receiver<Signal>,
    on_write: Box<dyn Fn() + Send + Sync>,
}

impl Ears {
    fn run(&mut self, hints: Sender<Signal>) {
        let native = match self.listen(hints) {
            Ok(native) => Some(native),
            Err(error) => {
                // Nobody waits longer for it, and who follows the folders says the same.
                tracing::debug!("looking for writes every {FAST_TICK:?} instead: {error}");
                None
            }
        };
        // Opening counts as news, so that nothing that was written before goes by unseen.
        self.look();
        let tick = if native.is_some() { TICK } else { FAST_TICK };
        loop {
            match self.received.recv_timeout(tick) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.look(),
                Ok(Signal::Touched) => {
                    if !self.look_again_and_again() {
                        return;
                    }
                }
            }
        }
    }

    /// Has the system tell of what happens to the file and its log.
    fn listen(&self, hints: Sender<Signal>) -> notify::Result<RecommendedWatcher> {
        let name: OsString = self.site.path.file_name().unwrap_or_default().to_owned();
        let hear = move |event: notify::Result<notify::Event>| {
            let is_news = event.as_ref().map_or(true, |event| {
                let is_ours = |path: &std::path::PathBuf| {
                    let found = path.file_name().unwrap_or_default().as_encoded_bytes();
                    found.starts_with(name.as_encoded_bytes())
                };
                // Our own reads are events too.
                !matches!(event.kind, EventKind::Access(_))
                    && (event.paths.is_empty() || event.paths.iter().any(is_ours))
            });
            if is_news {
                let _ = hints.send(Signal::Touched);
            }
        };
        let mut native = RecommendedWatcher::new(hear, Config::default())?;
        let folder = self.site.path.parent().unwrap_or(&self.site.path);
        native.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(native)
    }

    /// `false` when it is over.
    fn look_again_and_again(&mut self) -> bool {
        let mut since = Instant::now();
        let mut next = 0;
        while let Some(after) = LOOKS.get(next) {
            let left = (since + *after).saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                // One more write: all over again, and a look now, however many there are.
                Ok(Signal::Touched) => {
                    while let Ok(signal) = self.received.try_recv() {
                        if matches!(signal, Signal::Stop) {
                            return false;
                        }
                    }
                    since = Instant::now();
                    next = 1;
                }
                Err(RecvTimeoutError::Timeout) => next += 1,
            }
            self.look();
        }
        true
    }

    /// Asks, and says so where there was a write.
    fn look(&mut self) {
        let mut is_news = false;
        if let Some(gone) = self.opened.take_if(|opened| !opened.files.are_there()) {
            gone.leave(&self.site);
            is_news = true;
        }
        if self.opened.is_none() {
            self.opened = open(&self.site).ok();
            is_news |= self.opened.is_some();
            self.seen = self.opened.as_ref().and_then(version);
        }
        let now = self.opened.as_ref().and_then(version);
        if now.is_none() {
            // It cannot be asked: the next look opens it anew.
            if let Some(silent) = self.opened.take() {
                silent.leave(&self.site);
            }
        }
        is_news |= now != self.seen;
        self.seen = now;
        if is_news {
            (self.on_write)();
        }
    }
}

/// A number that differs after every write of another connection.
fn version(opened: &Opened) -> Option<i64> {
    let asked = opened
        .connection
        .query_row("PRAGMA data_version", [], |row| row.get(0));
    asked.ok()
}
