//! A place where libraries are looked for: the data folder, or a folder that the person named.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use twig_core::parse::library::MANIFEST;
use twig_core::{Kind, Problem, Severity};

use crate::found::{FoundState, Skipped};
use crate::listing::is_leftover;
use crate::markdown_folder::{has_front_matter, is_markdown};
use crate::root::sentence;
use crate::settings::Settings;
use crate::stamp::{Seen, is_absence};

/// A place and what was last seen there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) named: bool,
    kind: Option<Kind>,
    pub(crate) state: FoundState,
    seen: Seen,
    /// Names of the folders and links in it, sorted.
    subfolders: Vec<String>,
    /// Whether there are Markdown files directly in it.
    has_markdown: bool,
    /// The folders of the libraries that were found last.
    pub(crate) roots: Vec<PathBuf>,
}

/// A folder that is a library.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) root: PathBuf,
    pub(crate) kind: Kind,
    /// What was seen of its manifest, if it has one.
    pub(crate) manifest: Seen,
}

impl Place {
    /// Every place that the settings name, in order.
    pub(crate) fn all(settings: &Settings) -> Vec<Self> {
        let mut places: Vec<Self> = Vec::new();
        for path in &settings.libraries {
            if !places.iter().any(|place| place.path == *path) {
                places.push(Self::new(path, true, settings.kind));
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
            kind,
            state: FoundState::Missing,
            seen: Seen::never(),
            subfolders: Vec::new(),
            has_markdown: false,
            roots: Vec::new(),
        }
    }

    /// Looks for libraries; `known` says how a folder was read until now.
    pub(crate) fn look(
        &mut self,
        settings: &Settings,
        known: impl Fn(&Path) -> Option<Kind>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Candidate> {
        self.list(settings);
        let candidates = match self.own_library(&known) {
            Some(own) => vec![own],
            None => self.libraries_inside(&known),
        };
        self.roots.clear();
        self.roots
            .extend(candidates.iter().map(|one| one.root.clone()));
        problems.extend(self.problem(settings));
        candidates
    }

    /// The folders whose entries matter: the place, and each folder in it that may be a library.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PathBuf> {
        let names = if self.is_library() {
            &[]
        } else {
            self.subfolders.as_slice()
        };
        let inside = names.iter().map(|name| self.path.join(name));
        [self.path.clone()].into_iter().chain(inside)
    }

    /// Whether the place itself is a library.
    fn is_library(&self) -> bool {
        self.roots.first() == Some(&self.path)
    }

    /// What is in it and is no library.
    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        if self.is_library() {
            return Vec::new();
        }
        let is_library = |name: &&String| self.roots.contains(&self.path.join(name));
        let names = self.subfolders.iter().filter(|name| !is_library(name));
        let skipped = names.map(|name| Skipped {
            name: name.clone(),
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

    fn list(&mut self, settings: &Settings) {
        let now = Seen::at(&self.path);
        if self.seen.holds(&now) {
            return;
        }
        self.seen = now;
        let state = match Inside::list(&self.path) {
            Ok(inside) => {
                self.subfolders = inside.folders;
                self.has_markdown = inside.has_markdown;
                FoundState::Folder
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => FoundState::NotAFolder,
            Err(error) if is_absence(&error) => FoundState::Missing,
            // What was known stays until the folder can be listed again.
            Err(error) => FoundState::Unreadable(sentence(&error)),
        };
        if matches!(state, FoundState::NotAFolder | FoundState::Missing) {
            self.subfolders.clear();
        }
        if let FoundState::Unreadable(why) = &state {
            self.seen = Seen::never();
            if state != self.state {
                tracing::warn!("cannot list {}: {why}", settings.shown(&self.path));
            }
        }
        self.state = state;
    }

    fn own_library(&self, known: &impl Fn(&Path) -> Option<Kind>) -> Option<Candidate> {
        if !self.named || self.state == FoundState::Missing || self.state == FoundState::NotAFolder
        {
            return None;
        }
        let known = known(&self.path);
        let candidate = |kind, manifest| Candidate {
            root: self.path.clone(),
            kind,
            manifest,
        };
        if self.kind != Some(Kind::Markdown)
            && let Some(manifest) = manifest_at(&self.path, known == Some(Kind::Twig))
        {
            return Some(candidate(Kind::Twig, manifest));
        }
        let is_markdown = match self.kind {
            Some(kind) => kind == Kind::Markdown,
            None => {
                known == Some(Kind::Markdown) || (self.has_markdown && has_front_matter(&self.path))
            }
        };
        is_markdown.then(|| candidate(Kind::Markdown, Seen::never()))
    }

    fn libraries_inside(&self, known: &impl Fn(&Path) -> Option<Kind>) -> Vec<Candidate> {
        let roots = self.subfolders.iter().map(|name| self.path.join(name));
        let candidates = roots.filter_map(|root| {
            let manifest = manifest_at(&root, known(&root).is_some())?;
            Some(Candidate {
                root,
                kind: Kind::Twig,
                manifest,
            })
        });
        candidates.collect()
    }

    fn problem(&self, settings: &Settings) -> Option<Problem> {
        let shown = settings.shown(&self.path);
        let path = self.path.display().to_string();
        if !self.named {
            manifest_at(&self.path, false)?;
            let message = format!(
                "{shown}/{MANIFEST} is not read: the data folder holds libraries, each in a folder of its own"
            );
            let help = format!("move it and its prompts into a folder, such as {shown}/mine");
            let path = format!("{path}/{MANIFEST}");
            let code = "manifest-in-data-folder";
            return Some(Problem::of_file(code, Severity::Warning, &path, message).with_help(help));
        }
        let (code, message, help) = match &self.state {
            FoundState::Missing => (
                "missing-library",
                format!("there is no folder {shown}"),
                "check the path, or create the folder",
            ),
            FoundState::NotAFolder => (
                "not-a-folder",
                format!("{shown} is not a folder"),
                "name the folder that holds the library",
            ),
            FoundState::Unreadable(why) => (
                "unreadable-folder",
                format!("{shown} cannot be listed: {why}"),
                "check the folder's permissions",
            ),
            FoundState::Folder if self.roots.is_empty() => (
                "no-library",
                format!("{shown} has no {MANIFEST}, nor has a folder in it"),
                "create a twig.toml there, or say how to read it with `--kind`",
            ),
            FoundState::Folder => return None,
        };
        Some(Problem::of_file(code, Severity::Error, &path, message).with_help(help))
    }
}

/// What is seen of a folder's manifest; `None` where it has none.
fn manifest_at(folder: &Path, was_there: bool) -> Option<Seen> {
    let path = folder.join(MANIFEST);
    let look = || {
        let seen = Seen::at(&path);
        // A link that leads nowhere is a manifest too, one with a problem.
        let is_there = seen.is_there()
            || match path.symlink_metadata() {
                Ok(_) => true,
                Err(error) => !is_absence(&error) && was_there,
            };
        is_there.then_some(seen)
    };
    look().or_else(|| {
        // Some editors move the old file away before they write the new one.
        let seen = was_there.then(|| Seen::at(folder))?;
        let wait = seen.stamp()?.until_quiet(Duration::from_millis(8))?;
        std::thread::sleep(wait);
        look()
    })
}

/// What is directly in a place; what is hidden or left over is not there.
#[derive(Default)]
struct Inside {
    /// Names of folders and links, sorted.
    folders: Vec<String>,
    has_markdown: bool,
}

impl Inside {
    fn list(path: &Path) -> io::Result<Self> {
        let mut inside = Self::default();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            match entry.file_name().into_string() {
                Ok(name) if is_leftover(&name) => {}
                Ok(name) => {
                    inside.has_markdown |= is_markdown(&name);
                    if kind.is_dir() || kind.is_symlink() {
                        inside.folders.push(name);
                    }
                }
                Err(name) => tracing::warn!("{} is skipped: its name is not UTF-8", name.display()),
            }
        }
        inside.folders.sort_unstable();
        Ok(inside)
    }
}
