//! A copy of a file as it was before it became one of a newer version.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use rusqlite::Connection;
use twig_core::store::StoreError;

use super::fault::Fault;
use super::lock::private;
use super::open::with_end;
use crate::root::sentence;

/// Keeps `NAME.db.v1.bak` beside a file of version 1.
pub(super) fn keep(connection: &Connection, path: &Path, version: usize) -> Result<(), Fault> {
    let kept = with_end(path, &format!(".v{version}.bak"));
    let new = with_end(&kept, ".new");
    let failed = |error: io::Error| StoreError::File {
        sentence: format!(
            "The workspace's file could not be copied before it is brought up to date: {}",
            sentence(&error)
        ),
        path: kept.clone(),
    };
    // What an earlier try left behind is only half a copy.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(failed(error).into());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    options.open(&new).map_err(failed)?;
    let to = new
        .to_str()
        .ok_or_else(|| failed(io::Error::other("the path is not UTF-8")))?;
    connection.execute("VACUUM INTO ?1", [to])?;
    fs::rename(&new, &kept).map_err(failed)?;
    Ok(())
}
