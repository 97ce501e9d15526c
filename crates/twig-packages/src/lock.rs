//! `twig.lock`: which commit and which files each library is.
//!
//! The file is sorted and holds no times, tool versions, machine paths or credentials, so that two
//! branches that each add a library merge without a conflict.

use std::fmt::Write as _;

use twig_core::parse::{Table, TomlValue, read_toml};
use twig_core::problem::locate;
use twig_core::{LibraryName, RelativePath};

use crate::source::{PackageSource, is_commit, is_reference};
use crate::tree::TreeDigest;

/// The file's name.
pub const LOCK_FILE: &str = "twig.lock";

/// The version of the format that this program writes.
const VERSION: i64 = 1;

/// The most libraries that a lock may have.
const MOST: usize = 10_000;

/// The content of a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageLock {
    /// Sorted by name, each name once.
    libraries: Vec<LockedLibrary>,
}

/// One library of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedLibrary {
    /// Its name, as in the configuration.
    pub name: LibraryName,
    /// Where it comes from.
    pub source: PackageSource,
    /// The branch, tag or commit that was asked for; `None` for an index.
    pub reference: Option<String>,
    /// The folder in the repository.
    pub path: Option<RelativePath>,
    /// The commit; `None` for an index.
    pub commit: Option<String>,
    /// The digest over its files.
    pub tree: TreeDigest,
    /// How many files it has.
    pub files: u64,
    /// Its licence, as declared.
    pub license: Option<String>,
    /// The fingerprint of the key with which its signatures were verified.
    pub signed_by: Option<String>,
}

/// Why a text is no lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageLockError {
    /// git could not merge two branches.
    #[error("line {line}: git left a merge conflict here")]
    Conflict {
        /// The line of the first marker.
        line: u32,
    },
    /// A later Twig wrote it.
    #[error("it has version {version} of the format, and this Twig knows version 1: update Twig")]
    Newer {
        /// Its version.
        version: i64,
    },
    /// Anything else.
    #[error("line {line}: {message}")]
    Wrong {
        /// The line.
        line: u32,
        /// What is wrong with it.
        message: String,
    },
}

impl PackageLock {
    /// The libraries, sorted by name.
    pub fn libraries(&self) -> &[LockedLibrary] {
        &self.libraries
    }

    /// The library with this name.
    pub fn library(&self, name: &LibraryName) -> Option<&LockedLibrary> {
        let found = self.libraries.binary_search_by(|it| it.name.cmp(name));
        found.ok().map(|at| &self.libraries[at])
    }

    /// Adds a library, or replaces the one with its name.
    pub fn insert(&mut self, library: LockedLibrary) {
        match self
            .libraries
            .binary_search_by(|it| it.name.cmp(&library.name))
        {
            Ok(at) => self.libraries[at] = library,
            Err(at) => self.libraries.insert(at, library),
        }
    }

    /// Removes a library.
    pub fn remove(&mut self, name: &LibraryName) -> Option<LockedLibrary> {
        let found = self.libraries.binary_search_by(|it| it.name.cmp(name));
        found.ok().map(|at| self.libraries.remove(at))
    }

    /// Keeps some libraries.
    pub fn retain(&mut self, is_kept: impl FnMut(&LockedLibrary) -> bool) {
        self.libraries.retain(is_kept);
    }

    /// Reads the text of a lock; an empty one locks nothing.
    pub fn parse(text: &str) -> Result<Self, PackageLockError> {
        if let Some(line) = conflict_line(text) {
            return Err(PackageLockError::Conflict { line });
        }
        let at = |span: usize| locate(text, span..span).line;
        let wrong = |span: usize, message: &str| PackageLockError::Wrong {
            line: at(span),
            message: message.to_owned(),
        };
        let table = read_toml(text).map_err(|error| {
            let start = error.span.map_or(0, |span| span.start);
            wrong(start, &format!("not valid TOML: {}", error.message))
        })?;
        let mut lock = Self::default();
        if table.entries.is_empty() {
            return Ok(lock);
        }
        match table.get("version").map(|item| &item.value) {
            Some(TomlValue::Integer(VERSION)) => {}
            Some(TomlValue::Integer(version)) if *version > VERSION => {
                return Err(PackageLockError::Newer { version: *version });
            }
            _ => return Err(wrong(0, "`version = 1` is missing")),
        }
        for entry in &table.entries {
            match (&*entry.key, &entry.item.value) {
                ("version", _) => {}
                ("library", TomlValue::List(items)) => {
                    if items.len() > MOST {
                        return Err(wrong(items[MOST].span.start, "more than 10,000 libraries"));
                    }
                    for item in items {
                        let TomlValue::Table(table) = &item.value else {
                            return Err(wrong(item.span.start, "`library` has to be tables"));
                        };
                        let library = read_library(table, item.span.start);
                        let library = library.map_err(|(span, why)| wrong(span, &why))?;
                        if lock.library(&library.name).is_some() {
                            let message = format!("`{}` is there twice", library.name);
                            return Err(wrong(item.span.start, &message));
                        }
                        lock.insert(library);
                    }
                }
                (key, _) => {
                    return Err(wrong(entry.key_span.start, &format!("unknown key `{key}`")));
                }
            }
        }
        Ok(lock)
    }

    /// The two sides of a lock with merge conflicts, each as it was on its branch; `None` if one of
    /// them is no lock either.
    pub fn sides(text: &str) -> Option<(Self, Self)> {
        let (mut ours, mut theirs) = (String::new(), String::new());
        let mut side = MergeSide::Both;
        for line in text.split_inclusive('\n') {
            if let Some(next) = marker(line) {
                side = next;
                continue;
            }
            if matches!(side, MergeSide::Both | MergeSide::Ours) {
                ours.push_str(line);
            }
            if matches!(side, MergeSide::Both | MergeSide::Theirs) {
                theirs.push_str(line);
            }
        }
        Some((Self::parse(&ours).ok()?, Self::parse(&theirs).ok()?))
    }

    /// The text of the lock: the same libraries give the same bytes.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# Written by `twig`; commit it, and let `twig install` change it.\nversion = {VERSION}\n"
        );
        for library in &self.libraries {
            text.push_str("\n[[library]]\n");
            let mut line = |key: &str, value: &str| {
                let _ = writeln!(text, "{key} = {}", quoted(value));
            };
            line("name", library.name.as_str());
            line("source", &library.source.to_string());
            if let Some(reference) = &library.reference {
                line("ref", reference);
            }
            if let Some(path) = &library.path {
                line("path", path.as_str());
            }
            if let Some(commit) = &library.commit {
                line("commit", commit);
            }
            line("tree", &library.tree.to_string());
            let _ = writeln!(text, "files = {}", library.files);
            let mut line = |key: &str, value: &Option<String>| {
                if let Some(value) = value {
                    let _ = writeln!(text, "{key} = {}", quoted(value));
                }
            };
            line("license", &library.license);
            line("signed_by", &library.signed_by);
        }
        text
    }
}

/// The line of the first marker that git puts around a conflict.
fn conflict_line(text: &str) -> Option<u32> {
    let line = text.lines().position(|line| marker(line).is_some())?;
    u32::try_from(line + 1).ok()
}

/// Which side of a merge conflict the lines after a marker are on.
#[derive(Debug, Clone, Copy)]
enum MergeSide {
    Both,
    Ours,
    /// What both sides had before, in the `diff3` style.
    Base,
    Theirs,
}

fn marker(line: &str) -> Option<MergeSide> {
    let line = line.trim_end();
    let is_it = |mark: &str| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    if is_it("<<<<<<<") {
        Some(MergeSide::Ours)
    } else if is_it("|||||||") {
        Some(MergeSide::Base)
    } else if is_it("=======") {
        Some(MergeSide::Theirs)
    } else if is_it(">>>>>>>") {
        Some(MergeSide::Both)
    } else {
        None
    }
}

fn read_library(table: &Table<'_>, start: usize) -> Result<LockedLibrary, (usize, String)> {
    let text = |key: &str| -> Result<Option<(&str, usize)>, (usize, String)> {
        match table.get(key) {
            None => Ok(None),
            Some(item) => match &item.value {
                TomlValue::Text(text) => Ok(Some((text, item.span.start))),
                _ => Err((item.span.start, format!("`{key}` has to be text"))),
            },
        }
    };
    let needed = |key: &str| -> Result<(&str, usize), (usize, String)> {
        text(key)?.ok_or_else(|| (start, format!("a library has no `{key}`")))
    };
    let (name, at) = needed("name")?;
    let name = LibraryName::from_folder(name).filter(|it| it.as_str() == name);
    let name = name.ok_or_else(|| (at, "`name` is not a valid library name".to_owned()))?;
    let (source, at) = needed("source")?;
    let source = PackageSource::parse(source).map_err(|error| (at, error.to_string()))?;
    let reference = match text("ref")? {
        Some((reference, at)) if !is_reference(reference) => {
            return Err((at, format!("`{reference}` is no branch, tag or commit")));
        }
        reference => reference.map(|(it, _)| it.to_owned()),
    };
    let path = match text("path")? {
        None => None,
        Some((path, at)) => {
            Some(RelativePath::parse(path).map_err(|error| (at, format!("`path` {error}")))?)
        }
    };
    let commit = match text("commit")? {
        Some((commit, at)) if !is_commit(commit) => {
            return Err((at, "`commit` is not a full commit id".to_owned()));
        }
        None if source.git_url().is_some() => {
            return Err((start, "a library has no `commit`".to_owned()));
        }
        commit => commit.map(|(it, _)| it.to_owned()),
    };
    let (tree, at) = needed("tree")?;
    let tree = TreeDigest::parse(tree);
    let tree = tree.ok_or_else(|| (at, "`tree` is not `sha256:` and 64 digits".to_owned()))?;
    let files = match table.get("files").map(|item| &item.value) {
        Some(TomlValue::Integer(files)) => u64::try_from(*files).ok(),
        _ => None,
    };
    let files = files.ok_or_else(|| (start, "a library has no `files`".to_owned()))?;
    Ok(LockedLibrary {
        name,
        source,
        reference,
        path,
        commit,
        tree,
        files,
        license: text("license")?.map(|(it, _)| it.to_owned()),
        signed_by: text("signed_by")?.map(|(it, _)| it.to_owned()),
    })
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
