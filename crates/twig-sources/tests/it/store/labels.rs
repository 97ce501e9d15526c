//! Labels: they name one version each, move at once, and keep it from being dropped.

use twig_core::Limits;
use twig_core::store::{
    Author, Change, Item, ItemKind, LabelChange, LabelName, LabelWrite, MOST_LABELS, Store,
    StoreError, VersionChoice, VersionQuery, Write, Written, library,
};
use twig_core::{Catalog, Lookup};
use twig_sources::{Access, SqliteStore};

use super::support::*;

fn label(text: &str) -> LabelName {
    LabelName::parse(text).unwrap()
}

fn label_write(item: &str, text: &str, change: LabelChange) -> LabelWrite {
    LabelWrite {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name(item),
        label: label(text),
        change,
        is_admin: false,
        author: Author::Client("tests".into()),
    }
}

fn change(
    store: &dyn Store,
    item: &str,
    text: &str,
    change: LabelChange,
) -> Result<Written, StoreError> {
    write(
        store,
        Write::Label(Box::new(label_write(item, text, change))),
    )
}

fn set(store: &dyn Store, text: &str, version: Option<u64>) -> Result<Written, StoreError> {
    change(store, "a", text, LabelChange::Set { version })
}

fn remove(store: &dyn Store, text: &str) -> Result<Written, StoreError> {
    change(store, "a", text, LabelChange::Remove)
}

/// The labels of prompt `a`.
fn labels(store: &dyn Store) -> Vec<(String, u64)> {
    let labels = store.labels(&name("p"), ItemKind::Prompt, &name("a"));
    let labels = labels.unwrap().into_iter();
    labels
        .map(|(label, number)| (label.to_string(), number))
        .collect()
}

/// The same, as a project has them.
fn in_project(store: &dyn Store) -> Vec<(String, u64)> {
    let labels = |item: &Item| -> Vec<(String, u64)> {
        let labels = item.labels.iter();
        labels
            .map(|it| (it.label.to_string(), it.version.number))
            .collect()
    };
    project(store).items.first().map(labels).unwrap_or_default()
}

/// What `a@label` is, as a client gets it.
fn served(store: &dyn Store, wanted: &str) -> Result<String, String> {
    let catalog = Catalog::build([std::sync::Arc::new(library(&project(store), "w"))]);
    match catalog.find(wanted) {
        Lookup::Found(found) => {
            assert_eq!(&*found.prompt.full_name, wanted);
            let version = found.prompt.messages[0].content.stored().unwrap();
            let bytes = store.content(&version.digest).unwrap();
            Ok(String::from_utf8(bytes).unwrap())
        }
        Lookup::NoLabel(missing) => Err(missing.to_string()),
        other => Err(format!("{other:?}")),
    }
}

fn one(store: &dyn Store, only: VersionChoice) -> Result<u64, StoreError> {
    let versions = store.versions(&VersionQuery {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        before: None,
        most: 1,
        only: Some(only),
    })?;
    assert_eq!(versions.len(), 1);
    Ok(versions[0].number)
}

/// Project `p` with three versions of prompt `a`.
fn three(home: &Home) -> SqliteStore {
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("one")).unwrap();
    prompt(&store, "a", new_text("two")).unwrap();
    prompt(&store, "a", new_text("three")).unwrap();
    store
}

fn numbers(store: &dyn Store) -> Vec<u64> {
    let versions = store.history(&name("p"), ItemKind::Prompt, &name("a"));
    versions.unwrap().iter().map(|it| it.number).collect()
}

#[test]
fn a_label_names_one_version_and_moves() {
    let home = Home::in_memory();
    let store = three(&home);
    // Another server, which has read the project.
    let other = home.open();
    assert_eq!(in_project(&other), []);
    let set_first = set(&store, "production", Some(1)).unwrap();
    assert_eq!((set_first.version, set_first.is_new), (1, true));
    assert!(!set(&store, "production", Some(1)).unwrap().is_new);
    assert_eq!(set(&store, "staging", None).unwrap().version, 3);
    let both = [("production".to_owned(), 1), ("staging".to_owned(), 3)];
    assert_eq!(
        (labels(&store), in_project(&other)),
        (both.to_vec(), both.to_vec())
    );
    assert_eq!(served(&other, "a@production").unwrap(), "one");
    set(&store, "production", Some(2)).unwrap();
    assert_eq!(served(&other, "a@production").unwrap(), "two");
    assert_eq!(served(&other, "a").unwrap(), "three");
    assert_eq!(
        served(&other, "a@prod").unwrap_err(),
        "Prompt 'a' has no label 'prod'; it has production, staging"
    );
    assert_eq!(
        one(&store, VersionChoice::Label(label("production"))),
        Ok(2)
    );
    let unknown = one(&store, VersionChoice::Label(label("prod"))).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "Prompt 'a' has no label 'prod'; it has production, staging"
    );
    assert_eq!(one(&store, VersionChoice::Number(3)), Ok(3));
    assert!(one(&store, VersionChoice::Number(4)).is_err());
    assert_eq!(remove(&store, "production").unwrap().version, 2);
    assert_eq!(in_project(&other), both[1..]);
    let gone = remove(&store, "production").unwrap_err().to_string();
    assert!(
        gone.ends_with("has no label 'production'; it has staging"),
        "{gone}"
    );
    // Read from the start, and not by what changed.
    assert_eq!(in_project(&home.open()), both[1..]);
}

#[test]
fn a_label_needs_a_version_with_content() {
    let home = Home::in_memory();
    let store = three(&home);
    for (version, why) in [(0, "has no version 0"), (4, "has no version 4")] {
        let refused = set(&store, "x", Some(version)).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    set(&store, "x", None).unwrap();
    prompt(&store, "a", Change::Delete).unwrap();
    let refused = set(&store, "x", Some(1)).unwrap_err();
    assert!(matches!(refused, StoreError::Missing { .. }), "{refused}");
    prompt(&store, "a", Change::Restore { version: None }).unwrap();
    // It kept its label, and its deletion can have none.
    assert_eq!(in_project(&store), [("x".to_owned(), 3)]);
    let refused = set(&store, "x", Some(4)).unwrap_err().to_string();
    assert!(refused.contains("is its deletion"), "{refused}");
    // What was deleted can lose its labels, too.
    prompt(&store, "a", Change::Delete).unwrap();
    remove(&store, "x").unwrap();
    let refused = change(&store, "b", "x", LabelChange::Set { version: None }).unwrap_err();
    assert!(matches!(refused, StoreError::Missing { .. }), "{refused}");
}

#[test]
fn a_protected_label_is_moved_by_administrators_only() {
    let home = Home::in_memory();
    let store = three(&home);
    let protect = |is_protected| Write::Protect {
        project: name("p"),
        label: label("production"),
        is_protected,
        author: Author::Person,
    };
    assert!(write(&store, protect(true)).unwrap().is_new);
    assert!(!write(&store, protect(true)).unwrap().is_new);
    assert_eq!(
        store.protected_labels(&name("p")),
        Ok(vec![label("production")])
    );
    let by_admin = |change| {
        let write = LabelWrite {
            is_admin: true,
            ..label_write("a", "production", change)
        };
        Write::Label(Box::new(write))
    };
    let refused = set(&store, "production", None).unwrap_err().to_string();
    assert_eq!(
        refused,
        "Label 'production' is protected in project 'p': only an administrator moves or removes it"
    );
    write(&store, by_admin(LabelChange::Set { version: Some(1) })).unwrap();
    for refused in [
        set(&store, "production", None),
        remove(&store, "production"),
    ] {
        assert!(matches!(refused, Err(StoreError::LabelProtected { .. })));
    }
    set(&store, "staging", None).unwrap();
    write(&store, by_admin(LabelChange::Remove)).unwrap();
    assert!(write(&store, protect(false)).unwrap().is_new);
    set(&store, "production", None).unwrap();
}

#[test]
fn a_labelled_version_is_never_dropped() {
    let home = Home::in_memory();
    let store = three(&home);
    for at in 4..=8 {
        prompt(&store, "a", new_text(&at.to_string())).unwrap();
    }
    set(&store, "production", Some(2)).unwrap();
    set(&store, "old", Some(4)).unwrap();
    assert_eq!(store.count_old_versions(None, 2).unwrap().versions, 4);
    assert_eq!(store.drop_old_versions(None, 2).unwrap().versions, 4);
    assert_eq!(numbers(&store), [2, 4, 7, 8]);
    assert_eq!(served(&store, "a@production").unwrap(), "two");
    let page = |before, most| -> Vec<u64> {
        let versions = store.versions(&VersionQuery {
            project: name("p"),
            kind: ItemKind::Prompt,
            name: name("a"),
            before,
            most,
            only: None,
        });
        versions.unwrap().iter().map(|it| it.number).collect()
    };
    assert_eq!(page(None, 3), [8, 7, 4]);
    assert_eq!(page(Some(4), 3), [2]);
    assert!(page(Some(2), 3).is_empty());
    // It keeps its versions and labels under another name.
    let rename = Write::RenameItem {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        to: name("b"),
        expected: None,
        author: Author::Person,
    };
    write(&store, rename).unwrap();
    assert_eq!(served(&home.open(), "b@production").unwrap(), "two");
    let back = Write::RenameItem {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("b"),
        to: name("a"),
        expected: Some(8),
        author: Author::Person,
    };
    write(&store, back).unwrap();
    assert_eq!(numbers(&store), [2, 4, 7, 8]);
    // Restored from a version that only its label kept.
    prompt(&store, "a", Change::Restore { version: Some(2) }).unwrap();
    set(&store, "production", None).unwrap();
    assert_eq!(numbers(&store), [2, 4, 7, 8, 9]);
    assert_eq!(store.drop_old_versions(None, 2).unwrap().versions, 2);
    assert_eq!(numbers(&store), [4, 8, 9]);
    assert_eq!(store.drop_old_versions(None, 2).unwrap().versions, 0);
}

#[test]
fn a_labelled_version_that_is_lost_is_noticed() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    for at in 2..=5 {
        prompt(&store, "a", new_text(&at.to_string())).unwrap();
    }
    set(&store, "production", Some(1)).unwrap();
    store.drop_old_versions(None, 2).unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(home.file("default.db")).unwrap();
    let gone = "DELETE FROM version WHERE number = 1";
    assert_eq!(connection.execute(gone, []).unwrap(), 1);
    drop(connection);
    let store = home.open();
    let lost = store.history(&name("p"), ItemKind::Prompt, &name("a"));
    let lost = lost.unwrap_err().to_string();
    assert!(lost.contains("prompt 'a' has lost a version"), "{lost}");
    assert!(store.project(&name("p")).is_err());
}

#[test]
fn an_item_has_a_bounded_number_of_labels() {
    let home = Home::in_memory();
    let store = three(&home);
    for at in 0..MOST_LABELS {
        set(&store, &format!("l{at}"), None).unwrap();
    }
    let refused = set(&store, "more", None).unwrap_err().to_string();
    assert_eq!(
        refused,
        "Prompt 'a' has 32 labels, which is the limit: remove one first"
    );
    set(&store, "l0", Some(1)).unwrap();
    drop(store);
    let limits = Limits {
        project_items: 32,
        ..Limits::default()
    };
    let store = home
        .workspaces
        .open(&name("default"), Access::Write, &limits)
        .unwrap();
    prompt(&store, "b", text("x")).unwrap();
    let refused = change(&store, "b", "x", LabelChange::Set { version: None });
    let refused = refused.unwrap_err().to_string();
    assert_eq!(
        refused,
        "Project 'p' has 32 labels, which is the limit: remove one first"
    );
}
