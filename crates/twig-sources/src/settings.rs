//! Where libraries are searched for, and how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::store::{Store, StoreName};
use twig_core::{CatalogFilter, LibraryKind, Limits, ListingSettings};

use crate::followed_config::{FollowedConfig, Remembered};
use crate::store::Access;
use crate::store_place::StorePlace;

/// Where libraries are searched for, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of libraries: each subfolder with a `twig.toml` is one. It need not exist yet.
    pub data: Option<PathBuf>,
    /// Folders that the user named; they come before those of the data folder.
    ///
    /// Each is a library, or a folder whose subfolders are libraries.
    pub libraries: Vec<PathBuf>,
    /// Folders in the configuration; they come after a project's own, before those of the data
    /// folder.
    pub remembered: Vec<Remembered>,
    /// A project's own folders (`.twig`), the nearest first; they come before the data folder.
    /// None need exist.
    pub projects: Vec<PathBuf>,
    /// The folder that the server works in.
    pub work: Option<PathBuf>,
    /// The folders that the server's client works in, as it says.
    pub roots: Vec<PathBuf>,
    /// The kind of the named folders; detected by their layout if `None`.
    pub kind: Option<LibraryKind>,
    /// The user's home, shown as `~` in paths.
    pub home: Option<PathBuf>,
    /// The separator between a library's name and a prompt's.
    pub separator: String,
    /// The limits on sizes and counts.
    pub limits: Limits,
    /// How changes are noticed.
    pub watching: Watching,
    /// The folder of packages that were fetched.
    pub packages: Option<PathBuf>,
    /// The user's lock, which says which files the packages of the configuration have.
    pub lock: Option<PathBuf>,
    /// The lock of the packages that a server follows.
    pub followed_lock: Option<PathBuf>,
    /// The record of trusted libraries; without one no library is trusted.
    pub trust: Option<PathBuf>,
    /// The prefix of the bash functions of a `functions` library.
    pub function_prefix: String,
    /// The project of a workspace that is served, too, before everything else.
    pub project: Option<Selected>,
    /// What of all this is offered.
    pub only: CatalogFilter,
    /// What lists show of it; the configuration replaces it when it changes.
    pub listing: ListingSettings,
    /// The workspace whose projects offer their prompts after all libraries.
    pub workspace: Option<OfferedWorkspace>,
    /// The configuration to follow; its folders replace `remembered` when it changes.
    pub config: Option<FollowedConfig>,
}

/// A workspace whose prompts are offered. It is never created, and opened when a catalog is first
/// asked for.
#[derive(Debug, Clone)]
pub struct OfferedWorkspace {
    /// Where it is.
    pub workspaces: StorePlace,
    /// Its name.
    pub name: StoreName,
    /// How it is opened.
    pub access: Access,
    /// False until the configuration says otherwise: then nothing is opened.
    pub is_on: bool,
}

/// A project of a workspace, by name: whichever has that name at the moment.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The store that holds it.
    pub store: Arc<dyn Store>,
    /// Its name.
    pub name: StoreName,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data: None,
            libraries: Vec::new(),
            remembered: Vec::new(),
            projects: Vec::new(),
            work: None,
            roots: Vec::new(),
            kind: None,
            home: None,
            separator: ":".to_owned(),
            limits: Limits::default(),
            watching: Watching::Auto,
            packages: None,
            lock: None,
            followed_lock: None,
            trust: None,
            function_prefix: "prompt_".to_owned(),
            project: None,
            only: CatalogFilter::default(),
            listing: ListingSettings::default(),
            workspace: None,
            config: None,
        }
    }
}

/// How changes on disk are noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Watching {
    /// By the system's events where possible; elsewhere by polling the disk.
    #[default]
    Auto,
    /// By polling the disk.
    Poll,
}

impl Settings {
    /// The same settings with absolute paths, so that changing the working folder has no effect.
    pub(crate) fn absolute(mut self) -> Self {
        self.data = self.data.map(|path| absolute(&path));
        self.work = self.work.map(|path| absolute(&path));
        for paths in [&mut self.libraries, &mut self.projects, &mut self.roots] {
            *paths = paths.iter().map(|path| absolute(path)).collect();
        }
        let folders = self.remembered.iter_mut();
        for remembered in folders.filter(|it| it.package.is_none()) {
            remembered.path = absolute(&remembered.path);
            remembered.repository = remembered.repository.take().map(|it| absolute(&it));
        }
        self.trust = self.trust.map(|path| absolute(&path));
        self.packages = self.packages.map(|path| absolute(&path));
        self.lock = self.lock.map(|path| absolute(&path));
        self.followed_lock = self.followed_lock.map(|path| absolute(&path));
        self
    }

    /// A path for display.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let home = self
            .home
            .as_deref()
            .filter(|home| *home != Path::new("/") && !home.as_os_str().is_empty());
        match home.map(|home| path.strip_prefix(home)) {
            Some(Ok(rest)) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(Ok(rest)) => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }
}

/// Collecting the components drops a trailing slash, so that one folder has one spelling.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_path_buf())
        .components()
        .collect()
}
