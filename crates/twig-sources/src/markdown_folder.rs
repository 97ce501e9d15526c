//! One library of the kind `markdown`: the `*.md` files directly in a folder.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use twig_core::parse::library::{Folder, empty_library, markdown_library};
use twig_core::{BodyError, Kind, Library, Limits, Problem, RelativePath, Severity};

use crate::bodies::most;
use crate::listing::{Listing, is_leftover};
use crate::reader::{Patience, read_text};
use crate::root::Root;
use crate::stamp::Seen;

/// How many files of one folder are read, and how many bytes of them all.
const FILES: usize = 5_000;
const BYTES: usize = 50 * 1024 * 1024;

/// A library as it was last read, with all that tells which files to read again.
#[derive(Debug)]
pub(crate) struct MarkdownFolder {
    pub(crate) library: Arc<Library>,
    folder: Seen,
    files: Vec<(RelativePath, Result<String, BodyError>)>,
    /// What was seen at each of the files.
    seen: Vec<Seen>,
    /// Files past the limit.
    left_off: usize,
}

impl MarkdownFolder {
    /// Reads a library for the first time, or what changed of it.
    pub(crate) fn load(folder: &Folder, limits: &Limits, before: Option<Self>) -> Self {
        let root = Path::new(&*folder.root);
        let now = Seen::at(root);
        let is_first = before.is_none();
        let mut state = before.unwrap_or_else(|| Self {
            library: Arc::new(empty_library(folder, Kind::Markdown, Vec::new())),
            folder: Seen::never(),
            files: Vec::new(),
            seen: Vec::new(),
            left_off: 0,
        });
        let mut changed = is_first;
        if !state.folder.holds(&now) {
            match markdown_files(root) {
                Ok(mut paths) => {
                    let left_off = paths.len().saturating_sub(FILES);
                    changed |= left_off != state.left_off;
                    state.left_off = left_off;
                    paths.truncate(FILES);
                    changed |= state.arrange(paths);
                    state.folder = now;
                }
                // What was read stays until the folder can be listed again; that it cannot be is
                // a problem of the place.
                Err(_) => state.folder = Seen::never(),
            }
        }
        changed |= state.read_changed(root, most(limits), BYTES);
        if changed {
            let mut library = markdown_library(folder, &state.files, limits);
            if state.left_off > 0 {
                library.problems.push(too_many(folder, state.left_off));
            }
            if is_first || *state.library != library {
                state.library = Arc::new(library);
            }
        }
        state
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
        let mut left = total;
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
                let read = read_text(root, path.as_str(), most, Patience::for_scan(had_text));
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
                changed |= next != *text;
                *text = next;
            }
            left = left.saturating_sub(text.as_ref().map_or(0, String::len));
        }
        changed
    }
}

/// Whether a folder has a Markdown file with front matter directly in it.
pub(crate) fn has_front_matter(root: &Path) -> bool {
    let Ok(folder) = Root::open(root) else {
        return false;
    };
    let paths = markdown_files(root).unwrap_or_default();
    paths.iter().take(FILES).any(|path| {
        let mut head = Vec::new();
        folder.open_file(path.as_str()).is_ok_and(|file| {
            let read = file.take(8).read_to_end(&mut head);
            let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
            read.is_ok() && (head.starts_with(b"---\n") || head.starts_with(b"---\r\n"))
        })
    })
}

/// The Markdown files directly in a folder, sorted.
fn markdown_files(root: &Path) -> Result<Vec<RelativePath>, BodyError> {
    let listing = Listing::read(&Root::open(root)?, "")?;
    let names = listing
        .names()
        .filter(|name| !is_leftover(name) && is_markdown(name));
    Ok(names
        .filter_map(|name| RelativePath::parse(name).ok())
        .collect())
}

/// Whether a name is a Markdown file's.
pub(crate) fn is_markdown(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}

fn too_many(folder: &Folder, left_off: usize) -> Problem {
    let message = format!(
        "{} has more than {FILES} Markdown files; {left_off} are left off",
        folder.shown_root
    );
    Problem::of_file("too-many-files", Severity::Error, &folder.root, message)
        .with_help("split the folder in two")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sizes(folder: &MarkdownFolder) -> Vec<Result<usize, BodyError>> {
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
        let folder = Folder {
            name: twig_core::LibraryName::from_folder("lib").unwrap(),
            root: root.to_str().unwrap().into(),
            shown_root: "~/lib".into(),
            separator: ":".into(),
        };
        let mut state = MarkdownFolder::load(&folder, &Limits::default(), None);
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
