//! Packages on this machine: fetched with git or over https, kept by the digest of their files, and read-only.

mod commit_agreement;
mod contents;
mod copied_files;
mod follow_record;
mod followed_lock;
mod git_fetch;
mod git_program;
mod index_fetch;
mod package_error;
mod packaged_files;
mod side_by_side;
mod signatures;
mod source_keys;
mod upkeep;
mod vendor;
mod wanted;

#[cfg(feature = "postgres")]
pub(crate) use commit_agreement::agreement_key;
pub use commit_agreement::{AgreedState, CommitAgreement, LookOutcome};
pub use contents::{FetchHold, PackageStore};
pub use copied_files::{CopiedFiles, PackagedCopy, packaged_copies};
pub(crate) use follow_record::FollowedRecord;
pub use follow_record::{FollowProblem, FollowRecord, FollowState};
pub(crate) use followed_lock::{FollowedLock, FollowedLocks};
pub use followed_lock::{LockTrouble, read_lock, read_lock_text};
pub use git_fetch::{
    FetchedPackage, LeftOutFile, PackageFetcher, ReferenceKind, RemoteReferences, ResolvedReference,
};
pub use git_program::{FetchLimits, FetchStop, GitEnvironment, GitLogin};
pub use package_error::PackageError;
pub(crate) use packaged_files::{PackageLists, PackagedFiles};
pub use side_by_side::side_by_side;
pub use signatures::{PackageSignatures, SkillSignature};
pub use source_keys::{SourceKey, SourceKeys};
pub use upkeep::{ChangedFile, CheckedPackage, Collected, FileDifference};
pub use vendor::{
    VENDOR_LIST, VendorAction, VendorError, VendorFolder, VendorMode, Vendored, VendoredFile,
};
pub(crate) use wanted::REPOSITORY_WORDS;
pub use wanted::WantedPackage;
