//! A file that is removed, replaced or overwritten while it is open.

use std::fs;
use std::sync::mpsc::channel;

use twig_core::store::{Store, StoreError};
use twig_sources::Access;

use super::support::*;
use crate::support::LONG;

/// Another workspace's file with one prompt in project `p`.
fn another(prompts: &[&str]) -> Home {
    let other = Home::with_project();
    let store = other.open();
    for prompt_name in prompts {
        prompt(&store, prompt_name, text("of another")).unwrap();
    }
    other
}

/// Puts another file in the place of the one that is open. It is refused until the log of the one before
/// is gone.
fn replace(home: &Home, other: &Home, store: &dyn Store) {
    fs::rename(other.file("default.db"), home.file("default.db")).unwrap();
    let refused = store.revision().unwrap_err().to_string();
    assert_eq!(
        refused,
        "The file of workspace 'default' is not the one that its log (default.db-wal) belongs to: put that \
         file back, or remove the log and default.db-shm, which loses the last changes of that file"
    );
    let refused = prompt(store, "lost", text("two")).unwrap_err();
    assert!(!refused.is_callers(), "{refused}");
    for log in ["default.db-wal", "default.db-shm"] {
        fs::remove_file(home.file(log)).unwrap();
    }
}

#[test]
fn a_write_to_a_file_that_was_removed_is_an_error() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    fs::remove_file(home.file("default.db")).unwrap();
    for _ in 0..2 {
        let refused = prompt(&store, "b", text("two")).unwrap_err();
        assert!(!refused.is_callers(), "{refused}");
        store.revision().unwrap_err();
        store.project(&name("p")).unwrap_err();
    }
    // Once there is one again, it is used.
    home.workspaces.create(&name("default")).unwrap();
    assert_eq!(store.projects(), Ok(Vec::new()));
    create_project(&store, "p").unwrap();
    prompt(&store, "b", text("two")).unwrap();
    assert_eq!(contents(&home.open()).len(), 1);
}

#[test]
fn a_file_that_took_the_place_of_ours_is_served_and_written_to() {
    let home = Home::with_project();
    let (store, second) = (home.open(), home.open());
    prompt(&store, "a", text("one")).unwrap();
    assert_eq!(contents(&second).len(), 1);
    let mut last = store.revision().unwrap();
    for round in 0..3 {
        let other = another(&["x", "y"]);
        replace(&home, &other, &store);
        let revision = store.revision().unwrap();
        assert!(revision > last, "{round}: {revision} after {last}");
        assert_eq!(names(&project(&store)), ["x", "y"]);
        let outcome = prompt(&second, "new", text("two"));
        let is_there = names(&project(&home.open())).contains(&"new");
        assert_eq!(outcome.is_ok(), is_there, "{outcome:?}");
        prompt(&second, "newer", text("two")).unwrap();
        assert!(names(&project(&store)).contains(&"newer"));
        last = store.revision().unwrap();
    }
    drop((store, second));
    assert!(names(&project(&home.open())).contains(&"newer"));
}

#[test]
fn a_log_that_was_removed_costs_no_acknowledged_write() {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("one")).unwrap();
    fs::remove_file(home.file("default.db-wal")).unwrap();
    let refused = prompt(&store, "b", text("two"));
    let fresh = home.open();
    let found = fresh.project(&name("p")).unwrap();
    let is_there = found.is_some_and(|project| names(&project).contains(&"b"));
    assert_eq!(refused.is_ok(), is_there, "{refused:?}");
}

#[test]
fn a_file_that_was_overwritten_in_place_serves_no_wrong_text() {
    for prompts in [&["x"][..], &["a"], &["x", "y", "z", "a"]] {
        let home = Home::with_project();
        let store = home.open();
        prompt(&store, "a", text("one")).unwrap();
        let other = another(prompts);
        copy(&other.file("default.db"), &home.file("default.db"));
        let outcome = prompt(&store, "b", text("two"));
        // Whoever looks now finds what was acknowledged, or hears of the damage.
        for looking in [home.try_open(Access::Read), home.try_open(Access::Write)] {
            match looking.and_then(|fresh| fresh.project(&name("p"))) {
                Ok(found) => {
                    let found = found.unwrap();
                    let is_there = names(&found).contains(&"b");
                    assert!(outcome.is_err() || is_there, "{found:?}");
                }
                Err(StoreError::Damaged { .. }) => {
                    outcome.as_ref().unwrap_err();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_watcher_follows_a_file_that_was_replaced() {
    let home = Home::with_project();
    let store = home.open();
    let (sender, heard) = channel();
    let _watch = store.watch(Box::new(move || {
        let _ = sender.send(());
    }));
    let other = another(&["x"]);
    replace(&home, &other, &store);
    heard.recv_timeout(LONG).unwrap();
    assert_eq!(names(&project(&store)), ["x"]);
    let second = home.open();
    while heard.try_recv().is_ok() {}
    prompt(&second, "y", text("two")).unwrap();
    heard.recv_timeout(LONG).unwrap();
    assert_eq!(names(&project(&store)), ["x", "y"]);
}
