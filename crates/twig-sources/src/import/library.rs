//! Imported prompts in a library: a new or an existing one.
//!
//! A new library appears whole or not at all. In an existing one, texts are written first and the
//! manifest last, in one step, so that no reader ever sees a prompt without its text. Existing
//! files are never overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use twig_clients::import::ImportedPrompt;
use twig_core::name::twin_key;
use twig_core::parse::library::{Files, LibraryRoot, MANIFEST, twig_library};
use twig_core::parse::read_toml;
use twig_core::parse::table::append;
use twig_core::{
    BodyError, Content, Dialect, Library, LibraryName, Limits, Prompt, PromptName, RelativePath,
};

use super::{Fate, ImportError};
use crate::listing::FileLister;
use crate::locked_file::{LockError, LockedFile, LockedFolder};
use crate::platform;
use crate::reader::{ReadFile, SavePatience, read_text};
use crate::root::sentence;
use crate::write_file::{NewFile, create_beneath, sync_folder};

/// Prefix of the temporary folder in which a new library is made.
const UNFINISHED: &str = ".twig-import-";

/// A temporary folder that is untouched for this long belongs to a killed import: a running one
/// writes everything within seconds.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// What an import will do to a library.
#[derive(Debug)]
pub struct LibraryPlan {
    root: PathBuf,
    is_new: bool,
    /// One for each given prompt.
    pub fates: Vec<Fate>,
    /// The manifest's text when this was planned.
    before: String,
    manifest: String,
    files: Vec<(String, String)>,
    /// Prevents other commands from changing the library meanwhile; `None` if nothing will be
    /// written.
    lock: Option<PlanLock>,
}

/// What is locked from planning to writing.
#[derive(Debug)]
enum PlanLock {
    /// The manifest of an existing library.
    Manifest(LockedFile),
    /// The parent folder of a new library.
    #[allow(dead_code, reason = "it is held, not used")]
    Parent(LockedFolder),
}

/// Decides the result for each prompt, and writes nothing.
///
/// `head` is the beginning of a new manifest.
pub fn plan_library(
    root: &Path,
    prompts: &[&ImportedPrompt],
    head: &str,
    limits: &Limits,
) -> Result<LibraryPlan, ImportError> {
    plan(root, prompts, head, limits, None)
}

/// The same for a plan that will be written: until it is dropped, no other command changes the
/// library.
pub fn plan_library_locked(
    root: &Path,
    prompts: &[&ImportedPrompt],
    head: &str,
    limits: &Limits,
) -> Result<LibraryPlan, ImportError> {
    let lock = lock(root)?;
    plan(root, prompts, head, limits, Some(lock))
}

/// Waits for the lock on a library, or on the folder in which it will be created.
fn lock(root: &Path) -> Result<PlanLock, ImportError> {
    let parent = root.parent().unwrap_or(root);
    fs::create_dir_all(parent)
        .map_err(|error| cannot_write(&root.display().to_string(), &error))?;
    let has_manifest = || root.join(MANIFEST).symlink_metadata().is_ok();
    if !has_manifest() {
        let parent = LockedFolder::open(parent)?;
        // Another command may have created the library while this one waited.
        if !has_manifest() {
            return Ok(PlanLock::Parent(parent));
        }
    }
    let manifest = LockedFile::open_beneath(root, Path::new(MANIFEST));
    Ok(PlanLock::Manifest(manifest.map_err(
        |error| match error {
            LockError::Outside => ImportError::Outside(MANIFEST.to_owned()),
            error => error.into(),
        },
    )?))
}

fn plan(
    root: &Path,
    prompts: &[&ImportedPrompt],
    head: &str,
    limits: &Limits,
    lock: Option<PlanLock>,
) -> Result<LibraryPlan, ImportError> {
    let before = existing(root, limits)?;
    let is_new = before.is_none();
    let (text, library) = match before {
        Some((text, library)) => (text, Some(library)),
        None => (head.to_owned(), None),
    };
    let known: BTreeMap<String, &Prompt> = library
        .iter()
        .flat_map(|library| &library.prompts)
        .map(|prompt| (twin_key(prompt.name.as_str()), &**prompt))
        .collect();
    let mut plan = LibraryPlan {
        root: root.to_owned(),
        is_new,
        fates: Vec::with_capacity(prompts.len()),
        before: String::new(),
        manifest: String::new(),
        files: Vec::new(),
        lock,
    };
    let mut tables = String::new();
    for prompt in prompts {
        let (fate, files) = if let Some(known) = known.get(&twin_key(&prompt.name)) {
            compared(root, known, prompt, limits)
        } else {
            let fate = add(root, is_new, prompt, limits, text.len(), &mut tables);
            let files = prompt.files().into_iter();
            let files = files.map(|(path, text)| (path, text.to_owned()));
            (fate, files.collect())
        };
        if fate == Fate::New {
            plan.files.extend(files);
        }
        plan.fates.push(fate);
    }
    plan.manifest = append(&text, &tables);
    plan.before = text;
    if !plan.files.is_empty()
        && let Err(error) = read_toml(&plan.manifest)
    {
        return Err(ImportError::CannotAdd(error.message));
    }
    Ok(plan)
}

impl LibraryPlan {
    /// Whether this creates the library.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether anything would be written.
    pub fn changes_something(&self) -> bool {
        !self.files.is_empty()
    }

    /// Writes the planned changes.
    ///
    /// `step` is called after each prompt.
    pub fn write(&self, step: &dyn Fn()) -> Result<(), ImportError> {
        if let Some(data) = self.root.parent() {
            clear_unfinished(data);
        }
        if !self.changes_something() {
            return Ok(());
        }
        if self.is_new {
            self.make(step)
        } else {
            self.extend(step)
        }
    }

    fn make(&self, step: &dyn Fn()) -> Result<(), ImportError> {
        let shown = |error: &io::Error| cannot_write(&self.root.display().to_string(), error);
        let parent = self.root.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(|error| shown(&error))?;
        // Folders that begin with a dot are not libraries: if this process is killed, the folder
        // does no harm until it is removed.
        let mut unfinished = tempfile::Builder::new();
        let unfinished = unfinished.prefix(UNFINISHED).tempdir_in(parent);
        let unfinished = unfinished.map_err(|error| shown(&error))?;
        for (path, text) in &self.files {
            write_beneath(unfinished.path(), path, text)?;
            step();
        }
        write_beneath(unfinished.path(), MANIFEST, &self.manifest)?;
        open_to_others(unfinished.path());
        fs::rename(unfinished.path(), &self.root).map_err(|error| shown(&error))?;
        // It was renamed: there is nothing left to clean up.
        let _ = unfinished.keep();
        if let Ok(parent) = Dir::open_ambient_dir(parent, ambient_authority()) {
            sync_folder(&parent);
        }
        Ok(())
    }

    fn extend(&self, step: &dyn Fn()) -> Result<(), ImportError> {
        if !is_inside(&self.root.join("prompts"), &self.root) {
            return Err(ImportError::Outside("prompts".to_owned()));
        }
        let Some(PlanLock::Manifest(manifest)) = &self.lock else {
            return Err(ImportError::Changed);
        };
        self.check_before()?;
        for (path, text) in &self.files {
            // A file left by an interrupted import has the same text, or there would be no plan for
            // it.
            if read_text(&self.root, path, text.len(), SavePatience::NONE).is_err() {
                write_beneath(&self.root, path, text)?;
            }
            step();
        }
        if self.manifest == self.before {
            return Ok(());
        }
        manifest
            .replace(
                Some(self.before.as_bytes()),
                self.manifest.as_bytes(),
                NewFile::SHARED,
            )
            .map_err(|error| cannot_write(MANIFEST, &error))
    }

    /// Whether the manifest is unchanged: another program's changes are not overwritten.
    fn check_before(&self) -> Result<(), ImportError> {
        let read = read_text(&self.root, MANIFEST, self.before.len(), SavePatience::NONE);
        match read {
            Ok(read) if with_mark(&read) == self.before => Ok(()),
            _ => Err(ImportError::Changed),
        }
    }
}

/// The existing library, with its manifest's text; `None` if a new one can be created.
fn existing(root: &Path, limits: &Limits) -> Result<Option<(String, Library)>, ImportError> {
    match fs::read_dir(root).map(|mut entries| entries.next().is_none()) {
        Ok(false) => {}
        Ok(true) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ImportError::Unreadable(sentence(&error))),
    }
    let read = match read_text(
        root,
        MANIFEST,
        limits.manifest,
        SavePatience::for_scan(true),
    ) {
        Ok(read) => read,
        Err(BodyError::NotFound) => return Err(ImportError::NoLibrary),
        Err(error) => return Err(ImportError::Manifest(error.to_string())),
    };
    if let Err(error) = read_toml(&read.text) {
        let what = format!("is not valid TOML: {}", error.message);
        return Err(ImportError::Manifest(what));
    }
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let name = LibraryName::from_folder(&name).ok_or(ImportError::NoLibrary)?;
    let shown: Box<str> = root.display().to_string().into();
    let folder = LibraryRoot {
        prefix: format!("{name}:").into(),
        name,
        root: shown.clone(),
        shown_root: shown,
    };
    let library = twig_library(&folder, &read.text, &Named(FileLister::new(root)), limits);
    Ok(Some((with_mark(&read), library)))
}

/// Files as a manifest names them: a missing one still belongs to its prompt.
struct Named<'r>(FileLister<'r>);

impl Files for Named<'_> {
    fn look(&self, path: &RelativePath) -> Result<(), BodyError> {
        match self.0.look(path) {
            Err(BodyError::NotFound) => Ok(()),
            looked => looked,
        }
    }
}

/// A file's text with its byte order mark, if it has one.
fn with_mark(read: &ReadFile) -> String {
    let mark = if read.has_mark { "\u{feff}" } else { "" };
    format!("{mark}{}", read.text)
}

/// The result for a prompt whose name is taken, and those of its files that are missing.
fn compared(
    root: &Path,
    known: &Prompt,
    prompt: &ImportedPrompt,
    limits: &Limits,
) -> (Fate, Vec<(String, String)>) {
    let is_template = known.dialect == Dialect::Jinja;
    let names = known.arguments.iter().map(|argument| &argument.name);
    let own_names = prompt.arguments.iter().map(|argument| &argument.name);
    let mut is_same = is_template == prompt.is_template
        && known.messages.len() == prompt.messages.len()
        && names.eq(own_names);
    let limit = limits.verbatim.max(limits.template_source);
    let mut missing = Vec::new();
    for (at, message) in known.messages.iter().enumerate() {
        let own = prompt.messages.get(at);
        let own = own.filter(|own| own.role == message.role);
        let own = own.map(|own| own.text.as_str());
        is_same &= match &message.content {
            Content::File(path) => {
                match read_text(root, path.as_str(), limit, SavePatience::NONE) {
                    Ok(read) => own == Some(&read.text),
                    Err(BodyError::NotFound) => {
                        let text = own.unwrap_or_default().to_owned();
                        missing.push((path.as_str().to_owned(), text));
                        own.is_some()
                    }
                    Err(_) => false,
                }
            }
            Content::Text { text, .. } => own == Some(text),
            _ => false,
        };
    }
    let fate = match (is_same, missing.first()) {
        (true, None) => Fate::Same,
        (true, Some(_)) => Fate::New,
        (false, None) => Fate::Left(format!(
            "the library has another prompt `{}`, which stays as it is",
            prompt.name
        )),
        (false, Some((path, _))) => Fate::Left(format!(
            "the library has a prompt `{0}` whose file {path} is missing: put the file back, or take `{0}` out of its twig.toml, and import again",
            known.name
        )),
    };
    (fate, missing)
}

/// Adds a prompt's table, unless it exceeds a limit or its file is taken.
fn add(
    root: &Path,
    is_new: bool,
    prompt: &ImportedPrompt,
    limits: &Limits,
    before: usize,
    tables: &mut String,
) -> Fate {
    let name = match PromptName::parse(&prompt.name) {
        Ok(name) => name,
        Err(error) => return Fate::Left(format!("its name `{}` {error}", prompt.name)),
    };
    if !is_new {
        for (path, text) in prompt.files() {
            let is_free = match read_text(root, &path, text.len(), SavePatience::NONE) {
                Ok(read) => read.text == text,
                Err(error) => error == BodyError::NotFound,
            };
            if !is_free {
                return Fate::Left(format!("another file is at {path}"));
            }
        }
    }
    let table = prompt.table(&name);
    // Line ends may take two bytes each, and two lines separate the old and the new text.
    let lines = table.matches('\n').count() + 4;
    if before + tables.len() + table.len() + lines > limits.manifest {
        return Fate::Left(format!(
            "the library's twig.toml would exceed the limit of {} bytes",
            limits.manifest
        ));
    }
    if !tables.is_empty() {
        tables.push('\n');
    }
    tables.push_str(&table);
    Fate::New
}

/// Removes what killed imports left behind. What cannot be removed does no harm.
fn clear_unfinished(data: &Path) {
    let Ok(entries) = fs::read_dir(data) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        // Skip symlinks: this checks the entry, not its target.
        let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_abandoned = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok());
            age.is_some_and(|age| age > ABANDONED)
        };
        if is_ours && is_folder() && is_abandoned() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Creates a new file, never through a symlink that points outside.
fn write_beneath(root: &Path, path: &str, text: &str) -> Result<(), ImportError> {
    create_beneath(root, Path::new(path), text.as_bytes())
        .map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &str, error: &io::Error) -> ImportError {
    ImportError::Write {
        path: path.to_owned(),
        reason: sentence(error),
    }
}

/// Whether a path is inside a folder, or does not exist yet.
fn is_inside(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        (Err(error), Ok(_)) => error.kind() == io::ErrorKind::NotFound && !path.is_symlink(),
        _ => false,
    }
}

/// Gives a private folder the usual permissions of folders here.
fn open_to_others(folder: &Path) {
    // A folder created inside it has those permissions; if they cannot be read, nothing is lost.
    let inner = fs::metadata(folder.join("prompts"));
    if let Some(mode) = inner.ok().and_then(|inner| platform::mode(&inner)) {
        let _ = platform::set_mode(folder, mode);
    }
}
