//! A text file of a library that a person edits elsewhere: found beneath the library's folder without
//! following any symlink, and replaced in one step if it is still the one that was read.
//!
//! Only texts are edited: nothing that may be code by the rules of trust, except the manifest, and
//! that only where a change of it ends the trust of its library.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata};
use sha2::{Digest as _, Sha256};
use twig_core::parse::library::MANIFEST;
use twig_core::{BodyError, Library, LibraryKind, LibraryName, RelativePath};

use crate::bodies::beside_of;
use crate::locked_file::{LockError, LockedFile};
use crate::platform::mode_beneath;
use crate::reader::decode;
use crate::replaced_files::{ReplacedFiles, ReplacedVersion};
use crate::root::{Root, body_error, regular, sentence};
use crate::settings::Settings;
use crate::trust::{Trust, is_data};
use crate::write_file::NewFile;

/// The longest text that is edited, in bytes.
pub const EDITED_BYTES: usize = 1024 * 1024;

/// Why a file is not edited; the message follows its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditFileError {
    /// Its library was fetched.
    #[error("belongs to the package `{0}`, whose files never change")]
    Packaged(LibraryName),
    /// It, or a folder on its path, is hidden.
    #[error("is hidden: change it in an editor")]
    Hidden,
    /// It, or a folder on its path, is a symlink.
    #[error("is a symlink, or in a folder that is one: change it in an editor")]
    Symlink,
    /// It may be a program, or a part of one.
    #[error("may be a program or a part of one: change it in an editor")]
    Code,
    /// It says which programs run, and nobody would be asked again.
    #[error(
        "says which programs run, and you trust this library as your own: change it in an editor"
    )]
    OwnManifest,
    /// It is no text that can be read.
    #[error(transparent)]
    Body(BodyError),
    /// It does not hold any more what the author of the change has read.
    #[error("was changed meanwhile")]
    Changed,
    /// Another program holds its folder.
    #[error("cannot be changed: {0}")]
    Lock(LockError),
    /// What it held cannot be kept for an undo.
    #[error("is not changed: what it holds cannot be kept for an undo ({})", sentence(.0))]
    NotKept(io::Error),
    /// The system refused.
    #[error("cannot be written: {}", sentence(.0))]
    Write(io::Error),
}

/// What a change of a file means for trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditedTrust {
    /// Nothing.
    Untouched,
    /// Its library runs programs while its files are the trusted ones: a change ends that.
    Ends,
}

/// A file that is about to be replaced; nobody else who uses Twig changes it meanwhile.
#[derive(Debug)]
pub struct EditedFile {
    file: LockedFile,
    path: PathBuf,
    bytes: Vec<u8>,
    text: String,
    has_mark: bool,
    /// What a change of it means for trust.
    pub trust: EditedTrust,
}

impl EditedFile {
    /// Says whether a file can be edited, and what that means for trust.
    pub fn check(
        settings: &Settings,
        library: &Library,
        path: &RelativePath,
    ) -> Result<EditedTrust, EditFileError> {
        let place = EditPlace::of(library, path)?;
        place.check(place.folder()?.dir())?;
        place.trust(settings)
    }

    /// Opens a file in order to replace it.
    pub fn open(
        settings: &Settings,
        library: &Library,
        path: &RelativePath,
    ) -> Result<Self, EditFileError> {
        let place = EditPlace::of(library, path)?;
        place.check(place.folder()?.dir())?;
        let trust = place.trust(settings)?;
        let open = || {
            let folder = place.folder().map_err(io::Error::other)?;
            folder.dir().try_clone()
        };
        let file = LockedFile::in_folder(open, place.name).map_err(EditFileError::Lock)?;
        // Something else may have been put there before the lock was taken.
        place.check(file.dir())?;
        let bytes = file.read().map_err(|error| unreadable(&error))?;
        let bytes = bytes.ok_or(EditFileError::Body(BodyError::NotFound))?;
        let (text, has_mark) = decode(bytes.clone()).map_err(EditFileError::Body)?;
        Ok(Self {
            file,
            path: place.real_path(),
            bytes,
            text,
            has_mark,
            trust,
        })
    }

    /// SHA-256 of its bytes.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    /// Its text, without a byte-order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces its text; it keeps its byte-order mark. Returns SHA-256 of its bytes.
    pub fn save_text(
        &self,
        text: &str,
        replaced: &ReplacedFiles,
    ) -> Result<[u8; 32], EditFileError> {
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        self.save([mark, text].concat().as_bytes(), replaced)
    }

    /// Puts back bytes that were replaced before. Returns their SHA-256.
    pub fn put_back(
        &self,
        digest: &[u8; 32],
        replaced: &ReplacedFiles,
    ) -> Result<[u8; 32], EditFileError> {
        let found = replaced.read(&self.path, digest);
        let bytes = found.map_err(|error| EditFileError::Body(body_error(&error)))?;
        self.save(&bytes, replaced)
    }

    fn save(&self, bytes: &[u8], replaced: &ReplacedFiles) -> Result<[u8; 32], EditFileError> {
        let size = bytes.len();
        if size > EDITED_BYTES {
            return Err(EditFileError::Body(BodyError::TooLarge {
                size: size as u64,
                limit: EDITED_BYTES,
            }));
        }
        if let Some(offset) = memchr::memchr(0, bytes) {
            return Err(EditFileError::Body(BodyError::Binary { offset }));
        }
        if bytes == self.bytes {
            return Ok(self.digest());
        }
        replaced
            .keep(&self.path, &self.bytes)
            .map_err(EditFileError::NotKept)?;
        let new = NewFile {
            keeps_owner: true,
            ..NewFile::SHARED
        };
        match self.file.replace(Some(&self.bytes), bytes, new) {
            Ok(()) => Ok(Sha256::digest(bytes).into()),
            Err(_) if self.has_changed() => Err(EditFileError::Changed),
            Err(error) => Err(EditFileError::Write(error)),
        }
    }

    /// The versions of a file that were replaced, the last one first.
    pub fn replaced(
        library: &Library,
        path: &RelativePath,
        replaced: &ReplacedFiles,
    ) -> Vec<ReplacedVersion> {
        let place = EditPlace::of(library, path);
        place.map_or_else(|_| Vec::new(), |place| replaced.list(&place.real_path()))
    }

    /// One of them, as text without a byte-order mark.
    pub fn replaced_text(
        library: &Library,
        path: &RelativePath,
        digest: &[u8; 32],
        replaced: &ReplacedFiles,
    ) -> Option<String> {
        let place = EditPlace::of(library, path).ok()?;
        let bytes = replaced.read(&place.real_path(), digest).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let stripped = text.strip_prefix('\u{feff}').map(str::to_owned);
        Some(stripped.unwrap_or(text))
    }

    fn has_changed(&self) -> bool {
        !matches!(self.file.read(), Ok(Some(now)) if now == self.bytes)
    }
}

fn is_executable(metadata: &Metadata) -> bool {
    mode_beneath(metadata).is_some_and(|mode| mode & 0o111 != 0)
}

fn unreadable(error: &io::Error) -> EditFileError {
    EditFileError::Body(body_error(error))
}

/// Where a file is that may be edited.
struct EditPlace<'l> {
    library: &'l Library,
    path: &'l RelativePath,
    /// The folder of documents outside the library's own, if it is in that.
    beside: Option<String>,
    /// The folders between, and its name.
    folders: Vec<&'l str>,
    name: &'l str,
    is_manifest: bool,
}

impl<'l> EditPlace<'l> {
    fn of(library: &'l Library, path: &'l RelativePath) -> Result<Self, EditFileError> {
        if let Some(package) = &library.package {
            return Err(EditFileError::Packaged(package.name.clone()));
        }
        let beside = beside_of(library, path);
        let below = beside.map_or(path.as_str(), |(_, below)| below);
        let mut folders: Vec<&str> = below.split('/').collect();
        let is_own = |part: &&str| !part.is_empty() && !part.starts_with('.');
        if !folders.iter().all(is_own) {
            return Err(EditFileError::Hidden);
        }
        let name = folders.pop().unwrap_or_default();
        Ok(Self {
            library,
            path,
            beside: beside.map(|(folder, _)| folder.to_owned()),
            folders,
            name,
            is_manifest: library.kind == LibraryKind::Twig && path.as_str() == MANIFEST,
        })
    }

    /// The folder that it is in. What becomes a symlink on the way is not followed.
    fn folder(&self) -> Result<Root, EditFileError> {
        let base = Path::new(&*self.library.root);
        let opened = match &self.beside {
            Some(folder) => Root::beside(base, folder),
            None => Root::open(base),
        };
        let mut root = opened.map_err(EditFileError::Body)?;
        for folder in &self.folders {
            let found = root
                .dir()
                .symlink_metadata(folder)
                .map_err(|error| unreadable(&error))?;
            if found.is_symlink() {
                return Err(EditFileError::Symlink);
            }
            root = root
                .step_into(folder.as_ref())
                .map_err(EditFileError::Body)?;
        }
        Ok(root)
    }

    /// Refuses what is no text of the library.
    fn check(&self, folder: &Dir) -> Result<(), EditFileError> {
        let found = folder
            .symlink_metadata(self.name)
            .map_err(|error| unreadable(&error))?;
        if found.is_symlink() {
            return Err(EditFileError::Symlink);
        }
        regular(found.file_type()).map_err(EditFileError::Body)?;
        if is_executable(&found) || !(self.is_manifest || is_data(self.name)) {
            return Err(EditFileError::Code);
        }
        if found.len() > EDITED_BYTES as u64 {
            let (size, limit) = (found.len(), EDITED_BYTES);
            return Err(EditFileError::Body(BodyError::TooLarge { size, limit }));
        }
        Ok(())
    }

    /// What a change of it means for trust; an error if it would have programs run that nobody saw.
    fn trust(&self, settings: &Settings) -> Result<EditedTrust, EditFileError> {
        let recorded = settings.trust.as_deref().filter(|_| self.is_manifest);
        let Some(trust) = recorded.and_then(|path| Trust::read(path).ok()) else {
            return Ok(EditedTrust::Untouched);
        };
        let path = self.real_path();
        if trust.own_libraries().any(|root| path.starts_with(root)) {
            return Err(EditFileError::OwnManifest);
        }
        if trust.folders().any(|root| path.starts_with(root)) {
            return Ok(EditedTrust::Ends);
        }
        Ok(EditedTrust::Untouched)
    }

    /// Its path by which replaced versions of it are found again.
    fn real_path(&self) -> PathBuf {
        let path = PathBuf::from(self.library.path_of(self.path));
        let folder = path.parent().and_then(|it| it.canonicalize().ok());
        folder.map_or(path, |folder| folder.join(self.name))
    }
}
