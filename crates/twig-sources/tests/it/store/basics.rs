//! Writing, reading, versions and what others hear of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::channel;

use twig_core::store::{
    Author, Change, GivenContent, ItemDraft, ItemKind, Operation, Patch, Store, StoreError, Write,
};
use twig_sources::Access;

use super::support::*;
use crate::support::LONG;

#[test]
fn what_was_written_is_read_by_everybody() {
    let home = Home::with_project();
    let (one, two) = (home.open(), home.open());
    let before = [&one, &two].map(|store| store.revision().unwrap());
    let written = prompt(&one, "greet", text("Hello {{name}}\n")).unwrap();
    assert_eq!((written.version, written.is_new), (1, true));
    assert_eq!(written.operation, Some(Operation::Create));
    for (store, before) in [&one, &two].into_iter().zip(before) {
        assert_eq!(
            contents(store),
            [("greet".to_owned(), "Hello {{name}}\n".to_owned())]
        );
        assert!(store.revision().unwrap() > before);
        assert_eq!(store.revision(), store.revision());
    }
    drop((one, two));
    assert_eq!(contents(&home.open()).len(), 1);
}

#[test]
fn every_write_is_a_version() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    prompt(&store, "a", new_text("two")).unwrap();
    prompt(&store, "a", Change::Delete).unwrap();
    assert!(project(&store).items.is_empty());
    let restored = prompt(&store, "a", Change::Restore { version: Some(1) }).unwrap();
    assert_eq!(restored.operation, Some(Operation::Restore { from: 1 }));
    let history = store
        .history(&name("p"), ItemKind::Prompt, &name("a"))
        .unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|version| (version.number, version.operation.as_str()))
        .collect();
    assert_eq!(
        told,
        [(1, "create"), (2, "update"), (3, "delete"), (4, "restore")]
    );
    assert_eq!(&*history[0].author, "tests (mcp)");
    let bytes = store.content(&history[1].content.digest).unwrap();
    assert_eq!(bytes, b"two");
    assert_eq!(contents(&store), [("a".to_owned(), "one".to_owned())]);
}

#[test]
fn a_write_that_changes_nothing_is_no_version() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    let revision = store.revision().unwrap();
    let same = prompt(&store, "a", new_text("one")).unwrap();
    assert_eq!((same.version, same.is_new), (1, false));
    assert_eq!(store.revision().unwrap(), revision);
}

#[test]
fn resources_are_text_or_bytes() {
    let home = Home::with_project();
    let store = home.open();
    let bytes = vec![0, 159, 146, 150];
    let draft = ItemDraft {
        content: GivenContent::Bytes(bytes.clone()),
        description: Some("A picture".into()),
        uri: Some("file:///a.png".into()),
        mime: Some("image/png".into()),
    };
    resource(&store, "picture", Change::Create(draft)).unwrap();
    let project = project(&store);
    let head = &project.items[0].head;
    assert!(!head.content.is_text);
    assert_eq!(head.description.as_deref(), Some("A picture"));
    assert_eq!(head.uri.as_deref(), Some("file:///a.png"));
    assert_eq!(store.content(&head.content.digest).unwrap(), bytes);
}

#[test]
fn prompts_come_first_and_names_are_sorted() {
    let home = Home::with_project();
    let store = home.open();
    resource(&store, "a", at("file:///a", "x")).unwrap();
    for prompt_name in ["z", "B", "a"] {
        prompt(&store, prompt_name, text("x")).unwrap();
    }
    assert_eq!(names(&project(&store)), ["B", "a", "z", "a"]);
}

#[test]
fn projects_are_made_renamed_and_deleted() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    create_project(&store, "b").unwrap();
    assert_eq!(
        create_project(&store, "b").unwrap_err().to_string(),
        "Project 'b' already exists in workspace 'default'"
    );
    let rename = |from: &str, to: &str| Write::RenameProject {
        name: name(from),
        to: name(to),
        author: Author::Person,
    };
    assert!(matches!(
        write(&store, rename("p", "b")),
        Err(StoreError::ProjectExists { .. })
    ));
    assert!(matches!(
        write(&store, rename("no", "x")),
        Err(StoreError::NoProject { .. })
    ));
    write(&store, rename("p", "q")).unwrap();
    let listed = store.projects().unwrap();
    let told: Vec<_> = listed
        .iter()
        .map(|project| (project.name.as_str(), project.prompts))
        .collect();
    assert_eq!(told, [("b", 0), ("q", 1)]);
    let digest = store.project(&name("q")).unwrap().unwrap().items[0]
        .head
        .content
        .digest;
    write(
        &store,
        Write::DeleteProject {
            name: name("q"),
            author: Author::Person,
        },
    )
    .unwrap();
    assert_eq!(store.project(&name("q")), Ok(None));
    assert!(matches!(
        store.content(&digest),
        Err(StoreError::ContentGone { .. })
    ));
}

#[test]
fn a_content_that_two_projects_share_outlives_one_of_them() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("shared")).unwrap();
    create_project(&store, "other").unwrap();
    let mut other = item_write(ItemKind::Prompt, "b", text("shared"));
    other.project = name("other");
    write(&store, Write::Item(Box::new(other))).unwrap();
    write(
        &store,
        Write::DeleteProject {
            name: name("other"),
            author: Author::Person,
        },
    )
    .unwrap();
    assert_eq!(contents(&store), [("a".to_owned(), "shared".to_owned())]);
}

#[test]
fn a_stale_write_is_refused_with_both_versions() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    prompt(&store, "a", new_text("two")).unwrap();
    let mut stale = item_write(ItemKind::Prompt, "a", new_text("three"));
    stale.expected = Some(1);
    let refused = write(&store, Write::Item(Box::new(stale))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Prompt 'a' is at version 2, not at the expected version 1: read it again, then repeat the change"
    );
}

#[test]
fn uris_are_unique_among_what_is_there() {
    let home = Home::with_project();
    let store = home.open();
    resource(&store, "a", at("file:///x", "one")).unwrap();
    let taken = resource(&store, "b", at("file:///x", "two")).unwrap_err();
    assert_eq!(
        taken.to_string(),
        "URI 'file:///x' is already used by resource 'a' in project 'p'"
    );
    resource(&store, "a", Change::Delete).unwrap();
    resource(&store, "b", at("file:///x", "two")).unwrap();
    assert!(matches!(
        resource(&store, "a", Change::Restore { version: Some(1) }),
        Err(StoreError::UriTaken { .. })
    ));
    let patch = Patch {
        uri: Some("file:///y".into()),
        ..Patch::default()
    };
    resource(&store, "b", Change::Update(patch)).unwrap();
    resource(&store, "a", Change::Restore { version: Some(1) }).unwrap();
    // Another project has its own.
    create_project(&store, "other").unwrap();
    let mut other = item_write(ItemKind::Resource, "a", at("file:///x", "one"));
    other.project = name("other");
    write(&store, Write::Item(Box::new(other))).unwrap();
}

#[test]
fn a_store_that_is_read_only_refuses_every_write() {
    let home = Home::with_project();
    let store = home.try_open(Access::Read).unwrap();
    assert_eq!(
        create_project(&store, "x").unwrap_err().to_string(),
        "Workspace 'default' is open for reading only"
    );
    assert_eq!(store.projects().unwrap().len(), 1);
}

#[test]
fn watchers_hear_of_writes_of_others_and_of_our_own() {
    let home = Home::with_project();
    let (one, two) = (home.open(), home.open());
    let (sender, heard) = channel();
    let watch = one.watch(Box::new(move || {
        let _ = sender.send(());
    }));
    prompt(&two, "a", text("x")).unwrap();
    heard.recv_timeout(LONG).unwrap();
    assert_eq!(contents(&one).len(), 1);
    while heard.try_recv().is_ok() {}
    prompt(&one, "b", text("x")).unwrap();
    heard.recv_timeout(LONG).unwrap();
    drop(watch);
    while heard.recv_timeout(LONG).is_ok() {}
}

#[test]
fn five_that_watch_hear_of_every_write() {
    let home = Home::with_project();
    let stores: Vec<_> = (0..5).map(|_| home.open()).collect();
    let mut watches = Vec::new();
    let mut ears = Vec::new();
    for store in &stores {
        let (sender, heard) = channel();
        watches.push(store.watch(Box::new(move || {
            let _ = sender.send(());
        })));
        ears.push(heard);
    }
    for at in 0..40 {
        // Whatever comes from here on was told after the write.
        for heard in &ears {
            while heard.try_recv().is_ok() {}
        }
        prompt(&stores[at % 5], &format!("n{at}"), text("x")).unwrap();
        for (store, heard) in stores.iter().zip(&ears) {
            heard.recv_timeout(LONG).unwrap();
            assert_eq!(project(store).items.len(), at + 1);
        }
    }
}

#[test]
fn a_link_and_what_it_leads_to_are_one_workspace() {
    let (home, other) = (Home::with_project(), Home::new());
    fs::create_dir_all(other.workspaces.folder()).unwrap();
    symlink(home.file("default.db"), other.file("default.db")).unwrap();
    let (one, two) = (home.open(), other.open());
    let (sender, heard) = channel();
    let _watch = two.watch(Box::new(move || {
        let _ = sender.send(());
    }));
    prompt(&two, "a", text("x")).unwrap();
    prompt(&one, "b", text("x")).unwrap();
    heard.recv_timeout(LONG).unwrap();
    assert_eq!(contents(&one), contents(&two));
    assert_eq!(other.files(), ["default.db"]);
}
