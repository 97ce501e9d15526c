//! One library's folder: its files, the library made of them, and its last good state.

mod kinds;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::document::Document;
use twig_core::parse::documents::{DocumentLayout, documents};
use twig_core::parse::library::{LibraryRoot, add_documents, empty_library};
use twig_core::{
    BodyError, FileRole, Library, LibraryKind, LibraryName, Problem, ProblemCode, RelativePath,
    Severity,
};

pub(crate) use self::kinds::{has_definitions, has_functions};
use self::kinds::{has_moved, read, watched_definitions};
use crate::candidate::Candidate;
use crate::library_files::{FILES, FileContent, FileRules, FileTree, LibraryFiles};
use crate::listing::ListedKind;
use crate::settings::Settings;
use crate::source_files::{ReadFrom, SourceFiles};
use crate::trust::Trust;
use crate::trust::guard::Guard;

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct LibraryFolder {
    /// How it was found.
    pub(crate) candidate: Candidate,
    folder: LibraryRoot,
    files: LibraryFiles,
    parsed: ParsedLibrary,
    /// The library when everything that it needs could last be read.
    good: Option<ParsedLibrary>,
    /// The same with its documents.
    whole: Arc<Library>,
    sources: Arc<SourceFiles>,
    guard: Guard,
    /// The part of it that may be served.
    library: Arc<Library>,
}

/// A library without its documents, and where those are.
#[derive(Debug, Clone)]
struct ParsedLibrary {
    library: Arc<Library>,
    layout: Option<DocumentLayout>,
}

impl LibraryFolder {
    pub(crate) fn kind(&self) -> LibraryKind {
        self.parsed.library.kind
    }

    pub(crate) fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
    }

    /// The served library, and the files that it was read from.
    pub(crate) fn read_from(&self) -> ReadFrom {
        (self.library(), Arc::clone(&self.sources))
    }

    /// The folders inside it whose entries matter.
    pub(crate) fn watched(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.files.watched().cloned().collect();
        if self.kind() == LibraryKind::Definitions {
            folders.extend(watched_definitions(Path::new(&*self.folder.root)));
        }
        folders.extend_from_slice(self.guard.watched());
        folders
    }

    /// How many files a refresh checks, one by one.
    fn file_count(&self) -> usize {
        self.files.tree.as_ref().map_or(0, |tree| tree.files.len())
    }

    fn new(folder: LibraryRoot, candidate: &Candidate) -> Self {
        let empty = Arc::new(empty_library(&folder, candidate.kind, Vec::new()));
        Self {
            candidate: candidate.clone(),
            folder,
            files: LibraryFiles::default(),
            parsed: ParsedLibrary {
                library: Arc::clone(&empty),
                layout: None,
            },
            good: None,
            whole: Arc::clone(&empty),
            sources: Arc::default(),
            guard: Guard::default(),
            library: empty,
        }
    }

    /// Reads a library, whether it is trusted or not.
    #[cfg(test)]
    pub(crate) fn read(candidate: &Candidate) -> Option<Arc<Library>> {
        let loaded = load(&Settings::default(), &Trust::default(), candidate, None);
        loaded.ok()?.map(|loaded| loaded.whole)
    }

    /// Reads the changes; `None` if it is no longer a library.
    fn refresh(
        mut self,
        settings: &Settings,
        trust: &Trust,
        candidate: &Candidate,
        is_first: bool,
    ) -> Option<Self> {
        let (folder, files) = (&self.folder, &mut self.files);
        let (kind, options, inner) = (candidate.kind, candidate.options, &candidate.inner);
        let rules = FileRules::new(folder, kind, options, &settings.limits, inner);
        let changed = files.refresh(&rules, candidate.manifest);
        let is_parsed = changed || is_first || has_moved(files, &rules);
        if is_parsed {
            let (library, layout, is_good) = read(files, &rules, settings)?;
            self.parsed = match &self.good {
                Some(good) if !is_good => ParsedLibrary {
                    library: Arc::new(keep_good(&good.library, library.problems)),
                    layout: good.layout.clone(),
                },
                _ => ParsedLibrary {
                    library: Arc::new(library),
                    layout,
                },
            };
            if is_good {
                self.good = Some(self.parsed.clone());
            }
        }
        let has_documents = files.refresh_documents(&rules, self.parsed.layout.as_ref());
        if rules.is_any_read() || is_first {
            self.sources = SourceFiles::new(files.sources());
        }
        if is_parsed || has_documents {
            let whole = with_documents(folder, &self.parsed, files.documents.as_ref());
            // An equal library stays the same allocation, which makes comparisons fast.
            if is_first || *self.whole != *whole {
                self.whole = whole;
            }
        }
        self.library = self
            .guard
            .pass(&self.whole, trust, settings.data.as_deref());
        self.candidate.clone_from(candidate);
        Some(self)
    }
}

/// The last good library, with the current problems in front of the earlier ones.
fn keep_good(good: &Library, broken: Vec<Problem>) -> Library {
    let mut kept = good.clone();
    let broken = broken.into_iter().map(|problem| {
        let meanwhile = "the prompts of the last good version are served meanwhile";
        let help = match &problem.help {
            Some(help) => format!("{help}; {meanwhile}"),
            None => meanwhile.to_owned(),
        };
        problem.with_help(help)
    });
    kept.problems.splice(0..0, broken);
    kept
}

/// A library with the documents that were found.
fn with_documents(
    folder: &LibraryRoot,
    parsed: &ParsedLibrary,
    found: Option<&FileTree>,
) -> Arc<Library> {
    let Some(layout) = &parsed.layout else {
        return Arc::clone(&parsed.library);
    };
    let mut problems = Vec::new();
    let found = found.map(|tree| found_documents(folder, layout, tree, &mut problems));
    let found = found.unwrap_or_default();
    // A library of definitions has templates even if no document matches them yet.
    if found.is_empty() && problems.is_empty() && parsed.library.kind != LibraryKind::Definitions {
        return Arc::clone(&parsed.library);
    }
    let mut library = Library::clone(&parsed.library);
    library.problems.extend(problems);
    add_documents(&mut library, layout, found);
    Arc::new(library)
}

fn found_documents(
    folder: &LibraryRoot,
    layout: &DocumentLayout,
    tree: &FileTree,
    problems: &mut Vec<Problem>,
) -> Vec<Document> {
    problems.extend(tree.problems.iter().cloned());
    let heads = || {
        let files = tree.files.iter();
        files.filter_map(|file| match &file.content {
            Ok(FileContent::Head(found)) => Some(found),
            _ => None,
        })
    };
    if heads().nth(FILES).is_some() || tree.is_cut {
        problems.push(too_many(folder, &tree.below));
    }
    for file in &tree.files {
        let Err(error) = &file.content else { continue };
        // A file that was listed and is missing was removed since.
        if *error != BodyError::NotFound || file.entry != ListedKind::File {
            let (path, shown) = (folder.path_of(&file.path), folder.shown_path_of(&file.path));
            problems.push(error.problem(FileRole::Document, &path, &shown));
        }
    }
    let Ok(base) = RelativePath::parse(&tree.below) else {
        return Vec::new();
    };
    let heads = heads().take(FILES);
    documents(folder, &layout.prefix, &base, heads, problems)
}

fn too_many(folder: &LibraryRoot, below: &str) -> Problem {
    let shown = folder.shown_path_of(below);
    let message = format!("{shown} has more than {FILES} documents; the rest is ignored");
    let (code, path) = (ProblemCode::TooManyDocuments, folder.path_of(below));
    Problem::of_file(code, Severity::Error, &path, message).with_help("split the library in two")
}

/// A library to load.
pub(crate) struct LibraryJob {
    pub(crate) candidate: Candidate,
    /// What is already known of it.
    pub(crate) before: Option<LibraryFolder>,
}

/// A library's folder and the result of loading it; `None` if it is no longer a library.
pub(crate) type Loaded = (PathBuf, Result<Option<LibraryFolder>, Box<Problem>>);

/// From this many unknown libraries on, threads are worth starting.
const MANY: usize = 16;
/// The same for this many files that must be checked again.
const MANY_FILES: usize = 1_000;

/// Loads libraries, in their order; many new ones on all processors.
pub(crate) fn load_all(settings: &Settings, trust: &Trust, jobs: Vec<LibraryJob>) -> Vec<Loaded> {
    let new = jobs.iter().filter(|job| job.before.is_none()).count();
    let known = jobs.iter().filter_map(|job| job.before.as_ref());
    let files: usize = known.map(LibraryFolder::file_count).sum();
    // Asking for the number of processors reads files, too.
    let helpers = match (new, files) {
        (0..MANY, 0..MANY_FILES) => 0,
        _ => std::thread::available_parallelism().map_or(0, |threads| threads.get().min(8) - 1),
    };
    let loaded = Mutex::new(Vec::with_capacity(jobs.len()));
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let work = || {
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((at, LibraryJob { candidate, before })) = next else {
                break;
            };
            let kept = load(settings, trust, &candidate, before);
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.push((at, (candidate.root, kept)));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Without a helper this thread does everything.
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
    before: Option<LibraryFolder>,
) -> Result<Option<LibraryFolder>, Box<Problem>> {
    if candidate.is_away {
        return Ok(before);
    }
    // Another name is another prefix for every prompt: then everything is read again.
    let is_same = |before: &LibraryFolder| {
        let name = candidate.name.as_ref();
        before.kind() == candidate.kind && name.is_none_or(|name| before.folder.name == *name)
    };
    let before = before.filter(is_same);
    let is_first = before.is_none();
    let state = match before {
        Some(before) => before,
        None => LibraryFolder::new(folder(settings, candidate)?, candidate),
    };
    Ok(state.refresh(settings, trust, candidate, is_first))
}

fn folder(settings: &Settings, candidate: &Candidate) -> Result<LibraryRoot, Box<Problem>> {
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
            "the folder name of {shown} is not a valid library name"
        )));
    };
    let prefix = if candidate.is_project {
        String::new()
    } else {
        format!("{name}{}", settings.separator)
    };
    Ok(LibraryRoot {
        name,
        root: text.into(),
        shown_root: shown.into(),
        prefix: prefix.into(),
    })
}

#[cfg(test)]
mod tests;
