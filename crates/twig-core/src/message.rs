//! The messages of a rendered prompt.

use std::borrow::Cow;
use std::sync::Arc;

use crate::document::Contents;
use crate::media::Media;
use crate::model::Role;

/// One finished message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its role.
    pub role: Role,
    /// Its content.
    pub block: Block,
}

/// The content of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// Text as it stands inside a JSON string, only for an audience that wants it.
    Escaped(Vec<u8>),
    /// An image or audio.
    Media(Media),
    /// A whole document.
    Resource {
        /// Its URI.
        uri: Box<str>,
        /// Its MIME type.
        mime: Cow<'static, str>,
        /// Its contents.
        contents: Arc<Contents>,
    },
    /// A document that the client may read.
    Link {
        /// Its URI.
        uri: Box<str>,
        /// Its name.
        name: Box<str>,
        /// Its name for people.
        title: Option<Box<str>>,
        /// What it is about.
        description: Option<Box<str>>,
        /// Its MIME type.
        mime: Option<Cow<'static, str>>,
    },
}
