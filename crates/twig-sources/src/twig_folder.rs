//! One library of the kind `twig`: its manifest, and which of the files that it names are there.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::parse::library::{Folder, MANIFEST, empty_library, twig_library};
use twig_core::{BodyError, Kind, Library, Limits, Problem, Severity};

use crate::listing::{Listed, LookedAt, Looker};
use crate::reader::{Patience, read_text};
use crate::root::Root;
use crate::stamp::Seen;

/// A library as it was last read, with all that tells whether to read it again.
#[derive(Debug)]
pub(crate) struct TwigFolder {
    pub(crate) library: Arc<Library>,
    /// The library when its manifest could last be understood.
    good: Option<Arc<Library>>,
    manifest: Seen,
    manifest_digest: u64,
    folders: Vec<Listed>,
    links: Vec<LookedAt>,
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
            return Some(before);
        }
        let patience = Patience::for_scan(!before.library.prompts.is_empty());
        let read = read_manifest(root, limits, manifest, patience)?;
        if files_hold && read.digest == before.manifest_digest {
            before.manifest = read.seen;
            return Some(before);
        }
        Some(Self::parse(folder, limits, &read, Some(&before)))
    }

    fn parse(folder: &Folder, limits: &Limits, read: &Manifest, before: Option<&Self>) -> Self {
        let looker = Looker::new(Path::new(&*folder.root));
        let (library, is_good) = match &read.text {
            Ok(text) => {
                let library = twig_library(folder, text, &looker, limits);
                let is_good = !is_broken(&library);
                (library, is_good)
            }
            Err(error) => {
                let problem = manifest_problem(folder, error);
                (empty_library(folder, Kind::Twig, vec![problem]), false)
            }
        };
        let (folders, links) = looker.into_used();
        let good = before.and_then(|before| before.good.clone());
        let library = match &good {
            Some(good) if !is_good => keep_good(good, library.problems),
            _ => library,
        };
        // An equal library stays the same allocation: whoever compares sees at once.
        let library = match before {
            Some(before) if *before.library == library => Arc::clone(&before.library),
            _ => Arc::new(library),
        };
        let good = if is_good {
            Some(Arc::clone(&library))
        } else {
            good
        };
        Self {
            library,
            good,
            manifest: read.seen,
            manifest_digest: read.digest,
            folders,
            links,
        }
    }

    /// The folders whose entries matter, besides the library's own.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().map(|listed| &listed.path)
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
    text: Result<String, BodyError>,
    seen: Seen,
    digest: u64,
}

/// Reads a manifest; `None` where there is none any more.
fn read_manifest(root: &Path, limits: &Limits, seen: Seen, patience: Patience) -> Option<Manifest> {
    let (text, seen) = match read_text(root, MANIFEST, limits.manifest, patience) {
        Ok(read) => (Ok(read.text), Seen::of(read.stamp)),
        // Only a link is there and leads nowhere; a file went away since the folder was looked at.
        Err(BodyError::NotFound) if !root.join(MANIFEST).is_symlink() => return None,
        Err(error) => (Err(error), seen),
    };
    let mut hasher = DefaultHasher::new();
    match &text {
        Ok(text) => text.hash(&mut hasher),
        Err(error) => (error.to_string(), 1).hash(&mut hasher),
    }
    Some(Manifest {
        text,
        seen,
        digest: hasher.finish(),
    })
}

fn is_broken(library: &Library) -> bool {
    let syntax = |problem: &Problem| problem.code == "manifest-syntax";
    library.prompts.is_empty() && library.problems.iter().any(syntax)
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

fn manifest_problem(folder: &Folder, error: &BodyError) -> Problem {
    let (code, help) = match error {
        BodyError::NotFound => ("missing-file", "the link leads nowhere: mend or remove it"),
        BodyError::Outside => ("outside-library", "copy the file into the library"),
        BodyError::NotAFile(_) => ("not-a-file", "put a regular text file there"),
        BodyError::TooLarge { .. } => ("too-large", "split the library in two"),
        BodyError::NotUtf8 { .. } => ("not-utf8", "save the file as UTF-8"),
        BodyError::Utf16 => ("not-utf8", "save it as UTF-8"),
        BodyError::Loop => ("link-loop", "replace the link with a file"),
        BodyError::Binary { .. } => ("binary-file", "manifests are text; remove the NUL bytes"),
        _ => ("unreadable-file", "check the file's permissions"),
    };
    let path = format!("{}/{MANIFEST}", folder.root);
    let message = format!("{}/{MANIFEST} {error}", folder.shown_root);
    Problem::of_file(code, Severity::Error, &path, message).with_help(help)
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
            separator: ":".into(),
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
        assert_eq!(help, Some("the link leads nowhere: mend or remove it"));
    }
}
