//! Files and folders that a typed path may mean.

use std::fs;

use super::Suggestion;
use crate::places;

/// The maximum number of entries of one folder that are looked at.
const MOST: usize = 10_000;

/// The paths that begin like this one, each after what was typed before it; a folder ends with `/`.
pub(super) fn suggest(before: &str, typed: &str) -> Vec<Suggestion> {
    let (folder, start) = match typed.rfind('/') {
        Some(at) => typed.split_at(at + 1),
        None => ("", typed),
    };
    let read = if folder.is_empty() { "./" } else { folder };
    let Ok(entries) = fs::read_dir(places::expanded(read)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries.flatten().take(MOST) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(start)) else {
            continue;
        };
        // A file that is hidden is one that people name.
        if name.starts_with('.') && !start.starts_with('.') {
            continue;
        }
        let end = if entry.path().is_dir() { "/" } else { "" };
        found.push(Suggestion::new(format!("{before}{folder}{name}{end}"), ""));
    }
    found.sort();
    found
}
