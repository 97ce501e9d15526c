//! Where a prompt or a document comes from: a file of a library, or a version in a project.

use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::store::{Item, ItemKind, Noun, Store, StoreError, StoreName};
use twig_core::{
    Catalog, Content, Document, Library, Prompt, PromptRef, RelativePath, StoredVersion,
};
use twig_sources::Access;

use super::opened_catalog::OpenedCatalog;
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

    /// The library or the project.
    pub(super) fn library(&self) -> &'c str {
        match self {
            Self::File { library, .. } => library,
            Self::Project { project, .. } => project,
        }
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

/// Where the store has a prompt that was not found, as a hint.
pub(super) fn stored_elsewhere(
    opened: &OpenedCatalog,
    catalog: &Catalog,
    name: &str,
) -> Option<String> {
    let has_it =
        |found: &PromptRef<'_>| found.library.is_offered() && found.prompt.name.as_str() == name;
    let here: Vec<PromptRef<'_>> = catalog.prompts(0).filter(has_it).collect();
    match &*here {
        [] => {}
        [found] => {
            let (_, project) = found.library.stored()?;
            let full_name = &found.prompt.full_name;
            return Some(format!("project `{project}` has it: use `{full_name}`"));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|it| &*it.prompt.full_name).collect();
            let names = names.join("`, `");
            return Some(format!("several projects have it: use one of `{names}`"));
        }
    }
    let (project, own) = match name.split_once(opened.config.separator.as_str()) {
        Some((project, own)) => (Some(StoreName::parse(Noun::Project, project).ok()?), own),
        None => (None, name),
    };
    let own = StoreName::parse(Noun::Prompt, own).ok()?;
    let workspaces = opened.config.store.place(&opened.places).ok()??;
    let names = workspaces.list().ok()?;
    let several = names.len() > 1;
    let found = names.iter().take(MOST_SEARCHED).find_map(|workspace| {
        let limits = &opened.config.limits;
        let store = workspaces.open(workspace, Access::Read, limits).ok()?;
        let project = project_with(&store, project.as_ref(), &own).ok()??;
        Some((workspace, project))
    });
    let (workspace, project) = found?;
    let place = if several {
        format!(" of workspace `{workspace}`")
    } else {
        String::new()
    };
    let flags = format!("{} -p {project}", workspace_flag(workspace.as_str()));
    let flags = flags.trim_start();
    Some(if *name == *own.as_str() {
        format!("project `{project}`{place} has it: add `{flags}`")
    } else {
        format!("project `{project}`{place} has it: use `{own} {flags}`")
    })
}

/// How many workspaces are searched for a prompt that was not found.
const MOST_SEARCHED: usize = 32;

/// The first project that has a prompt with this name: the named one, or any.
fn project_with(
    store: &dyn Store,
    named: Option<&StoreName>,
    prompt: &StoreName,
) -> Result<Option<StoreName>, StoreError> {
    for summary in store.projects()? {
        if named.is_some_and(|named| *named != summary.name) {
            continue;
        }
        let project = store.project(&summary.name)?;
        let items = project.map_or_else(Vec::new, |project| project.items);
        let is_it = |item: &Item| item.kind == ItemKind::Prompt && item.name == *prompt;
        if items.iter().any(is_it) {
            return Ok(Some(summary.name));
        }
    }
    Ok(None)
}
