//! The rows of a store, as the plan of a write reads and writes them.

use crate::audit::{AuditEntry, ChainDigest};
use crate::plan::ChangedItem;
use crate::store::{
    Digest, ItemKind, LabelName, StoreError, StoreName, Summary, Timestamp, Version,
};

/// A project as its last change recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProject {
    /// Its id, a UUID.
    pub id: [u8; 16],
    /// Its name.
    pub name: StoreName,
    /// When it was made.
    pub created: Timestamp,
    /// How many changes there were.
    pub rev: u64,
    /// How many prompts it has.
    pub prompts: u64,
    /// How many resources it has.
    pub resources: u64,
    /// The bytes of its versions.
    pub history: u64,
    /// When its last change was made.
    pub changed: Timestamp,
    /// The digest of its last change, if that is in the chain.
    pub digest: Option<ChainDigest>,
    /// True if any of its versions had a label when it was read.
    pub has_labels: bool,
}

impl StoredProject {
    /// What lists of projects show.
    pub fn summary(self) -> Summary {
        Summary {
            id: self.id,
            name: self.name,
            prompts: self.prompts,
            resources: self.resources,
            history: self.history,
            changes: self.rev,
            created: self.created,
            changed: self.changed,
        }
    }
}

/// A prompt or resource, deleted or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    /// The project that it is in.
    pub project: [u8; 16],
    /// Its id, a UUID.
    pub id: [u8; 16],
    /// The number of its last version.
    pub head: u64,
    /// True if its last version deleted it.
    pub is_deleted: bool,
    /// The number of the first version that is kept.
    pub first: u64,
}

/// The rows of a workspace inside one transaction. What one call writes, the next one reads.
pub trait PlanRows {
    /// Why a row could not be read or written, or why the write is refused.
    type Error: From<StoreError>;

    /// The error for rows that contradict each other.
    fn damaged(&self, what: &str) -> Self::Error;

    /// A new UUID.
    fn new_id(&mut self) -> [u8; 16];

    /// The project with that name.
    fn project(&mut self, name: &StoreName) -> Result<Option<StoredProject>, Self::Error>;

    /// A prompt or resource of a project, deleted or not.
    fn item(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Option<ItemRow>, Self::Error>;

    /// The last version of an item.
    fn head(
        &mut self,
        kind: ItemKind,
        name: &StoreName,
        item: &ItemRow,
    ) -> Result<Version, Self::Error>;

    /// A version of an item, if it is kept.
    fn version(
        &mut self,
        kind: ItemKind,
        name: &StoreName,
        item: &ItemRow,
        number: u64,
    ) -> Result<Option<Version>, Self::Error>;

    /// The labels of an item with the numbers of their versions, sorted by label.
    fn labels(&mut self, item: &ItemRow) -> Result<Vec<(LabelName, u64)>, Self::Error>;

    /// How many labels all items of a project have.
    fn count_labels(&mut self, project: &StoredProject) -> Result<u64, Self::Error>;

    /// The protected labels of a project, sorted.
    fn protected_labels(&mut self, project: &StoredProject) -> Result<Vec<LabelName>, Self::Error>;

    /// The resource that has a URI and is not the given one.
    fn uri_owner(
        &mut self,
        project: &StoredProject,
        uri: &str,
        but: (ItemKind, &StoreName),
    ) -> Result<Option<StoreName>, Self::Error>;

    /// Similar names of items that exist.
    fn near(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        wanted: &StoreName,
    ) -> Result<Vec<Box<str>>, Self::Error>;

    /// Adds a content; `false` if it is there already.
    fn add_content(&mut self, digest: &Digest, bytes: Vec<u8>) -> Result<bool, Self::Error>;

    /// Adds a version, which becomes the last of its item; adds the item if there is none.
    fn add_version(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
        item: Option<&ItemRow>,
        version: &Version,
    ) -> Result<(), Self::Error>;

    /// Renames an item. The digest of a version includes the name of its item, so each is written
    /// again.
    fn rename_item(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        names: (&StoreName, &StoreName),
        item: &ItemRow,
    ) -> Result<(), Self::Error>;

    /// Has a label name a version, or nothing.
    fn set_label(
        &mut self,
        item: &ItemRow,
        label: &LabelName,
        version: Option<u64>,
    ) -> Result<(), Self::Error>;

    /// Protects a label, or no longer.
    fn set_protected(
        &mut self,
        project: &StoredProject,
        label: &LabelName,
        is_protected: bool,
    ) -> Result<(), Self::Error>;

    /// Adds a project.
    fn add_project(&mut self, project: &StoredProject) -> Result<(), Self::Error>;

    /// Renames a project; its old name is given.
    fn rename_project(
        &mut self,
        project: &StoredProject,
        old: &StoreName,
    ) -> Result<(), Self::Error>;

    /// Deletes a project with its versions, and contents that no other project uses. Its changes
    /// stay.
    fn delete_project(&mut self, project: &StoredProject) -> Result<(), Self::Error>;

    /// Adds a change of a project, which is given as it is after the change.
    fn add_change(
        &mut self,
        project: &StoredProject,
        changed: &ChangedItem<'_>,
        entry: &AuditEntry,
        digest: ChainDigest,
    ) -> Result<(), Self::Error>;
}
