//! The writes of a store.

use super::author::Author;
use super::given::GivenContent;
use super::label::LabelName;
use super::name::{ItemKind, StoreName};
use super::version::{Operation, Timestamp};

/// Something to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A new project.
    CreateProject {
        /// Its name.
        name: StoreName,
        /// The author of the write.
        author: Author,
    },
    /// A new name for a project.
    RenameProject {
        /// The old one.
        name: StoreName,
        /// The new one.
        to: StoreName,
        /// The author of the write.
        author: Author,
    },
    /// Deletes a project and everything in it, including versions.
    DeleteProject {
        /// Its name.
        name: StoreName,
        /// The author of the write.
        author: Author,
    },
    /// A new version of a prompt or a resource.
    Item(Box<ItemWrite>),
    /// A new name for a prompt or a resource; it takes all its versions along.
    RenameItem {
        /// Where.
        project: StoreName,
        /// What.
        kind: ItemKind,
        /// The old name.
        name: StoreName,
        /// The new one.
        to: StoreName,
        /// The version that the writer has read; the write is refused if there is a newer one.
        expected: Option<u64>,
        /// The author of the write.
        author: Author,
    },
    /// A label of a prompt or a resource.
    Label(Box<LabelWrite>),
    /// Protects a label of a project, or no longer: only an administrator moves or removes a
    /// protected one.
    Protect {
        /// Where.
        project: StoreName,
        /// The label.
        label: LabelName,
        /// True to protect it.
        is_protected: bool,
        /// The author of the write.
        author: Author,
    },
}

impl Write {
    /// True for deletions, which have to work even if there is no room for anything else.
    pub fn makes_room(&self) -> bool {
        match self {
            Self::DeleteProject { .. } => true,
            Self::Item(write) => matches!(write.change, Change::Delete),
            Self::CreateProject { .. }
            | Self::RenameProject { .. }
            | Self::RenameItem { .. }
            | Self::Label(_)
            | Self::Protect { .. } => false,
        }
    }

    /// The author of the write, whatever it writes.
    pub fn author_mut(&mut self) -> &mut Author {
        match self {
            Self::CreateProject { author, .. }
            | Self::RenameProject { author, .. }
            | Self::DeleteProject { author, .. }
            | Self::RenameItem { author, .. }
            | Self::Protect { author, .. } => author,
            Self::Item(write) => &mut write.author,
            Self::Label(write) => &mut write.author,
        }
    }

    /// The same write, made by a person whom the server knows.
    #[must_use]
    pub fn with_person(mut self, person: &str) -> Self {
        let author = self.author_mut();
        *author = author.clone().with_person(person);
        self
    }
}

/// A new version of a prompt or a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemWrite {
    /// Where.
    pub project: StoreName,
    /// What.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// The change.
    pub change: Change,
    /// The version that the writer has read; the write is refused if there is a newer one.
    pub expected: Option<u64>,
    /// The author of the write.
    pub author: Author,
}

impl ItemWrite {
    /// Bytes of its new content.
    pub fn content_len(&self) -> usize {
        let content = match &self.change {
            Change::Create(draft) => Some(&draft.content),
            Change::Update(patch) => patch.content.as_ref(),
            Change::Delete | Change::Restore { .. } => None,
        };
        content.map_or(0, |content| match content {
            GivenContent::Text(text) => text.len(),
            GivenContent::Bytes(bytes) => bytes.len(),
        })
    }
}

/// A label that is set, moved or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelWrite {
    /// Where.
    pub project: StoreName,
    /// Of what.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// The label.
    pub label: LabelName,
    /// What becomes of it.
    pub change: LabelChange,
    /// True if the author may move and remove protected labels.
    pub is_admin: bool,
    /// The author of the write.
    pub author: Author,
}

/// What becomes of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelChange {
    /// It names a version, and no longer the one that it named before.
    Set {
        /// Which one; `None` is the last.
        version: Option<u64>,
    },
    /// It names nothing any more.
    Remove,
}

/// A change of a prompt or resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Creates it.
    Create(ItemDraft),
    /// Changes parts of it.
    Update(Patch),
    /// Deletes it; its versions stay.
    Delete,
    /// Restores an earlier version.
    Restore {
        /// Which one; `None` brings back what was deleted.
        version: Option<u64>,
    },
}

/// A prompt or resource to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemDraft {
    /// Its content.
    pub content: GivenContent,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type; `text/plain` if none is given.
    pub mime: Option<Box<str>>,
}

/// What changes; the rest stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Its new content.
    pub content: Option<GivenContent>,
    /// What it is for; an empty text removes the description.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
}

/// A write that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The number of the last version, or of the one that a label names or named; 0 for a project.
    pub version: u64,
    /// How the last version was made; `None` for a project and for a label.
    pub operation: Option<Operation>,
    /// True if anything was written: nothing is if nothing would differ.
    pub is_new: bool,
    /// When the last version was made.
    pub at: Timestamp,
}
