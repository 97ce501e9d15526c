//! Room: how much the versions of a project may take, and what is given back.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use twig_core::Limits;
use twig_core::store::{
    Author, Change, GivenContent, ItemDraft, ItemKind, Patch, Store, StoreError, VERSION_BYTES,
    Version, Write,
};
use twig_sources::{Access, SqliteStore};

use super::child;
use super::support::*;

const MARKER: &str = "secret-MARKER-words";

fn open_with(home: &Home, project_history: usize) -> SqliteStore {
    let limits = Limits {
        project_history,
        ..Limits::default()
    };
    let opened = home
        .workspaces
        .open(&name("default"), Access::Write, &limits);
    opened.unwrap()
}

fn history(store: &dyn Store, prompt: &str) -> Vec<Version> {
    let history = store.history(&name("p"), ItemKind::Prompt, &name(prompt));
    history.unwrap()
}

/// How often a text is in any file of the workspaces.
fn found(home: &Home, text: &str) -> usize {
    let count = |file: &String| {
        let bytes = fs::read(home.file(file)).unwrap();
        let windows = bytes.windows(text.len());
        windows.filter(|window| *window == text.as_bytes()).count()
    };
    home.files().iter().map(count).sum()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

#[test]
fn versions_take_so_many_bytes_and_not_one_more() {
    let home = Home::with_project();
    let each = usize::try_from(VERSION_BYTES).unwrap();
    let store = open_with(&home, 3 * each + 100);
    let used = || store.projects().unwrap()[0].history;
    prompt(&store, "a", text(&"x".repeat(60))).unwrap();
    assert_eq!(used(), VERSION_BYTES + 60);
    let described = |bytes: usize| {
        Change::Update(Patch {
            description: Some("d".repeat(bytes).into()),
            ..Patch::default()
        })
    };
    prompt(&store, "a", described(10)).unwrap();
    // The same content once more takes no room, the description does.
    let refused = prompt(&store, "a", described(31)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "The versions of project 'p' take 1094 bytes and this change needs 543 more; the limit is 1636: \
         drop old versions with `twig workspace compact default --keep 10`"
    );
    assert!(refused.is_callers());
    prompt(&store, "a", described(30)).unwrap();
    assert_eq!(used(), 3 * VERSION_BYTES + 100);
    for change in [new_text(""), Change::Restore { version: Some(1) }] {
        let refused = prompt(&store, "a", change).unwrap_err();
        assert!(matches!(refused, StoreError::HistoryFull { .. }));
    }
    // What is full can still be read and emptied.
    prompt(&store, "a", Change::Delete).unwrap();
    assert_eq!(contents(&store), []);
    assert_eq!(history(&store, "a").len(), 4);
    let old = store.drop_old_versions(None, 1).unwrap();
    assert_eq!((old.versions, old.bytes), (3, 3 * VERSION_BYTES + 10 + 30));
    assert_eq!(used(), VERSION_BYTES + 60 + 30);
    prompt(&store, "a", Change::Restore { version: Some(4) }).unwrap();
}

#[test]
fn dropped_versions_are_gone_and_the_others_are_as_they_were() {
    let home = Home::with_project();
    // Others have it open, as servers do.
    let (store, other) = (home.open(), home.open());
    for at in 0..10 {
        let change = |text_: String| {
            if at == 0 {
                text(&text_)
            } else {
                new_text(&text_)
            }
        };
        prompt(&store, "a", change(format!("a{at}"))).unwrap();
        prompt(&other, "b", change(format!("b{}", at % 2))).unwrap();
    }
    prompt(&store, "b", Change::Delete).unwrap();
    resource(&store, "r", at("x:y", "resource")).unwrap();
    let before = history(&other, "a");
    let revision = store.revision().unwrap();
    let counted = store.count_old_versions(None, 3).unwrap();
    let dropped = other.drop_old_versions(None, 3).unwrap();
    assert_eq!(counted, dropped);
    assert_eq!(dropped.versions, 7 + 8);
    assert!(store.revision().unwrap() > revision);
    for store in [&store, &other, &home.open()] {
        assert_eq!(history(store, "a"), before[7..]);
        assert_eq!(history(store, "b").len(), 3);
        let items = project(store).items;
        assert_eq!(items.len(), 2);
        assert_eq!(content(store, &items[0]), "a9");
        assert!(store.content(&before[0].content.digest).is_err());
    }
    let refused = prompt(&store, "a", Change::Restore { version: Some(7) }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Prompt 'a' has no version 7 any more (versions before 8 were dropped); the last one is 10"
    );
    let refused = prompt(&store, "a", Change::Restore { version: Some(11) }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Prompt 'a' has no version 11; the last one is 10"
    );
    prompt(&store, "a", Change::Restore { version: Some(8) }).unwrap();
    let mut next = item_write(ItemKind::Prompt, "a", new_text("x"));
    next.expected = Some(11);
    let written = write(&other, Write::Item(Box::new(next))).unwrap();
    assert_eq!(written.version, 12);
    prompt(&other, "b", Change::Restore { version: Some(11) }).unwrap();
    // Once more drops what has become old since.
    assert_eq!(store.drop_old_versions(None, 3).unwrap().versions, 2 + 1);
    assert_eq!(store.drop_old_versions(None, 3).unwrap().versions, 0);
    let missing = store.drop_old_versions(Some(&name("q")), 3).unwrap_err();
    assert!(matches!(missing, StoreError::NoProject { .. }));
}

#[test]
fn versions_that_are_lost_are_told_from_those_that_were_dropped() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("0")).unwrap();
    for at in 1..6 {
        prompt(&store, "a", new_text(&at.to_string())).unwrap();
    }
    store.drop_old_versions(None, 3).unwrap();
    drop(store);
    let connection = Connection::open(home.file("default.db")).unwrap();
    connection
        .execute("DELETE FROM version WHERE number = 4", [])
        .unwrap();
    drop(connection);
    let lost = home
        .open()
        .history(&name("p"), ItemKind::Prompt, &name("a"));
    let lost = lost.unwrap_err().to_string();
    assert!(lost.contains("prompt 'a' has lost a version"), "{lost}");
}

#[test]
fn no_content_of_a_deleted_project_is_left_on_the_disk() {
    let home = Home::with_project();
    let empty = length(&home.file("default.db"));
    // Servers that have the file open and have read all of it.
    let (store, other) = (home.open(), home.open());
    let _watch = other.watch(Box::new(|| {}));
    create_project(&store, "gone").unwrap();
    let draft = |at: usize, size: usize| {
        Change::Create(ItemDraft {
            content: GivenContent::Text(format!("{at} {MARKER} ").repeat(size)),
            description: Some(MARKER.into()),
            uri: Some(format!("x:{MARKER}{at}").into()),
            mime: None,
        })
    };
    let mut dice = Dice(99);
    for at in 0..60 {
        // Of both projects, so that pages are split between them.
        for project in ["gone", "p"] {
            let mut wanted = item_write(
                ItemKind::Resource,
                &format!("{at}.{project}"),
                draft(at, 1 + usize::try_from(dice.roll(300)).unwrap()),
            );
            if project == "p" {
                wanted.change = super::support::at(&format!("x:{at}"), &at.to_string().repeat(500));
            }
            wanted.project = name(project);
            write(&store, Write::Item(Box::new(wanted))).unwrap();
        }
    }
    assert_eq!(project(&other).items.len(), 60);
    assert!(found(&home, MARKER) > 1_000);
    fs::write(home.file("default.db.v1.bak"), MARKER).unwrap();
    let delete = Write::DeleteProject {
        name: name("gone"),
        author: Author::Person,
    };
    write(&store, delete).unwrap();
    let files = store.reclaim().unwrap();
    assert!(!files.is_log_held);
    assert_eq!(found(&home, MARKER), 0, "{:?}", home.files());
    assert_eq!(project(&other).items.len(), 60);
    prompt(&other, "after", text("all is well")).unwrap();
    let delete = Write::DeleteProject {
        name: name("p"),
        author: Author::Person,
    };
    write(&store, delete).unwrap();
    store.reclaim().unwrap();
    // The log of changes stays.
    assert!(length(&home.file("default.db")) <= empty + 100 * 1024);
    assert_eq!(length(&home.file("default.db-wal")), 0);
}

#[test]
fn a_log_that_somebody_reads_is_said_to_be_held() {
    let home = Home::with_project();
    let limits = Limits {
        store_millis: 100,
        ..Limits::default()
    };
    let opened = home
        .workspaces
        .open(&name("default"), Access::Write, &limits);
    let store = opened.unwrap();
    prompt(&store, "a", text(MARKER)).unwrap();
    let reading = Connection::open(home.file("default.db")).unwrap();
    reading
        .execute_batch("BEGIN; SELECT * FROM project")
        .unwrap();
    let delete = Write::DeleteProject {
        name: name("p"),
        author: Author::Person,
    };
    write(&store, delete).unwrap();
    assert!(store.reclaim().unwrap().is_log_held);
    reading.execute_batch("COMMIT").unwrap();
    assert!(!store.reclaim().unwrap().is_log_held);
    drop(reading);
    assert_eq!(found(&home, MARKER), 0);
}

#[test]
fn writers_go_on_while_versions_are_dropped() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "n", text("0")).unwrap();
    let folder = home.workspaces.folder();
    let children: Vec<_> = (0..2)
        .map(|_| child::start(folder, "increment 150"))
        .collect();
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| child::increment(&home.open(), 150));
        while !counting.is_finished() {
            store.drop_old_versions(None, 5).unwrap();
            store.reclaim().unwrap();
            let kept = history(&store, "n");
            assert!(kept.len() >= 5 || kept[0].number == 1);
        }
    });
    for child in children {
        child::finish(child);
    }
    assert_eq!(contents(&store), [("n".to_owned(), "450".to_owned())]);
    store.drop_old_versions(None, 5).unwrap();
    let kept = history(&store, "n");
    let numbers: Vec<u64> = kept.iter().map(|version| version.number).collect();
    assert_eq!(numbers, [447, 448, 449, 450, 451]);
}

#[test]
fn a_log_that_cannot_be_written_back_is_reported() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    resource(&store, "a", at("x:y", "")).unwrap();
    assert_eq!(home.workspaces.held_log(&name("default")), None);
    let reading = Connection::open(home.file("default.db")).unwrap();
    reading
        .execute_batch("BEGIN; SELECT * FROM project")
        .unwrap();
    for at in 0..5 {
        let large = at.to_string().repeat(15 * 1024 * 1024);
        resource(&store, "a", new_text(&large)).unwrap();
    }
    let said = home.workspaces.held_log(&name("default")).unwrap();
    assert!(
        said.starts_with("The log of workspace 'default' has grown to "),
        "{said}"
    );
    assert!(said.contains("find that program with `fuser "), "{said}");
    reading.execute_batch("COMMIT").unwrap();
    drop(reading);
    for at in 0..5 {
        resource(&store, "a", new_text(&format!("small {at}"))).unwrap();
    }
    assert_eq!(home.workspaces.held_log(&name("default")), None);
}
