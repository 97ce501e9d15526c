//! Every library of every place, in order, each kept until it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::parse::library::MANIFEST;
use twig_core::{Library, LibraryKind, LibraryName, Problem, ProblemCode, Severity};

use crate::candidate::Candidate;
use crate::client_folder::loaders;
use crate::followed_config::{FollowedConfig, LiveSettings, Remembered};
use crate::found::{FoundLibrary, PlaceOrigin, SearchedPlace};
use crate::library_folder::LibraryFolder;
use crate::names;
use crate::packages::{FollowedLocks, FollowedRecord, PackageLists};
use crate::place::LibraryPlace;
use crate::reach::{Mounts, Reach};
use crate::settings::Settings;
use crate::source_files::ReadFrom;
use crate::stamp::SeenStamp;
use crate::trust::Trust;
use crate::unsaved::UnsavedTexts;

/// The known state of the disk.
#[derive(Debug)]
pub(crate) struct LibrarySet {
    places: Vec<LibraryPlace>,
    kept: BTreeMap<LibraryKey, LibraryFolder>,
    /// The libraries in order.
    pub(crate) libraries: Vec<Arc<Library>>,
    /// Problems of the places rather than of a library.
    pub(crate) problems: Vec<Problem>,
    trust: Recorded,
    /// The user's lock, and that of the packages that a server follows.
    locks: FollowedLocks,
    /// What the server that follows packages says about them.
    followed: Option<FollowedRecord>,
    /// The files that packages must have.
    pub(crate) lists: Arc<PackageLists>,
    reach: Arc<Reach>,
    /// With what the configuration says now.
    settings: Arc<Settings>,
    /// The configuration that is followed.
    config: Option<FollowedConfig>,
    /// What a changed configuration says about other parts.
    pub(crate) configured: Option<LiveSettings>,
}

/// What a library is kept by: its folder, and its package, since packages with the same files share
/// one folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LibraryKey {
    root: PathBuf,
    package: Option<LibraryName>,
}

impl LibraryKey {
    fn new(root: &Path, package: Option<&LibraryName>) -> Self {
        Self {
            root: root.to_path_buf(),
            package: package.cloned(),
        }
    }

    fn of(candidate: &Candidate) -> Self {
        let package = candidate.package.as_ref().map(|it| &it.name);
        Self::new(&candidate.root, package)
    }
}

/// The record of trusted libraries, as it was last read.
#[derive(Debug)]
struct Recorded {
    path: Option<PathBuf>,
    seen: SeenStamp,
    trust: Trust,
    problem: Option<Problem>,
}

/// How much of the disk a scan checks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScanScope<'s> {
    /// Every place and every library.
    All,
    /// The library with this folder.
    Library(&'s Path),
    /// The libraries that these paths are in.
    Touched(&'s BTreeSet<PathBuf>),
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
        let (own, followed) = (settings.lock.as_deref(), settings.followed_lock.as_deref());
        let locks = FollowedLocks::new(own, followed);
        Self {
            places: LibraryPlace::all(settings, &locks),
            kept: BTreeMap::new(),
            libraries: Vec::new(),
            problems: Vec::new(),
            trust: Recorded {
                path: settings.trust.clone(),
                seen: SeenStamp::never(),
                trust: Trust::default(),
                problem: None,
            },
            locks,
            followed: followed.map(FollowedRecord::beside),
            lists: Arc::default(),
            reach,
            config: settings.config.clone(),
            settings: Arc::new(settings.clone()),
            configured: None,
        }
    }

    /// Takes over a changed configuration: libraries of folders that it still has the same way stay
    /// as they are.
    fn look_at_config(&mut self) {
        let is_relocked = self.locks.look();
        let Some(live) = self.config.as_mut().and_then(FollowedConfig::look) else {
            if is_relocked {
                self.replace((*self.settings).clone(), true);
            }
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
        if has_names && !is_relocked && settings.remembered == self.settings.remembered {
            return;
        }
        self.replace(settings, has_names);
    }

    /// Takes over the folders that the client works in.
    pub(crate) fn follow_roots(&mut self, roots: Vec<PathBuf>) {
        let settings = Settings {
            roots,
            ..(*self.settings).clone()
        };
        self.replace(settings.absolute(), true);
    }

    /// Takes over other settings; `has_names` is true if the names of prompts stay.
    fn replace(&mut self, settings: Settings, has_names: bool) {
        let mut before = std::mem::take(&mut self.places);
        for place in LibraryPlace::all(&settings, &self.locks) {
            let same = before.iter().position(|old| old.is_like(&place));
            self.places
                .push(same.map_or(place, |at| before.swap_remove(at)));
        }
        // Names of prompts are made of both.
        let is_gone = |root: &Path| before.iter().any(|old| root.starts_with(&old.path));
        self.kept.retain(|key, _| has_names && !is_gone(&key.root));
        self.settings = Arc::new(settings);
    }

    /// Takes over the folders that the configurations of repositories list. They come last, so that
    /// a checkout cannot take the name of a library of the user's.
    fn look_at_repositories(&mut self) {
        let settings = Arc::clone(&self.settings);
        for place in &mut self.places {
            place.look_at_config(&settings);
        }
        let has_listed = self.places.iter().any(LibraryPlace::is_listed);
        let listed = self.places.iter().flat_map(|place| place.listed(&settings));
        let mut wanted = listed.peekable();
        if wanted.peek().is_none() && !has_listed {
            return;
        }
        let wanted: Vec<LibraryPlace> = wanted.collect();
        let places = std::mem::take(&mut self.places).into_iter();
        let (mut before, own): (Vec<LibraryPlace>, Vec<LibraryPlace>) =
            places.partition(LibraryPlace::is_listed);
        self.places = own;
        for place in wanted {
            let same = before.iter().position(|old| old.is_like(&place));
            let place = same.map_or(place, |at| before.swap_remove(at));
            let is_same = |it: &LibraryPlace| it.path == place.path;
            if place.is_package() || !self.places.iter().any(is_same) {
                self.places.push(place);
            }
        }
    }

    /// Checks the disk; returns how many libraries changed, or `None` if neither they nor their
    /// order changed.
    pub(crate) fn scan(&mut self, scope: ScanScope<'_>) -> Option<usize> {
        let roots = match scope {
            ScanScope::All => None,
            ScanScope::Library(root) => Some(BTreeSet::from([root.to_path_buf()])),
            ScanScope::Touched(paths) => self.libraries_of(paths),
        };
        let Some(roots) = roots else {
            return self.scan_all();
        };
        let settings = Arc::clone(&self.settings);
        self.trust.look(&settings);
        let mut changed = 0;
        let keys: Vec<Vec<LibraryKey>> = roots.iter().map(|root| self.keys_at(root)).collect();
        if keys.iter().any(Vec::is_empty) {
            return self.scan_all();
        }
        for key in keys.into_iter().flatten() {
            let Some(before) = self.kept.remove(&key) else {
                return self.scan_all();
            };
            let mut candidate = before.candidate.clone();
            candidate.manifest = SeenStamp::at(&key.root.join(MANIFEST));
            let (old, trust) = (before.library(), &self.trust.trust);
            let lists = &self.lists;
            let Some(kept) = before.refresh(&settings, trust, lists, &candidate, false) else {
                // It is no longer a library: check its place.
                return self.scan_all();
            };
            let library = kept.library();
            self.kept.insert(key, kept);
            if let Some(at) = self.libraries.iter_mut().find(|it| Arc::ptr_eq(it, &old))
                && !Arc::ptr_eq(&old, &library)
            {
                *at = library;
                changed += 1;
            }
        }
        (changed > 0).then_some(changed)
    }

    /// The libraries that paths are in. `None` if a path is not inside a library with a manifest,
    /// or may be part of another place: then more than these libraries may have changed.
    fn libraries_of(&self, paths: &BTreeSet<PathBuf>) -> Option<BTreeSet<PathBuf>> {
        let mounts = Mounts::now();
        let library_of = |path: &PathBuf| {
            // It may list other libraries.
            if self.places.iter().any(|place| place.is_config(path)) {
                return None;
            }
            let mut above = path.ancestors().skip(1);
            let (key, kept) = above.find_map(|folder| self.kept_at(folder).next())?;
            let root = &key.root;
            let is_inner =
                |place: &LibraryPlace| place.path != *root && place.path.starts_with(root);
            let is_sure = kept.kind() == LibraryKind::Twig
                && !self.places.iter().any(is_inner)
                && self.reach.answers(&mounts, root);
            is_sure.then(|| root.clone())
        };
        paths.iter().map(library_of).collect()
    }

    /// The libraries with a folder: one, or the packages with the same files.
    fn kept_at(&self, root: &Path) -> impl Iterator<Item = (&LibraryKey, &LibraryFolder)> {
        let from = self.kept.range(LibraryKey::new(root, None)..);
        from.take_while(move |(key, _)| key.root == root)
    }

    fn keys_at(&self, root: &Path) -> Vec<LibraryKey> {
        self.kept_at(root).map(|(key, _)| key.clone()).collect()
    }

    fn scan_all(&mut self) -> Option<usize> {
        self.look_at_config();
        self.look_at_repositories();
        let settings = Arc::clone(&self.settings);
        let settings = &*settings;
        let mut problems = Vec::new();
        let mut seen: BTreeSet<LibraryKey> = BTreeSet::new();
        let mut candidates = Vec::with_capacity(self.libraries.len());
        let mounts = Mounts::now();
        let answers = |path: &Path| self.reach.answers(&mounts, path);
        for place in &mut self.places {
            let package = place.package_name().cloned();
            let known = |root: &Path| {
                let key = LibraryKey::new(root, package.as_ref());
                self.kept.get(&key).map(LibraryFolder::kind)
            };
            for mut candidate in place.look(settings, known, answers, &mut problems) {
                candidate.loaded_by = loaders(settings, &candidate.root);
                candidate.workspace.clone_from(&place.workspace);
                // A named folder that is also in the data folder is one library.
                if seen.insert(LibraryKey::of(&candidate)) {
                    candidates.push(candidate);
                }
            }
        }
        names::settle(settings, &mut candidates, &mut problems);
        let locks = self.locks.all().filter_map(|lock| lock.problem.as_ref());
        let locks = locks.chain(self.places.iter().filter_map(LibraryPlace::lock_problem));
        problems.extend(locks.cloned());
        if let Some(followed) = &mut self.followed {
            let remembered = settings.remembered.iter();
            let wanted = remembered.filter(|it| it.followed.is_some());
            problems.extend(followed.problems(wanted.filter_map(|it| it.package.as_ref())));
        }
        self.trust.look(settings);
        problems.extend(self.trust.problem.clone());
        let config = self.config.as_ref().and_then(FollowedConfig::problem);
        problems.extend(config.cloned());
        let mut known = std::mem::take(&mut self.kept);
        let candidates = candidates.into_iter().map(|candidate| {
            let known = known.remove(&LibraryKey::of(&candidate));
            (candidate, known)
        });
        let mut libraries = Vec::with_capacity(self.libraries.len());
        let loaded = load_all(
            settings,
            &self.trust.trust,
            &self.lists,
            candidates.collect(),
        );
        for (key, loaded) in loaded {
            match loaded {
                Ok(None) => {}
                Ok(Some(kept)) => {
                    libraries.push(kept.library());
                    self.kept.insert(key, kept);
                }
                Err(problem) => problems.push(*problem),
            }
        }
        self.problems = problems;
        let packages = libraries
            .iter()
            .filter_map(|it: &Arc<Library>| it.package.as_ref());
        let trees: BTreeSet<&str> = packages.map(|package| &*package.tree).collect();
        self.lists.retain(|tree| trees.contains(&*tree.to_string()));
        let places = self.places.iter().map(|place| &place.path);
        let roots = self.kept.keys().map(|key| &key.root);
        self.reach.remember(&mounts, places.chain(roots));
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

    /// The libraries that unsaved texts belong to: as they are, and as they would be with the texts.
    pub(crate) fn with_unsaved(&self, texts: &UnsavedTexts) -> Vec<(Arc<Library>, Arc<Library>)> {
        let kept = self.kept.iter();
        let kept = kept.filter(|(key, _)| texts.is_in(&key.root));
        let replaced = kept.filter_map(|(_, kept)| {
            let (settings, trust) = (&self.settings, &self.trust.trust);
            let library = kept.with_unsaved(settings, trust, &self.lists, texts)?;
            Some((kept.library(), library))
        });
        replaced.collect()
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
            // Files of a package do not change, and are compared with its list when they are read.
            .filter(|(_, kept)| kept.candidate.package.is_none())
            .map(|(key, kept)| (&key.root, kept))
            .partition(|(_, kept)| kept.kind().is_format());
        inside.extend(others.into_iter().flat_map(|(_, kept)| kept.watched()));
        // Libraries of clients are deeper than the folders that are watched for every place;
        // symlinks to folders inside them are not followed.
        roots.extend(clients.iter().map(|(root, _)| (*root).clone()));
        for folder in inside.iter().chain(clients.iter().map(|(root, _)| *root)) {
            roots.extend(where_links_lead(folder));
        }
        inside.extend(clients.into_iter().flat_map(|(_, kept)| kept.watched()));
        for folder in self.kept.values().flat_map(LibraryFolder::beside) {
            roots.push(folder.clone());
            roots.extend(where_links_lead(folder));
        }
        roots.extend(self.trust.path.clone());
        roots.extend(self.locks.all().map(|lock| lock.path().to_path_buf()));
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
        let roots = places.chain(self.kept.keys().map(|key| &key.root));
        roots
            .filter(|path| !self.is_away(path) && self.reach.answers(&mounts, path))
            .cloned()
            .collect()
    }

    /// The packages of the configuration that a server follows.
    pub(crate) fn followed(&self) -> Vec<Remembered> {
        let remembered = self.settings.remembered.iter();
        let followed = remembered.filter(|it| it.followed.is_some());
        followed.cloned().collect()
    }

    /// What was found where.
    pub(crate) fn found(&self) -> Vec<SearchedPlace> {
        let settings = &self.settings;
        // Most working folders are not a project with its own prompts.
        let places = self.places.iter().filter(|place| !place.is_unused());
        let found = places.map(|place| {
            let kept = place.roots.iter().filter_map(|root| {
                let key = LibraryKey::new(root, place.package_name());
                self.kept.get(&key)
            });
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

/// A library and the result of loading it; `None` if it is no longer one.
type Loaded = (LibraryKey, Result<Option<LibraryFolder>, Box<Problem>>);

/// From this many unknown libraries on, threads are worth starting.
const MANY: usize = 16;
/// The same for this many files that must be checked again.
const MANY_FILES: usize = 1_000;

/// Loads libraries, in their order; many new ones on all processors.
fn load_all(
    settings: &Settings,
    trust: &Trust,
    lists: &PackageLists,
    candidates: Vec<(Candidate, Option<LibraryFolder>)>,
) -> Vec<Loaded> {
    let known = candidates.iter().filter_map(|(_, known)| known.as_ref());
    let new = candidates.len() - known.clone().count();
    let files: usize = known.map(LibraryFolder::file_count).sum();
    // Asking for the number of processors reads files, too.
    let helpers = match (new, files) {
        (0..MANY, 0..MANY_FILES) => 0,
        _ => std::thread::available_parallelism().map_or(0, |threads| threads.get().min(8) - 1),
    };
    let loaded = Mutex::new(Vec::with_capacity(candidates.len()));
    let candidates = Mutex::new(candidates.into_iter().enumerate());
    let work = || {
        loop {
            let next = candidates
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            let Some((at, (candidate, known))) = next else {
                break;
            };
            let kept = LibraryFolder::load(settings, trust, lists, &candidate, known);
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.push((at, (LibraryKey::of(&candidate), kept)));
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(folder: &Path, prompt: &str) {
        fs::create_dir_all(folder).unwrap();
        let text = format!("[prompts.{prompt}]\n[[prompts.{prompt}.messages]]\nrole = \"user\"\n");
        fs::write(folder.join(MANIFEST), format!("{text}text = \"x\"\n")).unwrap();
    }

    fn names(set: &LibrarySet) -> Vec<&str> {
        let prompts = set.libraries.iter().flat_map(|library| &library.prompts);
        prompts.map(|prompt| &*prompt.full_name).collect()
    }

    fn touch(set: &mut LibrarySet, path: PathBuf) -> Option<usize> {
        set.scan(ScanScope::Touched(&BTreeSet::from([path])))
    }

    #[test]
    fn a_touched_path_leads_to_its_own_library_only() {
        let home = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| home.path().join(name));
        let settings = Settings {
            data: Some(home.path().to_path_buf()),
            ..Settings::default()
        };
        let mut set = LibrarySet::new(&settings, Arc::default());
        write(&one, "a");
        write(&two, "b");
        assert_eq!(set.scan(ScanScope::All), Some(2));
        write(&one, "c");
        write(&two, "d");
        assert_eq!(touch(&mut set, one.join(MANIFEST)), Some(1));
        assert_eq!(names(&set), ["one:c", "two:b"]);
        // The folder itself may be another one now: then its place is checked.
        assert_eq!(touch(&mut set, one.clone()), Some(1));
        assert_eq!(names(&set), ["one:c", "two:d"]);
        fs::remove_file(one.join(MANIFEST)).unwrap();
        touch(&mut set, one.join(MANIFEST));
        assert_eq!(names(&set), ["two:d"]);
    }

    #[test]
    fn a_place_inside_a_library_is_found_when_it_appears() {
        let home = tempfile::tempdir().unwrap();
        let (outer, inner) = (home.path().join("outer"), home.path().join("outer/inner"));
        let settings = Settings {
            libraries: vec![inner.clone()],
            data: Some(home.path().to_path_buf()),
            ..Settings::default()
        };
        let mut set = LibrarySet::new(&settings, Arc::default());
        write(&outer, "a");
        set.scan(ScanScope::All);
        write(&inner, "b");
        touch(&mut set, inner);
        assert_eq!(names(&set), ["inner:b", "outer:a"]);
    }
}
