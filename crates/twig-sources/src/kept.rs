//! A library that is kept until it changes, and the loading of many.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::parse::library::Folder;
use twig_core::{Kind, Library, LibraryName, Problem, ProblemCode, Severity};

use crate::definitions_folder::DefinitionsFolder;
use crate::format_folder::FormatFolder;
use crate::functions_folder::FunctionsFolder;
use crate::place::Candidate;
use crate::settings::Settings;
use crate::source_files::ReadFrom;
use crate::trust::Trust;
use crate::trust::guard::Guard;
use crate::twig_folder::TwigFolder;

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct Kept {
    /// How it was found.
    pub(crate) candidate: Candidate,
    folder: Folder,
    state: State,
    guard: Guard,
    /// What of it may be served.
    library: Arc<Library>,
}

#[derive(Debug)]
enum State {
    Twig(TwigFolder),
    Definitions(Box<DefinitionsFolder>),
    Format(FormatFolder),
    Functions(FunctionsFolder),
}

impl Kept {
    pub(crate) fn kind(&self) -> Kind {
        match &self.state {
            State::Twig(_) => Kind::Twig,
            State::Definitions(_) => Kind::Definitions,
            State::Format(format) => format.kind,
            State::Functions(_) => Kind::Functions,
        }
    }

    pub(crate) fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
    }

    /// What is served of it, and the files that it was read from.
    pub(crate) fn read_from(&self) -> ReadFrom {
        let files = match &self.state {
            State::Twig(twig) => twig.sources(),
            State::Definitions(definitions) => definitions.sources(),
            State::Format(format) => format.sources(),
            State::Functions(functions) => functions.sources(),
        };
        (self.library(), files)
    }

    /// The folders inside it whose entries matter.
    pub(crate) fn watched(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = match &self.state {
            State::Twig(twig) => twig.watched().cloned().collect(),
            State::Definitions(definitions) => definitions.watched(Path::new(&*self.folder.root)),
            State::Format(format) => format.watched().cloned().collect(),
            State::Functions(_) => Vec::new(),
        };
        folders.extend_from_slice(self.guard.watched());
        folders
    }
}

impl Kept {
    /// How many files a look at it asks for.
    fn files(&self) -> usize {
        match &self.state {
            State::Format(format) => format.len(),
            // These ask for folders, not for each file in them.
            State::Twig(_) | State::Definitions(_) | State::Functions(_) => 0,
        }
    }
}

impl State {
    fn library(&self) -> &Arc<Library> {
        match self {
            Self::Twig(twig) => &twig.library,
            Self::Definitions(definitions) => &definitions.library,
            Self::Format(format) => &format.library,
            Self::Functions(functions) => &functions.library,
        }
    }
}

/// A library to load.
pub(crate) struct Job {
    pub(crate) candidate: Candidate,
    /// What is known of it already.
    pub(crate) before: Option<Kept>,
}

/// A library's folder and what was made of it; `None` where it is no library any more.
pub(crate) type Loaded = (PathBuf, Result<Option<Kept>, Box<Problem>>);

/// This many libraries that are not known yet are worth the start of threads.
const MANY: usize = 16;
/// So are this many files that have to be looked at again.
const MANY_FILES: usize = 1_000;

/// Loads libraries, in their order; many new ones by all processors together.
pub(crate) fn load_all(settings: &Settings, trust: &Trust, jobs: Vec<Job>) -> Vec<Loaded> {
    let new = jobs.iter().filter(|job| job.before.is_none()).count();
    let known = jobs.iter().filter_map(|job| job.before.as_ref());
    let files: usize = known.map(Kept::files).sum();
    // Asking how many processors there are reads files of its own.
    let helpers = match (new, files) {
        (0..MANY, 0..MANY_FILES) => 0,
        _ => std::thread::available_parallelism().map_or(0, |threads| threads.get().min(8) - 1),
    };
    let loaded = Mutex::new(Vec::with_capacity(jobs.len()));
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let work = || {
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((at, Job { candidate, before })) = next else {
                break;
            };
            let kept = load(settings, trust, &candidate, before);
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.push((at, (candidate.root, kept)));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Without a helper this thread does it all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut loaded: Vec<(usize, Loaded)> =
        loaded.into_inner().unwrap_or_else(PoisonError::into_inner);
    loaded.sort_by_key(|(at, _)| *at);
    loaded.into_iter().map(|(_, loaded)| loaded).collect()
}

fn load(
    settings: &Settings,
    trust: &Trust,
    candidate: &Candidate,
    before: Option<Kept>,
) -> Result<Option<Kept>, Box<Problem>> {
    if candidate.is_away {
        return Ok(before);
    }
    // Another name is another prefix for every prompt: then all is read anew.
    let is_called = |before: &Kept| match &candidate.name {
        Some(name) => before.folder.name == *name,
        None => true,
    };
    let (folder, before, mut guard) = match before.filter(is_called) {
        Some(before) => (before.folder, Some(before.state), before.guard),
        None => (folder(settings, candidate)?, None, Guard::default()),
    };
    let limits = &settings.limits;
    let state = match (candidate.kind, before) {
        (kind, before) if kind.is_format() => {
            let before = match before {
                Some(State::Format(before)) => Some(before).filter(|before| before.kind == kind),
                _ => None,
            };
            let options = candidate.options;
            let inner = &candidate.inner;
            Some(State::Format(FormatFolder::load(
                &folder, kind, options, inner, limits, before,
            )))
        }
        (Kind::Definitions, before) => {
            let before = match before {
                Some(State::Definitions(before)) => Some(*before),
                _ => None,
            };
            let loaded = DefinitionsFolder::load(&folder, limits, before);
            Some(State::Definitions(Box::new(loaded)))
        }
        (Kind::Functions, before) => {
            let before = match before {
                Some(State::Functions(before)) => Some(before),
                _ => None,
            };
            let prefix = &settings.function_prefix;
            Some(State::Functions(FunctionsFolder::load(
                &folder, limits, prefix, before,
            )))
        }
        (_, before) => {
            let before = match before {
                Some(State::Twig(before)) => Some(before),
                _ => None,
            };
            TwigFolder::load(&folder, limits, candidate.manifest, before).map(State::Twig)
        }
    };
    Ok(state.map(|state| Kept {
        library: guard.pass(state.library(), trust),
        candidate: candidate.clone(),
        folder,
        state,
        guard,
    }))
}

fn folder(settings: &Settings, candidate: &Candidate) -> Result<Folder, Box<Problem>> {
    let root = &*candidate.root;
    let problem = |message: String| {
        let path = root.display().to_string();
        let problem =
            Problem::of_file(ProblemCode::BadLibraryName, Severity::Error, &path, message);
        Box::new(problem.with_help("rename the folder: letters, digits and `_`, 128 bytes at most"))
    };
    let shown = settings.shown(root);
    let Some(text) = root.to_str() else {
        return Err(problem(format!("the path of {shown} is not UTF-8")));
    };
    // A project's library has the name of the project.
    let named = if candidate.is_project {
        root.parent().unwrap_or(root)
    } else {
        root
    };
    let own = || named.file_name().and_then(|name| name.to_str());
    let own = || own().and_then(LibraryName::from_folder);
    let Some(name) = candidate.name.clone().or_else(own) else {
        return Err(problem(format!(
            "the folder name of {shown} makes no name for a library"
        )));
    };
    let prefix = if candidate.is_project {
        String::new()
    } else {
        format!("{name}{}", settings.separator)
    };
    Ok(Folder {
        name,
        root: text.into(),
        shown_root: shown.into(),
        prefix: prefix.into(),
    })
}
