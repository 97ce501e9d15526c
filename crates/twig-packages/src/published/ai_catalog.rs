//! `/.well-known/ai-catalog.json`: what a host offers, of every kind (AI Catalog 1.0).

use serde::Serialize;

/// What a host offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AiCatalog {
    /// The host's name for people.
    pub title: String,
    /// Everything that it offers, in order.
    pub artifacts: Vec<PublishedArtifact>,
}

/// One thing that a host offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedArtifact {
    /// A stable name that is unique in the world: `urn:air:DOMAIN:NAMESPACE:NAME`.
    pub identifier: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Its absolute address.
    pub url: String,
    /// Its name for people, if the artifact has none of its own.
    pub title: Option<String>,
    /// What it is for, if the artifact does not say that in its own metadata.
    pub description: Option<String>,
}

impl PublishedArtifact {
    /// A name in the world for something of a domain.
    pub fn identifier(domain: &str, namespace: &str, name: &str) -> String {
        format!("urn:air:{domain}:{namespace}:{name}")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenCatalog<'c> {
    spec_version: &'static str,
    host: WrittenHost<'c>,
    entries: Vec<WrittenEntry<'c>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenHost<'c> {
    display_name: &'c str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenEntry<'c> {
    identifier: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<&'c str>,
    #[serde(rename = "type")]
    media_type: &'static str,
    url: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'c str>,
}

/// The text of the catalog.
pub fn ai_catalog(catalog: &AiCatalog) -> String {
    let entries = catalog.artifacts.iter().map(|artifact| WrittenEntry {
        identifier: &artifact.identifier,
        display_name: artifact.title.as_deref(),
        media_type: artifact.media_type,
        url: &artifact.url,
        description: artifact.description.as_deref(),
    });
    super::line(&WrittenCatalog {
        spec_version: "1.0",
        host: WrittenHost {
            display_name: &catalog.title,
        },
        entries: entries.collect(),
    })
}
