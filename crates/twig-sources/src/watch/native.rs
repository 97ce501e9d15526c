//! The system's watcher, on exactly the relevant folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{Hints, Interests};
use crate::library_set::Folders;
use crate::network::is_network;
use crate::platform::folder_facts;
use crate::system_watcher::start_watcher;

/// The system's watcher and what it watches.
pub(crate) struct Native {
    watcher: RecommendedWatcher,
    /// One path for each folder: the system treats a folder with two paths as one.
    watched: BTreeMap<FolderIdentity, PathBuf>,
    hints: Arc<Hints>,
    /// Devices that are known to report changes.
    local: BTreeSet<u64>,
}

/// The identity of a folder. Its creation time distinguishes it from a later one with the same
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FolderIdentity {
    device: u64,
    inode: u64,
    created: Option<SystemTime>,
}

impl Native {
    /// Starts the system's watcher, if there is one.
    pub(crate) fn start(hints: Arc<Hints>) -> Option<Self> {
        let events = Arc::clone(&hints);
        match start_watcher(move |event| events.record(event)) {
            Ok(watcher) => Some(Self {
                watcher,
                watched: BTreeMap::new(),
                hints,
                local: BTreeSet::new(),
            }),
            Err(error) => {
                tracing::warn!("polling for changes: {error}");
                None
            }
        }
    }

    /// Watches these folders and no others; returns whether any watch is new, or why watching does
    /// not work here.
    ///
    /// For a missing folder it watches the nearest existing parent.
    pub(crate) fn follow(
        &mut self,
        folders: &Folders,
        lost: &BTreeSet<PathBuf>,
    ) -> Result<bool, String> {
        if let Some(far) = &folders.far {
            return Err(format!("{} is on a network file system", far.display()));
        }
        let wanted = wanted(folders);
        self.hints.listen_for(interests(folders, &wanted));
        let is_lost = |path: &Path| lost.iter().any(|lost| path.starts_with(lost));
        let ends: Vec<FolderIdentity> = self
            .watched
            .iter()
            .filter(|(identity, path)| {
                let still = wanted.get(identity);
                is_lost(path) || !still.is_some_and(|still| still.paths.contains(path.as_path()))
            })
            .map(|(identity, _)| *identity)
            .collect();
        for identity in ends {
            if let Some(path) = self.watched.remove(&identity) {
                // Ending a watch that the system already ended is not an error.
                let _ = self.watcher.unwatch(&path);
            }
        }
        let mut is_new = false;
        for (identity, Wanted { paths, .. }) in wanted {
            let Some(path) = paths.first() else { continue };
            if self.watched.contains_key(&identity) {
                continue;
            }
            self.check_device(identity.device, path)?;
            match self.watcher.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(identity, path.to_path_buf());
                    is_new = true;
                }
                Err(error) if is_exhausted(&error) => return Err(error.to_string()),
                // It was just removed, or is not readable: the next check will tell.
                Err(_) => {}
            }
        }
        Ok(is_new)
    }

    fn check_device(&mut self, device: u64, path: &Path) -> Result<(), String> {
        if self.local.contains(&device) {
            return Ok(());
        }
        if is_network(path) {
            return Err(format!("{} is on a network file system", path.display()));
        }
        self.local.insert(device);
        Ok(())
    }
}

impl FolderIdentity {
    fn of(metadata: &Metadata, path: &Path) -> Self {
        let (device, inode) = folder_facts(metadata, path);
        Self {
            device,
            inode,
            created: metadata.created().ok(),
        }
    }
}

/// A folder to watch, with all its paths.
#[derive(Debug, Default)]
struct Wanted<'f> {
    paths: BTreeSet<&'f Path>,
    /// Whether every entry of it matters.
    is_inside: bool,
}

fn wanted(folders: &Folders) -> BTreeMap<FolderIdentity, Wanted<'_>> {
    let mut wanted: BTreeMap<FolderIdentity, Wanted<'_>> = BTreeMap::new();
    for folder in &folders.inside {
        if let Some((identity, path)) = nearest(folder) {
            let entry = wanted.entry(identity).or_default();
            entry.paths.insert(path);
            entry.is_inside |= path == folder;
        }
    }
    for parent in folders.roots.iter().filter_map(|root| root.parent()) {
        if let Some((identity, path)) = nearest(parent) {
            wanted.entry(identity).or_default().paths.insert(path);
        }
    }
    wanted
}

/// A folder with two paths is watched by one of them, and its events matter by either.
fn interests(folders: &Folders, wanted: &BTreeMap<FolderIdentity, Wanted<'_>>) -> Interests {
    let paths = |is_it: fn(&Wanted<'_>) -> bool| {
        let folders = wanted.values().filter(move |wanted| is_it(wanted));
        let paths = folders.flat_map(|wanted| &wanted.paths);
        paths.map(|path| path.to_path_buf()).collect()
    };
    Interests {
        inside: paths(|wanted| wanted.is_inside),
        shared: paths(|wanted| wanted.paths.len() > 1),
        roots: folders
            .roots
            .iter()
            .chain(&folders.inside)
            .cloned()
            .collect(),
    }
}

/// The folder at a path, or its nearest existing parent.
fn nearest(folder: &Path) -> Option<(FolderIdentity, &Path)> {
    folder.ancestors().find_map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        metadata
            .is_dir()
            .then(|| (FolderIdentity::of(&metadata, path), path))
    })
}

/// Whether the system has no watches left.
fn is_exhausted(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::MaxFilesWatch => true,
        ErrorKind::Io(error) => !matches!(
            error.kind(),
            std::io::ErrorKind::NotFound
                | std::io::ErrorKind::NotADirectory
                | std::io::ErrorKind::PermissionDenied
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn only_a_system_without_more_watches_ends_watching() {
        assert!(is_exhausted(&notify::Error::new(ErrorKind::MaxFilesWatch)));
        let too_many = io::Error::other("too many open files");
        assert!(is_exhausted(&notify::Error::io(too_many)));
        assert!(!is_exhausted(&notify::Error::path_not_found()));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(!is_exhausted(&notify::Error::io(denied)));
    }

    #[test]
    fn for_a_missing_folder_the_nearest_one_above_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("a/b/c");
        assert_eq!(nearest(&missing).map(|(_, path)| path), Some(folder.path()));
    }

    #[test]
    fn a_folder_with_two_paths_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let again = folder.path().join("real/../real");
        let folders = Folders {
            inside: vec![real.clone(), again.clone()],
            roots: Vec::new(),
            far: None,
        };
        let wanted = wanted(&folders);
        assert_eq!(wanted.len(), 1);
        let interests = interests(&folders, &wanted);
        assert_eq!((interests.inside.len(), interests.shared.len()), (2, 2));
    }
}
