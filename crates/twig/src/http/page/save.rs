//! Saves a text: a file, or another version in a project.
//!
//! A save names the digest of the text that it was made from. If something else is there by now,
//! nothing is written, and the answer has what is there.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::block_in_place;
use twig_core::store::{Change, GivenContent, ItemKind, Patch, StoreError};
use twig_core::{Bodies, BodyError, DocumentSource};
use twig_sources::{EditFileError, EditedFile};

use super::answers::PageVisit;
use super::edit::{CurrentText, expected_digest, note, read_digest, shown_digest};
use super::item::{EditedItem, ItemPlace, PageItem, PageRefusal};
use super::json;
use crate::text_diff::with_line_ends;

/// A new text, or a version that was replaced before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveRequest {
    text: Option<String>,
    replaced: Option<String>,
}

/// What was saved.
#[derive(Serialize)]
struct SavedAnswer {
    digest: String,
    version: Option<u64>,
    /// What was replaced, for an undo; `None` if nothing was.
    replaced: Option<String>,
    note: Option<&'static str>,
}

/// Something else is there by now.
#[derive(Serialize)]
struct ConflictAnswer {
    why: &'static str,
    text: String,
    digest: String,
}

/// Why something was not saved.
enum SaveRefusal {
    Said(PageRefusal),
    /// Something else is there.
    Conflict(CurrentText),
}

impl From<PageRefusal> for SaveRefusal {
    fn from(refusal: PageRefusal) -> Self {
        Self::Said(refusal)
    }
}

impl PageVisit {
    pub(super) async fn save(
        &self,
        parts: &Parts,
        query: &str,
        asked: SaveRequest,
    ) -> Result<Response, PageRefusal> {
        let item = PageItem::of_query(query);
        let found = block_in_place(|| self.find_item(&item))?;
        block_in_place(|| self.editable(&found))?;
        let expected = expected_digest(parts)?;
        let saved = match &found.place {
            ItemPlace::File(_) => block_in_place(|| self.save_file(&found, &expected, &asked)),
            ItemPlace::Stored { .. } => self.save_version(&found, &expected, asked).await,
        };
        match saved {
            Ok(saved) => {
                self.shared.announce();
                Ok(json(&saved))
            }
            Err(SaveRefusal::Said(refusal)) => Err(refusal),
            Err(SaveRefusal::Conflict(theirs)) => {
                let mut response = json(&ConflictAnswer {
                    why: "It was changed in the meantime: nothing was saved.",
                    digest: shown_digest(&theirs.digest),
                    text: theirs.text,
                });
                *response.status_mut() = StatusCode::PRECONDITION_FAILED;
                Ok(response)
            }
        }
    }

    fn save_file(
        &self,
        found: &EditedItem,
        expected: &[u8; 32],
        asked: &SaveRequest,
    ) -> Result<SavedAnswer, SaveRefusal> {
        let state = self.shared.page.as_ref();
        let kept = state.and_then(|state| state.replaced.as_ref());
        let (Some(path), Some(kept)) = (found.file(), kept) else {
            let why = "This user has no folder in which what is replaced could be kept.";
            return Err(PageRefusal::forbidden(why).into());
        };
        let refuse = |error: EditFileError| -> SaveRefusal {
            if matches!(error, EditFileError::Changed) {
                return match self.current(found) {
                    Ok(theirs) => SaveRefusal::Conflict(theirs),
                    Err(refusal) => SaveRefusal::Said(refusal),
                };
            }
            let why = format!("`{path}` {error}.");
            PageRefusal::new(status_of(&error), why).into()
        };
        let settings = self.shared.service.live.settings();
        let file = EditedFile::open(settings, &found.library, path).map_err(refuse)?;
        let before = file.digest();
        if before != *expected {
            return Err(SaveRefusal::Conflict(CurrentText {
                text: file.text().to_owned(),
                has_mark: false,
                digest: before,
            }));
        }
        let saved = match (&asked.text, &asked.replaced) {
            (Some(text), None) => {
                let text = with_line_ends(file.text(), text);
                file.save_text(&text, kept).map_err(refuse)
            }
            (None, Some(replaced)) => match read_digest(replaced) {
                Some(digest) => file.put_back(&digest, kept).map_err(refuse),
                None => Err(bad_save()),
            },
            _ => Err(bad_save()),
        };
        let digest = saved?;
        let is_new = digest != before;
        if is_new {
            self.shared.service.live.renew(&found.library);
        }
        Ok(SavedAnswer {
            digest: shown_digest(&digest),
            version: None,
            replaced: is_new.then(|| shown_digest(&before)),
            note: note(Some(&file.trust)).filter(|_| is_new),
        })
    }

    async fn save_version(
        &self,
        found: &EditedItem,
        expected: &[u8; 32],
        asked: SaveRequest,
    ) -> Result<SavedAnswer, SaveRefusal> {
        let (Some(text), None) = (asked.text, asked.replaced) else {
            return Err(bad_save());
        };
        let ItemPlace::Stored { version, .. } = &found.place else {
            return Err(PageRefusal::missing().into());
        };
        let current = block_in_place(|| self.current(found))?;
        if current.digest != *expected {
            return Err(SaveRefusal::Conflict(current));
        }
        let text = with_line_ends(&current.text, &text);
        let mark = if current.has_mark { "\u{feff}" } else { "" };
        let change = Change::Update(Patch {
            content: Some(GivenContent::Text([mark, &*text].concat())),
            ..Patch::default()
        });
        let written = self.write_item(found, change, Some(version.number)).await;
        match written {
            Ok(written) => {
                let digest: [u8; 32] = Sha256::digest([mark, &*text].concat()).into();
                Ok(SavedAnswer {
                    digest: shown_digest(&digest),
                    version: Some(written.version),
                    replaced: written.is_new.then(|| shown_digest(&current.digest)),
                    note: None,
                })
            }
            Err(StoreError::Stale { .. }) => {
                let theirs = block_in_place(|| self.newest(found))?;
                Err(SaveRefusal::Conflict(theirs))
            }
            Err(error) => Err(store_refusal(&error, "saved").into()),
        }
    }

    /// What an item holds after somebody else wrote it.
    fn newest(&self, found: &EditedItem) -> Result<CurrentText, PageRefusal> {
        let catalog = self.catalog();
        let stored = found.library.stored();
        let library = catalog.sources().find(|it| it.stored() == stored);
        let version = library.and_then(|library| {
            let mut prompts = library.prompts.iter();
            let prompt = prompts.find(|it| it.name.as_str() == found.name);
            let mut documents = library.documents.iter();
            let document = documents.find(|it| *it.name == *found.name);
            match (&found.place, prompt, document) {
                (
                    ItemPlace::Stored {
                        kind: ItemKind::Prompt,
                        ..
                    },
                    Some(prompt),
                    _,
                ) => {
                    let mut messages = prompt.messages.iter();
                    messages.find_map(|it| it.content.stored().copied())
                }
                (ItemPlace::Stored { .. }, _, Some(document)) => match &document.source {
                    DocumentSource::Stored(version) => Some(*version),
                    DocumentSource::File(_) => None,
                },
                _ => None,
            }
        });
        let (Some(version), ItemPlace::Stored { kind, .. }) = (version, &found.place) else {
            return Err(PageRefusal::missing());
        };
        self.current(&EditedItem {
            library: Arc::clone(&found.library),
            place: ItemPlace::Stored {
                kind: *kind,
                version,
            },
            name: found.name.clone(),
            line: None,
        })
    }
}

fn bad_save() -> SaveRefusal {
    let why = "A save has a new text, or names a version that was replaced.";
    PageRefusal::new(StatusCode::BAD_REQUEST, why).into()
}

/// Why a project was not written to.
pub(super) fn store_refusal(error: &StoreError, done: &str) -> PageRefusal {
    let status = match error {
        StoreError::Missing { .. }
        | StoreError::NoProject { .. }
        | StoreError::NoWorkspace { .. } => StatusCode::NOT_FOUND,
        StoreError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::CONFLICT,
    };
    PageRefusal::new(status, format!("Nothing was {done}: {error}."))
}

fn status_of(error: &EditFileError) -> StatusCode {
    use std::io::ErrorKind;
    match error {
        EditFileError::Body(BodyError::NotFound) => StatusCode::NOT_FOUND,
        EditFileError::Body(BodyError::TooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
        EditFileError::Lock(_) => StatusCode::CONFLICT,
        EditFileError::Write(error) | EditFileError::NotKept(error) => match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::FORBIDDEN,
        },
        _ => StatusCode::FORBIDDEN,
    }
}
