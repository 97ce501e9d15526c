//! Reads one file of a library whole: not half a save unless its writer pauses for 20 ms, never outside,
//! never for ever.

use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use twig_core::BodyError;

pub(crate) use crate::patience::SavePatience;
use crate::patience::{pause, until_folder_is_quiet};
use crate::platform::is_executable;
use crate::root::{Root, body_error};
use crate::stamp::FileStamp;

/// The byte order mark that some editors write in front of UTF-8.
const MARK: char = '\u{feff}';

/// A file's text and the stamp it had.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) text: String,
    pub(crate) has_mark: bool,
    pub(crate) stamp: FileStamp,
}

impl ReadFile {
    /// SHA-256 of the file's bytes, including the byte order mark that the text no longer has.
    pub(crate) fn digest_of(text: &str, has_mark: bool) -> [u8; 32] {
        let mut hash = Sha256::new();
        if has_mark {
            hash.update(MARK.encode_utf8(&mut [0; 4]));
        }
        hash.update(text);
        hash.finalize().into()
    }
}

/// A file's bytes and the stamp it had.
#[derive(Debug)]
pub(crate) struct ReadBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: FileStamp,
    pub(crate) is_executable: bool,
}

/// Reads a text file beneath a library's folder.
pub(crate) fn read_text(
    root: &Path,
    path: &str,
    limit: usize,
    patience: SavePatience,
) -> Result<ReadFile, BodyError> {
    text_of(read_bytes(root, path, limit, patience)?)
}

/// The same for one of many files: the folder is already open, and reopened only for a file that is
/// being written.
pub(crate) fn read_text_beneath(
    opened: &Root,
    root: &Path,
    path: &str,
    limit: usize,
    patience: SavePatience,
) -> Result<ReadFile, BodyError> {
    read_beneath(opened, root, path, false, limit, patience).and_then(text_of)
}

/// The same for bytes. `is_listed` says whether a listing reported a regular file.
pub(crate) fn read_beneath(
    opened: &Root,
    root: &Path,
    path: &str,
    is_listed: bool,
    limit: usize,
    patience: SavePatience,
) -> Result<ReadBytes, BodyError> {
    match open_regular(opened, path, is_listed)
        .and_then(|file| attempt(file, limit, patience, patience.total))
    {
        Ok(Attempt::Whole(read)) => Ok(read),
        Err(error @ BodyError::TooLarge { .. }) => Err(error),
        _ => read_bytes(root, path, limit, patience),
    }
}

/// The bytes as text, or why they are not text.
pub(crate) fn text_of(read: ReadBytes) -> Result<ReadFile, BodyError> {
    let (text, has_mark) = decode(read.bytes)?;
    Ok(ReadFile {
        text,
        has_mark,
        stamp: read.stamp,
    })
}

/// Reads a file beneath a library's folder.
pub(crate) fn read_bytes(
    root: &Path,
    path: &str,
    limit: usize,
    patience: SavePatience,
) -> Result<ReadBytes, BodyError> {
    read_opened(root, path, limit, patience, || Root::open(root))
}

/// The same for a file beneath a folder that is opened in another way.
pub(crate) fn read_opened(
    root: &Path,
    path: &str,
    limit: usize,
    patience: SavePatience,
    open: impl Fn() -> Result<Root, BodyError>,
) -> Result<ReadBytes, BodyError> {
    let started = Instant::now();
    loop {
        let left = patience.total.saturating_sub(started.elapsed());
        let file = open().and_then(|root| open_regular(&root, path, false));
        let attempt = file.and_then(|file| attempt(file, limit, patience, left));
        let wait = match attempt {
            Ok(Attempt::Whole(read)) => return Ok(read),
            Ok(Attempt::Changing(wait)) => wait,
            Err(BodyError::NotFound) => {
                match until_folder_is_quiet(&folder_of(root, path), patience.quiet_when_gone) {
                    Some(wait) if !left.is_zero() => wait,
                    _ => return Err(BodyError::NotFound),
                }
            }
            Err(error) => return Err(error),
        };
        if left.is_zero() {
            return Err(BodyError::Unreadable(
                "it changes all the time while it is read".to_owned(),
            ));
        }
        pause(wait);
    }
}

/// Reads the beginning of a file, and no more. `is_listed` says whether a listing reported a
/// regular file.
pub(crate) fn read_head(
    root: &Root,
    path: &str,
    is_listed: bool,
    length: usize,
    patience: SavePatience,
) -> Result<ReadBytes, BodyError> {
    let started = Instant::now();
    loop {
        let (mut file, metadata) = open_regular(root, path, is_listed)?;
        let stamp = FileStamp::of(&metadata);
        let is_patient = started.elapsed() < patience.total;
        let mut wait = stamp.until_quiet(patience.quiet_for(&stamp));
        if wait.is_none() || !is_patient {
            // Ask for no more than there is, so that most files take one read.
            let most = usize::try_from(stamp.size).map_or(length, |size| size.min(length));
            let mut bytes = vec![0; most];
            let read = fill(&mut file, &mut bytes).map_err(|error| body_error(&error))?;
            if read == most || !is_patient {
                bytes.truncate(read);
                let is_executable = is_executable(&metadata);
                return Ok(ReadBytes {
                    bytes,
                    stamp,
                    is_executable,
                });
            }
            wait = Some(Duration::from_millis(1));
        }
        let wait = wait.unwrap_or_default();
        pause(wait);
    }
}

/// Opens a regular file; `is_listed` says whether a listing reported one.
fn open_regular(root: &Root, path: &str, is_listed: bool) -> Result<(File, Metadata), BodyError> {
    if !is_listed {
        // Opening a device can already have an effect.
        root.look(path)?;
    }
    root.open_listed(path)
}

/// Reads until the buffer is full or the file ends; returns how much was read.
fn fill(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

enum Attempt {
    Whole(ReadBytes),
    /// A program is writing: try again after this long.
    Changing(Duration),
}

fn attempt(
    (file, metadata): (File, Metadata),
    limit: usize,
    patience: SavePatience,
    left: Duration,
) -> Result<Attempt, BodyError> {
    let before = FileStamp::of(&metadata);
    if before.size > limit as u64 {
        return Err(BodyError::TooLarge {
            size: before.size,
            limit,
        });
    }
    if let Some(wait) = before.until_quiet(patience.quiet_for(&before))
        && !left.is_zero()
    {
        return Ok(Attempt::Changing(wait));
    }
    let bytes = read_all(&file, before.size, limit)?;
    if bytes.is_empty() && patience.doubts_empty {
        pause(Duration::MAX);
    }
    // Two saves within one tick of the clock leave the same stamp, so while the stamp is that young
    // the text itself is compared.
    let is_same = stamp(&file)? == before
        && bytes.len() as u64 == before.size
        && (before.is_settled() || read_again(&file, before.size, limit)? == bytes);
    if !is_same {
        return Ok(Attempt::Changing(Duration::from_millis(1)));
    }
    Ok(Attempt::Whole(ReadBytes {
        bytes,
        stamp: before,
        is_executable: is_executable(&metadata),
    }))
}

/// Reads an open file to its end, which is at its size: the caller compares its metadata before and
/// after. Only where the system gives no size, it is read until there is no more, at most one byte
/// past the limit.
fn read_all(file: &File, size: u64, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let most = match size {
        0 => (limit as u64).saturating_add(1),
        size => size,
    };
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(body_error(&error)),
    }
}

fn read_again(mut file: &File, size: u64, limit: usize) -> Result<Vec<u8>, BodyError> {
    file.rewind().map_err(|error| body_error(&error))?;
    read_all(file, size, limit)
}

fn stamp(file: &File) -> Result<FileStamp, BodyError> {
    match file.metadata() {
        Ok(metadata) => Ok(FileStamp::of(&metadata)),
        Err(error) => Err(body_error(&error)),
    }
}

fn folder_of(root: &Path, path: &str) -> PathBuf {
    root.join(path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// The text without its byte order mark and whether it had one, or why it is not text.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<(String, bool), BodyError> {
    if is_utf16(&bytes) {
        return Err(BodyError::Utf16);
    }
    if let Some(offset) = memchr::memchr(0, &bytes) {
        return Err(BodyError::Binary { offset });
    }
    let mut text = String::from_utf8(bytes).map_err(|error| BodyError::NotUtf8 {
        offset: error.utf8_error().valid_up_to(),
    })?;
    let has_mark = text.starts_with(MARK);
    if has_mark {
        text.drain(..MARK.len_utf8());
    }
    Ok((text, has_mark))
}

/// Whether bytes look like UTF-16: they begin with its mark, or every second one of many is NUL.
fn is_utf16(bytes: &[u8]) -> bool {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    let (pairs, _) = bytes[..bytes.len().min(1024)].as_chunks::<2>();
    let nuls = |at: usize| pairs.iter().filter(|pair| pair[at] == 0).count();
    let (first, second) = (nuls(0), nuls(1));
    let most = first.max(second);
    // One NUL is a typo, and NULs on both sides are something else altogether.
    first.min(second) == 0 && most > 1 && most * 2 >= pairs.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn utf16_is_told_with_and_without_its_mark() {
        for text in [
            "Review this.\n",
            "\u{feff}Gr\u{fc}\u{df}e \u{1f331}",
            "\u{feff}\u{4f60}\u{597d}",
        ] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                assert_eq!(decode(utf16(text, bytes)), Err(BodyError::Utf16), "{text}");
            }
        }
    }

    #[test]
    fn other_bytes_are_not_taken_for_utf16() {
        let binary = |offset| Err(BodyError::Binary { offset });
        assert_eq!(decode(b"ab\0c".to_vec()), binary(2));
        assert_eq!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec()), binary(7));
        assert_eq!(decode(b"\0\0\0\0".to_vec()), binary(0));
        assert_eq!(decode(Vec::new()), Ok((String::new(), false)));
    }
}
