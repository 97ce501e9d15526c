//! Which kinds of content a client's protocol version has, and what takes the place of the others.

use twig_core::MediaKind;
use twig_core::render::{Block, Message};

/// The first version that has audio.
const AUDIO: &str = "2025-03-26";

/// The first version that has links to resources.
const LINKS: &str = "2025-06-18";

/// The kinds of content that not every protocol version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentKinds {
    audio: bool,
    links: bool,
}

impl ContentKinds {
    /// All of them, as in the newest version.
    pub(crate) const ALL: Self = Self {
        audio: true,
        links: true,
    };

    /// Those of a version. Versions are dates, so they compare as texts.
    pub(crate) fn of(version: &str) -> Self {
        Self {
            audio: version >= AUDIO,
            links: version >= LINKS,
        }
    }

    /// All of it in one number.
    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.audio) | (u8::from(self.links) << 1)
    }

    /// Those in such a number.
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self {
            audio: bits & 1 != 0,
            links: bits & 2 != 0,
        }
    }

    /// The same without links, for text that a model reads.
    pub(crate) fn without_links(self) -> Self {
        Self {
            links: false,
            ..self
        }
    }

    /// Replaces the contents that the version does not have by texts: a client refuses a whole
    /// result because of one of them.
    pub(crate) fn fit(self, messages: &mut [Message]) {
        for message in messages {
            let text = match &message.block {
                Block::Link {
                    uri,
                    name,
                    title,
                    description,
                    ..
                } if !self.links => {
                    let about = description.as_deref().or(title.as_deref());
                    let about = about.map_or_else(String::new, |about| format!(": {about}"));
                    format!("Resource \"{name}\" at {uri}{about}")
                }
                Block::Media(media) if media.kind == MediaKind::Audio && !self.audio => format!(
                    "Audio ({}, {} bytes) is left out here: this client's version of MCP has none.",
                    media.mime,
                    media.bytes.len()
                ),
                _ => continue,
            };
            message.block = Block::Text(text);
        }
    }
}
