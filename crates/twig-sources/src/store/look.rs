//! A look at how a file begins, before SQLite sees it.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::migrations::APPLICATION;

/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What the beginning of a file says.
pub(super) enum Look {
    /// One of ours, which has seen so many steps.
    Ours { seen: usize },
    /// Not one of ours, and why.
    Foreign(&'static str),
}

/// Looks at how a file begins. To be called only while no connection of this process has it open.
pub(super) fn look(path: &Path, metadata: &Metadata) -> io::Result<Look> {
    if !metadata.is_file() {
        return Ok(Look::Foreign("it is not a file"));
    }
    if metadata.len() == 0 {
        return Ok(Look::Foreign("it is empty"));
    }
    let mut head = Vec::with_capacity(100);
    File::open(path)?.take(100).read_to_end(&mut head)?;
    if !head.starts_with(MAGIC) {
        return Ok(Look::Foreign("it does not begin like one"));
    }
    let number = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_be_bytes)
    };
    if number(68) != APPLICATION {
        return Ok(Look::Foreign("it is a file of another program"));
    }
    Ok(Look::Ours {
        seen: usize::try_from(number(60)).unwrap_or(usize::MAX),
    })
}
