//! Every library of every place, in order, each kept until it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::parse::library::MANIFEST;
use twig_core::{Library, Problem, ProblemCode, Severity};

use crate::followed_config::{FollowedConfig, LiveSettings};
use crate::found::{FoundLibrary, PlaceOrigin, SearchedPlace};
use crate::library_folder::{LibraryFolder, LibraryJob, load_all};
use crate::names;
use crate::place::LibraryPlace;
use crate::reach::{Mounts, Reach};
use crate::settings::Settings;
use crate::source_files::ReadFrom;
use crate::stamp::SeenStamp;
use crate::trust::Trust;

/// The known state of the disk.
#[derive(Debug)]
pub(crate) struct LibrarySet {
    places: Vec<LibraryPlace>,
    kept: BTreeMap<PathBuf, LibraryFolder>,
    /// The libraries in order.
    pub(crate) libraries: Vec<Arc<Library>>,
    /// Problems of the places rather than of a library.
    pub(crate) problems: Vec<Problem>,
    trust: Recorded,
    reach: Arc<Reach>,
    /// With what the configuration says now.
    settings: Arc<Settings>,
    /// The configuration that is followed.
    config: Option<FollowedConfig>,
    /// What a changed configuration says about other parts.
    pub(crate) configured: Option<LiveSettings>,
}

/// The record of trusted libraries, as it was last read.
#[derive(Debug)]
struct Recorded {
    path: Option<PathBuf>,
    seen: SeenStamp,
    trust: Trust,
    problem: Option<Problem>,
}

/// The folders to watch, whether they exist or not.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// Every entry of these matters.
    pub(crate) inside: Vec<PathBuf>,
    /// These can be created, removed and renamed: their parents matter just for that.
    pub(crate) roots: Vec<PathBuf>,
    /// One of them that is on a network file system; then no others are given, since the system
    /// does not report changes there and reading them may block for ever.
    pub(crate) far: Option<PathBuf>,
}

impl LibrarySet {
    pub(crate) fn new(settings: &Settings, reach: Arc<Reach>) -> Self {
        Self {
            places: LibraryPlace::all(settings),
            kept: BTreeMap::new(),
            libraries: Vec::new(),
            problems: Vec::new(),
            trust: Recorded {
                path: settings.trust.clone(),
                seen: SeenStamp::never(),
                trust: Trust::default(),
                problem: None,
            },
            reach,
            config: settings.config.clone(),
            settings: Arc::new(settings.clone()),
            configured: None,
        }
    }

    /// Takes over a changed configuration: libraries of folders that it still has the same way stay
    /// as they are.
    fn look_at_config(&mut self) {
        let Some(live) = self.config.as_mut().and_then(FollowedConfig::look) else {
            return;
        };
        self.configured = Some(live.clone());
        let has_names = live.separator == self.settings.separator;
        let settings = Settings {
            remembered: live.remembered,
            separator: live.separator,
            ..(*self.settings).clone()
        };
        let settings = settings.absolute();
        if has_names && settings.remembered == self.settings.remembered {
            return;
        }
        let mut before = std::mem::take(&mut self.places);
        for place in LibraryPlace::all(&settings) {
            let same = before.iter().position(|old| old.is_like(&place));
            self.places
                .push(same.map_or(place, |at| before.swap_remove(at)));
        }
        // Names of prompts are made of both.
        let is_gone = |root: &Path| before.iter().any(|old| root.starts_with(&old.path));
        self.kept.retain(|root, _| has_names && !is_gone(root));
        self.settings = Arc::new(settings);
    }

    /// Checks the disk; returns how many libraries changed, or `None` if neither they nor their
    /// order changed.
    pub(crate) fn scan(&mut self) -> Option<usize> {
        self.look_at_config();
        let settings = Arc::clone(&self.settings);
        let settings = &*settings;
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        let mut candidates = Vec::with_capacity(self.libraries.len());
        let mounts = Mounts::now();
        let answers = |path: &Path| self.reach.answers(&mounts, path);
        for place in &mut self.places {
            let known = |root: &Path| self.kept.get(root).map(LibraryFolder::kind);
            for candidate in place.look(settings, known, answers, &mut problems) {
                // A named folder that is also in the data folder is one library.
                if seen.insert(candidate.root.clone()) {
                    candidates.push(candidate);
                }
            }
        }
        names::settle(settings, &mut candidates, &mut problems);
        self.trust.look(settings);
        problems.extend(self.trust.problem.clone());
        let config = self.config.as_ref().and_then(FollowedConfig::problem);
        problems.extend(config.cloned());
        let mut known = std::mem::take(&mut self.kept);
        let jobs = candidates.into_iter().map(|candidate| LibraryJob {
            before: known.remove(&candidate.root),
            candidate,
        });
        let mut libraries = Vec::with_capacity(self.libraries.len());
        for (root, loaded) in load_all(settings, &self.trust.trust, jobs.collect()) {
            match loaded {
                Ok(None) => {}
                Ok(Some(kept)) => {
                    libraries.push(kept.library());
                    self.kept.insert(root, kept);
                }
                Err(problem) => problems.push(*problem),
            }
        }
        self.problems = problems;
        let places = self.places.iter().map(|place| &place.path);
        self.reach.remember(&mounts, places.chain(self.kept.keys()));
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

    /// Checks one library and nothing else; returns the same as `scan`.
    pub(crate) fn scan_one(&mut self, root: &Path) -> Option<usize> {
        let settings = Arc::clone(&self.settings);
        let settings = &*settings;
        let known = self.kept.get(root).map(LibraryFolder::library);
        let at =
            known.and_then(|known| self.libraries.iter().position(|it| Arc::ptr_eq(it, &known)));
        let (Some(at), Some(before)) = (at, self.kept.remove(root)) else {
            return self.scan();
        };
        let mut candidate = before.candidate.clone();
        candidate.manifest = SeenStamp::at(&root.join(MANIFEST));
        self.trust.look(settings);
        let job = LibraryJob {
            candidate,
            before: Some(before),
        };
        let loaded = load_all(settings, &self.trust.trust, vec![job]).pop();
        let Some((root, Ok(Some(kept)))) = loaded else {
            // It is no longer a library: check its place.
            return self.scan();
        };
        let library = kept.library();
        self.kept.insert(root, kept);
        let before = std::mem::replace(&mut self.libraries[at], Arc::clone(&library));
        (!Arc::ptr_eq(&before, &library)).then_some(1)
    }

    /// The files that each library was read from.
    pub(crate) fn read_from(&self) -> impl Iterator<Item = ReadFrom> {
        self.kept.values().map(LibraryFolder::read_from)
    }

    /// The folders to watch.
    pub(crate) fn folders(&self) -> Folders {
        if let Some(far) = self.reach.first_far() {
            return Folders {
                far: Some(far),
                ..Folders::default()
            };
        }
        let mut inside: Vec<PathBuf> = self.places.iter().flat_map(LibraryPlace::watched).collect();
        let mut roots: Vec<PathBuf> = self.places.iter().map(|place| place.path.clone()).collect();
        let (clients, others): (Vec<_>, Vec<_>) = self
            .kept
            .iter()
            .partition(|(_, kept)| kept.kind().is_format());
        inside.extend(others.into_iter().flat_map(|(_, kept)| kept.watched()));
        // Libraries of clients are deeper than the folders that are watched for every place;
        // symlinks to folders inside them are not followed.
        roots.extend(clients.iter().map(|(root, _)| (*root).clone()));
        for folder in inside.iter().chain(clients.iter().map(|(root, _)| *root)) {
            roots.extend(where_links_lead(folder));
        }
        inside.extend(clients.into_iter().flat_map(|(_, kept)| kept.watched()));
        roots.extend(self.trust.path.clone());
        if let Some(config) = &self.config {
            roots.push(config.path().to_path_buf());
            roots.extend(where_links_lead(config.path()));
        }
        Folders {
            inside,
            roots,
            far: None,
        }
    }

    /// Whether a folder is on a file system that does not answer.
    fn is_away(&self, path: &Path) -> bool {
        let mut away = self.places.iter().flat_map(|place| &place.away);
        away.any(|away| path.starts_with(away))
    }

    /// The places and the libraries, each of which can be a git checkout. A folder that does not
    /// answer is not.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let places = self.places.iter().map(|place| &place.path);
        let mounts = Mounts::now();
        let roots = places.chain(self.kept.keys());
        roots
            .filter(|path| !self.is_away(path) && self.reach.answers(&mounts, path))
            .cloned()
            .collect()
    }

    /// What was found where.
    pub(crate) fn found(&self) -> Vec<SearchedPlace> {
        let settings = &self.settings;
        // Most working folders are not a project with its own prompts.
        let places = self.places.iter().filter(|place| !place.is_unused());
        let found = places.map(|place| {
            let kept = place.roots.iter().filter_map(|root| self.kept.get(root));
            SearchedPlace {
                path: place.path.clone(),
                shown: settings.shown(&place.path),
                named: place.origin == PlaceOrigin::Flag,
                origin: place.origin,
                state: place.state.clone(),
                libraries: kept.map(|kept| FoundLibrary::of(&kept.library())).collect(),
                skipped: if place.away.is_empty() {
                    place.skipped()
                } else {
                    Vec::new()
                },
            }
        });
        found.collect()
    }
}

impl Recorded {
    fn look(&mut self, settings: &Settings) {
        let Some(path) = &self.path else { return };
        let now = SeenStamp::at(path);
        if self.seen.holds(&now) {
            return;
        }
        self.seen = now;
        (self.trust, self.problem) = match Trust::read(path) {
            Ok(trust) => (trust, None),
            Err(error) => {
                let shown = settings.shown(path);
                let message = format!("no library is trusted: {shown} cannot be read ({error})");
                let path = path.display().to_string();
                let problem =
                    Problem::of_file(ProblemCode::BadTrust, Severity::Error, &path, message);
                let help = "fix or remove the file, then trust your libraries again";
                (Trust::default(), Some(problem.with_help(help)))
            }
        };
    }
}

/// The targets of a symlink, link by link: each of these can be created again, even if none exists
/// now.
fn where_links_lead(path: &Path) -> Vec<PathBuf> {
    let mut leads = Vec::new();
    let mut link = path.to_path_buf();
    while let Ok(target) = link.read_link() {
        let folder = link.parent().unwrap_or(Path::new("/"));
        link = folder.join(target);
        leads.push(link.clone());
        // A chain of more symlinks than the system follows is broken.
        if leads.len() > 40 {
            break;
        }
    }
    if !leads.is_empty() {
        leads.extend(path.canonicalize());
    }
    leads
}
