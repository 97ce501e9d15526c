//! A network between a server and its database that loses packets without a word. Skipped, with a line
//! that says so, without PostgreSQL or where no network can be made.

use std::process::Stdio;
use std::time::{Duration, Instant};

use twig_core::Limits;
use twig_core::store::StoreError;
use twig_sources::{Access, StoreRoles};
use twig_testkit::{CutLink, PgServer, figure, rounds};

use super::child;
use super::postgres::{database, open, place_at};
use super::support::*;
use crate::support::LONG;

const URL: &str = "TWIG_TEST_URL";

/// Writes until it is killed, and says what came of each write.
#[test]
#[ignore = "another test starts it"]
fn writer() {
    let limits = Limits {
        store_millis: 2_000,
        ..Limits::default()
    };
    let place = place_at(&std::env::var(URL).unwrap());
    let store = place.open(&name("default"), Access::Write, &limits);
    let store = store.unwrap();
    for number in 0.. {
        let of = format!("a{number}");
        match prompt(&store, &of, text(&of)) {
            Ok(_) => println!("> made {of}"),
            Err(StoreError::Unknown { .. }) => println!("> unknown {of}"),
            // Behind a cut, the transaction of a lost connection stays open for a while.
            Err(StoreError::Offline { .. } | StoreError::Busy { .. }) => println!("> refused {of}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn lost_packets_are_noticed_and_nothing_is_written_twice() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let Some(link) = CutLink::new() else { return };
    let of = database(&server);
    place_at(&server.url(&of))
        .migrate(StoreRoles::default())
        .unwrap();
    create_project(&open(&place_at(&server.url(&of))), "p").unwrap();
    server.listen_at(&link.outside());
    let url = format!("postgres://keeper@{}/{of}?sslmode=disable", link.outside());
    let mut command = link.inside(&std::env::current_exe().unwrap());
    command
        .args(["--exact", "store::cut::writer", "--ignored", "--nocapture"])
        .env(URL, url)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    let mut lines = child::lines(&mut writer);
    let (mut made, mut refused) = (Vec::new(), Vec::new());
    let mut next = || {
        let said = lines.next().expect("the writer goes on");
        let (what, of) = said.split_once(' ').unwrap();
        match what {
            "made" => made.push(of.to_owned()),
            "refused" => refused.push(of.to_owned()),
            _ => {}
        }
        what == "made"
    };
    for _ in 0..rounds(3, 20) {
        while !next() {}
        link.cut();
        let cut = Instant::now();
        while next() {}
        let noticed = cut.elapsed();
        println!("noticed after {} ms", noticed.as_millis());
        assert!(noticed < LONG);
        figure(
            "lost packets are not noticed",
            noticed,
            Duration::from_secs(10),
        );
        // Further writes are refused without a wait for the network.
        for _ in 0..5 {
            assert!(!next());
        }
        link.heal();
        while !next() {}
        for _ in 0..5 {
            next();
        }
        // Each connection that is reset is made again, and a write that met this is made once.
        for _ in 0..3 {
            link.reset();
            for _ in 0..5 {
                next();
            }
            while !next() {}
        }
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let store = open(&place_at(&server.url(&of)));
    let project = project(&store);
    let found = names(&project);
    let is_there = |of: &&String| found.contains(&of.as_str());
    assert_eq!(made.iter().filter(|of| !is_there(of)).count(), 0);
    assert_eq!(refused.iter().filter(is_there).count(), 0);
    assert!(
        project.items.iter().all(|item| item.head.number == 1),
        "written twice"
    );
    assert_eq!(store.check_changes().unwrap()[0].broken, None);
}
