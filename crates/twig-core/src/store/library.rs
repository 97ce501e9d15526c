//! A project as a library of the catalog: content verbatim, and bare names if it is selected.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::label::LabelledVersion;
use super::name::{ItemKind, StoreName};
use super::version::{Item, Project, Version};
use crate::body::Stamp;
use crate::document::{Document, DocumentSource};
use crate::model::{
    Content, Dialect, LabelledPrompt, Library, LibraryAbout, LibraryKind, LibraryOrigin,
    MessageSource, Prompt, Role,
};
use crate::name::{LibraryName, PromptName};
use crate::state_hash::StateHash;
use crate::stored_version::{StoredVersion, VersionAuthor};

/// Builds a library from a project. Its name is stored in [`LibraryAbout::title`]: a library's own
/// name allows fewer characters.
#[allow(clippy::missing_panics_doc, reason = "the word is a name")]
pub fn library(project: &Project, workspace: &str) -> Library {
    let name = project.name.as_str();
    let mut hash = StateHash::default();
    let mut prompts = Vec::new();
    let mut documents = Vec::new();
    let mut labelled = Vec::new();
    for item in &project.items {
        let mut add = |part: &[u8]| hash.part(part);
        add(item.kind.as_str().as_bytes());
        add(item.name.as_str().as_bytes());
        add(&item.head.number.to_le_bytes());
        add(&item.head.content.digest);
        for LabelledVersion { label, version } in &item.labels {
            add(label.as_str().as_bytes());
            add(&version.number.to_le_bytes());
            if item.kind == ItemKind::Prompt {
                labelled.push(LabelledPrompt {
                    label: label.as_str().into(),
                    prompt: Arc::new(labelled_prompt(&item.name, label.as_str(), version)),
                });
            }
        }
        match item.kind {
            ItemKind::Prompt => prompts.push(Arc::new(prompt(&item.name, &item.head))),
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
        state: hash.end(),
        function_sources: Vec::new(),
        documents_beside: None,
        package: None,
        listing: crate::model::ListingRules::default(),
        loaded_by: Vec::new(),
        labelled,
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
    let labelled = library.labelled.iter_mut().map(|it| &mut it.prompt);
    for prompt in library.prompts.iter_mut().chain(labelled) {
        let full_name = format!("{name}{separator}{}", prompt.full_name);
        Arc::make_mut(prompt).full_name = full_name.into();
    }
    library
}

fn labelled_prompt(name: &StoreName, label: &str, version: &Version) -> Prompt {
    Prompt {
        full_name: format!("{name}@{label}").into(),
        ..prompt(name, version)
    }
}

fn prompt(name: &StoreName, version: &Version) -> Prompt {
    Prompt {
        name: PromptName::of_store(name.as_str()),
        full_name: name.as_str().into(),
        title: None,
        description: version.description.clone(),
        arguments: Vec::new().into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Stored(stored(version)),
        }],
        dialect: Dialect::Verbatim,
        unavailable: None,
        written: Some(Box::new(VersionAuthor {
            author: version.author.clone(),
            at: version.at.0,
        })),
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
        source: DocumentSource::Stored(stored(head)),
        size: head.content.size,
        modified: Some(head.at.0.div_euclid(1_000)),
        version: Stamp::of_stored(&stored(head)).0,
    }
}

fn stored(version: &Version) -> StoredVersion {
    StoredVersion {
        digest: version.content.digest,
        number: version.number,
    }
}
