//! The language server: what `twig check` knows, in an editor, while a file is typed.
//!
//! One thread reads messages, the watcher of the catalog notices changes on disk, and one loop
//! answers. Texts that are open in the editor count instead of their files ([`UnsavedTexts`]); the
//! checks are the ones of `twig check`, so both report the same.

mod answers;
mod cursor;
mod file_uri;
mod framing;
mod reports;
mod text_position;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use twig_core::check::check;
use twig_core::template::Templates;
use twig_core::{Catalog, CatalogFilter, Latest, Library, World};
use twig_sources::{CatalogWatch, LiveCatalog, UnsavedBodies, UnsavedTexts};

pub(crate) use self::answers::{AskedPlace, CursorSuggestion, SuggestionKind};
use self::file_uri::path_of;
use self::framing::EditorMessage;
use self::reports::Reports;
use self::text_position::TextPosition;
use crate::command_error::CommandError;

/// How long nothing may be typed before problems are looked for.
const QUIET: Duration = Duration::from_millis(80);

/// Messages that wait; the editor waits while there are more.
const WAITING: usize = 64;

/// The most files that are open at once; further ones are as on disk.
const MOST_FILES: usize = 1_024;

/// Codes of errors.
const PARSE_ERROR: i32 = -32_700;
const NOT_INITIALIZED: i32 = -32_002;
const UNKNOWN_METHOD: i32 = -32_601;
const BAD_PARAMS: i32 = -32_602;

/// Opens the catalog with these libraries besides the usual ones.
pub(crate) type OpenLibraries<'o> =
    dyn Fn(&[PathBuf]) -> Result<(LiveCatalog, Templates), CommandError> + 'o;

/// What wakes the loop.
enum EditorEvent {
    Message(EditorMessage),
    /// A message that is no JSON-RPC, and why.
    Unreadable(String),
    /// Something changed on disk.
    Disk,
    /// The editor is gone; an error if its messages cannot be told apart any more.
    End(Option<io::Error>),
}

/// Serves an editor on standard input and output until it leaves.
pub(crate) fn run(open: &OpenLibraries<'_>) -> Result<ExitCode, CommandError> {
    let (events, received) = sync_channel(WAITING);
    let reader = events.clone();
    std::thread::Builder::new()
        .name("lsp-input".to_owned())
        .spawn(move || read_input(&reader))?;
    let mut server = LanguageServer {
        watched: WatchedCatalog::open(open, &[], &events)?,
        open,
        roots: Vec::new(),
        events,
        output: io::stdout(),
        added: Vec::new(),
        files: BTreeMap::new(),
        unsaved: UnsavedTexts::default(),
        catalog: None,
        reports: Reports::default(),
        state: ServerState::New,
    };
    server.serve(&received)
}

fn read_input(events: &SyncSender<EditorEvent>) {
    let mut input = BufReader::new(io::stdin().lock());
    loop {
        let event = match framing::read(&mut input) {
            Ok(Some(Ok(message))) => EditorEvent::Message(message),
            Ok(Some(Err(error))) => EditorEvent::Unreadable(error.to_string()),
            Ok(None) => EditorEvent::End(None),
            Err(error) => EditorEvent::End(Some(error)),
        };
        let is_over = matches!(event, EditorEvent::End(_));
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}

/// A catalog that is followed.
struct WatchedCatalog {
    live: Arc<LiveCatalog>,
    templates: Templates,
    _watch: CatalogWatch,
}

impl WatchedCatalog {
    fn open(
        open: &OpenLibraries<'_>,
        added: &[PathBuf],
        events: &SyncSender<EditorEvent>,
    ) -> Result<Self, CommandError> {
        let (live, templates) = open(added)?;
        let live = Arc::new(live);
        let events = events.clone();
        // If the loop has much to do already, it will look anyway.
        let watch = live.watch(move || drop(events.try_send(EditorEvent::Disk)));
        Ok(Self {
            live,
            templates,
            _watch: watch,
        })
    }
}

/// How far the editor's session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    New,
    Running,
    /// The editor said that it leaves.
    Over,
}

/// A file that is open in the editor.
struct OpenFile {
    /// As the editor calls it.
    uri: Box<str>,
    version: i64,
    text: Arc<str>,
}

struct LanguageServer<'o> {
    open: &'o OpenLibraries<'o>,
    watched: WatchedCatalog,
    /// The folders that the editor works in.
    roots: Vec<PathBuf>,
    /// Libraries that are served because a file of them is open.
    added: Vec<PathBuf>,
    events: SyncSender<EditorEvent>,
    output: io::Stdout,
    files: BTreeMap<PathBuf, OpenFile>,
    unsaved: UnsavedTexts,
    /// The catalog with the unsaved texts, until something changes.
    catalog: Option<Arc<Catalog>>,
    reports: Reports,
    state: ServerState,
}

/// The part of parameters that names a file.
#[derive(Deserialize)]
struct NamedFile {
    uri: Box<str>,
    #[serde(default)]
    version: i64,
    text: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileParams {
    text_document: NamedFile,
    #[serde(default)]
    content_changes: Vec<WholeText>,
    position: Option<TextPosition>,
}

#[derive(Deserialize)]
struct WholeText {
    text: Box<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    root_uri: Option<Box<str>>,
    workspace_folders: Option<Vec<NamedFile>>,
}

impl LanguageServer<'_> {
    fn serve(&mut self, events: &Receiver<EditorEvent>) -> Result<ExitCode, CommandError> {
        let mut is_changed = false;
        loop {
            let event = if is_changed {
                events.recv_timeout(QUIET)
            } else {
                events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match event {
                Ok(EditorEvent::Message(message)) => {
                    if let Some(code) = self.receive(message, &mut is_changed)? {
                        return Ok(code);
                    }
                }
                Ok(EditorEvent::Unreadable(why)) => {
                    let why = format!("the message is no JSON-RPC: {why}");
                    framing::refuse(&mut self.output, &Value::Null, PARSE_ERROR, &why)?;
                }
                Ok(EditorEvent::Disk) => {
                    self.catalog = None;
                    is_changed = true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    is_changed = false;
                    self.report()?;
                }
                Ok(EditorEvent::End(Some(error))) => {
                    let message = format!("the editor's messages cannot be read any more: {error}");
                    return Err(CommandError::fixable(message));
                }
                Ok(EditorEvent::End(None)) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
    }

    /// Handles a message; an exit code if it is the last one.
    fn receive(
        &mut self,
        message: EditorMessage,
        is_changed: &mut bool,
    ) -> Result<Option<ExitCode>, CommandError> {
        let Some(method) = message.method else {
            return Ok(None);
        };
        let params = message.params;
        let Some(id) = message.id else {
            if &*method == "exit" {
                let is_expected = self.state == ServerState::Over;
                return Ok(Some(if is_expected {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                }));
            }
            if self.state == ServerState::Running {
                *is_changed |= self.notice(&method, params);
            }
            return Ok(None);
        };
        match self.answer(&method, params) {
            Ok(result) => framing::answer(&mut self.output, &id, &result)?,
            Err((code, why)) => framing::refuse(&mut self.output, &id, code, &why)?,
        }
        Ok(None)
    }

    /// Takes note of what happens in the editor; returns whether problems may differ.
    fn notice(&mut self, method: &str, params: Value) -> bool {
        let is_about_text = matches!(
            method,
            "textDocument/didOpen" | "textDocument/didChange" | "textDocument/didClose"
        );
        if !is_about_text {
            return method == "textDocument/didSave";
        }
        let Ok(params) = serde_json::from_value::<FileParams>(params) else {
            return false;
        };
        let file = params.text_document;
        let Some(path) = path_of(&file.uri) else {
            return false;
        };
        let text = match method {
            "textDocument/didClose" => {
                self.files.remove(&path);
                self.unsaved.remove(&path);
                self.catalog = None;
                return true;
            }
            "textDocument/didOpen" => file.text,
            _ => params
                .content_changes
                .into_iter()
                .next_back()
                .map(|it| it.text),
        };
        let Some(text) = text else { return false };
        let is_new = !self.files.contains_key(&path);
        if is_new && self.files.len() >= MOST_FILES {
            return false;
        }
        if is_new {
            self.add_library_of(&path);
        }
        let text: Arc<str> = Arc::from(text);
        self.unsaved.insert(path.clone(), Arc::clone(&text));
        let open = OpenFile {
            uri: file.uri,
            version: file.version,
            text,
        };
        self.files.insert(path, open);
        self.catalog = None;
        true
    }

    fn answer(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        match (method, self.state) {
            ("initialize", ServerState::New) => {
                if let Ok(params) = serde_json::from_value::<InitializeParams>(params) {
                    self.follow_folders(params);
                }
                self.state = ServerState::Running;
                Ok(json!({
                    "capabilities": {
                        "positionEncoding": "utf-16",
                        // The whole text with each change.
                        "textDocumentSync": { "openClose": true, "change": 1, "save": true },
                        "completionProvider": { "triggerCharacters": ["{", "%", "\"", "'", "/", ":", "$", " "] },
                        "hoverProvider": true,
                        "definitionProvider": true,
                    },
                    "serverInfo": { "name": "twig", "version": env!("CARGO_PKG_VERSION") },
                }))
            }
            (_, ServerState::New) => Err((NOT_INITIALIZED, "send `initialize` first".to_owned())),
            ("shutdown", _) => {
                self.state = ServerState::Over;
                Ok(Value::Null)
            }
            ("textDocument/completion" | "textDocument/hover" | "textDocument/definition", _) => {
                self.asked(method, params)
            }
            _ => Err((UNKNOWN_METHOD, format!("`{method}` is not supported"))),
        }
    }

    /// Serves the libraries of the folders that the editor works in.
    fn follow_folders(&mut self, params: InitializeParams) {
        let folders = params.workspace_folders.unwrap_or_default();
        let uris = folders.iter().map(|folder| &*folder.uri);
        let uris = uris.chain(params.root_uri.as_deref());
        self.roots = uris.filter_map(path_of).collect();
        self.roots.dedup();
        self.follow_roots();
    }

    fn follow_roots(&mut self) {
        self.watched.live.follow_roots(self.roots.clone());
        self.watched.live.refresh();
        self.catalog = None;
    }

    /// Serves the library of a file, if nothing says where it is.
    fn add_library_of(&mut self, path: &Path) {
        let catalog = self.watched.live.snapshot();
        if library_of(&catalog, path).is_some() {
            return;
        }
        let is_library = |folder: &&Path| folder.join(twig_core::parse::library::MANIFEST).exists();
        let Some(folder) = path.ancestors().skip(1).find(is_library) else {
            return;
        };
        self.added.push(folder.to_path_buf());
        match WatchedCatalog::open(self.open, &self.added, &self.events) {
            Ok(watched) => {
                self.watched = watched;
                self.follow_roots();
            }
            Err(error) => {
                let (folder, why) = (folder.display(), error.message);
                tracing::warn!("{folder} cannot be opened: {why}");
                self.added.pop();
            }
        }
    }

    /// The catalog with the unsaved texts. What it offers is the libraries with open files.
    fn catalog(&mut self) -> Arc<Catalog> {
        let Self {
            watched,
            unsaved,
            catalog,
            ..
        } = self;
        let made = catalog.get_or_insert_with(|| {
            let current = watched.live.snapshot();
            let mut only = CatalogFilter::default();
            for path in unsaved.paths() {
                if let Some(library) = library_of(&current, path) {
                    only.add_root(Path::new(&*library.root));
                }
            }
            watched.live.with_unsaved(unsaved, &only)
        });
        Arc::clone(made)
    }

    /// Answers a question about a place in an open file.
    fn asked(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let params: FileParams =
            serde_json::from_value(params).map_err(|error| (BAD_PARAMS, error.to_string()))?;
        let path = path_of(&params.text_document.uri);
        let catalog = self.catalog();
        let Some((path, position)) = path.zip(params.position) else {
            return Ok(Value::Null);
        };
        let found = self.files.get(&path).zip(library_of(&catalog, &path));
        let Some((file, library)) = found else {
            return Ok(Value::Null);
        };
        let below = path
            .strip_prefix(&*library.root)
            .ok()
            .and_then(Path::to_str);
        let bodies = UnsavedBodies {
            files: &*self.watched.live,
            texts: &self.unsaved,
        };
        let asked = AskedPlace {
            catalog: &catalog,
            bodies: &bodies,
            library,
            file: below.unwrap_or_default(),
            text: &file.text,
            at: position.to_byte(&file.text),
        };
        Ok(match method {
            "textDocument/completion" => asked.completion(),
            "textDocument/hover" => asked.hover(),
            _ => asked.definition(),
        })
    }

    /// Reports the problems of the libraries with open files.
    fn report(&mut self) -> io::Result<()> {
        let catalog = self.catalog();
        let mut problems = Vec::new();
        if !self.files.is_empty() {
            let catalog = Latest::from(catalog);
            let bodies = UnsavedBodies {
                files: &*self.watched.live,
                texts: &self.unsaved,
            };
            problems = check(World {
                catalog: &catalog,
                bodies: &bodies,
                templates: &self.watched.templates,
            });
            let roots: Vec<&str> = catalog.libraries().iter().map(|it| &*it.root).collect();
            problems.retain(|problem| {
                let path = Path::new(&*problem.path);
                roots.iter().any(|root| path.starts_with(root))
            });
        }
        let files = &self.files;
        let open = |path: &Path| {
            let file = files.get(path)?;
            Some((&*file.uri, file.version, &*file.text))
        };
        for params in self.reports.replace(&problems, open) {
            framing::notify(&mut self.output, "textDocument/publishDiagnostics", &params)?;
        }
        self.output.flush()
    }
}

/// The library that a file is in: the innermost one.
fn library_of<'c>(catalog: &'c Catalog, path: &Path) -> Option<&'c Arc<Library>> {
    let libraries = catalog.sources().filter(|it| it.stored().is_none());
    let around = libraries.filter(|library| path.starts_with(&*library.root));
    around.max_by_key(|library| library.root.len())
}
