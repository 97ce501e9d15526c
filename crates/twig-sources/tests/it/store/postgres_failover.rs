//! Writes while PostgreSQL crashes, restarts or is replaced by its standby, and statements that fail
//! beside a commit. Skipped, with a line that says so, where PostgreSQL is not installed.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use twig_core::Limits;
use twig_core::store::{
    Author, Change, Item, ItemKind, LabelChange, LabelName, LabelWrite, Store, StoreError, Write,
};
use twig_sources::{Access, StorePlace, StoreRoles, WorkspaceStore};
use twig_testkit::{PgServer, figure, rounds};

use super::postgres::{SHARED, database, open, place, place_at, said};
use super::support::*;
use crate::support::LONG;

/// A server whose projects have room for what is written during hundreds of events.
fn roomy(place: &StorePlace) -> WorkspaceStore {
    let limits = Limits {
        project_items: 10_000_000,
        project_history: 1 << 40,
        ..Limits::default()
    };
    place
        .open(&name("default"), Access::Write, &limits)
        .unwrap()
}

/// The pause before a refused write is made again: others need the processor, too.
const PAUSE: Duration = Duration::from_millis(5);

/// What two servers wrote while something happened to their database.
struct Written {
    acknowledged: Vec<String>,
    /// Those whose outcome was not known: they may be there.
    unknown: usize,
    /// The longest time between two acknowledgements of one server.
    gap: Duration,
    /// The longest time from the end of the event to the next acknowledgement of a server.
    recovery: Duration,
}

/// Has both servers write new prompts of project `p`, from before an event until well after it. A
/// write that is refused is made again, so one that was refused and is there nevertheless is found
/// as a prompt that exists.
fn write_during(stores: &[WorkspaceStore; 2], prefix: &str, event: impl FnOnce()) -> Written {
    const SOME: usize = 10;
    let made = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let is_over = AtomicBool::new(false);
    let event_ended = OnceLock::new();
    let wait_for = |more: usize| {
        let (begun, before) = (Instant::now(), made.each_ref().map(count));
        while made
            .iter()
            .zip(before)
            .any(|(now, then)| count(now) < then + more)
        {
            assert!(begun.elapsed() < LONG * 3, "the servers do not write");
            std::thread::sleep(PAUSE);
        }
    };
    let work = |who: usize| {
        let mut written = Written {
            acknowledged: Vec::new(),
            unknown: 0,
            gap: Duration::ZERO,
            recovery: Duration::ZERO,
        };
        let mut last = Instant::now();
        let mut number = 0;
        while !is_over.load(Ordering::Acquire) {
            let of = format!("{prefix}-{who}-{number}");
            match prompt(&stores[who], &of, text(&of)) {
                Ok(outcome) => {
                    assert!(outcome.is_new && outcome.version == 1, "{of}: {outcome:?}");
                    written.acknowledged.push(of);
                    written.gap = written.gap.max(last.elapsed());
                    let ended: Option<&Instant> = event_ended.get();
                    if let Some(ended) = ended.filter(|ended| last < **ended) {
                        written.recovery = ended.elapsed();
                    }
                    last = Instant::now();
                    made[who].fetch_add(1, Ordering::Release);
                }
                Err(StoreError::Unknown { .. }) => written.unknown += 1,
                Err(StoreError::Exists { .. }) => panic!("{of} was refused, and is there"),
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            }
            number += 1;
        }
        written
    };
    let work = &work;
    std::thread::scope(|scope| {
        let writing = [0, 1].map(|who| scope.spawn(move || work(who)));
        wait_for(SOME);
        event();
        let _ = event_ended.set(Instant::now());
        wait_for(SOME);
        is_over.store(true, Ordering::Release);
        let written = writing.map(|thread| thread.join().unwrap());
        let mut all = Written {
            acknowledged: Vec::new(),
            unknown: 0,
            gap: Duration::ZERO,
            recovery: Duration::ZERO,
        };
        for written in written {
            all.acknowledged.extend(written.acknowledged);
            all.unknown += written.unknown;
            all.gap = all.gap.max(written.gap);
            all.recovery = all.recovery.max(written.recovery);
        }
        all
    })
}

fn count(of: &AtomicUsize) -> usize {
    of.load(Ordering::Acquire)
}

/// Everything that was acknowledged is there, once, and nothing that was refused.
fn check(store: &WorkspaceStore, acknowledged: &[String], unknown: usize) {
    let found = project(store);
    let first: BTreeMap<&str, &Item> = found
        .items
        .iter()
        .map(|item| (item.name.as_str(), item))
        .collect();
    let is_there = |of: &&String| first.contains_key(of.as_str());
    let lost: Vec<_> = acknowledged.iter().filter(|of| !is_there(of)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    let more = first.len() - acknowledged.len();
    assert!(more <= unknown, "{more} that were not acknowledged");
    let is_first = |item: &Item| item.head.number == 1;
    assert!(found.items.iter().all(is_first), "written twice");
    let chain = &store.check_changes().unwrap()[0];
    assert_eq!(chain.broken, None);
    assert_eq!(chain.changes, first.len() as u64 + 1);
    store.verify().unwrap();
}

#[test]
fn what_was_acknowledged_survives_restarts_of_the_server() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let place = place(&server);
    let stores = [roomy(&place), roomy(&place)];
    create_project(&stores[0], "p").unwrap();
    let (mut acknowledged, mut unknown) = (Vec::new(), 0);
    let mut recovery = Duration::ZERO;
    for round in 0..rounds(10, 200) {
        let written = write_during(&stores, &format!("a{round}"), || server.restart());
        acknowledged.extend(written.acknowledged);
        unknown += written.unknown;
        recovery = recovery.max(written.recovery);
    }
    println!(
        "{} acknowledged, {unknown} unknown, written again after {recovery:?}",
        acknowledged.len()
    );
    figure("no write after a restart", recovery, Duration::from_secs(5));
    check(&open(&place), &acknowledged, unknown);
}

#[test]
fn a_synchronous_standby_that_is_promoted_has_every_acknowledged_write() {
    for _ in 0..rounds(1, 20) {
        let Some(primary) = PgServer::start() else {
            return;
        };
        let standby = primary.standby(true);
        let of = database(&primary);
        let place = place_at(&primary.url_with(&standby, &of));
        place.migrate(StoreRoles::default()).unwrap();
        let stores = [roomy(&place), roomy(&place)];
        create_project(&stores[0], "p").unwrap();
        let mut promoted = Instant::now();
        let written = write_during(&stores, "a", || {
            primary.crash();
            promoted = Instant::now();
            standby.promote();
        });
        let (count, gap) = (written.acknowledged.len(), written.gap);
        println!(
            "{count} acknowledged, {} unknown, {gap:?} without",
            written.unknown
        );
        figure(
            "no write between the crash and the promotion",
            gap,
            LONG / 4,
        );
        check(&open(&place), &written.acknowledged, written.unknown);
        let there = open(&place_at(&standby.url(&of)));
        check(&there, &written.acknowledged, written.unknown);
    }
}

/// Each statement of the second round trip, which is sent before the answer to any of them.
#[test]
fn a_statement_that_fails_beside_the_commit_is_no_acknowledgement() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("one")).unwrap();
    server.sql(
        &of,
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no'; END $$",
    );
    let item =
        |name: &str, change| Write::Item(Box::new(item_write(ItemKind::Prompt, name, change)));
    let label = Write::Label(Box::new(LabelWrite {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        label: LabelName::parse("best").unwrap(),
        change: LabelChange::Set { version: None },
        is_admin: false,
        author: Author::Person,
    }));
    let protect = Write::Protect {
        project: name("p"),
        label: LabelName::parse("best").unwrap(),
        is_protected: true,
        author: Author::Person,
    };
    let create = Write::CreateProject {
        name: name("q"),
        author: Author::Person,
    };
    let rename = Write::RenameItem {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        to: name("z"),
        expected: None,
        author: Author::Person,
    };
    let delete = Write::DeleteProject {
        name: name("p"),
        author: Author::Person,
    };
    for (table, event, wanted) in [
        ("content", "INSERT", item("b", text("two"))),
        ("item", "INSERT", item("b", text("two"))),
        ("version", "INSERT", item("b", text("two"))),
        ("change", "INSERT", item("b", text("two"))),
        ("project", "UPDATE", item("b", text("two"))),
        ("item", "UPDATE", item("a", new_text("two"))),
        ("item", "UPDATE", item("a", Change::Delete)),
        ("label", "INSERT", label),
        ("protected_label", "INSERT", protect),
        ("project", "INSERT", create),
        ("version", "DELETE", rename),
        ("item", "DELETE", delete),
    ] {
        let before = state(&store);
        server.sql(
            &of,
            &format!(
                "CREATE TRIGGER no BEFORE {event} ON twig.{table} FOR EACH ROW EXECUTE FUNCTION no()"
            ),
        );
        let refused = said(write(&store, wanted.clone()));
        assert!(
            refused.contains("nothing was written"),
            "{event} of {table}: {refused}"
        );
        server.sql(&of, &format!("DROP TRIGGER no ON twig.{table}"));
        assert_eq!(state(&store), before, "{event} of {table}");
    }
    // The connection is as good as before.
    prompt(&store, "b", text("two")).unwrap();
    assert_eq!(names(&project(&store)), ["a", "b"]);
    assert_eq!(store.check_changes().unwrap()[0].broken, None);
}

/// Deadlocks and the like are tried again a few times, and then they are an error.
#[test]
fn a_write_that_met_another_one_is_made_again() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    for (code, event) in [("40001", "INSERT"), ("40P01", "INSERT")] {
        for (times, is_written) in [(1, true), (4, true), (5, false)] {
            server.sql(
                &of,
                &format!(
                    "CREATE SEQUENCE met; \
                     CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
                     BEGIN IF nextval('met') <= {times} THEN \
                      RAISE EXCEPTION 'met another' USING ERRCODE = '{code}'; END IF; \
                      RETURN NEW; END $$; \
                     CREATE TRIGGER meet BEFORE {event} ON twig.version \
                      FOR EACH ROW EXECUTE FUNCTION meet()"
                ),
            );
            let written = prompt(&store, &format!("a{code}-{times}"), text("x"));
            assert_eq!(
                written.is_ok(),
                is_written,
                "{times} of {code}: {written:?}"
            );
            if let Err(refused) = written {
                let refused = refused.to_string();
                assert!(refused.contains("nothing was written"), "{refused}");
            }
            server.sql(
                &of,
                "DROP TRIGGER meet ON twig.version; DROP FUNCTION meet(); DROP SEQUENCE met",
            );
        }
    }
    assert_eq!(project(&store).items.len(), 4);
    assert_eq!(store.check_changes().unwrap()[0].changes, 5);
}

fn state(store: &WorkspaceStore) -> String {
    let chains = store.check_changes().unwrap();
    let protected = store.protected_labels(&name("p")).unwrap();
    format!("{chains:?} {protected:?} {:?}", project(store).items)
}

/// Times are the database's, and those of one project never go back with its clock.
#[test]
fn a_clock_that_was_set_back_gives_no_earlier_times() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("one")).unwrap();
    // As if the clock had been an hour ahead when it was last changed.
    server.sql(&of, "UPDATE twig.project SET changed = changed + 3600000");
    let last = store.projects().unwrap()[0].changed;
    prompt(&store, "a", new_text("two")).unwrap();
    prompt(&store, "b", text("three")).unwrap();
    let items = project(&store).items;
    assert!(items.iter().all(|item| item.head.at >= last), "{items:?}");
    let history = store
        .history(&name("p"), ItemKind::Prompt, &name("a"))
        .unwrap();
    assert!(history.is_sorted_by_key(|version| version.at));
}
