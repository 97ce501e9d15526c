//! What callers with different rights see: the libraries and the projects that each may read, as a
//! catalog.
//!
//! A view follows the libraries of the server and the stores of its workspaces. It builds another
//! catalog only if something that it shows has changed, so views cost nothing while nothing happens.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use twig_core::access::{AccessRights, Verbs};
use twig_core::store::{Digest, Noun, Store, StoreError, StoreName};
use twig_core::{
    Blob, Bodies, Body, BodyError, Catalog, Library, Limits, Prompt, RelativePath, Stamp,
    StoredVersion,
};

use crate::live::LiveCatalog;
use crate::project::ProjectSource;
use crate::settings::{OfferedWorkspace, Selected};
use crate::store::{Access, content_error};
use crate::store_place::StorePlace;
use crate::workspace_source::{ProjectLibraries, WorkspaceSource};

/// How long the list of workspaces stays valid.
const LISTED: Duration = Duration::from_millis(500);

/// The libraries and workspaces that views are made of.
#[derive(Debug)]
pub struct CatalogViews {
    live: Arc<LiveCatalog>,
    workspaces: StorePlace,
    limits: Limits,
    /// How stores are opened.
    access: Access,
    known: Mutex<KnownWorkspaces>,
    /// Numbers the views.
    next: AtomicU64,
    news: Arc<StoreNews>,
    followed: Mutex<Vec<FollowedViewStore>>,
}

/// Whether a store was written to since the last look, and what to call when one is.
#[derive(Default)]
struct StoreNews {
    is_written: AtomicBool,
    on_write: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for StoreNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreNews")
    }
}

/// An open store, and what ends when it is no longer followed.
struct FollowedViewStore {
    store: Arc<dyn Store>,
    _watch: Box<dyn Send>,
}

impl fmt::Debug for FollowedViewStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FollowedViewStore({})", self.store.workspace())
    }
}

#[derive(Debug, Default)]
struct KnownWorkspaces {
    /// When the names were last listed.
    listed: Option<Instant>,
    /// Why the names were never read.
    unlisted: Option<StoreError>,
    sources: BTreeMap<StoreName, Arc<WorkspaceSource>>,
    /// Opened for the projects that callers selected.
    stores: BTreeMap<StoreName, Arc<dyn Store>>,
}

/// What a view is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViewScope {
    /// Every library, and every project as `project:prompt`.
    Everything,
    /// Every library, and one project with its bare names.
    Project(StoreName, StoreName),
}

/// What callers with the same rights see.
#[derive(Debug)]
pub struct CatalogView {
    views: Arc<CatalogViews>,
    scope: ViewScope,
    rights: AccessRights,
    selected: Option<ProjectSource>,
    number: u64,
    state: Mutex<ViewState>,
}

/// A workspace, and its projects.
type OfferedProjects = (StoreName, Arc<ProjectLibraries>);

/// What a view was last built from, and the result.
#[derive(Debug, Default)]
struct ViewState {
    base: Option<Arc<Catalog>>,
    project: Option<Arc<Library>>,
    offered: Vec<OfferedProjects>,
    /// Libraries of which not all is shown, and the libraries themselves.
    changed: Vec<(Arc<Library>, Arc<Library>)>,
    current: Arc<Catalog>,
    /// Counts the catalogs.
    built: u64,
}

impl CatalogViews {
    /// Views of what a server has.
    pub fn new(live: Arc<LiveCatalog>, workspaces: StorePlace, access: Access) -> Self {
        let limits = live.settings().limits.clone();
        Self {
            live,
            workspaces,
            limits,
            access,
            known: Mutex::default(),
            next: AtomicU64::new(1),
            news: Arc::default(),
            followed: Mutex::default(),
        }
    }

    /// Has every store that views read followed; `on_write` is called after each write to one of them,
    /// by whomever. The next [`Self::refresh`] finds what was written.
    pub fn watch(&self, on_write: impl Fn() + Send + Sync + 'static) {
        let _ = self.news.on_write.set(Box::new(on_write));
    }

    /// A view for callers with these rights; `None` if they may not read the project that they
    /// select, or if there is none. An error if a database has not said yet what there is: a list
    /// without it would be wrong.
    pub fn view(
        self: &Arc<Self>,
        scope: &ViewScope,
        rights: &AccessRights,
    ) -> Result<Option<CatalogView>, StoreError> {
        let selected = match scope {
            ViewScope::Everything => {
                self.check_read(rights)?;
                None
            }
            ViewScope::Project(workspace, project) => {
                if !rights.on_project(workspace, project).has(Verbs::READ) {
                    return Ok(None);
                }
                let Some(store) = self.store(workspace)? else {
                    return Ok(None);
                };
                let selected = ProjectSource::new(Selected {
                    name: project.clone(),
                    store,
                });
                selected.follow(|_| {});
                match selected.check() {
                    Ok(()) => Some(selected),
                    Err(StoreError::NoProject { .. }) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(Some(CatalogView {
            views: Arc::clone(self),
            scope: scope.clone(),
            rights: rights.clone(),
            selected,
            number: self.next.fetch_add(1, Ordering::Relaxed),
            state: Mutex::default(),
        }))
    }

    /// Refuses while a database has not said yet which projects there are.
    fn check_read(&self, rights: &AccessRights) -> Result<(), StoreError> {
        // A folder says it at once, and a damaged file hides its own projects alone.
        if self.workspaces.address().is_none() {
            return Ok(());
        }
        let sources = self.sources();
        if let Some(error) = self.known().unlisted.clone() {
            return Err(error);
        }
        let sources = sources.into_iter().filter(|(name, _)| rights.reach(name));
        for (_, source) in sources {
            if source.is_read() {
                source.refresh(|_| {});
            } else {
                source.projects();
            }
            if let Some(error) = source.unknown() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Looks for new workspaces, and again at those that could not be read. Returns whether anything
    /// that was read before has changed.
    pub fn refresh(&self) -> bool {
        let mut is_changed = self.news.is_written.swap(false, Ordering::AcqRel);
        let sources = self.sources();
        for (_, source) in sources.iter().filter(|(_, source)| source.is_read()) {
            let before = source.listed();
            source.refresh(|_| {});
            is_changed |= !Arc::ptr_eq(&before, &source.projects());
        }
        self.follow_stores(&sources) || is_changed
    }

    /// Follows the stores that are open now. Returns whether any was not followed before: nothing
    /// reported what was written to it since it was opened.
    fn follow_stores(&self, sources: &[(StoreName, Arc<WorkspaceSource>)]) -> bool {
        if self.news.on_write.get().is_none() {
            return false;
        }
        let mut open: Vec<Arc<dyn Store>> = self.known().stores.values().cloned().collect();
        open.extend(sources.iter().filter_map(|(_, source)| source.store()));
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |known: &FollowedViewStore| {
            let mut open = open.iter();
            open.any(|store| Arc::ptr_eq(store, &known.store))
        };
        followed.retain(is_open);
        let mut has_new = false;
        for store in open {
            if followed
                .iter()
                .any(|known| Arc::ptr_eq(&known.store, &store))
            {
                continue;
            }
            let news = Arc::clone(&self.news);
            let watch = store.watch(Box::new(move || {
                news.is_written.store(true, Ordering::Release);
                if let Some(on_write) = news.on_write.get() {
                    on_write();
                }
            }));
            followed.push(FollowedViewStore {
                store,
                _watch: watch,
            });
            has_new = true;
        }
        has_new
    }

    /// Releases all files.
    pub fn close(&self) {
        self.followed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let known = self.known();
        known.sources.values().for_each(|source| source.close());
        known.stores.values().for_each(|store| store.close());
    }

    /// The store of a workspace, opened once and for writing if the server writes; `None` if there
    /// is no such workspace.
    pub fn store(&self, name: &StoreName) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let mut known = self.known();
        if let Some(store) = known.stores.get(name) {
            // A workspace that was deleted and created again is another file.
            if !matches!(store.revision(), Err(StoreError::NoWorkspace { .. })) {
                return Ok(Some(Arc::clone(store)));
            }
            known.stores.remove(name);
        }
        if !self.workspaces.exists(name) {
            return Ok(None);
        }
        let opened = self.workspaces.open(name, self.access, &self.limits)?;
        let store: Arc<dyn Store> = Arc::new(opened);
        known.stores.insert(name.clone(), Arc::clone(&store));
        Ok(Some(store))
    }

    /// Every workspace.
    fn sources(&self) -> Vec<(StoreName, Arc<WorkspaceSource>)> {
        let mut known = self.known();
        if known.listed.is_none_or(|at| at.elapsed() >= LISTED) {
            known.listed = Some(Instant::now());
            let names = self.workspaces.list();
            let is_first = known.sources.is_empty();
            known.unlisted = names.as_ref().err().filter(|_| is_first).cloned();
            // A folder that cannot be listed now keeps what was there.
            if let Ok(names) = names {
                known.sources.retain(|name, _| names.contains(name));
                let gone = |name: &StoreName| !names.contains(name);
                known.stores.retain(|name, _| !gone(name));
                for name in names {
                    let source = || {
                        let offered = OfferedWorkspace {
                            workspaces: self.workspaces.clone(),
                            name: name.clone(),
                            access: Access::ReadOrUpdate,
                            is_on: true,
                        };
                        let separator = &self.live.settings().separator;
                        Arc::new(WorkspaceSource::new(offered, separator, &self.limits))
                    };
                    known.sources.entry(name.clone()).or_insert_with(source);
                }
            }
        }
        let sources = known.sources.iter();
        sources
            .map(|(name, source)| (name.clone(), Arc::clone(source)))
            .collect()
    }

    /// Whether there is any workspace.
    fn has_workspaces(&self) -> bool {
        !self.sources().is_empty()
    }

    fn known(&self) -> MutexGuard<'_, KnownWorkspaces> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CatalogView {
    /// What it shows now.
    pub fn snapshot(&self) -> Arc<Catalog> {
        let base = self.views.live.snapshot();
        let project = self.selected.as_ref().and_then(|selected| {
            selected.follow(|_| {});
            selected.library()
        });
        let (offered, is_old) = match self.scope {
            ViewScope::Everything => self.offered(),
            ViewScope::Project(..) => Default::default(),
        };
        let selected = self.selected.as_ref();
        let is_stale = is_old || base.is_stale() || selected.is_some_and(ProjectSource::is_stale);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = state.is_of(&base, project.as_ref(), &offered);
        if !is_same || state.current.is_stale() != is_stale {
            let mut changed = Vec::new();
            let libraries = self.libraries(&base, project.as_ref(), &offered, &mut changed);
            state.changed = changed;
            let filter = base.filter().clone().with_all_projects();
            let next = Catalog::filtered(libraries, &filter).with_listing(base.listing());
            let next = next.with_staleness(is_stale);
            let next = match state.built {
                // No other view has these numbers, so a client that moves here learns of it.
                0 => next.with_first_revision(self.number << 32),
                _ => next.after(&state.current),
            };
            state.current = Arc::new(next);
            state.built += 1;
            state.base = Some(base);
            state.project = project;
            state.offered = offered;
        }
        Arc::clone(&state.current)
    }

    /// Whether [`Self::snapshot`] asks a store first, which may take a while.
    pub fn asks_store(&self) -> bool {
        self.selected.is_some() || self.views.has_workspaces() || self.views.live.asks_store()
    }

    /// Tells views apart.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the project that was selected is still there.
    pub fn is_there(&self) -> bool {
        self.selected
            .as_ref()
            .is_none_or(|selected| selected.library().is_some())
    }

    /// The store that the tools of the selected project write to.
    pub fn store(&self) -> Option<Arc<dyn Store>> {
        let selected = self.selected.as_ref()?;
        Some(selected.store())
    }

    /// The store that a project of this view is kept in.
    pub fn store_of(&self, library: &Library) -> Option<Arc<dyn Store>> {
        let (workspace, _) = library.stored()?;
        let is_its = |store: &Arc<dyn Store>| store.workspace().as_str() == workspace;
        if let Some(store) = self.store().filter(is_its) {
            return Some(store);
        }
        let sources = self.views.sources().into_iter();
        let mut sources = sources.filter(|(name, _)| self.rights.reach(name));
        let (_, source) = sources.find(|(name, _)| name.as_str() == workspace)?;
        source.store()
    }

    /// The library of the server that one of these was made of.
    fn original(&self, library: &Library) -> Option<Arc<Library>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = state.changed.iter();
        let found = changed.find(|(own, _)| std::ptr::eq(Arc::as_ptr(own), library));
        found.map(|(_, original)| Arc::clone(original))
    }

    /// The content of a version of a project that is shown.
    fn content(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        let of = |store: &dyn Store, digest: &Digest| {
            let content = store.content(digest);
            content.map_err(|error| content_error(&error))
        };
        if let Some(selected) = &self.selected {
            return of(&*selected.selected.store, &version.digest);
        }
        let mut error = BodyError::NotFound;
        for (name, source) in self.views.sources() {
            if !self.rights.reach(&name) {
                continue;
            }
            let read = match (source.store(), source.error()) {
                (Some(store), _) => of(&*store, &version.digest),
                (None, Some(closed)) => Err(BodyError::Store(closed.to_string())),
                (None, None) => continue,
            };
            match read {
                Ok(content) => return Ok(content),
                // The others lack it, and one that cannot be read may have it.
                Err(_) if matches!(error, BodyError::Store(_)) => {}
                Err(reason) => error = reason,
            }
        }
        Err(error)
    }

    /// The projects that may be read, by workspace, and whether any of them may be old.
    fn offered(&self) -> (Vec<OfferedProjects>, bool) {
        let sources = self.views.sources().into_iter();
        let sources = sources.filter(|(name, _)| self.rights.reach(name));
        let mut is_stale = false;
        let offered = sources.map(|(name, source)| {
            let projects = source.projects();
            is_stale |= source.is_stale();
            (name, projects)
        });
        (offered.collect(), is_stale)
    }

    fn libraries(
        &self,
        base: &Catalog,
        project: Option<&Arc<Library>>,
        offered: &[OfferedProjects],
        changed: &mut Vec<(Arc<Library>, Arc<Library>)>,
    ) -> Vec<Arc<Library>> {
        let own = base.sources().filter_map(|library| {
            if library.stored().is_some() {
                return None;
            }
            let verbs = self.rights.on_library(library.workspace.as_deref());
            if !verbs.has(Verbs::READ) {
                return None;
            }
            if library.runs_functions() && !verbs.has(Verbs::RUN) {
                let part = Arc::new(library.without_functions());
                changed.push((Arc::clone(&part), Arc::clone(library)));
                return Some(part);
            }
            Some(Arc::clone(library))
        });
        let mut libraries: Vec<Arc<Library>> = project.cloned().into_iter().chain(own).collect();
        let mut seen: Vec<&str> = Vec::new();
        for (workspace, projects) in offered {
            for library in projects.iter() {
                let Some((_, name)) = library.stored() else {
                    continue;
                };
                let project = StoreName::parse(Noun::Project, name);
                let may_read = project.is_ok_and(|project| {
                    let verbs = self.rights.on_project(workspace, &project);
                    verbs.has(Verbs::READ)
                });
                if !may_read {
                    continue;
                }
                let separator = &self.views.live.settings().separator;
                libraries.push(if seen.contains(&name) {
                    Arc::new(renamed(library, &format!("{workspace}.{name}"), separator))
                } else {
                    Arc::clone(library)
                });
                seen.push(name);
            }
        }
        libraries
    }
}

/// Files are those of the server; the contents of projects come from the stores of the view.
impl Bodies for CatalogView {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        self.views.live.read(library, path)
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        self.views.live.bytes(library, path, limit)
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        self.views.live.stamp(library, path)
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        self.content(version)
    }

    fn is_current(&self, library: &Library, prompt: &Prompt) -> bool {
        let original = self.original(library);
        let library = original.as_deref().unwrap_or(library);
        self.views.live.is_current(library, prompt)
    }

    fn renew(&self, library: &Library) {
        self.views.live.renew(library);
    }
}

/// The library of an offered project whose name another workspace has, too.
fn renamed(library: &Library, name: &str, separator: &str) -> Library {
    let mut library = library.clone();
    let full_name = |prompt: &Prompt| format!("{name}{separator}{}", prompt.name);
    for prompt in &mut library.prompts {
        let full_name = full_name(prompt);
        Arc::make_mut(prompt).full_name = full_name.into();
    }
    for labelled in &mut library.labelled {
        let full_name = format!("{}@{}", full_name(&labelled.prompt), labelled.label);
        Arc::make_mut(&mut labelled.prompt).full_name = full_name.into();
    }
    library
}

impl ViewState {
    fn is_of(
        &self,
        base: &Arc<Catalog>,
        project: Option<&Arc<Library>>,
        offered: &[OfferedProjects],
    ) -> bool {
        let is_same = |(one, two): (&OfferedProjects, &OfferedProjects)| {
            one.0 == two.0 && Arc::ptr_eq(&one.1, &two.1)
        };
        let same_project = match (&self.project, project) {
            (None, None) => true,
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        };
        self.base.as_ref().is_some_and(|it| Arc::ptr_eq(it, base))
            && same_project
            && self.offered.len() == offered.len()
            && self.offered.iter().zip(offered).all(is_same)
    }
}
