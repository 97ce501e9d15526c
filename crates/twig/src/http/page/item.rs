//! What the editor names: a prompt, a document or a manifest of the catalog, and never a path.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use twig_clients::clients::percent_encoded;
use twig_core::parse::library::MANIFEST;
use twig_core::store::ItemKind;
use twig_core::{
    Catalog, Content, Document, DocumentSource, Library, LibraryKind, Lookup, PromptRef,
    RelativePath, StoredVersion,
};
use twig_sources::{EditedFile, EditedTrust};

use super::answers::{PageVisit, parameter};
use super::said;

/// The name of an item: one of the three is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<String>,
    /// Which of the prompt's messages; the first with a text if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<String>,
    /// The library whose manifest it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<String>,
}

/// Why a request of the editor is refused: an answer in one sentence.
#[derive(Debug, Clone)]
pub(super) struct PageRefusal {
    pub(super) status: StatusCode,
    pub(super) why: String,
}

/// An item that was found.
#[derive(Debug)]
pub(super) struct EditedItem {
    pub(super) library: Arc<Library>,
    pub(super) place: ItemPlace,
    /// Its own name.
    pub(super) name: String,
    /// The line at which its text starts, if there is more in the file.
    pub(super) line: Option<u32>,
}

/// Where the text of an item is.
#[derive(Debug, Clone)]
pub(super) enum ItemPlace {
    /// A file of the library.
    File(RelativePath),
    /// A version in the store of a project.
    Stored {
        kind: ItemKind,
        version: StoredVersion,
    },
}

impl PageRefusal {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }

    pub(super) fn missing() -> Self {
        let why = "It is not there any more: it was renamed or removed, or you may not read it.";
        Self::new(StatusCode::NOT_FOUND, why)
    }

    pub(super) fn forbidden(why: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, why)
    }

    pub(super) fn answer(&self) -> Response {
        said(self.status, &self.why)
    }
}

impl PageItem {
    /// Reads an item from a query.
    pub(super) fn of_query(query: &str) -> Self {
        let value = |key| parameter(query, key);
        Self {
            prompt: value("prompt"),
            message: value("message").and_then(|it| it.parse().ok()),
            document: value("document"),
            manifest: value("manifest"),
        }
    }

    /// A prompt.
    pub(super) fn named(name: &str) -> Self {
        Self {
            prompt: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// A document.
    pub(super) fn with_uri(uri: &str) -> Self {
        Self {
            document: Some(uri.to_owned()),
            ..Self::default()
        }
    }

    /// The query that names it.
    pub(super) fn query(&self) -> String {
        let message = self.message.map(|at| at.to_string());
        let parts = [
            ("prompt", &self.prompt),
            ("message", &message),
            ("document", &self.document),
            ("manifest", &self.manifest),
        ];
        let parts = parts.into_iter().filter_map(|(key, value)| {
            let value = percent_encoded(value.as_deref()?);
            Some(format!("{key}={value}"))
        });
        parts.collect::<Vec<_>>().join("&")
    }

    /// The manifest of a library.
    pub(super) fn manifest_of(library: &str) -> Self {
        Self {
            manifest: Some(library.to_owned()),
            ..Self::default()
        }
    }

    /// What it is called in the request.
    pub(super) fn name(&self) -> &str {
        let names = [&self.prompt, &self.document, &self.manifest];
        let mut names = names.into_iter().filter_map(|it| it.as_deref());
        names.next().unwrap_or_default()
    }

    /// Finds it in what a visitor may read.
    pub(super) fn find(&self, catalog: &Catalog) -> Result<EditedItem, PageRefusal> {
        match (&self.prompt, &self.document, &self.manifest) {
            (Some(name), None, None) => {
                let Lookup::Found(found) = catalog.find(name) else {
                    return Err(PageRefusal::missing());
                };
                self.of_prompt(found)
            }
            (None, Some(uri), None) => {
                let found = catalog.document(uri).ok_or_else(PageRefusal::missing)?;
                Ok(of_document(found.library, found.document))
            }
            (None, None, Some(name)) => {
                let library = catalog.library(name).ok_or_else(PageRefusal::missing)?;
                of_manifest(library)
            }
            _ => Err(PageRefusal::new(
                StatusCode::BAD_REQUEST,
                "A request names one prompt, one document or one manifest.",
            )),
        }
    }

    fn of_prompt(&self, found: PromptRef<'_>) -> Result<EditedItem, PageRefusal> {
        let PromptRef { library, prompt } = found;
        if let Some(function) = prompt.function() {
            let why = format!(
                "A program makes this prompt ({}), and programs are not edited here.",
                function.file()
            );
            return Err(PageRefusal::forbidden(why));
        }
        let mut messages = prompt.messages.iter();
        let message = match self.message {
            Some(at) => messages.nth(at).filter(|it| is_own_text(&it.content)),
            None => messages.find(|it| is_own_text(&it.content)),
        };
        let Some(message) = message else {
            return Err(PageRefusal::forbidden(if prompt.messages.is_empty() {
                "This prompt has no text now: its file was deleted, or its entry in the manifest has a mistake."
            } else {
                "This prompt has no text of its own."
            }));
        };
        let place = match &message.content {
            Content::Stored(version) => {
                let mut own = library.prompts.iter();
                if !own.any(|it| std::ptr::eq(&raw const **it, prompt)) {
                    let why = format!(
                        "A label names this version, which never changes: edit `{}` and move the label.",
                        prompt.name
                    );
                    return Err(PageRefusal::forbidden(why));
                }
                ItemPlace::Stored {
                    kind: ItemKind::Prompt,
                    version: *version,
                }
            }
            content => match content.file() {
                Some(path) => ItemPlace::File(path.clone()),
                None => return of_manifest(library).map(|found| found.at(content.line())),
            },
        };
        Ok(EditedItem {
            name: prompt.name.to_string(),
            library: Arc::clone(library),
            place,
            line: None,
        })
    }
}

/// True if a message has a text that somebody wrote for it.
pub(super) fn is_own_text(content: &Content) -> bool {
    matches!(
        content,
        Content::File(_) | Content::Stored(_) | Content::Text { .. } | Content::Braces { .. }
    )
}

fn of_document(library: &Arc<Library>, document: &Document) -> EditedItem {
    EditedItem {
        library: Arc::clone(library),
        place: match &document.source {
            DocumentSource::File(path) => ItemPlace::File(path.clone()),
            DocumentSource::Stored(version) => ItemPlace::Stored {
                kind: ItemKind::Resource,
                version: *version,
            },
        },
        name: document.name.to_string(),
        line: None,
    }
}

fn of_manifest(library: &Arc<Library>) -> Result<EditedItem, PageRefusal> {
    let path = RelativePath::parse(MANIFEST).ok();
    let path = path.filter(|_| library.kind == LibraryKind::Twig);
    let path = path.ok_or_else(|| PageRefusal::forbidden("This library has no manifest."))?;
    Ok(EditedItem {
        library: Arc::clone(library),
        place: ItemPlace::File(path),
        name: MANIFEST.to_owned(),
        line: None,
    })
}

impl EditedItem {
    fn at(self, line: Option<u32>) -> Self {
        Self { line, ..self }
    }

    /// Where it is, in words.
    pub(super) fn shown_place(&self) -> String {
        let library = &self.library;
        match (&self.place, library.stored()) {
            (ItemPlace::File(path), _) => format!("{}/{path}", library.name),
            (ItemPlace::Stored { .. }, Some((workspace, project))) => {
                format!("project {project} of workspace {workspace}")
            }
            (ItemPlace::Stored { .. }, None) => library.name.to_string(),
        }
    }

    /// Its file, if it is one.
    pub(super) fn file(&self) -> Option<&RelativePath> {
        match &self.place {
            ItemPlace::File(path) => Some(path),
            ItemPlace::Stored { .. } => None,
        }
    }

    /// The path by which problems name it.
    pub(super) fn path(&self) -> Option<String> {
        self.file().map(|path| self.library.path_of(path))
    }

    pub(super) fn is_manifest(&self) -> bool {
        self.library.kind == LibraryKind::Twig
            && self.file().is_some_and(|path| path.as_str() == MANIFEST)
    }
}

impl PageVisit {
    /// Whether a visitor may edit an item, and what that means for trust.
    pub(super) fn editable(&self, found: &EditedItem) -> Result<EditedTrust, PageRefusal> {
        self.scope.check().map_err(PageRefusal::forbidden)?;
        match &found.place {
            ItemPlace::File(_) if !self.is_owner => Err(PageRefusal::forbidden(
                "Files are edited by the user whose server this is: people edit prompts of projects.",
            )),
            ItemPlace::File(path) => {
                let settings = self.shared.service.live.settings();
                let checked = EditedFile::check(settings, &found.library, path);
                checked.map_err(|error| PageRefusal::forbidden(format!("`{path}` {error}.")))
            }
            ItemPlace::Stored { kind, .. } if *kind != ItemKind::Prompt && !self.is_owner => Err(
                PageRefusal::forbidden("People edit the prompts of projects, and no documents."),
            ),
            ItemPlace::Stored { .. } if self.may_write(&found.library) => {
                Ok(EditedTrust::Untouched)
            }
            ItemPlace::Stored { .. } => Err(PageRefusal::forbidden(
                "Your roles do not let you write to this project.",
            )),
        }
    }
}
