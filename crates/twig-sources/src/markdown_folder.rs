//! One library of the kind `markdown`: the `*.md` files directly in a folder.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use twig_core::parse::library::{Folder, empty_library, markdown_library};
use twig_core::{Kind, Library, Limits};

use crate::bodies::most;
use crate::root::Root;
use crate::text_files::{FILES, TextFiles, list};

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct MarkdownFolder {
    pub(crate) library: Arc<Library>,
    files: TextFiles,
}

impl MarkdownFolder {
    /// Reads a library for the first time, or what changed of it.
    pub(crate) fn load(folder: &Folder, limits: &Limits, before: Option<Self>) -> Self {
        let is_first = before.is_none();
        let mut state = before.unwrap_or_else(|| Self {
            library: Arc::new(empty_library(folder, Kind::Markdown, Vec::new())),
            files: TextFiles::new(),
        });
        let root = Path::new(&*folder.root);
        let changed = state.files.look(root, "", is_markdown, most(limits));
        if changed || is_first {
            let mut library = markdown_library(folder, &state.files.files, limits);
            let too_many = state.files.too_many(folder, "Markdown files");
            library.problems.extend(too_many);
            if is_first || *state.library != library {
                state.library = Arc::new(library);
            }
        }
        state
    }
}

/// Whether a folder has a Markdown file with front matter directly in it.
pub(crate) fn has_front_matter(root: &Path) -> bool {
    let Ok(folder) = Root::open(root) else {
        return false;
    };
    let paths = list(root, "", is_markdown).unwrap_or_default();
    paths.iter().take(FILES).any(|path| {
        let mut head = Vec::new();
        folder.open_file(path.as_str()).is_ok_and(|file| {
            let read = file.take(8).read_to_end(&mut head);
            let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
            read.is_ok() && (head.starts_with(b"---\n") || head.starts_with(b"---\r\n"))
        })
    })
}

/// Whether a name is a Markdown file's.
pub(crate) fn is_markdown(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}
