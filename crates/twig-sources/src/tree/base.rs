//! The folder of a library beneath which files count.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use twig_core::parse::library::Folder;
use twig_core::{BodyError, Problem, Severity};

use crate::root::Root;

/// A folder of a library, opened when something has to be read.
pub(crate) struct Base<'p> {
    pub(crate) folder: &'p Folder,
    /// From the library's folder; `""` for that itself.
    pub(crate) below: &'p str,
    pub(crate) path: PathBuf,
    opened: OnceCell<Result<Root, BodyError>>,
}

impl<'p> Base<'p> {
    pub(crate) fn new(folder: &'p Folder, below: &'p str) -> Self {
        let root = Path::new(&*folder.root);
        let path = if below.is_empty() {
            root.to_path_buf()
        } else {
            root.join(below)
        };
        Self {
            folder,
            below,
            path,
            opened: OnceCell::new(),
        }
    }

    /// The folder itself: nothing that is opened through it leads out of it.
    pub(crate) fn root(&self) -> Result<&Root, BodyError> {
        let open = || {
            let root = Root::open(Path::new(&*self.folder.root))?;
            match self.below {
                "" => Ok(root),
                below => root.inside(below),
            }
        };
        self.opened.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// A path beneath it, from the library's folder.
    pub(crate) fn path_of(&self, below: &str) -> String {
        match (self.below, below) {
            (base, "") => base.to_owned(),
            ("", below) => below.to_owned(),
            (base, below) => format!("{base}/{below}"),
        }
    }

    /// A problem of what is at a path beneath it; `what` reads on after the path.
    pub(crate) fn problem(
        &self,
        code: &'static str,
        severity: Severity,
        below: &str,
        what: &str,
        help: &str,
    ) -> Problem {
        let path = self.path_of(below);
        let slash = if path.is_empty() { "" } else { "/" };
        let message = format!("{}{slash}{path} {what}", self.folder.shown_root);
        let path = format!("{}{slash}{path}", self.folder.root);
        Problem::of_file(code, severity, &path, message).with_help(help)
    }
}
