//! The single way to write a file: under a temporary name, synced, and then moved into place in one
//! step.
//!
//! A reader sees the old bytes or the new ones, also after a crash. A replaced file keeps its mode
//! and, if the system allows it, its owner. A symlink at the path itself is replaced, never written
//! through, and folders are only entered beneath the one that was opened: [`LockedFile`] follows
//! the symlinks of the user's own files before it writes.
//!
//! [`LockedFile`]: crate::LockedFile

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};
use twig_core::BodyError;

use crate::platform::{self, FileOwner};
use crate::root::body_error;

/// The prefix of an unfinished file's name; a process id and a number follow.
const UNFINISHED: &str = ".twig-";

/// The permissions of a written file.
#[derive(Debug, Clone, Copy)]
pub struct NewFile {
    /// The mode of a new file, before the umask. A replaced file keeps its own.
    pub mode: u32,
    /// True if another user's file is not replaced unless its owner can be kept.
    pub keeps_owner: bool,
}

impl NewFile {
    /// For this user alone: the file may come to say where secrets are.
    pub const PRIVATE: Self = Self {
        mode: 0o600,
        keeps_owner: false,
    };

    /// For all users that the umask allows.
    pub const SHARED: Self = Self {
        mode: 0o666,
        keeps_owner: false,
    };
}

/// What to do with an existing file.
#[derive(Clone, Copy)]
pub(crate) enum Existing<'c> {
    /// Replace it if this check, made at the last moment, succeeds.
    Replaced(&'c dyn Fn() -> io::Result<()>),
    /// Fail with [`ErrorKind::AlreadyExists`], also for a broken symlink. A copy of another file
    /// gets the owner and permissions of that one.
    Refused(Option<&'c FileAccess>),
}

impl Existing<'_> {
    /// Replace it, whatever its contents.
    pub(crate) const ANY: Self = Self::Replaced(&|| Ok(()));

    /// There must be none.
    pub(crate) const NONE: Self = Self::Refused(None);
}

/// Writes a file beneath a folder, and creates the folders between.
pub(crate) fn write_file(
    dir: &Dir,
    path: &Path,
    bytes: &[u8],
    new: NewFile,
    existing: Existing<'_>,
) -> io::Result<()> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let dir = &folder_beneath(dir, path)?;
    let replaced = FileAccess::of(dir, Path::new(name));
    let like = match existing {
        Existing::Replaced(_) => replaced.as_ref(),
        Existing::Refused(like) => like,
    };
    // A file with restricted readers has these restrictions from its first byte on.
    let mode = if like.is_some() { 0o600 } else { new.mode };
    let (unfinished, mut file) = unfinished(dir, mode)?;
    let mut whole = || -> io::Result<()> {
        file.write_all(bytes)?;
        if let Some(like) = like {
            like.give_to(&file, new.keeps_owner)?;
        }
        file.sync_all()?;
        match existing {
            Existing::Replaced(check) => {
                check()?;
                dir.rename(&unfinished, dir, name)
            }
            Existing::Refused(_) => put_new(dir, &unfinished, name),
        }
    };
    let written = whole();
    if written.is_err() {
        let _ = dir.remove_file(&unfinished);
    } else {
        sync_folder(dir);
    }
    written
}

/// Creates a new file beneath a folder, and the folders between; never through a symlink that
/// points outside.
pub fn create_beneath(base: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = Dir::open_ambient_dir(base, ambient_authority())?;
    let written = write_file(&dir, path, bytes, NewFile::SHARED, Existing::NONE);
    written.map_err(|error| match body_error(&error) {
        BodyError::Outside => io::Error::other("it leads outside the folder"),
        _ => error,
    })
}

/// The folder of a path beneath another folder, created if it is missing.
pub(crate) fn folder_beneath(dir: &Dir, path: &Path) -> io::Result<Dir> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let Some(folder) = folder else {
        return dir.try_clone();
    };
    match dir.open_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            dir.create_dir_all(folder)?;
            dir.open_dir(folder)
        }
        opened => opened,
    }
}

/// Syncs a folder, so that the names in it survive a crash. A failure is only logged: the files are
/// in place in any case.
pub(crate) fn sync_folder(dir: &Dir) {
    if let Err(error) = platform::sync_folder(dir) {
        tracing::debug!(%error, "a folder cannot be synced");
    }
}

/// True for the name of an unfinished file.
pub(crate) fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
    name.is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit() || it == b'-'))
}

/// Gives a file its name unless that name is taken.
fn put_new(dir: &Dir, unfinished: &str, name: &OsStr) -> io::Result<()> {
    match dir.hard_link(unfinished, dir, name) {
        Ok(()) => {
            // The file is in place, whatever happens to its other name.
            let _ = dir.remove_file(unfinished);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links.
        Err(_) => match dir.symlink_metadata(name) {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => dir.rename(unfinished, dir, name),
            Err(error) => Err(error),
        },
    }
}

/// A new file with a name that no other process uses.
fn unfinished(dir: &Dir, mode: u32) -> io::Result<(String, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::create_beneath_with_mode(&mut options, mode);
    let mut error = io::Error::from(ErrorKind::AlreadyExists);
    // Another machine may have a process with this number.
    for turn in 0..100 {
        let name = format!("{UNFINISHED}{}-{turn}", std::process::id());
        match dir.open_with(&name, &options) {
            Ok(file) => return Ok((name, file.into_std())),
            Err(taken) if taken.kind() == ErrorKind::AlreadyExists => error = taken,
            Err(error) => return Err(error),
        }
    }
    Err(error)
}

/// The owner and permissions of a file.
pub(crate) struct FileAccess {
    owner: Option<FileOwner>,
    permissions: Permissions,
}

impl FileAccess {
    /// `None` if there is no file.
    pub(crate) fn of(dir: &Dir, path: &Path) -> Option<Self> {
        let found = dir.symlink_metadata(path).ok();
        let found = found.filter(Metadata::is_file)?;
        Some(Self {
            owner: platform::owner(&found),
            permissions: found.permissions(),
        })
    }

    fn give_to(&self, file: &File, keeps_owner: bool) -> io::Result<()> {
        if let Some(owner) = self.owner {
            platform::give_owner(file, owner, keeps_owner)?;
        }
        file.set_permissions(self.permissions.clone().into_std(file)?)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_has_the_name_already_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        create_beneath(root, Path::new("sub/file"), b"ours").unwrap();
        symlink("nothing", root.join("broken")).unwrap();
        for path in ["sub/file", "sub", "broken"] {
            let refused = create_beneath(root, Path::new(path), b"other").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{path}");
        }
        assert_eq!(fs::read(root.join("sub/file")).unwrap(), b"ours");
        assert!(!root.join("nothing").exists());
        assert_eq!(fs::read_dir(root).unwrap().count(), 2);
        assert_eq!(fs::read_dir(root.join("sub")).unwrap().count(), 1);
    }

    #[test]
    fn a_symlink_is_replaced_and_a_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let dir = Dir::open_ambient_dir(root, ambient_authority()).unwrap();
        let write = |path: &str| {
            let path = Path::new(path);
            write_file(&dir, path, b"new", NewFile::SHARED, Existing::ANY).unwrap();
        };
        fs::write(root.join("file"), "old").unwrap();
        fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", root.join("link")).unwrap();
        write("link");
        assert_eq!(fs::read(root.join("file")).unwrap(), b"old");
        assert!(!root.join("link").is_symlink());
        write("file");
        assert_eq!(fs::read(root.join("file")).unwrap(), b"new");
        let mode = fs::metadata(root.join("file"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
        let failed = write_file(
            &dir,
            Path::new("file"),
            b"newer",
            NewFile::SHARED,
            Existing::Replaced(&|| Err(ErrorKind::Other.into())),
        );
        assert!(failed.is_err());
        assert_eq!(fs::read(root.join("file")).unwrap(), b"new");
        assert_eq!(
            fs::read_dir(root).unwrap().count(),
            2,
            "no unfinished file stays"
        );
    }
}
