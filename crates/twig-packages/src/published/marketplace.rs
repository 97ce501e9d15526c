//! A marketplace of Claude Code: `marketplace.json`, and the files of its plugins.
//!
//! A plugin is an archive with `.claude-plugin/plugin.json` and its skills. Neither file names a
//! version: then Claude Code takes the digest of the archive as the version, and every change is an
//! update.

use serde::Serialize;

use super::PublishedSkill;
use crate::archive::UnpackedFile;
use crate::tree::hex;

/// What a marketplace says of itself, and its plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginMarketplace {
    /// Its name in commands: lower-case letters, digits and hyphens.
    pub name: String,
    /// Who runs it.
    pub owner: String,
    /// What it is for.
    pub description: Option<String>,
    /// The plugins, in order.
    pub plugins: Vec<MarketplacePlugin>,
}

/// A plugin of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarketplacePlugin {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The absolute address of its archive.
    pub url: String,
    /// SHA-256 of the archive.
    pub digest: [u8; 32],
}

#[derive(Serialize)]
struct WrittenMarketplace<'m> {
    name: &'m str,
    owner: WrittenOwner<'m>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'m str>,
    plugins: Vec<WrittenPlugin<'m>>,
}

#[derive(Serialize)]
struct WrittenOwner<'m> {
    name: &'m str,
}

#[derive(Serialize)]
struct WrittenPlugin<'m> {
    name: &'m str,
    description: &'m str,
    source: ArchiveSource<'m>,
}

#[derive(Serialize)]
struct ArchiveSource<'m> {
    source: &'static str,
    url: &'m str,
    sha256: String,
}

#[derive(Serialize)]
struct PluginManifest<'m> {
    name: &'m str,
    description: &'m str,
}

/// The text of `marketplace.json`.
pub fn marketplace(marketplace: &PluginMarketplace) -> String {
    let plugins = marketplace.plugins.iter().map(|plugin| WrittenPlugin {
        name: &plugin.name,
        description: &plugin.description,
        source: ArchiveSource {
            source: "archive",
            url: &plugin.url,
            sha256: hex(&plugin.digest),
        },
    });
    let written = WrittenMarketplace {
        name: &marketplace.name,
        owner: WrittenOwner {
            name: &marketplace.owner,
        },
        description: marketplace.description.as_deref(),
        plugins: plugins.collect(),
    };
    super::line(&written)
}

/// The files of a plugin that consists of skills.
pub fn plugin_files(
    name: &str,
    description: &str,
    skills: impl IntoIterator<Item = PublishedSkill>,
) -> Vec<UnpackedFile> {
    let manifest = super::line(&PluginManifest { name, description }).into_bytes();
    let manifest = PublishedSkill::plain_file(".claude-plugin/plugin.json", manifest);
    let mut files = vec![manifest];
    for skill in skills {
        let name = skill.name;
        files.extend(skill.files.into_iter().map(|file| UnpackedFile {
            path: format!("skills/{name}/{}", file.path),
            ..file
        }));
    }
    files
}
