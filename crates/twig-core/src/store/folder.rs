//! A project as a folder of plain files: the content of its `project.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::GivenContent;
use super::error::StoreError;
use super::file_name::file_names;
use super::label::LabelName;
use super::name::{ItemKind, Noun, StoreName};
use super::version::{Digest, Item, Operation, Project, Version, hex, read_hex};
use super::write::ItemDraft;
use crate::depth;
use crate::name::RelativePath;
use crate::problem::shorten;

/// The format without labels, and the one with them. Both are read.
const FORMAT: u64 = 1;
const WITH_LABELS: u64 = 2;

/// An exported project, without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedProject {
    /// The project's name.
    pub name: StoreName,
    /// Prompts first, then resources, each sorted by name.
    pub entries: Vec<ExportedItem>,
}

/// One prompt or resource of an exported project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedItem {
    /// Which of the two.
    pub kind: ItemKind,
    /// Its name.
    pub name: StoreName,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
    /// The file with its content.
    pub file: RelativePath,
    /// The digest of the content when it was exported, if that is known.
    pub sha256: Option<Digest>,
    /// The number of the version that was exported; 0 if there are no labels.
    pub version: u64,
    /// Its labels, and the numbers of the versions that they name.
    pub labels: BTreeMap<LabelName, u64>,
    /// The other versions that have a label, oldest first.
    pub versions: Vec<ExportedVersion>,
}

/// An earlier version of an exported item, which has a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedVersion {
    /// Its number.
    pub number: u64,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
    /// The file with its content.
    pub file: RelativePath,
    /// The digest of the content when it was exported, if that is known.
    pub sha256: Option<Digest>,
}

/// Why a `project.json` is invalid; the message follows its path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Not JSON, or not of the right shape.
    #[error("is not a project's: {0}")]
    Shape(String),
    /// Another format.
    #[error("has format {0}; this version of Twig reads formats {FORMAT} and {WITH_LABELS}")]
    Format(u64),
    /// An invalid name.
    #[error("has a name that cannot be: {0}")]
    Name(StoreError),
    /// An invalid path.
    #[error("has a path that does not point to a file inside the folder: `{}`", shorten(.0, 200))]
    Path(Box<str>),
    /// A path to something that is not a file of a project.
    #[error("names a file that is not taken: `{}`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot", shorten(.0, 200))]
    NotTaken(Box<str>),
    /// A label of a version that is not there.
    #[error(
        "names version {version} of `{name}` with label `{label}`, but does not have that version"
    )]
    NoVersion {
        /// The item's name.
        name: StoreName,
        /// The label.
        label: LabelName,
        /// The version.
        version: u64,
    },
    /// A duplicate name or URI.
    #[error("names {what} `{}` twice", shorten(.name, 200))]
    Twice {
        /// What it belongs to.
        what: &'static str,
        /// The name or URI.
        name: Box<str>,
    },
}

impl ExportedProject {
    /// A project's folder; the same project always gives the same.
    pub fn of(project: &Project) -> Result<Self, FolderError> {
        let files = file_names(&project.items);
        let entries = project.items.iter().zip(&files).map(|(item, file)| {
            let head = &item.head;
            Ok(ExportedItem {
                kind: item.kind,
                name: item.name.clone(),
                description: head.description.clone(),
                uri: head.uri.clone(),
                mime: head.mime.clone(),
                file: path(file)?,
                sha256: Some(head.content.digest),
                version: if item.labels.is_empty() {
                    0
                } else {
                    head.number
                },
                labels: item
                    .labels
                    .iter()
                    .map(|it| (it.label.clone(), it.version.number))
                    .collect(),
                versions: labelled_versions(item, file)?,
            })
        });
        Ok(Self {
            name: project.name.clone(),
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// Reads a `project.json`.
    pub fn parse(json: &str) -> Result<Self, FolderError> {
        let shape = |error: serde_json::Error| FolderError::Shape(error.to_string());
        depth::json(json).map_err(|error| FolderError::Shape(error.to_string()))?;
        // A later format may have any other shape.
        let FolderFormat { format } = serde_json::from_str(json).map_err(shape)?;
        if ![FORMAT, WITH_LABELS].contains(&format) {
            return Err(FolderError::Format(format));
        }
        let written: WrittenItem<'_> = serde_json::from_str(json).map_err(shape)?;
        let mut entries = Vec::with_capacity(written.prompts.len() + written.resources.len());
        for prompt in written.prompts {
            entries.push(prompt.read()?);
        }
        for resource in written.resources {
            entries.push(resource.read()?);
        }
        entries.sort_by(|one, two| (one.kind, &one.name).cmp(&(two.kind, &two.name)));
        check_twins(&entries)?;
        check_labels(&entries)?;
        let name = StoreName::parse(Noun::Project, &written.name).map_err(FolderError::Name)?;
        Ok(Self { name, entries })
    }

    /// The `project.json`; the same folder always gives the same.
    pub fn to_json(&self) -> String {
        let of = |kind| self.entries.iter().filter(move |entry| entry.kind == kind);
        let has_labels = self.entries.iter().any(|entry| !entry.labels.is_empty());
        let written = WrittenItem {
            format: if has_labels { WITH_LABELS } else { FORMAT },
            name: self.name.as_str().into(),
            prompts: of(ItemKind::Prompt).map(WrittenPrompt::of).collect(),
            resources: of(ItemKind::Resource).map(WrittenResource::of).collect(),
        };
        // Strings and numbers are always JSON.
        let mut json = serde_json::to_string_pretty(&written).unwrap_or_default();
        json.push('\n');
        json
    }
}

impl ExportedProject {
    /// Every file of an item, and the digest of its content when it was exported.
    pub fn files(&self) -> impl Iterator<Item = (&RelativePath, Option<Digest>)> {
        self.entries.iter().flat_map(|entry| {
            let versions = entry.versions.iter().map(|it| (&it.file, it.sha256));
            versions.chain([(&entry.file, entry.sha256)])
        })
    }
}

impl ExportedItem {
    /// An earlier version as an item of its own, with the present URI: the earlier one may belong to
    /// another resource by now.
    #[must_use]
    pub fn at(&self, version: &ExportedVersion) -> Self {
        Self {
            description: version.description.clone(),
            mime: version.mime.clone(),
            file: version.file.clone(),
            sha256: version.sha256,
            versions: Vec::new(),
            ..self.clone()
        }
    }

    /// The version of a project's item that has this content, or the newest of several.
    pub fn find_in<'v>(&self, content: &Digest, versions: &'v [Version]) -> Option<&'v Version> {
        let is_it = |version: &&Version| {
            version.operation != Operation::Delete
                && version.content.digest == *content
                && version.description.as_deref().unwrap_or_default()
                    == self.description.as_deref().unwrap_or_default()
        };
        versions.iter().rev().find(is_it)
    }

    /// The draft of an item, with the content of its file.
    pub fn draft(&self, content: Vec<u8>) -> ItemDraft {
        ItemDraft {
            content: GivenContent::Bytes(content),
            description: self.description.clone(),
            uri: self.uri.clone(),
            mime: self.mime.clone(),
        }
    }
}

/// The versions of an item that have a label, besides its last one. `file` is the item's own.
fn labelled_versions(item: &Item, file: &str) -> Result<Vec<ExportedVersion>, FolderError> {
    let mut versions = Vec::new();
    for labelled in &item.labels {
        let version = &labelled.version;
        if version.number == item.head.number {
            continue;
        }
        // No name has an `@`, so this is no other item's file.
        let (stem, end) = match file.rsplit_once('.') {
            Some((stem, end)) if !end.contains('/') => (stem, format!(".{end}")),
            _ => (file, String::new()),
        };
        versions.push(ExportedVersion {
            number: version.number,
            description: version.description.clone(),
            mime: version.mime.clone(),
            file: path(&format!("{stem}@{}{end}", version.number))?,
            sha256: Some(version.content.digest),
        });
    }
    versions.sort_by_key(|version| version.number);
    versions.dedup_by_key(|version| version.number);
    Ok(versions)
}

fn check_labels(entries: &[ExportedItem]) -> Result<(), FolderError> {
    for entry in entries {
        let has = |number: u64| {
            number == entry.version || entry.versions.iter().any(|it| it.number == number)
        };
        if let Some((label, version)) = entry.labels.iter().find(|(_, number)| !has(**number)) {
            return Err(FolderError::NoVersion {
                name: entry.name.clone(),
                label: label.clone(),
                version: *version,
            });
        }
    }
    Ok(())
}

/// A file of a project. An imported folder must not make a prompt of files that happen to be there,
/// such as the keys of the person who imports it.
fn path(text: &str) -> Result<RelativePath, FolderError> {
    let path = RelativePath::parse(text).map_err(|_| FolderError::Path(text.into()))?;
    let mut parts = path.as_str().split('/');
    let is_beneath = matches!(parts.next(), Some("prompts" | "resources"));
    let is_there = parts.clone().next().is_some();
    if is_beneath && is_there && parts.all(|part| !part.starts_with('.')) {
        return Ok(path);
    }
    Err(FolderError::NotTaken(text.into()))
}

fn check_twins(entries: &[ExportedItem]) -> Result<(), FolderError> {
    let twice = |what, name: &str| {
        let name = name.into();
        Err(FolderError::Twice { what, name })
    };
    for pair in entries.windows(2) {
        if (pair[0].kind, &pair[0].name) == (pair[1].kind, &pair[1].name) {
            return twice(pair[0].kind.as_str(), pair[0].name.as_str());
        }
    }
    let mut uris = BTreeSet::new();
    match entries
        .iter()
        .filter_map(|entry| entry.uri.as_deref())
        .find(|uri| !uris.insert(*uri))
    {
        Some(uri) => twice("URI", uri),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `format`")]
struct FolderFormat {
    format: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenItem<'a> {
    format: u64,
    name: Text<'a>,
    prompts: Vec<WrittenPrompt<'a>>,
    resources: Vec<WrittenResource<'a>>,
}

type Text<'a> = std::borrow::Cow<'a, str>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrompt<'a> {
    name: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Text<'a>>,
    file: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    version: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<Text<'a>, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    versions: Vec<WrittenVersion<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenResource<'a> {
    name: Text<'a>,
    uri: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Text<'a>>,
    file: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    version: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<Text<'a>, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    versions: Vec<WrittenVersion<'a>>,
}

/// A version that has a label.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenVersion<'a> {
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Text<'a>>,
    file: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Text<'a>>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn written_labels(entry: &ExportedItem) -> BTreeMap<Text<'_>, u64> {
    let labels = entry.labels.iter();
    labels
        .map(|(label, number)| (label.as_str().into(), *number))
        .collect()
}

fn read_labels(labels: &BTreeMap<Text<'_>, u64>) -> Result<BTreeMap<LabelName, u64>, FolderError> {
    let labels = labels.iter().map(|(label, number)| {
        let label = LabelName::parse(label).map_err(FolderError::Name)?;
        Ok((label, *number))
    });
    labels.collect()
}

impl<'a> WrittenVersion<'a> {
    fn of(entry: &'a ExportedItem) -> Vec<Self> {
        let versions = entry.versions.iter().map(|version| Self {
            version: version.number,
            mime_type: version.mime.as_deref().map(Into::into),
            description: version.description.as_deref().map(Into::into),
            file: version.file.as_str().into(),
            sha256: version.sha256.map(|digest| hex(&digest).into()),
        });
        versions.collect()
    }

    fn read(versions: Vec<Self>) -> Result<Vec<ExportedVersion>, FolderError> {
        let versions = versions.into_iter().map(|version| {
            Ok(ExportedVersion {
                number: version.version,
                description: version.description.map(Into::into),
                mime: version.mime_type.map(Into::into),
                file: path(&version.file)?,
                sha256: version.sha256.as_deref().and_then(read_hex),
            })
        });
        let mut versions: Vec<ExportedVersion> = versions.collect::<Result<_, _>>()?;
        versions.sort_by_key(|version| version.number);
        Ok(versions)
    }
}

impl<'a> WrittenPrompt<'a> {
    fn of(entry: &'a ExportedItem) -> Self {
        Self {
            name: entry.name.as_str().into(),
            description: entry.description.as_deref().map(Into::into),
            file: entry.file.as_str().into(),
            sha256: entry.sha256.map(|digest| hex(&digest).into()),
            version: entry.version,
            labels: written_labels(entry),
            versions: WrittenVersion::of(entry),
        }
    }

    fn read(self) -> Result<ExportedItem, FolderError> {
        Ok(ExportedItem {
            kind: ItemKind::Prompt,
            name: StoreName::parse(Noun::Prompt, &self.name).map_err(FolderError::Name)?,
            description: self.description.map(Into::into),
            uri: None,
            mime: None,
            file: path(&self.file)?,
            sha256: self.sha256.as_deref().and_then(read_hex),
            version: self.version,
            labels: read_labels(&self.labels)?,
            versions: WrittenVersion::read(self.versions)?,
        })
    }
}

impl<'a> WrittenResource<'a> {
    fn of(entry: &'a ExportedItem) -> Self {
        Self {
            name: entry.name.as_str().into(),
            uri: entry.uri.as_deref().unwrap_or_default().into(),
            mime_type: entry.mime.as_deref().map(Into::into),
            description: entry.description.as_deref().map(Into::into),
            file: entry.file.as_str().into(),
            sha256: entry.sha256.map(|digest| hex(&digest).into()),
            version: entry.version,
            labels: written_labels(entry),
            versions: WrittenVersion::of(entry),
        }
    }

    fn read(self) -> Result<ExportedItem, FolderError> {
        Ok(ExportedItem {
            kind: ItemKind::Resource,
            name: StoreName::parse(Noun::Resource, &self.name).map_err(FolderError::Name)?,
            description: self.description.map(Into::into),
            uri: Some(self.uri.into()),
            mime: self.mime_type.map(Into::into),
            file: path(&self.file)?,
            sha256: self.sha256.as_deref().and_then(read_hex),
            version: self.version,
            labels: read_labels(&self.labels)?,
            versions: WrittenVersion::read(self.versions)?,
        })
    }
}
