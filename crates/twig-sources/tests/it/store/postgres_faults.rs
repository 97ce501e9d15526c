//! Databases that fail: a full disk, a refused password. Skipped, with a line that says so, where
//! PostgreSQL is not installed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use twig_core::Limits;
use twig_core::store::{Author, Store, Write};
use twig_sources::{Access, DatabaseAddress, StorePlace, StoreRoles};
use twig_testkit::{PgServer, figure};

use super::postgres::{database, open, place_at};
use super::support::*;

/// More than fits on the disk of the test.
const MANY: u32 = 200;

/// While one content takes long to read, other callers get theirs, and learn whether anything has
/// changed.
#[test]
fn a_read_that_takes_long_makes_nobody_wait() {
    let Some(server) = PgServer::start() else {
        return;
    };
    server.create("slow");
    let place = place_at(&server.url("slow"));
    place.migrate(StoreRoles::default()).unwrap();
    let limits = Limits {
        store_millis: 60_000,
        ..Limits::default()
    };
    let store = place.open(&name("default"), Access::Write, &limits);
    let store = store.unwrap();
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("kept")).unwrap();
    let digest = project(&store).items[0].head.content.digest;
    assert_eq!(store.content(&digest).unwrap(), b"kept");
    let is_waiting = |what: &str| {
        let asked = format!("SELECT count(*) FROM pg_stat_activity WHERE {what}");
        server.sql("slow", &asked).trim() != "0"
    };
    std::thread::scope(|scope| {
        let holder = "BEGIN; LOCK TABLE twig.content IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)";
        scope.spawn(|| server.sql_of("slow", "twig", holder));
        while !is_waiting("wait_event = 'PgSleep'") {}
        let slow = scope.spawn(|| store.content(&[1; 32]));
        while !is_waiting("wait_event_type = 'Lock'") {}
        assert_eq!(store.content(&digest).unwrap(), b"kept");
        let before = store.revision().unwrap();
        let other = place.open(&name("default"), Access::Write, &limits);
        write(
            &other.unwrap(),
            Write::CreateProject {
                name: name("q"),
                author: Author::Person,
            },
        )
        .unwrap();
        while store.revision().unwrap() == before {}
        assert!(!slow.is_finished());
        server.sql(
            "slow",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
        );
        assert!(slow.join().unwrap().is_err(), "there is no such content");
    });
}

#[test]
fn a_full_disk_is_named_and_what_was_acknowledged_stays() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let Some(disk) = server.create_on_small_disk("small", 14 * 1024 * 1024) else {
        return;
    };
    let place = place_at(&server.url("small"));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    let mut made = Vec::new();
    let mut refused = None;
    for number in 0..MANY {
        let of = format!("a{number}");
        // Bytes that cannot be compressed.
        let noise = (number * 12_000..(number + 1) * 12_000)
            .map(|at| format!("{:08x}", at.wrapping_mul(2_654_435_761)));
        let noise = noise.collect::<Vec<_>>().concat();
        match prompt(&store, &of, text(&noise)) {
            Ok(_) => made.push(of),
            Err(error) => {
                refused = Some(error.to_string());
                break;
            }
        }
    }
    let refused = refused.expect("the disk is small");
    assert!(
        refused.contains("disk of the database is full"),
        "{refused}"
    );
    assert!(!made.is_empty());
    // Reads go on, unless one has to write out what is in the memory of the database.
    let again = open(&place);
    if let Err(error) = again.project(&name("p")) {
        let said = error.to_string();
        assert!(said.contains("disk of the database is full"), "{said}");
    }
    // With room, the same connection goes on, and nothing of the refused write is there.
    disk.grow(64 * 1024 * 1024);
    prompt(&store, "b", text("x")).unwrap();
    made.push("b".to_owned());
    made.sort_unstable();
    assert_eq!(names(&project(&again)), made);
    again.verify().unwrap();
}

/// The server listens at a database where nothing is sent, so nothing is heard of the other's writes.
#[test]
fn without_notifications_no_answer_is_older_than_the_freshness() {
    const FRESHNESS: Duration = Duration::from_millis(50);
    let Some(server) = PgServer::start() else {
        return;
    };
    let of = database(&server);
    let url = server.url(&of);
    place_at(&url).migrate(StoreRoles::default()).unwrap();
    let reading = StorePlace::database(&DatabaseAddress {
        url: url.clone(),
        listen_url: Some(server.url("postgres")),
        freshness: FRESHNESS,
    });
    let reading = reading.unwrap();
    assert!(!reading.facts().unwrap().unwrap().notifies);
    let (writer, reader) = (open(&place_at(&url)), open(&reading));
    create_project(&writer, "p").unwrap();
    prompt(&writer, "a", text("1")).unwrap();
    let (sender, signals) = channel();
    let watch = reader.watch(Box::new(move || {
        let _ = sender.send(Instant::now());
    }));
    // When each version was acknowledged.
    let acknowledged = Mutex::new(vec![Instant::now()]);
    let is_over = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                prompt(&writer, "a", new_text(&number.to_string())).unwrap();
                acknowledged.lock().unwrap().push(Instant::now());
            }
        });
        let (mut reads, mut revision, mut number) = (0, None, 0);
        while reads < 10_000 || acknowledged.lock().unwrap().len() < 200 {
            reads += 1;
            let asked = Instant::now();
            let now = reader.revision().unwrap();
            if revision.replace(now) != Some(now) {
                number = project(&reader).items[0].head.number;
            }
            let known = acknowledged.lock().unwrap();
            let is_old = |at: &&Instant| **at + FRESHNESS <= asked;
            let least = known.iter().take_while(is_old).count() as u64;
            assert!(
                number >= least,
                "read {number}, and {least} was acknowledged"
            );
        }
        is_over.store(true, Ordering::Relaxed);
        reads
    });
    assert!(reads >= 10_000);
    // Streams learn of changes without a request: a thread looks once a second.
    while signals.try_recv().is_ok() {}
    let written = Instant::now();
    prompt(&writer, "b", text("x")).unwrap();
    let told = signals.recv_timeout(crate::support::LONG).unwrap();
    let told = told - written;
    println!("announced after {} ms", told.as_millis());
    figure(
        "an announcement without a notification",
        told,
        Duration::from_millis(1_100),
    );
    drop(watch);
}

/// Counts attempts to connect in the log of the server.
fn attempts(server: &PgServer) -> usize {
    let log = std::fs::read_to_string(server.folder().join("log")).unwrap();
    log.matches("password authentication failed").count()
}

#[test]
fn a_password_that_is_changed_while_serving_is_not_tried_again_and_again() {
    let Some(server) = PgServer::start() else {
        return;
    };
    if server.is_pooled() {
        // The pooler asks for no password.
        return;
    }
    let of = database(&server);
    let sql = "CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'";
    server.sql(&of, sql);
    place_at(&server.url(&of))
        .migrate(StoreRoles::default())
        .unwrap();
    let place = place_at(&server.url_of(&of, "guarded", "right"));
    let store = place.open(&name("default"), Access::Write, &Limits::default());
    let store = store.unwrap();
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("x")).unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'guarded'";
    server.sql(&of, &format!("ALTER ROLE guarded PASSWORD 'other'; {end}"));
    let begun = Instant::now();
    let mut asked = 0;
    while begun.elapsed() < Duration::from_secs(5) {
        let refused = prompt(&store, "b", text("x")).unwrap_err();
        for said in [refused, store.revision().unwrap_err()] {
            let said = said.to_string();
            assert!(said.contains("password authentication failed"), "{said}");
            assert!(said.contains("refuses this server"), "{said}");
        }
        let _ = store.projects().unwrap_err();
        asked += 3;
    }
    // After 0, 1 and 3 seconds; more by as many as may have begun at the same moment.
    let attempts = attempts(&server);
    assert!(
        (1..=8).contains(&attempts),
        "{attempts} attempts for {asked} calls"
    );
    let health = place.health().unwrap();
    assert!(
        health.is_confirmed && health.stale.is_some() && health.errors > 0,
        "{health:?}"
    );
    server.sql(&of, "ALTER ROLE guarded PASSWORD 'right'");
    while store.revision().is_err() {
        assert!(
            begun.elapsed() < crate::support::LONG * 4,
            "it does not connect again"
        );
        std::thread::yield_now();
    }
    assert_eq!(place.health().unwrap().stale, None);
    let project = project(&store);
    assert_eq!(names(&project), ["a"]);
}

#[test]
fn a_database_says_what_an_acknowledgement_means() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let of = database(&server);
    let place = place_at(&server.url(&of));
    let refused = place.facts().unwrap_err().to_string();
    assert!(refused.contains("`twig store migrate`"), "{refused}");
    assert!(!place.health().unwrap().is_confirmed);
    place.migrate(StoreRoles::default()).unwrap();
    let facts = place.facts().unwrap().unwrap();
    assert!(
        facts.server.starts_with(|c: char| c.is_ascii_digit()),
        "{facts:?}"
    );
    assert_eq!(facts.tables, facts.newest_tables);
    assert!(facts.fsync && facts.full_page_writes, "{facts:?}");
    assert_eq!(facts.notifies, !server.is_pooled());
    assert!(!facts.data_checksums && !facts.is_standby);
    assert_eq!(facts.synchronous_standby_names, "");
    // A commit of ours waits for the disk, whatever the server is set to.
    server.sql(
        &of,
        &format!("ALTER DATABASE {of} SET synchronous_commit = off"),
    );
    let facts = place_at(&server.url(&of)).facts().unwrap().unwrap();
    assert_eq!(facts.synchronous_commit, "on");
    assert!(place.health().unwrap().is_confirmed);
}
