//! The folder of a library beneath which files count.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use twig_core::name::NameError;
use twig_core::parse::library::LibraryRoot;
use twig_core::{BodyError, FileRole, Problem, ProblemCode, RelativePath, Severity};

use crate::root::Root;

/// How the path of a folder beside a project's own starts.
const BESIDE: &str = "../";

/// The full path of a library's file or folder; `""` is the library's own.
pub(super) fn path_of(folder: &LibraryRoot, path: &str) -> PathBuf {
    match path {
        "" => PathBuf::from(&*folder.root),
        path => PathBuf::from(folder.path_of(path)),
    }
}

/// A folder of a library, opened when something must be read.
pub(crate) struct Base<'p> {
    pub(crate) folder: &'p LibraryRoot,
    /// Relative to the library's folder; `""` for that itself.
    pub(crate) below: &'p str,
    pub(crate) path: PathBuf,
    opened: OnceCell<Result<Root, BodyError>>,
}

impl<'p> Base<'p> {
    pub(crate) fn new(folder: &'p LibraryRoot, below: &'p str) -> Self {
        Self {
            folder,
            below,
            path: path_of(folder, below),
            opened: OnceCell::new(),
        }
    }

    /// The folder itself: nothing opened through it can leave it.
    pub(crate) fn root(&self) -> Result<&Root, BodyError> {
        let open = || {
            let root = Path::new(&*self.folder.root);
            match (self.below, self.below.strip_prefix(BESIDE)) {
                (_, Some(folder)) => Root::beside(root, folder),
                ("", None) => Root::open(root),
                (below, None) => Root::open(root)?.inside(below),
            }
        };
        self.opened.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// A path beneath it, relative to the library's folder.
    pub(crate) fn path_of(&self, below: &str) -> String {
        match (self.below, below) {
            (base, "") => base.to_owned(),
            ("", below) => below.to_owned(),
            (base, below) => format!("{base}/{below}"),
        }
    }

    /// The same as a path that is checked.
    pub(crate) fn relative(&self, below: &str) -> Result<RelativePath, NameError> {
        let path = self.path_of(below);
        let beside = RelativePath::beside(&path).filter(|_| self.below.starts_with(BESIDE));
        beside.unwrap_or_else(|| RelativePath::parse(&path))
    }

    /// A path relative to the library's folder, made relative to this one.
    pub(crate) fn below<'f>(&self, path: &'f RelativePath) -> &'f str {
        let path = path.as_str();
        let below = path.strip_prefix(self.below).unwrap_or(path);
        below.trim_start_matches('/')
    }

    /// A problem with the file at a path beneath it; `what` continues a sentence after the path.
    pub(crate) fn problem(
        &self,
        code: ProblemCode,
        severity: Severity,
        below: &str,
        what: &str,
        help: &str,
    ) -> Problem {
        let (path, shown) = self.full_paths(below);
        Problem::of_file(code, severity, &path, format!("{shown} {what}")).with_help(help)
    }

    /// The problem of an unreadable file at a path beneath it.
    pub(crate) fn refused(&self, role: FileRole, below: &str, error: &BodyError) -> Problem {
        let (path, shown) = self.full_paths(below);
        error.problem(role, &path, &shown)
    }

    /// A path beneath it, in full and for display.
    fn full_paths(&self, below: &str) -> (String, String) {
        match self.path_of(below) {
            path if path.is_empty() => (
                self.folder.root.to_string(),
                self.folder.shown_root.to_string(),
            ),
            path => (self.folder.path_of(&path), self.folder.shown_path_of(&path)),
        }
    }
}
