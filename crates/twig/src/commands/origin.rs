//! Where a prompt or a document comes from: a file of a library, or a version in a project.

use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::store::{place_of, version_of};
use twig_core::{Catalog, Library, RelativePath};

use super::store::workspace_flag;

/// Where something comes from, as scripts see it; this shape is a promise.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Origin<'c> {
    File {
        library: &'c str,
        path: String,
    },
    Project {
        project: &'c str,
        workspace: &'c str,
        version: Option<u64>,
    },
}

impl<'c> Origin<'c> {
    /// Of what a library has in a file, or else in its manifest.
    pub(super) fn of(library: &'c Library, file: Option<&RelativePath>) -> Self {
        if let Some((workspace, project)) = place_of(library) {
            let version = file.and_then(version_of);
            return Self::Project {
                project,
                workspace,
                version,
            };
        }
        let file = file.map_or(MANIFEST, RelativePath::as_str);
        Self::File {
            library: library.name.as_str(),
            path: library.path_of(file),
        }
    }
}

/// The path of a library's file; what a project holds has none.
pub(super) fn path_of(library: &Library, path: &RelativePath) -> Option<String> {
    let is_file = place_of(library).is_none();
    is_file.then(|| library.path_of(path))
}

/// How the project that is served is named in commands that are advised.
pub(super) fn project_flags(catalog: &Catalog) -> String {
    let project = catalog.project().and_then(|library| place_of(library));
    let flags = project.map(|(workspace, name)| format!("{} -p {name}", workspace_flag(workspace)));
    flags.unwrap_or_default()
}
