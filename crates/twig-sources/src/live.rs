//! The catalog that follows the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use twig_core::store::StoreError;
use twig_core::{Catalog, Library, Problem, Revisions};

use crate::found::SearchedPlace;
use crate::problem_log::ProblemLog;
use crate::project::ProjectSource;
use crate::reach::Reach;
use crate::settings::Settings;
use crate::shelf::{Folders, LibrarySet};
use crate::source_files::AllSources;
use crate::stamp::FileStamp;

/// Loads libraries, publishes the catalog made of them, and the next one where the disk changed.
///
/// A request takes one [`LiveCatalog::snapshot`] at the door and answers entirely from it.
#[derive(Debug)]
pub struct LiveCatalog {
    settings: Settings,
    current: Mutex<Arc<Catalog>>,
    /// What the catalog is made of.
    parts: Mutex<Parts>,
    shelf: Mutex<LibrarySet>,
    /// What libraries were read from.
    sources: AllSources,
    project: Option<ProjectSource>,
    scans: AtomicU64,
    /// Threads that follow the disk, and hear of catalogs that another one published.
    watchers: Mutex<Vec<(ThreadId, Sender<Signal>)>>,
    log: Mutex<ProblemLog>,
    /// Whether there may be problems that the log does not have.
    has_news: AtomicBool,
    /// Which folders may keep a caller waiting.
    pub(crate) reach: Arc<Reach>,
}

/// What a catalog is made of.
#[derive(Debug, Default)]
struct Parts {
    /// The project of a workspace; it comes first.
    project: Option<Arc<Library>>,
    /// Libraries in folders, in order.
    folders: Vec<Arc<Library>>,
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

/// What a thread that follows the disk is woken by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    /// The system told of something.
    Touched,
    /// Another thread looked at the disk or the store, and published another catalog.
    Published,
    /// Somebody wrote to the store.
    Wrote,
    /// It is over.
    Stop,
}

impl LiveCatalog {
    /// Loads everything once. What cannot be loaded is a problem; the rest is there.
    pub fn load(settings: Settings) -> Self {
        let settings = settings.absolute();
        let reach = Arc::new(Reach::default());
        let live = Self {
            current: Mutex::default(),
            parts: Mutex::default(),
            project: settings.project.clone().map(ProjectSource::new),
            shelf: Mutex::new(LibrarySet::new(&settings, Arc::clone(&reach))),
            reach,
            sources: AllSources::default(),
            scans: AtomicU64::new(0),
            watchers: Mutex::default(),
            log: Mutex::default(),
            has_news: AtomicBool::new(true),
            settings,
        };
        live.follow_project();
        live.refresh();
        live
    }

    /// The catalog as of now: a project is read again first if somebody wrote to its store.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.follow_project();
        self.published()
    }

    /// The catalog that was published last.
    pub fn published(&self) -> Arc<Catalog> {
        Arc::clone(&lock(&self.current))
    }

    /// Says why the selected project cannot be served, if it cannot.
    pub fn check_project(&self) -> Result<(), StoreError> {
        self.project.as_ref().map_or(Ok(()), ProjectSource::check)
    }

    /// Reads the project again if somebody wrote to its store.
    pub(crate) fn follow_project(&self) {
        if let Some(project) = &self.project {
            project.follow(|library| {
                self.publish(|parts| parts.project = library);
            });
        }
    }

    /// Publishes the catalog of the next parts; gives the revisions before and after.
    fn publish(&self, change: impl FnOnce(&mut Parts)) -> (Revisions, Revisions) {
        let mut parts = lock(&self.parts);
        change(&mut parts);
        let libraries = parts.project.iter().chain(&parts.folders).cloned();
        let before = self.published();
        let next = Catalog::build(libraries).after(&before);
        let (old, new) = (before.revisions(), next.revisions());
        *lock(&self.current) = Arc::new(next);
        drop(parts);
        self.has_news.store(true, Ordering::Release);
        if old != new {
            // The thread that follows the disk announces what it published itself.
            let own = thread::current().id();
            lock(&self.watchers)
                .retain(|(id, watcher)| *id == own || watcher.send(Signal::Published).is_ok());
        }
        (old, new)
    }

    /// Looks at the disk and publishes another catalog if something changed.
    ///
    /// Where nothing did, this costs a `stat` for each folder and manifest.
    pub fn refresh(&self) -> Refresh {
        self.look_with(LibrarySet::scan)
    }

    /// Looks at one library, and publishes another catalog if it changed.
    pub(crate) fn look_again(&self, library: &Library) {
        self.look_with(|shelf, settings| shelf.scan_one(settings, Path::new(&*library.root)));
    }

    /// True if this very library was read from a file that looked like this.
    pub(crate) fn is_read(&self, library: &Library, path: &str, stamp: &FileStamp) -> bool {
        self.sources.is_read(library, path, stamp)
    }

    fn look_with(&self, scan: impl FnOnce(&mut LibrarySet, &Settings) -> Option<usize>) -> Refresh {
        let mut guard = lock(&self.shelf);
        self.scans.fetch_add(1, Ordering::Relaxed);
        let problems = guard.problems.clone();
        let scanned = scan(&mut guard, &self.settings);
        self.sources.replace(guard.read_from());
        let Some(libraries) = scanned else {
            if guard.problems != problems {
                self.has_news.store(true, Ordering::Release);
            }
            return Refresh::default();
        };
        let folders = guard.libraries.clone();
        let (old, new) = self.publish(|parts| parts.folders = folders);
        Refresh {
            changed: true,
            lists_changed: (old.prompts, old.documents) != (new.prompts, new.documents),
            contents_changed: old.contents != new.contents,
            libraries,
        }
    }

    /// Tells a thread of each catalog that another one publishes.
    pub(crate) fn add_watcher(&self, thread: ThreadId, signals: Sender<Signal>) {
        lock(&self.watchers).push((thread, signals));
    }

    /// Each place that was looked at and what was found there.
    pub fn found(&self) -> Vec<SearchedPlace> {
        lock(&self.shelf).found(&self.settings)
    }

    /// What is wrong with the places themselves; problems of libraries are in the catalog.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = lock(&self.shelf).problems.clone();
        problems.extend(self.project.as_ref().and_then(ProjectSource::problem));
        problems
    }

    /// The store that a project's library is kept in.
    pub(crate) fn project(&self) -> Option<&ProjectSource> {
        self.project.as_ref()
    }

    /// Logs each problem, of places and of libraries, that was not there when this was last called.
    ///
    /// The thread that follows the disk calls it after each look. Call it as well to log the problems
    /// of the start before that.
    pub fn log_problems(&self) {
        let mut log = lock(&self.log);
        if !self.has_news.swap(false, Ordering::Acquire) {
            return;
        }
        let places = self.problems();
        let catalog = self.published();
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
