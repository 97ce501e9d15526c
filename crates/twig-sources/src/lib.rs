//! What hands libraries over: folders on disk, found, read, watched and kept fresh.
//!
//! [`LiveCatalog`] loads the folders that [`Settings`] name and publishes an immutable
//! [`twig_core::Catalog`]; a [`Watch`] follows the disk and publishes the next one. What a manifest
//! means is `twig-core`'s business; how a catalog is served is for others. [`Workspaces`] keeps
//! projects in SQLite.

mod bodies;
mod detect;
mod export;
mod found;
mod import;
mod library_files;
mod library_folder;
mod listing;
mod live;
mod locked_file;
mod names;
mod patience;
mod place;
mod problem_log;
mod project;
mod project_folder;
mod reach;
mod reader;
mod root;
mod search;
mod settings;
mod shelf;
mod source_files;
mod stamp;
mod store;
mod trust;
mod watch;
mod write_file;

pub use detect::{is_well_known, well_known_folders};
pub use export::{
    ExportAction, ExportError, ExportMode, ExportState, ExportTarget, ExportedFile, export_prompts,
};
pub use found::{FoundLibrary, FoundState, PlaceOrigin, SearchedPlace, Skipped};
pub use import::{
    Fate, Gathered, ImportError, LibraryPlan, ProjectPlan, gather, plan_library,
    plan_library_locked, plan_project,
};
pub use live::{LiveCatalog, Refresh};
pub use locked_file::{LockError, LockedFile, LockedFolder, read_file};
pub use place::PROJECT;
pub use project_folder::{
    CheckedFolder, Exported, ImportSummary, ProjectFolderError, check_project, export_project,
    import_project,
};
pub use search::SearchIndex;
pub use settings::{Remembered, Selected, Settings, Watching};
pub use store::{Access, DEFAULT_WORKSPACE, OldVersions, Reclaimed, SqliteStore, Workspaces};
pub use trust::{
    CodeFiles, Trust, TrustVerdict, function_sources, program, survey, were_read_from,
};
pub use watch::{CatalogWatch, is_network};
pub use write_file::{NewFile, create_beneath};
