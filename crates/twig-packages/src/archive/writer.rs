//! Writes zip archives that are the same bytes for the same files, everywhere and for ever.
//!
//! Files are stored and not compressed: the bytes of a compressor differ between its versions, and the
//! digest of an archive is how installers notice an update. For the same reason the layout is written
//! here and not by a library: sorted by path, 1980-01-01 as the time of every file, `644` or `755` as
//! its mode, sizes in front of the content, and nothing optional.

use super::{ArchiveError, MOST_BYTES, MOST_FILES, REGULAR, UnpackedFile, checked, distinct};
use crate::tree::case_twins;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
/// The version that is needed to read it: 2.0.
const VERSION: u16 = 20;
/// Made on Unix, so that modes count.
const UNIX: u16 = 3 << 8;
/// Names are UTF-8.
const UTF_8: u16 = 1 << 11;
/// The first day that a zip archive can name, at midnight.
const DATE: u16 = (1 << 5) | 1;
/// What one file takes beside its content and its two names.
const HEADERS: usize = 30 + 46;

/// Writes a zip archive of these files.
///
/// The same files give the same bytes, in whatever order they come. A path that no package may have, or
/// that is there twice, is refused, and so is an archive that [`super::read_zip`] would not read because
/// of its size.
pub fn write_zip(files: &[UnpackedFile]) -> Result<Vec<u8>, ArchiveError> {
    let mut sorted: Vec<&UnpackedFile> = files.iter().collect();
    sorted.sort_by(|one, two| one.path.cmp(&two.path));
    let size = check(&sorted)?;
    let names: usize = sorted.iter().map(|file| 2 * file.path.len()).sum();
    let mut zip = Vec::with_capacity(size + names + HEADERS * sorted.len() + 22);
    let mut central = Vec::with_capacity(names / 2 + 46 * sorted.len());
    for file in &sorted {
        let at = number(zip.len())?;
        let entry = entry(file)?;
        zip.extend_from_slice(LOCAL);
        zip.extend_from_slice(&entry);
        zip.extend_from_slice(file.path.as_bytes());
        zip.extend_from_slice(&file.bytes);
        central.extend_from_slice(CENTRAL);
        central.extend_from_slice(&(UNIX | VERSION).to_le_bytes());
        central.extend_from_slice(&entry);
        // No comment, the first disk, no attributes of its own.
        central.extend_from_slice(&[0; 6]);
        let mode = (REGULAR | file.mode.bits()) << 16;
        central.extend_from_slice(&mode.to_le_bytes());
        central.extend_from_slice(&at.to_le_bytes());
        central.extend_from_slice(file.path.as_bytes());
    }
    let (count, at) = (short(sorted.len())?, number(zip.len())?);
    zip.extend_from_slice(&central);
    zip.extend_from_slice(END);
    zip.extend_from_slice(&[0; 4]);
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&number(central.len())?.to_le_bytes());
    zip.extend_from_slice(&at.to_le_bytes());
    zip.extend_from_slice(&[0; 2]);
    Ok(zip)
}

/// What both headers of a file have: from the needed version to the lengths of its name and of nothing.
fn entry(file: &UnpackedFile) -> Result<Vec<u8>, ArchiveError> {
    let size = number(file.bytes.len())?.to_le_bytes();
    let mut entry = Vec::with_capacity(26);
    entry.extend_from_slice(&VERSION.to_le_bytes());
    entry.extend_from_slice(&UTF_8.to_le_bytes());
    // Stored, at midnight.
    entry.extend_from_slice(&[0; 4]);
    entry.extend_from_slice(&DATE.to_le_bytes());
    entry.extend_from_slice(&rawzip::crc32(&file.bytes).to_le_bytes());
    entry.extend_from_slice(&size);
    entry.extend_from_slice(&size);
    entry.extend_from_slice(&short(file.path.len())?.to_le_bytes());
    entry.extend_from_slice(&[0; 2]);
    Ok(entry)
}

/// Refuses what no reader should get; returns the size of all files.
fn check(sorted: &[&UnpackedFile]) -> Result<usize, ArchiveError> {
    if sorted.len() > MOST_FILES {
        return Err(ArchiveError::TooMany);
    }
    let mut size = 0_usize;
    for file in sorted {
        checked(&file.path)?;
        size = size.saturating_add(file.bytes.len());
    }
    if size as u64 > MOST_BYTES {
        return Err(ArchiveError::TooLarge);
    }
    let paths = distinct(sorted.iter().map(|file| &*file.path))?;
    let twins = case_twins(paths);
    if let Some((twin, _)) = twins.first() {
        let path = (*twin).to_owned();
        return Err(ArchiveError::Twice { path });
    }
    Ok(size)
}

fn number(size: usize) -> Result<u32, ArchiveError> {
    u32::try_from(size).map_err(|_| ArchiveError::TooLarge)
}

fn short(size: usize) -> Result<u16, ArchiveError> {
    u16::try_from(size).map_err(|_| ArchiveError::TooMany)
}
