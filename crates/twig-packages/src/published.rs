//! What a hub publishes beside an index of skills: plugins of Claude Code with their marketplace, and
//! the catalog of everything that a host offers.
//!
//! The texts are pure functions of what is published: the same skills give the same bytes.

mod ai_catalog;
mod marketplace;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub use self::ai_catalog::{AiCatalog, PublishedArtifact, ai_catalog};
pub use self::marketplace::{MarketplacePlugin, PluginMarketplace, marketplace, plugin_files};
use crate::archive::UnpackedFile;
use crate::skills_index::IndexedKind;
use crate::tree::FileMode;

/// The longest description of a skill, in characters.
const LONGEST_DESCRIPTION: usize = 1_024;

/// A skill as a hub publishes it: under a name of its own, with all its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedSkill {
    /// Its name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// Its files: `SKILL.md` first.
    pub files: Vec<UnpackedFile>,
}

impl PublishedSkill {
    /// The path of its archive, from the folder of the index.
    pub fn archive_path(name: &str) -> String {
        format!("{name}.zip")
    }

    /// The path of one of its files, from the folder of the index.
    pub fn file_path(name: &str, path: &str) -> String {
        format!("{name}/{path}")
    }

    /// A file that is not executable.
    pub fn plain_file(path: &str, bytes: Vec<u8>) -> UnpackedFile {
        UnpackedFile {
            path: path.to_owned(),
            mode: FileMode::Plain,
            bytes,
        }
    }
}

/// What installers fetch of a skill with this many files: its `SKILL.md`, or an archive.
pub fn published_kind(files: usize) -> IndexedKind {
    if files > 1 {
        IndexedKind::Archive
    } else {
        IndexedKind::SkillMd
    }
}

/// A description as installers accept it: no longer than 1,024 characters, on one line.
pub fn published_description(description: &str) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST_DESCRIPTION) {
        None => line,
        Some(_) => line
            .chars()
            .take(LONGEST_DESCRIPTION - 1)
            .chain(['…'])
            .collect(),
    }
}

/// SHA-256 of what is published.
pub fn published_digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// One digest for several texts, which no other list of texts has.
pub fn digest_of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// A value as one line of JSON.
fn line(value: &impl Serialize) -> String {
    // Texts and lists of them always become JSON.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}
