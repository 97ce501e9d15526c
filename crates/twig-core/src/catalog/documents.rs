//! The documents of all libraries, by URI.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Catalog;
use crate::document::{Document, UriTemplate};
use crate::model::{Content, Library, Prompt};
use crate::problem::{Problem, ProblemCode, Severity};
use crate::suggest;
use crate::uri::decode;

/// A document together with the library it is in.
#[derive(Debug, Clone, Copy)]
pub struct DocumentRef<'c> {
    /// The library.
    pub library: &'c Arc<Library>,
    /// The document.
    pub document: &'c Document,
}

/// A template together with the library it is in.
#[derive(Debug, Clone, Copy)]
pub struct TemplateRef<'c> {
    /// The library.
    pub library: &'c Arc<Library>,
    /// The template.
    pub template: &'c UriTemplate,
}

#[derive(Debug, Default)]
pub(super) struct DocumentIndex {
    /// Places of all documents that are served, sorted by URI.
    listed: Vec<DocumentPosition>,
    /// The same by URI, short ones too.
    by_uri: HashMap<Box<str>, DocumentPosition>,
    /// Documents that are not offered, but can be embedded, by URI.
    unlisted: BTreeMap<Box<str>, DocumentPosition>,
}

#[derive(Debug, Clone, Copy)]
struct DocumentPosition {
    library: u32,
    document: u32,
}

impl DocumentIndex {
    /// Indexes documents; if two have the same URI, the one of the more important library is
    /// served.
    pub(super) fn new(catalog: &Catalog, problems: &mut Vec<Problem>) -> Self {
        let mut index = Self::default();
        let libraries = &catalog.libraries;
        let at = |place: DocumentPosition| &libraries[place.library as usize];
        for (library_at, library) in (0..).zip(libraries) {
            let is_whole = catalog.is_whole(library);
            let skills = catalog.offered_skills(library);
            // The folder of a skill is one of those around its files.
            let is_offered = |uri: &str| {
                let mut slashes = uri.match_indices('/');
                is_whole || slashes.any(|(at, _)| skills.contains(&uri[..=at]))
            };
            for (document_at, document) in (0..).zip(&library.documents) {
                let place = DocumentPosition {
                    library: library_at,
                    document: document_at,
                };
                if !is_offered(&document.uri) {
                    let uris = [Some(&document.uri), document.short_uri.as_ref()];
                    for uri in uris.into_iter().flatten() {
                        index.unlisted.entry(uri.clone()).or_insert(place);
                    }
                    continue;
                }
                if let Some(winner) = index.by_uri.get(&document.uri) {
                    problems.push(taken(library, document, at(*winner)));
                    continue;
                }
                index.by_uri.insert(document.uri.clone(), place);
                index.listed.push(place);
            }
        }
        // Short ones come last: they never replace a full one.
        for place in &index.listed {
            let document = &at(*place).documents[place.document as usize];
            if let Some(short) = &document.short_uri {
                index.by_uri.entry(short.clone()).or_insert(*place);
            }
        }
        let uri = |place: &DocumentPosition| &at(*place).documents[place.document as usize].uri;
        index.listed.sort_by(|one, two| uri(one).cmp(uri(two)));
        index
    }

    /// The place of the library whose document has this URI.
    pub(super) fn library_of(&self, uri: &str) -> Option<u32> {
        self.by_uri.get(uri).map(|place| place.library)
    }
}

impl Catalog {
    /// How many documents there are.
    pub fn document_count(&self) -> usize {
        self.documents.listed.len()
    }

    /// The documents, sorted by URI, from `offset` on.
    pub fn documents(&self, offset: usize) -> impl ExactSizeIterator<Item = DocumentRef<'_>> {
        let rest = self.documents.listed.get(offset..).unwrap_or_default();
        rest.iter().map(|place| self.document_at(*place))
    }

    /// The document with exactly this URI, or a decision with this short URI.
    pub fn document(&self, uri: &str) -> Option<DocumentRef<'_>> {
        let place = self.documents.by_uri.get(uri)?;
        Some(self.document_at(*place))
    }

    /// The same for a document that a prompt embeds: it need not be offered itself.
    pub fn embedded_document(&self, uri: &str) -> Option<DocumentRef<'_>> {
        let unlisted = || Some(self.document_at(*self.documents.unlisted.get(uri)?));
        self.document(uri).or_else(unlisted)
    }

    /// The documents whose URI is this one followed by a single name, sorted, and after them those
    /// that can only be embedded.
    pub fn documents_in<'c, 'f>(
        &'c self,
        folder: &'f str,
    ) -> impl Iterator<Item = DocumentRef<'c>> + use<'c, 'f> {
        let listed = &self.documents.listed;
        let uri = |place: &DocumentPosition| &*self.document_at(*place).document.uri;
        let start = listed.partition_point(|place| uri(place) < folder);
        let below = listed[start..].iter().map(|place| self.document_at(*place));
        let unlisted = self.documents.unlisted.values();
        let unlisted = unlisted.map(|place| self.document_at(*place));
        let unlisted = unlisted.filter(move |found| found.document.uri.starts_with(folder));
        below
            .take_while(move |found| found.document.uri.starts_with(folder))
            .chain(unlisted)
            .filter(move |found| !found.document.uri[folder.len()..].contains('/'))
    }

    /// The possible values of an argument that is a document's name in one of a prompt's URIs,
    /// sorted: the documents in that folder.
    pub fn names_for(&self, prompt: &Prompt, argument: &str) -> Vec<Cow<'_, str>> {
        let Some(at) = prompt.arguments.iter().position(|a| *a.name == *argument) else {
            return Vec::new();
        };
        let mut names: Vec<Cow<'_, str>> = Vec::new();
        for message in &prompt.messages {
            // Documents that a text cannot embed are not offered for it.
            let is_text = matches!(message.content, Content::Braces { .. });
            let fits = |found: &DocumentRef<'_>| found.document.is_text || !is_text;
            for folder in message.content.folders(at) {
                let documents = self.documents_in(folder).filter(fits);
                names.extend(documents.map(|found| decode(&found.document.uri[folder.len()..])));
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The URI templates of all libraries, each once, in order.
    pub fn templates(&self) -> impl Iterator<Item = TemplateRef<'_>> {
        let of_library = |library| {
            let all: &Arc<Library> = library;
            all.templates
                .iter()
                .map(move |template| TemplateRef { library, template })
        };
        let whole = self.libraries().iter().filter(|it| self.is_whole(it));
        let all = whole.flat_map(of_library);
        let mut known: Vec<&UriTemplate> = Vec::new();
        all.filter(move |found| {
            let is_new = !known.contains(&found.template);
            known.push(found.template);
            is_new
        })
    }

    /// The template with exactly this text.
    pub fn template(&self, source: &str) -> Option<TemplateRef<'_>> {
        self.templates()
            .find(|found| found.template.as_str() == source)
    }

    /// URIs similar to one that was not found.
    pub fn near_documents(&self, uri: &str) -> Vec<String> {
        suggest::near(uri, self.documents(0).map(|found| &*found.document.uri))
    }

    /// The document at an index of the list, which has to exist.
    pub(super) fn listed_document(&self, at: usize) -> DocumentRef<'_> {
        self.document_at(self.documents.listed[at])
    }

    fn document_at(&self, place: DocumentPosition) -> DocumentRef<'_> {
        let library = &self.libraries[place.library as usize];
        DocumentRef {
            library,
            document: &library.documents[place.document as usize],
        }
    }
}

fn taken(library: &Library, document: &Document, winner: &Library) -> Problem {
    let message = format!(
        "the URI `{}` is already taken by {}",
        document.uri, winner.shown_root
    );
    let path = library.path_of(document.place());
    Problem::of_file(
        ProblemCode::ShadowedDocument,
        Severity::Warning,
        &path,
        message,
    )
    .with_help("rename one of the two files")
}
