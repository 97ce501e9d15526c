//! The disk: finds, reads and watches libraries, and keeps projects in SQLite ([`Workspaces`])
//! or PostgreSQL ([`StorePlace`]).
//!
//! [`LiveCatalog`] loads the folders that [`Settings`] name and publishes an immutable
//! [`twig_core::Catalog`]; a [`CatalogWatch`] follows the disk and publishes the next one. `twig-core`
//! decides what a manifest means.

// The form of keys and roles, and the file with those of a server.
mod access_file;
// Where keys and roles are: a file of this server, or the database that servers share.
mod access_store;
// Why keys and roles were not read or changed.
mod access_store_error;
// The bodies port, filled from disk.
mod bodies;
// A folder that may be a library, before anything in it is read.
mod candidate;
// The folders that clients read, by their paths.
mod client_folder;
// Everything of a project, to be written to another store as it is.
mod copied;
// Where a database with workspaces is.
mod database_address;
// What a database is, and what an acknowledgement means there.
mod database_facts;
// Recognizes the kind of a folder by its path and file names.
mod detect;
// A text file of a library that a person edits on the page.
mod edited_file;
// Writes exported prompts beneath a client's folder and keeps files that people changed.
mod export;
// The configuration, read again when its file changes.
mod followed_config;
// What each searched place contains, for `twig library list` and `twig doctor`.
mod found;
// Gathers the files of an import and writes its prompts to a library or a project.
mod import;
// The files of one library; each is read again only if it changed.
mod library_files;
// One library: what its kind makes of its files, its documents, and its last good state.
mod library_folder;
// Folder listings, which replace a stat of every file.
mod listing;
// `LiveCatalog`: loads, refreshes and publishes the catalog.
mod live;
// Reads, changes and writes one file under a lock.
mod locked_file;
// Gives each library a name of its own.
mod names;
// File systems of other machines, whose changes the system here does not report.
mod network;
// Packages: fetched with git, and kept by the digest of their files.
mod packages;
// Decides whether a writer is done: every wait for a save, a burst of events or a checkout.
mod patience;
// A place that is searched for libraries.
mod place;
// Projects in PostgreSQL, all workspaces in one database.
#[cfg(feature = "postgres")]
mod postgres;
// Logs each problem once.
mod problem_log;
// The selected project as a library that follows its store.
mod project;
// Exports a project to a folder of plain files, and imports it again.
mod project_folder;
// Asks file systems that may not answer on a separate thread, with a time limit.
mod reach;
// Reads one whole file and never half a save.
mod reader;
// The last versions of files that were replaced, for an undo.
mod replaced_files;
// A repository's own `config.toml`: what it exports, and its further libraries.
mod repository_config;
// Opens files beneath a library's folder and refuses symlinks that leave it.
mod root;
// The full-text index of a catalog (FTS5), built by the first search.
mod search;
// Where libraries are looked for, and how.
mod settings;
// What servers on one database share about sessions.
mod shared_sessions;
// All libraries of all places, in order, each kept until it changes.
mod library_set;
// Where a server works: its working folder, and the roots of its client.
mod work_folders;
// The stamps of the files that each library was read from.
mod source_files;
// Whether a file is still the one that was read.
mod stamp;
// Projects in SQLite, one file a workspace, with a digest for each version and content.
mod store;
// Whether the database of the workspaces answers.
mod store_health;
// Where workspaces are: a folder of SQLite files, or a PostgreSQL database.
mod store_place;
// The roles of a database that has workspaces.
mod store_roles;
// What operating systems do differently with files and processes.
pub mod platform;
// The system's file watcher, or none if the system has no resources for one.
mod system_watcher;
// The record of trusted libraries, by the digest of every file that may be code.
mod trust;
// Follows the disk and announces new catalogs.
mod watch;
// The projects of a workspace that nobody selected, as libraries that follow their store.
mod workspace_source;
// Texts that an editor has and has not saved, by file.
mod unsaved;
// The bodies port as if unsaved texts were saved.
mod unsaved_bodies;
// What callers with different rights see.
mod views;
// The one way to write a file: whole, synced, replaced in one step.
mod write_file;

pub use access_file::{access_marker, read_access};
pub use access_store::{AccessAsker, AccessFollowing, AccessHolder, AccessStore, FollowedAccess};
pub use access_store_error::AccessStoreError;
pub use client_folder::scope_of;
pub use database_address::DatabaseAddress;
pub use database_facts::{DatabaseFacts, Durability};
pub use detect::{is_well_known, project_kind, well_known_folders};
pub use edited_file::{EDITED_BYTES, EditFileError, EditedFile, EditedTrust};
pub use export::{
    EarlierExports, ExportAction, ExportError, ExportMode, ExportState, ExportTarget, ExportedFile,
    export_prompts,
};
pub use followed_config::{
    ConfigMistake, FollowSettings, FollowedConfig, LiveSettings, Remembered,
};
pub use found::{FoundLibrary, FoundState, PlaceOrigin, SearchedPlace, Skipped};
pub use import::{
    Fate, Gathered, ImportError, LibraryPlan, ProjectPlan, gather, gather_files, plan_library,
    plan_library_locked, plan_project,
};
pub use live::{LiveCatalog, Refresh};
pub use locked_file::{LockError, LockedFile, LockedFolder, read_file};
pub use network::is_network;
pub use packages::{
    AgreedState, ChangedFile, CheckedPackage, Collected, CommitAgreement, CopiedFiles, FetchHold,
    FetchLimits, FetchStop, FetchedPackage, FileDifference, FollowProblem, FollowRecord,
    FollowState, GitEnvironment, GitLogin, LeftOutFile, LockTrouble, LookOutcome, PackageError,
    PackageFetcher, PackageSignatures, PackageStore, PackagedCopy, ReferenceKind, RemoteReferences,
    ResolvedReference, SkillSignature, SourceKey, SourceKeys, VENDOR_LIST, VendorAction,
    VendorError, VendorFolder, VendorMode, Vendored, VendoredFile, WantedPackage, packaged_copies,
    read_lock, read_lock_text, side_by_side,
};
#[cfg(feature = "postgres")]
pub use postgres::{Migrated, PgStore, PgWorkspaces};
pub use project_folder::{
    CheckedFolder, Exported, FolderItem, FolderUpdate, ImportSummary, PreferredSide,
    ProjectFolderError, check_project, export_project, import_project, update_project,
};
pub use replaced_files::{ReplacedFiles, ReplacedVersion};
pub use repository_config::{is_of_this_person, repository_config, repository_config_of};
pub use search::SearchIndex;
pub use settings::{OfferedWorkspace, Selected, Settings, Watching};
pub use shared_sessions::{SESSIONS_HOLD, SessionDigest, SharedSessions};
pub use store::{
    Access, DEFAULT_WORKSPACE, OldVersions, Reclaimed, SqliteStore, VerifiedRows, Workspaces, now,
};
pub use store_health::StoreHealth;
pub use store_place::{StorePlace, WorkspaceStore, copy_workspace};
pub use store_roles::StoreRoles;
pub use trust::{
    CodeFiles, LibraryGrants, LibrarySurvey, RecordedGrants, Trust, TrustVerdict, TrustedTexts,
    asked_grants, covers, examine, expanded, function_sources, program, real_path, survey,
    were_read_from, why_not_own,
};
pub use unsaved::UnsavedTexts;
pub use unsaved_bodies::UnsavedBodies;
pub use views::{CatalogView, CatalogViews, ViewScope};
pub use watch::CatalogWatch;
pub use work_folders::{PROJECT, project_folders, repository_of};
pub use write_file::{NewFile, create_beneath};
