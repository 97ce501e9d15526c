//! The folders that clients read, by their paths, and symlinks from one to another.

use std::fs;
use std::path::{Component, Path, PathBuf};

use twig_clients::clients::{CLIENTS, PromptFolder, SHARED_SKILLS, prompt_folders};
use twig_core::LibraryKind;

use crate::listing::is_leftover;
use crate::settings::Settings;
use crate::work_folders::repository_of;

/// More entries of a folder than this are not looked through.
pub(crate) const MANY_ENTRIES: usize = 4_096;

/// The well-known folder at a path, detected by the path's end.
pub(crate) fn at(path: &Path) -> Option<&'static PromptFolder> {
    prompt_folders().find(|known| path.ends_with(known.path))
}

/// The project folder, or the home, of a library's folder.
pub(crate) fn project_of(root: &Path) -> Option<&Path> {
    let parts = at(root).map_or(1, |known| known.path.split('/').count());
    root.ancestors().nth(parts)
}

/// The clients that load a library's folder themselves where the server runs.
pub(crate) fn loaders(settings: &Settings, root: &Path) -> Vec<&'static str> {
    let Some(known) = at(root) else {
        return Vec::new();
    };
    let loaders = CLIENTS.iter().filter(|it| it.loads.contains(&known.path));
    let loaders: Vec<&str> = loaders.map(|client| client.id).collect();
    let is_loaded = || project_of(root).is_some_and(|folder| settings.loads_from(folder));
    if loaders.is_empty() || !is_loaded() {
        return Vec::new();
    }
    loaders
}

/// The repository in which alone a folder is of use; `None` for one that is in none. A client's folder
/// without a repository around it belongs to the folder that holds it, unless that is the home.
pub fn scope_of(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let project = || at(folder).and_then(|_| project_of(folder));
    let project = || project().filter(|project| home != Some(*project));
    let repository = repository_of(folder, home).or_else(project);
    repository.map(Path::to_path_buf)
}

/// How many entries of a client's folder of skills are symlinks to the shared skills beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkedSkills {
    None,
    Some,
    All,
}

impl LinkedSkills {
    pub(crate) fn of(root: &Path) -> Self {
        let shared = shared_skills_of(root).filter(|shared| shared.is_dir());
        let Some(entries) = shared.and_then(|_| fs::read_dir(root).ok()) else {
            return Self::None;
        };
        let (mut linked, mut own) = (0_usize, 0_usize);
        for entry in entries.flatten().take(MANY_ENTRIES) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if is_link && leads_to_shared_skills(root, &entry.path()) {
                linked += 1;
            } else if !is_leftover(&entry.file_name().to_string_lossy()) {
                own += 1;
            }
        }
        match (linked, own) {
            (0, _) => Self::None,
            (_, 0) => Self::All,
            _ => Self::Some,
        }
    }
}

/// The folder of shared skills in the same project, or home, as a client's own folder of skills.
pub(crate) fn shared_skills_of(root: &Path) -> Option<PathBuf> {
    let known = at(root).filter(|known| known.kind == LibraryKind::Skills)?;
    (known.path != SHARED_SKILLS).then_some(())?;
    Some(project_of(root)?.join(SHARED_SKILLS))
}

/// Whether a symlink in a client's folder of skills points to one of the shared skills.
pub(crate) fn leads_to_shared_skills(root: &Path, link: &Path) -> bool {
    let target = link.parent().zip(link.read_link().ok());
    let target = target.map(|(folder, target)| without_dots(&folder.join(target)));
    let shared = shared_skills_of(root);
    target
        .zip(shared)
        .is_some_and(|(target, shared)| target.starts_with(shared))
}

/// A path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
