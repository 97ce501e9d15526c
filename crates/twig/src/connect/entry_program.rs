//! The programs of entries: the one that Twig writes, and whether that of an entry is there.

use std::io;
use std::path::{Path, PathBuf};

use super::clients::ConfigScope;
use super::launch::ClientLaunch;
use crate::places::{ClientPlaces, is_program};

/// For a user: the absolute path of this program, because graphical clients do not know a shell's
/// `PATH`. It is the path found on `PATH` if that is this program, because it stays the same when a
/// package manager puts the next version elsewhere. For a project, whose file is shared: `twig`, as
/// long as that means this program here.
pub(crate) fn own_program(scope: ConfigScope, homes: &ClientPlaces) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let is_own = |path: &PathBuf| is_same(path, &own);
    let on_path = homes.program("twig").filter(is_own);
    match (scope, on_path) {
        (ConfigScope::Project, Some(_)) => Ok("twig".into()),
        (_, on_path) => Ok(on_path.unwrap_or(own)),
    }
}

/// Whether two paths are the same file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let one = one.canonicalize().ok();
    one.is_some() && one == other.canonicalize().ok()
}

/// The program of an entry.
pub(crate) enum EntryProgram {
    Found(PathBuf),
    Missing,
    /// Only the client can resolve it; the text says why.
    Unknown(&'static str),
}

impl EntryProgram {
    /// The program that an entry starts when its client runs in a folder.
    pub(crate) fn of(
        launch: &ClientLaunch,
        scope: ConfigScope,
        folder: &Path,
        homes: &ClientPlaces,
    ) -> Self {
        let program = launch.program.as_str();
        if program.contains('$') {
            return Self::Unknown("only the client knows the variable in its command");
        }
        let path = Path::new(program);
        if scope == ConfigScope::User && path.is_relative() && path.components().count() > 1 {
            return Self::Unknown("its command depends on where the client is started");
        }
        let found = if program.contains(std::path::is_separator) {
            Some(folder.join(program)).filter(|path| is_program(path))
        } else {
            homes.program(program.trim_end_matches(".exe"))
        };
        found.map_or(Self::Missing, Self::Found)
    }
}
