//! What the editor asks for: its screen, the text of an item, and what a draft of it changes.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::block_in_place;
use twig_core::store::{hex, read_hex};
use twig_core::{Bodies, BodyError, FileRole, Library, RelativePath};
use twig_mcp::http::HttpRefusal;
use twig_page::{EditView, EditedText};
use twig_sources::{EDITED_BYTES, EditedFile, EditedTrust, ReplacedVersion};

use super::answers::{PageVisit, parameter};
use super::headers_one;
use super::item::{EditedItem, ItemPlace, PageItem, PageRefusal};
use super::{fragment, json, new_prompt, read_json, refused};

/// What a change of a manifest means if its library is trusted.
const ENDS_TRUST: &str = "Programs of this library run only as you trusted them: a change of its \
    manifest ends that, until you run `twig library trust` again.";

/// A text that is not saved yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DraftText {
    pub(super) item: PageItem,
    pub(super) text: String,
}

/// What to compare a draft with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiffRequest {
    item: PageItem,
    text: String,
    /// A version that was replaced; what is saved now if `None`.
    from: Option<String>,
}

/// The lines in which a draft differs.
#[derive(Serialize)]
struct DiffAnswer {
    html: String,
    added: usize,
    removed: usize,
}

/// What to compare with what is saved now.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareRequest {
    item: PageItem,
    /// The text that the other one was made from.
    base: String,
    text: String,
}

/// What is saved now, beside what it was and what was typed.
#[derive(Serialize)]
struct CompareAnswer {
    html: String,
    text: String,
    digest: String,
    /// Places that changed only there, only in what was typed, and in both.
    theirs: usize,
    mine: usize,
    both: usize,
}

/// The text of an item.
#[derive(Serialize)]
struct SourceAnswer {
    item: PageItem,
    name: String,
    place: String,
    text: String,
    digest: String,
    /// The number of a version in a project.
    version: Option<u64>,
    editable: bool,
    /// Why it cannot be edited.
    why: Option<String>,
    /// What to know before it is saved.
    note: Option<&'static str>,
    line: Option<u32>,
    /// The versions that were replaced here, the last one first.
    replaced: Vec<ReplacedRow>,
}

#[derive(Serialize)]
struct ReplacedRow {
    at: u64,
    digest: String,
    size: u64,
}

/// What is saved now.
pub(super) struct CurrentText {
    pub(super) text: String,
    pub(super) has_mark: bool,
    pub(super) digest: [u8; 32],
}

/// Whether a request is one of the editor.
pub(super) fn answers(what: &str, method: &Method) -> bool {
    match what {
        "source" | "prompts" | "edit" | "new" | "check" | "diff" | "compare" | "suggest" => true,
        _ => matches!(*method, Method::PUT | Method::DELETE),
    }
}

/// Answers a request of the editor.
pub(super) async fn answer(visit: PageVisit, what: &str, parts: &Parts, body: Body) -> Response {
    let query = parts.uri.query().unwrap_or_default();
    let is_write = matches!(parts.method, Method::PUT | Method::DELETE) || what == "prompts";
    if is_write && let Err(why) = visit.scope.check() {
        return PageRefusal::forbidden(why).answer();
    }
    let shared = std::sync::Arc::clone(&visit.shared);
    let answered = match (what, &parts.method) {
        ("source", &Method::GET) => visit.source(parts, query),
        ("edit", &Method::GET) => visit.edit_screen(parts, query),
        ("new", &Method::GET) => visit.new_screen(parts, query),
        ("check", &Method::POST) => match read_json(&shared, parts, body).await {
            Ok(draft) => visit.check_draft(&draft),
            Err(response) => return response,
        },
        ("suggest", &Method::POST) => match read_json(&shared, parts, body).await {
            Ok(asked) => visit.suggest(&asked),
            Err(response) => return response,
        },
        ("diff", &Method::POST) => match read_json(&shared, parts, body).await {
            Ok(asked) => visit.diff(&asked),
            Err(response) => return response,
        },
        ("compare", &Method::POST) => match read_json(&shared, parts, body).await {
            Ok(asked) => visit.compare(&asked),
            Err(response) => return response,
        },
        ("source", &Method::PUT) => match read_json(&shared, parts, body).await {
            // The rest of the request may have come long after its head.
            Ok(asked) => match visit.still(parts) {
                Some(visit) => visit.save(parts, query, asked).await,
                None => Err(PageRefusal::missing()),
            },
            Err(response) => return response,
        },
        ("prompts", &Method::POST) => match read_json(&shared, parts, body).await {
            Ok(asked) => match visit.still(parts) {
                Some(visit) => new_prompt::create(&visit, asked).await,
                None => Err(PageRefusal::missing()),
            },
            Err(response) => return response,
        },
        ("prompts", &Method::DELETE) => new_prompt::delete(&visit, parts, query).await,
        _ => return refused(HttpRefusal::Method, parts, body).await,
    };
    answered.unwrap_or_else(|refusal| refusal.answer())
}

/// The digest that a request was made from.
pub(super) fn expected_digest(parts: &Parts) -> Result<[u8; 32], PageRefusal> {
    let given = headers_one(parts, header::IF_MATCH);
    let given = given.and_then(|given| read_digest(given.trim().trim_matches('"')));
    given.ok_or_else(|| {
        PageRefusal::new(
            StatusCode::PRECONDITION_REQUIRED,
            "A save says which text it was made from, with its digest in `If-Match`.",
        )
    })
}

pub(super) fn read_digest(text: &str) -> Option<[u8; 32]> {
    read_hex(text.strip_prefix("sha256:")?)
}

pub(super) fn shown_digest(digest: &[u8; 32]) -> String {
    format!("sha256:{}", hex(digest))
}

impl PageVisit {
    pub(super) fn find_item(&self, item: &PageItem) -> Result<EditedItem, PageRefusal> {
        let found = item.find(&self.catalog())?;
        // What a manifest says of programs and folders is for those whose machine this is.
        if found.is_manifest() && !self.is_owner {
            return Err(match found.line {
                Some(_) => PageRefusal::forbidden(
                    "The text of this prompt is in the manifest of its library, which is edited by \
                     the user whose server this is.",
                ),
                None => PageRefusal::missing(),
            });
        }
        Ok(found)
    }

    /// What is saved now.
    pub(super) fn current(&self, found: &EditedItem) -> Result<CurrentText, PageRefusal> {
        let files = self
            .shared
            .disk
            .for_request(self.files(), self.peer.as_ref());
        let read = match &found.place {
            ItemPlace::File(path) => files
                .bytes(&found.library, path, EDITED_BYTES)
                .map(|blob| blob.bytes),
            ItemPlace::Stored { version, .. } => files.stored(version),
        };
        let place = found.shown_place();
        let bytes = read.map_err(|error| match error {
            BodyError::NotFound => PageRefusal::missing(),
            // While a store is away, its texts are not gone.
            error => PageRefusal::new(
                match error {
                    BodyError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::FORBIDDEN,
                },
                format!("{}.", error.sentence(FileRole::Document, &place)),
            ),
        })?;
        let digest = Sha256::digest(&bytes).into();
        let text = String::from_utf8(bytes).ok();
        let text = text.filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| {
            PageRefusal::forbidden(format!(
                "`{place}` is no text in UTF-8, so it is not edited here."
            ))
        })?;
        let stripped = text.strip_prefix('\u{feff}');
        Ok(CurrentText {
            has_mark: stripped.is_some(),
            text: stripped.map(str::to_owned).unwrap_or(text),
            digest,
        })
    }

    fn source(&self, parts: &Parts, query: &str) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let item = PageItem::of_query(query);
            let found = self.find_item(&item)?;
            if let Some(digest) = parameter(query, "replaced") {
                let text = self.replaced_text(&found, &digest)?;
                return Ok(json(&serde_json::json!({ "text": text })));
            }
            let current = self.current(&found)?;
            let digest = shown_digest(&current.digest);
            let tag = format!("\"{digest}\"");
            if headers_one(parts, header::IF_NONE_MATCH) == Some(&tag) {
                return Ok(super::secured(StatusCode::NOT_MODIFIED.into_response()));
            }
            let editable = self.editable(&found);
            let mut response = json(&SourceAnswer {
                place: found.shown_place(),
                version: version_of(&found),
                line: found.line,
                editable: editable.is_ok(),
                note: note(editable.as_ref().ok()),
                why: editable.err().map(|refusal| refusal.why),
                replaced: self.replaced_rows(&found),
                name: found.name,
                text: current.text,
                item,
                digest,
            });
            if let Ok(tag) = HeaderValue::try_from(tag) {
                response.headers_mut().insert(header::ETAG, tag);
            }
            Ok(response)
        })
    }

    fn edit_screen(&self, parts: &Parts, query: &str) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let item = PageItem::of_query(query);
            let found = self.find_item(&item);
            let edited = match &found {
                Ok(found) => self.editable(found).and_then(|trust| {
                    let current = self.current(found)?;
                    Ok((current, trust))
                }),
                Err(refusal) => Err(refusal.clone()),
            };
            // What is not there has no screen; what is not edited, or not now, says why.
            if let Err(refusal) = &edited
                && !matches!(
                    refusal.status,
                    StatusCode::FORBIDDEN | StatusCode::SERVICE_UNAVAILABLE
                )
            {
                return Err(refusal.clone());
            }
            let found = found.ok();
            let place = found.as_ref().map(EditedItem::shown_place);
            let digest = edited.as_ref().ok().map(|(it, _)| shown_digest(&it.digest));
            let json = serde_json::to_string(&item).unwrap_or_default();
            let library = found.as_ref().map(|found| found.library.name.as_str());
            let view = EditView {
                name: found
                    .as_ref()
                    .map_or_else(|| item.name(), |found| &found.name),
                place: place.as_deref(),
                library,
                prompt: item.prompt.as_deref(),
                document: item.document.as_deref(),
                item: &json,
                text: match &edited {
                    Ok((current, _)) => Ok(EditedText {
                        text: &current.text,
                        digest: digest.as_deref().unwrap_or_default(),
                    }),
                    Err(refusal) => Err(&refusal.why),
                },
                language: found.as_ref().map_or("text", language),
                line: found.as_ref().and_then(|found| found.line),
                is_stored: found.as_ref().is_some_and(|it| it.file().is_none()),
                note: note(edited.as_ref().ok().map(|(_, trust)| trust)),
            };
            Ok(fragment(parts, twig_page::edit(&view).into_string()))
        })
    }

    fn diff(&self, asked: &DiffRequest) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let found = self.find_item(&asked.item)?;
            let before = match &asked.from {
                Some(digest) => self.replaced_text(&found, digest)?,
                None => self.current(&found)?.text,
            };
            let compared = twig_page::compare(&plain(&before), &plain(&asked.text));
            Ok(json(&DiffAnswer {
                html: compared.html.into_string(),
                added: compared.added,
                removed: compared.removed,
            }))
        })
    }

    fn compare(&self, asked: &CompareRequest) -> Result<Response, PageRefusal> {
        block_in_place(|| {
            let found = self.find_item(&asked.item)?;
            let CurrentText { text, digest, .. } = self.current(&found)?;
            let (base, typed) = (plain(&asked.base), plain(&asked.text));
            let compared = twig_page::compare_three(&base, &plain(&text), &typed);
            Ok(json(&CompareAnswer {
                html: compared.html.into_string(),
                digest: shown_digest(&digest),
                text,
                theirs: compared.theirs,
                mine: compared.mine,
                both: compared.both,
            }))
        })
    }

    pub(super) fn replaced_text(
        &self,
        found: &EditedItem,
        digest: &str,
    ) -> Result<String, PageRefusal> {
        let path = found.file();
        let text = path.and_then(|path| self.replaced_file(&found.library, path, digest));
        text.ok_or_else(|| {
            PageRefusal::new(StatusCode::NOT_FOUND, "This version is not kept any more.")
        })
    }

    /// One version of a file that was replaced here, for those whose machine this is.
    pub(super) fn replaced_file(
        &self,
        library: &Library,
        path: &RelativePath,
        digest: &str,
    ) -> Option<String> {
        let state = self.shared.page.as_ref();
        let kept = state.and_then(|state| state.replaced.as_ref());
        let kept = kept.filter(|_| self.is_owner)?;
        EditedFile::replaced_text(library, path, &read_digest(digest)?, kept)
    }

    /// The versions of a file that were replaced here, for those whose machine this is.
    fn replaced_rows(&self, found: &EditedItem) -> Vec<ReplacedRow> {
        let row = |version: ReplacedVersion| ReplacedRow {
            at: version.at,
            digest: shown_digest(&version.digest),
            size: version.size,
        };
        let versions = self.replaced_versions(&found.library, found.file());
        versions.into_iter().map(row).collect()
    }

    /// The same as they are kept.
    pub(super) fn replaced_versions(
        &self,
        library: &Library,
        file: Option<&RelativePath>,
    ) -> Vec<ReplacedVersion> {
        let state = self.shared.page.as_ref();
        let kept = state.and_then(|state| state.replaced.as_ref());
        let kept = kept.filter(|_| self.is_owner).zip(file);
        kept.map_or_else(Vec::new, |(kept, path)| {
            EditedFile::replaced(library, path, kept)
        })
    }
}

/// Line ends stay as they are, so they are no difference.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn version_of(found: &EditedItem) -> Option<u64> {
    match &found.place {
        ItemPlace::Stored { version, .. } => Some(version.number),
        ItemPlace::File(_) => None,
    }
}

pub(super) fn note(trust: Option<&EditedTrust>) -> Option<&'static str> {
    (trust == Some(&EditedTrust::Ends)).then_some(ENDS_TRUST)
}

/// How the text is coloured.
fn language(found: &EditedItem) -> &'static str {
    let Some(path) = found.file() else {
        return "markdown";
    };
    let path = path.as_str().to_ascii_lowercase();
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "toml" => "toml",
        "md" | "markdown" | "txt" => "markdown",
        _ => "text",
    }
}
