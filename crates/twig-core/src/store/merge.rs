//! Merges one item of an exported folder into a project: three-way, by digest.
//!
//! The folder says what each file was when it was exported; the versions of the project say what the
//! project was then, and what it is now.

use super::folder::ExportedItem;
use super::given::mime_or_plain;
use super::name::ItemKind;
use super::version::{Digest, Operation, Version};
use super::write::Patch;

/// What an item of a folder means for the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// Nothing differs.
    Same,
    /// The project never had it.
    Create,
    /// Only the folder changed these parts.
    Update {
        /// Its content.
        content: bool,
        /// Its description, URI or type.
        fields: bool,
    },
    /// Only the project changed it, or deleted it.
    Keep,
    /// Both changed it, or it is not known who did.
    Conflict(MergeConflict),
}

/// Why a change of the folder does not fit the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeConflict {
    /// Both changed it.
    BothChanged,
    /// The project deleted it, and the folder changed it.
    Deleted,
    /// The folder does not say what it was exported from, or that was never in the project.
    UnknownBase,
}

impl MergeConflict {
    /// The word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BothChanged => "both-changed",
            Self::Deleted => "deleted",
            Self::UnknownBase => "unknown-base",
        }
    }

    /// The same in a sentence that starts with the item.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::BothChanged => "changed in the folder and in the project",
            Self::Deleted => "changed in the folder, deleted in the project",
            Self::UnknownBase => "differs, and it was not exported from this project",
        }
    }
}

/// Who changed a part since the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangedBy {
    Nobody,
    Folder,
    Project,
    Unclear(MergeConflict),
}

/// Decides about an item whose file has this digest now. `versions` are all versions of that item in
/// the project, oldest first.
pub fn merge(entry: &ExportedItem, now: &Digest, versions: &[Version]) -> MergeStep {
    let Some(head) = versions.last() else {
        return MergeStep::Create;
    };
    let is_base = |version: &&Version| Some(version.content.digest) == entry.sha256;
    let bases: Vec<&Version> = versions.iter().filter(is_base).collect();
    if head.operation == Operation::Delete {
        let is_untouched = entry.sha256 == Some(*now) && !bases.is_empty();
        return if is_untouched {
            MergeStep::Keep
        } else {
            MergeStep::Conflict(MergeConflict::Deleted)
        };
    }
    let content = content_changed(entry, now, head, &bases);
    let fields = fields_changed(entry, head, &bases);
    match (content, fields) {
        (ChangedBy::Unclear(why), _) | (_, ChangedBy::Unclear(why)) => MergeStep::Conflict(why),
        (ChangedBy::Nobody, ChangedBy::Nobody) => MergeStep::Same,
        (content, fields) if content == ChangedBy::Folder || fields == ChangedBy::Folder => {
            MergeStep::Update {
                content: content == ChangedBy::Folder,
                fields: fields == ChangedBy::Folder,
            }
        }
        _ => MergeStep::Keep,
    }
}

/// The change that gives a project these parts of a folder's item.
pub fn folder_patch(entry: &ExportedItem, content: Option<Vec<u8>>, fields: bool) -> Patch {
    let mut patch = Patch {
        content: content.map(super::GivenContent::Bytes),
        ..Patch::default()
    };
    if fields {
        patch.description = Some(entry.description.clone().unwrap_or_default());
        if entry.kind == ItemKind::Resource {
            patch.uri.clone_from(&entry.uri);
            patch.mime = Some(mime_or_plain(entry.mime.as_deref()).into());
        }
    }
    patch
}

fn content_changed(
    entry: &ExportedItem,
    now: &Digest,
    head: &Version,
    bases: &[&Version],
) -> ChangedBy {
    let current = head.content.digest;
    if *now == current {
        return ChangedBy::Nobody;
    }
    match entry.sha256 {
        Some(base) if !bases.is_empty() => {
            if *now == base {
                ChangedBy::Project
            } else if current == base {
                ChangedBy::Folder
            } else {
                ChangedBy::Unclear(MergeConflict::BothChanged)
            }
        }
        _ => ChangedBy::Unclear(MergeConflict::UnknownBase),
    }
}

/// Several versions may have the content that was exported, with different fields.
fn fields_changed(entry: &ExportedItem, head: &Version, bases: &[&Version]) -> ChangedBy {
    let own = fields_of_entry(entry);
    let current = fields_of_version(head);
    if own == current {
        ChangedBy::Nobody
    } else if bases.is_empty() {
        ChangedBy::Unclear(MergeConflict::UnknownBase)
    } else if bases.iter().any(|base| fields_of_version(base) == own) {
        ChangedBy::Project
    } else if bases.iter().all(|base| fields_of_version(base) == current) {
        ChangedBy::Folder
    } else {
        ChangedBy::Unclear(MergeConflict::BothChanged)
    }
}

type Fields<'v> = (&'v str, Option<&'v str>, Option<&'v str>);

fn fields_of_entry(entry: &ExportedItem) -> Fields<'_> {
    let mime = match entry.kind {
        ItemKind::Prompt => None,
        ItemKind::Resource => Some(mime_or_plain(entry.mime.as_deref())),
    };
    let description = entry.description.as_deref().unwrap_or_default();
    (description, entry.uri.as_deref(), mime)
}

fn fields_of_version(version: &Version) -> Fields<'_> {
    let description = version.description.as_deref().unwrap_or_default();
    (description, version.uri.as_deref(), version.mime.as_deref())
}

#[cfg(test)]
mod tests {
    use super::super::name::{Noun, StoreName};
    use super::super::version::{ContentInfo, Timestamp};
    use super::*;
    use crate::name::RelativePath;

    fn version(number: u64, content: u8, description: &str) -> Version {
        Version {
            number,
            operation: Operation::Update,
            description: (!description.is_empty()).then(|| description.into()),
            uri: None,
            mime: None,
            content: ContentInfo {
                digest: [content; 32],
                size: 1,
                is_text: true,
            },
            at: Timestamp(0),
            author: "twig".into(),
        }
    }

    /// A file that was exported with one content and has another now.
    fn step(base: Option<u8>, now: u8, description: &str, versions: &[Version]) -> MergeStep {
        let entry = ExportedItem {
            kind: ItemKind::Prompt,
            name: StoreName::parse(Noun::Prompt, "a").unwrap(),
            description: Some(description.into()),
            uri: None,
            mime: None,
            file: RelativePath::parse("prompts/a.md").unwrap(),
            sha256: base.map(|base| [base; 32]),
            version: 0,
            labels: std::collections::BTreeMap::new(),
            versions: Vec::new(),
        };
        merge(&entry, &[now; 32], versions)
    }

    const CONTENT: MergeStep = MergeStep::Update {
        content: true,
        fields: false,
    };
    const LABELS: MergeStep = MergeStep::Update {
        content: false,
        fields: true,
    };

    #[test]
    fn who_changed_the_content_alone_wins() {
        let one = [version(1, 1, "")];
        let two = [version(1, 1, ""), version(2, 2, "")];
        assert_eq!(step(Some(1), 1, "", &one), MergeStep::Same);
        assert_eq!(step(Some(1), 3, "", &one), CONTENT);
        assert_eq!(step(Some(1), 1, "", &two), MergeStep::Keep);
        assert_eq!(step(Some(1), 2, "", &two), MergeStep::Same);
        let both = MergeStep::Conflict(MergeConflict::BothChanged);
        assert_eq!(step(Some(1), 3, "", &two), both);
        assert_eq!(step(Some(1), 3, "", &[]), MergeStep::Create);
    }

    #[test]
    fn without_a_base_every_difference_is_a_conflict() {
        let one = [version(1, 1, "")];
        let unknown = MergeStep::Conflict(MergeConflict::UnknownBase);
        assert_eq!(step(None, 1, "", &one), MergeStep::Same);
        assert_eq!(step(None, 2, "", &one), unknown);
        assert_eq!(step(None, 1, "new", &one), unknown);
        // Exported from another project.
        assert_eq!(step(Some(9), 9, "", &one), unknown);
        assert_eq!(step(Some(9), 8, "", &one), unknown);
    }

    #[test]
    fn fields_are_merged_beside_the_content() {
        let one = [version(1, 1, "old")];
        assert_eq!(step(Some(1), 1, "new", &one), LABELS);
        // The project changed only the description since the export.
        let described = [version(1, 1, "old"), version(2, 1, "new")];
        assert_eq!(step(Some(1), 1, "old", &described), MergeStep::Keep);
        let both = MergeStep::Conflict(MergeConflict::BothChanged);
        assert_eq!(step(Some(1), 1, "other", &described), both);
        // The project changed the content, the folder the description.
        let changed = [version(1, 1, "old"), version(2, 2, "old")];
        assert_eq!(step(Some(1), 1, "new", &changed), LABELS);
    }

    #[test]
    fn what_the_project_deleted_stays_deleted_unless_the_folder_changed_it() {
        let mut gone = [version(1, 1, ""), version(2, 1, "")];
        gone[1].operation = Operation::Delete;
        assert_eq!(step(Some(1), 1, "", &gone), MergeStep::Keep);
        let deleted = MergeStep::Conflict(MergeConflict::Deleted);
        assert_eq!(step(Some(1), 2, "", &gone), deleted);
        assert_eq!(step(None, 1, "", &gone), deleted);
    }
}
