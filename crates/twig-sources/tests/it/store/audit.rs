//! The log of changes: each has its row, in a chain that shows what was altered.

use rusqlite::Connection;
use twig_core::audit::ChainBreak;
use twig_core::plan::{ChangeQuery, CheckedChain};
use twig_core::store::{
    Author, Change, ItemKind, LabelChange, LabelName, LabelWrite, Store, Timestamp, Write,
};
use twig_sources::SqliteStore;

use super::child;
use super::support::*;

/// The chain of the only project.
fn chain(store: &SqliteStore) -> CheckedChain {
    let mut chains = store.check_changes().unwrap();
    assert_eq!(chains.len(), 1, "{chains:?}");
    chains.remove(0)
}

/// Each change as a line.
fn log(store: &SqliteStore) -> Vec<String> {
    let changes = store.changes(&ChangeQuery::default()).unwrap();
    let line = changes.iter().map(|it| {
        let or = |text: &Option<Box<str>>| text.as_deref().unwrap_or("-").to_owned();
        format!(
            "{} {} {} {} {} {} {} by {} with {}",
            it.project,
            it.entry.number,
            it.entry.action,
            it.kind,
            it.name,
            it.version,
            or(&it.detail),
            or(&it.entry.actor),
            or(&it.entry.client)
        )
    });
    line.collect()
}

#[test]
fn every_change_is_logged_with_who_and_what() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("one")).unwrap();
    let update = item_write(ItemKind::Prompt, "a", new_text("two"));
    let update = Write::Item(Box::new(update)).with_person("anna");
    write(&store, update).unwrap();
    let versions = store.history(&name("p"), ItemKind::Prompt, &name("a"));
    assert_eq!(&*versions.unwrap()[1].author, "tests (mcp, anna)");
    prompt(&store, "a", Change::Restore { version: Some(1) }).unwrap();
    // What changes nothing is no change.
    prompt(&store, "a", Change::Restore { version: Some(1) }).unwrap();
    prompt(&store, "a", Change::Delete).unwrap();
    prompt(&store, "a", Change::Restore { version: None }).unwrap();
    let label = LabelWrite {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        label: LabelName::parse("production").unwrap(),
        change: LabelChange::Set { version: Some(2) },
        is_admin: true,
        author: Author::Person,
    };
    write(&store, Write::Label(Box::new(label))).unwrap();
    let rename = Write::RenameItem {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name("a"),
        to: name("b"),
        expected: None,
        author: Author::Person,
    };
    write(&store, rename).unwrap();
    store.drop_old_versions(None, 1).unwrap();
    let rename = Write::RenameProject {
        name: name("p"),
        to: name("q"),
        author: Author::Person.with_person("bo"),
    };
    write(&store, rename).unwrap();
    let delete = Write::DeleteProject {
        name: name("q"),
        author: Author::Person,
    };
    write(&store, delete).unwrap();
    assert_eq!(
        log(&store),
        [
            "q 1 create project p 0 - by - with -",
            "q 2 create prompt a 1 - by - with tests",
            "q 3 update prompt a 2 - by anna with tests",
            "q 4 restore prompt a 3 1 by - with tests",
            "q 5 delete prompt a 4 - by - with tests",
            "q 6 restore prompt a 5 3 by - with tests",
            "q 7 label prompt a 2 production by - with -",
            "q 8 rename prompt a 5 b by - with -",
            "q 9 renamed prompt b 5 a by - with -",
            "q 10 compact project p 0 1 by - with -",
            "q 11 rename project q 0 p by bo with -",
            "q 12 delete project q 0 - by - with -",
        ]
    );
    let chain = chain(&store);
    assert_eq!(
        (chain.changes, chain.unchained, chain.broken),
        (12, 0, None)
    );
    assert!(chain.is_deleted && chain.last.is_some());
    // Another project of that name is another log.
    create_project(&store, "q").unwrap();
    let of = |project: Option<&str>, since| {
        let query = ChangeQuery {
            project: project.map(name),
            since,
        };
        store.changes(&query).unwrap().len()
    };
    assert_eq!(
        (of(Some("q"), None), of(Some("p"), None), of(None, None)),
        (13, 0, 13)
    );
    assert_eq!(of(None, Some(Timestamp(i64::MAX))), 0);
    let chains = store.check_changes().unwrap();
    let flags: Vec<bool> = chains.iter().map(|it| it.is_deleted).collect();
    assert!(chains.len() == 2 && flags[0] != flags[1]);
}

/// Project `p` with six changes, and a connection that may do everything.
fn altered(sql: &str) -> Option<ChainBreak> {
    let home = Home::with_project();
    let store = home.open();
    prompt(&store, "a", text("1")).unwrap();
    for at in 2..=5 {
        prompt(&store, "a", new_text(&at.to_string())).unwrap();
    }
    drop(store);
    let connection = Connection::open(home.file("default.db")).unwrap();
    for trigger in ["change_is_final", "change_is_kept"] {
        let drop = format!("DROP TRIGGER {trigger}");
        connection.execute_batch(&drop).unwrap();
    }
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
    drop(connection);
    chain(&home.open()).broken
}

#[test]
fn what_was_altered_is_named() {
    for set in [
        "at = at + 1",
        "actor = 'anna'",
        "client = NULL",
        "client = 'other'",
        "action = 'create'",
        "detail = 'x'",
        "name = 'b'",
        "kind = 'resource'",
        "version = 9",
        "prompts = 2",
        "history = 0",
        "digest = zeroblob(32)",
        "digest = NULL",
        "digest = NULL, action = 'unknown'",
    ] {
        let sql = format!("UPDATE change SET {set} WHERE rev = 4");
        assert_eq!(altered(&sql), Some(ChainBreak::Changed(4)), "{set}");
    }
    let gone = |rev| altered(&format!("DELETE FROM change WHERE rev = {rev}"));
    assert_eq!(gone(4), Some(ChainBreak::Missing(4)));
    assert_eq!(gone(1), Some(ChainBreak::Missing(1)));
    let end = |rev| altered(&format!("DELETE FROM change WHERE rev >= {rev}"));
    assert_eq!(end(6), Some(ChainBreak::Missing(6)));
    assert_eq!(end(3), Some(ChainBreak::Missing(3)));
}

#[test]
fn a_log_that_is_gone_is_named_and_so_is_the_end_of_the_log_of_a_deleted_project() {
    let alter = |home: &Home, sql: &str| {
        let connection = Connection::open(home.file("default.db")).unwrap();
        let altered = format!("DROP TRIGGER change_is_kept; {sql}");
        connection.execute_batch(&altered).unwrap();
    };
    let home = Home::with_project();
    prompt(&home.open(), "a", text("1")).unwrap();
    alter(&home, "DELETE FROM change");
    let found = home.open().check_changes().unwrap_err().to_string();
    assert!(found.contains("has lost its changes"), "{found}");
    let home = Home::with_project();
    let delete = Write::DeleteProject {
        name: name("p"),
        author: Author::Person,
    };
    write(&home.open(), delete).unwrap();
    assert_eq!(chain(&home.open()).broken, None);
    alter(&home, "DELETE FROM change WHERE rev = 2");
    assert_eq!(chain(&home.open()).broken, Some(ChainBreak::Missing(2)));
}

/// A file from before the chain has changes without a digest, and old ones of these may go.
#[test]
fn a_chain_that_began_later_is_whole_after_old_changes_went() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "kept", text("1")).unwrap();
    prompt(&store, "a", text("1")).unwrap();
    drop(store);
    let connection = Connection::open(home.file("default.db")).unwrap();
    let early = "DROP TRIGGER change_is_final; \
        UPDATE change SET digest = NULL, action = 'unknown'";
    connection.execute_batch(early).unwrap();
    drop(connection);
    let store = home.open();
    for version in 2..1_010 {
        prompt(&store, "a", new_text(&version.to_string())).unwrap();
    }
    store.drop_old_versions(None, 1).unwrap();
    let chain = chain(&store);
    assert_eq!((chain.unchained, chain.broken), (1, None));
}

#[test]
fn a_change_is_neither_altered_nor_removed_by_mistake() {
    let home = Home::with_project();
    let connection = Connection::open(home.file("default.db")).unwrap();
    for sql in ["UPDATE change SET at = 1", "DELETE FROM change"] {
        let refused = connection.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("a change"), "{refused}");
    }
}

/// T-AUD-01.
#[test]
fn a_server_that_is_killed_leaves_each_version_with_its_change() {
    let home = Home::with_project();
    for round in 0..5 {
        let mut child = child::start(home.workspaces.folder(), &format!("write r{round}"));
        let acknowledged = child::lines(&mut child).take(3 + 5 * round).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(acknowledged > 0);
        let store = home.open();
        let items = project(&store).items;
        let changes = store.changes(&ChangeQuery::default()).unwrap();
        let logged = changes.iter().filter(|it| &*it.kind == "prompt");
        let mut logged: Vec<&str> = logged.map(|it| &*it.name).collect();
        logged.sort_unstable();
        let names: Vec<&str> = items.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(logged, names);
        assert_eq!(chain(&store).broken, None);
    }
}

#[test]
fn writes_of_several_processes_make_one_chain() {
    let home = Home::in_memory();
    let store = home.open();
    create_project(&store, "p").unwrap();
    prompt(&store, "n", text("0")).unwrap();
    let folder = home.workspaces.folder();
    let children: Vec<_> = (0..3)
        .map(|_| child::start(folder, "increment 20"))
        .collect();
    child::increment(&store, 20);
    for child in children {
        child::finish(child);
    }
    let chain = chain(&store);
    assert_eq!((chain.changes, chain.broken), (2 + 80, None));
}
