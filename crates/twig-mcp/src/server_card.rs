//! The server card: what a client reads of a server before it connects (SEP-2127).
//!
//! It says who the server is and where it answers, and lists nothing of what it offers.

use serde::Serialize;

use crate::era::SUPPORTED_VERSIONS;
use crate::server::ServerIdentity;

/// The media type of a server card.
pub const SERVER_CARD_TYPE: &str = "application/mcp-server-card+json";

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/// The longest title and description, in characters.
const LONGEST: usize = 100;

/// Where a server answers, and what it says of itself there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCard<'c> {
    /// The domain or address of the server, without a port.
    pub domain: &'c str,
    /// The absolute address of its endpoint.
    pub url: &'c str,
    /// Its name for people, if it has one of its own.
    pub title: Option<&'c str>,
    /// What it offers.
    pub description: &'c str,
    /// True if clients need a token.
    pub needs_token: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenCard<'c> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    version: &'c str,
    description: String,
    title: String,
    remotes: [CardRemote<'c>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CardRemote<'c> {
    #[serde(rename = "type")]
    kind: &'static str,
    url: &'c str,
    supported_protocol_versions: [&'static str; SUPPORTED_VERSIONS.len()],
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<[CardHeader; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CardHeader {
    name: &'static str,
    description: &'static str,
    is_required: bool,
    is_secret: bool,
}

impl ServerCard<'_> {
    /// The text of the card.
    pub fn to_json(&self, identity: &ServerIdentity) -> String {
        let header = CardHeader {
            name: "Authorization",
            description: "Bearer and the token of the server",
            is_required: true,
            is_secret: true,
        };
        let card = WrittenCard {
            schema: SCHEMA,
            name: format!("{}/{}", reversed(self.domain), identity.name),
            version: &identity.version,
            description: shortened(self.description),
            title: shortened(self.title.unwrap_or(&identity.title)),
            remotes: [CardRemote {
                kind: "streamable-http",
                url: self.url,
                supported_protocol_versions: SUPPORTED_VERSIONS,
                headers: self.needs_token.then_some([header]),
            }],
        };
        // Texts and lists of them always become JSON.
        let mut text = serde_json::to_string(&card).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// A domain with its last part first; an IP address stays as it is, with `-` for `:`.
fn reversed(domain: &str) -> String {
    let is_domain = domain.contains(|c: char| c.is_ascii_alphabetic()) && !domain.contains(':');
    if is_domain {
        let parts: Vec<&str> = domain.rsplit('.').collect();
        return parts.join(".");
    }
    let kept = domain.trim_matches(['[', ']']);
    kept.replace(':', "-")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_by_domain() {
        assert_eq!(reversed("hub.example.com"), "com.example.hub");
        assert_eq!(reversed("localhost"), "localhost");
        assert_eq!(reversed("127.0.0.1"), "127.0.0.1");
        assert_eq!(reversed("[::1]"), "--1");
    }

    #[test]
    fn texts_are_as_long_as_the_schema_allows() {
        let long = shortened(&"\u{e4}".repeat(101));
        assert_eq!(long.chars().count(), 100);
        assert_eq!(shortened(&long), long);
    }
}
