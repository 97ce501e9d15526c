//! Archives of skills: tar.gz and zip, read within limits, and zip, written the same every time.
//!
//! Bytes come in, files come out, and the other way round; nothing touches a disk. An archive with a single bad entry is refused
//! whole: nobody can tell what its author meant by the rest.

mod writer;

use std::collections::BTreeSet;
use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder};
use rawzip::{CompressionMethod, ZipArchive};

pub use self::writer::write_zip;
use crate::tree::{FileMode, PathTrouble, path_trouble};

/// The most bytes that the files of an archive may have together.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The most files, folders and headers that an archive may have.
pub const MOST_FILES: usize = 20_000;

/// What the headers of a tar may take beside the files: two blocks for each.
const HEADERS: u64 = MOST_FILES as u64 * 1024;

/// The kind of file in a mode, and those of regular files and folders.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// One file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedFile {
    /// Its path, with `/`.
    pub path: String,
    /// Whether it can be executed.
    pub mode: FileMode,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Why an archive is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Neither tar.gz nor zip.
    #[error("it is neither a tar.gz nor a zip archive")]
    Unknown,
    /// It cannot be read to its end.
    #[error("the archive is damaged: {reason}")]
    Damaged {
        /// What the reader said.
        reason: String,
    },
    /// Too many bytes.
    #[error("its files are larger than 64 MiB together")]
    TooLarge,
    /// Too many files.
    #[error("it has more than 20,000 entries")]
    TooMany,
    /// A name that no file of a package may have.
    #[error("`{path}` is refused: {trouble}")]
    Path {
        /// The name, with control characters escaped.
        path: String,
        /// What is wrong with it.
        trouble: PathTrouble,
    },
    /// A symlink, a hard link, a device.
    #[error("`{path}` is a {kind}, and only files and folders are read")]
    NotAFile {
        /// Its name.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// Two entries with one name, or a file where another needs a folder.
    #[error("`{path}` is there twice")]
    Twice {
        /// The name.
        path: String,
    },
    /// A zip entry that only other programs can read.
    #[error("`{path}` is encrypted or compressed in another way than deflate")]
    Method {
        /// Its name.
        path: String,
    },
    /// The bytes of several zip entries are the same ones.
    #[error("its entries overlap, as they do in archives that are made to fill disks")]
    Overlap,
    /// No `SKILL.md`.
    #[error("there is no `SKILL.md` at its root")]
    NoSkill,
}

/// Reads an archive of one skill, by its first bytes, sorted by path.
pub fn read_archive(bytes: &[u8]) -> Result<Vec<UnpackedFile>, ArchiveError> {
    match bytes {
        [0x1f, 0x8b, ..] => read_tar_gz(bytes),
        [b'P', b'K', ..] => read_zip(bytes),
        _ => Err(ArchiveError::Unknown),
    }
}

/// Reads a tar.gz archive with `SKILL.md` at its root.
pub fn read_tar_gz(bytes: &[u8]) -> Result<Vec<UnpackedFile>, ArchiveError> {
    // The bound holds for long names and other headers, too, which the reader keeps in memory.
    let mut stream = MultiGzDecoder::new(bytes).take(MOST_BYTES + HEADERS);
    let read = read_tar(&mut stream);
    if stream.limit() == 0 {
        return Err(ArchiveError::TooLarge);
    }
    read
}

fn read_tar(stream: &mut impl Read) -> Result<Vec<UnpackedFile>, ArchiveError> {
    let mut unpacked = UnpackedFiles::default();
    let mut archive = tar::Archive::new(&mut *stream);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let path = entry.path_bytes().into_owned();
        let path = entry_path(&path)?;
        if kind.is_pax_global_extensions() {
            unpacked.count()?;
        } else if kind.is_dir() {
            unpacked.push_folder(&path)?;
        } else if kind.is_file() {
            let mode = entry.header().mode().map_err(damaged)?;
            unpacked.push(path, mode, entry.size(), &mut entry)?;
        } else {
            return Err(ArchiveError::NotAFile {
                path,
                kind: tar_kind(kind),
            });
        }
    }
    // The checksum is at the end.
    io::copy(stream, &mut io::sink()).map_err(damaged)?;
    unpacked.finish()
}

fn tar_kind(kind: tar::EntryType) -> &'static str {
    if kind.is_symlink() {
        "symlink"
    } else if kind.is_hard_link() {
        "hard link"
    } else if kind.is_fifo() || kind.is_character_special() || kind.is_block_special() {
        "device"
    } else {
        "special entry"
    }
}

/// Reads a zip archive with `SKILL.md` at its root.
pub fn read_zip(bytes: &[u8]) -> Result<Vec<UnpackedFile>, ArchiveError> {
    let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
    let mut unpacked = UnpackedFiles::default();
    let mut compressed = 0_u64;
    for record in archive.entries() {
        let record = record.map_err(damaged)?;
        let path = entry_path(record.file_path().as_bytes())?;
        let mode = record.mode();
        let is_folder = record.is_dir() || mode.value() & KIND == FOLDER;
        if is_folder {
            unpacked.push_folder(&path)?;
            continue;
        }
        if mode.is_symlink() || mode.value() & KIND != REGULAR {
            let kind = if mode.is_symlink() {
                "symlink"
            } else {
                "device"
            };
            return Err(ArchiveError::NotAFile { path, kind });
        }
        let entry = archive.get_entry(record.wayfinder()).map_err(damaged)?;
        if entry.local_header().file_path().as_bytes() != record.file_path().as_bytes() {
            let reason = format!("`{path}` has two names");
            return Err(ArchiveError::Damaged { reason });
        }
        // Without this, thousands of entries could share the same bytes.
        compressed = compressed.saturating_add(entry.data().len() as u64);
        if compressed > bytes.len() as u64 {
            return Err(ArchiveError::Overlap);
        }
        let size = record.uncompressed_size_hint();
        let is_encrypted = record.flags().is_encrypted();
        match record.compression_method() {
            CompressionMethod::STORE if !is_encrypted => {
                let mut reader = entry.verifying_reader(entry.data());
                unpacked.push(path, mode.value(), size, &mut reader)?;
            }
            CompressionMethod::DEFLATE if !is_encrypted => {
                let mut reader = entry.verifying_reader(DeflateDecoder::new(entry.data()));
                unpacked.push(path, mode.value(), size, &mut reader)?;
            }
            _ => return Err(ArchiveError::Method { path }),
        }
    }
    unpacked.finish()
}

/// The files so far.
#[derive(Default)]
struct UnpackedFiles {
    files: Vec<UnpackedFile>,
    entries: usize,
    bytes: u64,
}

impl UnpackedFiles {
    fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > MOST_FILES {
            return Err(ArchiveError::TooMany);
        }
        Ok(())
    }

    /// Checks a folder; folders exist only through their files.
    fn push_folder(&mut self, path: &str) -> Result<(), ArchiveError> {
        self.count()?;
        // `./` is the archive's own folder.
        if path.is_empty() {
            return Ok(());
        }
        checked(path)
    }

    /// Adds a file of a stated size, and reads no more than there is room for.
    fn push(
        &mut self,
        path: String,
        mode: u32,
        size: u64,
        reader: &mut impl Read,
    ) -> Result<(), ArchiveError> {
        self.count()?;
        checked(&path)?;
        let room = MOST_BYTES - self.bytes;
        if size > room {
            return Err(ArchiveError::TooLarge);
        }
        let mut bytes = Vec::new();
        let read = reader.take(room + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > room {
            return Err(ArchiveError::TooLarge);
        }
        read.map_err(damaged)?;
        self.bytes += bytes.len() as u64;
        let mode = match mode & 0o111 {
            0 => FileMode::Plain,
            _ => FileMode::Executable,
        };
        self.files.push(UnpackedFile { path, mode, bytes });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<UnpackedFile>, ArchiveError> {
        self.files.sort_by(|one, two| one.path.cmp(&two.path));
        let paths = distinct(self.files.iter().map(|file| &*file.path))?;
        if !paths.contains("SKILL.md") {
            return Err(ArchiveError::NoSkill);
        }
        Ok(self.files)
    }
}

/// The paths, if each of them can be a file beside the others; they are sorted.
fn distinct<'p>(sorted: impl Iterator<Item = &'p str>) -> Result<BTreeSet<&'p str>, ArchiveError> {
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for path in sorted {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        let taken = folders.chain([path]).find(|it| paths.contains(it));
        if let Some(taken) = taken {
            let path = taken.to_owned();
            return Err(ArchiveError::Twice { path });
        }
        paths.insert(path);
    }
    Ok(paths)
}

/// The name of an entry without `./` before it and `/` after it.
fn entry_path(bytes: &[u8]) -> Result<String, ArchiveError> {
    let Ok(path) = std::str::from_utf8(bytes) else {
        return Err(ArchiveError::Path {
            path: String::from_utf8_lossy(bytes).escape_debug().to_string(),
            trouble: PathTrouble::Characters,
        });
    };
    let path = match path {
        "." => "",
        path => path.strip_prefix("./").unwrap_or(path),
    };
    Ok(path.strip_suffix('/').unwrap_or(path).to_owned())
}

fn checked(path: &str) -> Result<(), ArchiveError> {
    match path_trouble(path) {
        None => Ok(()),
        Some(trouble) => Err(ArchiveError::Path {
            path: path.escape_debug().to_string(),
            trouble,
        }),
    }
}

#[allow(clippy::needless_pass_by_value)]
fn damaged(error: impl std::error::Error) -> ArchiveError {
    let reason = error.to_string();
    let reason = reason.lines().next().unwrap_or_default();
    ArchiveError::Damaged {
        reason: reason.escape_debug().to_string(),
    }
}
