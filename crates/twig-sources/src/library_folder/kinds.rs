//! Which files each kind of library needs, and how it makes a library of them.

use std::path::{Path, PathBuf};

use twig_clients::format::{self, Reading, SkillFileFound};
use twig_core::parse::documents::DocumentLayout;
use twig_core::parse::functions::{FunctionFiles, LIST, SCRIPT};
use twig_core::parse::library::{
    DefinitionFile, LibraryRoot, MANIFEST, definitions_library, empty_library, functions_library,
    twig_layout,
};
use twig_core::parse::project::{CONFIG, project_config};
use twig_core::{
    BodyError, FileRole, FunctionSource, Library, LibraryKind, Problem, ProblemCode, RelativePath,
    Severity, UriTemplate,
};

use crate::library_files::{
    FILES, FileContent, FileRules, LISTED, LibraryFiles, TreeKind, is_definition,
};
use crate::listing::{FileLister, Listing, is_leftover};
use crate::root::Root;
use crate::settings::Settings;
use crate::stamp::{SeenStamp, is_absence};

/// Folders of definitions; the first that has any is used.
const FOLDERS: [&str; 2] = ["prompts", "mcp/prompts"];
/// The URI prefix of a definition's documents.
const PREFIX: &str = "architecture://";
const TEMPLATE: &str = "architecture://{category}/{name}";

/// A library without its documents, where those are, and whether everything that it needs could be
/// read.
type ReadLibrary = (Library, Option<DocumentLayout>, bool);

/// Makes a library of its files; `None` if it is no longer one.
pub(super) fn read(
    files: &mut LibraryFiles,
    rules: &FileRules<'_>,
    settings: &Settings,
) -> Option<ReadLibrary> {
    match rules.kind {
        LibraryKind::Definitions => Some(definitions(files, rules)),
        LibraryKind::Functions => functions(files, rules, &settings.function_prefix),
        kind if kind.is_format() => Some(client(files, rules)),
        _ => twig(files, rules),
    }
}

fn twig(files: &mut LibraryFiles, rules: &FileRules<'_>) -> Option<ReadLibrary> {
    let root = Path::new(&*rules.folder.root);
    files.want_text(rules, MANIFEST, rules.limits.manifest);
    let looker = FileLister::new(root);
    let manifest = files.named(MANIFEST)?;
    let (library, layout) = match manifest.text() {
        Ok(text) => {
            let (mut library, layout) = twig_layout(rules.folder, text, &looker, rules.limits);
            if library.runs_functions() {
                library.function_sources = source(files, MANIFEST).into_iter().collect();
            }
            (library, layout)
        }
        // A broken symlink is a problem; a missing file was removed after the folder was checked.
        Err(BodyError::NotFound) if !root.join(MANIFEST).is_symlink() => return None,
        Err(error) => (broken(rules, FileRole::Manifest, MANIFEST, error), None),
    };
    files.keep(looker);
    let is_good = layout.is_some();
    Some((library, layout, is_good))
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
pub(super) fn has_moved(files: &LibraryFiles, rules: &FileRules<'_>) -> bool {
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
    FOLDERS.into_iter().find(is_it).unwrap_or(FOLDERS[0])
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
    let is_project = folder.prefix.is_empty();
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
    let config = files.named(CONFIG).map(|file| file.text());
    let text = config.unwrap_or(Ok("")).unwrap_or_default();
    let read = project_config(folder, text, usual, &looker, limits);
    library.about = read.about;
    library.problems.extend(read.problems);
    let unread = config.and_then(Result::err);
    if let Some(error) = unread.filter(|error| **error != BodyError::NotFound) {
        let problem = problem(folder, FileRole::Manifest, CONFIG, error);
        library.problems.push(problem);
    }
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
    let [first, second] = FOLDERS;
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
pub(super) fn watched_definitions(root: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = FOLDERS.map(|prompts| root.join(prompts));
    std::iter::once(root.join("mcp")).chain(folders)
}

/// Whether a folder is laid out like a library of definitions.
pub(crate) fn has_definitions(root: &Path) -> bool {
    FOLDERS.into_iter().any(|prompts| has_json(root, prompts))
}

fn has_json(root: &Path, folder: &str) -> bool {
    let list = || Listing::read(&Root::open(root)?, folder);
    let is_json = |name: &str| !is_leftover(name) && is_definition(name);
    SeenStamp::at(&root.join(folder)).is_there()
        && list().is_ok_and(|listing| listing.names().any(is_json))
}

/// Whether a folder has both files of a library of functions. If it was such a library before,
/// either file is enough, and the missing one is its problem.
pub(crate) fn has_functions(root: &Path, was_one: bool) -> bool {
    let is_there = |name: &str| match root.join(name).symlink_metadata() {
        Ok(_) => true,
        Err(error) => was_one && !is_absence(&error),
    };
    let files = [LIST, SCRIPT];
    if was_one {
        files.into_iter().any(is_there)
    } else {
        files.into_iter().all(is_there)
    }
}
