//! Follows the disk: events from the system, a check of the disk, and notifications of changes.
//!
//! The system's events are only hints: they come late, lack paths and get lost. Any event triggers
//! a check of the disk, and stamps decide; there is also a check every few seconds.

mod checkout;
mod gap;
mod hints;
mod native;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use twig_core::Catalog;
use twig_core::store::Store;

use self::checkout::under_way;
use self::gap::Gap;
use self::hints::Hints;
use self::native::Native;
use crate::live::{LiveCatalog, Signal};
use crate::patience::{CHECKOUT, CHECKOUT_STEP, EVENTS_LONGEST, EVENTS_QUIET};
use crate::settings::Watching;
use crate::stamp::next_round;

/// Watching begins this much later, because the start is busy enough.
const HEAD_START: Duration = Duration::from_millis(50);

/// How often to check the disk if the system reports changes.
const RECONCILE: Duration = Duration::from_secs(5);

/// How often to check it if the system does not.
const POLL: Duration = Duration::from_millis(250);
const SLOWEST_POLL: Duration = Duration::from_secs(2);

/// Maximum checks in a row while new folders keep appearing.
const ROUNDS: usize = 8;

/// Keeps a [`LiveCatalog`] up to date; dropping it ends its thread.
#[derive(Debug)]
pub struct CatalogWatch {
    signals: Sender<Signal>,
    /// Other watchers that end with this one.
    others: Others,
}

/// The watchers of the store.
#[derive(Default)]
struct Others(Vec<Box<dyn Send>>);

impl std::fmt::Debug for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} others", self.0.len())
    }
}

impl CatalogWatch {
    /// Adds another watcher, which ends when this is dropped.
    fn and(mut self, other: Box<dyn Send>) -> Self {
        self.others.0.push(other);
        self
    }
}

impl Drop for CatalogWatch {
    fn drop(&mut self) {
        // Do not wait for the thread: it may be busy reporting a change.
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
        // The store of offered projects is followed once it is open.
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
        signals: signals.clone(),
        followed: None,
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

/// A store, and what ends when it is no longer followed.
struct FollowedStore {
    store: Arc<dyn Store>,
    _watch: Box<dyn Send>,
}

struct Follower<F> {
    catalog: Arc<LiveCatalog>,
    /// The last catalog that was announced.
    announced: Arc<Catalog>,
    hints: Arc<Hints>,
    signals: Sender<Signal>,
    /// The store of offered projects that is followed.
    followed: Option<FollowedStore>,
    /// The system's watcher; without one the disk is checked more often.
    native: Option<Native>,
    received: Receiver<Signal>,
    gap: Gap,
    /// When to read recently changed files again.
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

    /// Checks the disk until every folder there is watched; returns when to check next.
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
            // The store may have been written to during another wait.
            self.catalog.follow_project();
            self.catalog.refresh_workspace();
            took = started.elapsed();
            self.follow_store();
            self.announce();
            // Files that were added to a new folder before it was watched raised no event.
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

    /// Reads the writes to the store, once for any number of them, and announces them.
    fn announce_writes(&mut self) {
        self.catalog.follow_project();
        self.catalog.refresh_workspace();
        self.follow_store();
        self.announce();
    }

    /// Follows the store of offered projects, if it is open.
    fn follow_store(&mut self) {
        let Some(workspace) = self.catalog.workspace() else {
            return;
        };
        let store = workspace.store();
        let is_same = match (&store, &self.followed) {
            (Some(store), Some(followed)) => Arc::ptr_eq(store, &followed.store),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        self.followed = store.map(|store| {
            let signals = self.signals.clone();
            let watch = store.watch(Box::new(move || {
                // It may be over already.
                let _ = signals.send(Signal::Wrote);
            }));
            FollowedStore {
                store,
                _watch: watch,
            }
        });
    }

    /// Announces another catalog: logs its problems and notifies the listener of the rest.
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

    /// Watches exactly the relevant folders; returns whether any is new. `lost` are paths whose
    /// watches ended.
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

    /// Waits until no event arrived for a moment; `false` when the thread must end.
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

    /// Waits until no git checkout is running, so that it becomes one change; `false` when the
    /// thread must end.
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

    /// Waits; `false` when the thread must end. Announces writes to the store meanwhile.
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
