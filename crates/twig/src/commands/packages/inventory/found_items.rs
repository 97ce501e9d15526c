//! The prompts and skills in clients' folders, each once, whatever symlinks point to it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use twig_clients::clients::{CLIENTS, ExportFormat, KnownClient, written_format};
use twig_core::{Library, LibraryKind};
use twig_sources::{Remembered, well_known_folders};

use crate::command_error::CommandError;
use crate::commands::library::bases;
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::config::Config;
use crate::places::Places;

/// The most prompts and skills that are listed.
const MOST_ITEMS: usize = 10_000;

/// The most entries of a folder that are looked through.
const MOST_ENTRIES: usize = 4_096;

/// The file that makes a folder a skill.
const SKILL: &str = "SKILL.md";

/// A prompt or skill in a client's folder.
#[derive(Debug)]
pub(super) struct FoundItem {
    pub(super) name: String,
    pub(super) is_skill: bool,
    /// The clients that read the folder.
    pub(super) clients: Vec<&'static KnownClient>,
    /// The home, or the project's folder.
    pub(super) base: PathBuf,
    /// The client's folder.
    pub(super) folder: PathBuf,
    /// The prompt's file, or the skill's folder.
    pub(super) path: PathBuf,
    /// The format in which Twig writes such files.
    pub(super) format: Option<ExportFormat>,
    /// Symlinks in clients' folders that point to it.
    pub(super) links: Vec<PathBuf>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct FoundItems {
    pub(super) items: Vec<FoundItem>,
    /// True if there is more.
    pub(super) is_cut: bool,
}

/// A client's folder.
struct ClientFolder {
    base: PathBuf,
    path: PathBuf,
}

/// Finds what is in the folders of the home and of the project.
pub(super) fn find(places: &Places, config: &Config) -> Result<FoundItems, CommandError> {
    let mut seen = HashSet::new();
    let (mut folders, mut links) = (Vec::new(), HashMap::new());
    for base in bases(places) {
        for path in well_known_folders(&base) {
            let is_new = seen.insert(real(&path));
            add_links(&path, !is_new, &mut links);
            if is_new {
                let base = base.clone();
                folders.push(ClientFolder { base, path });
            }
        }
    }
    // The folders of clients, and nothing else.
    let libraries = folders.iter().map(|folder| Remembered {
        path: folder.path.clone(),
        ..Remembered::default()
    });
    let config = Config {
        libraries: libraries.collect(),
        ..config.clone()
    };
    let places = Places {
        data: None,
        projects: Vec::new(),
        trust: None,
        ..places.clone()
    };
    let live = OpenedCatalog::with(places, config, &SourceArgs::default())?.live;
    let catalog = live.snapshot();
    let mut found = FoundItems::default();
    let mut seen = HashSet::new();
    for folder in &folders {
        let all = catalog.libraries().iter().chain(catalog.shadowed());
        let libraries = all.filter(|library| Path::new(&*library.root).starts_with(&folder.path));
        let mut items: Vec<FoundItem> = Vec::new();
        for library in libraries {
            items.extend(items_of(folder, library));
        }
        items.extend(unread_skills(folder));
        items.retain(|item| seen.insert(real(&item.path)));
        items.sort_by(|one, two| (&one.name, &one.path).cmp(&(&two.name, &two.path)));
        found.items.extend(items);
    }
    found.is_cut = found.items.len() > MOST_ITEMS;
    found.items.truncate(MOST_ITEMS);
    for item in &mut found.items {
        let mut links = links.remove(&real(&item.path)).unwrap_or_default();
        links.retain(|link| *link != item.path);
        links.sort();
        links.dedup();
        item.links = links;
    }
    Ok(found)
}

/// The prompts and skills of a library in a client's folder.
fn items_of(folder: &ClientFolder, library: &Library) -> Vec<FoundItem> {
    let format = written_format(library.kind);
    let prompts = library.prompts.iter().filter_map(|prompt| {
        let mut files = prompt.messages.iter().filter_map(|it| it.content.file());
        let file = PathBuf::from(library.path_of(files.next()?));
        let is_skill = file.file_name().is_some_and(|name| name == SKILL);
        let path = match file.parent().filter(|_| is_skill) {
            Some(parent) => parent.to_path_buf(),
            None => file,
        };
        Some(item(folder, prompt.name.as_str(), is_skill, path, format))
    });
    prompts.collect()
}

/// Skills that are not prompts: their names are those of their folders.
fn unread_skills(folder: &ClientFolder) -> Vec<FoundItem> {
    let entries = fs::read_dir(&folder.path).into_iter().flatten();
    let entries = entries.take(MOST_ENTRIES).flatten();
    let skills = entries.filter(|entry| entry.path().join(SKILL).is_file());
    let format = written_format(LibraryKind::Skills);
    let items = skills.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(item(folder, &name, true, entry.path(), format))
    });
    items.collect()
}

fn item(
    folder: &ClientFolder,
    name: &str,
    is_skill: bool,
    path: PathBuf,
    format: Option<ExportFormat>,
) -> FoundItem {
    FoundItem {
        name: name.to_owned(),
        is_skill,
        clients: clients_of(&folder.path),
        base: folder.base.clone(),
        folder: folder.path.clone(),
        path,
        format,
        links: Vec::new(),
    }
}

/// The clients that read a folder, or load its skills.
fn clients_of(folder: &Path) -> Vec<&'static KnownClient> {
    let reads = |client: &&KnownClient| {
        let own = client.folders.iter().map(|own| own.path);
        let mut paths = own.chain(client.loads.iter().copied());
        paths.any(|path| folder.ends_with(path))
    };
    CLIENTS.into_iter().filter(reads).collect()
}

/// Remembers the symlinks in a client's folder; all its entries if it is a symlink itself.
fn add_links(folder: &Path, is_linked: bool, links: &mut HashMap<PathBuf, Vec<PathBuf>>) {
    let entries = fs::read_dir(folder).into_iter().flatten();
    for entry in entries.take(MOST_ENTRIES).flatten() {
        let is_link = || entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_linked || is_link() {
            links
                .entry(real(&entry.path()))
                .or_default()
                .push(entry.path());
        }
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
