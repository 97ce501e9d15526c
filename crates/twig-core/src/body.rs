//! The port that reads bodies: text by library and path, read on first use.

mod problem;

use std::fmt;

pub use self::problem::FileRole;
use crate::model::{Library, Prompt};
use crate::name::RelativePath;
use crate::stored_version::StoredVersion;

/// Identifies a body as it was read: equal stamps, equal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The stamp of a version in a store: a new version may have the content of the last one.
    pub fn of_stored(version: &StoredVersion) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&version.digest[..8]);
        Self(u64::from_le_bytes(first).wrapping_add(version.number))
    }
}

/// The text of a file and the stamp it had when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The whole text, without a byte-order mark.
    pub text: String,
    /// Whether the file began with a byte-order mark.
    pub has_mark: bool,
    /// The stamp of exactly this text.
    pub stamp: Stamp,
}

/// The bytes of a file and the stamp it had when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// All of them.
    pub bytes: Vec<u8>,
    /// The stamp of exactly these bytes.
    pub stamp: Stamp,
    /// True if the file may be executed.
    pub is_executable: bool,
}

/// Reads the bodies of a library's files.
///
/// An implementation never reads outside the library's folder, except documents in the folder that
/// [`Library::documents_beside`] names, and never blocks on anything that is not a regular file.
pub trait Bodies: Send + Sync {
    /// Reads a file of a library.
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError>;

    /// Checks whether a file changed, without reading it.
    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError>;

    /// Reads a file that need not be text, if it has at most `limit` bytes.
    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError>;

    /// Reads the content of a version in a store.
    fn stored(&self, _version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        Err(BodyError::NotFound)
    }

    /// True if the file of a prompt has not changed since it was read.
    fn is_current(&self, _library: &Library, _prompt: &Prompt) -> bool {
        true
    }

    /// Reads a library again if its files changed; the next catalog has it.
    fn renew(&self, _library: &Library) {}

    /// Reads images or audio and writes the reply that holds them, exactly once. A server with many
    /// clients makes such replies one at a time, each when there is memory for the one before it.
    /// Returns false if the queue was full and the work did not run.
    fn with_media(&self, _prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        work();
        true
    }

    /// Runs work that takes much time or memory, exactly once. A server with many clients runs such
    /// work one piece at a time, where no other request waits for it, and alternates between
    /// prompts. Returns false if the queue was full and the work did not run.
    fn aside(&self, _prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        work();
        true
    }
}

/// Why a body could not be read; the message follows the file's path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// There is no such file.
    #[error("not found")]
    NotFound,
    /// A symlink points outside the library's folder.
    #[error("points outside the library's folder")]
    Outside,
    /// A folder beside a project's own, which a symlink moves somewhere else.
    #[error(
        "is not read: a symlink leads out of the project, to a hidden folder or to the project itself"
    )]
    OutsideProject,
    /// A folder, FIFO, socket or device.
    #[error("is not a regular file, but {0}")]
    NotAFile(NotAFile),
    /// Larger than its limit.
    #[error("is {size} bytes long; the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        limit: usize,
    },
    /// A file of a package that is not as it was fetched.
    #[error("was changed after its package was fetched")]
    Altered,
    /// One file too many: all files of its library together exceed their limit.
    #[error("is ignored: the files of one library may hold {limit} bytes in total")]
    NoRoom {
        /// The limit for all of them.
        limit: usize,
    },
    /// Text in an unsupported encoding.
    #[error("looks like UTF-16")]
    Utf16,
    /// Bytes that are not text.
    #[error("is not UTF-8 text (byte {offset})")]
    NotUtf8 {
        /// Where the first bad byte is.
        offset: usize,
    },
    /// A NUL byte: the file is binary.
    #[error("looks binary (a NUL at byte {offset})")]
    Binary {
        /// Where the first NUL is.
        offset: usize,
    },
    /// A program without the permission to be executed.
    #[error("is not marked as executable")]
    NotExecutable,
    /// A symlink that points to itself.
    #[error("is a symlink that points to itself")]
    Loop,
    /// A project's store failed; a whole sentence.
    #[error("{0}")]
    Store(String),
    /// A content in a project's store is gone or damaged, so another attempt fails, too; a whole
    /// sentence.
    #[error("{0}")]
    Lost(String),
    /// The system refused to read it.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// What is at a path instead of a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotAFile {
    /// A folder.
    Folder,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// The system does not say.
    Unknown,
}

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "something else",
        })
    }
}
