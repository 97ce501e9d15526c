//! Every library of every place, in order, each kept until it changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::parse::library::Folder;
use twig_core::{Kind, Library, LibraryName, Problem, Severity};

use crate::found::{Found, FoundLibrary};
use crate::markdown_folder::MarkdownFolder;
use crate::place::{Candidate, Place};
use crate::settings::Settings;
use crate::twig_folder::TwigFolder;

/// What is known of the disk.
#[derive(Debug)]
pub(crate) struct Shelf {
    places: Vec<Place>,
    kept: BTreeMap<PathBuf, Kept>,
    /// The libraries in order.
    pub(crate) libraries: Vec<Arc<Library>>,
    /// What is wrong with the places rather than with a library.
    pub(crate) problems: Vec<Problem>,
}

/// The folders to watch, whether they are there or not.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// Every entry of these matters.
    pub(crate) inside: Vec<PathBuf>,
    /// These can be made, removed and renamed: what they stand in matters just for that.
    pub(crate) roots: Vec<PathBuf>,
}

#[derive(Debug)]
struct Kept {
    folder: Folder,
    state: State,
}

#[derive(Debug)]
enum State {
    Twig(TwigFolder),
    Markdown(MarkdownFolder),
}

impl Shelf {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            places: Place::all(settings),
            kept: BTreeMap::new(),
            libraries: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Looks at the disk; says how many libraries are other ones than before, or `None` where
    /// neither they nor their order changed.
    pub(crate) fn scan(&mut self, settings: &Settings) -> Option<usize> {
        let mut problems = Vec::new();
        let mut libraries = Vec::with_capacity(self.libraries.len());
        let mut kept = BTreeMap::new();
        for place in &mut self.places {
            let known = |root: &Path| self.kept.get(root).map(Kept::kind);
            for candidate in place.look(settings, known, &mut problems) {
                // A folder that was named and is in the data folder too is one library.
                if kept.contains_key(&candidate.root) {
                    continue;
                }
                let before = self.kept.remove(&candidate.root);
                match load(settings, &candidate, before) {
                    Ok(library) => {
                        libraries.push(library.library());
                        kept.insert(candidate.root, library);
                    }
                    Err(problem) => problems.push(*problem),
                }
            }
        }
        self.kept = kept;
        self.problems = problems;
        let is_old =
            |library: &&Arc<Library>| self.libraries.iter().any(|old| Arc::ptr_eq(old, library));
        let same = libraries.len() == self.libraries.len()
            && libraries
                .iter()
                .zip(&self.libraries)
                .all(|(one, two)| Arc::ptr_eq(one, two));
        if same {
            return None;
        }
        let read = libraries.iter().filter(|library| !is_old(library)).count();
        self.libraries = libraries;
        Some(read)
    }

    /// The folders to watch.
    pub(crate) fn folders(&self) -> Folders {
        let mut inside: Vec<PathBuf> = self.places.iter().flat_map(Place::watched).collect();
        for kept in self.kept.values() {
            if let State::Twig(twig) = &kept.state {
                inside.extend(twig.watched().cloned());
            }
        }
        let mut roots: Vec<PathBuf> = self.places.iter().map(|place| place.path.clone()).collect();
        for folder in &inside {
            roots.extend(where_links_lead(folder));
        }
        Folders { inside, roots }
    }

    /// What was found where.
    pub(crate) fn found(&self, settings: &Settings) -> Vec<Found> {
        let found = self.places.iter().map(|place| {
            let kept = place.roots.iter().filter_map(|root| self.kept.get(root));
            Found {
                path: place.path.clone(),
                shown: settings.shown(&place.path),
                named: place.named,
                state: place.state.clone(),
                libraries: kept.map(|kept| FoundLibrary::of(&kept.library())).collect(),
                skipped: place.skipped(),
            }
        });
        found.collect()
    }
}

/// Where a link leads, link by link: each of these can be made anew, even where none is there now.
fn where_links_lead(path: &Path) -> Vec<PathBuf> {
    let mut leads = Vec::new();
    let mut link = path.to_path_buf();
    while let Ok(target) = link.read_link() {
        let folder = link.parent().unwrap_or(Path::new("/"));
        link = folder.join(target);
        leads.push(link.clone());
        // More links than the system itself would follow lead nowhere.
        if leads.len() > 40 {
            break;
        }
    }
    if !leads.is_empty() {
        leads.extend(path.canonicalize());
    }
    leads
}

impl Kept {
    fn kind(&self) -> Kind {
        match self.state {
            State::Twig(_) => Kind::Twig,
            State::Markdown(_) => Kind::Markdown,
        }
    }

    fn library(&self) -> Arc<Library> {
        match &self.state {
            State::Twig(twig) => Arc::clone(&twig.library),
            State::Markdown(markdown) => Arc::clone(&markdown.library),
        }
    }
}

fn load(
    settings: &Settings,
    candidate: &Candidate,
    before: Option<Kept>,
) -> Result<Kept, Box<Problem>> {
    let (folder, before) = match before {
        Some(before) => (before.folder, Some(before.state)),
        None => (folder(settings, &candidate.root)?, None),
    };
    let limits = &settings.limits;
    let state = match (candidate.kind, before) {
        (Kind::Markdown, Some(State::Markdown(before))) => {
            State::Markdown(MarkdownFolder::load(&folder, limits, Some(before)))
        }
        (Kind::Markdown, _) => State::Markdown(MarkdownFolder::load(&folder, limits, None)),
        (_, Some(State::Twig(before))) => State::Twig(TwigFolder::load(
            &folder,
            limits,
            candidate.manifest,
            Some(before),
        )),
        (_, _) => State::Twig(TwigFolder::load(&folder, limits, candidate.manifest, None)),
    };
    Ok(Kept { folder, state })
}

fn folder(settings: &Settings, root: &Path) -> Result<Folder, Box<Problem>> {
    let problem = |message: String| {
        let path = root.display().to_string();
        let problem = Problem::of_file("bad-library-name", Severity::Error, &path, message);
        Box::new(problem.with_help("rename the folder: letters, digits and `_`, 128 bytes at most"))
    };
    let shown = settings.shown(root);
    let Some(text) = root.to_str() else {
        return Err(problem(format!("the path of {shown} is not UTF-8")));
    };
    let own = root.file_name().and_then(|name| name.to_str());
    let Some(name) = own.and_then(LibraryName::from_folder) else {
        return Err(problem(format!(
            "the folder name of {shown} makes no name for a library"
        )));
    };
    Ok(Folder {
        name,
        root: text.into(),
        shown_root: shown.into(),
        separator: settings.separator.as_str().into(),
    })
}
