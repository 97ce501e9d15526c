//! A copy of a file as it was before it became one of a newer version.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

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

/// The copies that are kept of a file, also halves of them.
pub(super) fn kept(path: &Path) -> Vec<PathBuf> {
    let first = with_end(path, ".v");
    let (Some(folder), Some(first)) = (path.parent(), first.file_name()) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&*first.to_string_lossy());
        rest.is_some_and(|rest| {
            let version = rest.trim_end_matches(".new").strip_suffix(".bak");
            version.is_some_and(|version| version.parse::<u32>().is_ok())
        })
    };
    entries.map(|entry| entry.path()).filter(is_copy).collect()
}
