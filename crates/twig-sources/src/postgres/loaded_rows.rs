//! The rows that a batch of writes needs, read in one round trip, and the rows that the plan makes
//! of them. Nobody else writes to these projects meanwhile: their rows are locked.

use std::collections::{BTreeMap, BTreeSet};

use twig_core::audit::{AuditEntry, ChainDigest};
use twig_core::plan::{ChangedItem, ItemRow, PlanRows, StoredProject};
use twig_core::store::{Digest, ItemKind, LabelName, Operation, StoreError, StoreName, Version};

use super::pg_fault::PgFault;
use crate::store::clock::new_id;

/// The id of a project or an item.
pub(super) type RowId = [u8; 16];

/// What was read, as the writes of the batch have left it so far.
#[derive(Debug, Default)]
pub(super) struct LoadedRows {
    pub(super) projects: BTreeMap<StoreName, StoredProject>,
    pub(super) items: BTreeMap<(RowId, ItemKind, StoreName), ItemRow>,
    pub(super) versions: BTreeMap<(RowId, u64), Version>,
    pub(super) labels: BTreeMap<RowId, BTreeMap<LabelName, u64>>,
    pub(super) label_counts: BTreeMap<RowId, u64>,
    pub(super) protected: BTreeMap<RowId, BTreeSet<LabelName>>,
    /// Who has the URIs that the batch names.
    pub(super) uris: BTreeMap<(RowId, Box<str>), (ItemKind, StoreName)>,
    pub(super) contents: BTreeSet<Digest>,
    pub(super) made: MadeRows,
}

/// Rows to be written, in the order of the writes.
#[derive(Debug, Default)]
pub(super) struct MadeRows {
    pub(super) contents: Vec<(Digest, Vec<u8>)>,
    pub(super) items: Vec<MadeItem>,
    pub(super) versions: Vec<MadeVersion>,
    pub(super) labels: Vec<(ItemRow, LabelName, Option<u64>)>,
    pub(super) protected: Vec<(RowId, LabelName, bool)>,
    pub(super) changes: Vec<MadeChange>,
    pub(super) created: Option<StoredProject>,
    pub(super) deleted: Option<RowId>,
    pub(super) renamed: Option<(RowId, StoreName)>,
    /// The projects as they are after their last change.
    pub(super) projects: BTreeMap<RowId, StoredProject>,
}

/// An item whose last version changes.
#[derive(Debug)]
pub(super) struct MadeItem {
    pub(super) is_new: bool,
    pub(super) project: RowId,
    pub(super) kind: ItemKind,
    pub(super) name: StoreName,
    pub(super) id: RowId,
    pub(super) first: u64,
    pub(super) head: u64,
    pub(super) is_deleted: bool,
    pub(super) uri: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct MadeVersion {
    pub(super) item: RowId,
    pub(super) version: Version,
    pub(super) digest: Digest,
}

#[derive(Debug)]
pub(super) struct MadeChange {
    pub(super) project: RowId,
    /// The prompts, the resources and the bytes of versions after it.
    pub(super) after: [u64; 3],
    pub(super) kind: Box<str>,
    pub(super) name: Box<str>,
    pub(super) version: u64,
    pub(super) detail: Option<Box<str>>,
    pub(super) entry: AuditEntry,
    /// `None` for a change from before the chain.
    pub(super) digest: Option<ChainDigest>,
}

impl LoadedRows {
    /// Forgets contents that a refused write has added: nothing else is written before a refusal.
    pub(super) fn forget_contents(&mut self, kept: usize) {
        for (digest, _) in self.made.contents.drain(kept..) {
            self.contents.remove(&digest);
        }
    }
}

impl PlanRows for LoadedRows {
    type Error = PgFault;

    fn damaged(&self, what: &str) -> PgFault {
        PgFault::Damaged(what.to_owned())
    }

    fn new_id(&mut self) -> RowId {
        new_id().into_bytes()
    }

    fn project(&mut self, name: &StoreName) -> Result<Option<StoredProject>, PgFault> {
        Ok(self.projects.get(name).cloned())
    }

    fn item(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Option<ItemRow>, PgFault> {
        let key = (project.id, kind, name.clone());
        Ok(self.items.get(&key).cloned())
    }

    fn head(
        &mut self,
        kind: ItemKind,
        name: &StoreName,
        item: &ItemRow,
    ) -> Result<Version, PgFault> {
        let head = self.versions.get(&(item.id, item.head)).cloned();
        head.filter(|head| (head.operation == Operation::Delete) == item.is_deleted)
            .ok_or_else(|| lost(kind, name))
    }

    fn version(
        &mut self,
        _kind: ItemKind,
        _name: &StoreName,
        item: &ItemRow,
        number: u64,
    ) -> Result<Option<Version>, PgFault> {
        Ok(self.versions.get(&(item.id, number)).cloned())
    }

    fn labels(&mut self, item: &ItemRow) -> Result<Vec<(LabelName, u64)>, PgFault> {
        let labels = self.labels.get(&item.id).into_iter().flatten();
        Ok(labels
            .map(|(label, number)| (label.clone(), *number))
            .collect())
    }

    fn count_labels(&mut self, project: &StoredProject) -> Result<u64, PgFault> {
        Ok(self
            .label_counts
            .get(&project.id)
            .copied()
            .unwrap_or_default())
    }

    fn protected_labels(&mut self, project: &StoredProject) -> Result<Vec<LabelName>, PgFault> {
        let labels = self.protected.get(&project.id).into_iter().flatten();
        Ok(labels.cloned().collect())
    }

    fn uri_owner(
        &mut self,
        project: &StoredProject,
        uri: &str,
        (kind, name): (ItemKind, &StoreName),
    ) -> Result<Option<StoreName>, PgFault> {
        let owner = self.uris.get(&(project.id, uri.into()));
        let other = owner.filter(|(of, by)| (*of, by) != (kind, name));
        Ok(other.map(|(_, by)| by.clone()))
    }

    /// The writer fills these in: no other round trip is made for them here.
    fn near(
        &mut self,
        _project: &StoredProject,
        _kind: ItemKind,
        _wanted: &StoreName,
    ) -> Result<Vec<Box<str>>, PgFault> {
        Ok(Vec::new())
    }

    fn add_content(&mut self, digest: &Digest, bytes: Vec<u8>) -> Result<bool, PgFault> {
        let is_new = self.contents.insert(*digest);
        if is_new {
            self.made.contents.push((*digest, bytes));
        }
        Ok(is_new)
    }

    fn add_version(
        &mut self,
        project: &StoredProject,
        kind: ItemKind,
        name: &StoreName,
        item: Option<&ItemRow>,
        version: &Version,
    ) -> Result<(), PgFault> {
        let id = match item {
            Some(item) => item.id,
            None => self.new_id(),
        };
        let is_deleted = version.operation == Operation::Delete;
        self.uris.retain(|(of, _), (owner, by)| {
            (*of, *owner, &*by) != (project.id, kind, &name.clone())
        });
        if let (false, Some(uri)) = (is_deleted, &version.uri) {
            self.uris
                .insert((project.id, uri.clone()), (kind, name.clone()));
        }
        let row = ItemRow {
            project: project.id,
            id,
            head: version.number,
            is_deleted,
            first: item.map_or(1, |item| item.first),
        };
        self.items.insert((project.id, kind, name.clone()), row);
        self.versions.insert((id, version.number), version.clone());
        // Each row is written once, as it is after the whole batch.
        let before = self.made.items.iter().position(|made| made.id == id);
        let before = before.map(|at| self.made.items.swap_remove(at));
        self.made.items.push(MadeItem {
            is_new: before.map_or(item.is_none(), |before| before.is_new),
            project: project.id,
            kind,
            name: name.clone(),
            id,
            first: 1,
            head: version.number,
            is_deleted,
            uri: version.uri.clone(),
        });
        self.made.versions.push(MadeVersion {
            item: id,
            version: version.clone(),
            digest: version.digest(kind, name),
        });
        Ok(())
    }

    fn rename_item(
        &mut self,
        _project: &StoredProject,
        kind: ItemKind,
        (_, to): (&StoreName, &StoreName),
        item: &ItemRow,
    ) -> Result<(), PgFault> {
        let versions = self.versions.range((item.id, 0)..=(item.id, u64::MAX));
        for (_, version) in versions {
            self.made.versions.push(MadeVersion {
                item: item.id,
                version: version.clone(),
                digest: version.digest(kind, to),
            });
        }
        self.made.renamed = Some((item.id, to.clone()));
        Ok(())
    }

    fn set_label(
        &mut self,
        item: &ItemRow,
        label: &LabelName,
        version: Option<u64>,
    ) -> Result<(), PgFault> {
        let labels = self.labels.entry(item.id).or_default();
        let count = self.label_counts.entry(item.project).or_default();
        match version {
            Some(version) => {
                *count += u64::from(labels.insert(label.clone(), version).is_none());
            }
            None => *count -= u64::from(labels.remove(label).is_some()).min(*count),
        }
        let made = (item.clone(), label.clone(), version);
        self.made.labels.push(made);
        Ok(())
    }

    fn set_protected(
        &mut self,
        project: &StoredProject,
        label: &LabelName,
        is_protected: bool,
    ) -> Result<(), PgFault> {
        let labels = self.protected.entry(project.id).or_default();
        if is_protected {
            labels.insert(label.clone());
        } else {
            labels.remove(label);
        }
        let made = (project.id, label.clone(), is_protected);
        self.made.protected.push(made);
        Ok(())
    }

    fn add_project(&mut self, project: &StoredProject) -> Result<(), PgFault> {
        self.made.created = Some(project.clone());
        Ok(())
    }

    fn rename_project(
        &mut self,
        _project: &StoredProject,
        _old: &StoreName,
    ) -> Result<(), PgFault> {
        Ok(())
    }

    fn delete_project(&mut self, project: &StoredProject) -> Result<(), PgFault> {
        self.made.deleted = Some(project.id);
        Ok(())
    }

    fn add_change(
        &mut self,
        project: &StoredProject,
        changed: &ChangedItem<'_>,
        entry: &AuditEntry,
        digest: ChainDigest,
    ) -> Result<(), PgFault> {
        self.projects.insert(project.name.clone(), project.clone());
        self.made.projects.insert(project.id, project.clone());
        self.made.changes.push(MadeChange {
            project: project.id,
            after: [project.prompts, project.resources, project.history],
            kind: changed.kind.into(),
            name: changed.name.into(),
            version: changed.version,
            detail: changed.detail.map(Box::from),
            entry: entry.clone(),
            digest: Some(digest),
        });
        Ok(())
    }
}

/// The error for an item whose rows contradict each other.
pub(super) fn lost(kind: ItemKind, name: &StoreName) -> PgFault {
    PgFault::Damaged(format!("{} '{name}' has lost a version", kind.as_str()))
}

/// The row of an item says something else than its last version.
pub(super) fn outdated(kind: ItemKind, name: &StoreName) -> PgFault {
    PgFault::Damaged(format!("{} '{name}' is out of date", kind.as_str()))
}

/// A refusal with the similar names that the plan could not know.
pub(super) fn with_near(mut error: StoreError, names: &[Box<str>]) -> StoreError {
    if let StoreError::Missing { name, near, .. } = &mut error {
        let found = twig_core::suggest::near(name.as_str(), names.iter().map(|name| &**name));
        *near = found.into_iter().map(Box::from).collect();
    }
    error
}
