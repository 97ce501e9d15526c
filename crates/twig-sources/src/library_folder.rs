//! One library's folder: its files, the library made of them, and its last good state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_clients::format::{self, Reading, SkillFileFound};
use twig_core::catalog::is_match;
use twig_core::document::Document;
use twig_core::model::ShellLines;
use twig_core::parse::documents::{DocumentLayout, documents};
use twig_core::parse::functions::{FunctionFiles, LIST, SCRIPT};
use twig_core::parse::library::{
    DefinitionFile, LibraryRoot, MANIFEST, add_documents, definitions_library, empty_library,
    functions_library, twig_layout,
};
use twig_core::parse::project::{CONFIG, ProjectConfig, project_config};
use twig_core::problem::SERVED_MEANWHILE;
use twig_core::{
    BodyError, FileRole, FunctionSource, Library, LibraryKind, LibraryName, LibraryPackage,
    ListingRules, Problem, ProblemCode, RelativePath, Severity, UriTemplate,
};

use crate::candidate::Candidate;
use crate::detect::{DEFINITIONS, has_json};
use crate::library_files::{
    FILES, FileContent, FileRules, FileTree, LISTED, LibraryFiles, TreeKind,
};
use crate::listing::{FileLister, ListedKind};
use crate::packages::{PackageLists, REPOSITORY_WORDS};
use crate::settings::Settings;
use crate::source_files::{ReadFrom, SourceFiles};
use crate::trust::Trust;
use crate::trust::guard::Guard;
use crate::unsaved::UnsavedTexts;

/// The URI prefix of a definition's documents.
const PREFIX: &str = "architecture://";
const TEMPLATE: &str = "architecture://{category}/{name}";

/// A library without its documents, where those are, and whether everything that it needs could be
/// read.
type ReadLibrary = (Library, Option<DocumentLayout>, bool);

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct LibraryFolder {
    /// How it was found.
    pub(crate) candidate: Candidate,
    folder: LibraryRoot,
    files: LibraryFiles,
    parsed: ParsedLibrary,
    /// The library when everything that it needs could last be read.
    good: Option<ParsedLibrary>,
    /// The same with its documents.
    whole: Arc<Library>,
    sources: Arc<SourceFiles>,
    guard: Guard,
    /// The part of it that may be served.
    library: Arc<Library>,
}

/// A library without its documents, and where those are.
#[derive(Debug, Clone)]
struct ParsedLibrary {
    library: Arc<Library>,
    layout: Option<DocumentLayout>,
}

impl LibraryFolder {
    pub(crate) fn kind(&self) -> LibraryKind {
        self.parsed.library.kind
    }

    pub(crate) fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
    }

    /// The served library, and the files that it was read from.
    pub(crate) fn read_from(&self) -> ReadFrom {
        (self.library(), Arc::clone(&self.sources))
    }

    /// The folders inside it whose entries matter.
    pub(crate) fn watched(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.files.watched().cloned().collect();
        if self.kind() == LibraryKind::Definitions {
            folders.extend(watched_definitions(Path::new(&*self.folder.root)));
        }
        folders.extend_from_slice(self.guard.watched());
        folders
    }

    /// The folders outside it that lead to its documents: they can be created, removed and renamed.
    pub(crate) fn beside(&self) -> &[PathBuf] {
        &self.files.beside
    }

    /// How many files a refresh checks, one by one.
    pub(crate) fn file_count(&self) -> usize {
        self.files.tree.as_ref().map_or(0, |tree| tree.files.len())
    }

    fn new(folder: LibraryRoot, candidate: &Candidate) -> Self {
        let empty = Arc::new(empty_library(&folder, candidate.kind, Vec::new()));
        Self {
            candidate: candidate.clone(),
            folder,
            files: LibraryFiles::default(),
            parsed: ParsedLibrary {
                library: Arc::clone(&empty),
                layout: None,
            },
            good: None,
            whole: Arc::clone(&empty),
            sources: Arc::default(),
            guard: Guard::default(),
            library: empty,
        }
    }

    /// Reads a library, whether it is trusted or not.
    #[cfg(test)]
    pub(crate) fn read(candidate: &Candidate) -> Option<Arc<Library>> {
        let (settings, trust) = (Settings::default(), Trust::default());
        let loaded = Self::load(&settings, &trust, &PackageLists::default(), candidate, None);
        loaded.ok()?.map(|loaded| loaded.whole)
    }

    /// Reads a library, and only the changes of one that is known; `None` if it is no longer one.
    pub(crate) fn load(
        settings: &Settings,
        trust: &Trust,
        lists: &PackageLists,
        candidate: &Candidate,
        known: Option<Self>,
    ) -> Result<Option<Self>, Box<Problem>> {
        if candidate.is_away {
            return Ok(known);
        }
        // Another name is another prefix for every prompt: then everything is read again.
        let is_same = |known: &Self| {
            let name = candidate.name.as_ref();
            known.kind() == candidate.kind && name.is_none_or(|name| known.folder.name == *name)
        };
        let known = known.filter(is_same);
        let is_first = known.is_none();
        let state = match known {
            Some(known) => known,
            None => Self::new(folder(settings, candidate)?, candidate),
        };
        Ok(state.refresh(settings, trust, lists, candidate, is_first))
    }

    /// The library as it would be if these texts were saved; `None` if it would be none.
    pub(crate) fn with_unsaved(
        &self,
        settings: &Settings,
        trust: &Trust,
        lists: &PackageLists,
        texts: &UnsavedTexts,
    ) -> Option<Arc<Library>> {
        let state = Self {
            good: self.good.clone(),
            ..Self::new(self.folder.clone(), &self.candidate)
        };
        let texts = Some(texts);
        let read = state.refresh_with(settings, trust, lists, &self.candidate, true, texts);
        read.map(|read| read.library)
    }

    /// Reads the changes; `None` if it is no longer a library.
    pub(crate) fn refresh(
        self,
        settings: &Settings,
        trust: &Trust,
        lists: &PackageLists,
        candidate: &Candidate,
        is_first: bool,
    ) -> Option<Self> {
        self.refresh_with(settings, trust, lists, candidate, is_first, None)
    }

    fn refresh_with(
        mut self,
        settings: &Settings,
        trust: &Trust,
        lists: &PackageLists,
        candidate: &Candidate,
        is_first: bool,
        unsaved: Option<&UnsavedTexts>,
    ) -> Option<Self> {
        let (folder, files) = (&self.folder, &mut self.files);
        let (kind, options, inner) = (candidate.kind, candidate.options, &candidate.inner);
        let rules = FileRules::new(folder, kind, options, &settings.limits, inner);
        let packaged = candidate.package.as_ref();
        let packaged = packaged.map(|it| lists.of(settings.packages.as_deref(), it));
        let rules = rules
            .with_config(candidate.config.as_deref())
            .with_package(packaged.as_ref())
            .with_unsaved(unsaved);
        let changed = files.refresh(&rules, candidate.manifest);
        let is_parsed = changed || is_first || has_moved(files, &rules);
        if is_parsed {
            let (library, layout, is_good) = match kind {
                LibraryKind::Definitions => definitions(files, &rules),
                LibraryKind::Functions => functions(files, &rules, &settings.function_prefix)?,
                kind if kind.is_format() => client(files, &rules),
                _ => twig(files, &rules)?,
            };
            self.parsed = match &self.good {
                Some(good) if !is_good => ParsedLibrary {
                    library: Arc::new(keep_good(&good.library, library.problems)),
                    layout: good.layout.clone(),
                },
                _ => ParsedLibrary {
                    library: Arc::new(library),
                    layout,
                },
            };
            if is_good {
                self.good = Some(self.parsed.clone());
            }
        }
        let has_documents = files.refresh_documents(&rules, self.parsed.layout.as_ref());
        if rules.is_any_read() || is_first {
            self.sources = SourceFiles::new(files.sources());
        }
        let is_relisted = self.whole.listing != *candidate.listing
            || self.whole.loaded_by != candidate.loaded_by
            || self.whole.workspace != candidate.workspace
            || self.whole.shell_lines != options.shell_lines
            || !is_packaged_by(&self.whole, candidate);
        if is_parsed || has_documents || is_relisted {
            let whole = with_documents(folder, &self.parsed, files.documents.as_ref());
            let whole = with_settings(whole, &folder.prefix, candidate, options.shell_lines);
            // An equal library stays the same allocation, which makes comparisons fast.
            if is_first || *self.whole != *whole {
                self.whole = whole;
            }
        }
        self.library = if self.whole.runs_functions() {
            let data = settings.data.as_deref();
            self.guard.pass(&self.whole, trust, data)
        } else {
            self.guard = Guard::default();
            Arc::clone(&self.whole)
        };
        self.candidate.clone_from(candidate);
        Some(self)
    }
}

fn twig(files: &mut LibraryFiles, rules: &FileRules<'_>) -> Option<ReadLibrary> {
    let root = Path::new(&*rules.folder.root);
    files.want_text(rules, MANIFEST, rules.limits.manifest);
    if rules.folder.prefix.is_empty() {
        files.want_text(rules, CONFIG, rules.limits.manifest);
    }
    let looker = FileLister::new(root);
    let manifest = files.named(MANIFEST)?;
    let (mut library, layout, is_good) = match manifest.text() {
        Ok(text) => {
            let read = twig_layout(rules.folder, text, &looker, rules.limits);
            let mut library = read.library;
            if library.runs_functions() {
                library.function_sources = source(files, MANIFEST).into_iter().collect();
            }
            (library, read.layout, read.is_whole)
        }
        // A broken symlink is a problem; a missing file was removed after the folder was checked.
        Err(BodyError::NotFound) if !root.join(MANIFEST).is_symlink() => return None,
        Err(error) => (
            broken(rules, FileRole::Manifest, MANIFEST, error),
            None,
            false,
        ),
    };
    let usual = DocumentLayout::usual("", Vec::new());
    let config = config(files, rules, &looker, usual, true);
    library.problems.extend(config.problems);
    files.keep(looker);
    files.drop_text(MANIFEST);
    Some((library, layout, is_good))
}

/// The configuration of a project's own folder; in another folder, a file with that name may belong
/// to anything.
fn config(
    files: &LibraryFiles,
    rules: &FileRules<'_>,
    looker: &FileLister<'_>,
    usual: DocumentLayout,
    has_manifest: bool,
) -> ProjectConfig {
    let (folder, limits) = (rules.folder, rules.limits);
    let file = files.named(CONFIG).map(|file| file.text());
    let text = file.unwrap_or(Ok("")).unwrap_or_default();
    let words = &REPOSITORY_WORDS;
    let mut config = project_config(folder, text, usual, has_manifest, looker, limits, words);
    let unread = file.and_then(Result::err);
    if let Some(error) = unread.filter(|error| **error != BodyError::NotFound) {
        let problem = problem(folder, FileRole::Configuration, CONFIG, error);
        config.problems.push(problem);
    }
    config
}

fn functions(files: &mut LibraryFiles, rules: &FileRules<'_>, prefix: &str) -> Option<ReadLibrary> {
    files.want_text(rules, LIST, rules.limits.manifest);
    files.want_text(rules, SCRIPT, rules.limits.library_file());
    let script = files.named(SCRIPT)?.text();
    let library = match files.named(LIST)?.text() {
        Ok(list) => {
            let read = FunctionFiles {
                list,
                script,
                prefix,
            };
            let mut library = functions_library(rules.folder, &read, rules.limits);
            let sources = [source(files, LIST), source(files, SCRIPT)];
            library.function_sources = sources.into_iter().flatten().collect();
            library
        }
        Err(error) => broken(rules, FileRole::Functions, LIST, error),
    };
    let is_good = !library.prompts.is_empty() || library.problems.is_empty();
    Some((library, None, is_good))
}

/// Whether the definitions are in another folder than before.
fn has_moved(files: &LibraryFiles, rules: &FileRules<'_>) -> bool {
    let tree = files
        .tree
        .as_ref()
        .filter(|_| rules.kind == LibraryKind::Definitions);
    let root = Path::new(&*rules.folder.root);
    tree.is_some_and(|tree| *tree.below != *definitions_folder(files, root))
}

/// The folder with definitions: the one that was read, as long as it has any.
fn definitions_folder(files: &LibraryFiles, root: &Path) -> &'static str {
    let tree = files.tree.as_ref().filter(|tree| !tree.files.is_empty());
    let is_it = |folder: &&str| match tree {
        Some(tree) => *tree.below == **folder,
        None => has_json(root, folder),
    };
    DEFINITIONS
        .into_iter()
        .find(is_it)
        .unwrap_or(DEFINITIONS[0])
}

/// A file that defines what functions run, as it was read.
fn source(files: &LibraryFiles, path: &'static str) -> Option<FunctionSource> {
    let digest = files.named(path)?.digest()?;
    Some(FunctionSource { path, digest })
}

/// A library whose one file cannot be read.
fn broken(rules: &FileRules<'_>, role: FileRole, path: &str, error: &BodyError) -> Library {
    empty_library(
        rules.folder,
        rules.kind,
        vec![problem(rules.folder, role, path, error)],
    )
}

fn problem(folder: &LibraryRoot, role: FileRole, path: &str, error: &BodyError) -> Problem {
    error.problem(role, &folder.path_of(path), &folder.shown_path_of(path))
}

fn definitions(files: &mut LibraryFiles, rules: &FileRules<'_>) -> ReadLibrary {
    let (folder, limits) = (rules.folder, rules.limits);
    let root = Path::new(&*folder.root);
    let is_project = folder.is_project();
    // In another folder, a file with that name may belong to anything.
    if is_project {
        files.want_text(rules, CONFIG, limits.manifest);
    }
    let below = definitions_folder(files, root);
    files.tree(rules, TreeKind::Definitions, below);
    let looker = FileLister::new(root);
    let tree = files.tree.as_ref();
    let texts = tree.iter().flat_map(|tree| &tree.files);
    let texts = texts.map(|file| (&file.path, file.text()));
    let texts: Vec<DefinitionFile<'_>> = texts.collect();
    let mut library = definitions_library(folder, &texts, &looker, limits);
    let usual = DocumentLayout::usual(PREFIX, UriTemplate::parse(TEMPLATE).into_iter().collect());
    let read = config(files, rules, &looker, usual, false);
    library.about = read.about;
    library.problems.extend(read.problems);
    if let Some(left_off) = tree.map(|tree| tree.left_off).filter(|count| *count > 0) {
        library
            .problems
            .push(too_many_definitions(folder, left_off));
    }
    // A project may have documents only.
    if texts.is_empty() && !is_project {
        library.problems.push(no_definitions(folder));
    }
    files.keep(looker);
    (library, Some(read.layout), true)
}

fn client(files: &mut LibraryFiles, rules: &FileRules<'_>) -> ReadLibrary {
    let (folder, kind) = (rules.folder, rules.kind);
    let tree = files.tree(rules, TreeKind::Client(kind), "");
    let read = tree.files.iter().filter_map(|file| match &file.content {
        Ok(FileContent::Client(reading, bundled)) => Some((&file.path, reading, bundled)),
        _ => None,
    });
    let read: Vec<(&RelativePath, &Reading, &Option<Box<SkillFileFound>>)> = read.collect();
    let bundled = read.iter().filter_map(|(_, _, bundled)| bundled.as_deref());
    let bundled: Vec<SkillFileFound> = bundled.cloned().collect();
    let readings = read.iter().map(|(path, reading, _)| (*path, *reading));
    let mut library = format::library(folder, kind, readings, &bundled, rules.limits);
    library.problems.extend(tree.problems.iter().cloned());
    let of_folder = |code, severity, what: &str, help: &str| {
        let message = format!("{} {what}", folder.shown_root);
        Problem::of_file(code, severity, &folder.root, message).with_help(help)
    };
    if tree.left_off > 0 || tree.is_cut {
        let what = format!(
            "has more files or folders than are read ({LISTED} files); the rest is ignored"
        );
        let (code, help) = (ProblemCode::TooManyFiles, "split the library in two");
        library
            .problems
            .push(of_folder(code, Severity::Error, &what, help));
    }
    if library.prompts.is_empty() && library.problems.is_empty() {
        let what = format!(
            "has no file that is read as a prompt of kind `{}`",
            kind.as_str()
        );
        let help = "check the path, or say how to read it with `--kind`";
        let problem = of_folder(ProblemCode::NoPrompts, Severity::Note, &what, help);
        library.problems.push(problem);
    }
    (library, None, true)
}

fn too_many_definitions(folder: &LibraryRoot, left_off: usize) -> Problem {
    let message = format!(
        "{} has more than {FILES} definitions; {left_off} are ignored",
        folder.shown_root
    );
    Problem::of_file(
        ProblemCode::TooManyFiles,
        Severity::Error,
        &folder.root,
        message,
    )
    .with_help("split the folder in two")
}

fn no_definitions(folder: &LibraryRoot) -> Problem {
    let [first, second] = DEFINITIONS;
    let message = format!(
        "{} has no {first}/*.json, nor {second}/*.json",
        folder.shown_root
    );
    Problem::of_file(
        ProblemCode::NoDefinitions,
        Severity::Warning,
        &folder.root,
        message,
    )
    .with_help("put a definition there, such as prompts/review-code.json")
}

/// The folders of a library of definitions that may matter later: for a missing folder, its parent
/// reports when it appears.
fn watched_definitions(root: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = DEFINITIONS.map(|prompts| root.join(prompts));
    std::iter::once(root.join("mcp")).chain(folders)
}

/// The last good library, with the current problems in front of the earlier ones.
fn keep_good(good: &Library, broken: Vec<Problem>) -> Library {
    let mut kept = good.clone();
    let broken = broken.into_iter().map(|problem| {
        let help = match &problem.help {
            Some(help) => format!("{help}; {SERVED_MEANWHILE}"),
            None => SERVED_MEANWHILE.to_owned(),
        };
        problem.with_help(help)
    });
    kept.problems.splice(0..0, broken);
    kept
}

/// A library with the documents that were found.
fn with_documents(
    folder: &LibraryRoot,
    parsed: &ParsedLibrary,
    found: Option<&FileTree>,
) -> Arc<Library> {
    let Some(layout) = &parsed.layout else {
        return Arc::clone(&parsed.library);
    };
    let mut problems = Vec::new();
    let found = found.map(|tree| found_documents(folder, layout, tree, &mut problems));
    let found = found.unwrap_or_default();
    // A library of definitions has templates even if no document matches them yet.
    if found.is_empty() && problems.is_empty() && parsed.library.kind != LibraryKind::Definitions {
        return Arc::clone(&parsed.library);
    }
    let mut library = Library::clone(&parsed.library);
    library.problems.extend(problems);
    add_documents(&mut library, layout, found);
    Arc::new(library)
}

/// A library with what its repository says about lists, the clients that load it themselves, and
/// what the user says about commands.
fn with_settings(
    library: Arc<Library>,
    prefix: &str,
    candidate: &Candidate,
    shell_lines: ShellLines,
) -> Arc<Library> {
    if is_packaged_by(&library, candidate)
        && library.listing == *candidate.listing
        && library.loaded_by == candidate.loaded_by
        && library.workspace == candidate.workspace
        && library.shell_lines == shell_lines
    {
        return library;
    }
    let library = Library {
        listing: ListingRules::clone(&candidate.listing),
        loaded_by: candidate.loaded_by.clone(),
        workspace: candidate.workspace.clone(),
        shell_lines,
        ..Library::clone(&library)
    };
    Arc::new(match &candidate.package {
        Some(package) => of_package(library, prefix, package),
        None => library,
    })
}

/// True if a library says what its package is, and nothing else.
fn is_packaged_by(library: &Library, candidate: &Candidate) -> bool {
    match (&library.package, &candidate.package) {
        (None, None) => true,
        (Some(one), Some(two)) => {
            let key = |it: &LibraryPackage| {
                let key = (it.name.clone(), it.source.clone(), it.tree.clone());
                (
                    key,
                    it.reference.clone(),
                    it.commit.clone(),
                    it.only.clone(),
                )
            };
            key(one) == key(two)
        }
        _ => false,
    }
}

/// A library with its package, and with what of it is served.
fn of_package(mut library: Library, prefix: &str, package: &LibraryPackage) -> Library {
    if library.kind == LibraryKind::Markdown {
        // A bare name would take the place of a prompt of the user's own.
        for prompt in &mut library.prompts {
            let full_name = format!("{prefix}{}", prompt.name);
            Arc::make_mut(prompt).full_name = full_name.into();
        }
    }
    let mut package = package.clone();
    if !package.only.is_empty() {
        let is_wanted = |name: &str| package.only.iter().any(|it| is_match(it, name));
        let group = library.name.as_str().strip_prefix(package.name.as_str());
        let group = group.and_then(|group| group.strip_prefix('_'));
        if !group.is_some_and(is_wanted) {
            let (kept, left_out): (Vec<_>, Vec<_>) = library
                .prompts
                .into_iter()
                .partition(|prompt| is_wanted(prompt.name.as_str()));
            library.prompts = kept;
            let left_out = left_out
                .iter()
                .map(|prompt| Box::from(prompt.name.as_str()));
            package.left_out = left_out.collect();
            let prompts = &library.prompts;
            let has = |name: &str| prompts.iter().any(|prompt| prompt.name.as_str() == name);
            let skills = &mut library.skills;
            skills.retain(|skill| is_wanted(&skill.name) || has(&skill.name));
            library.old_names.retain(|_, name| has(name.as_str()));
        }
    }
    library.package = Some(Arc::new(package));
    library
}

fn found_documents(
    folder: &LibraryRoot,
    layout: &DocumentLayout,
    tree: &FileTree,
    problems: &mut Vec<Problem>,
) -> Vec<Document> {
    problems.extend(tree.problems.iter().cloned());
    let heads = || {
        let files = tree.files.iter();
        files.filter_map(|file| match &file.content {
            Ok(FileContent::Head(found)) => Some(found),
            _ => None,
        })
    };
    if heads().nth(FILES).is_some() || tree.is_cut {
        problems.push(too_many(folder, &tree.below));
    }
    for file in &tree.files {
        let Err(error) = &file.content else { continue };
        // A file that was listed and is missing was removed since.
        if *error != BodyError::NotFound || file.entry != ListedKind::File {
            let (path, shown) = (folder.path_of(&file.path), folder.shown_path_of(&file.path));
            problems.push(error.problem(FileRole::Document, &path, &shown));
        }
    }
    let mut folders = layout.folders.iter();
    let Some(base) = folders.find(|it| it.as_str() == &*tree.below) else {
        return Vec::new();
    };
    let heads = heads().take(FILES);
    documents(folder, &layout.prefix, base, heads, problems)
}

fn too_many(folder: &LibraryRoot, below: &str) -> Problem {
    let shown = folder.shown_path_of(below);
    let message = format!("{shown} has more than {FILES} documents; the rest is ignored");
    let (code, path) = (ProblemCode::TooManyDocuments, folder.path_of(below));
    Problem::of_file(code, Severity::Error, &path, message).with_help("split the library in two")
}

fn folder(settings: &Settings, candidate: &Candidate) -> Result<LibraryRoot, Box<Problem>> {
    let root = &*candidate.root;
    let problem = |message: String| {
        let path = root.display().to_string();
        let problem =
            Problem::of_file(ProblemCode::BadLibraryName, Severity::Error, &path, message);
        Box::new(problem.with_help("rename the folder: letters, digits and `_`, 128 bytes at most"))
    };
    let shown = settings.shown(root);
    let Some(text) = root.to_str() else {
        return Err(problem(format!("the path of {shown} is not UTF-8")));
    };
    // A project's library has the name of the project.
    let named = if candidate.is_project {
        root.parent().unwrap_or(root)
    } else {
        root
    };
    let own = || named.file_name().and_then(|name| name.to_str());
    let own = || own().and_then(LibraryName::from_folder);
    let Some(name) = candidate.name.clone().or_else(own) else {
        return Err(problem(format!(
            "the folder name of {shown} is not a valid library name"
        )));
    };
    let prefix = if candidate.is_project {
        String::new()
    } else {
        format!("{name}{}", settings.separator)
    };
    Ok(LibraryRoot {
        name,
        root: text.into(),
        shown_root: shown.into(),
        prefix: prefix.into(),
    })
}

#[cfg(test)]
mod tests;
