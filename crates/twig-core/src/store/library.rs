//! A project as a library of the catalog: bare names, content verbatim.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::name::ItemKind;
use super::version::{Digest, Item, Project, hex, read_hex};
use crate::document::Document;
use crate::model::{About, Content, Dialect, Kind, Library, MessageSource, Prompt, Role};
use crate::name::{LibraryName, PromptName, RelativePath};

/// Makes a library of a project. Its name is kept in [`About::title`]: a library's own name knows
/// fewer characters.
#[allow(clippy::missing_panics_doc, reason = "the word is a name")]
pub fn library(project: &Project, workspace: &str) -> Library {
    let name = project.name.as_str();
    let mut hash = Sha256::new();
    let mut prompts = Vec::new();
    let mut documents = Vec::new();
    for item in &project.items {
        for part in [
            item.kind.as_str().as_bytes(),
            item.name.as_str().as_bytes(),
            &item.head.number.to_le_bytes(),
            &item.head.content.digest,
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        match item.kind {
            ItemKind::Prompt => prompts.push(Arc::new(prompt(item))),
            ItemKind::Resource => documents.push(document(item)),
        }
    }
    documents.sort_by(|one, two| one.uri.cmp(&two.uri));
    let library_name = LibraryName::from_folder(name).or(LibraryName::from_folder("project"));
    Library {
        #[allow(clippy::expect_used, reason = "the word is a name")]
        name: library_name.expect("`project` is a name"),
        kind: Kind::Store,
        is_project: true,
        root: format!("{workspace}/{name}").into(),
        shown_root: format!("project '{name}'").into(),
        about: About {
            title: Some(name.into()),
            ..About::default()
        },
        prompts,
        skills: Vec::new(),
        documents,
        templates: Vec::new(),
        problems: Vec::new(),
        digest: hash.finalize().into(),
        function_sources: Vec::new(),
    }
}

fn prompt(item: &Item) -> Prompt {
    Prompt {
        name: PromptName::of_store(&item.name),
        full_name: item.name.as_str().into(),
        title: None,
        description: item.head.description.clone(),
        arguments: Vec::new(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(path(item)),
        }],
        dialect: Dialect::Verbatim,
        unavailable: None,
    }
}

fn document(item: &Item) -> Document {
    let head = &item.head;
    let digest = &head.content.digest;
    Document {
        uri: head.uri.clone().unwrap_or_default(),
        short_uri: None,
        name: item.name.as_str().into(),
        title: None,
        description: head.description.clone(),
        mime: head.mime.as_deref().unwrap_or_default().to_owned().into(),
        is_text: head.content.is_text,
        path: path(item),
        size: head.content.size,
        modified: Some(head.at.0.div_euclid(1_000)),
        // A new version may hold what the last one held.
        version: number(digest).wrapping_add(head.number),
    }
}

/// A path that no file has: what it leads to never changes, whatever is written meanwhile.
///
/// The same bytes as text and as something else are two things, so it says which.
fn path(item: &Item) -> RelativePath {
    let content = &item.head.content;
    let form = if content.is_text { 't' } else { 'b' };
    let (kind, name, version) = (item.kind.as_str(), &item.name, item.head.number);
    let digest = hex(&content.digest);
    RelativePath::of_store(format!("{kind}s/{name}/{version}/{form}{digest}"))
}

/// The workspace and the project that a library was made of, where it was made of one.
pub fn place_of(library: &Library) -> Option<(&str, &str)> {
    let is_project = library.kind == Kind::Store;
    library.root.split_once('/').filter(|_| is_project)
}

/// The digest of the content that a path of a project's library leads to.
pub fn content_of(path: &RelativePath) -> Option<Digest> {
    read_hex(path.file_name().get(1..)?)
}

/// The version that a path of a project's library leads to.
pub fn version_of(path: &RelativePath) -> Option<u64> {
    path.folder().rsplit('/').next()?.parse().ok()
}

fn number(digest: &Digest) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}
