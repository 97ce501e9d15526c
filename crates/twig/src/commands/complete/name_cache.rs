//! The names of prompts as the last completion found them, so that the next one does not read every
//! library again.
//!
//! The cache holds the stamps of all files and folders that the names depend on. If one of them
//! differs, the libraries are read and the cache is written again. It is never read by anything but
//! completion, and it may be deleted at any time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use twig_core::LibraryKind;
use twig_sources::platform::facts;

use crate::commands::opened_catalog::OpenedCatalog;
use crate::commands::origin::OriginRow;
use crate::places::Places;

/// The first line; another version of Twig may mean something else by the rest.
const VERSION: &str = concat!("twig names 3 ", env!("CARGO_PKG_VERSION"));
/// The largest cache that is written or read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The entries of one folder that are looked at.
const MOST_ENTRIES: usize = 1000;
/// From this many files in one folder on, they are looked at together: a line for each of thousands
/// takes longer to read than the files take to look at.
const TOGETHER: usize = 32;
/// Files that name prompts besides the ones with their texts.
const MANIFESTS: [&str; 3] = ["twig.toml", "prompts.json", "prompts.bash"];

/// A prompt as completion shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameRow {
    pub(super) full: String,
    /// The name without its library, if that is enough to find the prompt; else empty.
    pub(super) short: String,
    pub(super) about: String,
}

/// The names, unless something that they depend on has changed.
pub(super) fn read(places: &Places) -> Option<Vec<NameRow>> {
    let mut text = String::new();
    let file = fs::File::open(cache_file(places)?).ok()?;
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next()? != VERSION || lines.next()? != base(places) {
        return None;
    }
    let mut rows = Vec::new();
    for line in lines {
        let mut parts = line.split('\t');
        match (parts.next()?, parts.next()?, parts.next()?) {
            ("", path, known) => {
                let path = Path::new(path);
                let now = match known.strip_prefix('*') {
                    Some(_) => stamp_of_entries(path),
                    None => stamp(path),
                };
                if now != known {
                    return None;
                }
            }
            (full, short, about) => rows.push(NameRow {
                full: full.to_owned(),
                short: short.to_owned(),
                about: about.to_owned(),
            }),
        }
    }
    Some(rows)
}

/// Remembers the names and what they depend on. A cache that cannot be written is none.
///
/// The store has to be closed: opening it changes files beside it.
pub(super) fn write(places: &Places, paths: &[PathBuf], rows: &[NameRow]) -> Option<()> {
    let file = cache_file(places)?;
    let mut text = format!("{VERSION}\n{}\n", base(places));
    let (full, single) = full_folders(paths);
    let stamps = single.into_iter().map(|path| (path, stamp(path)));
    let together = full.into_iter().map(|path| (path, stamp_of_entries(path)));
    for (path, stamp) in stamps.chain(together) {
        let shown = path.to_str().filter(|path| is_plain(path))?;
        let _ = writeln!(text, "\t{shown}\t{stamp}");
    }
    for row in rows {
        let parts = [&row.full, &row.short, &row.about];
        if row.full.is_empty() || !parts.iter().all(|part| is_plain(part)) {
            continue;
        }
        let _ = writeln!(text, "{}\t{}\t{}", row.full, row.short, row.about);
    }
    if text.len() as u64 >= LARGEST {
        return None;
    }
    let folder = file.parent()?;
    fs::create_dir_all(folder).ok()?;
    // Readable for its owner only, and there as a whole or not at all.
    let mut whole = NamedTempFile::new_in(folder).ok()?;
    whole.write_all(text.as_bytes()).ok()?;
    whole.persist(file).ok()?;
    Some(())
}

/// The cache of the folders that are searched from the working folder.
fn cache_file(places: &Places) -> Option<PathBuf> {
    Some(places.cache.as_ref()?.join("names"))
}

/// What is searched: another working folder has other libraries.
fn base(places: &Places) -> String {
    let stores = stores(places);
    let named = [&places.data, &places.config, &places.workspaces];
    let named = named.into_iter().flatten().chain(&places.projects);
    let named = named.chain(&stores).map(|path| path.display().to_string());
    let named = named.collect::<Vec<_>>().join("|");
    named.replace(['\n', '\t'], " ")
}

/// The files of the workspaces.
fn stores(places: &Places) -> Vec<PathBuf> {
    let folder = places.workspaces.as_ref();
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().flatten().take(MOST_ENTRIES);
    let files = entries.map(|entry| entry.path());
    let is_store = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
    let mut files: Vec<PathBuf> = files.filter(is_store).collect();
    files.sort();
    files
}

/// The files and folders that the names depend on, each once.
pub(super) fn watched(opened: &OpenedCatalog) -> Vec<PathBuf> {
    let places = &opened.places;
    let mut paths: Vec<PathBuf> = Vec::new();
    paths.extend(places.data.clone());
    paths.extend(places.config.clone());
    paths.extend(places.trust.clone());
    paths.extend(places.projects.iter().cloned());
    for store in stores(places) {
        paths.push(store.with_extension("db-wal"));
        paths.push(store);
    }
    paths.extend(places.projects.iter().map(|it| it.join("config.toml")));
    // A folder becomes a library without a change of the folder around it.
    if let Some(folder) = &places.data {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        paths.extend(entries.take(MOST_ENTRIES).map(|entry| entry.path()));
    }
    let catalog = opened.live.snapshot();
    for library in catalog.libraries().iter().chain(catalog.shadowed()) {
        if library.stored().is_some() {
            continue;
        }
        let root = Path::new(&*library.root);
        paths.push(root.to_owned());
        // A manifest names every prompt; elsewhere each file names its own.
        let has_manifest = library.kind == LibraryKind::Twig;
        paths.extend(MANIFESTS.map(|file| root.join(file)));
        for prompt in &library.prompts {
            let OriginRow::File { path, .. } = OriginRow::of_prompt(library, prompt) else {
                continue;
            };
            let path = PathBuf::from(path);
            let folders = path.ancestors().skip(1);
            let folders = folders.take_while(|folder| folder.starts_with(root));
            paths.extend(folders.map(Path::to_owned));
            if !has_manifest {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The folders in which many of these paths are, and the paths that are in no such folder.
fn full_folders(paths: &[PathBuf]) -> (Vec<&Path>, Vec<&Path>) {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    for folder in paths.iter().filter_map(|path| path.parent()) {
        *counts.entry(folder).or_default() += 1;
    }
    counts.retain(|_, count| *count >= TOGETHER);
    let is_single = |path: &&Path| {
        let folder = path.parent();
        folder.is_none_or(|folder| !counts.contains_key(folder))
    };
    let single = paths.iter().map(PathBuf::as_path).filter(is_single);
    let single = single.collect();
    (counts.into_keys().collect(), single)
}

/// What a file or folder looks like now; `-` if it is missing.
fn stamp(path: &Path) -> String {
    fs::metadata(path).map_or_else(|_| "-".to_owned(), |found| format!("{:x?}", looks(&found)))
}

/// What everything in a folder looks like now, in any order.
fn stamp_of_entries(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sum = 0_u64;
    for entry in entries {
        // A symlink looks like what it leads to.
        let found = match entry.metadata() {
            Ok(found) if found.is_symlink() => fs::metadata(entry.path()),
            found => found,
        };
        let looks = found.ok().map(|found| looks(&found));
        let mut hasher = DefaultHasher::new();
        (entry.file_name(), looks).hash(&mut hasher);
        sum = sum.wrapping_add(hasher.finish());
    }
    format!("*{sum:x}")
}

/// Numbers that differ if a file was changed or replaced.
fn looks(found: &fs::Metadata) -> [u64; 3] {
    let facts = facts(found);
    [facts.inode, found.len(), facts.modified.cast_unsigned()]
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control)
}
