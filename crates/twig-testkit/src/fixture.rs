//! Trees of files written as one text.

use std::fs;
use std::path::Path;

/// The files of a fixture, in its order: their paths and texts.
///
/// A line `//- path/to/file` starts a file; the lines up to the next one are its text.
pub fn fixture_files(fixture: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        match (line.strip_prefix("//- "), files.last_mut()) {
            (Some(path), _) => files.push((path.trim(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => assert!(line.trim().is_empty(), "a fixture starts with `//- path`"),
        }
    }
    files
}

/// Writes the files of a fixture below a folder.
pub fn write_fixture(root: &Path, fixture: &str) {
    for (path, text) in fixture_files(fixture) {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the test's own folder is writable");
        }
        fs::write(path, text).expect("the test's own folder is writable");
    }
}
