//! A folder that is taken for a library, before anything in it is read.

use std::path::PathBuf;
use std::sync::Arc;

use twig_clients::format::Options;
use twig_core::{LibraryKind, LibraryName, LibraryPackage, ListingRules};

use crate::detect::DetectedLibrary;
use crate::reader::ReadFile;
use crate::stamp::SeenStamp;

/// A folder that is a library.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) root: PathBuf,
    pub(crate) kind: LibraryKind,
    /// Whether it is a project's own.
    pub(crate) is_project: bool,
    /// What was seen of its manifest, if it has one.
    pub(crate) manifest: SeenStamp,
    /// The configuration of a project's own folder, if it was read already.
    pub(crate) config: Option<Arc<ReadFile>>,
    /// What it is called; by its folder where this is `None`.
    pub(crate) name: Option<LibraryName>,
    pub(crate) options: Options,
    /// The package that it is part of.
    pub(crate) package: Option<Arc<LibraryPackage>>,
    /// What lists show of it, as its repository says.
    pub(crate) listing: Arc<ListingRules>,
    /// The clients that load its files themselves here.
    pub(crate) loaded_by: Vec<&'static str>,
    /// The workspace whose people alone may read it over HTTP.
    pub(crate) workspace: Option<Box<str>>,
    /// Folders in it that are libraries themselves.
    pub(crate) inner: Vec<PathBuf>,
    /// Whether its file system does not answer: it stays as it was last read.
    pub(crate) is_away: bool,
}

impl Candidate {
    pub(crate) fn new(root: PathBuf, kind: LibraryKind) -> Self {
        Self {
            root,
            kind,
            is_project: false,
            manifest: SeenStamp::never(),
            config: None,
            name: None,
            options: Options::default(),
            package: None,
            listing: Arc::default(),
            loaded_by: Vec::new(),
            workspace: None,
            inner: Vec::new(),
            is_away: false,
        }
    }

    pub(crate) fn at(spot: DetectedLibrary) -> Self {
        let name = spot.name.as_deref().and_then(LibraryName::from_folder);
        Self {
            name,
            inner: spot.inner,
            ..Self::new(spot.root, spot.kind)
        }
    }

    /// The name that was chosen for it, or its folder's.
    pub(crate) fn own_name(&self) -> Option<LibraryName> {
        let own = || {
            let folder = self.root.file_name()?.to_str()?;
            LibraryName::from_folder(folder)
        };
        self.name.clone().or_else(own)
    }
}
