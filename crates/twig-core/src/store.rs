//! Projects: named places that hold prompts and resources written by people and agents.
//!
//! This module decides what a project is and what a write may do, without a disk. A storage backend
//! implements the port [`Store`]. Every write appends a version, and no version ever changes.

mod author;
mod decide;
mod error;
mod file_name;
mod folder;
mod given;
mod label;
mod library;
mod merge;
mod name;
mod version;
mod write;

pub use self::author::Author;
pub use self::decide::{Decision, Next, decide};
pub use self::error::{StoreError, other_labels};
pub use self::folder::{ExportedItem, ExportedProject, ExportedVersion, FolderError};
pub use self::given::{GivenContent, base64, is_text_mime, mime_or_plain};
pub use self::label::{
    LabelName, LabelledVersion, MOST_LABELS, MOST_PROTECTED, VersionChoice, split_label,
};
pub use self::library::{library, offered_library};
pub use self::merge::{MergeConflict, MergeStep, folder_patch, merge};
pub use self::name::{ItemKind, NameProblem, Noun, StoreName};
pub use self::version::{
    ContentInfo, Digest, Item, LONGEST_AUTHOR, Operation, Project, Summary, Timestamp,
    VERSION_BYTES, Version, VersionQuery, hex, read_hex,
};
pub use self::write::{
    Change, ItemDraft, ItemWrite, LabelChange, LabelWrite, Patch, Write, Written,
};

/// Called exactly once with the result, on any thread, possibly before `write` returns.
pub type OnWritten = Box<dyn FnOnce(Result<Written, StoreError>) + Send>;

/// Stores the projects of one workspace.
///
/// Reads may block on a disk or another machine, so a caller that must not block has to move to
/// another thread first. A write never blocks its caller.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The workspace's name.
    fn workspace(&self) -> &StoreName;

    /// A number that grows with every write of any process, perhaps more often. Only numbers of one
    /// store can be compared. Cheap: every request asks for it first.
    fn revision(&self) -> Result<u64, StoreError>;

    /// The projects, sorted by name.
    fn projects(&self) -> Result<Vec<Summary>, StoreError>;

    /// A project with its current content, as of one moment; `None` if it does not exist.
    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError>;

    /// The content with this digest; the digest is verified.
    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// Every version of a prompt or resource, oldest first, also if it was deleted.
    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError>;

    /// The versions that a query asks for, newest first, also of a deleted item.
    fn versions(&self, query: &VersionQuery) -> Result<Vec<Version>, StoreError>;

    /// The labels of a prompt or resource with the numbers of their versions, sorted by label, also if
    /// it was deleted.
    fn labels(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError>;

    /// The labels of a project that only an administrator moves or removes, sorted.
    fn protected_labels(&self, project: &StoreName) -> Result<Vec<LabelName>, StoreError>;

    /// Calls back soon after every write by any process, perhaps more often, until the returned
    /// value is dropped.
    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send>;

    /// Finishes pending writes and releases all open files. Later writes are refused.
    fn close(&self);

    /// Performs a write. `done` is called once it is durable, or with the reason why it failed.
    fn write(&self, write: Write, done: OnWritten);
}
