//! Trust: the libraries whose programs the user has reviewed and allows to run.
//!
//! The record holds a digest of each file of a library that may be code. A library runs programs
//! only while its files match the record.

mod grants;
pub(crate) mod guard;
mod own;
mod survey;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_core::Library;

pub use self::grants::{LibraryGrants, RecordedGrants, asked_grants, covers, expanded, real_path};
pub use self::own::why_not_own;
pub(crate) use self::survey::is_data;
use self::survey::written;
pub use self::survey::{CodeFiles, LibrarySurvey, examine, program, survey};
pub use self::texts::TrustedTexts;
use crate::locked_file::{LockError, LockedFile};
use crate::write_file::NewFile;

/// The trusted libraries, by the real path of their folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    #[serde(default)]
    libraries: BTreeMap<String, CodeFiles>,
    /// What their functions were granted. A record of a Twig that knew no grants has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    grants: BTreeMap<String, LibraryGrants>,
    /// Those that are the user's own: they stay trusted when the user edits them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    own: BTreeSet<String>,
}

/// Whether a library may run its programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustVerdict {
    /// It may: every file is as it was when it was trusted.
    Trusted,
    /// The user has not trusted it yet.
    New,
    /// These files were added, removed or changed since it was trusted.
    Changed(Vec<String>),
    /// It asks for these grants, which it was not given.
    Asks(Vec<String>),
    /// It was trusted as the user's own, which it cannot be: why.
    NotOwn(String),
    /// Its files cannot be read: why.
    Unreadable(String),
}

impl Trust {
    /// Reads the record. A missing file counts as empty; one that cannot be parsed is an error, and
    /// then nothing is trusted.
    pub fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Compares a library's files with the trusted ones.
    pub fn verdict(&self, root: &Path, files: &CodeFiles) -> TrustVerdict {
        match self.files(root) {
            None => TrustVerdict::New,
            Some(trusted) if trusted == files => TrustVerdict::Trusted,
            Some(trusted) => {
                let mut changed: Vec<String> = files
                    .iter()
                    .filter(|(path, digest)| trusted.get(*path) != Some(digest))
                    .map(|(path, _)| path.clone())
                    .collect();
                let gone = trusted.keys().filter(|path| !files.contains_key(*path));
                changed.extend(gone.cloned());
                changed.sort_unstable();
                TrustVerdict::Changed(changed)
            }
        }
    }

    /// Whether a library may run its programs: its files are the trusted ones, or the user's own,
    /// its functions were read from them, and they ask for nothing that was not granted.
    pub fn library_verdict(
        &self,
        library: &Library,
        survey: &LibrarySurvey,
        data: Option<&Path>,
    ) -> TrustVerdict {
        let root = Path::new(&*library.root);
        let verdict = if self.is_own(root) {
            match why_not_own(root, data, survey) {
                Some(why) => TrustVerdict::NotOwn(why),
                None => TrustVerdict::Trusted,
            }
        } else {
            self.verdict(root, &survey.files)
        };
        if verdict != TrustVerdict::Trusted {
            return verdict;
        }
        // The files may be the trusted ones again, while the library was read just before, from
        // other files.
        if let Err(changed) = were_read_from(&function_sources(library), &survey.files) {
            return TrustVerdict::Changed(changed);
        }
        let missing = grants::missing(library, &self.granted(root));
        if missing.is_empty() {
            TrustVerdict::Trusted
        } else {
            TrustVerdict::Asks(missing)
        }
    }

    /// What a library's functions were granted.
    pub fn granted(&self, root: &Path) -> LibraryGrants {
        let granted = key(root).and_then(|key| self.grants.get(&key));
        granted.cloned().unwrap_or_default()
    }

    /// Grants this to the functions of a trusted library.
    pub fn grant(&mut self, root: &Path, grants: LibraryGrants) {
        if let Some(key) = key(root).filter(|_| !grants.is_empty()) {
            self.grants.insert(key, grants);
        }
    }

    /// Keeps a trusted library trusted when the user edits it.
    pub fn keep_as_own(&mut self, root: &Path) {
        self.own.extend(key(root));
    }

    /// Whether a library is trusted as the user's own.
    pub fn is_own(&self, root: &Path) -> bool {
        key(root).is_some_and(|key| self.own.contains(&key))
    }

    /// The folders of the libraries that are trusted as the user's own.
    pub fn own_libraries(&self) -> impl Iterator<Item = &str> {
        self.own.iter().map(String::as_str)
    }

    /// The folders of all trusted libraries.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.libraries.keys().map(String::as_str)
    }

    /// The files of all libraries as they were trusted.
    pub fn all_files(&self) -> impl Iterator<Item = &CodeFiles> {
        self.libraries.values()
    }

    /// The files of a library as they were trusted.
    pub fn files(&self, root: &Path) -> Option<&CodeFiles> {
        self.libraries.get(&key(root)?)
    }

    /// Trusts a library with these files and without grants, in place of its previous record.
    pub fn trust(&mut self, root: &Path, files: CodeFiles) -> io::Result<()> {
        let key = key(root).ok_or_else(|| io::Error::other("its path is not UTF-8"))?;
        self.grants.remove(&key);
        self.own.remove(&key);
        self.libraries.insert(key, files);
        Ok(())
    }

    /// Removes a library from the record; returns whether it was trusted.
    pub fn forget(&mut self, root: &Path) -> bool {
        key(root).is_some_and(|key| {
            self.grants.remove(&key);
            self.own.remove(&key);
            self.libraries.remove(&key).is_some()
        })
    }

    /// Reads the record, changes it and writes it, while no other command does the same.
    pub fn change<R>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> io::Result<R>,
    ) -> Result<R, LockError> {
        let file = LockedFile::open(path)?;
        let before = file.read()?;
        let recorded = before.as_deref().map(serde_json::from_slice::<Self>);
        let recorded = recorded.transpose().map_err(io::Error::from)?;
        let mut trust = recorded.clone().unwrap_or_default();
        let result = change(&mut trust)?;
        if trust != recorded.unwrap_or_default() {
            let mut text = serde_json::to_vec_pretty(&trust).map_err(io::Error::from)?;
            text.push(b'\n');
            file.replace(before.as_deref(), &text, NewFile::PRIVATE)?;
        }
        Ok(result)
    }
}

/// The files that a library's functions were read from, in the form of [`survey`].
pub fn function_sources(library: &Library) -> CodeFiles {
    let sources = library.function_sources.iter();
    sources
        .map(|source| (source.path.to_owned(), written(&source.digest)))
        .collect()
}

/// Whether functions were read from these very files; the error names those that differ.
///
/// Functions without source files were not read from the trusted files either.
pub fn were_read_from(sources: &CodeFiles, files: &CodeFiles) -> Result<(), Vec<String>> {
    // The entry of a symlink ends with the digest of its target.
    let is_there = |path: &str, digest: &str| {
        let known = files.get(path);
        known.is_some_and(|known| known.ends_with(digest))
    };
    let differ = sources.iter().filter(|(path, at)| !is_there(path, at));
    let differ: Vec<String> = differ.map(|(path, _)| path.clone()).collect();
    if sources.is_empty() || !differ.is_empty() {
        return Err(differ);
    }
    Ok(())
}

/// A library is identified by the real path of its folder.
fn key(root: &Path) -> Option<String> {
    let real: PathBuf = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    real.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> CodeFiles {
        let pair = |(path, digest): &(&str, &str)| ((*path).to_owned(), (*digest).to_owned());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_change_of_any_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let mut trust = Trust::default();
        let seen = files(&[("bin/a", "1"), ("twig.toml", "2")]);
        assert_eq!(trust.verdict(root.path(), &seen), TrustVerdict::New);
        trust.trust(root.path(), seen.clone()).unwrap();
        assert_eq!(trust.verdict(root.path(), &seen), TrustVerdict::Trusted);
        let now = files(&[("bin/b", "3"), ("twig.toml", "9")]);
        let changed = ["bin/a", "bin/b", "twig.toml"].map(str::to_owned).to_vec();
        assert_eq!(
            trust.verdict(root.path(), &now),
            TrustVerdict::Changed(changed)
        );
        assert!(trust.forget(root.path()) && !trust.forget(root.path()));
    }

    #[test]
    fn what_was_written_is_read_and_is_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/trust.json");
        assert_eq!(Trust::read(&path).unwrap(), Trust::default());
        let root = folder.path();
        let add = |trust: &mut Trust| trust.trust(root, files(&[("a", "1")]));
        Trust::change(&path, add).unwrap();
        let mut trust = Trust::default();
        add(&mut trust).unwrap();
        assert_eq!(Trust::read(&path).unwrap(), trust);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let left = fs::read_dir(folder.path().join("new")).unwrap().count();
        assert_eq!(left, 1, "no temporary file stays");
        fs::write(&path, "{").unwrap();
        assert!(Trust::read(&path).is_err());
        assert!(Trust::change(&path, add).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{");
    }
}
