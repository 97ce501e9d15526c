//! What could be typed at the cursor of the editor: arguments, templates and documents, as the
//! language server suggests them.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use twig_sources::UnsavedBodies;

use super::answers::PageVisit;
use super::edit::DraftText;
use super::item::PageRefusal;
use super::json;
use crate::lsp::{AskedPlace, CursorSuggestion, SuggestionKind};

/// A text with a cursor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuggestRequest {
    draft: DraftText,
    /// The cursor, in units of UTF-16.
    at: usize,
}

/// What could be typed, and the units of UTF-16 that it replaces.
#[derive(Serialize, Default)]
struct SuggestAnswer {
    from: usize,
    to: usize,
    /// True if nothing else has to be asked while a name is typed on.
    is_whole: bool,
    items: Vec<SuggestRow>,
}

#[derive(Serialize)]
struct SuggestRow {
    label: String,
    kind: &'static str,
    detail: Option<String>,
    about: Option<String>,
}

impl From<CursorSuggestion> for SuggestRow {
    fn from(suggestion: CursorSuggestion) -> Self {
        Self {
            kind: match suggestion.kind {
                SuggestionKind::Argument => "variable",
                SuggestionKind::Function => "function",
                SuggestionKind::Keyword => "keyword",
                SuggestionKind::File | SuggestionKind::Folder => "text",
            },
            label: suggestion.label,
            detail: suggestion.detail,
            about: suggestion.about,
        }
    }
}

impl PageVisit {
    /// What could be typed in a draft. Only who may save it can ask.
    pub(super) fn suggest(&self, asked: &SuggestRequest) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let DraftText { item, text } = &asked.draft;
            let found = self.find_item(item)?;
            let draft = self.draft(&found, text)?;
            // The texts of projects are no templates.
            let Some(file) = found.file() else {
                return Ok(json(&SuggestAnswer::default()));
            };
            let mut libraries = draft.catalog.sources();
            let library = libraries.find(|it| it.root == found.library.root);
            let library = library.ok_or_else(PageRefusal::missing)?;
            let files = self
                .shared
                .disk
                .for_request(self.files(), self.peer.as_ref());
            let place = AskedPlace {
                catalog: &draft.catalog,
                bodies: &UnsavedBodies {
                    files: &files,
                    texts: &draft.texts,
                },
                library,
                file: file.as_str(),
                text,
                at: byte_of(text, asked.at),
            };
            let answer = place.suggestions().map(|found| SuggestAnswer {
                from: units_before(text, found.range.start),
                to: units_before(text, found.range.end),
                is_whole: found.is_whole,
                items: found.items.into_iter().map(SuggestRow::from).collect(),
            });
            Ok(json(&answer.unwrap_or_default()))
        })
    }
}

/// The byte after so many units of UTF-16.
fn byte_of(text: &str, units: usize) -> usize {
    let mut left = units;
    for (at, c) in text.char_indices() {
        if left == 0 {
            return at;
        }
        left = left.saturating_sub(c.len_utf16());
    }
    text.len()
}

fn units_before(text: &str, byte: usize) -> usize {
    text[..byte].chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_browser() {
        let text = "a\u{1f331}\n{{ n }}";
        assert_eq!(byte_of(text, 7), 9);
        assert_eq!(units_before(text, 9), 7);
        assert_eq!(byte_of(text, 99), text.len());
    }
}
