//! A library's folder, beneath which everything is opened: links that lead out are refused.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, OpenOptions};
#[cfg(unix)]
use cap_std::fs::{FileTypeExt, OpenOptionsExt};
use sha2::{Digest, Sha256};
use twig_core::{BodyError, NotAFile};

use crate::stamp::is_absence;

/// A library's folder, held open.
#[derive(Debug)]
pub(crate) struct Root {
    dir: Dir,
}

impl Root {
    /// Opens a library's folder; the folder itself may be a link.
    pub(crate) fn open(path: &Path) -> Result<Self, BodyError> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Self { dir }),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// Opens a folder beneath, which nothing that is opened through it leaves.
    pub(crate) fn inside(&self, folder: &str) -> Result<Self, BodyError> {
        match self.dir.open_dir(folder) {
            Ok(dir) => Ok(Self { dir }),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// The folder itself, for what writes.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Says whether a regular file is at a path, links inside the folder followed.
    pub(crate) fn look(&self, path: &str) -> Result<(), BodyError> {
        match self.dir.metadata(path) {
            Ok(metadata) => regular(metadata.file_type()),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// The same for a file that the system would start.
    pub(crate) fn look_program(&self, path: &str) -> Result<(), BodyError> {
        let metadata = match self.dir.metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return Err(body_error(&error)),
        };
        regular(metadata.file_type())?;
        #[cfg(unix)]
        if cap_std::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
            return Err(BodyError::NotExecutable);
        }
        Ok(())
    }

    /// Opens a regular file for reading, and never hangs on anything else.
    pub(crate) fn open_file(&self, path: &str) -> Result<std::fs::File, BodyError> {
        // Opening a device can already do something, so the type is asked for first; it is asked
        // for again afterwards, because the path can lead elsewhere by then.
        self.look(path)?;
        self.open_listed(path).map(|(file, _)| file)
    }

    /// The same where a listing has just said that it is a regular file; says what it is now, too.
    pub(crate) fn open_listed(&self, path: &str) -> Result<(std::fs::File, Metadata), BodyError> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let trouble = |error| body_error(&error);
        let file = self.dir.open_with(path, &options).map_err(trouble)?;
        let file = file.into_std();
        let metadata = file.metadata().map_err(trouble)?;
        if metadata.is_file() {
            return Ok((file, metadata));
        }
        let other = File::from_std(file).metadata().map_err(trouble)?;
        let what = regular(other.file_type()).err();
        Err(what.unwrap_or(BodyError::NotAFile(NotAFile::Unknown)))
    }

    /// The entries of a folder beneath, `""` for the root itself.
    pub(crate) fn entries(&self, folder: &str) -> Result<cap_std::fs::ReadDir, BodyError> {
        let entries = if folder.is_empty() {
            self.dir.entries()
        } else {
            self.dir.read_dir(folder)
        };
        entries.map_err(|error| body_error(&error))
    }
}

/// The digest of all bytes that a reader gives.
pub(crate) fn digest(mut reader: impl Read) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What is at a path instead of a regular file, in the words of [`BodyError::NotAFile`].
pub(crate) fn regular(kind: FileType) -> Result<(), BodyError> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(BodyError::NotAFile(NotAFile::Folder));
    }
    #[cfg(unix)]
    {
        if kind.is_fifo() {
            return Err(BodyError::NotAFile(NotAFile::Fifo));
        }
        if kind.is_socket() {
            return Err(BodyError::NotAFile(NotAFile::Socket));
        }
        if kind.is_block_device() || kind.is_char_device() {
            return Err(BodyError::NotAFile(NotAFile::Device));
        }
    }
    Err(BodyError::NotAFile(NotAFile::Unknown))
}

/// An error of the system, in the words of the port.
pub(crate) fn body_error(error: &io::Error) -> BodyError {
    if is_absence(error) {
        return BodyError::NotFound;
    }
    // A way out is refused by cap-std itself and so has no number; the system's "permission denied"
    // has one.
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return BodyError::Outside;
    }
    if is_loop(error) {
        return BodyError::Loop;
    }
    BodyError::Unreadable(sentence(error))
}

/// Whether an error says that links lead in a circle.
#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether an error says that links lead in a circle; here there is no telling.
#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}

/// What the system said, without its number, in lower case.
pub(crate) fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_lowercase().chain(characters).collect())
        .unwrap_or_default()
}
