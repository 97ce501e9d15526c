//! Files and processes of Unix.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use cap_std::fs::{Dir, FileType, FileTypeExt};
use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, Mode, OFlags, accessat, fallocate, fstatvfs, openat,
};
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use twig_core::NotAFile;

use super::{FileFacts, FileOwner};

/// What tells this file from others.
#[inline]
pub fn facts(metadata: &Metadata) -> FileFacts {
    FileFacts {
        device: metadata.dev(),
        inode: metadata.ino(),
        links: metadata.nlink(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
}

/// Device and number of a folder at a path.
pub(crate) fn folder_facts(metadata: &Metadata, _path: &Path) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Device and number of an opened folder.
pub(crate) fn dir_facts(dir: &Dir) -> io::Result<(u64, u64)> {
    use cap_std::fs::MetadataExt;
    let metadata = dir.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The user that this process has the rights of.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub fn this_user() -> Option<u32> {
    Some(geteuid().as_raw())
}

/// The user that a file belongs to.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub fn user(metadata: &Metadata) -> Option<u32> {
    Some(metadata.uid())
}

/// The mode of a file.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub fn mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.mode())
}

/// Changes the mode of a file or folder.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Creates new files with this mode, before the umask.
pub fn create_with_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Creates a folder that only this user can enter, and those above it.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses to open a symlink.
pub fn never_follow(options: &mut OpenOptions) {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
}

/// The mode of a file beneath an opened folder.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn mode_beneath(metadata: &cap_std::fs::Metadata) -> Option<u32> {
    Some(cap_std::fs::PermissionsExt::mode(&metadata.permissions()))
}

/// Changes the mode of a file beneath an opened folder.
pub(crate) fn set_mode_beneath(dir: &Dir, path: &str, mode: u32) -> io::Result<()> {
    let permissions = cap_std::fs::PermissionsExt::from_mode(mode);
    dir.set_permissions(path, permissions)
}

/// Creates new files beneath an opened folder with this mode, before the umask.
pub(crate) fn create_beneath_with_mode(options: &mut cap_std::fs::OpenOptions, mode: u32) {
    cap_std::fs::OpenOptionsExt::mode(options, mode);
}

/// Opens what is no regular file without waiting for its other end.
pub(crate) fn never_wait(options: &mut cap_std::fs::OpenOptions) {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    cap_std::fs::OpenOptionsExt::custom_flags(options, flags);
}

/// Opens a folder in another one, unless a symlink has that name.
pub(crate) fn step_into(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(dir, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into()))
}

/// True if an error reports a symlink loop.
pub(crate) fn has_symlink_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// What something is that is neither a file nor a folder.
pub(crate) fn kind_of(kind: FileType) -> NotAFile {
    if kind.is_fifo() {
        NotAFile::Fifo
    } else if kind.is_socket() {
        NotAFile::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        NotAFile::Device
    } else {
        NotAFile::Unknown
    }
}

/// Who owns a file.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn owner(metadata: &cap_std::fs::Metadata) -> Option<FileOwner> {
    use cap_std::fs::MetadataExt;
    Some((metadata.uid(), metadata.gid()))
}

/// Gives a file to its owner; fails if that is another user and it `must` be.
pub(crate) fn give_owner(file: &File, (user, group): FileOwner, must: bool) -> io::Result<()> {
    let is_own = file.metadata()?.uid() == user;
    match fchown(file, Some(user), Some(group)) {
        Err(error) if !is_own && must => Err(error),
        _ => Ok(()),
    }
}

/// What is locked to change the files of a folder: the folder itself.
pub(crate) fn folder_lock(dir: &Dir) -> io::Result<File> {
    Ok(dir.open(".")?.into_std())
}

/// Makes the names in a folder survive a crash.
pub(crate) fn sync_folder(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

/// The same for the folder at a path.
pub(crate) fn sync_folder_at(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Takes room on the disk for a file: this many bytes, or half of a small disk.
pub(crate) fn reserve(file: &File, most: u64) -> io::Result<()> {
    let disk = fstatvfs(file)?;
    let all = disk.f_blocks.saturating_mul(disk.f_frsize);
    // Some file systems do not report their size.
    let bytes = if all == 0 { most } else { most.min(all / 2) };
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

/// Whether this user may write to a file, without opening it.
pub(crate) fn can_write(path: &Path) -> io::Result<()> {
    Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Whether this user may read a file, without opening it.
pub(crate) fn can_read(path: &Path) -> bool {
    accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).is_ok()
}

/// The number of the kind of file system that a folder is on, where the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn network_kind(path: &Path) -> Option<u32> {
    let found = rustix::fs::statfs(path).ok()?;
    u32::try_from(found.f_type & 0xffff_ffff).ok()
}

/// The number of the kind of file system that a folder is on, where the system tells.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network_kind(_path: &Path) -> Option<u32> {
    None
}

/// Has a program and those that it starts be ended together.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Ends a program and those that it started.
pub(crate) fn kill_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}
