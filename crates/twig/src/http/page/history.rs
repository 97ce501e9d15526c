//! The versions of a prompt or document in a project, and two of them compared.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use twig_core::access::{AccessRights, Verbs};
use twig_core::problem::shell_word;
use twig_core::store::{
    Author, Change, ItemKind, ItemWrite, Noun, StoreError, StoreName, Timestamp, VersionChoice,
    VersionQuery, Write, Written,
};
use twig_core::{Library, Lookup, RelativePath};
use twig_mcp::{FoundVersions, VersionsRequest, Work, WorkOutcome};
use twig_page::{
    ComparedVersions, FileHistoryView, FileRestore, HistoryItem, HistoryView, ReplacedFile,
    ShownVersions, TextComparison,
};

use super::answers::{PageVisit, parameter};
use super::edit::shown_digest;
use super::item::{EditedItem, PageItem};
use super::{json, said};
use crate::jobs::JobPlace;
use crate::text_diff::version_text;

/// Versions on one page.
const VERSIONS: usize = 50;

/// Which version to restore.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RestoreRequest {
    name: Option<String>,
    uri: Option<String>,
    version: u64,
    /// The newest version that the visitor knows.
    expected: u64,
}

/// What became of it.
#[derive(Serialize)]
struct RestoreAnswer {
    version: u64,
    message: String,
}

/// A prompt or resource in the store of its project.
pub(super) struct StoredItem {
    pub(super) place: JobPlace,
    pub(super) project: StoreName,
    kind: ItemKind,
    name: StoreName,
}

impl StoredItem {
    /// Asks for its newest version.
    fn query(&self) -> VersionQuery {
        VersionQuery {
            project: self.project.clone(),
            kind: self.kind,
            name: self.name.clone(),
            before: None,
            most: 1,
            only: None,
        }
    }
}

impl PageVisit {
    /// The screen of versions that a query asks for.
    pub(super) async fn history(&self, query: &str) -> Result<String, StatusCode> {
        let number = |key: &str| parameter(query, key).and_then(|it| it.parse::<u64>().ok());
        let catalog = block_in_place(|| self.catalog());
        let (name, uri) = (parameter(query, "name"), parameter(query, "uri"));
        let (item, library, kind, own_name, file) = if let Some(name) = &name {
            let Lookup::Found(found) = catalog.find(name) else {
                return Err(StatusCode::NOT_FOUND);
            };
            let mut messages = found.prompt.messages.iter();
            (
                HistoryItem::Prompt(&found.prompt.full_name, found.library.name.as_str()),
                found.library,
                ItemKind::Prompt,
                found.prompt.name.as_str(),
                messages.find_map(|message| message.content.file()),
            )
        } else {
            let uri = uri.as_deref().ok_or(StatusCode::BAD_REQUEST)?;
            let found = catalog.document(uri).ok_or(StatusCode::NOT_FOUND)?;
            (
                HistoryItem::Document(&found.document.uri, found.library.name.as_str()),
                found.library,
                ItemKind::Resource,
                &*found.document.name,
                found.document.file(),
            )
        };
        let Some(stored) = self.stored_item(library, kind, own_name) else {
            let edited = match item {
                HistoryItem::Prompt(name, _) => PageItem::named(name),
                HistoryItem::Document(uri, _) => PageItem::with_uri(uri),
            };
            let chosen = parameter(query, "replaced");
            let is_restore = parameter(query, "restore").as_deref() == Some("1");
            return Ok(block_in_place(|| {
                let log = self.log_command(library, file);
                self.file_history(item, &edited, log.as_deref(), chosen.as_deref(), is_restore)
            }));
        };
        let newest = self.found(&stored, stored.query(), true).await?;
        let labels = newest.labels;
        let newest = newest.versions.first().map_or(0, |version| version.number);
        let page = VersionQuery {
            before: number("before"),
            // One more says whether there is another page.
            most: VERSIONS + 1,
            ..stored.query()
        };
        let mut versions = self.found(&stored, page, false).await?.versions;
        let has_older = versions.len() > VERSIONS;
        versions.truncate(VERSIONS);
        let compared = match number("from").zip(number("to")) {
            Some((from, to)) => Some(ComparedVersions {
                from,
                to,
                result: self.compared(&stored, from, to).await,
            }),
            None => None,
        };
        let view = HistoryView {
            item,
            versions: ShownVersions {
                versions: &versions,
                labels: &labels,
                newest,
                has_older,
            },
            compared,
            may_write: self.may_write(library),
        };
        Ok(block_in_place(|| twig_page::history(&view).into_string()))
    }

    /// Whether the visitor may write to a project.
    pub(super) fn may_write(&self, library: &Library) -> bool {
        let Some((workspace, project)) = library.stored() else {
            return false;
        };
        let workspace = StoreName::parse(Noun::Workspace, workspace);
        let (Ok(workspace), Ok(project)) = (workspace, StoreName::parse(Noun::Project, project))
        else {
            return false;
        };
        let rights = self.caller.admission.rights();
        let may = |rights: &AccessRights| rights.on_project(&workspace, &project).has(Verbs::WRITE);
        self.scope.check().is_ok() && rights.is_none_or(may)
    }

    /// Restores a version, if nothing was written since the visitor saw the last one.
    pub(super) async fn restore(&self, asked: RestoreRequest) -> Response {
        if let Err(why) = self.scope.check() {
            return said(StatusCode::FORBIDDEN, why);
        }
        let catalog = block_in_place(|| self.catalog());
        let found = match (&asked.name, &asked.uri) {
            (Some(name), _) => match catalog.find(name) {
                Lookup::Found(it) => Some((it.library, ItemKind::Prompt, it.prompt.name.as_str())),
                _ => None,
            },
            (None, Some(uri)) => catalog
                .document(uri)
                .map(|it| (it.library, ItemKind::Resource, &*it.document.name)),
            (None, None) => None,
        };
        let stored = found.and_then(|(library, kind, name)| {
            let stored = block_in_place(|| self.writable_item(library, kind, name))?;
            Some((stored, self.may_write(library)))
        });
        let Some((stored, may_write)) = stored else {
            return said(StatusCode::NOT_FOUND, "It is not in a project any more.");
        };
        if !may_write {
            let why = "Your roles do not let you write to this project.";
            return said(StatusCode::FORBIDDEN, why);
        }
        let write = Write::Item(Box::new(ItemWrite {
            project: stored.project.clone(),
            kind: stored.kind,
            name: stored.name.clone(),
            change: Change::Restore {
                version: Some(asked.version),
            },
            expected: Some(asked.expected),
            author: Author::Person,
        }));
        match self.write_in(&stored.place, write).await {
            Ok(written) => json(&RestoreAnswer {
                version: written.version,
                message: if written.is_new {
                    format!("Restored: it is version {} now", written.version)
                } else {
                    format!("Version {} is the same already", written.version)
                },
            }),
            Err(StoreError::Stale { .. }) => said(
                StatusCode::PRECONDITION_FAILED,
                "It was changed in the meantime: look at the newest version, then restore again.",
            ),
            Err(error) => said(
                StatusCode::CONFLICT,
                &format!("It was not restored: {error}."),
            ),
        }
    }

    /// Writes, as this visitor.
    pub(super) async fn write_in(
        &self,
        place: &JobPlace,
        write: Write,
    ) -> Result<Written, StoreError> {
        match self.run_in(place, Work::Write(Box::new(write)), None).await {
            WorkOutcome::Write(written) => written,
            _ => Err(StoreError::Unavailable("the server is busy".to_owned())),
        }
    }

    /// Where the versions of an item are; `None` if it is a file.
    pub(super) fn stored_item(
        &self,
        library: &Library,
        kind: ItemKind,
        name: &str,
    ) -> Option<StoredItem> {
        let (_, project) = library.stored()?;
        let store = self.caller.view.store_of(&self.shared.service, library)?;
        Some(StoredItem {
            place: JobPlace {
                searched: None,
                store: Some(store),
            },
            project: StoreName::parse(Noun::Project, project).ok()?,
            kind,
            name: StoreName::parse(kind.noun(), name).ok()?,
        })
    }

    /// The same in a store that can be written to.
    pub(super) fn writable_item(
        &self,
        library: &Library,
        kind: ItemKind,
        name: &str,
    ) -> Option<StoredItem> {
        let mut stored = self.stored_item(library, kind, name)?;
        if self.shared.service.place.store.is_none() {
            // What lists are read from is perhaps open for reading alone.
            let (workspace, _) = library.stored()?;
            let workspace = StoreName::parse(Noun::Workspace, workspace).ok()?;
            stored.place.store = self.shared.views.store(&workspace);
        }
        Some(stored)
    }

    /// The screen of a file: its versions that were replaced here, and a command for older ones.
    fn file_history(
        &self,
        item: HistoryItem<'_>,
        edited: &PageItem,
        log: Option<&str>,
        chosen: Option<&str>,
        is_restore: bool,
    ) -> String {
        let found = self.find_item(edited).ok();
        let found = found.filter(|found| found.file().is_some());
        let versions = found.iter().flat_map(|found| {
            let versions = self.replaced_versions(&found.library, found.file());
            versions.into_iter().map(|version| ReplacedFile {
                at: Timestamp(i64::try_from(version.at).unwrap_or(i64::MAX)),
                size: version.size,
                digest: shown_digest(&version.digest),
            })
        });
        let replaced: Vec<ReplacedFile> = versions.collect();
        let current = found.as_ref().map(|found| self.current(found));
        let expected = match (&found, &current) {
            (Some(found), Some(Ok(current))) if self.editable(found).is_ok() => {
                Some(shown_digest(&current.digest))
            }
            _ => None,
        };
        let source = edited.query();
        let restore = expected.as_deref().map(|expected| FileRestore {
            source: &source,
            expected,
            is_asked: is_restore,
        });
        let compared = chosen.zip(found.as_ref()).map(|(digest, found)| {
            let before = self.replaced_text(found, digest).map_err(|it| it.why)?;
            let now = match &current {
                Some(Ok(now)) => &*now.text,
                Some(Err(refusal)) => return Err(refusal.why.clone()),
                None => "",
            };
            let is_back = restore.is_some_and(|it| it.is_asked);
            let (from, to) = if is_back {
                (now, &*before)
            } else {
                (&*before, now)
            };
            Ok(twig_page::compare(from, to))
        });
        let place = found.as_ref().map(EditedItem::shown_place);
        let view = FileHistoryView {
            item,
            command: log,
            replaced: &replaced,
            place: place.as_deref(),
            chosen,
            compared,
            restore,
        };
        twig_page::file_history(&view).into_string()
    }

    /// A command that shows the history of a file, for those whose machine this is.
    fn log_command(&self, library: &Library, file: Option<&RelativePath>) -> Option<String> {
        let file = file.filter(|_| self.is_owner && library.stored().is_none())?;
        let (root, file) = (shell_word(&library.root), shell_word(file.as_str()));
        Some(format!("git -C {root} log --follow -p -- {file}"))
    }

    /// Versions, or what the browser is answered if there are none.
    async fn found(
        &self,
        stored: &StoredItem,
        query: VersionQuery,
        wants_labels: bool,
    ) -> Result<FoundVersions, StatusCode> {
        let found = self.ask(stored, query, wants_labels).await;
        found.map_err(|error| match error {
            StoreError::Missing { .. } | StoreError::NoProject { .. } => StatusCode::NOT_FOUND,
            error => {
                tracing::warn!("the versions of a prompt cannot be read: {error}");
                StatusCode::SERVICE_UNAVAILABLE
            }
        })
    }

    async fn ask(
        &self,
        stored: &StoredItem,
        query: VersionQuery,
        wants_labels: bool,
    ) -> Result<FoundVersions, StoreError> {
        let request = VersionsRequest {
            wants_content: query.only.is_some(),
            query,
            wants_labels,
        };
        let work = Work::Versions(Box::new(request));
        match self.run_in(&stored.place, work, None).await {
            WorkOutcome::Versions(found) => found,
            _ => Err(StoreError::Unavailable("the server is busy".to_owned())),
        }
    }

    /// The difference of two versions; the error is a sentence for the page.
    async fn compared(
        &self,
        stored: &StoredItem,
        from: u64,
        to: u64,
    ) -> Result<TextComparison, String> {
        let before = self.version_text(stored, from).await?;
        let after = self.version_text(stored, to).await?;
        Ok(block_in_place(|| twig_page::compare(&before, &after)))
    }

    /// The text of a version; version 0 has none.
    async fn version_text(&self, stored: &StoredItem, number: u64) -> Result<String, String> {
        if number == 0 {
            return Ok(String::new());
        }
        let gone = || format!("Version {number} is not kept.");
        let query = VersionQuery {
            only: Some(VersionChoice::Number(number)),
            ..stored.query()
        };
        let found = self.ask(stored, query, false).await;
        let found = found.map_err(|error| match error {
            StoreError::NoVersion { .. } => gone(),
            _ => "The versions cannot be read now: the log of the server says why.".to_owned(),
        })?;
        let version = found.versions.first().ok_or_else(gone)?;
        Ok(version_text(version, &found.content.unwrap_or_default()))
    }
}
