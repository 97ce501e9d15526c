//! Why a package could not be fetched, kept or read.

use std::io;
use std::time::Duration;

use twig_packages::SignatureError;
use twig_packages::tree::PathTrouble;
use twig_packages::{ArchiveError, SkillsIndexError};

/// Why a package could not be fetched, kept or read. Each message says what happened and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The program ends.
    #[error("{source_text}: the fetch was ended")]
    Ended {
        /// The source.
        source_text: String,
    },
    /// There is no `git`.
    #[error("git is not installed, and packages from repositories are fetched with it")]
    NoGit,
    /// The name of the host is unknown, or there is no network.
    #[error("{source_text}: the host was not found; check the address and the network")]
    NoHost {
        /// The source.
        source_text: String,
    },
    /// The host does not answer.
    #[error("{source_text}: the host does not answer ({detail})")]
    Unreachable {
        /// The source.
        source_text: String,
        /// What git or the system says.
        detail: String,
    },
    /// The certificate of the host is not one that this machine trusts.
    #[error("{source_text}: the certificate of the host was not accepted ({detail})")]
    Certificate {
        /// The source.
        source_text: String,
        /// Why.
        detail: String,
    },
    /// A login is needed, and git has none.
    #[error(
        "{source_text}: there is no such repository, or git has no login for it (nothing is asked for while packages are fetched)"
    )]
    Login {
        /// The source.
        source_text: String,
        /// The address, for a hint.
        url: String,
    },
    /// ssh does not know the key of the host.
    #[error("{source_text}: ssh does not know the key of this host")]
    HostKey {
        /// The source.
        source_text: String,
    },
    /// The host has another key than the one that ssh knows.
    #[error(
        "{source_text}: the key of this host was changed, so it may not be the host that you know"
    )]
    HostKeyChanged {
        /// The source.
        source_text: String,
    },
    /// There is no repository.
    #[error("{source_text}: there is no such repository")]
    NoRepository {
        /// The source.
        source_text: String,
    },
    /// There is no such branch, tag or commit.
    #[error("{source_text} has no branch, tag or commit `{reference}`")]
    NoReference {
        /// The source.
        source_text: String,
        /// What was asked for.
        reference: String,
        /// Names that are near.
        near: Vec<String>,
    },
    /// The repository has no commits.
    #[error("{source_text} has no branch and no tag: it is empty, or its answer was cut off")]
    Empty {
        /// The source.
        source_text: String,
    },
    /// The wanted folder is not in the repository.
    #[error("{source_text} has no folder `{path}` at {commit}")]
    NoFolder {
        /// The source.
        source_text: String,
        /// The folder.
        path: String,
        /// The commit, shortened.
        commit: String,
    },
    /// Nothing came for too long.
    #[error("{source_text}: nothing was received for {}, so the fetch was ended", time(*limit))]
    Stalled {
        /// The source.
        source_text: String,
        /// For how long.
        limit: Duration,
    },
    /// The whole fetch took too long.
    #[error("{source_text}: the fetch took longer than {} and was ended", time(*limit))]
    TooLong {
        /// The source.
        source_text: String,
        /// For how long.
        limit: Duration,
    },
    /// More bytes than a package may have.
    #[error("{source_text} is larger than a package may be ({})", size(*limit))]
    TooLarge {
        /// The source.
        source_text: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// More files than a package may have.
    #[error("{source_text} has more files than a package may have ({limit})")]
    TooManyFiles {
        /// The source.
        source_text: String,
        /// The limit.
        limit: usize,
    },
    /// A file that is an attack.
    #[error("{source_text} is refused because of the file `{path}`: {why}")]
    Hostile {
        /// The source.
        source_text: String,
        /// The file.
        path: String,
        /// What is wrong with it.
        why: PathTrouble,
    },
    /// The other side sent something else than a repository.
    #[error("{source_text}: the answer is not that of a git server, or was cut off ({detail})")]
    Garbage {
        /// The source.
        source_text: String,
        /// What git says.
        detail: String,
    },
    /// The files are not those of the lock.
    #[error(
        "{source_text} at {commit} has other files than the lock says ({found} instead of {expected})"
    )]
    OtherFiles {
        /// The source.
        source_text: String,
        /// The commit, shortened.
        commit: String,
        /// The digest in the lock.
        expected: String,
        /// The digest of what was fetched.
        found: String,
    },
    /// A key is pinned for the source, and a signature cannot be verified with it.
    #[error("{source_text} is refused because of `{path}`, since a key is pinned for it: {why}")]
    Signature {
        /// The source.
        source_text: String,
        /// The signature.
        path: String,
        /// What is wrong with it.
        why: Box<SignatureError>,
    },
    /// A key is pinned for the source, and a skill has no signature.
    #[error("{source_text} is refused, since a key is pinned for it and {what} is not signed")]
    Unsigned {
        /// The source.
        source_text: String,
        /// The skill, or the package itself.
        what: String,
    },
    /// The host publishes other skills than when they were locked.
    #[error(
        "{source_text} has other skills than the lock says ({found} instead of {expected}), and an index keeps no older ones"
    )]
    OtherSkills {
        /// The source.
        source_text: String,
        /// The digest in the lock.
        expected: String,
        /// The digest of what was fetched.
        found: String,
    },
    /// The host has no index of skills.
    #[error(
        "{source_text} has no index of skills (/.well-known/agent-skills/index.json or /.well-known/skills/index.json)"
    )]
    NoIndex {
        /// The source.
        source_text: String,
    },
    /// The index of skills is not one.
    #[error("{source_text}: {error}")]
    BadIndex {
        /// The source.
        source_text: String,
        /// What is wrong with it.
        error: SkillsIndexError,
    },
    /// The index has nothing that can be fetched.
    #[error("{source_text} has an index of skills, and none of them can be used{detail}")]
    NoSkills {
        /// The source.
        source_text: String,
        /// The first one and why, if there is one, in parentheses.
        detail: String,
    },
    /// A login is needed, and Twig has none.
    #[error("{source_text}: the host does not send {what} without a login (status {status})")]
    Forbidden {
        /// The source.
        source_text: String,
        /// What was asked for.
        what: String,
        /// The status of the answer.
        status: u16,
    },
    /// The host sends something else than a file.
    #[error("{source_text}: the host answers with status {status} instead of {what}")]
    Status {
        /// The source.
        source_text: String,
        /// What was asked for.
        what: String,
        /// The status of the answer.
        status: u16,
    },
    /// The host leads elsewhere, and that is not followed.
    #[error("{source_text}: the redirect of {what} is not followed: {detail}")]
    Redirect {
        /// The source.
        source_text: String,
        /// What was asked for.
        what: String,
        /// Why.
        detail: String,
    },
    /// The connection ended too early.
    #[error("{source_text}: the connection was closed before all of {what} was received")]
    CutOff {
        /// The source.
        source_text: String,
        /// What was asked for.
        what: String,
    },
    /// The host does not speak HTTP.
    #[error("{source_text}: the answer for {what} is not that of a web server ({detail})")]
    NotHttp {
        /// The source.
        source_text: String,
        /// What was asked for.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A skill is not what the index says.
    #[error(
        "{source_text}: the skill `{skill}` is not what the index says: its digest is {found} instead of {expected}"
    )]
    SkillDigest {
        /// The source.
        source_text: String,
        /// The skill.
        skill: String,
        /// The digest in the index.
        expected: String,
        /// The digest of what was received.
        found: String,
    },
    /// The archive of a skill is refused.
    #[error("{source_text}: the archive of the skill `{skill}` is refused: {error}")]
    SkillArchive {
        /// The source.
        source_text: String,
        /// The skill.
        skill: String,
        /// What is wrong with it.
        error: ArchiveError,
    },
    /// The proxy of the environment cannot be used.
    #[error("the proxy in the environment (`HTTPS_PROXY` or `ALL_PROXY`) is not an address of one")]
    BadProxy,
    /// The source is not fetched with git.
    #[error("{source_text} is no repository")]
    NotGit {
        /// The source.
        source_text: String,
    },
    /// git failed in another way.
    #[error("{source_text}: git failed: {detail}")]
    Git {
        /// The source.
        source_text: String,
        /// What git says.
        detail: String,
    },
    /// Another process has fetched packages that its lock does not name yet.
    #[error("nothing was removed, because another command of Twig is fetching packages")]
    Fetching,
    /// A package is not on this machine.
    #[error("the files of this version ({tree}) are not on this machine")]
    NotHere {
        /// The digest over its files.
        tree: String,
    },
    /// The list of a package's files is missing or damaged.
    #[error("the list of files of {tree} is damaged")]
    BadList {
        /// The digest over its files.
        tree: String,
    },
    /// The disk refused.
    #[error("{what}: {error}")]
    Disk {
        /// What could not be done.
        what: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// A time as people read it.
fn time(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} milliseconds", time.as_millis()),
        seconds if seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    match bytes / (1024 * 1024) {
        0 => format!("{bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

impl PackageError {
    pub(super) fn disk(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::Disk { what, error }
    }
}
