//! The documents of one library: every file beneath a folder, read again only where it changed.
//!
//! Of a file no more is read than its first bytes, for its title. What a client asks for is read
//! when it asks.

mod file;

use std::path::{Path, PathBuf};

use twig_core::document::Document;
use twig_core::parse::documents::{FoundDocument, Layout, documents};
use twig_core::parse::library::Folder;
use twig_core::{Limits, Problem, ProblemCode, RelativePath, Severity};

use self::file::DocumentFile;
use crate::stamp::Seen;
use crate::tree::{Base, FILES, Tree, arrange, look_at_all};

/// The documents as they were last seen, with all that tells which files to look at again.
#[derive(Debug)]
pub(crate) struct DocumentFolder {
    /// Sorted by URI.
    pub(crate) documents: Vec<Document>,
    pub(crate) problems: Vec<Problem>,
    /// Whether the last look brought anything new.
    pub(crate) changed: bool,
    layout: Layout,
    /// Which of the layout's folders holds them; `None` where none is there.
    base: Option<RelativePath>,
    tree: Tree,
    /// In the order of their paths.
    files: Vec<DocumentFile>,
    /// Folders whose entries matter although nothing in them is a document.
    above: Vec<PathBuf>,
}

impl DocumentFolder {
    /// Looks at a library's documents for the first time, or at what changed of them.
    pub(crate) fn load(
        folder: &Folder,
        layout: &Layout,
        limits: &Limits,
        before: Option<Self>,
    ) -> Self {
        let root = Path::new(&*folder.root);
        let is_there = |path: &&RelativePath| Seen::at(&root.join(path.as_str())).is_there();
        let base = layout.folders.iter().find(is_there).cloned();
        let known = before.filter(|before| before.base == base && before.layout == *layout);
        let is_new = known.is_none();
        let mut state = known.unwrap_or_else(|| Self {
            documents: Vec::new(),
            problems: Vec::new(),
            changed: true,
            layout: layout.clone(),
            base,
            tree: Tree::default(),
            files: Vec::new(),
            above: above(root, layout),
        });
        state.changed = is_new;
        if let Some(base) = state.base.take() {
            let at = Base::new(folder, base.as_str());
            state.changed |= state.look(&at, limits);
            if state.changed {
                state.make(&at, &base);
            }
            state.base = Some(base);
        }
        state
    }

    /// The folders to watch.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        self.above.iter().chain(self.tree.folders())
    }

    /// Looks at folders and files; says whether anything differs.
    fn look(&mut self, base: &Base<'_>, limits: &Limits) -> bool {
        let mut changed = false;
        if self.tree.look(base, &|_, _| true) {
            changed = true;
            let listed = self.tree.files(base);
            let listed = listed.map(|(path, entry)| DocumentFile::new(path, entry));
            arrange(&mut self.files, listed.collect());
        }
        changed | look_at_all(&mut self.files, base, |file, base| file.look(base, limits))
    }

    /// Makes documents of what was seen.
    fn make(&mut self, base: &Base<'_>, path: &RelativePath) {
        self.problems = self.tree.problems.clone();
        let found = || self.files.iter().filter_map(DocumentFile::found);
        let many = found().count();
        if many > FILES || self.tree.is_cut {
            self.problems.push(too_many(base));
        }
        let trouble = self.files.iter().filter_map(|file| file.problem(base));
        self.problems.extend(trouble);
        let found: Vec<&FoundDocument> = found().take(FILES).collect();
        let prefix = &self.layout.prefix;
        self.documents = documents(base.folder, prefix, path, found, &mut self.problems);
    }
}

/// The folders above those that may hold documents, below the library's own, which is watched
/// anyway.
fn above(root: &Path, layout: &Layout) -> Vec<PathBuf> {
    let mut above = Vec::new();
    for folder in &layout.folders {
        let mut path = folder.folder();
        while !path.is_empty() {
            above.push(root.join(path));
            path = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
    }
    above
}

fn too_many(base: &Base<'_>) -> Problem {
    let what = format!("has more than {FILES} documents; the rest is left off");
    let help = "split the library in two";
    base.problem(
        ProblemCode::TooManyDocuments,
        Severity::Error,
        "",
        &what,
        help,
    )
}

#[cfg(test)]
mod tests;
