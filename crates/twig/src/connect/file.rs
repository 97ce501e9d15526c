//! Configuration files on disk: backups, and symlinks that point out of a project. [`LockedFile`]
//! reads and writes the files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use twig_sources::LockedFile;

/// The symlink in the path of a project's file that points out of the project or is broken. A
/// project may belong to another user: Twig does not write to a symlink's target there.
pub(crate) fn link_out(path: &Path, project: &Path) -> Option<PathBuf> {
    let real = project.canonicalize().ok();
    let inner = path.strip_prefix(project).ok()?;
    let mut way = project.to_owned();
    inner.components().find_map(|part| {
        way.push(part);
        let inside = |end: PathBuf| real.as_ref().is_some_and(|real| end.starts_with(real));
        let is_out = way.is_symlink() && !way.canonicalize().is_ok_and(inside);
        is_out.then(|| way.clone())
    })
}

/// Saves a copy of a text next to its file and returns its path; an existing equal copy is enough.
///
/// The first copy is the file before Twig and is never overwritten. Later ones, of a file that was
/// edited again, get numbers.
///
/// If the path is a symlink, the copy is next to the symlink: the target's folder may be published.
pub(crate) fn back_up(path: &Path, file: &LockedFile, text: &str) -> io::Result<PathBuf> {
    for (copy, there) in backups(path, Some(file))? {
        if there.as_deref() == Some(text) {
            return Ok(copy);
        }
        if there.is_none() {
            file.copy_beside(copy.file_name().unwrap_or_default(), text.as_bytes())?;
            return Ok(copy);
        }
    }
    Err(io::Error::other("there are too many backups beside it"))
}

/// The copies next to a file, oldest first, and the first free name.
pub(crate) fn backups(
    path: &Path,
    file: Option<&LockedFile>,
) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let mut copies = Vec::new();
    for number in 1..1000 {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".twig-backup");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let copy = path.with_file_name(&name);
        // A copy that is not text is not ours, but its name is taken all the same.
        let text = match copy.symlink_metadata() {
            Ok(found) if found.is_file() => match file {
                Some(file) => file.read_beside(&name)?,
                None => Some(fs::read(&copy)?),
            },
            Ok(_) => Some(Vec::new()),
            Err(_) => None,
        };
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let is_free = text.is_none();
        copies.push((copy, text));
        if is_free {
            break;
        }
    }
    Ok(copies)
}
