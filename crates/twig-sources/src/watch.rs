//! Following the disk: hints from the system, a look at the disk, and word of what changed.
//!
//! The system's events are hints only: they come late, lack paths and get lost. Any of them means
//! that the disk is looked at, and stamps decide; a look also comes by itself every few seconds.

mod checkout;
mod gap;
mod hints;
mod native;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use twig_core::Catalog;

use self::checkout::under_way;
use self::gap::Gap;
use self::hints::Hints;
use self::native::Native;
use crate::live::{LiveCatalog, Signal};
use crate::patience::{CHECKOUT, CHECKOUT_STEP, EVENTS_LONGEST, EVENTS_QUIET};
use crate::settings::Watching;
use crate::stamp::next_round;

/// A start is busy enough: watching begins this much later.
const HEAD_START: Duration = Duration::from_millis(50);

/// How often the disk is looked at by itself where the system tells of changes.
const RECONCILE: Duration = Duration::from_secs(5);

/// How often it is looked at where the system does not.
const POLL: Duration = Duration::from_millis(250);
const SLOWEST_POLL: Duration = Duration::from_secs(2);

/// Looks in a row while folders keep turning up.
const ROUNDS: usize = 8;

/// Keeps a [`LiveCatalog`] fresh; dropping it ends the thread that does so.
#[derive(Debug)]
pub struct CatalogWatch {
    signals: Sender<Signal>,
    /// Whatever else follows something; dropped, it ends.
    others: Others,
}

/// What follows the store.
#[derive(Default)]
struct Others(Vec<Box<dyn Send>>);

impl std::fmt::Debug for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} others", self.0.len())
    }
}

impl CatalogWatch {
    /// The same, and something else that follows until this is dropped.
    fn and(mut self, other: Box<dyn Send>) -> Self {
        self.others.0.push(other);
        self
    }
}

impl Drop for CatalogWatch {
    fn drop(&mut self) {
        // The thread is not waited for: it may be busy telling of a change.
        let _ = self.signals.send(Signal::Stop);
    }
}

impl LiveCatalog {
    /// Follows the disk on a thread of its own until the [`CatalogWatch`] is dropped.
    ///
    /// `on_change` is called after a catalog was published whose lists, or whose documents, differ
    /// from the last one that was announced.
    pub fn watch(self: &Arc<Self>, on_change: impl Fn() + Send + 'static) -> CatalogWatch {
        let (watch, sender) = start(self, on_change);
        let Some(project) = self.project() else {
            return watch;
        };
        let store = &project.selected.store;
        watch.and(store.watch(Box::new(move || {
            // It may be over already.
            let _ = sender.send(Signal::Wrote);
        })))
    }
}

/// Starts the thread; hands back what it is woken by.
fn start(
    catalog: &Arc<LiveCatalog>,
    on_change: impl Fn() + Send + 'static,
) -> (CatalogWatch, Sender<Signal>) {
    let (signals, received) = channel();
    let follower = Follower {
        announced: catalog.published(),
        gap: Gap::default(),
        catalog: Arc::clone(catalog),
        hints: Arc::new(Hints::new(signals.clone())),
        native: None,
        received,
        next_round: Instant::now() + RECONCILE,
        on_change,
    };
    let thread = std::thread::Builder::new().name("twig-watch".to_owned());
    match thread.spawn(move || follower.run()) {
        Ok(handle) => catalog.add_watcher(handle.thread().id(), signals.clone()),
        Err(error) => tracing::warn!("changes on disk are not followed: {error}"),
    }
    let watch = CatalogWatch {
        signals: signals.clone(),
        others: Others::default(),
    };
    (watch, signals)
}

struct Follower<F> {
    catalog: Arc<LiveCatalog>,
    /// The last catalog that was told of.
    announced: Arc<Catalog>,
    hints: Arc<Hints>,
    /// The system's watcher; without one the disk is looked at more often.
    native: Option<Native>,
    received: Receiver<Signal>,
    gap: Gap,
    /// When young files are read once more.
    next_round: Instant,
    on_change: F,
}

impl<F: Fn()> Follower<F> {
    fn run(mut self) {
        if !self.pause(Instant::now() + HEAD_START) {
            return;
        }
        if self.catalog.settings().watching == Watching::Auto {
            self.native = Native::start(Arc::clone(&self.hints));
            self.follow_folders(&[]);
        }
        let mut until = Instant::now() + self.look();
        loop {
            let next = self.gap.due().map_or(until, |due| due.min(until));
            let left = next.saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Published | Signal::Wrote) => {
                    if self.gap.may_announce(Instant::now()) {
                        self.announce_writes();
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if next < until => {
                    self.announce_writes();
                    continue;
                }
                Ok(Signal::Touched) if !self.wait_for_quiet() => return,
                Ok(Signal::Touched) | Err(RecvTimeoutError::Timeout) => {}
            }
            if !self.wait_for_checkouts() {
                return;
            }
            until = Instant::now() + self.look();
        }
    }

    /// Looks at the disk until all that is there is watched; says when to look next.
    fn look(&mut self) -> Duration {
        let mut took = Duration::ZERO;
        let now = Instant::now();
        if now >= self.next_round {
            next_round();
            self.next_round = now + RECONCILE;
        }
        for _ in 0..ROUNDS {
            let lost = self.hints.take();
            let started = Instant::now();
            self.catalog.refresh();
            // Word of a write may have come while something else was waited for.
            self.catalog.follow_project();
            took = started.elapsed();
            self.announce();
            // What came into a new folder before it was watched raised no event.
            if !self.follow_folders(&lost) {
                break;
            }
        }
        if self.native.is_some() {
            RECONCILE
        } else {
            (took * 50).clamp(POLL, SLOWEST_POLL)
        }
    }

    /// Reads what was written to the store, once for however many writes, and tells of it.
    fn announce_writes(&mut self) {
        self.catalog.follow_project();
        self.announce();
    }

    /// Tells of what another catalog brought: problems to the log, all else to who listens.
    fn announce(&mut self) {
        self.catalog.log_problems();
        let now = self.catalog.published();
        if Arc::ptr_eq(&now, &self.announced) {
            return self.gap.settled();
        }
        let before = std::mem::replace(&mut self.announced, now);
        if before.revisions() != self.announced.revisions() {
            self.gap.announced(Instant::now());
            (self.on_change)();
        }
        self.gap.settled();
    }

    /// Watches exactly the folders that matter; says whether any is new. `lost` are paths whose
    /// watches died.
    fn follow_folders(&mut self, lost: &[PathBuf]) -> bool {
        let Some(native) = &mut self.native else {
            return false;
        };
        match native.follow(&self.catalog.folders(), lost) {
            Ok(is_new) => is_new,
            Err(reason) => {
                tracing::warn!("looking for changes every {POLL:?} instead: {reason}");
                self.native = None;
                true
            }
        }
    }

    /// Waits until no event came for a moment; `false` when it is over.
    fn wait_for_quiet(&mut self) -> bool {
        while let Some((first, last)) = self.hints.times() {
            let until = (last + EVENTS_QUIET).min(first + EVENTS_LONGEST);
            if until <= Instant::now() {
                break;
            }
            if !self.pause(until) {
                return false;
            }
        }
        true
    }

    /// Waits until no checkout is under way, so that it is one change; `false` when it is over.
    fn wait_for_checkouts(&mut self) -> bool {
        let latest = Instant::now() + CHECKOUT;
        let mut roots = self.catalog.roots();
        loop {
            roots.retain(|root| under_way(root, CHECKOUT));
            let now = Instant::now();
            if roots.is_empty() || now >= latest {
                return true;
            }
            if !self.pause(latest.min(now + CHECKOUT_STEP)) {
                return false;
            }
        }
    }

    /// Waits; `false` when it is over. What is written to the store is announced meanwhile.
    fn pause(&mut self, until: Instant) -> bool {
        loop {
            let next = self.gap.due().map_or(until, |due| due.min(until));
            let left = next.saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if next < until => self.announce_writes(),
                Err(RecvTimeoutError::Timeout) => return true,
                Ok(Signal::Touched) => {}
                Ok(Signal::Published | Signal::Wrote) => {
                    if self.gap.may_announce(Instant::now()) {
                        self.announce_writes();
                    }
                }
            }
        }
    }
}
