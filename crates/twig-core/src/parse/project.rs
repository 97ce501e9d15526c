//! `config.toml` of a project's own folder: what its library is called, and where its documents
//! are.
//!
//! It comes with a checkout and is not trusted: nothing in it can loosen a limit or name a path
//! outside the folder.

use super::documents::DocumentLayout;
use super::library::{Files, LibraryRoot};
use super::manifest::Manifest;
use super::toml;
use crate::limits::Limits;
use crate::model::LibraryAbout;
use crate::problem::{FileProblems, Problem, ProblemCode, Severity};

/// The file's name.
pub const CONFIG: &str = "config.toml";

/// The content of the file, or the defaults without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The library's name and description.
    pub about: LibraryAbout,
    /// Where its documents are.
    pub layout: DocumentLayout,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
}

/// Reads the file's text; missing values have their defaults.
pub fn project_config(
    folder: &LibraryRoot,
    text: &str,
    usual: DocumentLayout,
    files: &dyn Files,
    limits: &Limits,
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
                about: LibraryAbout::default(),
                layout: usual,
                problems: vec![problem],
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
    let (about, layout) = reader.read_config(&table, usual);
    ProjectConfig {
        about,
        layout,
        problems: reader.problems.finish(),
    }
}
