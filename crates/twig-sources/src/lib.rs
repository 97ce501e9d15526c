//! What hands libraries over: folders on disk, found, read, watched and kept fresh.
//!
//! [`LiveCatalog`] loads the folders that [`Settings`] name and publishes an immutable
//! [`twig_core::Catalog`]; a [`Watch`] follows the disk and publishes the next one. What a manifest
//! means is `twig-core`'s business; how a catalog is served is for others.

mod bodies;
mod definitions_folder;
mod document_folder;
mod found;
mod functions_folder;
mod kept;
mod listing;
mod live;
mod markdown_folder;
mod place;
mod problem_log;
mod reader;
mod root;
mod search;
mod settings;
mod shelf;
mod stamp;
mod text_files;
mod trust;
mod twig_folder;
mod watch;

pub use found::{Found, FoundLibrary, FoundState, Skipped};
pub use live::{LiveCatalog, Refresh};
pub use place::PROJECT;
pub use search::{Heard, SearchIndex, Searcher};
pub use settings::{Selected, Settings, Watching};
pub use trust::{CodeFiles, Trust, Verdict, program, survey};
pub use watch::{Watch, is_network};
