//! The HTML of each screen, made of what its visitor may read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tokio::task::block_in_place;
use twig_core::check::check;
use twig_core::document_cache::document_bytes;
use twig_core::parse::library::MANIFEST;
use twig_core::remote;
use twig_core::search::{Hit, Query, SearchScope};
use twig_core::{
    Bodies, BodyError, Catalog, Content, Contents, FileRole, Latest, Library, Lookup,
    MessageSource, Problem, PromptRef, RelativePath, Severity, World,
};
use twig_mcp::{Work, WorkOutcome};
use twig_page::{
    DocumentView, ListKind, ListQuery, ProblemPlace, PromptText, PromptView, ShownProblem,
    ShownSource, SourcesView, TroubledFiles,
};
use twig_sources::{FoundState, PlaceOrigin};

use super::super::Shared;
use super::super::caller::Caller;
use super::super::peers::HttpPeer;
use super::FoundProblems;
use super::item::{PageItem, is_own_text};
use super::scope::PageScope;
use crate::jobs::JobPlace;

/// Somebody with a page key, and what they see.
pub(super) struct PageVisit {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    /// True if the paths of this machine are theirs.
    pub(super) is_owner: bool,
    /// What they may do besides reading.
    pub(super) scope: PageScope,
    pub(super) peer: Option<Arc<HttpPeer>>,
}

/// The longest document that is read for a screen.
const DOCUMENT: usize = 4 * 1024 * 1024;
/// The most results of a search.
const HITS: usize = 200;
/// Problems that were found this long ago are shown again.
const PROBLEMS: Duration = Duration::from_secs(2);

impl PageVisit {
    /// The HTML of a screen.
    pub(super) async fn answer(&self, what: &str, query: &str) -> Result<String, StatusCode> {
        let value = |key: &str| parameter(query, key);
        match what {
            "list" => {
                let list = ListQuery {
                    text: value("q").unwrap_or_default(),
                    library: value("library").filter(|it| !it.is_empty()),
                    kind: ListKind::parse(&value("kind").unwrap_or_default()),
                    takes_arguments: value("arguments").as_deref() == Some("1"),
                    has_problems: value("problems").as_deref() == Some("1"),
                    after: value("after").and_then(|it| it.parse().ok()).unwrap_or(0),
                    rows: value("rows").and_then(|it| it.parse().ok()).unwrap_or(0),
                };
                Ok(self.list(&list).await)
            }
            "prompt" => {
                let name = value("name").ok_or(StatusCode::BAD_REQUEST)?;
                block_in_place(|| self.prompt(&name)).ok_or(StatusCode::NOT_FOUND)
            }
            "document" => {
                let uri = value("uri").ok_or(StatusCode::BAD_REQUEST)?;
                let is_raw = value("raw").as_deref() == Some("1");
                block_in_place(|| self.document(&uri, is_raw)).ok_or(StatusCode::NOT_FOUND)
            }
            "skill" => {
                let name = value("name").ok_or(StatusCode::BAD_REQUEST)?;
                let path = value("path").ok_or(StatusCode::BAD_REQUEST)?;
                let is_raw = value("raw").as_deref() == Some("1");
                let found = block_in_place(|| {
                    let uri = twig_page::skill_file(&self.catalog(), &name, &path)?;
                    self.document(&uri, is_raw)
                });
                found.ok_or(StatusCode::NOT_FOUND)
            }
            "palette" => Ok(self.palette(&value("q").unwrap_or_default()).await),
            "peek" => {
                let found = block_in_place(|| match (value("name"), value("uri")) {
                    (Some(name), _) => self.peek(&name),
                    (None, Some(uri)) => self.peek_document(&uri),
                    (None, None) => None,
                });
                found.ok_or(StatusCode::NOT_FOUND)
            }
            "history" => self.history(query).await,
            "problems" => self.problems().await,
            "sources" => Ok(block_in_place(|| self.sources())),
            _ => Err(StatusCode::NOT_FOUND),
        }
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.caller.catalog(&self.shared)
    }

    pub(super) fn files(&self) -> &dyn Bodies {
        self.caller.view.files(&self.shared.service)
    }

    async fn list(&self, query: &ListQuery) -> String {
        let hits = match query.text.trim() {
            "" => Ok(Vec::new()),
            text => self.search(text).await,
        };
        let troubled = self.troubled(query.has_problems).await;
        block_in_place(|| {
            let catalog = self.catalog();
            let hits = hits.as_deref().map_err(String::as_str);
            let html = match query.after {
                0 => twig_page::list(&catalog, query, hits, &troubled),
                _ => twig_page::rows(&catalog, query, hits.unwrap_or_default(), &troubled),
            };
            html.into_string()
        })
    }

    /// The files with problems, as far as a check has found them already; it is done now if
    /// somebody asks for them.
    async fn troubled(&self, is_asked: bool) -> TroubledFiles {
        let paths = |found: &[Problem]| {
            let mut files = TroubledFiles::new();
            for problem in found.iter().filter(|it| it.severity != Severity::Note) {
                let worst = files
                    .entry(problem.path.clone())
                    .or_insert(problem.severity);
                *worst = problem.severity.min(*worst);
            }
            files
        };
        if is_asked {
            let found = self.found_problems().await;
            return found.map(|found| paths(&found)).unwrap_or_default();
        }
        let Some(state) = self.shared.page.as_ref() else {
            return TroubledFiles::default();
        };
        // A check that is being done now is not waited for.
        let kept = state.problems.try_lock();
        let kept = kept.as_ref().ok().and_then(|kept| kept.as_ref());
        let known = kept.filter(|known| known.view == self.caller.view.number());
        known.map(|known| paths(&known.found)).unwrap_or_default()
    }

    /// What the search index finds, or why the search failed; names are found all the same.
    pub(super) async fn search(&self, text: &str) -> Result<Vec<Hit>, String> {
        let query = Query {
            text: text.to_owned(),
            scope: SearchScope::All,
            limit: HITS,
            enough: 20,
        };
        match self.run(Work::Search(query), None).await {
            WorkOutcome::Search(found) => found,
            _ => Ok(Vec::new()),
        }
    }

    /// Runs work in its turn; dropping the request drops it.
    pub(super) async fn run(&self, work: Work, prompt: Option<&str>) -> WorkOutcome {
        self.run_in(&self.caller.view.place, work, prompt).await
    }

    /// The same in another place, such as in the store of a project.
    pub(super) async fn run_in(
        &self,
        place: &JobPlace,
        work: Work,
        prompt: Option<&str>,
    ) -> WorkOutcome {
        let peer = self.peer.as_ref();
        self.shared
            .run_work(work, prompt, &self.caller, place, peer, None)
            .await
    }

    fn prompt(&self, name: &str) -> Option<String> {
        self.shown_prompt(name, twig_page::prompt)
    }

    /// A prompt with its texts, as one of the screens shows it.
    pub(super) fn shown_prompt(
        &self,
        name: &str,
        show: fn(&PromptView<'_>) -> twig_page::Markup,
    ) -> Option<String> {
        let catalog = self.catalog();
        let Lookup::Found(found) = catalog.find(name) else {
            return None;
        };
        let messages = found.prompt.messages.iter();
        let texts = messages.map(|message| self.text(found, message));
        let texts: Vec<PromptText> = texts.collect();
        let edit = self.why_not_edited(&PageItem::named(&found.prompt.full_name));
        let view = PromptView {
            catalog: &catalog,
            found,
            texts: &texts,
            with_paths: self.is_owner,
            not_edited: edit.as_deref(),
        };
        Some(show(&view).into_string())
    }

    /// The text of a message as its author wrote it.
    fn text(&self, found: PromptRef<'_>, message: &MessageSource) -> PromptText {
        let library = found.library;
        let files = self
            .shared
            .disk
            .for_request(self.files(), self.peer.as_ref());
        let why = |error: &BodyError, file: &str| error.sentence(FileRole::PromptText, file);
        let text = match &message.content {
            Content::File(path) => {
                let read = files.read(library, path);
                read.map(|body| body.text)
                    .map_err(|error| why(&error, path.as_str()))
            }
            Content::Stored(version) => {
                let read = files.stored(version);
                let read = read.map_err(|error| why(&error, library.name.as_str()));
                read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            Content::Text { text, .. } => Ok(text.to_string()),
            Content::Braces { text, .. } => Ok(text.as_str().to_owned()),
            Content::Document { uri, is_link, .. } => {
                let link = if *is_link { "link to " } else { "" };
                Ok(format!("[{link}{}]", uri.as_str()))
            }
            Content::Media { mime, path, .. } => Ok(format!("[{mime}: {path}]")),
            Content::Function(function) => Ok(format!("[what {} prints]", function.file())),
            _ => Err("this prompt has no text to show".to_owned()),
        };
        PromptText {
            role: message.role.as_str(),
            file: message.content.file().map(ToString::to_string),
            text,
            is_edited: is_own_text(&message.content),
        }
    }

    fn document(&self, uri: &str, is_raw: bool) -> Option<String> {
        self.shown_document(uri, is_raw, twig_page::document)
    }

    /// A document with what it holds, as one of the screens shows it.
    pub(super) fn shown_document(
        &self,
        uri: &str,
        is_raw: bool,
        show: fn(&DocumentView<'_>) -> twig_page::Markup,
    ) -> Option<String> {
        let catalog = self.catalog();
        let found = catalog.document(uri)?;
        let files = self
            .shared
            .disk
            .for_request(self.files(), self.peer.as_ref());
        let read = document_bytes(&files, found.library, found.document, DOCUMENT);
        let contents = read.map(|blob| Contents::of(blob.bytes));
        let contents =
            contents.map_err(|error| error.sentence(FileRole::Document, found.document.place()));
        let view = DocumentView {
            catalog: &catalog,
            found,
            contents: contents.as_ref().map_err(String::as_str),
            is_raw,
            is_edited: self.why_not_edited(&PageItem::with_uri(uri)).is_none(),
            with_paths: self.is_owner,
        };
        Some(show(&view).into_string())
    }

    /// Why the visitor cannot edit an item; `None` if they can.
    fn why_not_edited(&self, item: &PageItem) -> Option<String> {
        let found = self.find_item(item);
        let edited = found.and_then(|found| self.editable(&found));
        edited.err().map(|refusal| refusal.why)
    }

    /// Checks everything: on a thread of its own, once for all pages that ask at the same time.
    async fn found_problems(&self) -> Result<Arc<Vec<Problem>>, StatusCode> {
        let state = self.shared.page.as_ref().ok_or(StatusCode::NOT_FOUND)?;
        let mut kept = state.problems.lock().await;
        let texts = self.shared.service.live.texts();
        let catalog = self.catalog();
        let (view, fingerprint) = (self.caller.view.number(), *catalog.fingerprint());
        let known = kept.as_ref().filter(|known| {
            let is_same =
                (known.view, known.fingerprint, known.texts) == (view, fingerprint, texts);
            is_same && known.at.elapsed() < PROBLEMS
        });
        let found = if let Some(known) = known {
            Arc::clone(&known.found)
        } else {
            let files = self.files();
            let bodies = self.shared.disk.for_request(files, self.peer.as_ref());
            let latest = Latest::from(Arc::clone(&catalog));
            let world = World {
                catalog: &latest,
                bodies: &bodies,
                templates: self.caller.view.templates(&self.shared.service),
            };
            let mut found = None;
            bodies.aside("page", &mut || {
                let mut problems = if self.is_owner {
                    self.shared.service.live.problems()
                } else {
                    Vec::new()
                };
                problems.extend(check(world));
                if !self.is_owner {
                    Self::remove_folders(&catalog, &mut problems);
                }
                found = Some(Arc::new(problems));
            });
            let found = found.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
            // What one visitor may read is not kept for another.
            let is_shared = self.is_owner;
            *kept = is_shared.then(|| FoundProblems {
                view,
                fingerprint,
                texts,
                at: Instant::now(),
                found: Arc::clone(&found),
            });
            found
        };
        Ok(found)
    }

    async fn problems(&self) -> Result<String, StatusCode> {
        let found = self.found_problems().await?;
        let catalog = self.catalog();
        Ok(block_in_place(|| {
            let places: Vec<String> = found.iter().map(|it| self.place(&catalog, it)).collect();
            let troubled: BTreeSet<&str> = found.iter().map(|problem| &*problem.path).collect();
            let opened = self.opened_by(&catalog, &troubled);
            let shown = found.iter().zip(&places);
            let shown = shown.map(|(problem, place)| ShownProblem {
                problem,
                place,
                opens: opened.get(&*problem.path).copied(),
            });
            let shown: Vec<ShownProblem<'_>> = shown.collect();
            twig_page::problems(&shown).into_string()
        }))
    }

    /// What opens these files on the page: the prompt whose text one is, the document, or the
    /// manifest if the visitor can edit it.
    fn opened_by<'c>(
        &self,
        catalog: &'c Catalog,
        files: &BTreeSet<&str>,
    ) -> BTreeMap<String, ProblemPlace<'c>> {
        let mut found = BTreeMap::new();
        let mut add = |library: &Library, file: &RelativePath, place: ProblemPlace<'c>| {
            let path = library.path_of(file);
            if files.contains(&*path) {
                found.entry(path).or_insert(place);
            }
        };
        for library in catalog.libraries() {
            for prompt in catalog.prompts_of(library) {
                for file in prompt.messages.iter().filter_map(|it| it.content.file()) {
                    add(library, file, ProblemPlace::Prompt(&prompt.full_name));
                }
            }
            let is_manifest = |path: &RelativePath| files.contains(&*library.path_of(path));
            let manifest = RelativePath::parse(MANIFEST).ok().filter(is_manifest);
            let item = PageItem::manifest_of(library.name.as_str());
            if let Some(path) = manifest
                && self.why_not_edited(&item).is_none()
            {
                add(
                    library,
                    &path,
                    ProblemPlace::Manifest(library.name.as_str()),
                );
            }
        }
        for document in catalog.documents(0) {
            if let Some(file) = document.document.file() {
                let place = ProblemPlace::Document(&document.document.uri);
                add(document.library, file, place);
            }
        }
        found
    }

    /// Takes folders of this machine out of messages for those whose machine it is not.
    fn remove_folders(catalog: &Catalog, problems: &mut [Problem]) {
        let without = |text: &str| remote::without_folders(catalog.sources().map(|it| &**it), text);
        for problem in problems {
            problem.message = without(&problem.message);
            problem.help = problem.help.as_deref().map(without);
        }
    }

    /// Where a problem is: the library and the file in it, or a path for those whose machine it is.
    fn place(&self, catalog: &Catalog, problem: &Problem) -> String {
        let path = Path::new(&*problem.path);
        let libraries = catalog.sources().chain(catalog.shadowed());
        let inside = libraries.filter_map(|library| {
            let below = path.strip_prefix(&*library.root).ok()?;
            Some((library, below))
        });
        match inside.min_by_key(|(_, below)| below.as_os_str().len()) {
            Some((library, below)) if below.as_os_str().is_empty() => library.name.to_string(),
            Some((library, below)) => format!("{}: {}", library.name, below.display()),
            None if self.is_owner => problem.path.to_string(),
            None => "elsewhere".to_owned(),
        }
    }

    fn sources(&self) -> String {
        let places = if self.is_owner {
            self.shared.service.live.found()
        } else {
            Vec::new()
        };
        let found = places.iter().flat_map(|place| {
            let libraries = place.libraries.iter();
            libraries.map(|library| (library.root.clone(), why_found(place.origin)))
        });
        let found: BTreeMap<PathBuf, &'static str> = found.collect();
        let empty = places
            .into_iter()
            .filter(|place| place.libraries.is_empty());
        let shown: Vec<ShownSource> = empty
            .map(|place| ShownSource {
                state: match place.state {
                    FoundState::Folder => "no library in it".to_owned(),
                    FoundState::Missing => "not there".to_owned(),
                    FoundState::NotAFolder => "not a folder".to_owned(),
                    FoundState::Unreadable(why) => why,
                    _ => String::new(),
                },
                origin: place.origin.as_str(),
                path: place.shown,
            })
            .collect();
        let view = SourcesView {
            catalog: &self.catalog(),
            places: &shown,
            found: &found,
            is_watched: self.shared.service.live.is_watched(),
            with_paths: self.is_owner,
        };
        twig_page::sources(&view).into_string()
    }
}

/// Why a folder is searched, in words.
fn why_found(origin: PlaceOrigin) -> &'static str {
    match origin {
        PlaceOrigin::Flag => "named on the command line",
        PlaceOrigin::Project => "the project's own folder",
        PlaceOrigin::Configuration => "named in config.toml",
        PlaceOrigin::Data => "in the data folder",
        other => other.as_str(),
    }
}

/// A value of a query, decoded.
pub(super) fn parameter(query: &str, key: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == key)?;
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn values_are_decoded_as_browsers_write_them() {
        let query = "q=a+b%2Bc%26%C3%BC&library=&x=%zz";
        assert_eq!(parameter(query, "q").as_deref(), Some("a b+c&ü"));
        assert_eq!(parameter(query, "library").as_deref(), Some(""));
        assert_eq!(parameter(query, "x"), None);
        assert_eq!(parameter(query, "kind"), None);
    }
}
