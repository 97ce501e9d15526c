//! Configuration files on disk: read whole, written in one step, with what was there kept beside.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::clients::Scope;

/// No configuration is longer.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The text of a file; nothing where there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A pipe or a device would be waited for.
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > LONGEST {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    fs::read_to_string(path).map(Some)
}

/// Writes a file in one step: whoever reads it sees the old text or the new one. A link is
/// followed and stays; permissions stay; a file that changed since `before` was read is an error.
pub(crate) fn write(path: &Path, before: Option<&str>, text: &str, scope: Scope) -> io::Result<()> {
    let path = target(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    // A new file of this person may come to hold secrets; one of a project is shared.
    let mode = match scope {
        Scope::User => 0o600,
        Scope::Project => 0o666,
    };
    let mut file = tempfile::Builder::new()
        .prefix(".twig-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(found) = fs::metadata(&path) {
        keep_as(&found, file.as_file())?;
    }
    file.as_file().sync_all()?;
    still(&path, before)?;
    file.persist(&path).map_err(|error| error.error)?;
    // The name is on disk once its folder is; the file is the new one in any case.
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        tracing::debug!(%error, "the folder of a client's file cannot be synced");
    }
    Ok(())
}

/// The link on the way to a project's file that leads out of the project, or nowhere. A project may
/// be somebody else's: what it links to is not for us to write.
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

/// Takes a file away that has nothing in it but what we wrote.
pub(crate) fn delete(path: &Path, before: &str) -> io::Result<()> {
    let path = target(path)?;
    still(&path, Some(before))?;
    fs::remove_file(path)
}

/// Keeps a text beside its file and says where; a copy that is there already is enough.
///
/// The first copy is what was there before Twig: it is never written over. Later ones, of a file
/// that somebody went on editing, get numbers.
///
/// Where the path is a link the copy is beside the link: the folder that it leads to may be one
/// that is published.
pub(crate) fn back_up(path: &Path, text: &str) -> io::Result<PathBuf> {
    for (copy, there) in backups(path)? {
        if there.as_deref() == Some(text) {
            return Ok(copy);
        }
        if there.is_some() {
            continue;
        }
        let mut file = tempfile::Builder::new()
            .prefix(".twig-")
            .tempfile_in(copy.parent().unwrap_or(Path::new("/")))?;
        file.write_all(text.as_bytes())?;
        keep_as(&fs::metadata(path)?, file.as_file())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&copy).map_err(|error| error.error)?;
        return Ok(copy);
    }
    Err(io::Error::other("there are too many backups beside it"))
}

/// The copies beside a file, oldest first, and at last the first name that is free.
pub(crate) fn backups(path: &Path) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let mut copies = Vec::new();
    for number in 1..1000 {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".twig-backup");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let copy = path.with_file_name(name);
        // What is no text was not put there by us, and its name is taken all the same.
        let text = match copy.symlink_metadata() {
            Ok(found) if found.is_file() => Some(fs::read(&copy)?),
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

/// The owner, group and permissions that a file had.
fn keep_as(found: &Metadata, file: &File) -> io::Result<()> {
    let own = file.metadata()?;
    let is_own = own.uid() == found.uid();
    if let Err(error) = fchown(file, Some(found.uid()), Some(found.gid()))
        && !is_own
    {
        return Err(error);
    }
    file.set_permissions(found.permissions())
}

fn still(path: &Path, before: Option<&str>) -> io::Result<()> {
    if read(path)?.as_deref() == before {
        return Ok(());
    }
    Err(io::Error::other(
        "it was changed by another program just now; try again",
    ))
}

/// The file that a path leads to through links, also where it is not there yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}
