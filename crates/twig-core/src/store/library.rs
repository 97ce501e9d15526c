//! A project as a library of the catalog: content verbatim, and bare names if it is selected.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::name::ItemKind;
use super::version::{Item, Project};
use crate::body::Stamp;
use crate::document::{Document, DocumentSource};
use crate::model::{
    Content, Dialect, Library, LibraryAbout, LibraryKind, LibraryOrigin, MessageSource, Prompt,
    Role,
};
use crate::name::{LibraryName, PromptName};
use crate::stored_version::StoredVersion;

/// Builds a library from a project. Its name is stored in [`LibraryAbout::title`]: a library's own
/// name allows fewer characters.
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
        kind: LibraryKind::Store,
        origin: LibraryOrigin::Stored {
            workspace: workspace.into(),
            project: name.into(),
        },
        root: format!("{workspace}/{name}").into(),
        shown_root: format!("project `{name}`").into(),
        about: LibraryAbout {
            title: Some(name.into()),
            ..LibraryAbout::default()
        },
        prompts,
        old_names: BTreeMap::new(),
        skills: Vec::new(),
        documents,
        templates: Vec::new(),
        problems: Vec::new(),
        digest: hash.finalize().into(),
        function_sources: Vec::new(),
        documents_beside: None,
        package: None,
        listing: crate::model::ListingRules::default(),
        loaded_by: Vec::new(),
        shell_lines: crate::model::ShellLines::default(),
        workspace: None,
    }
}

/// Builds a library from a project that is not selected: its prompts alone, as `project:prompt`.
pub fn offered_library(project: &Project, workspace: &str, separator: &str) -> Library {
    let name = project.name.as_str();
    let mut library = library(project, workspace);
    library.origin = LibraryOrigin::Offered {
        workspace: workspace.into(),
        project: name.into(),
    };
    library.documents.clear();
    for prompt in &mut library.prompts {
        let full_name = format!("{name}{separator}{}", prompt.name);
        Arc::make_mut(prompt).full_name = full_name.into();
    }
    library
}

fn prompt(item: &Item) -> Prompt {
    Prompt {
        name: PromptName::of_store(item.name.as_str()),
        full_name: item.name.as_str().into(),
        title: None,
        description: item.head.description.clone(),
        arguments: Vec::new().into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Stored(stored(item)),
        }],
        dialect: Dialect::Verbatim,
        unavailable: None,
    }
}

fn document(item: &Item) -> Document {
    let head = &item.head;
    Document {
        uri: head.uri.clone().unwrap_or_default(),
        short_uri: None,
        name: item.name.as_str().into(),
        title: None,
        description: head.description.clone(),
        mime: head.mime.as_deref().unwrap_or_default().to_owned().into(),
        is_text: head.content.is_text,
        source: DocumentSource::Stored(stored(item)),
        size: head.content.size,
        modified: Some(head.at.0.div_euclid(1_000)),
        version: Stamp::of_stored(&stored(item)).0,
    }
}

fn stored(item: &Item) -> StoredVersion {
    StoredVersion {
        digest: item.head.content.digest,
        number: item.head.number,
    }
}
