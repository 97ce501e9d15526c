//! Limits at the edge and one past it, and names.

use twig_core::Limits;
use twig_core::store::{
    Change, GivenContent, ItemDraft, ItemKind, Noun, Patch, Store, StoreError, StoreName,
};
use twig_sources::{Access, SqliteStore};

use super::support::*;

fn open(home: &Home, limits: &Limits) -> SqliteStore {
    let opened = home
        .workspaces
        .open(&name("default"), Access::Write, limits);
    opened.unwrap()
}

#[test]
fn a_project_holds_so_many_and_not_one_more() {
    let home = Home::with_project();
    let limits = Limits {
        project_items: 3,
        ..Limits::default()
    };
    let store = open(&home, &limits);
    prompt(&store, "a", text("x")).unwrap();
    resource(&store, "a", at("x:1", "x")).unwrap();
    prompt(&store, "b", text("x")).unwrap();
    let full = "Project 'p' has 3 prompts and resources, which is the limit: delete some first";
    let refused = prompt(&store, "c", text("x")).unwrap_err();
    assert_eq!(refused.to_string(), full);
    prompt(&store, "b", new_text("y")).unwrap();
    prompt(&store, "b", Change::Delete).unwrap();
    resource(&store, "c", at("x:2", "x")).unwrap();
    let refused = prompt(&store, "b", Change::Restore { version: Some(1) }).unwrap_err();
    assert_eq!(refused.to_string(), full);
    assert_eq!(project(&store).items.len(), 3);
}

#[test]
fn the_largest_contents_are_kept() {
    let home = Home::in_memory();
    let limits = Limits::default();
    let store = open(&home, &limits);
    create_project(&store, "p").unwrap();
    let draft = |size: usize| {
        Change::Create(ItemDraft {
            content: GivenContent::Bytes(vec![b'x'; size]),
            description: None,
            uri: Some("x:y".into()),
            mime: None,
        })
    };
    for (kind, limit) in [
        (ItemKind::Prompt, limits.verbatim),
        (ItemKind::Resource, limits.document),
    ] {
        let refused = item(&store, kind, "a", draft(limit + 1)).unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
        item(&store, kind, "a", draft(limit)).unwrap();
    }
    for item in project(&store).items {
        let bytes = store.content(&item.head.content.digest).unwrap();
        assert_eq!(bytes.len() as u64, item.head.content.size);
    }
}

#[test]
fn what_was_written_is_read_whatever_is_allowed_since() {
    let home = Home::in_memory();
    let limits = Limits {
        document: 32 * 1024 * 1024,
        ..Limits::default()
    };
    let generous = open(&home, &limits);
    create_project(&generous, "p").unwrap();
    let large = "x".repeat(limits.document);
    resource(&generous, "a", at("x:y", &large)).unwrap();
    let store = open(&home, &Limits::default());
    let digest = project(&store).items[0].head.content.digest;
    assert_eq!(store.content(&digest).unwrap().len(), limits.document);
    let refused = resource(&store, "b", at("x:z", &large)).unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
    // An earlier version is no new content.
    resource(&store, "a", Change::Delete).unwrap();
    resource(&store, "a", Change::Restore { version: Some(1) }).unwrap();
}

#[test]
fn names_differ_by_case_and_may_be_long() {
    let home = Home::with_project();
    let store = home.open();
    let long = "n".repeat(255);
    for prompt_name in ["a", "A", "-", "...", "_.-", &long] {
        prompt(&store, prompt_name, text(prompt_name)).unwrap();
        assert!(matches!(
            prompt(&store, prompt_name, text("x")),
            Err(StoreError::Exists { .. })
        ));
    }
    assert_eq!(contents(&store).len(), 6);
    for bad in ["", ".", "..", "a/b", "a\n", "ä", &"n".repeat(256)] {
        StoreName::parse(Noun::Prompt, bad).unwrap_err();
    }
}

#[test]
fn what_is_not_there_is_said_to_be_missing() {
    let home = Home::with_project();
    let store = home.open();
    for change in [
        new_text("x"),
        Change::Delete,
        Change::Restore { version: Some(1) },
    ] {
        assert_eq!(
            prompt(&store, "a", change).unwrap_err().to_string(),
            "Prompt 'a' does not exist in project 'p'"
        );
    }
    let history = store.history(&name("p"), ItemKind::Prompt, &name("a"));
    assert_eq!(
        history.unwrap_err().to_string(),
        "Prompt 'a' does not exist in project 'p'"
    );
    let history = store.history(&name("no"), ItemKind::Prompt, &name("a"));
    assert_eq!(
        history.unwrap_err().to_string(),
        "Project 'no' does not exist in workspace 'default'"
    );
    assert_eq!(store.project(&name("no")), Ok(None));
    prompt(&store, "a", text("x")).unwrap();
    let refused = prompt(&store, "a", Change::Restore { version: Some(2) }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Prompt 'a' has no version 2; the last one is 1"
    );
    prompt(&store, "a", Change::Update(Patch::default())).unwrap_err();
    assert_eq!(changes(&home), 2);
}
