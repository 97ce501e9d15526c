//! The documents of one library: every file beneath a folder, read again only where it changed.
//!
//! Of a file no more is read than its first bytes, for its title. What a client asks for is read
//! when it asks.

mod file;
mod tree;

use std::path::{Path, PathBuf};

use twig_core::document::Document;
use twig_core::parse::documents::{FoundDocument, Layout, documents};
use twig_core::parse::library::Folder;
use twig_core::{BodyError, Limits, Problem, RelativePath, Severity};

use self::file::SeenFile;
use self::tree::Tree;
use crate::root::Root;
use crate::stamp::Seen;

/// This many files that are not known yet are worth the start of threads.
const MANY: usize = 256;
/// How many documents one library may have.
const DOCUMENTS: usize = 5_000;

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
    files: Vec<SeenFile>,
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
            let place = Place::new(folder, &base);
            state.changed |= state.look(&place, limits);
            if state.changed {
                state.make(&place);
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
    fn look(&mut self, place: &Place<'_>, limits: &Limits) -> bool {
        let mut changed = false;
        if self.tree.look(place) {
            changed = true;
            self.arrange(place);
        }
        changed | look_at_all(&mut self.files, place, limits)
    }

    /// Puts files in the order of a new listing; those that were there keep what is known of them.
    fn arrange(&mut self, place: &Place<'_>) {
        let mut listed: Vec<SeenFile> = self.tree.files(place).collect();
        listed.sort_by(|one, two| one.path.cmp(&two.path));
        let mut old = std::mem::take(&mut self.files).into_iter().peekable();
        for file in listed {
            while old.next_if(|old| old.path < file.path).is_some() {}
            let known = old.next_if(|old| old.path == file.path && old.entry == file.entry);
            self.files.push(known.unwrap_or(file));
        }
    }

    /// Makes documents of what was seen.
    fn make(&mut self, place: &Place<'_>) {
        self.problems = self.tree.problems.clone();
        let found = || self.files.iter().filter_map(SeenFile::found);
        let many = found().count();
        if many > DOCUMENTS || self.tree.is_cut {
            self.problems.push(too_many(place));
        }
        let trouble = self.files.iter().filter_map(|file| file.problem(place));
        self.problems.extend(trouble);
        let found: Vec<&FoundDocument> = found().take(DOCUMENTS).collect();
        let prefix = &self.layout.prefix;
        self.documents = documents(place.folder, prefix, place.base, found, &mut self.problems);
    }
}

/// Looks at files, at many new ones with all processors together; says whether any differs.
fn look_at_all(files: &mut [SeenFile], place: &Place<'_>, limits: &Limits) -> bool {
    let look = |place: &Place<'_>, files: &mut [SeenFile]| {
        let looked = files.iter_mut().map(|file| file.look(place, limits));
        looked.fold(false, |changed, differs| changed | differs)
    };
    let new = files.iter().filter(|file| file.is_new()).count();
    let threads = match new {
        0..MANY => 1,
        _ => std::thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
    };
    if threads == 1 {
        return look(place, files);
    }
    let part = files.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let parts = files.chunks_mut(part);
        let helpers = parts.map(|part| {
            let (folder, base) = (place.folder, place.base);
            let work = move || look(&Place::new(folder, base), part);
            std::thread::Builder::new().spawn_scoped(scope, work)
        });
        let helpers: Vec<_> = helpers.collect();
        // Where one could not start or broke off, its files are as new as before: the next look,
        // seconds later, takes them in.
        let looked = helpers
            .into_iter()
            .map(|helper| helper.is_ok_and(|helper| helper.join().unwrap_or(true)));
        looked.fold(false, |changed, differs| changed | differs)
    })
}

/// The folder in which documents are, opened when something has to be read.
struct Place<'p> {
    folder: &'p Folder,
    base: &'p RelativePath,
    path: PathBuf,
    opened: std::cell::OnceCell<Result<Root, BodyError>>,
}

impl<'p> Place<'p> {
    fn new(folder: &'p Folder, base: &'p RelativePath) -> Self {
        Self {
            path: Path::new(&*folder.root).join(base.as_str()),
            folder,
            base,
            opened: std::cell::OnceCell::new(),
        }
    }

    /// The folder itself: nothing that is opened through it leads out of it.
    fn root(&self) -> Result<&Root, BodyError> {
        let open = || Root::open(Path::new(&*self.folder.root))?.inside(self.base.as_str());
        self.opened.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// A path beneath it, from the library's folder.
    fn path_of(&self, below: &str) -> String {
        if below.is_empty() {
            return self.base.to_string();
        }
        format!("{}/{below}", self.base)
    }

    fn problem(
        &self,
        code: &'static str,
        severity: Severity,
        below: &str,
        what: &str,
        help: &str,
    ) -> Problem {
        let path = self.path_of(below);
        let message = format!("{}/{path} {what}", self.folder.shown_root);
        let path = format!("{}/{path}", self.folder.root);
        Problem::of_file(code, severity, &path, message).with_help(help)
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

fn too_many(place: &Place<'_>) -> Problem {
    let what = format!("has more than {DOCUMENTS} documents; the rest is left off");
    let help = "split the library in two";
    place.problem("too-many-documents", Severity::Error, "", &what, help)
}

#[cfg(test)]
mod tests;
