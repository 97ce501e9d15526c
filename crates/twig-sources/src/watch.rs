//! Follows the disk: events from the system, a check of the disk, and notifications of changes.
//!
//! The system's events are only hints: they come late, lack paths and get lost. Any event triggers
//! a check of the libraries that its paths are in, and stamps decide; there is also a check of
//! everything every few seconds.

mod checkout;
mod gap;
mod native;
mod texts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::EventKind;
use notify::event::ModifyKind;
use twig_core::Catalog;
use twig_core::store::Store;

use self::checkout::under_way;
use self::gap::Gap;
use self::native::Native;
use self::texts::FollowedTexts;
use crate::library_set::ScanScope;
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
        self.watch_all(on_change, None)
    }

    /// The same, and `on_change` is also called after a change that no list shows: of the text of a
    /// prompt, or of whether one can be served. [`LiveCatalog::texts`] or the fingerprint of the
    /// catalog differ then.
    pub fn watch_texts(self: &Arc<Self>, on_change: impl Fn() + Send + 'static) -> CatalogWatch {
        self.watch_all(on_change, Some(FollowedTexts::default()))
    }

    fn watch_all(
        self: &Arc<Self>,
        on_change: impl Fn() + Send + 'static,
        texts: Option<FollowedTexts>,
    ) -> CatalogWatch {
        let (watch, sender) = start(self, on_change, texts);
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
    texts: Option<FollowedTexts>,
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
        texts,
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
    /// When to check everything, and to read recently changed files again.
    next_round: Instant,
    /// `None` if only the lists and documents are followed.
    texts: Option<FollowedTexts>,
    on_change: F,
}

impl<F: Fn()> Follower<F> {
    fn run(mut self) {
        if !self.pause(Instant::now() + HEAD_START) {
            return;
        }
        if self.catalog.settings().watching == Watching::Auto {
            self.native = Native::start(Arc::clone(&self.hints));
            self.follow_folders(&BTreeSet::new());
            self.catalog.set_watched(self.native.is_some());
        }
        let mut until = self.look();
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
                Ok(Signal::Touched) | Err(RecvTimeoutError::Timeout) => {}
            }
            if !self.wait_for_writers() {
                return;
            }
            until = self.look();
        }
    }

    /// Checks the disk until every folder there is watched; returns when to check next.
    fn look(&mut self) -> Instant {
        let mut took = Duration::ZERO;
        let now = Instant::now();
        let is_due = now >= self.next_round;
        if is_due {
            next_round();
            self.next_round = now + RECONCILE;
        }
        for _ in 0..ROUNDS {
            let Hinted { touched, lost } = self.hints.take();
            let started = Instant::now();
            self.catalog.check(if is_due || touched.is_empty() {
                ScanScope::All
            } else {
                ScanScope::Touched(&touched)
            });
            // The store may have been written to during another wait.
            self.catalog.follow_project();
            self.catalog.refresh_workspace();
            if let Some(texts) = &mut self.texts {
                let is_reported = self.native.is_some();
                texts.look(&self.catalog, &touched, is_reported);
            }
            took = started.elapsed();
            self.follow_store();
            self.announce();
            // Files that were added to a new folder before it was watched raised no event.
            if !self.follow_folders(&lost) {
                break;
            }
        }
        if self.native.is_some() {
            self.next_round
        } else {
            Instant::now() + (took * 50).clamp(POLL, SLOWEST_POLL)
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

    /// Announces another catalog: notifies the listener if a list or a document differs, or a text
    /// that it follows, and logs new problems.
    fn announce(&mut self) {
        let now = self.catalog.published();
        let before = std::mem::replace(&mut self.announced, now);
        let texts = self.texts.as_mut();
        let has_other_texts = texts.is_some_and(|texts| {
            texts.is_news(&self.catalog) || before.fingerprint() != self.announced.fingerprint()
        });
        if has_other_texts || before.revisions() != self.announced.revisions() {
            self.gap.announced(Instant::now());
            (self.on_change)();
        }
        self.gap.settled();
        self.catalog.log_problems();
    }

    /// Watches exactly the relevant folders; returns whether any is new. `lost` are paths whose
    /// watches ended.
    fn follow_folders(&mut self, lost: &BTreeSet<PathBuf>) -> bool {
        let Some(native) = &mut self.native else {
            return false;
        };
        match native.follow(&self.catalog.folders(), lost) {
            Ok(is_new) => is_new,
            Err(reason) => {
                tracing::warn!("looking for changes every {POLL:?} instead: {reason}");
                self.native = None;
                self.catalog.set_watched(false);
                true
            }
        }
    }

    /// Waits until the writers are done: no event arrived for a moment, and no git checkout is
    /// running, so that it becomes one change. `false` when the thread must end.
    fn wait_for_writers(&mut self) -> bool {
        let latest = Instant::now() + CHECKOUT;
        let mut roots = None;
        loop {
            let now = Instant::now();
            let quiet = self.hints.quiet_at().filter(|at| *at > now);
            let until = if let Some(quiet) = quiet {
                quiet
            } else {
                let roots = roots.get_or_insert_with(|| self.catalog.roots());
                roots.retain(|root| under_way(root, CHECKOUT));
                if roots.is_empty() || now >= latest {
                    return true;
                }
                latest.min(now + CHECKOUT_STEP)
            };
            if !self.pause(until) {
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

/// More paths than this are not kept one by one.
const PATHS: usize = 1_000;

/// The system's events since the last check of the disk.
#[derive(Debug)]
struct Hints {
    state: Mutex<HintState>,
    signals: Sender<Signal>,
}

#[derive(Debug, Default)]
struct HintState {
    /// When the first and the last of them arrived.
    times: Option<(Instant, Instant)>,
    hinted: Hinted,
    interests: Interests,
}

/// The paths of events.
#[derive(Debug, Default)]
struct Hinted {
    touched: BTreeSet<PathBuf>,
    /// Those beneath which watches ended.
    lost: BTreeSet<PathBuf>,
}

/// Which events matter: other files in a busy folder above a library do not.
#[derive(Debug, Default)]
struct Interests {
    /// Folders of which every entry matters.
    inside: BTreeSet<PathBuf>,
    /// Paths that matter themselves, with their parents.
    roots: Vec<PathBuf>,
    /// Folders with several paths, of which an event names one.
    shared: BTreeSet<PathBuf>,
}

impl Interests {
    fn include(&self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|folder| self.inside.contains(folder))
            || self.inside.contains(path)
            || self.roots.iter().any(|root| root.starts_with(path))
    }
}

impl Hints {
    fn new(signals: Sender<Signal>) -> Self {
        Self {
            state: Mutex::default(),
            signals,
        }
    }

    /// Records one event; only the first of a burst wakes the thread.
    fn record(&self, event: notify::Result<notify::Event>) {
        let (paths, ends) = match event {
            Ok(event) if event.need_rescan() => (everything(), true),
            Err(_) => (everything(), true),
            // Our own reads cause these: reacting to them would never end.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => {
                let ends = matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                );
                (event.paths.into_iter().collect(), ends)
            }
        };
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !paths.is_empty() && !paths.iter().any(|path| state.interests.include(path)) {
            return;
        }
        let has_two_paths = |path: &PathBuf| {
            let folder = path.parent();
            folder.is_some_and(|folder| state.interests.shared.contains(folder))
        };
        let is_unclear = paths.is_empty() || paths.iter().any(has_two_paths);
        let Hinted { touched, lost } = &mut state.hinted;
        if ends {
            lost.extend(paths.iter().cloned());
        }
        touched.extend(if is_unclear { everything() } else { paths });
        for paths in [touched, lost] {
            if paths.len() > PATHS {
                *paths = everything();
            }
        }
        let first = state.times.map(|(first, _)| first);
        state.times = Some((first.unwrap_or(now), now));
        drop(state);
        if first.is_none() {
            let _ = self.signals.send(Signal::Touched);
        }
    }

    /// When it will have been quiet for a moment, if nothing more happens.
    fn quiet_at(&self) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = state.times?;
        Some((last + EVENTS_QUIET).min(first + EVENTS_LONGEST))
    }

    /// Resets the events; returns their paths.
    fn take(&self) -> Hinted {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times = None;
        std::mem::take(&mut state.hinted)
    }

    /// Sets which events matter from now on.
    fn listen_for(&self, interests: Interests) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.interests = interests;
    }
}

/// The root path, which contains everything.
fn everything() -> BTreeSet<PathBuf> {
    BTreeSet::from([PathBuf::from("/")])
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use notify::event::{AccessKind, AccessMode, CreateKind, Flag, RemoveKind};
    use notify::{Event, EventKind};

    use super::*;

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    fn hints() -> (Hints, std::sync::mpsc::Receiver<Signal>) {
        let (sender, receiver) = channel();
        let hints = Hints::new(sender);
        hints.listen_for(Interests {
            inside: BTreeSet::from([PathBuf::from("/home/me/prompts")]),
            roots: vec![PathBuf::from("/home/me/prompts")],
            shared: BTreeSet::new(),
        });
        (hints, receiver)
    }

    #[test]
    fn our_own_reads_are_no_news() {
        let (hints, signals) = hints();
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        hints.record(Ok(event(opened, "/home/me/prompts/a")));
        assert!(signals.try_recv().is_err());
    }

    #[test]
    fn what_happens_beside_a_library_is_no_news() {
        let (hints, signals) = hints();
        hints.record(Ok(event(
            EventKind::Create(CreateKind::File),
            "/home/me/notes",
        )));
        assert!(signals.try_recv().is_err());
        hints.record(Ok(event(EventKind::Remove(RemoveKind::Folder), "/home/me")));
        assert!(signals.try_recv().is_ok());
        assert_eq!(
            hints.take().lost,
            BTreeSet::from([PathBuf::from("/home/me")])
        );
    }

    #[test]
    fn a_burst_wakes_once() {
        let (hints, signals) = hints();
        for _ in 0..3 {
            hints.record(Ok(event(
                EventKind::Create(CreateKind::File),
                "/home/me/prompts/a",
            )));
        }
        assert_eq!(signals.try_iter().count(), 1);
        assert!(hints.take().lost.is_empty());
        hints.record(Ok(event(EventKind::Any, "/home/me/prompts/b")));
        assert_eq!(signals.try_iter().count(), 1);
    }

    #[test]
    fn an_event_names_the_path_that_was_touched() {
        let (hints, _signals) = hints();
        let path = "/home/me/prompts/a";
        hints.record(Ok(event(EventKind::Any, path)));
        assert_eq!(hints.take().touched, BTreeSet::from([PathBuf::from(path)]));
        assert!(hints.take().touched.is_empty());
    }

    #[test]
    fn an_event_in_a_folder_with_two_paths_touches_everything() {
        let (hints, _signals) = hints();
        let linked = PathBuf::from("/home/me/prompts/linked");
        hints.listen_for(Interests {
            inside: BTreeSet::from([linked.clone()]),
            roots: Vec::new(),
            shared: BTreeSet::from([linked]),
        });
        hints.record(Ok(event(EventKind::Any, "/home/me/prompts/linked/a")));
        assert_eq!(hints.take().touched, everything());
    }

    #[test]
    fn an_overflow_means_look_at_everything() {
        let (hints, signals) = hints();
        hints.record(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert!(signals.try_recv().is_ok());
        assert_eq!(hints.take().lost, everything());
        hints.record(Err(notify::Error::generic("gone")));
        assert_eq!(hints.take().lost, everything());
    }
}
