//! Whose packages: your own, in `config.toml`, or a repository's, in its `.twig` folder.

use std::path::{Path, PathBuf};

use twig_core::LibraryName;
use twig_core::Limits;
use twig_core::parse::project::{CONFIG, ListedPlace};
use twig_packages::lock::LOCK_FILE;
use twig_packages::{PackageLock, PackageLockError};
use twig_sources::{
    LockError, LockTrouble, LockedFile, NewFile, WantedPackage, is_of_this_person, read_lock_text,
    repository_config,
};

use crate::command_error::{CommandError, not_locked, reason};
use crate::config::{self, ConfigFile};
use crate::places::Places;

/// A configuration and the lock beside it.
#[derive(Debug, Clone)]
pub(crate) struct PackageScope {
    pub(crate) is_repository: bool,
    /// True for the packages of the user's configuration that a server follows: it alone changes their
    /// lock.
    pub(crate) is_followed: bool,
    config: PathBuf,
    pub(crate) lock: PathBuf,
}

/// A package that a configuration asks for.
#[derive(Debug, Clone)]
pub(crate) struct ScopedPackage {
    /// Its index among the entries of the configuration.
    pub(crate) at: usize,
    pub(crate) wanted: WantedPackage,
}

impl PackageScope {
    /// The user's own.
    pub(crate) fn user(places: &Places) -> Result<Self, CommandError> {
        if let (Some(config), Some(lock)) = (&places.config, &places.lock) {
            return Ok(Self {
                is_repository: false,
                is_followed: false,
                config: config.clone(),
                lock: lock.clone(),
            });
        }
        let error = CommandError::fixable("there is no place for the configuration");
        Err(error.hint("set HOME or XDG_CONFIG_HOME to an absolute path"))
    }

    /// The packages of the user's configuration that a server follows.
    pub(crate) fn followed(places: &Places) -> Result<Self, CommandError> {
        let lock = places.followed_lock();
        let lock = lock.ok_or_else(|| {
            let error =
                CommandError::fixable("there is no place for the lock of followed packages");
            error.hint("set HOME or XDG_DATA_HOME to an absolute path")
        })?;
        Ok(Self {
            lock,
            is_followed: true,
            ..Self::user(places)?
        })
    }

    /// That of the repository around the working folder, if it has a `.twig` folder.
    pub(crate) fn repository(places: &Places) -> Option<Self> {
        let is_usable = |folder: &&PathBuf| folder.is_dir() && is_of_this_person(folder);
        let folder = places.projects.iter().find(is_usable)?;
        Some(Self {
            is_repository: true,
            is_followed: false,
            config: folder.join(CONFIG),
            lock: folder.join(LOCK_FILE),
        })
    }

    /// Where a new package goes: to the repository, unless `is_global`.
    pub(crate) fn current(places: &Places, is_global: bool) -> Result<Self, CommandError> {
        match Self::repository(places).filter(|_| !is_global) {
            Some(scope) => Ok(scope),
            None => Self::user(places),
        }
    }

    /// The user's own, those that a server follows, and the repository's.
    pub(crate) fn all(places: &Places) -> Result<Vec<Self>, CommandError> {
        let own = [Self::user(places)?, Self::followed(places)?];
        Ok(own.into_iter().chain(Self::repository(places)).collect())
    }

    /// The packages that its configuration asks for.
    pub(crate) fn wanted(&self, places: &Places) -> Result<Vec<ScopedPackage>, CommandError> {
        if !self.is_repository {
            let config = config::load(places)?;
            let packages = config.libraries.into_iter().enumerate();
            let packages = packages.filter_map(|(at, entry)| {
                let wanted = entry.package?;
                if entry.followed.is_some() != self.is_followed {
                    return None;
                }
                Some(ScopedPackage { at, wanted })
            });
            return Ok(packages.collect());
        }
        let folder = self.config.parent().unwrap_or(Path::new("/"));
        let shown = places.shown(&self.config);
        let read = repository_config(folder, &Limits::default());
        let read = read.map_err(|error| {
            CommandError::fixable(format!("{shown} cannot be read: it {error}"))
        })?;
        let Some(config) = read else {
            return Ok(Vec::new());
        };
        if let Some(problem) = config.syntax_problem() {
            return Err(CommandError::mistake("nothing was done", &shown, problem));
        }
        let mut packages = Vec::new();
        for folder in config.libraries {
            let ListedPlace::Package(listed) = folder.place else {
                continue;
            };
            let reference = listed.reference.as_deref();
            let wanted = WantedPackage::new(
                &listed.source,
                reference,
                listed.path,
                listed.only,
                folder.name,
            );
            let wanted = wanted.map_err(|why| CommandError::fixable(format!("{shown}: {why}")))?;
            packages.push(ScopedPackage {
                at: folder.index,
                wanted,
            });
        }
        Ok(packages)
    }

    /// The lock as it is.
    pub(crate) fn read_lock(&self, places: &Places) -> Result<PackageLock, CommandError> {
        let text = self.lock_text(places)?;
        PackageLock::parse(&text).map_err(|error| self.bad_lock(places, &error))
    }

    pub(crate) fn lock_text(&self, places: &Places) -> Result<String, CommandError> {
        read_lock_text(&self.lock).map_err(|trouble| match trouble {
            LockTrouble::Wrong(error) => self.bad_lock(places, &error),
            trouble => CommandError::fixable(format!(
                "{} cannot be read: {trouble}",
                places.shown(&self.lock)
            )),
        })
    }

    pub(crate) fn bad_lock(&self, places: &Places, error: &PackageLockError) -> CommandError {
        let shown = places.shown(&self.lock);
        let (at, message) = match error {
            PackageLockError::Conflict { line } => (
                format!("{shown}:{line}"),
                "git left a merge conflict here".to_owned(),
            ),
            PackageLockError::Wrong { line, message } => {
                (format!("{shown}:{line}"), message.clone())
            }
            error => (shown, error.to_string()),
        };
        let command_error = CommandError::fixable(format!("{at}: {message}"));
        match error {
            PackageLockError::Conflict { .. } => {
                command_error.hint("run `twig install`, which takes both sides and writes it again")
            }
            PackageLockError::Wrong { .. } => {
                command_error.hint("restore it from git, or remove it and run `twig install`")
            }
            _ => command_error,
        }
    }

    /// Changes the lock as it is now: another command may have changed it since it was read.
    /// `before` is what a lock that cannot be read counts as.
    pub(crate) fn change_lock(
        &self,
        places: &Places,
        before: Option<&PackageLock>,
        change: impl FnOnce(&mut PackageLock),
    ) -> Result<(), CommandError> {
        let shown = places.shown(&self.lock);
        let wrong = |error: &std::io::Error| {
            CommandError::fixable(format!("{shown} cannot be written: {}", reason(error)))
        };
        let file = LockedFile::open(&self.lock).map_err(|error| match error {
            LockError::Io(error) => wrong(&error),
            error => not_locked(&shown, &error),
        })?;
        let bytes = file.read().map_err(|error| wrong(&error))?;
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default());
        let mut lock = match (PackageLock::parse(&text), before) {
            (Ok(lock), _) => lock,
            (Err(_), Some(before)) => before.clone(),
            (Err(error), None) => return Err(self.bad_lock(places, &error)),
        };
        change(&mut lock);
        let next = lock.to_text();
        if *text == *next || (bytes.is_none() && lock.libraries().is_empty()) {
            return Ok(());
        }
        let written = file.replace(bytes.as_deref(), next.as_bytes(), NewFile::SHARED);
        written.map_err(|error| wrong(&error))
    }

    /// The configuration, for changing it.
    pub(crate) fn open_config(&self, places: &Places) -> Result<ConfigFile, CommandError> {
        if self.is_repository {
            ConfigFile::open_repository(places, &self.config)
        } else {
            ConfigFile::open(places)
        }
    }

    /// The configuration's path for display.
    pub(crate) fn shown(&self, places: &Places) -> String {
        places.shown(&self.config)
    }
}

/// The packages with these names, of all scopes; all of them without names.
pub(crate) fn selected(
    places: &Places,
    names: &[String],
) -> Result<Vec<(PackageScope, ScopedPackage)>, CommandError> {
    let mut found = Vec::new();
    for scope in PackageScope::all(places)? {
        let wanted = scope.wanted(places)?;
        found.extend(wanted.into_iter().map(|package| (scope.clone(), package)));
    }
    if names.is_empty() {
        return Ok(found);
    }
    let known: Vec<LibraryName> = found.iter().map(|(_, it)| it.wanted.name.clone()).collect();
    for name in names {
        if !known.iter().any(|it| it.as_str() == name) {
            let error = CommandError::fixable(format!("there is no package `{name}`"));
            let near =
                twig_core::suggest::did_you_mean(name, known.iter().map(LibraryName::as_str));
            let hint =
                near.unwrap_or_else(|| "run `twig outdated` to see every package".to_owned());
            return Err(error.hint(hint));
        }
    }
    found.retain(|(_, it)| names.iter().any(|name| it.wanted.name.as_str() == name));
    Ok(found)
}
