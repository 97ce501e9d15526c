//! What servers notice of each other's writes, whatever happens to notifications. Skipped, with a line
//! that says so, where PostgreSQL is not installed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use twig_core::Limits;
use twig_core::store::{Author, ItemKind, Store, Write};
use twig_sources::{Access, StoreRoles, WorkspaceStore};
use twig_testkit::rounds;

use super::postgres::{SHARED, database, open, place_at};
use super::support::*;
use crate::support::LONG;

/// The versions of all prompts of project `p`, added up.
fn total(store: &WorkspaceStore) -> u64 {
    let items = project(store).items;
    items.iter().map(|item| item.head.number).sum()
}

/// The connection that listens is lost between the writes of another server. A client that asks only when
/// it is notified sees every write, and none twice.
#[test]
fn no_write_is_missed_though_the_listening_connection_is_killed() {
    // It waits until somebody listens.
    const KILL: &str = "DO $$ BEGIN LOOP \
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND query IN ('LISTEN twig', 'SELECT 1'); \
        EXIT WHEN FOUND OR clock_timestamp() - now() > '60 s'; \
        PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$";
    let Some(server) = &*SHARED else { return };
    if server.is_pooled() {
        // Nobody listens through a pooler.
        return;
    }
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let (writer, reader) = (open(&place), open(&place));
    create_project(&writer, "p").unwrap();
    prompt(&writer, "a", text("1")).unwrap();
    let (sender, signals) = channel();
    let watch = reader.watch(Box::new(move || {
        // Nobody may listen any more.
        let _ = sender.send(());
    }));
    let mut seen = total(&reader);
    let mut written = 1;
    for _ in 0..50 {
        for is_before in [true, false] {
            for _ in 0..3 {
                written += 1;
                prompt(&writer, "a", new_text(&written.to_string())).unwrap();
            }
            if is_before {
                server.sql(&of, KILL);
            }
        }
        let acknowledged = Instant::now();
        while seen < written {
            assert!(acknowledged.elapsed() < LONG, "{seen} of {written}");
            signals.recv_timeout(LONG).unwrap();
            let now = total(&reader);
            assert!((seen..=written).contains(&now), "{now} after {seen}");
            seen = now;
        }
    }
    drop(watch);
}

/// Transactions of two servers stay open for different times after they have their numbers: a higher one
/// could be there first. What a server reads bit by bit is what is there.
#[test]
fn changes_that_commit_late_are_not_skipped() {
    const WRITES: u64 = 1_000;
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let stores = [open(&place), open(&place)];
    let reader = open(&place);
    create_project(&stores[0], "p").unwrap();
    server.sql(
        &of,
        "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN PERFORM pg_sleep(NEW.rev % 5 * 0.001); RETURN NEW; END $$; \
         CREATE TRIGGER pause BEFORE INSERT ON twig.change FOR EACH ROW EXECUTE FUNCTION pause()",
    );
    let (made, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writers = ["a", "b"].map(|of| {
            let (store, made) = (&stores[usize::from(of == "b")], &made);
            scope.spawn(move || {
                prompt(store, of, text("0")).unwrap();
                for number in 1..WRITES / 2 {
                    prompt(store, of, new_text(&number.to_string())).unwrap();
                    made.fetch_add(1, Ordering::Release);
                }
            })
        });
        scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::Acquire) {
                let least = made.load(Ordering::Acquire);
                reader.revision().unwrap();
                let now = total(&reader);
                assert!(now >= least && now >= seen, "{now} after {seen}");
                seen = now;
            }
        });
        let ended = writers.map(std::thread::ScopedJoinHandle::join);
        is_over.store(true, Ordering::Release);
        for end in ended {
            end.unwrap();
        }
    });
    assert_eq!(total(&reader), WRITES);
    assert_eq!(project(&reader).items, project(&open(&place)).items);
    let changes = reader.changes(&twig_core::plan::ChangeQuery::default());
    let numbers = changes.unwrap();
    let numbers = numbers.iter().map(|change| change.entry.number);
    assert!(numbers.eq(1..=WRITES + 1));
    assert_eq!(reader.check_changes().unwrap()[0].broken, None);
}

/// A notification names the workspace by its id, so that no name is too long for one.
#[test]
fn notifications_are_short_whatever_names_are_long() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let long = name(&"n".repeat(255));
    place.create(&long).unwrap();
    let store = place.open(&long, Access::Write, &Limits::default());
    let store = store.unwrap();
    let project = Write::CreateProject {
        name: long.clone(),
        author: Author::Person,
    };
    write(&store, project).unwrap();
    let wait = "DO $$ BEGIN LOOP PERFORM FROM twig.change WHERE rev = 3; EXIT WHEN FOUND OR clock_timestamp() - now() > '60 s'; \
        PERFORM pg_sleep(0.01); END LOOP; END $$";
    let listening = "SELECT count(*) > 0 FROM pg_stat_activity \
        WHERE datname = current_database() AND query LIKE '%twig.change WHERE rev = 3%' \
        AND pid <> pg_backend_pid()";
    let heard = std::thread::scope(|scope| {
        let listener = scope.spawn(|| {
            let words = ["-X", "-d", &*of, "-c", "LISTEN twig", "-c", wait];
            server.client("psql", "twig", &words).unwrap()
        });
        let begun = Instant::now();
        while server.sql(&of, listening).trim() != "t" {
            assert!(begun.elapsed() < LONG, "nobody listens");
        }
        for number in 0..2 {
            let mut wanted = item_write(ItemKind::Prompt, &"n".repeat(255), new_text("two"));
            wanted.project = long.clone();
            if number == 0 {
                wanted.change = text("one");
            }
            write(&store, Write::Item(Box::new(wanted))).unwrap();
        }
        listener.join().unwrap()
    });
    let id = server.sql(
        &of,
        "SELECT id FROM twig.workspace WHERE length(name) = 255",
    );
    let payload = format!("with payload \"{}\"", id.trim());
    assert!(heard.contains(&payload), "{heard}");
}

/// Each server reads again and again while another one writes; no read goes back.
#[test]
fn three_servers_see_every_write_in_order() {
    let Some(server) = &*SHARED else { return };
    let place = super::postgres::place(server);
    let [one, two, three] = [(); 3].map(|()| open(&place));
    create_project(&one, "p").unwrap();
    prompt(&one, "a", text("1")).unwrap();
    let last = rounds(200, 1_000) as u64;
    // When each version was acknowledged.
    let acknowledged = std::sync::Mutex::new(vec![Instant::now()]);
    std::thread::scope(|scope| {
        let reading = [&two, &three].map(|store| {
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                let (begun, mut seen, mut delays) = (Instant::now(), 0, Vec::new());
                while seen < last {
                    assert!(begun.elapsed() < LONG * 6, "{seen} of {last}");
                    let item = project(store).items.remove(0);
                    let now = item.head.number;
                    assert!(now >= seen, "{now} after {seen}");
                    assert_eq!(content(store, &item), now.to_string());
                    let known = acknowledged.lock().unwrap();
                    for at in seen..now {
                        // It may be seen before its writer has heard.
                        let at = known.get(usize::try_from(at).unwrap());
                        delays.push(at.map_or_else(Default::default, Instant::elapsed));
                    }
                    seen = now;
                }
                delays
            })
        });
        for number in 2..=last {
            prompt(&one, "a", new_text(&number.to_string())).unwrap();
            acknowledged.lock().unwrap().push(Instant::now());
        }
        for reading in reading {
            let mut delays = reading.join().unwrap();
            delays.sort();
            let p99 = delays[delays.len() * 99 / 100];
            println!("seen by another server after {p99:?} (p99)");
            let what = "a write is seen by another server, p99";
            twig_testkit::figure(what, p99, std::time::Duration::from_millis(100));
        }
    });
}
