//! Everything of a project: what it is, every version that is kept, labels, and the log of changes.

use twig_core::plan::{ItemRow, RecordedChange, StoredProject};
use twig_core::store::{Digest, ItemKind, LabelName, StoreError, StoreName, Version};

/// A project to be written to another store as it is.
#[derive(Debug)]
pub(crate) struct CopiedProject {
    pub(crate) id: [u8; 16],
    /// `None` if it was deleted: then only its changes are left.
    pub(crate) project: Option<StoredProject>,
    pub(crate) items: Vec<CopiedItem>,
    pub(crate) protected: Vec<LabelName>,
    pub(crate) changes: Vec<RecordedChange>,
}

/// A prompt or resource with its versions, oldest first.
#[derive(Debug)]
pub(crate) struct CopiedItem {
    pub(crate) kind: ItemKind,
    pub(crate) name: StoreName,
    pub(crate) row: ItemRow,
    pub(crate) versions: Vec<Version>,
    pub(crate) labels: Vec<(LabelName, u64)>,
}

impl CopiedItem {
    /// The URI that it has now.
    pub(crate) fn uri(&self) -> Option<&str> {
        self.versions.last()?.uri.as_deref()
    }
}

/// The contents that projects use, each once.
pub(crate) fn contents(projects: &[CopiedProject]) -> Vec<Digest> {
    let items = projects.iter().flat_map(|project| &project.items);
    let versions = items.flat_map(|item| &item.versions);
    let mut digests: Vec<Digest> = versions.map(|version| version.content.digest).collect();
    digests.sort_unstable();
    digests.dedup();
    digests
}

/// The refusal of a workspace that has, or had, projects of its own.
pub(crate) fn not_empty(workspace: &StoreName) -> StoreError {
    StoreError::Unavailable(format!(
        "Workspace '{workspace}' of the place to copy to is not empty, and nothing was copied: name \
         another one with `--name NAME`"
    ))
}

/// How many prompts, resources and bytes of versions a project had after a change.
pub(crate) fn counts_after(change: &RecordedChange) -> [u64; 3] {
    let mut words = change.entry.what.rsplit(' ');
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let (history, resources, prompts) = (number(), number(), number());
    [prompts, resources, history].map(Option::unwrap_or_default)
}
