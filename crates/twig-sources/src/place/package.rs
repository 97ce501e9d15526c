//! A place that is a package: its libraries, and what they are called.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_clients::clients::formats;
use twig_core::{LibraryKind, LibraryName, LibraryPackage, Problem, ProblemCode, Severity};
use twig_packages::LockedLibrary;

use super::LibraryPlace;
use crate::candidate::Candidate;
use crate::packages::{PackageStore, WantedPackage};
use crate::settings::Settings;

/// Names of folders that say nothing about what is in them.
const PLAIN_FOLDERS: [&str; 7] = [
    "skills", "prompts", "patterns", "commands", "plugins", "packages", "src",
];

/// The folder of plain prompts.
const PROMPTS: &str = "prompts";

/// A package of a configuration, and where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackagePlace {
    pub(super) wanted: WantedPackage,
    /// What the lock says about it.
    locked: Option<LockedLibrary>,
    /// The folder of its files.
    pub(super) root: PathBuf,
    /// Whether these are on this machine.
    is_here: bool,
    /// Whether a server fetches it, not `twig install`.
    is_followed: bool,
}

impl PackagePlace {
    /// The package that is wanted, where the lock says something about it.
    pub(super) fn find(
        settings: &Settings,
        wanted: &WantedPackage,
        locked: Option<&LockedLibrary>,
        is_followed: bool,
    ) -> Self {
        let locked = locked.filter(|it| wanted.is_of(it));
        let packages = settings.packages.clone().unwrap_or_default();
        let store = PackageStore::new(&packages);
        let root = match locked {
            Some(locked) => store.root_of(locked.tree),
            // No package has this name.
            None => packages.join(format!("not-locked-{}", wanted.name)),
        };
        Self {
            wanted: wanted.clone(),
            is_here: locked.is_some_and(|it| store.has(it.tree)),
            locked: locked.cloned(),
            root,
            is_followed,
        }
    }

    /// Why nothing of it is served, or not what is asked for.
    fn problem(&self) -> Option<Problem> {
        let name = &self.wanted.name;
        let next = if self.is_followed {
            "the server with `--http` that follows it fetches it: start it, or read its log"
        } else {
            "run `twig install`"
        };
        let (severity, message, help) = match &self.locked {
            None if self.is_followed => (
                Severity::Error,
                format!("the package `{name}` was not fetched yet, so nothing of it is served"),
                next,
            ),
            None => (
                Severity::Error,
                format!("the package `{name}` is not in the lock, so nothing of it is served"),
                next,
            ),
            Some(_) if !self.is_here => (
                Severity::Error,
                format!("the package `{name}` is not on this machine, so nothing of it is served"),
                next,
            ),
            Some(locked) if !self.wanted.is_locked_by(locked) => {
                let wanted = self.wanted.reference.as_deref().unwrap_or_default();
                let served = locked.reference.as_deref().unwrap_or_default();
                (
                    Severity::Warning,
                    format!(
                        "the configuration asks for `{wanted}` of the package `{name}`, and the lock has `{served}`, which is served"
                    ),
                    next,
                )
            }
            Some(_) => return None,
        };
        let path = self.root.display().to_string();
        let code = ProblemCode::PackageMissing;
        Some(Problem::of_file(code, severity, &path, message).with_help(help))
    }

    /// What its library at a folder says about it.
    fn described(&self, root: &Path) -> Option<Arc<LibraryPackage>> {
        let locked = self.locked.as_ref()?;
        let below = root.strip_prefix(&self.root).ok()?.to_str()?;
        let below = match below {
            "" => String::new(),
            below => format!("{below}/"),
        };
        Some(Arc::new(LibraryPackage {
            name: self.wanted.name.clone(),
            source: locked.source.to_string().into(),
            reference: locked.reference.as_deref().map(Into::into),
            commit: locked.commit.as_deref().map(Into::into),
            tree: locked.tree.to_string().into(),
            below: below.into(),
            only: self.wanted.only.clone(),
            left_out: Vec::new(),
        }))
    }

    /// What a library in it is called: by its folder and kind alone, so that other folders, which come
    /// and go with updates, never change it.
    fn name_of(&self, candidate: &Candidate) -> Option<LibraryName> {
        let below = candidate.root.strip_prefix(&self.root).ok()?;
        let mut words = vec![self.wanted.name.to_string()];
        let folders = below.iter().filter_map(|part| part.to_str());
        let is_plain = |part: &&str| part.starts_with('.') || PLAIN_FOLDERS.contains(part);
        words.extend(
            folders
                .filter(|part| !is_plain(part))
                .map(ToOwned::to_owned),
        );
        if !below.as_os_str().is_empty()
            && let LibraryKind::Client(files) = candidate.kind
        {
            match candidate.kind {
                kind if kind == formats::CLAUDE.kind() => words.push("commands".to_owned()),
                kind if kind == formats::FABRIC.kind() => {}
                _ => words.push(files.id.to_owned()),
            }
        }
        if below == Path::new(PROMPTS) && candidate.kind == LibraryKind::Markdown {
            words.push(PROMPTS.to_owned());
        }
        LibraryName::from_folder(&words.join("_"))
    }
}

impl LibraryPlace {
    /// True if it is a package.
    pub(crate) fn is_package(&self) -> bool {
        self.package.is_some()
    }

    /// The name of the package, if it is one.
    pub(crate) fn package_name(&self) -> Option<&LibraryName> {
        self.package.as_ref().map(|package| &package.wanted.name)
    }

    /// Markdown files in `prompts`, beside libraries of other kinds: elsewhere in a repository,
    /// Markdown is about the repository.
    fn plain_prompts(&self, others: &[Candidate]) -> Option<Candidate> {
        let root = self.path.join(PROMPTS);
        let is_other =
            |it: &Candidate| it.kind != LibraryKind::Markdown && !it.root.starts_with(&root);
        if others.is_empty() || !others.iter().all(is_other) {
            return None;
        }
        let files = std::fs::read_dir(&root).ok()?.flatten();
        let mut names = files.map(|file| file.file_name());
        let is_prompt = |name: &std::ffi::OsString| {
            let name = name.to_string_lossy().to_lowercase();
            name.strip_suffix(".md")
                .is_some_and(|stem| stem != "readme")
        };
        let has_prompts = names.any(|name| is_prompt(&name));
        has_prompts.then(|| Candidate::new(root, LibraryKind::Markdown))
    }

    /// The libraries of a package.
    pub(super) fn look_at_package(
        &mut self,
        known: &impl Fn(&Path) -> Option<LibraryKind>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Candidate> {
        let Some(package) = self.package.clone() else {
            return Vec::new();
        };
        problems.extend(package.problem().map(|problem| self.placed(problem)));
        self.roots.clear();
        if !package.is_here {
            return Vec::new();
        }
        let mut candidates = self.own_libraries(known);
        if candidates.iter().all(|it| it.kind.is_format()) && self.kind.is_none() {
            // Folders of clients, and what the layout shows besides: a package serves all it has.
            let with_markdown = candidates.is_empty();
            let is_known =
                |candidates: &[Candidate], root: &Path| candidates.iter().any(|it| it.root == root);
            for candidate in self.by_layout(with_markdown) {
                if !is_known(&candidates, &candidate.root) {
                    candidates.push(candidate);
                }
            }
            candidates.extend(self.plain_prompts(&candidates));
        }
        candidates.sort_by(|one, two| one.root.cmp(&two.root));
        let names: Vec<Option<LibraryName>> =
            candidates.iter().map(|it| package.name_of(it)).collect();
        for (candidate, name) in candidates.iter_mut().zip(names) {
            candidate.name = name;
            candidate.options = self.options;
            candidate.listing = Arc::clone(&self.listing);
            candidate.package = package.described(&candidate.root);
        }
        if candidates.is_empty() {
            let message = format!(
                "the package `{}` has no prompts and no skills",
                package.wanted.name
            );
            let path = self.path.display().to_string();
            let code = ProblemCode::NoLibrary;
            let problem = Problem::of_file(code, Severity::Warning, &path, message);
            problems
                .push(self.placed(problem.with_help("remove it, or name another folder in it")));
        }
        self.roots
            .extend(candidates.iter().map(|it| it.root.clone()));
        self.last.clone_from(&candidates);
        candidates
    }
}
