//! Reads what authors write: manifests and front matter.

mod definition;
pub mod documents;
pub mod functions;
mod json;
pub mod labels;
pub mod library;
pub(crate) mod located;
mod manifest;
pub mod project;
pub mod table;
mod toml;

pub use definition::DEFINITION_SCHEMA;
pub use manifest::{MANIFEST_SCHEMA, REPOSITORY_SCHEMA};
pub use toml::{Table, TomlEntry, TomlItem, TomlSyntaxError, TomlValue, read as read_toml};

/// Problems of one file that are reported.
const TOLD: usize = 20;
