//! Files and processes of any system, with the standard library alone.
//!
//! There are no modes, users and process groups: what a user may do is what the folder allows, and
//! the programs that git starts end by themselves once git has ended. Two files
//! with one name differ in the time of their creation.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Child, Command};
use std::time::SystemTime;

use cap_std::fs::{Dir, FileType};
use twig_core::NotAFile;

use super::{FileFacts, FileOwner};

/// The folder for locks, among the temporary files of this user.
const LOCKS: &str = "twig-locks";

/// What tells this file from others.
pub fn facts(metadata: &Metadata) -> FileFacts {
    let modified = metadata.modified().map_or(0, since_1970);
    FileFacts {
        device: 0,
        inode: metadata.created().map_or(0, since_1970).cast_unsigned(),
        links: 1,
        modified,
        changed: modified,
    }
}

fn since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}

/// Device and number of a folder at a path: several may have been created in one moment.
pub(crate) fn folder_facts(_metadata: &Metadata, path: &Path) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    (0, hasher.finish())
}

/// Device and number of an opened folder.
pub(crate) fn dir_facts(dir: &Dir) -> io::Result<(u64, u64)> {
    let created = dir.dir_metadata()?.created();
    let created = created.map_or(0, |created| since_1970(created.into_std()));
    Ok((0, created.cast_unsigned()))
}

/// The user that this process has the rights of.
pub fn this_user() -> Option<u32> {
    None
}

/// The user that a file belongs to.
pub fn user(_metadata: &Metadata) -> Option<u32> {
    None
}

/// The mode of a file.
pub fn mode(_metadata: &Metadata) -> Option<u32> {
    None
}

/// Changes the mode of a file or folder.
pub fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Creates new files with this mode, before the umask.
pub fn create_with_mode(_options: &mut OpenOptions, _mode: u32) {}

/// Creates a folder with the permissions of the one around it, and those above it.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Refuses to open a symlink.
pub fn never_follow(_options: &mut OpenOptions) {}

/// The mode of a file beneath an opened folder.
pub(crate) fn mode_beneath(_metadata: &cap_std::fs::Metadata) -> Option<u32> {
    None
}

/// Changes the mode of a file beneath an opened folder.
pub(crate) fn set_mode_beneath(_dir: &Dir, _path: &str, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Creates new files beneath an opened folder with this mode, before the umask.
pub(crate) fn create_beneath_with_mode(_options: &mut cap_std::fs::OpenOptions, _mode: u32) {}

/// Opens what is no regular file without waiting for its other end.
pub(crate) fn never_wait(_options: &mut cap_std::fs::OpenOptions) {}

/// Opens a folder in another one, unless a symlink has that name.
pub(crate) fn step_into(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    if dir.symlink_metadata(name)?.is_symlink() {
        return Err(ErrorKind::NotADirectory.into());
    }
    dir.open_dir(name)
}

/// True if an error reports a symlink loop.
pub(crate) fn has_symlink_loop(_error: &io::Error) -> bool {
    false
}

/// What something is that is neither a file nor a folder.
pub(crate) fn kind_of(_kind: FileType) -> NotAFile {
    NotAFile::Unknown
}

/// Who owns a file.
pub(crate) fn owner(_metadata: &cap_std::fs::Metadata) -> Option<FileOwner> {
    None
}

/// Gives a file to its owner; fails if that is another user and it `must` be.
pub(crate) fn give_owner(_file: &File, _owner: FileOwner, _must: bool) -> io::Result<()> {
    Ok(())
}

/// What is locked to change the files of a folder: folders cannot be locked everywhere, so each has a
/// file among the temporary ones of this user. Folders that were created in one moment share it.
pub(crate) fn folder_lock(dir: &Dir) -> io::Result<File> {
    let (_, created) = dir_facts(dir)?;
    let locks = std::env::temp_dir().join(LOCKS);
    fs::create_dir_all(&locks)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(locks.join(format!("{created:x}")))
}

/// Folders cannot be synced everywhere: what a crash may lose is the new name of a file.
pub(crate) fn sync_folder(_dir: &Dir) -> io::Result<()> {
    Ok(())
}

/// The same for the folder at a path.
pub(crate) fn sync_folder_at(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Takes room on the disk for a file.
pub(crate) fn reserve(_file: &File, _most: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Whether this user may write to a file, without opening it.
pub(crate) fn can_write(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().readonly() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// Opening the file will tell.
pub(crate) fn can_read(_path: &Path) -> bool {
    true
}

/// The number of the kind of file system that a folder is on, where the system tells.
pub(crate) fn network_kind(_path: &Path) -> Option<u32> {
    None
}

/// Has a program and those that it starts be ended together.
pub(crate) fn own_group(_command: &mut Command) {}

/// Ends a program; those that it started notice that it is gone.
pub(crate) fn kill_group(child: &mut Child) {
    let _ = child.kill();
}
