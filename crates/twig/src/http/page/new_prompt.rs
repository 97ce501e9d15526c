//! Prompts of projects that are made and deleted on the page.

use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use twig_core::store::{
    Author, Change, GivenContent, ItemDraft, ItemKind, ItemWrite, Noun, StoreError, StoreName,
    Write, Written,
};
use twig_core::{Catalog, Library};
use twig_page::ProjectChoice;

use super::answers::{PageVisit, parameter};
use super::edit::expected_digest;
use super::item::{EditedItem, ItemPlace, PageItem, PageRefusal};
use super::save::store_refusal;
use super::{fragment, json};

/// A prompt to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPromptRequest {
    workspace: String,
    project: String,
    name: String,
    #[serde(default)]
    description: String,
    text: String,
}

/// What was made.
#[derive(Serialize)]
struct NewPromptAnswer {
    /// Its full name, by which it is shown.
    name: String,
    version: u64,
}

/// Makes a prompt in a project.
pub(super) async fn create(
    visit: &PageVisit,
    asked: NewPromptRequest,
) -> Result<Response, PageRefusal> {
    let catalog = block_in_place(|| visit.catalog());
    let place = Some((&*asked.workspace, &*asked.project));
    let library = catalog.sources().find(|it| it.stored() == place);
    let library = library.ok_or_else(PageRefusal::missing)?;
    if !visit.may_write(library) {
        return Err(PageRefusal::forbidden(
            "Your roles do not let you write to this project.",
        ));
    }
    let change = Change::Create(ItemDraft {
        content: GivenContent::Text(asked.text),
        description: Some(asked.description.trim())
            .filter(|it| !it.is_empty())
            .map(Into::into),
        uri: None,
        mime: None,
    });
    let written = visit
        .write_to(library, ItemKind::Prompt, &asked.name, change, None)
        .await;
    let written = written.map_err(|error| store_refusal(&error, "made"))?;
    let catalog = block_in_place(|| visit.catalog());
    let full_name = full_name(&catalog, place, &asked.name);
    Ok(json(&NewPromptAnswer {
        name: full_name.unwrap_or(asked.name),
        version: written.version,
    }))
}

/// Deletes a prompt of a project; its versions stay.
pub(super) async fn delete(
    visit: &PageVisit,
    parts: &Parts,
    query: &str,
) -> Result<Response, PageRefusal> {
    let expected = expected_digest(parts)?;
    let found = block_in_place(|| visit.find_item(&PageItem::of_query(query)))?;
    let ItemPlace::Stored {
        kind: ItemKind::Prompt,
        version,
    } = &found.place
    else {
        return Err(PageRefusal::forbidden(
            "Only prompts of projects are deleted here; remove files in a terminal.",
        ));
    };
    visit.editable(&found)?;
    let changed = || {
        PageRefusal::new(
            StatusCode::PRECONDITION_FAILED,
            "It was changed in the meantime: look at it again before you delete it.",
        )
    };
    if version.digest != expected {
        return Err(changed());
    }
    let written = visit
        .write_item(&found, Change::Delete, Some(version.number))
        .await;
    match written {
        Ok(written) => Ok(json(&NewPromptAnswer {
            name: found.name,
            version: written.version,
        })),
        Err(StoreError::Stale { .. }) => Err(changed()),
        Err(error) => Err(store_refusal(&error, "deleted")),
    }
}

fn full_name(catalog: &Catalog, place: Option<(&str, &str)>, name: &str) -> Option<String> {
    let library = catalog.sources().find(|it| it.stored() == place)?;
    let mut prompts = library.prompts.iter();
    let prompt = prompts.find(|it| it.name.as_str() == name)?;
    Some(prompt.full_name.to_string())
}

impl PageVisit {
    /// The screen with the form of a new prompt.
    pub(super) fn new_screen(&self, parts: &Parts, query: &str) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let catalog = self.catalog();
            let projects = catalog.sources().filter(|library| self.may_write(library));
            let projects = projects.filter_map(|library| library.stored());
            let projects: Vec<ProjectChoice<'_>> = projects
                .map(|(workspace, project)| ProjectChoice { workspace, project })
                .collect();
            let chosen = parameter(query, "project").unwrap_or_default();
            let why = self.scope.check().err();
            let html = twig_page::new_prompt(&projects, &chosen, why).into_string();
            Ok(fragment(parts, html))
        })
    }

    /// Writes a change of an item, as this visitor.
    pub(super) async fn write_item(
        &self,
        found: &EditedItem,
        change: Change,
        expected: Option<u64>,
    ) -> Result<Written, StoreError> {
        let kind = match &found.place {
            ItemPlace::Stored { kind, .. } => *kind,
            ItemPlace::File(_) => ItemKind::Prompt,
        };
        self.write_to(&found.library, kind, &found.name, change, expected)
            .await
    }

    async fn write_to(
        &self,
        library: &Library,
        kind: ItemKind,
        name: &str,
        change: Change,
        expected: Option<u64>,
    ) -> Result<Written, StoreError> {
        // The name of a new item is checked with the words of the store.
        let name = StoreName::parse(kind.noun(), name)?;
        let stored = block_in_place(|| self.writable_item(library, kind, name.as_str()));
        let Some(stored) = stored else {
            let (workspace, project) = library.stored().unwrap_or_default();
            return Err(StoreError::NoProject {
                project: StoreName::parse(Noun::Project, project)?,
                workspace: StoreName::parse(Noun::Workspace, workspace)?,
            });
        };
        let write = Write::Item(Box::new(ItemWrite {
            project: stored.project.clone(),
            kind,
            name,
            change,
            expected,
            author: Author::Person,
        }));
        self.write_in(&stored.place, write).await
    }
}
