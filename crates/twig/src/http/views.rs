//! What a caller sees: everything that the server has, or the view of a person.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::task::block_in_place;
#[cfg(feature = "page")]
use twig_core::Library;
use twig_core::access::{AccessRights, Verbs};
use twig_core::search::{Hit, Query};
use twig_core::store::{Store, StoreName};
use twig_core::template::Templates;
use twig_core::{Bodies, Catalog};
use twig_mcp::Server;
use twig_mcp::http::HttpRefusal;
use twig_sources::{CatalogView, CatalogViews, SearchIndex, ViewScope};

use super::doorkeeper::Admission;
use crate::jobs::{JobPlace, SearchedCatalog};
use crate::service::Service;

/// The most views that are kept.
const VIEWS: usize = 64;

/// Finds what callers see.
pub(super) struct Views {
    /// What projects are read from; `None` if no caller is offered any.
    all: Option<Arc<CatalogViews>>,
    /// Whether callers without a key may select a project.
    serves_store: bool,
    whole: Arc<HttpView>,
    /// The last one used is the first.
    kept: Mutex<Vec<Arc<HttpView>>>,
    /// Every view that is kept, or that an open stream uses.
    used: Mutex<Vec<Weak<HttpView>>>,
}

/// What some callers see, and the tools that they have.
pub(super) struct HttpView {
    pub(super) server: Arc<Server>,
    pub(super) place: JobPlace,
    /// `None` for all that the server has.
    part: Option<ViewPart>,
}

struct ViewPart {
    scope: ViewScope,
    rights: AccessRights,
    catalog: Arc<CatalogView>,
    /// Of this view alone: a template may include others, which not everybody may read.
    templates: Templates,
}

impl Views {
    pub(super) fn new(
        service: &Service,
        all: Option<Arc<CatalogViews>>,
        serves_store: bool,
    ) -> Self {
        let whole = HttpView {
            server: Arc::clone(&service.server),
            place: service.place.clone(),
            part: None,
        };
        Self {
            all,
            serves_store,
            whole: Arc::new(whole),
            kept: Mutex::default(),
            used: Mutex::default(),
        }
    }

    /// What a caller sees at an address.
    pub(super) fn find(
        &self,
        admission: &Admission,
        scope: &ViewScope,
        service: &Service,
    ) -> Result<Arc<HttpView>, HttpRefusal> {
        let is_everything = *scope == ViewScope::Everything;
        let everything;
        let rights = match admission.rights() {
            Some(rights) => rights,
            None if is_everything && !self.shows_projects(admission, service) => {
                return Ok(Arc::clone(&self.whole));
            }
            None if !is_everything && !self.serves_store => return Err(HttpRefusal::NoAddress),
            None => {
                everything = AccessRights::all();
                &everything
            }
        };
        let person = admission.person();
        let known = person.and_then(|person| person.last_view(scope));
        let known = known.or_else(|| self.known(scope, rights));
        let view = match known {
            Some(view) if view.is_there() => view,
            // A project that was deleted may be there again.
            gone => {
                if let Some(gone) = gone {
                    self.forget(&gone);
                }
                block_in_place(|| self.make(scope, rights, service))?
            }
        };
        if let Some(person) = person {
            person.keep_view(scope, &view);
        }
        Ok(view)
    }

    /// Whether a caller sees projects that others are not offered: the user whose server this is, at
    /// its page. A project that the server was started with has its bare names there, too.
    fn shows_projects(&self, admission: &Admission, service: &Service) -> bool {
        let is_owner = matches!(admission, Admission::Owner);
        is_owner && self.all.is_some() && service.place.store.is_none()
    }

    /// Calls this after each write to a store that is shown.
    pub(super) fn watch(&self, on_write: impl Fn() + Send + Sync + 'static) {
        if let Some(all) = &self.all {
            all.watch(on_write);
        }
    }

    /// Looks at the stores of all workspaces; returns whether anything that is shown has changed.
    pub(super) fn refresh(&self) -> bool {
        let is_used = !self.kept().is_empty();
        let all = self.all.as_ref().filter(|_| is_used);
        all.is_some_and(|all| all.refresh())
    }

    /// The store of a workspace, to write to one of its projects.
    #[cfg(feature = "page")]
    pub(super) fn store(&self, workspace: &StoreName) -> Option<Arc<dyn Store>> {
        let found = self.all.as_ref()?.store(workspace);
        let failed =
            |error: &_| tracing::warn!("workspace `{workspace}` cannot be opened: {error}");
        found.inspect_err(failed).ok().flatten()
    }

    /// Releases all files.
    pub(super) fn close(&self) {
        if let Some(all) = &self.all {
            all.close();
        }
    }

    fn known(&self, scope: &ViewScope, rights: &AccessRights) -> Option<Arc<HttpView>> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut used = used.iter().filter_map(Weak::upgrade);
        let view = used.find(|view| {
            let part = view.part.as_ref();
            part.is_some_and(|part| part.scope == *scope && part.rights == *rights)
        })?;
        self.keep(&view);
        Some(view)
    }

    /// Keeps a view in place of the one that was unused for the longest time.
    fn keep(&self, view: &Arc<HttpView>) {
        let mut kept = self.kept();
        kept.retain(|kept| !Arc::ptr_eq(kept, view));
        kept.insert(0, Arc::clone(view));
        kept.truncate(VIEWS);
    }

    fn make(
        &self,
        scope: &ViewScope,
        rights: &AccessRights,
        service: &Service,
    ) -> Result<Arc<HttpView>, HttpRefusal> {
        let all = self.all.as_ref().ok_or(HttpRefusal::NoAddress)?;
        let catalog = all.view(scope, rights).map_err(|error| {
            tracing::warn!("a project cannot be served: {error}");
            HttpRefusal::NoStore
        })?;
        let catalog = Arc::new(catalog.ok_or(HttpRefusal::NoAddress)?);
        let (project, may_write) = match scope {
            ViewScope::Everything => (None, false),
            ViewScope::Project(workspace, project) => {
                let verbs = rights.on_project(workspace, project);
                (Some(project.clone()), verbs.has(Verbs::WRITE))
            }
        };
        let view = Arc::new(HttpView {
            server: service.servers.make(project, may_write),
            place: JobPlace {
                searched: Some(Arc::new(SearchedView(Arc::clone(&catalog)))),
                store: catalog.store(),
            },
            part: Some(ViewPart {
                scope: scope.clone(),
                rights: rights.clone(),
                catalog,
                templates: Templates::new(service.limits.clone()),
            }),
        });
        self.keep(&view);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|used| used.strong_count() > 0);
        used.push(Arc::downgrade(&view));
        Ok(view)
    }

    fn forget(&self, view: &Arc<HttpView>) {
        self.kept().retain(|kept| !Arc::ptr_eq(kept, view));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|used| !std::ptr::eq(used.as_ptr(), Arc::as_ptr(view)));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<HttpView>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpView {
    /// Whether the project that it selects was there at the last look.
    fn is_there(&self) -> bool {
        let part = self.part.as_ref();
        part.is_none_or(|part| part.catalog.is_there())
    }

    /// What it shows now. Asking a store whether it has changed may take a while, so it does not
    /// happen on a thread that serves connections.
    pub(super) fn catalog(&self, service: &Service) -> Arc<Catalog> {
        match &self.part {
            Some(part) if part.catalog.asks_store() => block_in_place(|| part.catalog.snapshot()),
            Some(part) => part.catalog.snapshot(),
            None if service.live.asks_store() => block_in_place(|| service.live.snapshot()),
            None => service.live.published(),
        }
    }

    /// The same for a stream: what was published last is enough.
    pub(super) fn published(&self, service: &Service) -> Arc<Catalog> {
        match &self.part {
            Some(_) => self.catalog(service),
            None => service.live.published(),
        }
    }

    /// The templates of its prompts.
    pub(super) fn templates<'s>(&'s self, service: &'s Service) -> &'s Templates {
        self.part
            .as_ref()
            .map_or(&service.templates, |part| &part.templates)
    }

    /// The files of its libraries, and the contents of its projects.
    pub(super) fn files<'s>(&'s self, service: &'s Service) -> &'s dyn Bodies {
        match &self.part {
            Some(part) => &*part.catalog,
            None => &*service.live,
        }
    }

    /// The store that a project of its catalog is kept in.
    #[cfg(feature = "page")]
    pub(super) fn store_of(&self, service: &Service, library: &Library) -> Option<Arc<dyn Store>> {
        match &self.part {
            Some(part) => part.catalog.store_of(library),
            None => service.live.store_of(library),
        }
    }

    /// Tells views apart.
    pub(super) fn number(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.catalog.number())
    }
}

/// The view of a person, for searches.
struct SearchedView(Arc<CatalogView>);

impl SearchedCatalog for SearchedView {
    fn number(&self) -> u64 {
        self.0.number()
    }

    fn search(&self, index: &mut SearchIndex, query: &Query) -> Result<Vec<Hit>, String> {
        index.search(&self.0.snapshot(), &*self.0, query)
    }
}

/// Reads the scope of an address: `/mcp`, or `/mcp/WORKSPACE/PROJECT`.
pub(super) fn scope_of(path: &str) -> Option<ViewScope> {
    use twig_core::store::Noun;
    let rest = path.strip_prefix("/mcp")?;
    if rest.is_empty() {
        return Some(ViewScope::Everything);
    }
    let (workspace, project) = rest.strip_prefix('/')?.split_once('/')?;
    let workspace = StoreName::parse(Noun::Workspace, workspace).ok()?;
    let project = StoreName::parse(Noun::Project, project).ok()?;
    Some(ViewScope::Project(workspace, project))
}
