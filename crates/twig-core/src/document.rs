//! Documents: text or bytes with a URI, which clients read and prompts embed.
//!
//! A URI is a key, never a path: it is looked up in the catalog, and only documents in the catalog
//! exist.

mod head;
mod mime;
mod time;
mod uri_template;

use std::borrow::Cow;

pub use self::head::TITLE;
pub use self::head::{HEAD, Head};
pub(crate) use self::mime::sniff;
pub use self::mime::{ending_of, mime_of, mime_of_name};
pub use self::time::rfc3339;
pub use self::uri_template::UriTemplate;
use crate::name::RelativePath;
use crate::stored_version::StoredVersion;

/// One document, as it is listed; its contents are read on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its URI.
    pub uri: Box<str>,
    /// A shorter URI for it: a decision's number.
    pub short_uri: Option<Box<str>>,
    /// Its name: the path of its file in the documents folder, without `.md`.
    pub name: Box<str>,
    /// A name for people: its first heading, else its file's name.
    pub title: Option<Box<str>>,
    /// What it is about.
    pub description: Option<Box<str>>,
    /// What its bytes are.
    pub mime: Cow<'static, str>,
    /// True if its contents are text, judging by its first bytes.
    pub is_text: bool,
    /// Where its contents are.
    pub source: DocumentSource,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: Option<i64>,
    /// Differs where the contents do.
    pub version: u64,
}

/// Where the contents of a document are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentSource {
    /// A file, by its path from the library's folder.
    File(RelativePath),
    /// A version in a store.
    Stored(StoredVersion),
}

impl Document {
    /// Its file, if it has one.
    pub fn file(&self) -> Option<&RelativePath> {
        match &self.source {
            DocumentSource::File(path) => Some(path),
            DocumentSource::Stored(_) => None,
        }
    }

    /// The version in a store, if it is one.
    pub fn stored(&self) -> Option<&StoredVersion> {
        match &self.source {
            DocumentSource::File(_) => None,
            DocumentSource::Stored(version) => Some(version),
        }
    }

    /// How people find it in its library: the path of its file, or its name in a store.
    pub fn place(&self) -> &str {
        self.file().map_or(&self.name, RelativePath::as_str)
    }

    /// Its title, or else its name.
    pub fn shown_title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// The contents of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// Text; without a byte-order mark, unless every byte counts.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Contents {
    /// Distinguishes text from other bytes: text is UTF-8 without a NUL.
    pub fn of(bytes: Vec<u8>) -> Self {
        if bytes.contains(&0) {
            return Self::Bytes(bytes);
        }
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                if text.starts_with('\u{feff}') {
                    text.drain(..'\u{feff}'.len_utf8());
                }
                Self::Text(text)
            }
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }

    /// Text if the bytes are UTF-8, keeping every byte.
    pub fn exactly(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }

    /// How many bytes it holds.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
