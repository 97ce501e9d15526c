//! Many at once on one file.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

use twig_core::store::{ItemKind, Store};

use super::child;
use super::support::*;
use crate::support::LONG;

#[test]
fn twenty_that_start_at_once_share_one_file() {
    for round in 0..20 {
        let home = Home::in_memory();
        let barrier = Barrier::new(20);
        thread::scope(|scope| {
            for at in 0..20 {
                let (home, barrier) = (&home, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let store = home.open();
                    create_project(&store, &format!("p{at}")).unwrap();
                });
            }
        });
        // Had two of them made the file, the projects of one would be gone.
        assert_eq!(home.open().projects().unwrap().len(), 20, "round {round}");
    }
}

#[test]
fn twenty_processes_that_start_at_once_share_one_file() {
    for _ in 0..3 {
        let home = Home::in_memory();
        let folder = home.workspaces.folder();
        let children: Vec<_> = (0..20)
            .map(|at| child::start(folder, &format!("join p{at}")))
            .collect();
        for child in children {
            child::finish(child);
        }
        assert_eq!(home.open().projects().unwrap().len(), 20);
        assert_eq!(home.files(), ["default.db", "default.lock"]);
    }
}

#[test]
fn ten_that_count_together_lose_nothing() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "n", text("0")).unwrap();
    let folder = home.workspaces.folder();
    let children: Vec<_> = (0..5)
        .map(|_| child::start(folder, "increment 200"))
        .collect();
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| child::increment(&home.open(), 200));
        }
    });
    for child in children {
        child::finish(child);
    }
    assert_eq!(contents(&store), [("n".to_owned(), "2000".to_owned())]);
    let history = store.history(&name("p"), ItemKind::Prompt, &name("n"));
    assert_eq!(history.unwrap().len(), 2001);
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let home = Home::with_project();
    let mut acknowledged = Vec::new();
    for round in 0..12 {
        let folder = home.workspaces.folder();
        let mut children: Vec<_> = ["x", "y", "z"]
            .iter()
            .map(|who| child::start(folder, &format!("write {who}{round}")))
            .collect();
        let (sender, said) = channel();
        let readers: Vec<_> = children
            .iter_mut()
            .map(child::lines)
            .map(|lines| {
                let sender = sender.clone();
                thread::spawn(move || lines.for_each(|line| sender.send(line).unwrap()))
            })
            .collect();
        drop(sender);
        for _ in 0..5 + round {
            acknowledged.push(said.recv_timeout(LONG).unwrap());
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        acknowledged.extend(said);
        for reader in readers {
            reader.join().unwrap();
        }
        let there = contents(&home.open());
        for name in &acknowledged {
            let is_it = |(found, text): &(String, String)| found == name && text == name;
            assert!(there.iter().any(is_it), "{name} is lost");
        }
    }
}
