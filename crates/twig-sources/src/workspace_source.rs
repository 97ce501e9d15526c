//! The projects of a workspace, whose prompts are offered beside the libraries.
//!
//! The store is opened when a catalog is first asked for, and never created. A store that cannot be
//! read is a problem; what was last read is still offered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_core::store::{Digest, Store, StoreError, Summary, offered_library};
use twig_core::{Library, Limits, Problem, ProblemCode, Severity};

use crate::settings::OfferedWorkspace;

/// How long opening and reading wait for other programs: a request waits that long once.
const PATIENCE_MILLIS: u64 = 250;

/// The state of the workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceSource {
    offered: OfferedWorkspace,
    limits: Limits,
    /// Whether anything is offered.
    is_on: AtomicBool,
    known: Mutex<KnownWorkspace>,
}

/// The libraries of projects, sorted by name.
pub(crate) type ProjectLibraries = [Arc<Library>];

#[derive(Debug, Default)]
struct KnownWorkspace {
    /// Whether the file was looked for.
    is_looked_for: bool,
    store: Option<Arc<dyn Store>>,
    /// The store's revision when it was last read, successfully or not.
    revision: Option<u64>,
    /// Whether the projects could be read at least once.
    was_read: bool,
    /// The projects that were last read, sorted by name.
    projects: Vec<(Summary, Arc<Library>)>,
    separator: String,
    /// The separator to use from now on.
    next_separator: String,
    /// Why the store could not be read.
    problem: Option<StoreError>,
    /// The projects, as they were last handed out.
    shared: Arc<ProjectLibraries>,
}

/// What a look at the workspace changed.
#[derive(Debug)]
pub(crate) struct OfferedChange {
    pub(crate) libraries: Vec<Arc<Library>>,
    /// True for the first look: no catalog was handed out before it.
    pub(crate) is_first: bool,
}

impl WorkspaceSource {
    pub(crate) fn new(offered: OfferedWorkspace, separator: &str, limits: &Limits) -> Self {
        let limits = Limits {
            store_millis: limits.store_millis.min(PATIENCE_MILLIS),
            ..limits.clone()
        };
        let known = KnownWorkspace {
            next_separator: separator.to_owned(),
            ..KnownWorkspace::default()
        };
        Self {
            is_on: AtomicBool::new(offered.is_on),
            offered,
            limits,
            known: Mutex::new(known),
        }
    }

    /// Whether anything is offered.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Whether the projects were asked for before.
    pub(crate) fn is_read(&self) -> bool {
        self.known().is_looked_for
    }

    /// Takes over what the configuration says now; the next refresh acts on it.
    pub(crate) fn configure(&self, is_on: bool, separator: &str) {
        let mut known = self.known();
        if self.is_on.swap(is_on, Ordering::AcqRel) != is_on {
            // Clients may have listed prompts before: what follows is news.
            known.is_looked_for = true;
        }
        separator.clone_into(&mut known.next_separator);
    }

    /// Reads the projects again if the store changed; passes them to `publish` if they differ.
    ///
    /// Returns whether there is another problem now. A store that did not exist, or could not be
    /// read, is tried again by `refresh` only.
    pub(crate) fn follow(&self, publish: impl FnOnce(OfferedChange)) -> bool {
        if !self.is_on() {
            return false;
        }
        let mut known = self.known();
        let is_readable = known.store.is_some() && known.problem.is_none();
        if known.is_looked_for && !is_readable {
            return false;
        }
        self.look(&mut known, publish)
    }

    /// The same, and looks for a store that did not exist or could not be read.
    pub(crate) fn refresh(&self, publish: impl FnOnce(OfferedChange)) -> bool {
        let mut known = self.known();
        if known.problem.is_some() {
            known.revision = None;
        }
        self.look(&mut known, publish)
    }

    fn look(&self, known: &mut KnownWorkspace, publish: impl FnOnce(OfferedChange)) -> bool {
        let before = known.problem.clone();
        let is_first = !std::mem::replace(&mut known.is_looked_for, true);
        match self.read(known) {
            Ok(true) => publish(OfferedChange {
                libraries: known.libraries(),
                is_first,
            }),
            Ok(false) => {}
            Err(error) => known.problem = Some(error),
        }
        known.problem != before
    }

    /// Returns whether anything differs.
    fn read(&self, known: &mut KnownWorkspace) -> Result<bool, StoreError> {
        if !self.is_on() {
            return Ok(known.clear());
        }
        let separator = &*known.next_separator;
        let store = match &known.store {
            Some(store) => Arc::clone(store),
            None if !self.offered.workspaces.exists(&self.offered.name) => {
                return Ok(known.clear());
            }
            None => {
                let OfferedWorkspace {
                    workspaces,
                    name,
                    access,
                    is_on: _,
                } = &self.offered;
                let store: Arc<dyn Store> =
                    Arc::new(workspaces.open(name, *access, &self.limits)?);
                known.store = Some(Arc::clone(&store));
                store
            }
        };
        let revision = match store.revision() {
            Ok(revision) => revision,
            Err(StoreError::NoWorkspace { .. }) => return Ok(known.clear()),
            Err(error) => return Err(error),
        };
        if known.revision == Some(revision) && known.separator == separator {
            return Ok(false);
        }
        known.revision = Some(revision);
        let workspace = store.workspace().as_str();
        let mut projects = Vec::new();
        for summary in store.projects()? {
            let is_same = |(before, _): &&(Summary, Arc<Library>)| {
                *before == summary && known.separator == separator
            };
            let before = known.projects.iter().find(is_same);
            let library = match before {
                Some((_, library)) => Arc::clone(library),
                // It was deleted a moment ago.
                None => match store.project(&summary.name)? {
                    Some(project) => Arc::new(offered_library(&project, workspace, separator)),
                    None => continue,
                },
            };
            projects.push((summary, library));
        }
        known.problem = None;
        known.was_read = true;
        known.separator.clone_from(&known.next_separator);
        let is_same = known.projects.len() == projects.len()
            && known
                .projects
                .iter()
                .zip(&projects)
                .all(|((_, one), (_, two))| Arc::ptr_eq(one, two) || one == two);
        known.projects = projects;
        Ok(!is_same)
    }

    /// The projects as they were last handed out.
    pub(crate) fn listed(&self) -> Arc<ProjectLibraries> {
        Arc::clone(&self.known().shared)
    }

    /// The projects as of now; the same allocation as before if nothing changed.
    ///
    /// A store that cannot be read keeps what was last read; `refresh` tries again.
    pub(crate) fn projects(&self) -> Arc<ProjectLibraries> {
        self.follow(|_| {});
        let mut known = self.known();
        let is_same = |one: &ProjectLibraries| {
            let pairs = one.iter().zip(&known.projects);
            one.len() == known.projects.len() && pairs.clone().all(|(a, b)| Arc::ptr_eq(a, &b.1))
        };
        if !is_same(&known.shared) {
            known.shared = known.libraries().into();
        }
        Arc::clone(&known.shared)
    }

    /// The content of a version of one of the projects.
    pub(crate) fn content(&self, digest: &Digest) -> Option<Result<Vec<u8>, StoreError>> {
        let store = self.store()?;
        Some(store.content(digest))
    }

    /// Releases the files of the store.
    pub(crate) fn close(&self) {
        if let Some(store) = self.store() {
            store.close();
        }
    }

    /// The store, if it is open.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        self.known().store.clone()
    }

    /// The file to wait for while the store is not open.
    pub(crate) fn awaited(&self) -> Option<std::path::PathBuf> {
        let is_awaited = self.is_on() && self.known().store.is_none();
        is_awaited.then(|| self.offered.workspaces.path(&self.offered.name))?
    }

    /// Why the store cannot be read, if it cannot.
    pub(crate) fn error(&self) -> Option<StoreError> {
        self.known().problem.clone()
    }

    /// True if the store cannot be read now: what is served of it may be old, or missing.
    pub(crate) fn is_stale(&self) -> bool {
        self.known().problem.is_some()
    }

    /// Why it is not known which projects there are, unless the store is damaged.
    pub(crate) fn unknown(&self) -> Option<StoreError> {
        let known = self.known();
        let problem = known.problem.as_ref().filter(|it| !it.is_damage());
        problem.filter(|_| !known.was_read).cloned()
    }

    /// The same as a problem.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let known = self.known();
        let error = known.problem.as_ref()?;
        let name = &self.offered.name;
        let message = format!("the prompts of workspace `{name}` are not served: {error}");
        let path = self.offered.workspaces.path(name);
        let path = path.map_or_else(|| name.to_string(), |path| path.display().to_string());
        let problem = Problem::of_file(ProblemCode::Store, Severity::Error, &path, message);
        Some(if known.projects.is_empty() {
            problem.with_help("everything else is served")
        } else {
            problem.with_help("the last version read is still served")
        })
    }

    fn known(&self) -> MutexGuard<'_, KnownWorkspace> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownWorkspace {
    fn libraries(&self) -> Vec<Arc<Library>> {
        let libraries = self.projects.iter();
        libraries.map(|(_, library)| Arc::clone(library)).collect()
    }

    /// Forgets a store that does not exist any more; returns whether anything was offered.
    fn clear(&mut self) -> bool {
        self.store = None;
        self.revision = None;
        self.problem = None;
        !std::mem::take(&mut self.projects).is_empty()
    }
}
