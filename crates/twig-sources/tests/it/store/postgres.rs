//! Workspaces in PostgreSQL: the same answers as in files, and what happens when the database fails.
//! Skipped, with a line that says so, where PostgreSQL is not installed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, LazyLock};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use twig_core::Limits;
use twig_core::audit::ChainBreak;
use twig_core::plan::ChangeQuery;
use twig_core::store::{
    Author, Change, ItemKind, LabelChange, LabelName, LabelWrite, Store, StoreError, Write, Written,
};
use twig_sources::{
    Access, DatabaseAddress, StorePlace, StoreRoles, WorkspaceStore, copy_workspace,
};
use twig_testkit::{PgServer, rounds};

use super::model;
use super::support::*;
use crate::support::LONG;

/// One server for all tests that leave it as it is.
pub(super) static SHARED: LazyLock<Option<PgServer>> = LazyLock::new(PgServer::start);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A new database on a server.
pub(super) fn database(server: &PgServer) -> String {
    let database = format!("d{}", NEXT.fetch_add(1, Ordering::Relaxed));
    server.create(&database);
    database
}

/// The workspaces of a new database, strict about what is fresh.
pub(super) fn place(server: &PgServer) -> StorePlace {
    let place = place_at(&server.url(&database(server)));
    place.migrate(StoreRoles::default()).unwrap();
    place
}

pub(super) fn place_at(url: &str) -> StorePlace {
    let address = DatabaseAddress {
        url: url.to_owned(),
        listen_url: None,
        freshness: Duration::ZERO,
    };
    StorePlace::database(&address).unwrap()
}

fn try_open(place: &StorePlace) -> Result<WorkspaceStore, StoreError> {
    place.open(&name("default"), Access::Write, &Limits::default())
}

pub(super) fn open(place: &StorePlace) -> WorkspaceStore {
    try_open(place).unwrap()
}

pub(super) fn said(outcome: Result<Written, StoreError>) -> String {
    match outcome {
        Ok(written) => format!("{} {}", written.version, written.is_new),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_database_and_a_plain_map_give_the_same_answers() {
    let Some(server) = &*SHARED else { return };
    let config = ProptestConfig {
        cases: u32::try_from(rounds(24, 256)).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = proptest::collection::vec(model::step(), 50);
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&steps, |steps| {
        let place = place(server);
        model::run(&steps, || Box::new(open(&place)));
        Ok(())
    });
    outcome.unwrap();
}

/// What both engines are asked to do, one after the other.
pub(super) fn script() -> Vec<Write> {
    let item = |kind, of: &str, change| Write::Item(Box::new(item_write(kind, of, change)));
    let prompt = |of: &str, change| item(ItemKind::Prompt, of, change);
    let resource = |of: &str, change| item(ItemKind::Resource, of, change);
    let project = |text: &str| Write::CreateProject {
        name: name(text),
        author: Author::Person,
    };
    let label = |of: &str, text: &str, change| {
        Write::Label(Box::new(LabelWrite {
            project: name("p"),
            kind: ItemKind::Prompt,
            name: name(of),
            label: LabelName::parse(text).unwrap(),
            change,
            is_admin: false,
            author: Author::Client("tests".into()).with_person("anna"),
        }))
    };
    let guard = |text: &str, is_protected| Write::Protect {
        project: name("p"),
        label: LabelName::parse(text).unwrap(),
        is_protected,
        author: Author::Person,
    };
    let rename = |from: &str, to: &str| Write::RenameItem {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name(from),
        to: name(to),
        expected: None,
        author: Author::Person,
    };
    let set = |version| LabelChange::Set { version };
    vec![
        prompt("a", text("too early")),
        project("p"),
        project("p"),
        prompt("review", text("one")),
        prompt("review", text("again")),
        prompt("reviw", Change::Delete),
        prompt("review", new_text("two")),
        prompt("review", new_text("two")),
        label("review", "production", set(None)),
        label("review", "production", set(None)),
        label("review", "old", set(Some(1))),
        label("review", "none", set(Some(9))),
        label("review", "none", LabelChange::Remove),
        guard("production", true),
        label("review", "production", set(Some(1))),
        guard("production", true),
        guard("production", false),
        label("review", "production", LabelChange::Remove),
        resource("r", at("file:///a", "same")),
        resource("s", at("file:///a", "same")),
        resource("s", at("file:///b", "same")),
        resource("r", Change::Delete),
        resource("s", Change::Delete),
        resource("t", at("file:///a", "other")),
        resource("r", Change::Restore { version: None }),
        resource("s", Change::Restore { version: Some(1) }),
        rename("review", "check"),
        rename("review", "check"),
        rename("check", "check"),
        prompt("check", Change::Restore { version: Some(1) }),
        prompt("check", Change::Restore { version: Some(7) }),
        prompt("check", Change::Delete),
        prompt("new", text("new")),
        rename("new", "check"),
        label("check", "old", LabelChange::Remove),
        Write::RenameProject {
            name: name("p"),
            to: name("q"),
            author: Author::Person,
        },
        project("p"),
        prompt("kept", text("same")),
        Write::DeleteProject {
            name: name("q"),
            author: Author::Person,
        },
        Write::DeleteProject {
            name: name("q"),
            author: Author::Person,
        },
    ]
}

/// Everything that the log of changes says, without times and digests.
fn log(store: &WorkspaceStore) -> Vec<String> {
    let changes = store.changes(&ChangeQuery::default()).unwrap();
    let mut lines: Vec<String> = changes
        .iter()
        .map(|change| {
            let entry = &change.entry;
            let by = (&entry.actor, &entry.client);
            format!("{} {} {by:?} {}", entry.number, entry.action, entry.what)
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn both_engines_answer_and_log_the_same() {
    let Some(server) = &*SHARED else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = StorePlace::folder(folder.path().join("workspaces"));
    let database = place(server);
    let (one, two) = (open(&files), open(&database));
    for wanted in script() {
        let shown = format!("{wanted:?}");
        let answers = [&one, &two].map(|store| said(write(store, wanted.clone())));
        assert_eq!(answers[0], answers[1], "{shown}");
        let states = [&one, &two].map(|store| {
            let projects = store.projects().unwrap();
            let projects = projects.iter();
            let projects =
                projects.map(|it| (it.name.clone(), it.prompts, it.resources, it.history));
            projects.collect::<Vec<_>>()
        });
        assert_eq!(states[0], states[1], "{shown}");
    }
    assert_eq!(log(&one), log(&two));
    assert_eq!(contents(&one), contents(&two));
    for store in [&one, &two] {
        let chains = store.check_changes().unwrap();
        assert!(chains.iter().all(|chain| chain.broken.is_none()));
        let verified = store.verify().unwrap();
        assert_eq!((verified.versions, verified.contents), (1, 1));
    }
}

/// Everything that a copy has to have.
pub(super) fn everything(store: &WorkspaceStore) -> Vec<String> {
    let mut all = vec![format!("{:?}", store.check_changes().unwrap())];
    let changes = store.changes(&ChangeQuery::default()).unwrap();
    all.push(format!("{changes:?} {:?}", store.verify().unwrap()));
    for summary in store.projects().unwrap() {
        let project = store.project(&summary.name).unwrap().unwrap();
        let protected = store.protected_labels(&summary.name).unwrap();
        all.push(format!("{summary:?} {protected:?} {:?}", project.items));
        for item in project.items {
            let history = store.history(&summary.name, item.kind, &item.name);
            all.push(format!("{:?}", history.unwrap()));
        }
    }
    all
}

#[test]
fn a_workspace_is_copied_to_the_database_and_back_with_its_history() {
    let Some(server) = &*SHARED else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = StorePlace::folder(folder.path().join("workspaces"));
    let database = place(server);
    let store = open(&files);
    let mut writes = script();
    // Its projects are not all deleted at the end.
    writes.truncate(writes.len() - 2);
    for wanted in writes {
        let _ = write(&store, wanted);
    }
    let gone = write(
        &store,
        Write::CreateProject {
            name: name("gone"),
            author: Author::Person,
        },
    );
    gone.unwrap();
    let gone = Write::DeleteProject {
        name: name("gone"),
        author: Author::Person,
    };
    write(&store, gone).unwrap();
    let limits = Limits::default();
    copy_workspace(&store, &database, &name("there"), &limits).unwrap();
    let there = database.open(&name("there"), Access::Write, &limits);
    let there = there.unwrap();
    assert_eq!(everything(&there), everything(&store));
    copy_workspace(&there, &files, &name("back"), &limits).unwrap();
    let back = files.open(&name("back"), Access::Write, &limits).unwrap();
    assert_eq!(everything(&back), everything(&store));
    let again = copy_workspace(&store, &database, &name("there"), &limits);
    let again = again.unwrap_err().to_string();
    assert!(again.contains("is not empty"), "{again}");
    // The chain goes on where it was.
    for copy in [&there, &back] {
        prompt(copy, "kept", new_text("more")).unwrap();
        let chains = copy.check_changes().unwrap();
        assert!(chains.iter().all(|chain| chain.broken.is_none()));
    }
}

#[test]
fn writes_that_wait_together_are_all_made_in_order() {
    let Some(server) = &*SHARED else { return };
    let place = place(server);
    let store = open(&place);
    create_project(&store, "p").unwrap();
    let (sender, told) = channel();
    for number in 0..120 {
        let change = match number % 3 {
            0 => text("one"),
            1 => new_text("two"),
            _ => Change::Delete,
        };
        let wanted = item_write(ItemKind::Prompt, &format!("a{}", number / 3), change);
        let sender = sender.clone();
        store.write(
            Write::Item(Box::new(wanted)),
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
    }
    for _ in 0..120 {
        told.recv_timeout(LONG).unwrap().unwrap();
    }
    assert_eq!(store.projects().unwrap()[0].changes, 121);
    assert_eq!(project(&store).items, []);
    let chain = &store.check_changes().unwrap()[0];
    assert_eq!((chain.changes, chain.broken), (121, None));
}

#[test]
fn two_servers_see_each_others_writes() {
    let Some(server) = &*SHARED else { return };
    let place = place(server);
    let (one, two) = (open(&place), open(&place));
    create_project(&one, "p").unwrap();
    assert_eq!(names(&project(&two)), Vec::<&str>::new());
    let (sender, told) = channel();
    let watch = two.watch(Box::new(move || {
        // Nobody may listen any more.
        let _ = sender.send(());
    }));
    for number in 0..20 {
        prompt(&one, &format!("a{number}"), text("x")).unwrap();
        assert_eq!(project(&two).items.len(), number + 1);
    }
    told.recv_timeout(LONG).unwrap();
    drop(watch);
    // Both write to the same prompt: every write is made once.
    std::thread::scope(|scope| {
        for store in [&one, &two] {
            scope.spawn(|| {
                for number in 0..40 {
                    let unique = format!("{number} {:?}", std::thread::current().id());
                    prompt(store, "a0", new_text(&unique)).unwrap();
                }
            });
        }
    });
    assert_eq!(project(&one).items[0].head.number, 81);
    let history = one.history(&name("p"), ItemKind::Prompt, &name("a0"));
    assert_eq!(history.unwrap().len(), 81);
}

/// A copy of the database takes its place, as a promoted standby that lacks the last changes does, and
/// gets changes of its own until it is past what was served.
#[test]
fn nothing_of_a_replaced_history_is_served() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "kept", text("x")).unwrap();
    drop(store);
    let disconnect =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{of}'");
    let standby = format!("{of}_standby");
    server.sql("postgres", &disconnect);
    server.sql(
        "postgres",
        &format!("CREATE DATABASE {standby} TEMPLATE {of}"),
    );
    let store = open(&place);
    prompt(&store, "lost", text("x")).unwrap();
    assert_eq!(names(&project(&store)), ["kept", "lost"]);
    server.sql("postgres", &disconnect);
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {of} RENAME TO {of}_before"),
    );
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {standby} RENAME TO {of}"),
    );
    let other = open(&place_at(&server.url(&of)));
    for number in 0..3 {
        prompt(&other, &format!("new{number}"), text("x")).unwrap();
        let known = project(&other);
        assert_eq!(names(&project(&store)), names(&known));
    }
    assert_eq!(names(&project(&store)), ["kept", "new0", "new1", "new2"]);
}

#[test]
fn workspaces_do_not_see_each_other() {
    let Some(server) = &*SHARED else { return };
    let place = place(server);
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("secret")).unwrap();
    place.create(&name("other")).unwrap();
    assert!(place.create(&name("other")).is_err());
    assert_eq!(place.list().unwrap(), [name("default"), name("other")]);
    let limits = Limits::default();
    let other = place.open(&name("other"), Access::Write, &limits).unwrap();
    assert_eq!(other.projects().unwrap(), []);
    let digest = project(&store).items[0].head.content.digest;
    assert!(other.content(&digest).is_err());
    create_project(&other, "p").unwrap();
    prompt(&other, "a", text("secret")).unwrap();
    place.delete(&name("default")).unwrap();
    assert_eq!(contents(&other), [("a".to_owned(), "secret".to_owned())]);
    assert!(matches!(
        store.revision(),
        Err(StoreError::NoWorkspace { .. })
    ));
    let refused = place.open(&name("othr"), Access::Write, &limits);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("did you mean `other`"), "{refused}");
}

#[test]
fn twenty_migrate_at_once_and_the_tables_are_made_once() {
    let Some(server) = &*SHARED else { return };
    let url = server.url(&database(server));
    let refused = try_open(&place_at(&url)).unwrap_err().to_string();
    assert!(refused.contains("`twig store migrate`"), "{refused}");
    let barrier = Barrier::new(20);
    let made: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    place_at(&url)
                        .migrate(StoreRoles::default())
                        .unwrap()
                        .unwrap()
                })
            })
            .collect();
        let versions = threads.into_iter().map(|thread| thread.join().unwrap());
        versions.filter(|(from, _)| *from == 0).count()
    });
    assert_eq!(made, 1);
    open(&place_at(&url));
}

#[test]
fn what_no_column_can_hold_is_refused_in_the_words_of_files() {
    let Some(server) = &*SHARED else {
        return;
    };
    let store = open(&place(server));
    create_project(&store, "p").unwrap();
    let files = Home::with_project();
    for uri in ["x://k\0", "x://k\u{7}", "x://k e"] {
        let wanted = resource(&files.open(), "k", at(uri, "c")).unwrap_err();
        let refused = resource(&store, "k", at(uri, "c")).unwrap_err();
        assert_eq!(refused.to_string(), wanted.to_string());
        assert!(matches!(refused, StoreError::BadUri { .. }), "{refused}");
    }
    resource(&store, "k", at("x://k", "c")).unwrap();
}

#[test]
fn tables_of_a_newer_twig_are_read_or_refused_as_they_say() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    server.sql(&of, "UPDATE twig.meta SET schema = 9, min_writer = 9");
    let newer = place_at(&server.url(&of));
    let refused = try_open(&newer).unwrap_err().to_string();
    assert!(refused.contains("newer Twig (version 9"), "{refused}");
    let limits = Limits::default();
    let reading = newer.open(&name("default"), Access::Read, &limits).unwrap();
    assert_eq!(reading.projects().unwrap().len(), 1);
    // Those that were open before notice it.
    let refused = prompt(&store, "a", text("x")).unwrap_err().to_string();
    assert!(refused.contains("newer Twig (version 9"), "{refused}");
    assert!(store.project(&name("p")).unwrap().unwrap().items.is_empty());
    let running = reading.revision().unwrap();
    server.sql(&of, "UPDATE twig.meta SET min_reader = 9");
    let refused = loop {
        match reading.revision() {
            // As of the freshness ago.
            Ok(revision) => assert_eq!(revision, running),
            Err(refused) => break refused.to_string(),
        }
    };
    assert!(refused.contains("update Twig"), "{refused}");
    let refused = place_at(&server.url(&of)).open(&name("default"), Access::Read, &limits);
    assert!(refused.unwrap_err().to_string().contains("update Twig"));
    assert!(
        newer
            .migrate(StoreRoles::default())
            .unwrap_err()
            .to_string()
            .contains("update Twig")
    );
}

#[test]
fn wrong_password_missing_rights_and_a_read_only_database_are_named() {
    let Some(server) = &*SHARED else { return };
    if server.is_pooled() {
        // The pooler asks for no password.
        return;
    }
    let of = database(server);
    place_at(&server.url(&of))
        .migrate(StoreRoles::default())
        .unwrap();
    server.sql(&of, "CREATE ROLE guarded LOGIN PASSWORD 'right'");
    let wrong = place_at(&server.url_of(&of, "guarded", "wrong"));
    let refused = try_open(&wrong).unwrap_err().to_string();
    assert!(
        refused.contains("refuses this server (password authentication failed"),
        "{refused}"
    );
    let poor = place_at(&server.url_of(&of, "guarded", "right"));
    let refused = try_open(&poor).unwrap_err().to_string();
    assert!(refused.contains("role of the store may not"), "{refused}");
    let missing = place_at(&server.url("nothing"));
    let refused = try_open(&missing).unwrap_err().to_string();
    assert!(refused.contains("does not exist"), "{refused}");
    let store = open(&place_at(&server.url(&of)));
    create_project(&store, "p").unwrap();
    server.sql(
        &of,
        &format!("ALTER DATABASE {of} SET default_transaction_read_only = on"),
    );
    let store = open(&place_at(&server.url(&of)));
    let refused = prompt(&store, "a", text("x")).unwrap_err().to_string();
    assert!(refused.contains("accepts no changes"), "{refused}");
    assert_eq!(store.projects().unwrap().len(), 1);
}

#[test]
fn an_altered_row_is_found() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("x")).unwrap();
    prompt(&store, "a", new_text("y")).unwrap();
    let alter = |sql: &str| {
        server.sql(
            &of,
            &format!("SET session_replication_role = replica; {sql}"),
        )
    };
    // Triggers refuse it otherwise.
    let sql = "UPDATE twig.change SET actor = 'eve' WHERE rev = 2";
    alter(sql);
    let chain = &store.check_changes().unwrap()[0];
    assert_eq!(chain.broken.map(ChainBreak::number), Some(2));
    alter("UPDATE twig.version SET author = 'eve' WHERE number = 1");
    let found = store.verify().unwrap_err().to_string();
    assert!(found.contains("version 1 of prompt 'a' differs"), "{found}");
    alter("UPDATE twig.version SET author = 'tests (mcp)'");
    alter("UPDATE twig.content SET bytes = 'z'");
    let found = store.verify().unwrap_err().to_string();
    assert!(
        found.contains("differs from what was written; content"),
        "{found}"
    );
    // Everything that differs is listed, whatever stands first.
    alter("UPDATE twig.item SET name = 'a\nb'");
    alter(
        "DELETE FROM twig.content WHERE digest = (SELECT content FROM twig.version WHERE number = 1)",
    );
    let found = store.verify().unwrap_err().to_string();
    let listed: Vec<&str> = found.split("; ").collect();
    assert_eq!(listed.len(), 5, "{found}");
    for expected in [r#""a\nb" is no valid name"#, "a content is missing"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    assert!(!found.contains("twig store verify"), "{found}");
}

/// What the row of the project records is compared with the log.
#[test]
fn an_end_of_the_log_that_is_missing_is_found() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("1")).unwrap();
    prompt(&store, "a", new_text("2")).unwrap();
    let broken = |sql: &str| {
        server.sql(
            &of,
            &format!("SET session_replication_role = replica; {sql}"),
        );
        let chains = store.check_changes().unwrap();
        assert_eq!(chains.len(), 1, "{chains:?}");
        chains[0].broken
    };
    assert_eq!(broken("SELECT 1"), None);
    server.sql(
        &of,
        "CREATE TABLE kept AS TABLE twig.change; CREATE TABLE was AS TABLE twig.project",
    );
    let end = Some(ChainBreak::OtherEnd(3));
    assert_eq!(broken("UPDATE twig.project SET rev = 2"), end);
    let repair = "UPDATE twig.project SET rev = was.rev, chain = was.chain FROM was";
    assert_eq!(broken(repair), None);
    assert_eq!(
        broken("UPDATE twig.project SET chain = decode(repeat('ab', 32), 'hex')"),
        end
    );
    assert_eq!(broken("UPDATE twig.project SET chain = NULL"), end);
    assert_eq!(broken(repair), None);
    let gone = |rev| Some(ChainBreak::Missing(rev));
    assert_eq!(broken("DELETE FROM twig.change WHERE rev > 2"), gone(3));
    assert_eq!(broken("DELETE FROM twig.change"), gone(1));
    assert_eq!(broken("INSERT INTO twig.change TABLE kept"), None);
    // The last change of a deleted project is that.
    let delete = Write::DeleteProject {
        name: name("p"),
        author: Author::Person,
    };
    write(&store, delete).unwrap();
    assert_eq!(broken("SELECT 1"), None);
    assert_eq!(broken("DELETE FROM twig.change WHERE rev = 4"), gone(4));
}

#[test]
fn rows_that_are_missing_are_found() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    for item in ["a", "b", "c", "d"] {
        prompt(&store, item, text("x")).unwrap();
        prompt(&store, item, new_text("y")).unwrap();
    }
    prompt(&store, "e", text("x")).unwrap();
    let alter = |sql: &str| {
        server.sql(
            &of,
            &format!("SET session_replication_role = replica; {sql}"),
        )
    };
    let of_item = |item: &str| format!("item = (SELECT id FROM twig.item WHERE name = '{item}')");
    alter("DELETE FROM twig.item WHERE name = 'a'");
    for (item, number) in [("b", 2), ("c", 1)] {
        let version = format!("{} AND number = {number}", of_item(item));
        alter(&format!("DELETE FROM twig.version WHERE {version}"));
    }
    // Everything is listed, whatever is found first.
    let of_last = of_item("d");
    alter(&format!(
        "UPDATE twig.version SET author = 'eve' WHERE {of_last}"
    ));
    let read = open(&place).project(&name("p")).unwrap_err().to_string();
    assert!(
        read.contains("prompt 'b' has lost a version") && read.contains("`twig store verify`"),
        "{read}"
    );
    let found = store.verify().unwrap_err().to_string();
    for expected in [
        "version 1 belongs to no prompt or resource",
        "version 2 belongs to no prompt or resource",
        "prompt 'b' has lost a version",
        "prompt 'c' has lost a version",
        "version 1 of prompt 'd' differs",
        "version 2 of prompt 'd' differs",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    assert_eq!(found.split("; ").count(), 7, "{found}");
}

#[test]
fn items_that_differ_from_their_last_version_are_found() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    let store = open(&place);
    create_project(&store, "p").unwrap();
    for item in ["a", "b", "c", "d"] {
        prompt(&store, item, text("x")).unwrap();
    }
    prompt(&store, "d", Change::Delete).unwrap();
    assert_eq!(store.verify().unwrap().versions, 5);
    server.sql(
        &of,
        "UPDATE twig.item SET deleted = NOT deleted WHERE name IN ('a', 'd'); \
         UPDATE twig.item SET uri = 'x:y' WHERE name = 'b'",
    );
    let found = store.verify().unwrap_err().to_string();
    for item in ["a", "b", "d"] {
        let expected = format!("prompt '{item}' is out of date");
        assert!(found.contains(&expected), "{expected}: {found}");
    }
    assert!(!found.contains("'c'"), "{found}");
}

/// With `freshness` at zero, an acknowledged write is in the next answer of every server.
#[test]
fn strict_servers_never_answer_with_what_is_old() {
    let Some(server) = &*SHARED else { return };
    let place = place(server);
    let (one, two) = (open(&place), open(&place));
    create_project(&one, "p").unwrap();
    prompt(&one, "a", text("0")).unwrap();
    // Through a pooler each takes longer, and shows nothing else.
    let last = if server.is_pooled() { 500 } else { 10_000 };
    for number in 2..=last {
        prompt(&one, "a", new_text(&number.to_string())).unwrap();
        let read = project(&two);
        assert_eq!(read.items[0].head.number, number);
        let digest = read.items[0].head.content.digest;
        let content = two.content(&digest).unwrap();
        assert_eq!(content, number.to_string().as_bytes());
    }
}

#[test]
fn while_the_server_is_stopped_reads_go_on_and_writes_are_refused() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let place = place(&server);
    let limits = Limits {
        store_millis: 1_000,
        ..Limits::default()
    };
    let opened = place.open(&name("default"), Access::Write, &limits);
    let store = opened.unwrap();
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("kept")).unwrap();
    let digest = project(&store).items[0].head.content.digest;
    assert_eq!(store.content(&digest).unwrap(), b"kept");
    server.pause();
    let refused = store.revision().unwrap_err();
    assert!(matches!(refused, StoreError::Offline { .. }), "{refused}");
    // From now on nobody waits: the cache answers, and the rest is refused at once.
    assert_eq!(store.content(&digest).unwrap(), b"kept");
    assert!(matches!(
        store.content(&[0; 32]),
        Err(StoreError::Offline { .. })
    ));
    let refused = prompt(&store, "b", text("x")).unwrap_err().to_string();
    assert!(refused.contains("nothing was written"), "{refused}");
    server.resume();
    while store.revision().is_err() {}
    assert_eq!(names(&project(&store)), ["a"]);
    // The connection that writes is made again by itself, too.
    while prompt(&store, "b", text("x")).is_err() {}
    assert_eq!(names(&project(&store)), ["a", "b"]);
}
