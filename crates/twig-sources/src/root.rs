//! A library's folder, beneath which everything is opened: symlinks that point outside are refused.
//! [`Root::beside`] opens the one folder that may be outside: the documents of a project.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, OpenOptions};
use sha2::{Digest, Sha256};
use twig_core::{BodyError, NotAFile};

use crate::platform;
use crate::stamp::is_absence;

/// A library's folder, held open.
#[derive(Debug)]
pub(crate) struct Root {
    dir: Dir,
}

impl Root {
    /// Opens a library's folder; the folder itself may be a symlink.
    pub(crate) fn open(path: &Path) -> Result<Self, BodyError> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Self { dir }),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// Opens the folder of documents that a project names beside its own folder, by its path in the
    /// project.
    ///
    /// Symlinks may lead to another folder of the project, but neither out of it, nor to the project
    /// itself, nor to a hidden folder.
    pub(crate) fn beside(own: &Path, folder: &str) -> Result<Self, BodyError> {
        let Some(project) = own.parent().filter(|_| !own.is_symlink()) else {
            return Err(BodyError::OutsideProject);
        };
        let real = |path: &Path| path.canonicalize().map_err(|error| body_error(&error));
        let project = real(project)?;
        let folder = real(&project.join(folder))?;
        let below = folder.strip_prefix(&project);
        let below = below.map_err(|_| BodyError::OutsideProject)?;
        let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
        if below.as_os_str().is_empty() || below.iter().any(is_hidden) {
            return Err(BodyError::OutsideProject);
        }
        let mut root = Self::open(&project)?;
        // What replaces one of these folders meanwhile is not followed.
        for name in below {
            root = root.step_into(name)?;
        }
        Ok(root)
    }

    /// Opens a folder in it, unless a symlink has that name.
    pub(crate) fn step_into(&self, name: &OsStr) -> Result<Self, BodyError> {
        match platform::step_into(&self.dir, name) {
            Ok(dir) => Ok(Self { dir }),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// Opens a folder beneath; nothing opened through it can leave it.
    pub(crate) fn inside(&self, folder: &str) -> Result<Self, BodyError> {
        match self.dir.open_dir(folder) {
            Ok(dir) => Ok(Self { dir }),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// The folder itself, for code that writes.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Checks that there is a regular file at a path; follows symlinks inside the folder.
    pub(crate) fn look(&self, path: &str) -> Result<(), BodyError> {
        match self.dir.metadata(path) {
            Ok(metadata) => regular(metadata.file_type()),
            Err(error) => Err(body_error(&error)),
        }
    }

    /// The same for an executable file.
    pub(crate) fn look_program(&self, path: &str) -> Result<(), BodyError> {
        let metadata = match self.dir.metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return Err(body_error(&error)),
        };
        regular(metadata.file_type())?;
        if platform::mode_beneath(&metadata).is_some_and(|mode| mode & 0o111 == 0) {
            return Err(BodyError::NotExecutable);
        }
        Ok(())
    }

    /// Opens a regular file for reading, and never blocks on anything else.
    pub(crate) fn open_file(&self, path: &str) -> Result<std::fs::File, BodyError> {
        // Opening a device can already have an effect, so check the type first; check it again
        // afterwards, because the path may have changed by then.
        self.look(path)?;
        self.open_listed(path).map(|(file, _)| file)
    }

    /// The same after a listing reported a regular file; also returns its current metadata.
    pub(crate) fn open_listed(&self, path: &str) -> Result<(std::fs::File, Metadata), BodyError> {
        let mut options = OpenOptions::new();
        options.read(true);
        platform::never_wait(&mut options);
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

/// The digest of all bytes of a reader.
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

/// Refuses anything but a regular file, with [`BodyError::NotAFile`].
pub(crate) fn regular(kind: FileType) -> Result<(), BodyError> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(BodyError::NotAFile(NotAFile::Folder));
    }
    Err(BodyError::NotAFile(platform::kind_of(kind)))
}

/// An error of the system as an error of the port.
pub(crate) fn body_error(error: &io::Error) -> BodyError {
    if is_absence(error) {
        return BodyError::NotFound;
    }
    // cap-std itself refuses paths that leave the folder, and its error has no number; the system's
    // "permission denied" has one.
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return BodyError::Outside;
    }
    if platform::has_symlink_loop(error) {
        return BodyError::Loop;
    }
    BodyError::Unreadable(sentence(error))
}

/// The system's message in lower case, without its number.
pub(crate) fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_lowercase().chain(characters).collect())
        .unwrap_or_default()
}
