//! The text files directly in one folder of a library, each read again only when it changed.

use std::path::Path;
use std::sync::Arc;

use twig_core::parse::library::Folder;
use twig_core::{BodyError, Problem, ProblemCode, RelativePath, Severity};

use crate::listing::{Listing, is_leftover};
use crate::reader::{Patience, read_text_beneath};
use crate::root::Root;
use crate::source_files::SourceFiles;
use crate::stamp::Seen;

/// How many files of one folder are read, and how many bytes of them all.
pub(crate) const FILES: usize = 5_000;
const BYTES: usize = 50 * 1024 * 1024;

/// Files as they were last read, with all that tells which to read again.
#[derive(Debug)]
pub(crate) struct TextFiles {
    /// Each with its text or why it has none, sorted by path.
    pub(crate) files: Vec<(RelativePath, Result<String, BodyError>)>,
    folder: Seen,
    /// What was seen at each of the files.
    seen: Vec<Seen>,
    /// The same for whoever asks for one file.
    pub(crate) sources: Arc<SourceFiles>,
    /// Files past the limit.
    left_off: usize,
}

impl TextFiles {
    /// Nothing read yet.
    pub(crate) fn new() -> Self {
        Self {
            files: Vec::new(),
            folder: Seen::never(),
            seen: Vec::new(),
            sources: Arc::default(),
            left_off: 0,
        }
    }

    /// Reads what changed in a folder of a library (`""` for its own), of each file at most `most`
    /// bytes; says whether anything differs.
    pub(crate) fn look(
        &mut self,
        root: &Path,
        folder: &str,
        is_wanted: fn(&str) -> bool,
        most: usize,
    ) -> bool {
        let mut changed = false;
        let now = Seen::at(&root.join(folder));
        if !self.folder.holds(&now) {
            match list(root, folder, is_wanted) {
                Ok(mut paths) => {
                    let left_off = paths.len().saturating_sub(FILES);
                    changed |= left_off != self.left_off;
                    self.left_off = left_off;
                    paths.truncate(FILES);
                    changed |= self.arrange(paths);
                    self.folder = now;
                }
                // A folder that is gone has no files.
                Err(BodyError::NotFound) => {
                    changed |= self.arrange(Vec::new());
                    self.folder = now;
                }
                // What was read stays until the folder can be listed again; that it cannot be is
                // a problem of the place.
                Err(_) => self.folder = Seen::never(),
            }
        }
        changed | self.read_changed(root, most, BYTES)
    }

    /// The problem of a folder with more files than are read.
    pub(crate) fn too_many(&self, folder: &Folder, what: &str) -> Option<Problem> {
        if self.left_off == 0 {
            return None;
        }
        let message = format!(
            "{} has more than {FILES} {what}; {} are left off",
            folder.shown_root, self.left_off
        );
        let problem = Problem::of_file(
            ProblemCode::TooManyFiles,
            Severity::Error,
            &folder.root,
            message,
        );
        Some(problem.with_help("split the folder in two"))
    }

    /// Puts the files in a new order; those that were there keep their text. Says whether any came
    /// or went.
    fn arrange(&mut self, paths: Vec<RelativePath>) -> bool {
        if self.files.iter().map(|(path, _)| path).eq(paths.iter()) {
            return false;
        }
        let files = std::mem::take(&mut self.files);
        let seen = std::mem::take(&mut self.seen);
        let mut old = files.into_iter().zip(seen).peekable();
        for path in paths {
            while old.next_if(|((file, _), _)| *file < path).is_some() {}
            let known = old.next_if(|((file, _), _)| *file == path);
            let (file, seen) =
                known.unwrap_or_else(|| ((path, Err(BodyError::NotFound)), Seen::never()));
            self.files.push(file);
            self.seen.push(seen);
        }
        true
    }

    /// Reads the files that changed, of each at most `most` bytes and of all together `total`;
    /// says whether anything differs. Files past the total are left off until there is room.
    fn read_changed(&mut self, root: &Path, most: usize, total: usize) -> bool {
        let mut changed = false;
        let mut is_seen_anew = false;
        let mut left = total;
        let mut opened = None;
        for ((path, text), seen) in self.files.iter_mut().zip(&mut self.seen) {
            let now = Seen::at(&root.join(path.as_str()));
            let size = now.stamp().map_or(0, |stamp| stamp.size);
            let fits = size <= left as u64;
            let no_room = Err(BodyError::NoRoom { limit: total });
            let next = if !fits && size <= most as u64 {
                *seen = now;
                Some(no_room)
            } else if !seen.holds(&now) || *text == no_room {
                let had_text = text.as_ref().is_ok_and(|text| !text.is_empty());
                let patience = Patience::for_scan(had_text);
                let opened = opened.get_or_insert_with(|| Root::open(root));
                let read = match opened {
                    Ok(opened) => read_text_beneath(opened, root, path.as_str(), most, patience),
                    Err(error) => Err(error.clone()),
                };
                *seen = match &read {
                    Ok(read) => Seen::of(read.stamp),
                    Err(_) => now,
                };
                match read {
                    // It grew just now.
                    Ok(read) if read.text.len() > left => Some(no_room),
                    read => Some(read.map(|read| read.text)),
                }
            } else {
                None
            };
            if let Some(next) = next {
                is_seen_anew = true;
                changed |= next != *text;
                *text = next;
            }
            left = left.saturating_sub(text.as_ref().map_or(0, String::len));
        }
        if is_seen_anew {
            let paths = self.files.iter().map(|(path, _)| path.as_str());
            self.sources = SourceFiles::new(paths.zip(&self.seen));
        }
        changed
    }
}

/// The files directly in a folder whose names are wanted, sorted.
pub(crate) fn list(
    root: &Path,
    folder: &str,
    is_wanted: fn(&str) -> bool,
) -> Result<Vec<RelativePath>, BodyError> {
    let listing = Listing::read(&Root::open(root)?, folder)?;
    let names = listing
        .names()
        .filter(|name| !is_leftover(name) && is_wanted(name));
    let paths = names.filter_map(|name| match folder {
        "" => RelativePath::parse(name).ok(),
        folder => RelativePath::parse(&format!("{folder}/{name}")).ok(),
    });
    Ok(paths.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sizes(folder: &TextFiles) -> Vec<Result<usize, BodyError>> {
        let texts = folder.files.iter().map(|(_, text)| text.as_ref());
        texts
            .map(|text| text.map(String::len).map_err(Clone::clone))
            .collect()
    }

    #[test]
    fn files_past_the_total_wait_for_room() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |name: &str, size: usize| fs::write(root.join(name), "x".repeat(size)).unwrap();
        for name in ["a.md", "b.md", "c.md"] {
            write(name, 40);
        }
        write("d.md", 70);
        let mut state = TextFiles::new();
        state.look(root, "", |_| true, 1000);
        let mut check = |changes: bool, expected: [Result<usize, BodyError>; 4]| {
            assert_eq!(state.read_changed(root, 60, 100), changes);
            assert_eq!(sizes(&state), expected);
        };
        let no_room = || Err(BodyError::NoRoom { limit: 100 });
        let too_large = || {
            Err(BodyError::TooLarge {
                size: 70,
                limit: 60,
            })
        };
        write("d.md", 70);
        check(true, [Ok(40), Ok(40), no_room(), too_large()]);
        check(false, [Ok(40), Ok(40), no_room(), too_large()]);
        write("a.md", 10);
        check(true, [Ok(10), Ok(40), Ok(40), too_large()]);
        write("a.md", 30);
        check(true, [Ok(30), Ok(40), no_room(), too_large()]);
        let sentence = no_room().unwrap_err().to_string();
        assert!(sentence.contains("100 bytes"), "{sentence}");
    }
}
