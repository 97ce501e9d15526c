//! One library of the kind `definitions`: `prompts/*.json`, and the documents that they embed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::model::About;
use twig_core::parse::documents::Layout;
use twig_core::parse::library::{Folder, add_documents, definitions_library, empty_library};
use twig_core::parse::project::{CONFIG, ProjectConfig, project_config};
use twig_core::{FileRole, Kind, Library, Limits, Problem, ProblemCode, Severity, UriTemplate};

use crate::document_folder::DocumentFolder;
use crate::listing::{Listed, LookedAt, Looker};
use crate::reader::{Patience, read_text};
use crate::root::Root;
use crate::source_files::SourceFiles;
use crate::stamp::Seen;
use crate::text_files::{TextFiles, list};

/// Where definitions are, the first of these that has any.
const FOLDERS: [&str; 2] = ["prompts", "mcp/prompts"];
/// How the URIs of documents look.
const PREFIX: &str = "architecture://";
const TEMPLATE: &str = "architecture://{category}/{name}";

/// A library as it was last read, with all that tells what to read again.
#[derive(Debug)]
pub(crate) struct DefinitionsFolder {
    pub(crate) library: Arc<Library>,
    /// The same without its documents.
    parsed: Library,
    documents: Option<Box<DocumentFolder>>,
    config: Config,
    /// One of [`FOLDERS`].
    prompts: &'static str,
    definitions: TextFiles,
    /// Where the pictures and sounds of its prompts are.
    media: Vec<Listed>,
    links: Vec<LookedAt>,
}

impl DefinitionsFolder {
    /// Reads a library for the first time, or what changed of it.
    pub(crate) fn load(folder: &Folder, limits: &Limits, before: Option<Self>) -> Self {
        let root = Path::new(&*folder.root);
        let is_first = before.is_none();
        let empty = || empty_library(folder, Kind::Definitions, Vec::new());
        let mut state = before.unwrap_or_else(|| Self {
            library: Arc::new(empty()),
            parsed: empty(),
            documents: None,
            config: Config::new(),
            prompts: FOLDERS[0],
            definitions: TextFiles::new(),
            media: Vec::new(),
            links: Vec::new(),
        });
        if state.definitions.files.is_empty() {
            state.prompts = FOLDERS
                .into_iter()
                .find(|prompts| has_json(root, prompts))
                .unwrap_or(FOLDERS[0]);
        }
        let most = limits.manifest;
        let mut changed = state.definitions.look(root, state.prompts, is_json, most);
        changed |= !state.media_holds(root);
        changed |= state.config.look(folder, limits);
        if changed || is_first {
            let looker = Looker::new(root);
            let files = &state.definitions.files;
            state.parsed = definitions_library(folder, files, &looker, limits);
            (state.media, state.links) = looker.into_used();
            state.parsed.about = state.config.read.about.clone();
            let problems = state.config.read.problems.iter().cloned();
            state.parsed.problems.extend(problems);
            let too_many = state.definitions.too_many(folder, "definitions");
            state.parsed.problems.extend(too_many);
            // A project may have documents only.
            if files.is_empty() && !folder.prefix.is_empty() {
                state.parsed.problems.push(nothing(folder));
            }
        }
        let layout = &state.config.read.layout;
        let before = state.documents.take().map(|before| *before);
        let documents = DocumentFolder::load(folder, layout, limits, before);
        if changed || is_first || documents.changed {
            let mut library = state.parsed.clone();
            library.problems.extend(documents.problems.iter().cloned());
            add_documents(&mut library, layout, documents.documents.clone());
            // An equal library stays the same allocation: whoever compares sees at once.
            if is_first || *state.library != library {
                state.library = Arc::new(library);
            }
        }
        state.documents = Some(Box::new(documents));
        state
    }

    /// The files that its prompts were read from.
    pub(crate) fn sources(&self) -> Arc<SourceFiles> {
        Arc::clone(&self.definitions.sources)
    }

    /// The folders whose entries matter, besides the library's own.
    pub(crate) fn watched(&self, root: &Path) -> Vec<PathBuf> {
        // Where one is missing its parent tells when it comes.
        let mut folders = vec![root.join("mcp")];
        folders.extend(FOLDERS.map(|prompts| root.join(prompts)));
        folders.extend(self.media.iter().map(|listed| listed.path.clone()));
        let documents = self.documents.iter().flat_map(|found| found.watched());
        folders.extend(documents.cloned());
        folders
    }

    /// Whether the pictures and sounds are still there, or still not.
    fn media_holds(&mut self, root: &Path) -> bool {
        let links = &self.links;
        self.media.iter_mut().all(|listed| listed.holds(root))
            && (links.is_empty()
                || Root::open(root).is_ok_and(|root| links.iter().all(|link| link.holds(&root))))
    }
}

/// What a project says of its library; for any other folder, what goes without saying.
#[derive(Debug)]
struct Config {
    read: ProjectConfig,
    seen: Seen,
}

impl Config {
    fn new() -> Self {
        Self {
            read: ProjectConfig {
                about: About::default(),
                layout: layout(),
                problems: Vec::new(),
            },
            seen: Seen::never(),
        }
    }

    /// Reads the file again where it changed; says whether it did.
    fn look(&mut self, folder: &Folder, limits: &Limits) -> bool {
        // Elsewhere a file of that name may be anybody's.
        if !folder.prefix.is_empty() {
            return false;
        }
        let root = Path::new(&*folder.root);
        let now = Seen::at(&root.join(CONFIG));
        if self.seen.holds(&now) {
            return false;
        }
        self.seen = now;
        let text = match read_text(root, CONFIG, limits.manifest, Patience::for_scan(true)) {
            Ok(read) => {
                self.seen = Seen::of(read.stamp);
                read.text
            }
            Err(_) if !now.is_there() => String::new(),
            Err(error) => {
                let (path, shown) = (folder.path_of(CONFIG), folder.shown_path_of(CONFIG));
                self.read.problems = vec![error.problem(FileRole::Manifest, &path, &shown)];
                return true;
            }
        };
        let looker = Looker::new(root);
        let read = project_config(folder, &text, layout(), &looker, limits);
        let changed = read != self.read;
        self.read = read;
        changed
    }
}

fn layout() -> Layout {
    Layout::usual(PREFIX, UriTemplate::parse(TEMPLATE).into_iter().collect())
}

/// Whether a folder is laid out like a library of definitions.
pub(crate) fn has_definitions(root: &Path) -> bool {
    FOLDERS.into_iter().any(|prompts| has_json(root, prompts))
}

fn has_json(root: &Path, folder: &str) -> bool {
    Seen::at(&root.join(folder)).is_there()
        && list(root, folder, is_json).is_ok_and(|files| !files.is_empty())
}

fn is_json(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn nothing(folder: &Folder) -> Problem {
    let message = format!(
        "{} has no {}/*.json, nor {}/*.json",
        folder.shown_root, FOLDERS[0], FOLDERS[1]
    );
    Problem::of_file(
        ProblemCode::NoDefinitions,
        Severity::Warning,
        &folder.root,
        message,
    )
    .with_help("put a definition there, such as prompts/review-code.json")
}
