//! The messages of a rendered prompt.

use std::borrow::Cow;
use std::sync::Arc;

use crate::document::Contents;
use crate::media::Media;
use crate::model::Role;

/// One finished message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub block: Block,
}

/// What one message carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image or audio.
    Media(Media),
    /// A document, whole.
    Resource {
        /// Its URI.
        uri: Box<str>,
        /// What it is.
        mime: Cow<'static, str>,
        /// What it holds.
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
        /// What it is.
        mime: Option<Cow<'static, str>>,
    },
}
