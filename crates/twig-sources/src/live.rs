//! The catalog that follows the disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_core::{Catalog, Problem};

use crate::found::Found;
use crate::problem_log::ProblemLog;
use crate::settings::Settings;
use crate::shelf::{Folders, Shelf};
use crate::watch::{self, Signal, Watch};

/// Loads libraries, publishes the catalog made of them, and the next one where the disk changed.
///
/// A request takes one [`LiveCatalog::snapshot`] at the door and answers entirely from it.
#[derive(Debug)]
pub struct LiveCatalog {
    settings: Settings,
    current: Mutex<Arc<Catalog>>,
    shelf: Mutex<Shelf>,
    scans: AtomicU64,
    /// Those who want to hear of catalogs that somebody else published.
    watchers: Mutex<Vec<Sender<Signal>>>,
    log: Mutex<ProblemLog>,
    /// Whether there may be problems that the log does not have.
    has_news: AtomicBool,
}

/// What a look at the disk brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refresh {
    /// Whether another catalog was published.
    pub changed: bool,
    /// Whether a client that lists prompts or documents sees a difference.
    pub lists_changed: bool,
    /// Whether a document says something else, is new or went away.
    pub contents_changed: bool,
    /// Libraries that are new or were read again and differ.
    pub libraries: usize,
}

impl LiveCatalog {
    /// Loads everything once. What cannot be loaded is a problem; the rest is there.
    pub fn load(settings: Settings) -> Self {
        let settings = settings.absolute();
        let live = Self {
            current: Mutex::default(),
            shelf: Mutex::new(Shelf::new(&settings)),
            scans: AtomicU64::new(0),
            watchers: Mutex::default(),
            log: Mutex::default(),
            has_news: AtomicBool::new(true),
            settings,
        };
        live.refresh();
        live
    }

    /// The catalog as of now.
    pub fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(&lock(&self.current))
    }

    /// Looks at the disk and publishes another catalog if something changed.
    ///
    /// Where nothing did, this costs a `stat` for each folder and manifest.
    pub fn refresh(&self) -> Refresh {
        let mut guard = lock(&self.shelf);
        self.scans.fetch_add(1, Ordering::Relaxed);
        let problems = std::mem::take(&mut guard.problems);
        let scanned = guard.scan(&self.settings);
        let Some(libraries) = scanned else {
            if guard.problems != problems {
                self.has_news.store(true, Ordering::Release);
            }
            return Refresh::default();
        };
        let before = self.snapshot();
        let next = Catalog::build(guard.libraries.clone()).after(&before);
        let (old, new) = (before.revisions(), next.revisions());
        *lock(&self.current) = Arc::new(next);
        self.has_news.store(true, Ordering::Release);
        if old != new {
            lock(&self.watchers).retain(|watcher| watcher.send(Signal::Published).is_ok());
        }
        Refresh {
            changed: true,
            lists_changed: (old.prompts, old.documents) != (new.prompts, new.documents),
            contents_changed: old.contents != new.contents,
            libraries,
        }
    }

    /// Follows the disk on a thread of its own until the [`Watch`] is dropped.
    ///
    /// `on_change` is called after a catalog was published whose lists, or whose documents, differ
    /// from the last one that was announced.
    pub fn watch(self: &Arc<Self>, on_change: impl Fn() + Send + 'static) -> Watch {
        let (watch, sender) = watch::start(self, on_change);
        lock(&self.watchers).push(sender);
        watch
    }

    /// Each place that was looked at and what was found there.
    pub fn found(&self) -> Vec<Found> {
        lock(&self.shelf).found(&self.settings)
    }

    /// What is wrong with the places themselves; problems of libraries are in the catalog.
    pub fn problems(&self) -> Vec<Problem> {
        lock(&self.shelf).problems.clone()
    }

    /// Logs each problem, of places and of libraries, that was not there when this was last called.
    ///
    /// A [`Watch`] calls it after each look; whoever wants the problems of the start in the log
    /// before that calls it too.
    pub fn log_problems(&self) {
        let mut log = lock(&self.log);
        if !self.has_news.swap(false, Ordering::Acquire) {
            return;
        }
        let places = self.problems();
        let catalog = self.snapshot();
        log.tell(places.iter().chain(catalog.problems()));
    }

    /// How often the disk was looked at.
    pub fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// What everything is loaded by, with absolute paths.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The folders that can be checkouts.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        lock(&self.shelf).roots()
    }

    /// The folders to watch.
    pub(crate) fn folders(&self) -> Folders {
        lock(&self.shelf).folders()
    }
}

/// What these locks guard is whole at every moment, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
