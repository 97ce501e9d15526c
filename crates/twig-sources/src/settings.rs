//! Where libraries are looked for, and how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_clients::format::Options;
use twig_core::store::{Store, StoreName};
use twig_core::{LibraryKind, LibraryName, Limits};

/// Where libraries are looked for, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of libraries: each subfolder with a `twig.toml` is one. It need not exist yet.
    pub data: Option<PathBuf>,
    /// Folders that the person named; they come before those of the data folder.
    ///
    /// Each is a library, or a folder whose subfolders are libraries.
    pub libraries: Vec<PathBuf>,
    /// Folders that the configuration remembers; they come after a project's own, before those of
    /// the data folder.
    pub remembered: Vec<Remembered>,
    /// A project's own folders (`.twig`), the nearest first; they come before the data folder.
    /// None need exist.
    pub projects: Vec<PathBuf>,
    /// How the named folders are read; told by their layout where this is `None`.
    pub kind: Option<LibraryKind>,
    /// The person's home, which is `~` in paths for people.
    pub home: Option<PathBuf>,
    /// What stands between a library's name and a prompt's.
    pub separator: String,
    /// How much is taken before it is refused.
    pub limits: Limits,
    /// How changes are noticed.
    pub watching: Watching,
    /// The record of trusted libraries; without one no library is.
    pub trust: Option<PathBuf>,
    /// What the bash functions of a `functions` library begin with.
    pub function_prefix: String,
    /// The project of a workspace that is served too, before everything else.
    pub project: Option<Selected>,
}

/// A folder that the person added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The folder: a library, or a folder in which libraries are.
    pub path: PathBuf,
    /// How it is read; told by its layout where this is `None`.
    pub kind: Option<LibraryKind>,
    /// What it is called, where its own name will not do.
    pub name: Option<LibraryName>,
    /// How its files are read, as far as they do not tell.
    pub options: Options,
}

/// A project of a workspace, by name: whatever has that name at the moment.
#[derive(Debug, Clone)]
pub struct Selected {
    /// Where it is kept.
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
            kind: None,
            home: None,
            separator: ":".to_owned(),
            limits: Limits::default(),
            watching: Watching::Auto,
            trust: None,
            function_prefix: "prompt_".to_owned(),
            project: None,
        }
    }
}

/// How changes on disk are noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Watching {
    /// The system tells, where it can; elsewhere the disk is looked at again and again.
    #[default]
    Auto,
    /// The disk is looked at again and again.
    Poll,
}

impl Settings {
    /// The same settings with absolute paths, so that a later change of folder changes nothing.
    pub(crate) fn absolute(mut self) -> Self {
        self.data = self.data.map(|path| absolute(&path));
        for paths in [&mut self.libraries, &mut self.projects] {
            *paths = paths.iter().map(|path| absolute(path)).collect();
        }
        for remembered in &mut self.remembered {
            remembered.path = absolute(&remembered.path);
        }
        self.trust = self.trust.map(|path| absolute(&path));
        self
    }

    /// A path as people like to read it.
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

/// Collecting the parts drops a slash at the end, so that one folder has one spelling.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_path_buf())
        .components()
        .collect()
}
