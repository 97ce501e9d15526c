//! Texts that are not saved yet: what would be wrong with them, as `twig check` says it, and the
//! catalog in which they are rendered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio::task::block_in_place;
use twig_core::check::check;
use twig_core::{Bodies, Catalog, CatalogFilter, Latest, LibraryKind, Problem, World};
use twig_sources::{UnsavedBodies, UnsavedTexts};

use super::answers::PageVisit;
use super::edit::DraftText;
use super::item::{EditedItem, ItemPlace, PageRefusal};
use super::json;
use crate::text_diff::with_line_ends;

/// The most problems that are answered.
const PROBLEMS: usize = 200;

/// The catalog as it would be, and the text that makes it so.
pub(super) struct DraftCatalog {
    pub(super) catalog: Arc<Catalog>,
    pub(super) texts: UnsavedTexts,
}

/// A problem, and the letters that it is about.
#[derive(Debug, Serialize)]
struct DiagnosticRow<'p> {
    line: Option<u32>,
    column: Option<u32>,
    width: usize,
    severity: &'static str,
    code: &'static str,
    message: &'p str,
    help: Option<&'p str>,
}

impl<'p> From<&'p Problem> for DiagnosticRow<'p> {
    fn from(problem: &'p Problem) -> Self {
        Self {
            line: problem.line,
            column: problem.column,
            width: problem.excerpt.as_ref().map_or(1, |excerpt| excerpt.width),
            severity: problem.severity.as_str(),
            code: problem.code.as_str(),
            message: &problem.message,
            help: problem.help.as_deref(),
        }
    }
}

impl PageVisit {
    /// What would be wrong with a text if it were saved.
    pub(super) fn check_draft(&self, draft: &DraftText) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let found = self.find_item(&draft.item)?;
            let made = self.draft(&found, &draft.text)?;
            let problems = self.problems_of(&found, &made)?;
            let rows = problems.iter().take(PROBLEMS).map(DiagnosticRow::from);
            Ok(json(&rows.collect::<Vec<_>>()))
        })
    }

    /// The catalog with a text that is not saved. Only who may save a text can ask for it.
    pub(super) fn draft(
        &self,
        found: &EditedItem,
        text: &str,
    ) -> Result<DraftCatalog, PageRefusal> {
        self.editable(found)?;
        let current = self.current(found)?;
        let mark = if current.has_mark { "\u{feff}" } else { "" };
        let text = [mark, &*with_line_ends(&current.text, text)].concat();
        let library = &found.library;
        let mut texts = UnsavedTexts::default();
        let catalog = match &found.place {
            ItemPlace::Stored { version, .. } => {
                texts.insert_after(*version, text);
                self.catalog()
            }
            ItemPlace::File(path) => {
                texts.insert(PathBuf::from(library.path_of(path)), text);
                let mut only = CatalogFilter::default();
                only.add_root(Path::new(&*library.root));
                let live = &self.shared.service.live;
                // The text of a template is read when it is rendered, and decides nothing else.
                let is_body = library.kind == LibraryKind::Twig
                    && !found.is_manifest()
                    && !library.documents.iter().any(|it| it.file() == Some(path));
                if is_body {
                    let now = live.snapshot();
                    Arc::new(Catalog::filtered(now.sources().cloned(), &only))
                } else {
                    live.with_unsaved(&texts, &only)
                }
            }
        };
        Ok(DraftCatalog { catalog, texts })
    }

    fn problems_of(
        &self,
        found: &EditedItem,
        draft: &DraftCatalog,
    ) -> Result<Vec<Problem>, PageRefusal> {
        let busy = || {
            let why = "The server is busy: the text is checked again in a moment.";
            PageRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let state = self.shared.page.as_ref().ok_or_else(busy)?;
        let catalog = match found.place {
            // Of a project, one prompt is enough: none depends on another.
            ItemPlace::Stored { .. } => {
                let mut library = (*found.library).clone();
                library.prompts.retain(|it| it.name.as_str() == found.name);
                library.labelled.clear();
                Arc::new(Catalog::build([Arc::new(library)]))
            }
            ItemPlace::File(_) => Arc::clone(&draft.catalog),
        };
        let latest = Latest::from(catalog);
        let files = self
            .shared
            .disk
            .for_request(self.files(), self.peer.as_ref());
        let bodies = UnsavedBodies {
            files: &files,
            texts: &draft.texts,
        };
        let world = World {
            catalog: &latest,
            bodies: &bodies,
            templates: &state.drafts,
        };
        let mut problems = None;
        files.aside("page", &mut || problems = Some(check(world)));
        let mut problems = problems.ok_or_else(busy)?;
        if let Some(path) = found.path() {
            problems.retain(|problem| *problem.path == *path);
        }
        problems.sort_by_key(|it| (it.line, it.column, it.severity));
        Ok(problems)
    }
}
