//! Packages: libraries that are fetched, locked, verified and updated.

pub(super) mod add;
mod changes_report;
pub(super) mod diff;
pub(super) mod follow;
pub(super) mod from;
pub(super) mod gc;
pub(super) mod install;
pub(super) mod inventory;
mod overview;
mod package_row;
pub(super) mod remove;
mod resolve;
pub(super) mod scope;
pub(super) mod update;
pub(super) mod vendor;
pub(super) mod verify;
pub(super) mod why;

use std::time::{SystemTime, UNIX_EPOCH};

use twig_packages::{LockedLibrary, PackageSource};
use twig_sources::{FetchHold, FetchStop, PackageError, PackageFetcher, PackageStore, SourceKeys};

use crate::command_error::{CommandError, reason};
use crate::config;
use crate::places::{Places, git_environment};
use crate::ui::Ui;

/// What fetches packages into the folder of this machine.
fn fetcher(places: &Places) -> Result<PackageFetcher, CommandError> {
    Ok(PackageFetcher {
        store: store(places)?,
        limits: config::load(places)?.packages,
        environment: git_environment(),
        keys: pinned_keys(places)?,
        hold: FetchHold::default(),
        stop: FetchStop::default(),
    })
}

/// The keys that the user pinned. Without a readable record nothing is fetched: a package could be
/// one that has to be signed.
fn pinned_keys(places: &Places) -> Result<SourceKeys, CommandError> {
    let Some(path) = places.keys() else {
        return Ok(SourceKeys::default());
    };
    SourceKeys::read(&path).map_err(|error| {
        let shown = places.shown(&path);
        let error = CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)));
        error.hint("restore it, or remove it and pin the keys again")
    })
}

/// The clock, in seconds since 1970.
fn seconds_now() -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.ok().map(|now| now.as_secs())
}

/// The packages of this machine.
fn store(places: &Places) -> Result<PackageStore, CommandError> {
    let Some(folder) = &places.packages else {
        let error = CommandError::fixable("there is no place for packages");
        return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
    };
    Ok(PackageStore::new(folder))
}

/// Warns of a git with known defects, before it fetches something.
fn warn_of_old_git(fetcher: &PackageFetcher, ui: &mut Ui) {
    if let Some(warning) = fetcher.git_warning() {
        ui.say(format!("warning: {warning}"));
    }
}

/// A commit as people read it.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// A version as people read it: the reference and the first digits of the commit.
pub(super) fn version_of(locked: &LockedLibrary) -> String {
    match (&locked.reference, &locked.commit) {
        (Some(reference), Some(commit)) if reference != commit => {
            format!("{reference} ({})", short(commit))
        }
        (_, Some(commit)) => short(commit).to_owned(),
        (Some(reference), None) => reference.clone(),
        (None, None) => short(locked.tree.folder().as_str()).to_owned(),
    }
}

impl From<PackageError> for CommandError {
    fn from(error: PackageError) -> Self {
        let command_error = Self::fixable(error.to_string());
        match &error {
            PackageError::NoGit => command_error.hint("install git, or add a folder"),
            PackageError::Login { url, .. } => command_error.hint(format!(
                "check the name; for a private one, sign in so that `git ls-remote {url}` works"
            )),
            PackageError::HostKey { .. } => command_error.hint(
                "connect once with `ssh`, compare the key with the one that its owner publishes, then try again",
            ),
            PackageError::HostKeyChanged { .. } => command_error.hint(
                "ask its owner; only if the new key is the one that they publish, remove the old one with `ssh-keygen -R HOST`",
            ),
            PackageError::NoReference { near, .. } if !near.is_empty() => {
                command_error.hint(format!("did you mean `{}`?", near.join("`, `")))
            }
            PackageError::NoReference { reference, .. } if is_short_commit(reference) => {
                command_error.hint("write a commit with all its 40 digits")
            }
            PackageError::TooLarge { source_text, .. }
            | PackageError::TooManyFiles { source_text, .. }
                if is_repository(source_text) =>
            {
                command_error.hint("name the folder that holds the prompts, as in `owner/repo/folder`, or raise the limit under [packages] in config.toml")
            }
            PackageError::OtherFiles { .. } => command_error.hint(
                "somebody changed what this commit means, or the lock: compare it with a colleague's, then run `twig update`",
            ),
            PackageError::Signature { .. } | PackageError::Unsigned { .. } => command_error.hint(
                "ask its publisher; `twig verify --keys` lists the pinned keys, and --distrust-key removes one",
            ),
            PackageError::OtherSkills { .. } => command_error
                .hint("to take what the host has now, remove the package and add it again"),
            PackageError::NoIndex { source_text } => command_error.hint(format!(
                "if it is a repository, write `git+{source_text}`"
            )),
            PackageError::Fetching => {
                command_error.hint("run `twig gc` again when that command has ended")
            }
            PackageError::NotHere { .. } => command_error.hint("run `twig install`"),
            PackageError::BadList { .. } => command_error.hint("run `twig install --repair`"),
            _ => command_error,
        }
    }
}

fn is_repository(source: &str) -> bool {
    PackageSource::parse(source).is_ok_and(|source| source.git_url().is_some())
}

fn is_short_commit(text: &str) -> bool {
    (6..40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
