//! One library that was written for another client: files read in place, each again only when it
//! changed. What they say is kept, what they hold is not.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use twig_core::format::{self, Options, Part, Reading};
use twig_core::parse::library::{Folder, empty_library};
use twig_core::{BodyError, Kind, Library, Limits, RelativePath};

use crate::bodies::most;
use crate::reader::{Patience, read_text};
use crate::root::Root;
use crate::text_files::{FILES, list};

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct FormatFolder {
    pub(crate) kind: Kind,
    pub(crate) library: Arc<Library>,
    files: Vec<(RelativePath, Reading)>,
}

impl FormatFolder {
    /// Reads a library for the first time, or what changed of it.
    pub(crate) fn load(
        folder: &Folder,
        kind: Kind,
        options: Options,
        limits: &Limits,
        before: Option<Self>,
    ) -> Self {
        let root = Path::new(&*folder.root);
        let mut state = before.unwrap_or_else(|| Self {
            kind,
            library: Arc::new(empty_library(folder, kind, Vec::new())),
            files: Vec::new(),
        });
        let paths = list(root, "", is_markdown).unwrap_or_default();
        state.files.clear();
        for path in paths {
            if format::part(kind, &path) != Some(Part::Prompt) {
                continue;
            }
            let text = read_text(root, path.as_str(), most(limits), Patience::for_scan(true));
            let text = text.map(|read| read.text);
            let text: Result<&str, &BodyError> = text.as_deref();
            let reading = format::read(kind, folder, &path, text, options, limits);
            state.files.push((path, reading));
        }
        let readings = state.files.iter().map(|(path, reading)| (path, reading));
        let library = format::library(folder, kind, readings, &[], limits);
        if *state.library != library {
            state.library = Arc::new(library);
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
