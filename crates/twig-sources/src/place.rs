//! A place where libraries are looked for: the data folder, a folder that the person named, or a
//! project's own.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use twig_core::parse::library::MANIFEST;
use twig_core::{Kind, Problem, Severity};

use crate::definitions_folder::has_definitions;
use crate::format_folder::{has_front_matter, is_markdown};
use crate::found::{FoundState, Skipped};
use crate::functions_folder::has_functions;
use crate::listing::is_leftover;
use crate::root::sentence;
use crate::settings::Settings;
use crate::stamp::{Seen, is_absence};

/// The name of a project's own folder.
pub const PROJECT: &str = ".twig";

/// A place and what was last seen there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) named: bool,
    /// Whether it is a project's own folder.
    is_project: bool,
    kind: Option<Kind>,
    pub(crate) state: FoundState,
    seen: Seen,
    /// Names of the folders and links in it, sorted.
    subfolders: Vec<OsString>,
    /// Whether there are Markdown files directly in it.
    has_markdown: bool,
    /// The folders of the libraries that were found last.
    pub(crate) roots: Vec<PathBuf>,
    /// Folders in it that may be libraries, and why they cannot be looked into.
    locked: Vec<(PathBuf, String)>,
}

/// A folder that is a library.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) root: PathBuf,
    pub(crate) kind: Kind,
    /// Whether it is a project's own.
    pub(crate) is_project: bool,
    /// What was seen of its manifest, if it has one.
    pub(crate) manifest: Seen,
}

impl Place {
    /// Every place that the settings name, in order.
    pub(crate) fn all(settings: &Settings) -> Vec<Self> {
        let mut places: Vec<Self> = Vec::new();
        for path in &settings.libraries {
            if !places.iter().any(|place| place.path == *path) {
                let mut place = Self::new(path, true, settings.kind);
                place.is_project = path.file_name().is_some_and(|name| name == PROJECT);
                places.push(place);
            }
        }
        for path in &settings.projects {
            if !places.iter().any(|place| place.path == *path) {
                let mut place = Self::new(path, false, None);
                place.is_project = true;
                places.push(place);
            }
        }
        places.extend(
            settings
                .data
                .iter()
                .map(|path| Self::new(path, false, None)),
        );
        places
    }

    fn new(path: &Path, named: bool, kind: Option<Kind>) -> Self {
        Self {
            path: path.to_path_buf(),
            named,
            is_project: false,
            kind,
            state: FoundState::Missing,
            seen: Seen::never(),
            subfolders: Vec::new(),
            has_markdown: false,
            roots: Vec::new(),
            locked: Vec::new(),
        }
    }

    /// Looks for libraries; `known` says how a folder was read until now.
    pub(crate) fn look(
        &mut self,
        settings: &Settings,
        known: impl Fn(&Path) -> Option<Kind>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Candidate> {
        self.list();
        self.locked.clear();
        let candidates = match self.own_library(&known) {
            Some(own) => vec![own],
            None if self.is_project => Vec::new(),
            None => self.libraries_inside(&known),
        };
        self.roots.clear();
        self.roots
            .extend(candidates.iter().map(|one| one.root.clone()));
        problems.extend(self.problem(settings));
        let locked = self.locked.iter();
        problems.extend(locked.map(|(path, why)| unreadable(settings, path, why)));
        candidates
    }

    /// The folders whose entries matter: the place, and each folder in it that may be a library.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PathBuf> {
        let names = if self.is_library() || self.is_project {
            &[]
        } else {
            self.subfolders.as_slice()
        };
        let inside = names.iter().map(|name| self.path.join(name));
        [self.path.clone()].into_iter().chain(inside)
    }

    /// Whether it is a project's own folder that was never made.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_project && self.state == FoundState::Missing
    }

    /// Whether the place itself is a library.
    fn is_library(&self) -> bool {
        self.roots.first() == Some(&self.path)
    }

    /// What is in it and is no library.
    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        if self.is_library() || self.is_project {
            return Vec::new();
        }
        let is_library = |name: &&OsString| self.roots.contains(&self.path.join(name));
        let names = self.subfolders.iter().filter(|name| !is_library(name));
        let skipped = names.map(|name| Skipped {
            name: name.display().to_string(),
            why: match std::fs::metadata(self.path.join(name)) {
                Ok(metadata) if metadata.is_dir() => {
                    let manifest = self.path.join(name).join(MANIFEST).symlink_metadata();
                    match manifest {
                        Err(error) if !is_absence(&error) => "cannot be read",
                        _ => "has no twig.toml",
                    }
                }
                Ok(_) => "is not a folder",
                Err(error) if is_absence(&error) => "is a link that leads nowhere",
                Err(_) => "cannot be read",
            },
        });
        skipped.collect()
    }

    fn list(&mut self) {
        let now = Seen::at(&self.path);
        if self.seen.holds(&now) {
            return;
        }
        self.seen = now;
        self.state = match Inside::list(&self.path) {
            Ok(inside) => {
                self.subfolders = inside.folders;
                self.has_markdown = inside.has_markdown;
                FoundState::Folder
            }
            Err(error) if is_absence(&error) => {
                self.subfolders.clear();
                // A path that goes on beneath a file leads to nothing.
                if now.is_there() && error.kind() == io::ErrorKind::NotADirectory {
                    FoundState::NotAFolder
                } else {
                    FoundState::Missing
                }
            }
            // What was known stays until the folder can be listed again.
            Err(error) => {
                self.seen = Seen::never();
                FoundState::Unreadable(sentence(&error))
            }
        };
    }

    /// Whether somebody else put a project's folder there, where this person did not name it: what is
    /// in `/tmp` may be anybody's.
    fn is_strangers(&self) -> bool {
        self.is_project && !self.named && !is_of_this_person(&self.path)
    }

    fn own_library(&self, known: &impl Fn(&Path) -> Option<Kind>) -> Option<Candidate> {
        let may_be = self.named || self.is_project;
        if self.is_strangers() {
            return None;
        }
        if !may_be || self.state == FoundState::Missing || self.state == FoundState::NotAFolder {
            return None;
        }
        let known = known(&self.path);
        let candidate = |kind, manifest| Candidate {
            root: self.path.clone(),
            kind,
            is_project: self.is_project,
            manifest,
        };
        if matches!(self.kind, None | Some(Kind::Twig))
            && let Ok(Some(manifest)) = manifest_at(&self.path, known == Some(Kind::Twig))
        {
            return Some(candidate(Kind::Twig, manifest));
        }
        let is_functions = match self.kind {
            Some(kind) => kind == Kind::Functions,
            None => has_functions(&self.path, known == Some(Kind::Functions)),
        };
        if is_functions {
            return Some(candidate(Kind::Functions, Seen::never()));
        }
        let is_definitions = match self.kind {
            Some(kind) => kind == Kind::Definitions,
            None if self.is_project => true,
            None => known == Some(Kind::Definitions) || has_definitions(&self.path),
        };
        if is_definitions {
            return Some(candidate(Kind::Definitions, Seen::never()));
        }
        let format = match self.kind {
            Some(kind) => Some(kind).filter(|kind| kind.is_format()),
            None => (known == Some(Kind::Markdown)
                || (self.has_markdown && has_front_matter(&self.path)))
            .then_some(Kind::Markdown),
        };
        format.map(|kind| candidate(kind, Seen::never()))
    }

    fn libraries_inside(&mut self, known: &impl Fn(&Path) -> Option<Kind>) -> Vec<Candidate> {
        let mut candidates = Vec::with_capacity(self.roots.len());
        for root in self.subfolders.iter().map(|name| self.path.join(name)) {
            let known = known(&root);
            match manifest_at(&root, known == Some(Kind::Twig)) {
                Ok(Some(manifest)) => candidates.push(Candidate {
                    root,
                    kind: Kind::Twig,
                    is_project: false,
                    manifest,
                }),
                Ok(None) if has_functions(&root, known == Some(Kind::Functions)) => {
                    candidates.push(Candidate {
                        root,
                        kind: Kind::Functions,
                        is_project: false,
                        manifest: Seen::never(),
                    });
                }
                Ok(None) if known == Some(Kind::Definitions) || has_definitions(&root) => {
                    candidates.push(Candidate {
                        root,
                        kind: Kind::Definitions,
                        is_project: false,
                        manifest: Seen::never(),
                    });
                }
                Ok(None) => {}
                // Where the place itself cannot be looked into, one word of it is enough.
                Err(_) if self.state != FoundState::Folder => {}
                Err(error) => self.locked.push((root, sentence(&error))),
            }
        }
        candidates
    }

    fn problem(&self, settings: &Settings) -> Option<Problem> {
        let shown = settings.shown(&self.path);
        let (code, message, help) = match &self.state {
            FoundState::Missing if self.named => (
                "missing-library",
                format!("there is no folder {shown}"),
                "check the path, or create the folder",
            ),
            FoundState::NotAFolder => (
                "not-a-folder",
                format!("{shown} is not a folder"),
                if self.is_project {
                    "move the file away; `twig init` makes the folder"
                } else if self.named {
                    "name the folder that holds the library"
                } else {
                    "move the file away, or name another data folder"
                },
            ),
            FoundState::Unreadable(why) => return Some(unreadable(settings, &self.path, why)),
            FoundState::Folder if self.named && self.roots.is_empty() => (
                "no-library",
                format!("{shown} has no {MANIFEST}, nor has a folder in it"),
                "create a twig.toml there, or say how to read it with `--kind`",
            ),
            FoundState::Folder if self.is_strangers() => {
                let message = format!("{shown} is passed over: it belongs to somebody else");
                let path = self.path.display().to_string();
                let problem =
                    Problem::of_file("strangers-folder", Severity::Warning, &path, message);
                let help = format!("look at it, then name it with `--library {shown}`");
                return Some(problem.with_help(help));
            }
            FoundState::Folder if self.is_project => return None,
            FoundState::Folder if !self.named => return self.stray_manifest(&shown),
            FoundState::Missing | FoundState::Folder => return None,
        };
        let path = self.path.display().to_string();
        Some(Problem::of_file(code, Severity::Error, &path, message).with_help(help))
    }

    /// A manifest that lies in the data folder itself, where nobody reads it.
    fn stray_manifest(&self, shown: &str) -> Option<Problem> {
        manifest_at(&self.path, false).ok()??;
        let message = format!(
            "{shown}/{MANIFEST} is not read: the data folder holds libraries, each in a folder of its own"
        );
        let help = format!("move it and its prompts into a folder, such as {shown}/mine");
        let path = format!("{}/{MANIFEST}", self.path.display());
        let code = "manifest-in-data-folder";
        Some(Problem::of_file(code, Severity::Warning, &path, message).with_help(help))
    }
}

#[cfg(unix)]
fn is_of_this_person(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let person = rustix::process::geteuid().as_raw();
    // A link counts, not what it leads to: who made it chose that.
    match folder.symlink_metadata() {
        Ok(metadata) => [person, 0].contains(&metadata.uid()),
        Err(_) => true,
    }
}

#[cfg(not(unix))]
fn is_of_this_person(_: &Path) -> bool {
    true
}

fn unreadable(settings: &Settings, path: &Path, why: &str) -> Problem {
    let message = format!("{} cannot be listed: {why}", settings.shown(path));
    let path = path.display().to_string();
    Problem::of_file("unreadable-folder", Severity::Error, &path, message)
        .with_help("check the folder's permissions, and where it leads if it is a link")
}

/// What is seen of a folder's manifest; `None` where it has none, an error where there is no
/// telling.
fn manifest_at(folder: &Path, was_there: bool) -> io::Result<Option<Seen>> {
    let path = folder.join(MANIFEST);
    let look = || {
        let seen = Seen::at(&path);
        if seen.is_there() {
            return Ok(Some(seen));
        }
        match path.symlink_metadata() {
            // A link that leads nowhere is a manifest too, one with a problem.
            Ok(_) => Ok(Some(seen)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(_) if was_there => Ok(Some(seen)),
            Err(error) => Err(error),
        }
    };
    let found = look()?;
    if found.is_some() || !was_there {
        return Ok(found);
    }
    // Some editors move the old file away before they write the new one.
    let seen = Seen::at(folder);
    let wait = seen
        .stamp()
        .and_then(|stamp| stamp.until_quiet(Duration::from_millis(8)));
    match wait {
        Some(wait) => {
            std::thread::sleep(wait);
            look()
        }
        None => Ok(None),
    }
}

/// What is directly in a place; what is hidden or left over is not there.
#[derive(Default)]
struct Inside {
    /// Names of folders and links, sorted.
    folders: Vec<OsString>,
    has_markdown: bool,
}

impl Inside {
    fn list(path: &Path) -> io::Result<Self> {
        let mut inside = Self::default();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if is_leftover(&text) {
                continue;
            }
            inside.has_markdown |= is_markdown(&text);
            if kind.is_dir() || kind.is_symlink() {
                inside.folders.push(name);
            }
        }
        inside.folders.sort_unstable();
        Ok(inside)
    }
}
