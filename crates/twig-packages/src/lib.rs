//! Packages: libraries that come from elsewhere.
//!
//! What a source is called, what a lock says, which files a package has and what an update changes.
//! Nothing here touches files, the network or a terminal: text and bytes come in, values come out.
//! `twig-sources` fetches packages and keeps them.

// Archives of skills: tar.gz and zip, read within limits, and written the same every time. The only user
// of flate2, rawzip and tar.
pub mod archive;
// What the files of a package can make an agent do.
pub mod capabilities;
// What an update changes, and what it can do that the version before could not.
pub mod changes;
// The license that a package declares.
pub mod license;
// The lock: which commit and which files each library is.
pub mod lock;
// JSON and YAML of other tools, read within limits.
mod other_files;
// The lock files of other installers, and what they installed.
pub mod other_locks;
// The plugin and marketplace manifests of clients: they group a package, and never filter it.
pub mod plugin_manifests;
// What a hub publishes beside an index: plugins with their marketplace, and the catalog of a host.
pub mod published;
// Signatures of skills: which files they cover, and whether a pinned key made them.
pub mod signature;
// The index of skills that a host publishes under `/.well-known/`.
pub mod skills_index;
// Where a package comes from, as people write it and as files keep it.
pub mod source;
// The files of a package, their digests, and which names they may have.
pub mod tree;
// Version tags, and the newest of them.
pub mod version_tag;

pub use archive::{ArchiveError, UnpackedFile, read_archive, write_zip};
pub use capabilities::{CapabilityKind, CapabilityList, CapabilityPlace, PackageCapabilities};
pub use changes::{
    FileChangeKind, PackageChanges, PackageFileChange, PackageItem, PackageItemChange,
    PackageItemKind, PackageRename,
};
pub use license::declared_license;
pub use lock::{LockedLibrary, PackageLock, PackageLockError};
pub use other_locks::{OtherLock, OtherLockError, OtherTool, TakenOver, read_other_lock};
pub use plugin_manifests::{PluginGroups, read_plugin_manifests};
pub use signature::{
    PinnedKey, SignatureComparison, SignatureError, SignatureVerifier, SignedFiles,
    VerifiedSignature,
};
pub use skills_index::{IndexedSkill, SkillsIndex, SkillsIndexError};
pub use source::{PackageSource, PackageSpec, SourceError};
pub use tree::{FileMode, PackageFile, PackageTree, PathTrouble, TreeDigest};
pub use version_tag::VersionTag;
