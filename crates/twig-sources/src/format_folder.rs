//! One library that was written for another client: files read in place, each again only when it
//! changed. What they say is kept, what they hold is not.

mod file;
mod skills;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use twig_clients::format::{self, Bundled, Options};
use twig_core::parse::library::{Folder, empty_library};
use twig_core::{Kind, Library, Limits, Problem, ProblemCode, RelativePath, Severity};

use self::file::{FormatFile, Rules};
use crate::listing::Entry;
use crate::source_files::SourceFiles;
use crate::tree::{Base, LISTED, Tree, arrange, look_at_all};

/// How many bytes of all files of one library are read.
const BYTES: u64 = 256 * 1024 * 1024;

/// A library as it was last read.
#[derive(Debug)]
pub(crate) struct FormatFolder {
    pub(crate) kind: Kind,
    pub(crate) library: Arc<Library>,
    tree: Tree,
    /// In the order of their paths.
    files: Vec<FormatFile>,
    /// The files that its prompts were read from.
    sources: Arc<SourceFiles>,
    /// Files past the limit.
    left_off: usize,
}

impl FormatFolder {
    /// Reads a library for the first time, or what changed of it; not the folders in it that are
    /// libraries themselves (`inner`).
    pub(crate) fn load(
        folder: &Folder,
        kind: Kind,
        options: Options,
        inner: &[PathBuf],
        limits: &Limits,
        before: Option<Self>,
    ) -> Self {
        let is_new = before.is_none();
        let mut state = before.unwrap_or_else(|| Self {
            kind,
            library: Arc::new(empty_library(folder, kind, Vec::new())),
            tree: Tree::default(),
            files: Vec::new(),
            sources: Arc::default(),
            left_off: 0,
        });
        state.tree.without = inner.to_vec();
        let base = Base::new(folder, "");
        let rules = Rules {
            kind,
            options,
            limits,
            read: AtomicU64::new(0),
            is_any_read: AtomicBool::new(false),
            total: BYTES,
        };
        let changed = state.look(&base, &rules);
        if rules.is_any_read.load(Ordering::Relaxed) {
            let prompts = state.files.iter().filter(|file| file.is_prompt());
            state.sources = SourceFiles::new(prompts.map(FormatFile::source));
        }
        if changed || is_new {
            let library = state.make(&base, limits);
            if *state.library != library {
                state.library = Arc::new(library);
            }
        }
        state
    }

    /// The files that its prompts were read from.
    pub(crate) fn sources(&self) -> Arc<SourceFiles> {
        Arc::clone(&self.sources)
    }

    /// How many files it has.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The folders to watch.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        self.tree.folders()
    }

    /// Looks at folders and files; says whether anything differs.
    fn look(&mut self, base: &Base<'_>, rules: &Rules<'_>) -> bool {
        let kind = self.kind;
        // A link may lead to a folder, which its name does not tell.
        let wants = |path: &RelativePath, entry: Entry| {
            entry == Entry::Unsure || format::part(kind, path).is_some()
        };
        let mut changed = false;
        if self.tree.look(base, &wants) {
            changed = true;
            self.arrange(base);
        }
        changed |= look_at_all(&mut self.files, base, |file, base| file.look(base, rules));
        changed | self.share_room(base, rules)
    }

    fn arrange(&mut self, base: &Base<'_>) {
        let listed = self.tree.files(base);
        let listed = listed.map(|(path, entry)| FormatFile::new(base, self.kind, path, entry));
        let mut listed: Vec<FormatFile> = listed.collect();
        if self.kind == Kind::Skills {
            skills::keep(base, &mut listed);
        }
        arrange(&mut self.files, listed);
        self.left_off = self.files.len().saturating_sub(LISTED);
        self.files.truncate(LISTED);
        self.files.shrink_to_fit();
    }

    /// Leaves off what is past the bytes that one library may have, in the order of paths, so that
    /// it is the same each time; says whether anything differs.
    fn share_room(&mut self, base: &Base<'_>, rules: &Rules<'_>) -> bool {
        let mut left = rules.total;
        let mut changed = false;
        for file in &mut self.files {
            changed |= file.fit(base, rules, left);
            left = left.saturating_sub(file.size());
        }
        changed
    }

    fn make(&self, base: &Base<'_>, limits: &Limits) -> Library {
        let readings = self.files.iter().map(FormatFile::reading);
        let bundled = self.files.iter().filter_map(FormatFile::bundled);
        let bundled: Vec<Bundled> = bundled.cloned().collect();
        let mut library = format::library(base.folder, self.kind, readings, &bundled, limits);
        library.problems.extend(self.tree.problems.iter().cloned());
        if self.left_off > 0 || self.tree.is_cut {
            library.problems.push(too_many(base));
        }
        if library.prompts.is_empty() && library.problems.is_empty() {
            library.problems.push(nothing(base, self.kind));
        }
        library
    }
}

fn too_many(base: &Base<'_>) -> Problem {
    let what =
        format!("has more files or folders than are read ({LISTED} files); the rest is left off");
    let help = "split the library in two";
    base.problem(ProblemCode::TooManyFiles, Severity::Error, "", &what, help)
}

fn nothing(base: &Base<'_>, kind: Kind) -> Problem {
    let what = format!(
        "has no file that is read as a prompt of kind `{}`",
        kind.as_str()
    );
    let help = "check the path, or say how to read it with `--kind`";
    base.problem(ProblemCode::NoPrompts, Severity::Note, "", &what, help)
}

#[cfg(test)]
mod tests;
