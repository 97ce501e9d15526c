//! What a server that follows packages last found out about each: beside the lock of these packages,
//! which holds no times.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_core::{Problem, ProblemCode, RelativePath, Severity};
use twig_packages::PackageSource;

use super::wanted::WantedPackage;
use crate::locked_file::{LockError, LockedFile};
use crate::stamp::SeenStamp;
use crate::write_file::NewFile;

/// The ending of the record's name.
const EXTENSION: &str = "json";

/// What is known about each package that a server follows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowRecord {
    #[serde(default)]
    libraries: BTreeMap<String, FollowState>,
}

/// What a server found out about a package that it follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowState {
    /// The source.
    source: String,
    /// The reference that the configuration asks for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// The folder in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// When the source last answered, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<u64>,
    /// Why the newest commit is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<FollowProblem>,
}

/// Why the newest commit of a package is not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowProblem {
    /// True if the commit itself is wrong, so that its author has to do something.
    pub is_refused: bool,
    /// A sentence about it.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl FollowRecord {
    /// The path of the record that belongs to a lock.
    fn path_of(lock: &Path) -> PathBuf {
        lock.with_extension(EXTENSION)
    }

    /// Reads the record beside a lock. It can be made again, so one that cannot be read counts as
    /// empty.
    pub fn read(lock: &Path) -> Self {
        let bytes = fs::read(Self::path_of(lock)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// What is known about a package, as the configuration has it now.
    pub fn state(&self, wanted: &WantedPackage) -> Option<&FollowState> {
        let state = self.libraries.get(wanted.name.as_str())?;
        state.is_about(wanted).then_some(state)
    }

    /// Changes what is known about a package; returns whether its problem is another one now.
    pub fn change(
        lock: &Path,
        wanted: &WantedPackage,
        change: impl FnOnce(&mut FollowState),
    ) -> Result<bool, LockError> {
        let file = LockedFile::open(&Self::path_of(lock))?;
        let before = file.read()?;
        let read = serde_json::from_slice(before.as_deref().unwrap_or_default());
        let mut record: Self = read.unwrap_or_default();
        let known = record.state(wanted).cloned();
        let mut state = known.clone().unwrap_or_else(|| FollowState::new(wanted));
        change(&mut state);
        let is_other = known.and_then(|it| it.problem) != state.problem;
        record.libraries.insert(wanted.name.to_string(), state);
        let mut bytes = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        bytes.push(b'\n');
        if before.as_deref() != Some(&*bytes) {
            file.replace(before.as_deref(), &bytes, NewFile::PRIVATE)?;
        }
        Ok(is_other)
    }

    /// Forgets packages that are not followed any more.
    pub fn retain(lock: &Path, is_kept: impl Fn(&str) -> bool) -> Result<(), LockError> {
        if Self::read(lock).libraries.keys().all(|name| is_kept(name)) {
            return Ok(());
        }
        let file = LockedFile::open(&Self::path_of(lock))?;
        let before = file.read()?;
        let read = serde_json::from_slice(before.as_deref().unwrap_or_default());
        let mut record: Self = read.unwrap_or_default();
        record.libraries.retain(|name, _| is_kept(name));
        let bytes = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        Ok(file.replace(before.as_deref(), &bytes, NewFile::PRIVATE)?)
    }
}

impl FollowState {
    fn new(wanted: &WantedPackage) -> Self {
        Self {
            source: wanted.source.to_string(),
            reference: wanted.reference.clone(),
            path: wanted.path.as_ref().map(|path| path.as_str().to_owned()),
            looked_at: None,
            problem: None,
        }
    }

    fn is_about(&self, wanted: &WantedPackage) -> bool {
        let is_source = PackageSource::parse(&self.source).is_ok_and(|it| it == wanted.source);
        let path = wanted.path.as_ref().map(RelativePath::as_str);
        is_source && self.reference == wanted.reference && self.path.as_deref() == path
    }
}

/// The record, read again when its file changes.
#[derive(Debug)]
pub(crate) struct FollowedRecord {
    lock: PathBuf,
    seen: SeenStamp,
    record: FollowRecord,
}

impl FollowedRecord {
    /// The record beside a lock; nothing is read yet.
    pub(crate) fn beside(lock: &Path) -> Self {
        Self {
            lock: lock.to_path_buf(),
            seen: SeenStamp::never(),
            record: FollowRecord::default(),
        }
    }

    /// The problems of packages that are followed.
    pub(crate) fn problems<'w>(
        &mut self,
        wanted: impl Iterator<Item = &'w WantedPackage>,
    ) -> Vec<Problem> {
        let now = SeenStamp::at(&FollowRecord::path_of(&self.lock));
        if !self.seen.holds(&now) {
            self.record = FollowRecord::read(&self.lock);
            self.seen = now;
        }
        let problems = wanted.filter_map(|wanted| {
            let problem = self.record.state(wanted)?.problem.as_ref()?;
            let severity = if problem.is_refused {
                Severity::Error
            } else {
                Severity::Warning
            };
            let path = self.lock.display().to_string();
            let found = Problem::of_file(
                ProblemCode::NotFollowed,
                severity,
                &path,
                problem.message.clone(),
            );
            Some(found.with_help(problem.help.clone()))
        });
        problems.collect()
    }
}
