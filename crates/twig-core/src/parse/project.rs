//! `config.toml` of a repository's own folder: what its library is called, where its documents are,
//! what the repository exports, and which of its other folders are libraries.
//!
//! It comes with a checkout and is not trusted: nothing in it can loosen a limit or name a path
//! outside the repository.

use super::documents::DocumentLayout;
use super::library::{Files, LibraryRoot};
use super::manifest::Manifest;
use super::toml;
use crate::limits::Limits;
use crate::model::{LibraryAbout, LibraryKind, ListingRules};
use crate::name::{LibraryName, RelativePath};
use crate::problem::{FileProblems, Problem, ProblemCode, Severity};

/// The file's name.
pub const CONFIG: &str = "config.toml";

/// The name of the folder that it is in.
pub const FOLDER: &str = ".twig";

/// The content of the file, or the defaults without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The library's name and description.
    pub about: LibraryAbout,
    /// Where its documents are.
    pub layout: DocumentLayout,
    /// What the repository exports, if the file says so.
    pub export: Option<ExportSettings>,
    /// Folders of the repository that are libraries, too.
    pub libraries: Vec<ListedFolder>,
    /// What lists show of the repository's libraries.
    pub listing: ListingRules,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
}

/// `[export]`: what `twig export` writes in this repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportSettings {
    /// The clients to write files for.
    pub to: Vec<Box<str>>,
    /// Names and patterns of libraries and prompts; empty means all of the repository's.
    pub only: Vec<Box<str>>,
    /// The folder for a client's files, from the repository's, where it is not the client's own.
    pub folders: Vec<(Box<str>, RelativePath)>,
    /// The first mistake in the table.
    pub mistake: Option<Problem>,
}

/// One of `[[libraries]]`: a folder of the repository, or a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFolder {
    /// Where its files are.
    pub place: ListedPlace,
    /// Its number among the entries of the file, from 0.
    pub index: usize,
    /// The line that names it.
    pub line: u32,
    /// Its kind; detected by its layout if `None`.
    pub kind: Option<LibraryKind>,
    /// Its name, if not its own.
    pub name: Option<LibraryName>,
    /// The number of the first argument, for commands of Claude Code.
    pub first_argument: Option<u8>,
}

/// Where the files of one of `[[libraries]]` are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedPlace {
    /// A folder, from the repository's.
    Folder(RelativePath),
    /// A package, which only `twig install` fetches.
    Package(ListedPackage),
}

/// A package, as one of `[[libraries]]` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPackage {
    /// Where it comes from.
    pub source: Box<str>,
    /// A branch, tag or commit.
    pub reference: Option<Box<str>>,
    /// The folder in it.
    pub path: Option<RelativePath>,
    /// The names of what is served of it; everything if it is empty.
    pub only: Vec<Box<str>>,
}

/// Names of other programs that the file may use; others know them.
#[derive(Debug, Clone, Copy)]
pub struct ProjectVocabulary {
    /// Whether files can be written for a client of this name, or why not.
    pub check_client: fn(&str) -> Result<(), String>,
    /// Whether packages can come from this source, at this reference, or why not.
    pub check_package: fn(&str, Option<&str>) -> Result<(), String>,
    /// The kind of library with this name, or what is wrong with it.
    pub kind: fn(&str) -> Result<LibraryKind, String>,
}

impl ProjectConfig {
    /// An empty file's, with this layout of documents.
    pub(super) fn new(layout: DocumentLayout) -> Self {
        Self {
            about: LibraryAbout::default(),
            layout,
            export: None,
            libraries: Vec::new(),
            listing: ListingRules::default(),
            problems: Vec::new(),
        }
    }

    /// The mistake because of which nothing of the file could be read.
    pub fn syntax_problem(&self) -> Option<&Problem> {
        let is_syntax = |problem: &&Problem| problem.code == ProblemCode::ConfigSyntax;
        self.problems.iter().find(is_syntax)
    }
}

/// Reads the file's text; missing values have their defaults. With a manifest, that one describes
/// the library and its documents.
pub fn project_config(
    folder: &LibraryRoot,
    text: &str,
    usual: DocumentLayout,
    has_manifest: bool,
    files: &dyn Files,
    limits: &Limits,
    words: &ProjectVocabulary,
) -> ProjectConfig {
    let path = folder.path_of(CONFIG);
    let table = match toml::read(text) {
        Ok(table) => table,
        Err(error) => {
            let message = format!("{CONFIG} is not valid TOML: {}", error.message);
            let span = error.span.unwrap_or(0..0);
            let mut problem = Problem::at(
                ProblemCode::ConfigSyntax,
                Severity::Error,
                &path,
                text,
                span,
                message,
            );
            problem.help = error.help.map(str::to_owned);
            return ProjectConfig {
                problems: vec![problem],
                ..ProjectConfig::new(usual)
            };
        }
    };
    let mut reader = Manifest {
        folder,
        path: &path,
        text,
        files,
        limits,
        problems: FileProblems::new(&path, text),
    };
    let config = reader.read_config(&table, usual, has_manifest, words);
    ProjectConfig {
        problems: reader.problems.finish(),
        ..config
    }
}
