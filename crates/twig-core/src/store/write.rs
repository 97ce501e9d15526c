//! What can be asked of a store.

use super::author::Author;
use super::given::GivenContent;
use super::name::{ItemKind, StoreName};
use super::version::{Operation, Timestamp};

/// Something to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A new project.
    CreateProject {
        /// Its name.
        name: StoreName,
    },
    /// Another name for a project.
    RenameProject {
        /// The old one.
        name: StoreName,
        /// The new one.
        to: StoreName,
    },
    /// The end of a project and of all that it holds, versions too.
    DeleteProject {
        /// Its name.
        name: StoreName,
    },
    /// A new version of a prompt or a resource.
    Item(Box<ItemWrite>),
}

impl Write {
    /// True if something is taken away, which has to work when there is no room for anything else.
    pub fn makes_room(&self) -> bool {
        match self {
            Self::DeleteProject { .. } => true,
            Self::Item(write) => matches!(write.change, Change::Delete),
            Self::CreateProject { .. } | Self::RenameProject { .. } => false,
        }
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
    /// What becomes of it.
    pub change: Change,
    /// The version that the writer has read; any other one is refused.
    pub expected: Option<u64>,
    /// Whose write it is.
    pub author: Author,
}

/// What becomes of a prompt or resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is made.
    Create(ItemDraft),
    /// Some of it changes.
    Update(Patch),
    /// It goes away; its versions stay.
    Delete,
    /// An earlier version comes back.
    Restore {
        /// Which one.
        version: u64,
    },
}

/// A prompt or resource to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemDraft {
    /// What it holds.
    pub content: GivenContent,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type; `text/plain` where none is given.
    pub mime: Option<Box<str>>,
}

/// What changes; the rest stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// What it holds from now on.
    pub content: Option<GivenContent>,
    /// What it is for; empty takes the description away.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
}

/// A write that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The version that is the last one now; 0 for a project.
    pub version: u64,
    /// How the last version came to be; `None` for a project.
    pub operation: Option<Operation>,
    /// Whether there is a new version: none is made where nothing would differ.
    pub is_new: bool,
    /// When the last version was made.
    pub at: Timestamp,
}
