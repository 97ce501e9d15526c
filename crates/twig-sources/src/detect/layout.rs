//! Detects a library by its layout: the names of files and folders, and nothing else.

mod signs;

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use self::signs::Signs;
use super::DetectedLibrary;
use crate::listing::is_leftover;
use crate::patience::look_twice;
use crate::stamp::{SeenStamp, is_absence};

/// Limits on depth and number of folders.
const DEPTH: usize = 6;
const FOLDERS: usize = 2_000;
const NAMES: usize = 50_000;

/// The name of a folder of commands, of any client.
const COMMANDS: &str = "commands";

/// The libraries beneath a folder, and the folders to watch for changes.
#[derive(Debug, Default)]
pub(crate) struct FolderLayout {
    /// The libraries that it is or contains.
    pub(crate) spots: Vec<DetectedLibrary>,
    /// Markdown files that none of them reads: how many, and the first.
    pub(crate) left_out: Option<(usize, PathBuf)>,
    seen: Vec<(PathBuf, SeenStamp)>,
}

impl FolderLayout {
    /// The layout of a folder; a known one stays valid until one of its folders is touched.
    pub(crate) fn of(root: &Path, known: Option<Self>) -> Self {
        let Some(known) = known else {
            return Self::walk(root).unwrap_or_default();
        };
        let Some(touched) = known.touched(root) else {
            return known;
        };
        let is_other =
            |next: &io::Result<Self>| next.as_ref().is_ok_and(|next| next.spots != known.spots);
        match look_twice(touched, || Self::walk(root), is_other) {
            Ok(next) => next,
            Err(error) if is_absence(&error) => Self::default(),
            // The known layout stays until the folder can be listed again.
            Err(_) => known,
        }
    }

    /// A folder that has changed; the root if nothing was read yet.
    fn touched<'p>(&'p self, root: &'p Path) -> Option<&'p Path> {
        let mut seen = self.seen.iter();
        let touched = seen.find(|(path, seen)| !seen.holds(&SeenStamp::at(path)));
        let touched = touched.map(|(path, _)| path.as_path());
        touched.or(self.seen.is_empty().then_some(root))
    }

    fn walk(root: &Path) -> io::Result<Self> {
        let mut signs = Signs::default();
        let is_commands = root.file_name().is_some_and(|name| name == COMMANDS);
        let mut next = vec![VisitedFolder {
            path: root.to_path_buf(),
            depth: 0,
            commands: is_commands.then(|| root.to_path_buf()),
        }];
        let mut seen = Vec::new();
        let mut names = 0;
        while let Some(folder) = next.pop() {
            if seen.len() == FOLDERS || names > NAMES {
                break;
            }
            seen.push((folder.path.clone(), SeenStamp::at(&folder.path)));
            let entries = match fs::read_dir(&folder.path) {
                Ok(entries) => entries,
                Err(error) if folder.depth == 0 => return Err(error),
                // Reading it will report the problem.
                Err(_) => continue,
            };
            let mut inner = Vec::new();
            for entry in entries.flatten().take(NAMES) {
                names += 1;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let is_folder = entry.file_type().is_ok_and(|kind: FileType| kind.is_dir());
                if is_leftover(&name) || name == "node_modules" {
                    continue;
                }
                if is_folder {
                    inner.push(name);
                } else {
                    signs.file(&folder, &name);
                }
            }
            inner.sort_unstable();
            if signs.plugin(&folder, &inner) || folder.depth == DEPTH {
                continue;
            }
            let inner = inner.into_iter().rev();
            next.extend(inner.map(|name| folder.inner(&name)));
        }
        let (spots, left_out) = signs.weigh(root);
        Ok(Self {
            spots,
            left_out,
            seen,
        })
    }
}

/// A folder during the walk.
struct VisitedFolder {
    path: PathBuf,
    depth: usize,
    /// The outermost folder of commands that it is or is in.
    commands: Option<PathBuf>,
}

impl VisitedFolder {
    fn inner(&self, name: &str) -> Self {
        let path = self.path.join(name);
        let is_commands = name == COMMANDS;
        let commands = self.commands.clone();
        Self {
            commands: commands.or_else(|| is_commands.then(|| path.clone())),
            path,
            depth: self.depth + 1,
        }
    }
}
