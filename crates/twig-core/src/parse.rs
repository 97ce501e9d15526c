//! Reading what authors wrote: manifests and front matter.

pub mod documents;
pub mod front_matter;
pub mod functions;
pub(crate) mod json;
pub mod library;
mod manifest;
mod markdown;
mod toml;

pub use toml::{Entry, Item, SyntaxError, Table, Value, read as read_toml};
