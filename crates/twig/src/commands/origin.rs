//! Where a prompt or a document comes from: a file of a library, or a version in a project.

use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::{Catalog, Content, Document, Library, Prompt, RelativePath, StoredVersion};

use super::store::workspace_flag;

/// The origin of something, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OriginRow<'c> {
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

impl<'c> OriginRow<'c> {
    /// The origin of an item that a library has in a file, or else in its manifest.
    pub(super) fn of_file(library: &'c Library, file: Option<&RelativePath>) -> Self {
        let file = file.map_or(MANIFEST, RelativePath::as_str);
        Self::File {
            library: library.name.as_str(),
            path: library.path_of(file),
        }
    }

    pub(super) fn of_prompt(library: &'c Library, prompt: &Prompt) -> Self {
        let content = prompt.messages.first().map(|message| &message.content);
        let version = content.and_then(Content::stored);
        Self::of_project(library, version)
            .unwrap_or_else(|| Self::of_file(library, content.and_then(Content::file)))
    }

    pub(super) fn of_document(library: &'c Library, document: &Document) -> Self {
        Self::of_project(library, document.stored())
            .unwrap_or_else(|| Self::of_file(library, document.file()))
    }

    fn of_project(library: &'c Library, version: Option<&StoredVersion>) -> Option<Self> {
        let (workspace, project) = library.stored()?;
        let version = version.map(|version| version.number);
        Some(Self::Project {
            project,
            workspace,
            version,
        })
    }
}

/// The flags that name the served project in suggested commands.
pub(super) fn project_flags(catalog: &Catalog) -> String {
    let project = catalog.project().and_then(|library| library.stored());
    let flags = project.map(|(workspace, name)| format!("{} -p {name}", workspace_flag(workspace)));
    flags.unwrap_or_default()
}
