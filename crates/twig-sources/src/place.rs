//! A place where libraries are searched for: the data folder, a folder that the user named or
//! added, or a project's own.

mod inside;
mod manifest;
mod package;
mod repository;
mod trouble;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_clients::format::Options;
use twig_core::parse::library::MANIFEST;
use twig_core::{LibraryKind, LibraryName, ListingRules, Problem, ProblemCode, Severity};

use self::inside::PlaceContents;
use self::manifest::manifest_at;
pub(crate) use self::package::PackagePlace;
use self::repository::{ListedIn, RepositoryPlaces};
use crate::candidate::Candidate;
use crate::client_folder::{self, LinkedSkills};
use crate::detect::{self, DetectedLibrary, FolderLayout, has_definitions, has_functions};
use crate::followed_config::Remembered;
use crate::found::{FoundState, PlaceOrigin, Skipped};
use crate::packages::FollowedLocks;
use crate::repository_config::is_of_this_person;
use crate::root::sentence;
use crate::settings::Settings;
use crate::stamp::{SeenStamp, is_absence};
use crate::work_folders::{PROJECT, project_folders};

/// A place and its last known contents.
#[derive(Debug)]
pub(crate) struct LibraryPlace {
    pub(crate) path: PathBuf,
    pub(crate) origin: PlaceOrigin,
    /// Whether it is a project's own folder.
    is_project: bool,
    kind: Option<LibraryKind>,
    /// The name that the user gave it.
    name: Option<LibraryName>,
    options: Options,
    /// The workspace whose people alone may read its libraries over HTTP.
    pub(crate) workspace: Option<Box<str>>,
    /// The package, if it is one.
    package: Option<PackagePlace>,
    /// The configuration of a project's own folder, as it was last read.
    repository: RepositoryPlaces,
    /// The configuration that lists it, if one of a repository does.
    listed_in: Option<ListedIn>,
    /// What lists show of the libraries in it, as the repository says.
    listing: Arc<ListingRules>,
    pub(crate) state: FoundState,
    seen: SeenStamp,
    /// Names of the folders and symlinks in it, sorted.
    subfolders: Vec<OsString>,
    /// The layout of it and its subfolders.
    layout: Option<FolderLayout>,
    layouts: BTreeMap<OsString, FolderLayout>,
    /// The folders of the libraries that were found last.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether these are all: other folders in it do not count.
    is_told: bool,
    /// Whether the place itself is a library that reports its own listing errors.
    tells_itself: bool,
    /// Folders in it that may be libraries, and why they cannot be read.
    locked: Vec<(PathBuf, String)>,
    /// The libraries that were found last.
    last: Vec<Candidate>,
    /// Folders whose file system does not answer.
    pub(crate) away: Vec<PathBuf>,
}

impl LibraryPlace {
    /// Every place in the settings, in order.
    pub(crate) fn all(settings: &Settings, locks: &FollowedLocks) -> Vec<Self> {
        let mut places: Vec<Self> = Vec::new();
        let is_new = |places: &[Self], path: &Path| !places.iter().any(|it| it.path == *path);
        for path in &settings.libraries {
            if is_new(&places, path) {
                let mut place = Self::new(path, PlaceOrigin::Flag);
                place.kind = settings.kind;
                place.is_project = path.file_name().is_some_and(|name| name == PROJECT);
                places.push(place);
            }
        }
        let roots = settings.roots.iter().flat_map(|root| project_folders(root));
        for path in settings.projects.iter().cloned().chain(roots) {
            if is_new(&places, &path) {
                let mut place = Self::new(&path, PlaceOrigin::Project);
                place.is_project = true;
                places.push(place);
            }
        }
        let is_here = |it: &&Remembered| {
            it.repository
                .as_ref()
                .is_none_or(|it| settings.works_in(it))
        };
        for remembered in settings.remembered.iter().filter(is_here) {
            let package = remembered.package.as_ref();
            let package = package.map(|wanted| {
                let is_followed = remembered.followed.is_some();
                let locked = locks.find(wanted, is_followed);
                PackagePlace::find(settings, wanted, locked, is_followed)
            });
            let path = package.as_ref().map_or(&remembered.path, |it| &it.root);
            if package.is_some() || is_new(&places, path) {
                let mut place = Self::new(path, PlaceOrigin::Configuration);
                place.package = package;
                place.kind = remembered.kind;
                place.name.clone_from(&remembered.name);
                place.options = remembered.options;
                place.workspace.clone_from(&remembered.workspace);
                places.push(place);
            }
        }
        let data = settings.data.iter();
        places.extend(data.map(|path| Self::new(path, PlaceOrigin::Data)));
        places
    }

    fn new(path: &Path, origin: PlaceOrigin) -> Self {
        Self {
            path: path.to_path_buf(),
            origin,
            is_project: false,
            kind: None,
            name: None,
            options: Options::default(),
            workspace: None,
            package: None,
            repository: RepositoryPlaces::default(),
            listed_in: None,
            listing: Arc::default(),
            state: FoundState::Missing,
            seen: SeenStamp::never(),
            subfolders: Vec::new(),
            layout: None,
            layouts: BTreeMap::new(),
            roots: Vec::new(),
            is_told: false,
            tells_itself: false,
            locked: Vec::new(),
            last: Vec::new(),
            away: Vec::new(),
        }
    }

    /// Whether another place would be searched the same way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.origin, it.is_project, it.kind, it.options);
        self.path == other.path
            && self.name == other.name
            && self.listed_in == other.listed_in
            && self.package == other.package
            && key(self) == key(other)
    }

    /// Whether the user named it, now or earlier.
    fn is_named(&self) -> bool {
        matches!(self.origin, PlaceOrigin::Flag | PlaceOrigin::Configuration)
            || self.listed_in.is_some()
    }

    /// Searches for libraries; `known` says how a folder was read until now.
    pub(crate) fn look(
        &mut self,
        settings: &Settings,
        known: impl Fn(&Path) -> Option<LibraryKind>,
        answers: impl Fn(&Path) -> bool,
        problems: &mut Vec<Problem>,
    ) -> Vec<Candidate> {
        self.away.clear();
        if !answers(&self.path) {
            self.away.push(self.path.clone());
            problems.extend(self.away_problems(settings));
            return self.last_of(|_| true);
        }
        self.list();
        self.locked.clear();
        if self.package.is_some() {
            return self.look_at_package(&known, problems);
        }
        let mut candidates = self.own_libraries(&known);
        self.is_told = !candidates.is_empty();
        let mut left_out = None;
        if candidates.is_empty() && !self.is_project && !self.is_too_wide(settings) {
            candidates = self.libraries_inside(&known, &answers);
            // Manifests and the clients' folders are stronger evidence than names of files.
            let is_sure =
                |it: &Candidate| !it.kind.is_format() || client_folder::at(&it.root).is_some();
            let is_sure = candidates.iter().any(is_sure);
            if self.is_named() && self.kind.is_none() && !is_sure {
                let own = self.by_layout(candidates.is_empty());
                if !own.is_empty() {
                    (candidates, self.is_told) = (own, true);
                    left_out = self.left_out(settings);
                }
            }
        }
        problems.extend(self.leave_out_strays(settings, &mut candidates));
        let outside = self.leave_out_outside(settings, &mut candidates);
        self.call(&mut candidates);
        let mut formats = candidates.iter().filter(|it| it.kind.is_format());
        self.tells_itself = formats.any(|it| it.root == self.path);
        self.roots.clear();
        self.roots
            .extend(candidates.iter().map(|one| one.root.clone()));
        if outside.is_empty() {
            problems.extend(self.problem(settings).map(|it| self.placed(it)));
        }
        problems.extend(outside);
        problems.extend(self.locked_problems(settings));
        problems.extend(self.away_problems(settings));
        problems.extend(left_out);
        self.last.clone_from(&candidates);
        candidates
    }

    /// The libraries that were found last and cannot be examined now.
    fn last_of(&self, is_away: impl Fn(&Path) -> bool) -> Vec<Candidate> {
        let last = self.last.iter().filter(|it| is_away(&it.root));
        let away = last.map(|it| Candidate {
            is_away: true,
            ..it.clone()
        });
        away.collect()
    }

    /// Removes clients' folders that are reached through a symlink out of the folder that the user
    /// named: the author of the symlink chose its target.
    fn leave_out_strays(
        &self,
        settings: &Settings,
        candidates: &mut Vec<Candidate>,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.is_named() {
            return problems;
        }
        let real = |path: &Path| path.canonicalize().ok();
        let shared = client_folder::shared_skills_of(&self.path);
        candidates.retain(|candidate| {
            if candidate.root == self.path || !candidate.kind.is_format() {
                return true;
            }
            let around = match client_folder::project_of(&self.path) {
                Some(project) if shared.as_ref() == Some(&candidate.root) => project,
                _ => &self.path,
            };
            let is_inside = match (real(around), real(&candidate.root)) {
                (Some(around), Some(root)) => root.starts_with(around),
                // A symlink that cannot be followed is not read either, and is reported elsewhere.
                _ => true,
            };
            if !is_inside {
                let shown = settings.shown(&candidate.root);
                let message = format!(
                    "{shown} is ignored: it is a symlink to a folder outside {}",
                    settings.shown(around)
                );
                let path = candidate.root.display().to_string();
                let severity = Severity::Warning;
                let problem =
                    Problem::of_file(ProblemCode::OutsideLibrary, severity, &path, message);
                let help = format!("check where it points, then name it: `--library {shown}`");
                problems.push(problem.with_help(help));
            }
            is_inside
        });
        problems
    }

    /// Whether it contains unrelated files: in a home only the clients' folders count, in the root
    /// of the file system nothing.
    fn is_too_wide(&self, settings: &Settings) -> bool {
        self.path.parent().is_none() || settings.home.as_ref() == Some(&self.path)
    }

    /// The folders whose entries matter: the place, and each folder in it that may be a library.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PathBuf> {
        let names = if self.is_told || self.is_project || self.package.is_some() {
            &[]
        } else {
            self.subfolders.as_slice()
        };
        let inside = names.iter().map(|name| self.path.join(name));
        [self.path.clone()].into_iter().chain(inside)
    }

    /// Whether it is a project's own folder that does not exist.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_project && self.state == FoundState::Missing
    }

    /// The entries that are not libraries.
    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        if self.is_told || self.is_project || self.package.is_some() {
            return Vec::new();
        }
        let is_library = |name: &&OsString| {
            let path = self.path.join(name);
            self.roots.iter().any(|root| root.starts_with(&path))
        };
        let names = self.subfolders.iter().filter(|name| !is_library(name));
        let skipped = names.map(|name| Skipped {
            name: name.display().to_string(),
            why: match std::fs::metadata(self.path.join(name)) {
                Ok(metadata) if metadata.is_dir() => {
                    let manifest = self.path.join(name).join(MANIFEST).symlink_metadata();
                    match manifest {
                        Err(error) if !is_absence(&error) => "cannot be read",
                        _ => "has no twig.toml",
                    }
                }
                Ok(_) => "is not a folder",
                Err(error) if is_absence(&error) => "is a broken symlink",
                Err(_) => "cannot be read",
            },
        });
        skipped.collect()
    }

    fn list(&mut self) {
        let now = SeenStamp::at(&self.path);
        if self.seen.holds(&now) {
            return;
        }
        self.seen = now;
        self.state = match PlaceContents::list(&self.path) {
            Ok(inside) => {
                self.subfolders = inside.folders;
                FoundState::Folder
            }
            Err(error) if is_absence(&error) => {
                self.subfolders.clear();
                // A path beneath a file does not exist.
                if now.is_there() && error.kind() == io::ErrorKind::NotADirectory {
                    FoundState::NotAFolder
                } else {
                    FoundState::Missing
                }
            }
            // The known contents stay until the folder can be listed again.
            Err(error) => {
                self.seen = SeenStamp::never();
                FoundState::Unreadable(sentence(&error))
            }
        };
    }

    /// True if another user owns the project folder and this user did not name it explicitly (any
    /// user can create `.twig` in `/tmp`).
    fn is_strangers(&self) -> bool {
        self.is_project && !self.is_named() && !is_of_this_person(&self.path)
    }

    /// What the place itself is: one library, or the clients' folders in it.
    fn own_libraries(&self, known: &impl Fn(&Path) -> Option<LibraryKind>) -> Vec<Candidate> {
        let is_there = !matches!(self.state, FoundState::Missing | FoundState::NotAFolder);
        let may_be = self.is_named() || self.is_project;
        if !may_be || !is_there || self.is_strangers() {
            return Vec::new();
        }
        let known = known(&self.path);
        let own = |kind| Candidate {
            is_project: self.is_project,
            config: self.repository.read(),
            ..Candidate::new(self.path.clone(), kind)
        };
        if matches!(self.kind, None | Some(LibraryKind::Twig))
            && let Ok(Some(manifest)) = manifest_at(&self.path, known == Some(LibraryKind::Twig))
        {
            let mut own = own(LibraryKind::Twig);
            own.manifest = manifest;
            return vec![own];
        }
        if let Some(well_known) = client_folder::at(&self.path)
            && self.kind.is_none_or(LibraryKind::is_format)
        {
            let spot = DetectedLibrary::at(well_known, self.path.clone(), self.kind);
            return with_shared_skills(Candidate::at(spot));
        }
        let is_functions = match self.kind {
            Some(kind) => kind == LibraryKind::Functions,
            None => has_functions(&self.path, known == Some(LibraryKind::Functions)),
        };
        if is_functions {
            return vec![own(LibraryKind::Functions)];
        }
        let is_definitions = match self.kind {
            Some(kind) => kind == LibraryKind::Definitions,
            None if self.is_project => true,
            None => known == Some(LibraryKind::Definitions) || has_definitions(&self.path),
        };
        if is_definitions {
            return vec![own(LibraryKind::Definitions)];
        }
        let wanted = self.kind.filter(|kind| kind.is_format());
        let clients = self.of_clients(&self.path, wanted);
        match wanted {
            Some(kind) if clients.is_empty() => vec![own(kind)],
            None if self.kind.is_some() => Vec::new(),
            _ => clients,
        }
    }

    /// The clients' folders in a project, of one kind or of any.
    fn of_clients(&self, project: &Path, kind: Option<LibraryKind>) -> Vec<Candidate> {
        let was = |path: &Path| self.roots.iter().any(|root| root == path);
        let mut real = Vec::new();
        let mut candidates = Vec::new();
        for (root, known) in detect::inside(project, was) {
            let path = root.canonicalize().unwrap_or_else(|_| root.clone());
            if LinkedSkills::of(&root) == LinkedSkills::All {
                // The folder that they point to is among these.
                continue;
            }
            if kind.is_none_or(|kind| kind == known.kind) && !real.contains(&path) {
                real.push(path);
                candidates.push(Candidate::at(DetectedLibrary::at(known, root, None)));
            }
        }
        candidates
    }

    /// The libraries detected by its layout; Markdown files count only if nothing else does.
    fn by_layout(&mut self, with_markdown: bool) -> Vec<Candidate> {
        if matches!(self.state, FoundState::Missing | FoundState::NotAFolder) {
            return Vec::new();
        }
        let layout = FolderLayout::of(&self.path, self.layout.take());
        let spots = layout.spots.iter().cloned();
        let spots = spots.filter(|spot| with_markdown || spot.kind != LibraryKind::Markdown);
        let candidates = spots.map(Candidate::at).collect();
        self.layout = Some(layout);
        candidates
    }

    fn libraries_inside(
        &mut self,
        known: &impl Fn(&Path) -> Option<LibraryKind>,
        answers: &impl Fn(&Path) -> bool,
    ) -> Vec<Candidate> {
        let mut candidates = Vec::with_capacity(self.roots.len());
        let mut layouts = std::mem::take(&mut self.layouts);
        for name in &self.subfolders {
            let root = self.path.join(name);
            if !answers(&root) {
                candidates.extend(self.last_of(|last| last.starts_with(&root)));
                self.away.push(root);
                continue;
            }
            let known = known(&root);
            match manifest_at(&root, known == Some(LibraryKind::Twig)) {
                Ok(Some(manifest)) => candidates.push(Candidate {
                    manifest,
                    ..Candidate::new(root, LibraryKind::Twig)
                }),
                Ok(None) if has_functions(&root, known == Some(LibraryKind::Functions)) => {
                    candidates.push(Candidate::new(root, LibraryKind::Functions));
                }
                Ok(None) if client_folder::at(&root).is_some() => {
                    let spot =
                        client_folder::at(&root).map(|it| DetectedLibrary::at(it, root, None));
                    candidates.extend(spot.map(Candidate::at));
                }
                Ok(None) if known == Some(LibraryKind::Definitions) || has_definitions(&root) => {
                    candidates.push(Candidate::new(root, LibraryKind::Definitions));
                }
                Ok(None) => {
                    let clients = self.of_clients(&root, None);
                    if !clients.is_empty() {
                        candidates.extend(clients);
                        continue;
                    }
                    let layout = FolderLayout::of(&root, layouts.remove(name));
                    let told = layout.spots.iter().cloned();
                    // Any folder contains some Markdown.
                    let told = told.filter(|spot| spot.kind != LibraryKind::Markdown);
                    candidates.extend(told.map(Candidate::at));
                    self.layouts.insert(name.clone(), layout);
                }
                // If the place itself cannot be read, one problem is enough.
                Err(_) if self.state != FoundState::Folder => {}
                Err(error) => self.locked.push((root, sentence(&error))),
            }
        }
        candidates
    }

    /// Gives libraries the name and the options that the user chose.
    ///
    /// If there are several, the name becomes a prefix for each, unless it is the whole name of one
    /// of them, which was alone before: then that one keeps it.
    fn call(&self, candidates: &mut [Candidate]) {
        let is_one = candidates.len() == 1;
        let ends: Vec<LibraryName> = candidates.iter().filter_map(Candidate::own_name).collect();
        let front = |chosen: &LibraryName| {
            let ends = ends.iter().filter(|_| !is_one);
            let mut fronts = ends.filter_map(|end| chosen.as_str().strip_suffix(end.as_str()));
            let front = fronts.find(|front| front.is_empty() || front.ends_with('_'));
            front.map_or_else(|| format!("{chosen}_"), ToOwned::to_owned)
        };
        for candidate in candidates {
            candidate.options = self.options;
            candidate.listing = Arc::clone(&self.listing);
            let Some(chosen) = &self.name else { continue };
            let name = match candidate.own_name() {
                Some(own) if !is_one => {
                    LibraryName::from_folder(&format!("{}{own}", front(chosen)))
                }
                _ => None,
            };
            candidate.name = name.or_else(|| Some(chosen.clone()));
        }
    }
}

/// A client's folder of skills, and the shared one if symlinks lead there: nothing is read through a
/// symlink, so the shared folder is a library of its own.
fn with_shared_skills(own: Candidate) -> Vec<Candidate> {
    let shared = || {
        let root = client_folder::shared_skills_of(&own.root)?;
        let known = client_folder::at(&root)?;
        Some(Candidate::at(DetectedLibrary::at(known, root, None)))
    };
    match (LinkedSkills::of(&own.root), shared()) {
        (LinkedSkills::Some, Some(shared)) => vec![own, shared],
        (LinkedSkills::All, Some(shared)) => vec![shared],
        _ => vec![own],
    }
}
