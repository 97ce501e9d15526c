//! One library of the kind `functions`: `prompts.json` and `prompts.bash`.

use std::path::Path;
use std::sync::Arc;

use twig_core::parse::functions::{FunctionFiles, LIST, SCRIPT};
use twig_core::parse::library::{Folder, empty_library, functions_library};
use twig_core::{BodyError, FileRole, FunctionSource, Kind, Library, Limits};

use crate::bodies::most;
use crate::reader::{Patience, ReadFile, read_text};
use crate::source_files::SourceFiles;
use crate::stamp::{Seen, is_absence};

/// A library as it was last read, with all that tells whether to read it again.
#[derive(Debug)]
pub(crate) struct FunctionsFolder {
    pub(crate) library: Arc<Library>,
    list: Part,
    script: Part,
}

/// One of its two files.
#[derive(Debug)]
struct Part {
    text: Result<String, BodyError>,
    /// SHA-256 of the file, where it has a text.
    digest: Option<[u8; 32]>,
    seen: Seen,
}

impl Part {
    fn new() -> Self {
        Self {
            text: Err(BodyError::NotFound),
            digest: None,
            seen: Seen::never(),
        }
    }

    /// Reads the file if it changed; says whether anything differs.
    fn look(&mut self, root: &Path, name: &str, limit: usize) -> bool {
        let now = Seen::at(&root.join(name));
        if self.seen.holds(&now) {
            return false;
        }
        let had_text = self.text.as_ref().is_ok_and(|text| !text.is_empty());
        let read = read_text(root, name, limit, Patience::for_scan(had_text));
        self.seen = match &read {
            Ok(read) => Seen::of(read.stamp),
            Err(_) => now,
        };
        let digest = read.as_ref().ok().map(ReadFile::digest);
        let text = read.map(|read| read.text);
        let changed = text != self.text || digest != self.digest;
        (self.text, self.digest) = (text, digest);
        changed
    }

    fn source(&self, path: &'static str) -> Option<FunctionSource> {
        self.digest.map(|digest| FunctionSource { path, digest })
    }
}

impl FunctionsFolder {
    /// The file that its prompts were read from.
    pub(crate) fn sources(&self) -> Arc<SourceFiles> {
        SourceFiles::new([(LIST, &self.list.seen)])
    }

    /// Reads a library for the first time, or what changed of it.
    pub(crate) fn load(
        folder: &Folder,
        limits: &Limits,
        prefix: &str,
        before: Option<Self>,
    ) -> Self {
        let root = Path::new(&*folder.root);
        let is_first = before.is_none();
        let mut state = before.unwrap_or_else(|| Self {
            library: Arc::new(empty_library(folder, Kind::Functions, Vec::new())),
            list: Part::new(),
            script: Part::new(),
        });
        let list_changed = state.list.look(root, LIST, limits.manifest);
        let script_changed = state.script.look(root, SCRIPT, most(limits));
        if !(is_first || list_changed || script_changed) {
            return state;
        }
        let library = match &state.list.text {
            Ok(list) => {
                let files = FunctionFiles {
                    list,
                    script: &state.script.text,
                    prefix,
                };
                let mut library = functions_library(folder, &files, limits);
                let sources = [state.list.source(LIST), state.script.source(SCRIPT)];
                library.function_sources = sources.into_iter().flatten().collect();
                library
            }
            Err(error) => {
                let (path, shown) = (folder.path_of(LIST), folder.shown_path_of(LIST));
                let problem = error.problem(FileRole::Functions, &path, &shown);
                empty_library(folder, Kind::Functions, vec![problem])
            }
        };
        let is_broken = library.prompts.is_empty() && !library.problems.is_empty();
        if is_broken && !state.library.prompts.is_empty() {
            // The prompts of the last good list stay until there is another one.
            let mut kept = Library::clone(&state.library);
            kept.problems = library.problems;
            state.library = Arc::new(kept);
        } else if is_first || *state.library != library {
            state.library = Arc::new(library);
        }
        state
    }
}

/// Whether a folder has both files of such a library; of one that was such a library, either is
/// enough, since some editors move the old file away before they write the new one.
pub(crate) fn has_functions(root: &Path, was_one: bool) -> bool {
    let is_there = |name: &str| match root.join(name).symlink_metadata() {
        Ok(_) => true,
        Err(error) => was_one && !is_absence(&error),
    };
    let files = [LIST, SCRIPT];
    if was_one {
        files.into_iter().any(is_there)
    } else {
        files.into_iter().all(is_there)
    }
}
