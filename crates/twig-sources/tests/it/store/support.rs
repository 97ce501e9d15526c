//! A folder of workspaces, and short words for what is done in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use tempfile::TempDir;
use twig_core::Limits;
use twig_core::store::{
    Author, Change, GivenContent, Item, ItemDraft, ItemKind, ItemWrite, Noun, Patch, Project,
    Store, StoreError, StoreName, Write, Written,
};
use twig_sources::{Access, SqliteStore, Workspaces};

use crate::support::LONG;

pub(crate) fn name(text: &str) -> StoreName {
    StoreName::parse(Noun::Prompt, text).unwrap()
}

/// A folder of workspaces of its own.
pub(crate) struct Home {
    _dir: TempDir,
    pub(crate) workspaces: Workspaces,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// One in memory, where it takes no time until a write is durable.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self::of(dir.unwrap())
    }

    fn of(dir: TempDir) -> Self {
        let workspaces = Workspaces::new(dir.path().join("twig/workspaces"));
        Self {
            _dir: dir,
            workspaces,
        }
    }

    /// One whose `default` workspace has a project `p`.
    pub(crate) fn with_project() -> Self {
        let home = Self::new();
        create_project(&home.open(), "p").unwrap();
        home
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open(Access::Write).unwrap()
    }

    pub(crate) fn try_open(&self, access: Access) -> Result<SqliteStore, StoreError> {
        self.workspaces
            .open(&name("default"), access, &Limits::default())
    }

    /// A file of the folder of workspaces.
    pub(crate) fn file(&self, file: &str) -> PathBuf {
        self.workspaces.folder().join(file)
    }

    /// The names of all files there.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.workspaces.folder()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// A copy of a workspace's file alone, as somebody makes one.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Writes and waits until it is done.
pub(crate) fn write(store: &dyn Store, write: Write) -> Result<Written, StoreError> {
    let (sender, told) = channel();
    store.write(
        write,
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    told.recv_timeout(LONG).unwrap()
}

pub(crate) fn create_project(store: &dyn Store, project: &str) -> Result<Written, StoreError> {
    write(
        store,
        Write::CreateProject {
            name: name(project),
            author: Author::Person,
        },
    )
}

pub(crate) fn item_write(kind: ItemKind, item: &str, change: Change) -> ItemWrite {
    ItemWrite {
        project: name("p"),
        kind,
        name: name(item),
        change,
        expected: None,
        author: Author::Client("tests".into()),
    }
}

pub(crate) fn item(
    store: &dyn Store,
    kind: ItemKind,
    item: &str,
    change: Change,
) -> Result<Written, StoreError> {
    let wanted = item_write(kind, item, change);
    write(store, Write::Item(Box::new(wanted)))
}

/// Changes a prompt of project `p`.
pub(crate) fn prompt(
    store: &dyn Store,
    prompt: &str,
    change: Change,
) -> Result<Written, StoreError> {
    item(store, ItemKind::Prompt, prompt, change)
}

/// Changes a resource of project `p`.
pub(crate) fn resource(
    store: &dyn Store,
    resource: &str,
    change: Change,
) -> Result<Written, StoreError> {
    item(store, ItemKind::Resource, resource, change)
}

pub(crate) fn text(content: &str) -> Change {
    Change::Create(ItemDraft {
        content: GivenContent::Text(content.to_owned()),
        description: None,
        uri: None,
        mime: None,
    })
}

pub(crate) fn at(uri: &str, content: &str) -> Change {
    Change::Create(ItemDraft {
        content: GivenContent::Text(content.to_owned()),
        description: None,
        uri: Some(uri.into()),
        mime: None,
    })
}

pub(crate) fn new_text(content: &str) -> Change {
    Change::Update(Patch {
        content: Some(GivenContent::Text(content.to_owned())),
        ..Patch::default()
    })
}

/// Project `p` as it is now.
pub(crate) fn project(store: &dyn Store) -> Project {
    store.project(&name("p")).unwrap().unwrap()
}

pub(crate) fn names(project: &Project) -> Vec<&str> {
    project
        .items
        .iter()
        .map(|item| item.name.as_str())
        .collect()
}

/// What an item holds.
pub(crate) fn content(store: &dyn Store, item: &Item) -> String {
    let bytes = store.content(&item.head.content.digest).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Every name of project `p` with what it holds.
pub(crate) fn contents(store: &dyn Store) -> Vec<(String, String)> {
    let project = project(store);
    let items = project.items.iter();
    items
        .map(|item| (item.name.to_string(), content(store, item)))
        .collect()
}

/// How many changes were written to project `p`.
pub(crate) fn changes(home: &Home) -> u32 {
    let file = rusqlite::Connection::open(home.file("default.db")).unwrap();
    let sql = "SELECT count(*) FROM change";
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}
