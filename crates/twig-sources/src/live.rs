//! The catalog that follows the disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use twig_core::store::{Store, StoreError};
use twig_core::{
    Catalog, CatalogFilter, Library, ListingSettings, Problem, ProblemCode, Revisions,
};

use crate::followed_config::Remembered;
use crate::found::SearchedPlace;
use crate::library_set::{Folders, LibrarySet, ScanScope};
use crate::packages::PackageLists;
use crate::problem_log::ProblemLog;
use crate::project::ProjectSource;
use crate::reach::Reach;
use crate::settings::Settings;
use crate::source_files::AllSources;
use crate::stamp::FileStamp;
use crate::unsaved::UnsavedTexts;
use crate::workspace_source::{OfferedChange, WorkspaceSource};

/// Loads libraries, publishes a catalog of them, and another one whenever the disk changed.
///
/// A request takes one [`LiveCatalog::snapshot`] at its start and answers entirely from it.
#[derive(Debug)]
pub struct LiveCatalog {
    settings: Settings,
    current: Mutex<Arc<Catalog>>,
    /// What the catalog is made of.
    parts: Mutex<Parts>,
    shelf: Mutex<LibrarySet>,
    /// The files that libraries were read from.
    sources: AllSources,
    project: Option<ProjectSource>,
    workspace: Option<WorkspaceSource>,
    scans: AtomicU64,
    /// Counts changes of files that no list shows.
    texts: AtomicU64,
    /// The folders that the client works in, as it said last; taken by the next check.
    roots: Mutex<Option<Vec<PathBuf>>>,
    /// Threads that follow the disk; they are notified of catalogs that another thread published.
    watchers: Mutex<Vec<(ThreadId, Sender<Signal>)>>,
    log: Mutex<ProblemLog>,
    /// Whether there may be problems that are not logged yet.
    has_news: AtomicBool,
    /// Whether the system reports changes of the folders.
    is_watched: AtomicBool,
    lists: Arc<PackageLists>,
    /// Which folders may block a caller.
    pub(crate) reach: Arc<Reach>,
}

/// What a catalog is made of.
#[derive(Debug, Default)]
struct Parts {
    /// The project of a workspace; it comes first.
    project: Option<Arc<Library>>,
    /// Libraries in folders, in order.
    folders: Vec<Arc<Library>>,
    /// The projects of a workspace that are only offered; they come last.
    offered: Vec<Arc<Library>>,
    /// What lists show of them.
    listing: ListingSettings,
    /// Whether something is served of a store that cannot be read now.
    is_stale: bool,
}

/// The result of checking the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refresh {
    /// Whether another catalog was published.
    pub changed: bool,
    /// Whether a client that lists prompts or documents sees a difference.
    pub lists_changed: bool,
    /// Whether a document was changed, added or removed.
    pub contents_changed: bool,
    /// Libraries that are new or were read again and differ.
    pub libraries: usize,
}

/// What a thread that follows the disk is woken by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    /// The system reported a change.
    Touched,
    /// Another thread checked the disk or the store, and published another catalog.
    Published,
    /// A program wrote to the store.
    Wrote,
    /// It is over.
    Stop,
}

impl LiveCatalog {
    /// Loads everything once. What cannot be loaded is a problem; the rest is served.
    pub fn load(settings: Settings) -> Self {
        let settings = settings.absolute();
        let reach = Arc::new(Reach::default());
        let set = LibrarySet::new(&settings, Arc::clone(&reach));
        let live = Self {
            lists: Arc::clone(&set.lists),
            current: Mutex::default(),
            parts: Mutex::new(Parts {
                listing: settings.listing.clone(),
                ..Parts::default()
            }),
            project: settings.project.clone().map(ProjectSource::new),
            workspace: settings
                .workspace
                .clone()
                .map(|it| WorkspaceSource::new(it, &settings.separator, &settings.limits)),
            shelf: Mutex::new(set),
            reach,
            sources: AllSources::default(),
            scans: AtomicU64::new(0),
            texts: AtomicU64::new(0),
            roots: Mutex::default(),
            watchers: Mutex::default(),
            log: Mutex::default(),
            has_news: AtomicBool::new(true),
            is_watched: AtomicBool::new(false),
            settings,
        };
        live.follow_project();
        live.refresh();
        live
    }

    /// The current catalog: projects are read again first if their store was written to.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.follow_project();
        if let Some(workspace) = &self.workspace
            && workspace.follow(|change| self.offer(change))
        {
            self.has_news.store(true, Ordering::Release);
            // Their threads log the problem; if there is none, the caller does. A request does not
            // wait for a scan.
            let watchers = lock(&self.watchers);
            for (_, signals) in watchers.iter() {
                let _ = signals.send(Signal::Published);
            }
        }
        let (current, is_stale) = (self.published(), self.is_stale());
        if current.is_stale() == is_stale {
            return current;
        }
        // Only the mark differs: nothing is announced.
        self.publish(|parts| parts.is_stale = is_stale);
        self.published()
    }

    /// True if something is served of a store that cannot be read now.
    fn is_stale(&self) -> bool {
        let of_project = self.project.as_ref().is_some_and(ProjectSource::is_stale);
        of_project
            || self
                .workspace
                .as_ref()
                .is_some_and(WorkspaceSource::is_stale)
    }

    /// Whether [`LiveCatalog::snapshot`] asks a store first, which may take a while.
    pub fn asks_store(&self) -> bool {
        self.project.is_some() || self.workspace.as_ref().is_some_and(WorkspaceSource::is_on)
    }

    /// Releases the files of the offered workspace: threads that are still running may hold this.
    pub fn close(&self) {
        if let Some(workspace) = &self.workspace {
            workspace.close();
        }
    }

    /// Why the prompts of the offered workspace cannot be read, if they cannot.
    pub fn workspace_error(&self) -> Option<StoreError> {
        self.workspace.as_ref().and_then(WorkspaceSource::error)
    }

    /// Reads the offered workspace again if it was written to, appeared, or can be read again.
    pub(crate) fn refresh_workspace(&self) {
        if let Some(workspace) = &self.workspace
            && workspace.refresh(|change| self.offer(change))
        {
            self.has_news.store(true, Ordering::Release);
        }
    }

    fn offer(&self, change: OfferedChange) {
        let OfferedChange {
            libraries,
            is_first,
        } = change;
        if is_first {
            self.complete(|parts| parts.offered = libraries);
        } else {
            self.publish(|parts| parts.offered = libraries);
        }
    }

    /// The catalog that was published last.
    pub fn published(&self) -> Arc<Catalog> {
        Arc::clone(&lock(&self.current))
    }

    /// Why the selected project cannot be served, if it cannot.
    pub fn check_project(&self) -> Result<(), StoreError> {
        self.project.as_ref().map_or(Ok(()), ProjectSource::check)
    }

    /// Reads the project again if its store was written to.
    pub(crate) fn follow_project(&self) {
        if let Some(project) = &self.project {
            project.follow(|library| {
                self.publish(|parts| parts.project = library);
            });
        }
    }

    /// Publishes a catalog of the changed parts; returns the revisions before and after.
    fn publish(&self, change: impl FnOnce(&mut Parts)) -> (Revisions, Revisions) {
        self.publish_as(change, Catalog::after)
    }

    /// Publishes the rest of what was loaded: no client has seen the catalog without it, so there is
    /// nothing to announce.
    fn complete(&self, change: impl FnOnce(&mut Parts)) {
        self.publish_as(change, Catalog::with_revisions_of);
    }

    fn publish_as(
        &self,
        change: impl FnOnce(&mut Parts),
        counted: fn(Catalog, &Catalog) -> Catalog,
    ) -> (Revisions, Revisions) {
        let mut parts = lock(&self.parts);
        change(&mut parts);
        let libraries = parts.project.iter().chain(&parts.folders);
        let libraries = libraries.chain(&parts.offered).cloned();
        let before = self.published();
        let next = Catalog::filtered(libraries, &self.settings.only);
        let next = counted(next.with_listing(&parts.listing), &before);
        let next = next.with_staleness(parts.is_stale);
        let (old, new) = (before.revisions(), next.revisions());
        *lock(&self.current) = Arc::new(next);
        drop(parts);
        self.has_news.store(true, Ordering::Release);
        if old != new {
            // The thread that follows the disk announces its own catalogs itself.
            let own = thread::current().id();
            lock(&self.watchers)
                .retain(|(id, watcher)| *id == own || watcher.send(Signal::Published).is_ok());
        }
        (old, new)
    }

    /// Checks the disk and publishes another catalog if something changed.
    ///
    /// If nothing did, this costs a `stat` for each folder and manifest.
    pub fn refresh(&self) -> Refresh {
        self.check(ScanScope::All)
    }

    /// The current catalog as it would be if these texts were saved. Nothing is published. What it
    /// offers is `only`, or everything if that is empty.
    pub fn with_unsaved(&self, texts: &UnsavedTexts, only: &CatalogFilter) -> Arc<Catalog> {
        let replaced = lock(&self.shelf).with_unsaved(texts);
        let parts = lock(&self.parts);
        let libraries = parts.project.iter().chain(&parts.folders);
        let libraries = libraries.chain(&parts.offered).map(|library| {
            let mut pairs = replaced.iter();
            let found = pairs.find(|(before, _)| Arc::ptr_eq(before, library));
            Arc::clone(found.map_or(library, |(_, after)| after))
        });
        let catalog = Catalog::filtered(libraries, only);
        Arc::new(catalog.with_listing(&parts.listing))
    }

    /// True if this very library was read from a file with this stamp.
    pub(crate) fn is_read(&self, library: &Library, path: &str, stamp: &FileStamp) -> bool {
        self.sources.is_read(library, path, stamp)
    }

    /// Serves what belongs to these folders as well, and no longer what belonged to the ones before.
    /// The thread that follows the disk takes them over.
    pub fn follow_roots(&self, roots: Vec<PathBuf>) {
        *lock(&self.roots) = Some(roots);
        let watchers = lock(&self.watchers);
        for (_, signals) in watchers.iter() {
            let _ = signals.send(Signal::Touched);
        }
    }

    /// Checks that part of the disk.
    pub(crate) fn check(&self, scope: ScanScope<'_>) -> Refresh {
        let mut guard = lock(&self.shelf);
        let roots = lock(&self.roots).take();
        let scope = if roots.is_some() {
            ScanScope::All
        } else {
            scope
        };
        if let Some(roots) = roots {
            guard.follow_roots(roots);
        }
        self.scans.fetch_add(1, Ordering::Relaxed);
        let problems = guard.problems.clone();
        let scanned = guard.scan(scope);
        let configured = guard.configured.take();
        if let (Some(workspace), Some(live)) = (&self.workspace, &configured) {
            workspace.configure(live.serves_store, &live.separator);
        }
        let listing = configured.map(|live| live.listing);
        let listing = listing.filter(|listing| *listing != lock(&self.parts).listing);
        self.sources.replace(guard.read_from());
        let scanned = scanned.or(listing.is_some().then_some(0));
        let Some(libraries) = scanned else {
            if guard.problems != problems {
                self.has_news.store(true, Ordering::Release);
            }
            return Refresh::default();
        };
        let folders = guard.libraries.clone();
        let (old, new) = self.publish(|parts| {
            parts.folders = folders;
            if let Some(listing) = listing {
                parts.listing = listing;
            }
        });
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

    /// Each place that was searched and what was found there.
    pub fn found(&self) -> Vec<SearchedPlace> {
        lock(&self.shelf).found()
    }

    /// Problems of the places themselves, as far as they concern what is offered; problems of
    /// libraries are in the catalog.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = lock(&self.shelf).problems.clone();
        problems.extend(self.project.as_ref().and_then(ProjectSource::problem));
        problems.extend(self.workspace.as_ref().and_then(WorkspaceSource::problem));
        if !self.settings.only.is_empty() {
            let catalog = self.published();
            let is_everywhere = |problem: &Problem| {
                use ProblemCode::{BadConfig, BadLock, BadTrust, NotFollowed, Store};
                matches!(
                    problem.code,
                    BadConfig | BadLock | BadTrust | NotFollowed | Store
                )
            };
            problems.retain(|problem| is_everywhere(problem) || catalog.concerns(problem));
        }
        problems
    }

    /// The files that packages must have.
    pub(crate) fn lists(&self) -> &PackageLists {
        &self.lists
    }

    /// The source of the project's library.
    pub(crate) fn project(&self) -> Option<&ProjectSource> {
        self.project.as_ref()
    }

    /// The source of the offered projects.
    pub(crate) fn workspace(&self) -> Option<&WorkspaceSource> {
        self.workspace.as_ref()
    }

    /// The store that a project of the catalog is kept in.
    pub fn store_of(&self, library: &Library) -> Option<Arc<dyn Store>> {
        let (workspace, _) = library.stored()?;
        let selected = self.project.as_ref().map(ProjectSource::store);
        let offered = || self.workspace.as_ref().and_then(WorkspaceSource::store);
        let is_its = |store: &Arc<dyn Store>| store.workspace().as_str() == workspace;
        selected.filter(is_its).or_else(|| offered().filter(is_its))
    }

    /// Logs each problem, of places and of libraries, that did not exist at the last call.
    ///
    /// A [`CatalogWatch`](crate::CatalogWatch) calls it after each check; call it directly to log the problems of the
    /// start earlier.
    pub fn log_problems(&self) {
        let mut log = lock(&self.log);
        if !self.has_news.swap(false, Ordering::Acquire) {
            return;
        }
        let places = self.problems();
        let catalog = self.published();
        log.tell(places.iter().chain(catalog.problems()));
    }

    /// The packages that a server follows, as the configuration says now.
    pub fn followed(&self) -> Vec<Remembered> {
        lock(&self.shelf).followed()
    }

    /// How often the disk was checked.
    pub fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// A number that grows when a text may have changed that the catalog only refers to, such as a
    /// prompt's file. It grows only while a thread follows the texts, see [`LiveCatalog::watch_texts`].
    pub fn texts(&self) -> u64 {
        self.texts.load(Ordering::Acquire)
    }

    /// Counts a change of a text.
    pub(crate) fn count_text(&self) {
        self.texts.fetch_add(1, Ordering::AcqRel);
    }

    /// True if the system reports changes of the folders; otherwise the disk is polled.
    pub fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    pub(crate) fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    /// The settings, with absolute paths.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The folders that can be git checkouts.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        lock(&self.shelf).roots()
    }

    /// The folders to watch.
    pub(crate) fn folders(&self) -> Folders {
        let mut folders = lock(&self.shelf).folders();
        folders
            .roots
            .extend(self.workspace.as_ref().and_then(WorkspaceSource::awaited));
        folders
    }
}

/// The data behind these locks is consistent at every moment, so a panic elsewhere does not spoil
/// it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
