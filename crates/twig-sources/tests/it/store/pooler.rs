//! Workspaces behind pgbouncer in transaction mode, with four connections to the database: what they
//! answer is the same. Skipped, with a line that says so, where it is not installed.

use std::sync::mpsc::channel;
use std::sync::{Barrier, LazyLock};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use twig_core::Limits;
use twig_core::store::{Store, Write};
use twig_sources::{Access, DatabaseAddress, StorePlace, StoreRoles, copy_workspace};
use twig_testkit::PgServer;

use super::model;
use super::postgres::{database, everything, open, place_at, said, script};
use super::support::*;
use crate::support::LONG;

static POOLED: LazyLock<Option<PgServer>> = LazyLock::new(|| {
    let server = PgServer::start()?;
    server.pool().then_some(server)
});

/// The workspaces of a new database, through the pooler.
fn pooled(server: &PgServer) -> StorePlace {
    let place = place_at(&server.pooled_url(&database(server)));
    place.migrate(StoreRoles::default()).unwrap();
    place
}

#[test]
fn the_model_holds_behind_a_pooler() {
    let Some(server) = &*POOLED else { return };
    let config = ProptestConfig {
        cases: 6,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = proptest::collection::vec(model::step(), 50);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        let place = pooled(server);
        model::run(&steps, || Box::new(open(&place)));
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn files_and_a_pooled_database_answer_the_same_and_are_copied_both_ways() {
    let Some(server) = &*POOLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = StorePlace::folder(folder.path().join("workspaces"));
    let database = pooled(server);
    let (one, two) = (open(&files), open(&database));
    let mut writes = script();
    // Its projects are not all deleted at the end.
    writes.truncate(writes.len() - 2);
    for wanted in writes {
        let shown = format!("{wanted:?}");
        let answers = [&one, &two].map(|store| said(write(store, wanted.clone())));
        assert_eq!(answers[0], answers[1], "{shown}");
    }
    assert_eq!(contents(&one), contents(&two));
    let limits = Limits::default();
    copy_workspace(&one, &database, &name("there"), &limits).unwrap();
    let there = database.open(&name("there"), Access::Write, &limits);
    let there = there.unwrap();
    assert_eq!(everything(&there), everything(&one));
    copy_workspace(&there, &files, &name("back"), &limits).unwrap();
    let back = files.open(&name("back"), Access::Write, &limits).unwrap();
    assert_eq!(everything(&back), everything(&one));
    database.delete(&name("there")).unwrap();
    assert_eq!(database.list().unwrap(), [name("default")]);
}

#[test]
fn twenty_migrate_at_once_through_a_pooler() {
    let Some(server) = &*POOLED else { return };
    let url = server.pooled_url(&database(server));
    let barrier = Barrier::new(20);
    let made: usize = std::thread::scope(|scope| {
        let migrate = || {
            barrier.wait();
            let migrated = place_at(&url).migrate(StoreRoles::default());
            migrated.unwrap().unwrap()
        };
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(migrate)).collect();
        let versions = threads.into_iter().map(|thread| thread.join().unwrap());
        versions.filter(|(from, _)| *from == 0).count()
    });
    assert_eq!(made, 1);
}

/// Four connections serve more clients than that, which give up half of their calls: a setting that
/// stayed on a connection would show the rows of one workspace to the other.
#[test]
fn nothing_stays_on_a_pooled_connection() {
    let Some(server) = &*POOLED else { return };
    let of = database(server);
    let url = server.pooled_url(&of);
    let place = place_at(&url);
    place.migrate(StoreRoles::default()).unwrap();
    for workspace in ["red", "blue"] {
        place.create(&name(workspace)).unwrap();
        let store = place.open(&name(workspace), Access::Write, &Limits::default());
        create_project(&store.unwrap(), "p").unwrap();
    }
    std::thread::scope(|scope| {
        for number in 0..8_u64 {
            let url = &url;
            scope.spawn(move || {
                let workspace = ["red", "blue"][usize::try_from(number % 2).unwrap()];
                let limits = Limits {
                    store_millis: if number < 4 { 3 + number } else { 10_000 },
                    ..Limits::default()
                };
                let place = place_at(url);
                for round in 0..10 {
                    let Ok(store) = place.open(&name(workspace), Access::Write, &limits) else {
                        continue;
                    };
                    for at in 0..10 {
                        let of = format!("{workspace}-{number}-{round}-{at}");
                        let _ = prompt(&store, &of, text(&of));
                        let found = store.project(&name("p"));
                        let items = found.map_or_else(|_| Vec::new(), |it| it.unwrap().items);
                        let is_own = |of: &str| of.starts_with(workspace);
                        assert!(items.iter().all(|item| is_own(item.name.as_str())));
                    }
                }
            });
        }
    });
    for workspace in ["red", "blue"] {
        let store = place.open(&name(workspace), Access::Write, &Limits::default());
        let store = store.unwrap();
        assert!(project(&store).items.len() >= 200);
        let chains = store.check_changes().unwrap();
        assert!(chains.len() == 1 && chains[0].broken.is_none());
    }
    // What was given up is rolled back.
    let open = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND state LIKE 'idle in%'";
    let begun = Instant::now();
    while server.sql(&of, open).trim() != "0" {
        assert!(begun.elapsed() < LONG, "a transaction stays open");
    }
}

/// The time from writes of one server to the signal at another one.
fn delays(server: &PgServer, listen_url: Option<String>) -> Vec<Duration> {
    let of = database(server);
    let url = server.pooled_url(&of);
    place_at(&url).migrate(StoreRoles::default()).unwrap();
    let listening = StorePlace::database(&DatabaseAddress {
        url: url.clone(),
        listen_url: listen_url.map(|base| base.replace("/postgres?", &format!("/{of}?"))),
        freshness: Duration::from_millis(50),
    });
    let listening = listening.unwrap();
    let (writer, reader) = (open(&place_at(&url)), open(&listening));
    create_project(&writer, "p").unwrap();
    let (sender, told) = channel();
    let watch = reader.watch(Box::new(move || {
        let _ = sender.send(());
    }));
    let facts = listening.facts().unwrap().unwrap();
    let mut delays = Vec::new();
    for number in 0..12 {
        while told.try_recv().is_ok() {}
        prompt(&writer, &format!("a{number}"), text("x")).unwrap();
        let written = Instant::now();
        told.recv_timeout(LONG).unwrap();
        delays.push(written.elapsed());
        assert_eq!(names(&project(&reader)).len(), number + 1);
    }
    drop(watch);
    assert_eq!(facts.notifies, listening.facts().unwrap().unwrap().notifies);
    delays.sort();
    if facts.notifies { delays } else { Vec::new() }
}

#[test]
fn with_an_address_of_its_own_to_listen_at_writes_are_heard() {
    let Some(server) = &*POOLED else { return };
    // Through the pooler alone, the test notification does not arrive.
    assert_eq!(delays(server, None), []);
    let heard = delays(server, Some(server.url("postgres")));
    // Where nothing is heard, a look happens once a second: some would take most of one.
    assert!(
        heard[heard.len() / 2] < Duration::from_millis(500),
        "{heard:?}"
    );
}

#[test]
fn projects_are_created_through_a_pooler_by_many_at_once() {
    let Some(server) = &*POOLED else { return };
    let place = pooled(server);
    let stores: Vec<_> = (0..6).map(|_| open(&place)).collect();
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || create_project(store, &format!("p{number}")).unwrap());
        }
    });
    assert_eq!(stores[0].projects().unwrap().len(), 6);
    let rename = Write::RenameProject {
        name: name("p0"),
        to: name("q"),
        author: twig_core::store::Author::Person,
    };
    write(&stores[1], rename).unwrap();
    assert_eq!(stores[2].projects().unwrap().len(), 6);
}
