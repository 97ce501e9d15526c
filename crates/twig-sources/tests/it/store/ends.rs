//! The end of a store, and waits that end.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use twig_core::Limits;
use twig_core::store::{Author, Change, ItemKind, Store, StoreError, Write, Written};
use twig_sources::Access;
use twig_testkit::figure;

use super::support::*;
use crate::support::LONG;

fn create(project: &str) -> Write {
    Write::CreateProject {
        name: name(project),
        author: Author::Person,
    }
}

#[test]
fn the_last_one_out_leaves_one_file() {
    let home = Home::with_project();
    let (store, second) = (home.open(), home.open());
    let watch = store.watch(Box::new(|| {}));
    prompt(&store, "a", text("one")).unwrap();
    prompt(&second, "b", text("one")).unwrap();
    drop(watch);
    drop(store);
    drop(second);
    assert_eq!(home.files(), ["default.db", "default.lock"]);
}

#[test]
fn every_write_hears_what_came_of_it_also_at_the_end() {
    let home = Home::with_project();
    let store = home.open();
    let (sender, told) = channel();
    for at in 0..50 {
        let sender = sender.clone();
        let told =
            move |outcome: Result<_, StoreError>| sender.send((at, outcome.is_ok())).unwrap();
        store.write(create(&format!("q{at}")), Box::new(told));
    }
    drop((store, sender));
    let outcomes: Vec<_> = told.iter().collect();
    assert_eq!(outcomes.len(), 50);
    let store = home.open();
    for (at, is_done) in outcomes {
        let found = store.project(&name(&format!("q{at}"))).unwrap();
        assert_eq!(found.is_some(), is_done, "q{at}");
    }
}

#[test]
fn whoever_hears_of_a_write_may_drop_the_store() {
    let home = Home::with_project();
    let store = Arc::new(home.open());
    let (sender, told) = channel();
    let kept = Arc::clone(&store);
    let done = move |outcome: Result<_, StoreError>| {
        drop(kept);
        sender.send(outcome.is_ok()).unwrap();
    };
    store.write(create("q"), Box::new(done));
    drop(store);
    told.recv_timeout(LONG).unwrap();
}

#[test]
fn a_listener_that_panics_costs_nobody_else_anything() {
    let home = Home::with_project();
    let store = home.open();
    store.write(create("q"), Box::new(|_| panic!("on purpose")));
    prompt(&store, "a", text("one")).unwrap();
    assert_eq!(store.projects().unwrap().len(), 2);
}

/// Holds the lock of whoever writes.
fn hold(home: &Home) -> Connection {
    let other = Connection::open(home.file("default.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

#[test]
fn a_write_waits_so_long_and_no_longer() {
    let home = Home::with_project();
    let limits = Limits {
        store_millis: 300,
        ..Limits::default()
    };
    let open = || {
        home.workspaces
            .open(&name("default"), Access::Write, &limits)
    };
    let store = open().unwrap();
    prompt(&store, "a", text("one")).unwrap();
    let other = hold(&home);
    let since = Instant::now();
    assert_eq!(
        prompt(&store, "b", text("one")).unwrap_err().to_string(),
        "Another program has been writing to workspace 'default' for 1 s, nothing was written: try again"
    );
    assert!(since.elapsed() >= Duration::from_millis(300));
    // Who reads does not wait, nor does who starts.
    assert_eq!(contents(&store).len(), 1);
    assert_eq!(contents(&open().unwrap()).len(), 1);
    drop(other);
    prompt(&store, "b", text("one")).unwrap();
}

#[test]
fn a_reader_that_is_kept_out_is_told_that_it_could_not_read() {
    let home = Home::with_project();
    let limits = Limits {
        store_millis: 100,
        ..Limits::default()
    };
    let lock = fs::File::options()
        .write(true)
        .open(home.file("default.lock"))
        .unwrap();
    lock.lock().unwrap();
    let opened = home
        .workspaces
        .open(&name("default"), Access::Read, &limits);
    assert_eq!(
        opened.unwrap_err().to_string(),
        "Workspace 'default' cannot be read: another program has had it locked for 1 s; try again"
    );
}

#[test]
fn writes_that_wait_together_wait_no_longer_than_one() {
    let home = Home::with_project();
    let limits = Limits {
        store_millis: 300,
        ..Limits::default()
    };
    let opened = home
        .workspaces
        .open(&name("default"), Access::Write, &limits);
    let store = opened.unwrap();
    prompt(&store, "a", text("one")).unwrap();
    let other = hold(&home);
    let since = Instant::now();
    let (sender, told) = channel();
    for at in 0..20 {
        let sender = sender.clone();
        let done = move |outcome| sender.send((outcome, Instant::now())).unwrap();
        store.write(create(&format!("q{at}")), Box::new(done));
    }
    for _ in 0..20 {
        let (outcome, at) = told.recv_timeout(LONG).unwrap();
        assert!(matches!(outcome, Err(StoreError::Busy { .. })));
        // One after the other it would be 6 s.
        assert!(at - since < Duration::from_secs(3));
    }
    drop(other);
    create_project(&store, "at-last").unwrap();
}

/// Hands so many writes over while somebody else holds the lock; how many are refused at once.
fn refused_at_once(home: &Home, store: &dyn Store, writes: Vec<Write>) -> usize {
    let other = hold(home);
    let (sender, told) = channel();
    let count = writes.len();
    for wanted in writes {
        let sender = sender.clone();
        store.write(
            wanted,
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
    }
    // Who is not taken hears it before `write` returns; nobody else hears anything.
    let refused: Vec<_> = told.try_iter().collect();
    for outcome in &refused {
        assert_eq!(
            outcome.as_ref().unwrap_err().to_string(),
            "Too many changes wait to be written to workspace 'default', nothing was written: \
             try again in a moment"
        );
    }
    drop(other);
    for _ in refused.len()..count {
        told.recv_timeout(LONG).unwrap().unwrap();
    }
    refused.len()
}

#[test]
fn only_so_many_writes_wait() {
    let home = Home::with_project();
    let store = home.open();
    let writes = || (0..300).map(|at| create(&format!("q{at}"))).collect();
    // 256 wait. The thread may have taken out the first transaction, which has 1 to 32 of them.
    let refused = refused_at_once(&home, &store, writes());
    assert!((300 - 256 - 32..=300 - 256).contains(&refused), "{refused}");
    create_project(&store, "at-last").unwrap();
}

#[test]
fn only_so_many_bytes_wait() {
    let home = Home::with_project();
    let store = home.open();
    let large = |at: u32| {
        let uri = format!("a://{at}");
        let content = at.to_string().repeat(15 * 1024 * 1024);
        let change = super::support::at(&uri, &content);
        Write::Item(Box::new(item_write(
            ItemKind::Resource,
            &format!("r{at}"),
            change,
        )))
    };
    let refused = refused_at_once(&home, &store, (0..6).map(large).collect());
    assert_eq!(refused, 2);
    prompt(&store, "a", text("one")).unwrap();
}

#[test]
fn writes_that_are_made_together_hear_each_of_their_own() {
    let home = Home::with_project();
    let store = home.open();
    // The thread is there, and has the next ones wait for somebody else together.
    prompt(&store, "first", text("one")).unwrap();
    let other = hold(&home);
    let (sender, told) = channel();
    let wanted = [
        ("a", text("one")),
        ("a", text("again")),
        ("b", text("one")),
        ("a", new_text("two")),
        ("a", new_text("two")),
        ("gone", Change::Delete),
        ("b", Change::Delete),
    ];
    for (at, (prompt, change)) in wanted.into_iter().enumerate() {
        let sender = sender.clone();
        let done = move |outcome: Result<Written, StoreError>| {
            let outcome = outcome.map(|written| (written.version, written.is_new));
            let outcome = outcome.map_err(|error| error.to_string());
            sender.send((at, outcome)).unwrap();
        };
        let write = item_write(ItemKind::Prompt, prompt, change);
        store.write(Write::Item(Box::new(write)), Box::new(done));
    }
    drop(other);
    let refused = |sentence: &str| Err(format!("Prompt {sentence} in project 'p'"));
    let expected = [
        Ok((1, true)),
        refused("'a' already exists"),
        Ok((1, true)),
        Ok((2, true)),
        Ok((2, false)),
        refused("'gone' does not exist"),
        Ok((2, true)),
    ];
    for expected in expected.into_iter().enumerate() {
        assert_eq!(told.recv_timeout(LONG).unwrap(), expected);
    }
    // Those that were refused or changed nothing left no trace.
    assert_eq!(changes(&home), 2 + 4);
    assert_eq!(
        contents(&store),
        [
            ("a".to_owned(), "two".to_owned()),
            ("first".to_owned(), "one".to_owned())
        ]
    );
}

#[test]
fn a_write_that_gets_its_turn_in_time_is_done() {
    let home = Home::with_project();
    let store = home.open();
    let other = hold(&home);
    let (sender, told) = channel();
    let done = move |outcome| sender.send(outcome).unwrap();
    store.write(create("q"), Box::new(done));
    assert!(told.recv_timeout(Duration::from_millis(100)).is_err());
    other.execute_batch("COMMIT").unwrap();
    told.recv_timeout(LONG).unwrap().unwrap();
}

#[test]
fn the_end_does_not_wait_for_others() {
    let home = Home::with_project();
    let store = home.open();
    let _other = hold(&home);
    let (sender, told) = channel();
    let done = move |outcome| sender.send(outcome).unwrap();
    store.write(create("q"), Box::new(done));
    let since = Instant::now();
    let ending = thread::spawn(move || drop(store));
    let refused = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(refused.to_string(), STOPPING);
    ending.join().unwrap();
    figure(
        "the end beside another writer",
        since.elapsed(),
        Duration::from_secs(2),
    );
}

const STOPPING: &str =
    "The server is stopping, nothing was written: start it again, then repeat the change";

#[test]
fn the_end_does_not_wait_for_whoever_opens_the_workspace() {
    let home = Home::with_project();
    let store = home.open();
    let watch = store.watch(Box::new(|| {}));
    // The lock under which others open, migrate and delete.
    let lock = fs::File::options()
        .write(true)
        .open(home.file("default.lock"))
        .unwrap();
    lock.lock().unwrap();
    let (sender, told) = channel();
    let done = move |outcome| sender.send(outcome).unwrap();
    store.write(create("q"), Box::new(done));
    assert!(told.recv_timeout(Duration::from_millis(100)).is_err());
    let since = Instant::now();
    store.close();
    drop(watch);
    drop(store);
    figure(
        "the end beside an open",
        since.elapsed(),
        Duration::from_secs(1),
    );
    let refused = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(refused.to_string(), STOPPING);
}
