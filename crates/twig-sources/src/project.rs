//! The served project of a workspace: a library that follows its store.

use std::sync::{Arc, Mutex, PoisonError};

use twig_core::store::{Digest, Project, Store, StoreError, library};
use twig_core::{Library, Problem, ProblemCode, Severity};

use crate::settings::Selected;

/// The state of the selected project.
#[derive(Debug)]
pub(crate) struct ProjectSource {
    pub(crate) selected: Selected,
    known: Mutex<KnownProject>,
}

#[derive(Debug, Default)]
struct KnownProject {
    /// The store's revision when it was last read.
    revision: Option<u64>,
    /// The project; `None` if the store has none with that name.
    library: Option<Arc<Library>>,
    /// Why the store could not be read; the last project stays.
    problem: Option<StoreError>,
}

impl ProjectSource {
    pub(crate) fn new(selected: Selected) -> Self {
        Self {
            selected,
            known: Mutex::default(),
        }
    }

    /// Reads the project again if its store changed; passes it to `publish` if it differs.
    ///
    /// Concurrent callers wait, so that the published project never goes back in time.
    pub(crate) fn follow(&self, publish: impl FnOnce(Option<Arc<Library>>)) {
        let store = &self.selected.store;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = match store.revision() {
            Ok(revision) if known.revision == Some(revision) && known.problem.is_none() => return,
            Ok(revision) => revision,
            // Deleted with its workspace: that is not a temporary error.
            Err(StoreError::NoWorkspace { .. }) => {
                known.revision = None;
                known.problem = None;
                if known.take(None, store.workspace().as_str()) {
                    publish(None);
                }
                return;
            }
            Err(error) => return known.keep(error),
        };
        match store.project(&self.selected.name) {
            Ok(project) => {
                known.problem = None;
                known.revision = Some(project.as_ref().map_or(revision, |read| read.revision));
                if known.take(project.as_ref(), store.workspace().as_str()) {
                    publish(known.library.clone());
                }
            }
            Err(error) => known.keep(error),
        }
    }

    /// The project as it was last read.
    pub(crate) fn library(&self) -> Option<Arc<Library>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.library.clone()
    }

    /// True if the store cannot be read now, and the last project is served.
    pub(crate) fn is_stale(&self) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.problem.is_some()
    }

    /// The store that holds it.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.selected.store)
    }

    /// The content of a version of the project.
    pub(crate) fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.selected.store.content(digest)
    }

    /// Why there is no project, if there is none.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match (&known.problem, &known.library) {
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(StoreError::NoProject {
                project: self.selected.name.clone(),
                workspace: self.selected.store.workspace().clone(),
            }),
            (None, Some(_)) => Ok(()),
        }
    }

    /// The problem with the store, or with its contents.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, workspace) = (&self.selected.name, self.selected.store.workspace());
        let place = format!("{workspace}/{name}");
        match (&known.problem, &known.library) {
            (Some(error), _) => {
                let problem = Problem::of_file(
                    ProblemCode::Store,
                    Severity::Error,
                    &place,
                    error.to_string(),
                );
                Some(problem.with_help("the last version read is still served"))
            }
            (None, None) => {
                let message =
                    format!("project `{name}` does not exist in workspace `{workspace}` any more");
                let problem =
                    Problem::of_file(ProblemCode::NoProject, Severity::Warning, &place, message);
                let help = format!(
                    "it was deleted or renamed; make it again with `twig project create {name} -w {workspace}`"
                );
                Some(problem.with_help(help))
            }
            (None, Some(_)) => None,
        }
    }
}

impl KnownProject {
    /// Stores the project that was read; returns whether it differs.
    fn take(&mut self, project: Option<&Project>, workspace: &str) -> bool {
        let read = project.map(|project| library(project, workspace));
        // A write to another project of the workspace changes nothing here.
        if self.library.as_deref() == read.as_ref() {
            return false;
        }
        self.library = read.map(Arc::new);
        true
    }

    fn keep(&mut self, error: StoreError) {
        if self.problem.as_ref() != Some(&error) {
            let path = error.path().map(|path| path.display().to_string());
            tracing::warn!(path, "{error}");
        }
        self.problem = Some(error);
    }
}
