//! Trees of files written as one text.

use std::fs;
use std::path::Path;

/// Writes files below a folder.
///
/// A line `//- path/to/file` starts a file; the lines up to the next one are its text.
pub fn write_fixture(root: &Path, fixture: &str) {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        match (line.strip_prefix("//- "), files.last_mut()) {
            (Some(path), _) => files.push((path.trim(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => assert!(line.trim().is_empty(), "a fixture starts with `//- path`"),
        }
    }
    for (path, text) in files {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the test's own folder is writable");
        }
        fs::write(path, text).expect("the test's own folder is writable");
    }
}
