//! Folders that a repository's own configuration lists as libraries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_clients::format::Options;
use twig_core::parse::project::{CONFIG, ListedFolder, ListedPackage, ListedPlace};
use twig_core::{LibraryName, ListingRules, Problem, ProblemCode, Severity};
use twig_packages::lock::LOCK_FILE;

use super::{LibraryPlace, PackagePlace};
use crate::candidate::Candidate;
use crate::found::PlaceOrigin;
use crate::packages::{FollowedLock, WantedPackage};
use crate::reader::ReadFile;
use crate::repository_config::{parse_config, read_config};
use crate::settings::Settings;
use crate::stamp::SeenStamp;

/// What the configuration of a project's own folder says about places.
#[derive(Debug)]
pub(super) struct RepositoryPlaces {
    seen: SeenStamp,
    folders: Vec<ListedFolder>,
    /// The file, for the folder's library.
    file: Option<Arc<ReadFile>>,
    /// The lock beside it.
    lock: Option<FollowedLock>,
}

impl RepositoryPlaces {
    /// The file as it was last read.
    pub(super) fn read(&self) -> Option<Arc<ReadFile>> {
        self.file.clone()
    }
}

impl Default for RepositoryPlaces {
    fn default() -> Self {
        Self {
            seen: SeenStamp::never(),
            folders: Vec::new(),
            file: None,
            lock: None,
        }
    }
}

/// Where a place is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedIn {
    /// The repository's folder, which nothing may leave.
    repository: PathBuf,
    config: PathBuf,
    line: u32,
    listing: Arc<ListingRules>,
}

impl LibraryPlace {
    /// True if a repository's configuration lists it.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed_in.is_some()
    }

    /// True for the path of the configuration that this place is read with.
    pub(crate) fn is_config(&self, path: &Path) -> bool {
        self.is_project
            && path.parent() == Some(&*self.path)
            && (path.ends_with(CONFIG) || path.ends_with(LOCK_FILE))
    }

    /// Reads the configuration of a project's own folder again if it changed. The folder's library
    /// reports what is wrong with it; what is not valid TOML, such as a file that is half saved,
    /// changes nothing.
    pub(crate) fn look_at_config(&mut self, settings: &Settings) {
        if !self.is_project {
            return;
        }
        self.look_at_listed(settings);
        let lists_packages =
            |folder: &ListedFolder| matches!(folder.place, ListedPlace::Package(_));
        if !self.repository.folders.iter().any(lists_packages) {
            self.repository.lock = None;
            return;
        }
        let path = self.path.join(LOCK_FILE);
        let lock = &mut self.repository.lock;
        lock.get_or_insert_with(|| FollowedLock::new(&path)).look();
    }

    /// The problem of the lock beside its configuration.
    pub(crate) fn lock_problem(&self) -> Option<&Problem> {
        self.repository.lock.as_ref()?.problem.as_ref()
    }

    fn look_at_listed(&mut self, settings: &Settings) {
        let now = SeenStamp::at(&self.path.join(CONFIG));
        if self.repository.seen.holds(&now) {
            return;
        }
        let file = if now.is_there() && !self.is_strangers() {
            read_config(&self.path, &settings.limits)
        } else {
            Ok(None)
        };
        // What cannot be read is tried again; until then, what was known stays.
        let Ok(file) = file else { return };
        self.repository.seen = now;
        let text = file.as_ref().map(|file| &*file.text);
        let config = text.and_then(|text| parse_config(&self.path, text, &settings.limits));
        self.repository.file = file.map(Arc::new);
        if config
            .as_ref()
            .is_some_and(|config| config.syntax_problem().is_some())
        {
            return;
        }
        let (folders, listing) = match config {
            Some(config) => (config.libraries, config.listing),
            None => Default::default(),
        };
        self.repository.folders = folders;
        if *self.listing != listing {
            self.listing = Arc::new(listing);
        }
    }

    /// The places that its configuration lists.
    pub(crate) fn listed(&self, settings: &Settings) -> impl Iterator<Item = Self> {
        let repository = self.path.parent().unwrap_or(&self.path);
        self.repository.folders.iter().filter_map(move |folder| {
            let package = match &folder.place {
                ListedPlace::Folder(_) => None,
                ListedPlace::Package(listed) => {
                    Some(self.listed_package(settings, listed, folder.name.clone())?)
                }
            };
            let path = match (&folder.place, &package) {
                (ListedPlace::Folder(path), _) => repository.join(path.as_str()),
                (_, Some(package)) => package.root.clone(),
                _ => return None,
            };
            let mut place = Self::new(&path, PlaceOrigin::Project);
            place.package = package;
            place.kind = folder.kind;
            place.name.clone_from(&folder.name);
            place.options = Options {
                first_argument: folder.first_argument,
                ..Options::default()
            };
            place.listing = Arc::clone(&self.listing);
            place.listed_in = Some(ListedIn {
                repository: repository.to_path_buf(),
                config: self.path.join(CONFIG),
                line: folder.line,
                listing: Arc::clone(&self.listing),
            });
            Some(place)
        })
    }

    fn listed_package(
        &self,
        settings: &Settings,
        listed: &ListedPackage,
        name: Option<LibraryName>,
    ) -> Option<PackagePlace> {
        let reference = listed.reference.as_deref();
        let (path, only) = (listed.path.clone(), listed.only.clone());
        let wanted = WantedPackage::new(&listed.source, reference, path, only, name).ok()?;
        let lock = self.repository.lock.as_ref()?;
        Some(PackagePlace::find(
            settings,
            &wanted,
            lock.lock.library(&wanted.name),
            false,
        ))
    }

    /// Removes libraries that a symlink leads to, out of the repository that lists them.
    pub(super) fn leave_out_outside(
        &self,
        settings: &Settings,
        candidates: &mut Vec<Candidate>,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        let Some(listed) = self.listed_in.as_ref().filter(|_| self.package.is_none()) else {
            return problems;
        };
        let real = listed.repository.canonicalize();
        candidates.retain(|candidate| {
            let is_inside = match (&real, candidate.root.canonicalize()) {
                (Ok(real), Ok(root)) => root.starts_with(real),
                _ => false,
            };
            if !is_inside {
                let message = format!(
                    "{} is ignored: it is a symlink to a folder outside the repository",
                    settings.shown(&candidate.root)
                );
                let path = candidate.root.display().to_string();
                let (code, severity) = (ProblemCode::OutsideLibrary, Severity::Error);
                let problem = Problem::of_file(code, severity, &path, message);
                problems.push(self.placed(problem));
            }
            is_inside
        });
        problems
    }

    /// A problem of the place, at the line that lists it.
    pub(super) fn placed(&self, problem: Problem) -> Problem {
        let Some(listed) = &self.listed_in else {
            return problem;
        };
        Problem {
            path: listed.config.display().to_string().into(),
            line: Some(listed.line),
            ..problem
        }
    }
}
