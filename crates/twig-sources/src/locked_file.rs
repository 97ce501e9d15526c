//! A file that one command at a time reads, changes and writes, in the folder it was found in.
//!
//! The lock is the system's lock on the folder that really holds the file. It leaves nothing next
//! to the file, is the same lock for every user, environment and path, and ends with the process
//! that holds it. A command holds one such lock at a time, so two commands cannot deadlock. The
//! folder is opened once and everything happens through that handle: replacing the folder by a
//! symlink later changes nothing.
//!
//! Other programs do not know the lock, so a file that they changed after it was read is not
//! overwritten.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use twig_core::BodyError;

use crate::platform::{dir_facts, folder_lock, never_wait};
use crate::root::body_error;
use crate::write_file::{Existing, FileAccess, NewFile, folder_beneath, write_file};

/// How long a command waits for another one that changes the same files.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often to reopen a folder that keeps being replaced.
const REPLACED: usize = 1_000;

/// Maximum number of symlinks in a path.
const LINKS: usize = 40;

/// Maximum size of a file that is changed here.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another command held it the whole time.
    #[error("another command is changing it and did not finish within {} seconds", PATIENCE.as_secs())]
    Busy,
    /// A symlink points out of the folder that must not be left.
    #[error("it leads outside the folder")]
    Outside,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A folder in which only this process changes files, among commands of Twig; dropping it releases
/// the lock.
#[derive(Debug)]
pub struct LockedFolder {
    dir: Dir,
    /// `None` if the folder can be written but not read: then it is not locked.
    lock: Option<File>,
}

/// A file whose folder is locked.
#[derive(Debug)]
pub struct LockedFile {
    folder: LockedFolder,
    name: OsString,
    /// The folder of the named path; differs from the file's folder if that path is a symlink.
    beside: Dir,
}

impl LockedFolder {
    /// Waits for the lock on an existing folder.
    pub fn open(path: &Path) -> Result<Self, LockError> {
        Self::take(|| Dir::open_ambient_dir(path, ambient_authority()))
    }

    /// Waits for the lock on the folder that `open` finds, also after it was replaced meanwhile.
    pub(crate) fn take(open: impl Fn() -> io::Result<Dir>) -> Result<Self, LockError> {
        Self::take_within(PATIENCE, open)
    }

    fn take_within(
        patience: Duration,
        open: impl Fn() -> io::Result<Dir>,
    ) -> Result<Self, LockError> {
        let until = Instant::now() + patience;
        let mut error = None;
        for _ in 0..REPLACED {
            let dir = match open() {
                Ok(dir) => dir,
                // Another command created it and has just removed it again.
                Err(gone) if gone.kind() == ErrorKind::NotFound => {
                    error = Some(gone);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let lock = match folder_lock(&dir) {
                Ok(lock) => lock,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    tracing::debug!("a folder is not locked, since it may not be read");
                    return Ok(Self { dir, lock: None });
                }
                Err(error) => return Err(error.into()),
            };
            wait(&lock, until)?;
            if open().is_ok_and(|now| is_same(&now, &dir)) {
                let lock = Some(lock);
                return Ok(Self { dir, lock });
            }
        }
        Err(error.map_or(LockError::Busy, LockError::Io))
    }

    /// Releases the lock while something takes its time, such as a question to the user.
    pub fn pause<R>(&self, during: impl FnOnce() -> R) -> Result<R, LockError> {
        let Some(lock) = &self.lock else {
            return Ok(during());
        };
        lock.unlock()?;
        let result = during();
        wait(lock, Instant::now() + PATIENCE)?;
        Ok(result)
    }
}

impl LockedFile {
    /// Waits for the lock on the user's own file; follows symlinks wherever they point. Creates its
    /// parent folders.
    pub fn open(path: &Path) -> Result<Self, LockError> {
        let beside = ambient_folder(path)?;
        let target = || -> io::Result<(Dir, OsString)> {
            let path = follow_anywhere(path)?;
            Ok((ambient_folder(&path)?, file_name(&path)?))
        };
        Self::take(beside, target)
    }

    /// Waits for the lock on a file beneath a folder that may belong to another user: refuses a
    /// symlink that points out of it. Creates the folders between.
    pub fn open_beneath(base: &Path, path: &Path) -> Result<Self, LockError> {
        let dir = Dir::open_ambient_dir(base, ambient_authority())?;
        // Absolute symlinks are followed, too, if they stay inside; these paths are not used to
        // open anything.
        let real = base.canonicalize();
        let inner = |path: &Path| {
            let inner = path.strip_prefix(real.as_ref().ok()?).ok()?;
            Some(inner.to_owned())
        };
        let folder = base
            .join(path)
            .parent()
            .and_then(|it| it.canonicalize().ok());
        let folder = folder.and_then(|folder| inner(&folder));
        let path = match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        };
        let beside = folder_beneath(&dir, &path).map_err(lock_error)?;
        let target = || -> io::Result<(Dir, OsString)> {
            let path = follow(path.clone(), |path| {
                let found = if_there(dir.symlink_metadata(path))?;
                if !found.is_some_and(|found| found.is_symlink()) {
                    return Ok(None);
                }
                let link = dir.read_link_contents(path)?;
                let link = path.with_file_name("").join(link);
                Ok(Some(inner(&link).unwrap_or(link)))
            })?;
            Ok((folder_beneath(&dir, &path)?, file_name(&path)?))
        };
        Self::take(beside, target)
    }

    /// Waits for the lock on the file of this name in the folder that `open` finds. Nothing is
    /// followed or created.
    pub(crate) fn in_folder(
        open: impl Fn() -> io::Result<Dir>,
        name: &str,
    ) -> Result<Self, LockError> {
        let folder = LockedFolder::take(open)?;
        Ok(Self {
            beside: folder.dir.try_clone()?,
            folder,
            name: name.into(),
        })
    }

    /// The folder that is locked.
    pub(crate) fn dir(&self) -> &Dir {
        &self.folder.dir
    }

    fn take(
        beside: Dir,
        target: impl Fn() -> io::Result<(Dir, OsString)>,
    ) -> Result<Self, LockError> {
        for _ in 0..REPLACED {
            let folder = LockedFolder::take(|| target().map(|(dir, _)| dir));
            let folder = folder.map_err(|error| match error {
                LockError::Io(error) => lock_error(error),
                error => error,
            })?;
            let (dir, name) = target().map_err(lock_error)?;
            if is_same(&dir, &folder.dir) {
                return Ok(Self {
                    folder,
                    name,
                    beside,
                });
            }
        }
        Err(LockError::Busy)
    }

    /// The bytes of the file; `None` if there is none.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        read(&self.folder.dir, &self.name)
    }

    /// Writes the file in one step: a reader sees the old bytes or the new ones. Fails if it no
    /// longer contains `before`.
    pub fn replace(&self, before: Option<&[u8]>, bytes: &[u8], new: NewFile) -> io::Result<()> {
        let still = || self.check_still(before);
        let existing = match before {
            Some(_) => Existing::Replaced(&still),
            None => Existing::NONE,
        };
        let written = write_file(
            &self.folder.dir,
            Path::new(&self.name),
            bytes,
            new,
            existing,
        );
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => changed(),
            _ => error,
        })
    }

    /// Removes the file, unless it no longer contains `before`.
    pub fn remove(&self, before: &[u8]) -> io::Result<()> {
        self.check_still(Some(before))?;
        self.folder.dir.remove_file(&self.name)
    }

    /// The bytes of another file next to the named path; `None` if there is none.
    pub fn read_beside(&self, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
        read(&self.beside, name)
    }

    /// Copies the file next to the named path, with the permissions of the file itself. Never
    /// overwrites an existing file.
    pub fn copy_beside(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let like = FileAccess::of(&self.folder.dir, Path::new(&self.name));
        let new = NewFile {
            keeps_owner: true,
            ..NewFile::PRIVATE
        };
        let existing = Existing::Refused(like.as_ref());
        write_file(&self.beside, Path::new(name), bytes, new, existing)
    }

    /// Removes a file next to the named path.
    pub fn remove_beside(&self, name: &OsStr) -> io::Result<()> {
        self.beside.remove_file(name)
    }

    /// Releases the lock while something takes its time, such as a question to the user.
    pub fn pause<R>(&self, during: impl FnOnce() -> R) -> Result<R, LockError> {
        self.folder.pause(during)
    }

    fn check_still(&self, before: Option<&[u8]>) -> io::Result<()> {
        if self.read()?.as_deref() == before {
            return Ok(());
        }
        Err(changed())
    }
}

fn changed() -> io::Error {
    io::Error::other("it was changed by another program just now; try again")
}

/// Waits for the lock; tries at least once.
///
/// The system grants the lock in the order of the requests. It has no time limit, so a thread
/// waits.
fn wait(lock: &File, until: Instant) -> Result<(), LockError> {
    match lock.try_lock() {
        Ok(()) => return Ok(()),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(LockError::Busy);
    }
    let waiting = lock.try_clone()?;
    let (sender, taken) = channel();
    let thread = std::thread::Builder::new().name("twig-lock".to_owned());
    thread.spawn(move || {
        // The receiver is gone once the time is over.
        let _ = sender.send(waiting.lock());
    })?;
    match taken.recv_timeout(left) {
        Ok(locked) => Ok(locked?),
        Err(_) => Err(LockError::Busy),
    }
}

/// The file at the end of a path's symlinks, even if it does not exist yet. `next` returns the
/// target of one symlink.
fn follow(
    mut path: PathBuf,
    next: impl Fn(&Path) -> io::Result<Option<PathBuf>>,
) -> io::Result<PathBuf> {
    for _ in 0..LINKS {
        match next(&path)? {
            Some(next) => path = next,
            None => return Ok(path),
        }
    }
    Err(io::Error::other("its symlinks form a loop"))
}

fn follow_anywhere(path: &Path) -> io::Result<PathBuf> {
    follow(path.to_owned(), |path| {
        let link = if_there(fs::read_link(path))?;
        Ok(link.map(|link| path.with_file_name("").join(link)))
    })
}

/// `None` if a path does not exist, or is not a symlink.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn file_name(path: &Path) -> io::Result<OsString> {
    let name = path.file_name().map(OsStr::to_owned);
    name.ok_or_else(|| ErrorKind::IsADirectory.into())
}

/// The folder of a path, created if it is missing.
fn ambient_folder(path: &Path) -> io::Result<Dir> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    Dir::open_ambient_dir(folder, ambient_authority())
}

fn lock_error(error: io::Error) -> LockError {
    match body_error(&error) {
        BodyError::Outside => LockError::Outside,
        _ => LockError::Io(error),
    }
}

fn is_same(one: &Dir, two: &Dir) -> bool {
    matches!((dir_facts(one), dir_facts(two)), (Ok(one), Ok(two)) if one == two)
}

/// The bytes of a file that will not be changed; `None` if there is none.
pub fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let path = follow_anywhere(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    match if_there(Dir::open_ambient_dir(folder, ambient_authority()))? {
        Some(dir) => read(&dir, &file_name(&path)?),
        None => Ok(None),
    }
}

fn read(dir: &Dir, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
    let found = match dir.symlink_metadata(name) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    // Reading a pipe or a device would block.
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    never_wait(&mut options);
    let file = dir.open_with(name, &options)?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    Ok(Some(bytes))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    use super::*;

    const NEW: NewFile = NewFile::PRIVATE;

    fn take(path: &Path, patience: Duration) -> Result<LockedFolder, LockError> {
        LockedFolder::take_within(patience, || {
            Dir::open_ambient_dir(path, ambient_authority())
        })
    }

    #[test]
    fn one_at_a_time_and_waiting_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path(), Duration::ZERO).unwrap();
        let second = take(folder.path(), Duration::ZERO);
        assert!(matches!(second, Err(LockError::Busy)));
        first
            .pause(|| take(folder.path(), Duration::ZERO).map(drop))
            .unwrap()
            .unwrap();
        let (sender, taken) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _second = take(folder.path(), PATIENCE).unwrap();
                sender.send(()).unwrap();
            });
            assert!(taken.try_recv().is_err());
            drop(first);
            taken.recv().unwrap();
        });
    }

    #[test]
    fn every_path_to_a_file_is_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "old").unwrap();
        symlink("real/file", root.join("link")).unwrap();
        symlink("real", root.join("way")).unwrap();
        let file = LockedFile::open(&root.join("link")).unwrap();
        for way in ["real", "way"] {
            assert!(take(&root.join(way), Duration::ZERO).is_err(), "{way}");
        }
        file.replace(Some(b"old"), b"new", NEW).unwrap();
        drop(file);
        assert_eq!(fs::read(root.join("real/file")).unwrap(), b"new");
        assert!(root.join("link").is_symlink());
        let beneath = |path: &str| LockedFile::open_beneath(root, Path::new(path));
        beneath("way/file").unwrap().remove(b"new").unwrap();
        // A broken symlink, and one with an absolute target.
        beneath("link").unwrap().replace(None, b"1", NEW).unwrap();
        symlink(root.canonicalize().unwrap().join("real"), root.join("all")).unwrap();
        beneath("all/file").unwrap().remove(b"1").unwrap();
        assert_eq!(fs::read_dir(root.join("real")).unwrap().count(), 0);
    }

    #[test]
    fn what_leads_out_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path();
        symlink(outside.path(), root.join("out")).unwrap();
        symlink(outside.path().join("new"), root.join("file")).unwrap();
        symlink("../../etc/new", root.join("up")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        for path in ["out/file", "file", "up"] {
            let refused = LockedFile::open_beneath(root, Path::new(path));
            assert!(matches!(refused, Err(LockError::Outside)), "{path}");
        }
        assert!(LockedFile::open_beneath(root, Path::new("circle")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_opened_is_written_whatever_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path();
        let file = LockedFile::open_beneath(root, Path::new("sub/file")).unwrap();
        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        symlink(outside.path(), root.join("sub")).unwrap();
        file.replace(None, b"text", NEW).unwrap();
        assert_eq!(fs::read(root.join("moved/file")).unwrap(), b"text");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_was_replaced_meanwhile_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let path = root.join("sub/file");
        let first = LockedFile::open(&path).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let second = LockedFile::open(&path).unwrap();
                second.replace(None, b"second", NEW).unwrap();
            });
            fs::remove_dir(root.join("sub")).unwrap();
            drop(first);
            second.join().unwrap();
        });
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn what_others_wrote_stays_and_permissions_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = LockedFile::open(&path).unwrap();
        assert_eq!(file.read().unwrap(), None);
        fs::write(&path, "theirs").unwrap();
        assert!(file.replace(None, b"ours", NEW).is_err());
        assert!(file.remove(b"ours").is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        file.replace(Some(b"theirs"), b"ours", NEW).unwrap();
        let name = OsStr::new("copy");
        file.copy_beside(name, b"theirs").unwrap();
        assert!(file.copy_beside(name, b"other").is_err());
        for (path, text) in [(path, "ours"), (folder.path().join("copy"), "theirs")] {
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
