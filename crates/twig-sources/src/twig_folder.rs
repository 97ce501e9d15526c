//! One library of the kind `twig`: its manifest, and which of the files that it names are there.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::parse::documents::Layout;
use twig_core::parse::library::{Folder, MANIFEST, add_documents, empty_library, twig_layout};
use twig_core::{BodyError, FileRole, FunctionSource, Kind, Library, Limits, Problem};

use crate::document_folder::DocumentFolder;
use crate::listing::{Listed, LookedAt, Looker};
use crate::reader::{Patience, ReadFile, read_text};
use crate::root::Root;
use crate::source_files::SourceFiles;
use crate::stamp::Seen;

/// A library as it was last read, with all that tells whether to read it again.
#[derive(Debug)]
pub(crate) struct TwigFolder {
    pub(crate) library: Arc<Library>,
    /// What is served of the manifest.
    parsed: Parsed,
    /// What the manifest said when it could last be understood.
    good: Option<Parsed>,
    documents: Option<Box<DocumentFolder>>,
    manifest: Seen,
    manifest_digest: u64,
    /// Whether the manifest said anything: one that is empty all of a sudden is being written.
    had_text: bool,
    folders: Vec<Listed>,
    links: Vec<LookedAt>,
}

/// A library without its documents, and where those are.
#[derive(Debug, Clone)]
struct Parsed {
    library: Arc<Library>,
    layout: Option<Layout>,
}

impl TwigFolder {
    /// Reads a library for the first time, or again where it changed; `None` where its manifest
    /// went away meanwhile.
    pub(crate) fn load(
        folder: &Folder,
        limits: &Limits,
        manifest: Seen,
        before: Option<Self>,
    ) -> Option<Self> {
        let root = Path::new(&*folder.root);
        let Some(mut before) = before else {
            let read = read_manifest(root, limits, manifest, Patience::for_scan(false))?;
            return Some(Self::parse(folder, limits, &read, None));
        };
        let files_hold = before.files_hold(root);
        if files_hold && before.manifest.holds(&manifest) {
            return Some(before.look_at_documents(folder, limits, false));
        }
        let patience = Patience::for_scan(before.had_text);
        let read = read_manifest(root, limits, manifest, patience)?;
        if files_hold && read.digest == before.manifest_digest {
            before.manifest = read.seen;
            return Some(before.look_at_documents(folder, limits, false));
        }
        Some(Self::parse(folder, limits, &read, Some(before)))
    }

    fn parse(folder: &Folder, limits: &Limits, read: &Manifest, before: Option<Self>) -> Self {
        let looker = Looker::new(Path::new(&*folder.root));
        let (library, layout) = match &read.text {
            Ok(read) => {
                let (mut library, layout) = twig_layout(folder, &read.text, &looker, limits);
                if library.runs_functions() {
                    let (path, digest) = (MANIFEST, read.digest());
                    library.function_sources = vec![FunctionSource { path, digest }];
                }
                (library, layout)
            }
            Err(error) => {
                let (path, shown) = (folder.path_of(MANIFEST), folder.shown_path_of(MANIFEST));
                let problem = error.problem(FileRole::Manifest, &path, &shown);
                (empty_library(folder, Kind::Twig, vec![problem]), None)
            }
        };
        let is_good = layout.is_some();
        let (folders, links) = looker.into_used();
        let (before, mut good, documents) = match before {
            Some(before) => (Some(before.library), before.good, before.documents),
            None => (None, None, None),
        };
        let parsed = match &good {
            Some(good) if !is_good => Parsed {
                library: Arc::new(keep_good(&good.library, library.problems)),
                layout: good.layout.clone(),
            },
            _ => Parsed {
                library: Arc::new(library),
                layout,
            },
        };
        if is_good {
            good = Some(parsed.clone());
        }
        let state = Self {
            library: before.unwrap_or_else(|| Arc::clone(&parsed.library)),
            parsed,
            good,
            documents,
            manifest: read.seen,
            manifest_digest: read.digest,
            had_text: read.text.as_ref().is_ok_and(|read| !read.text.is_empty()),
            folders,
            links,
        };
        state.look_at_documents(folder, limits, true)
    }

    /// Looks at the documents, and puts the library together where one of its two parts is new.
    fn look_at_documents(mut self, folder: &Folder, limits: &Limits, is_parsed: bool) -> Self {
        let before = self.documents.take();
        let layout = self.parsed.layout.as_ref();
        self.documents = layout.map(|layout| {
            let before = before.map(|before| *before);
            Box::new(DocumentFolder::load(folder, layout, limits, before))
        });
        let is_new = self.documents.as_ref().is_some_and(|found| found.changed);
        if !is_parsed && !is_new {
            return self;
        }
        let library = self.put_together();
        // An equal library stays the same allocation: whoever compares sees at once.
        if *self.library != *library {
            self.library = library;
        }
        self
    }

    fn put_together(&self) -> Arc<Library> {
        let parsed = &self.parsed.library;
        let (Some(layout), Some(found)) = (&self.parsed.layout, &self.documents) else {
            return Arc::clone(parsed);
        };
        if found.documents.is_empty() && found.problems.is_empty() {
            return Arc::clone(parsed);
        }
        let mut library = Library::clone(parsed);
        library.problems.extend(found.problems.iter().cloned());
        add_documents(&mut library, layout, found.documents.clone());
        Arc::new(library)
    }

    /// The file that its prompts were read from.
    pub(crate) fn sources(&self) -> Arc<SourceFiles> {
        SourceFiles::new([(MANIFEST, &self.manifest)])
    }

    /// The folders whose entries matter, besides the library's own.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        let documents = self.documents.iter().flat_map(|found| found.watched());
        self.folders
            .iter()
            .map(|listed| &listed.path)
            .chain(documents)
    }

    fn files_hold(&mut self, root: &Path) -> bool {
        self.folders.iter_mut().all(|listed| listed.holds(root)) && self.links_hold(root)
    }

    fn links_hold(&self, root: &Path) -> bool {
        if self.links.is_empty() {
            return true;
        }
        Root::open(root).is_ok_and(|root| self.links.iter().all(|link| link.holds(&root)))
    }
}

struct Manifest {
    text: Result<ReadFile, BodyError>,
    seen: Seen,
    digest: u64,
}

/// Reads a manifest; `None` where there is none any more.
fn read_manifest(root: &Path, limits: &Limits, seen: Seen, patience: Patience) -> Option<Manifest> {
    let (text, seen) = match read_text(root, MANIFEST, limits.manifest, patience) {
        Ok(read) => {
            let seen = Seen::of(read.stamp);
            (Ok(read), seen)
        }
        // Only a link is there and leads nowhere; a file went away since the folder was looked at.
        Err(BodyError::NotFound) if !root.join(MANIFEST).is_symlink() => return None,
        Err(error) => (Err(error), seen),
    };
    let mut hasher = DefaultHasher::new();
    match &text {
        Ok(read) => (&read.text, read.has_mark).hash(&mut hasher),
        Err(error) => (error.to_string(), 1).hash(&mut hasher),
    }
    Some(Manifest {
        text,
        seen,
        digest: hasher.finish(),
    })
}

/// The last good library with what is wrong now in front of what was wrong then.
fn keep_good(good: &Library, broken: Vec<Problem>) -> Library {
    let mut kept = good.clone();
    let broken = broken.into_iter().map(|problem| {
        let meanwhile = "the prompts of the last good version are served meanwhile";
        let help = match &problem.help {
            Some(help) => format!("{help}; {meanwhile}"),
            None => meanwhile.to_owned(),
        };
        problem.with_help(help)
    });
    kept.problems.splice(0..0, broken);
    kept
}

#[cfg(test)]
mod tests {
    use twig_core::LibraryName;

    use super::*;

    fn load(root: &Path) -> Option<TwigFolder> {
        let folder = Folder {
            name: LibraryName::from_folder("lib").unwrap(),
            root: root.to_str().unwrap().into(),
            shown_root: "~/lib".into(),
            prefix: "lib:".into(),
        };
        TwigFolder::load(&folder, &Limits::default(), Seen::never(), None)
    }

    #[test]
    fn a_manifest_that_just_went_away_leaves_no_library() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load(folder.path()).is_none());
        assert!(load(&folder.path().join("gone")).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_manifest_that_is_a_link_to_nothing_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join(MANIFEST)).unwrap();
        let library = load(folder.path()).unwrap().library;
        let help = library.problems[0].help.as_deref();
        assert_eq!(help, Some("fix or remove it"));
    }
}
