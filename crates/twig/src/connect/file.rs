//! Configuration files on disk: copies of what was there, and symlinks that lead out of a project. Reading
//! and writing them is [`LockedFile`]'s business.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use twig_sources::LockedFile;

/// The link on the way to a project's file that leads out of the project, or nowhere. A project may
/// belong to another user: Twig does not write what it links to.
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

/// Keeps a text beside its file and says where; a copy that is there already is enough.
///
/// The first copy is what was there before Twig: it is never written over. Later ones, of a file
/// that was edited again, get numbers.
///
/// Where the path is a link the copy is beside the link: the folder that it leads to may be one
/// that is published.
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

/// The copies beside a file, oldest first, and at last the first name that is free.
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
        // What is no text was not put there by us, and its name is taken all the same.
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
