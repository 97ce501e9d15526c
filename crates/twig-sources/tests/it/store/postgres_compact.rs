//! Dropping old versions in PostgreSQL: the same as in files. Skipped, with a line that says so, where
//! PostgreSQL is not installed.

use std::sync::atomic::{AtomicBool, Ordering};

use twig_core::Limits;
use twig_core::store::{ItemKind, Store, StoreError};
use twig_sources::{Access, OldVersions, StorePlace, StoreRoles, WorkspaceStore};

use super::postgres::{SHARED, database, open, place, place_at, script};
use super::support::*;

/// All that is said of a workspace, without times.
fn everything(store: &WorkspaceStore) -> Vec<String> {
    let mut all = Vec::new();
    for summary in store.projects().unwrap() {
        let of = &summary.name;
        all.push(format!("{of} {} {}", summary.history, summary.changes));
        for item in store.project(of).unwrap().unwrap().items {
            let history = store.history(of, item.kind, &item.name).unwrap();
            let numbers: Vec<u64> = history.iter().map(|version| version.number).collect();
            let labels = store.labels(of, item.kind, &item.name).unwrap();
            all.push(format!("{} {numbers:?} {labels:?}", item.name));
        }
    }
    all.push(format!("{:?}", store.verify().unwrap()));
    let chains = store.check_changes().unwrap();
    assert!(chains.iter().all(|chain| chain.broken.is_none()));
    all
}

#[test]
fn both_engines_drop_the_same_versions() {
    let Some(server) = &*SHARED else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = StorePlace::folder(folder.path().join("workspaces"));
    let stores = [open(&files), open(&place(server))];
    for store in &stores {
        // Its projects are not all deleted at the end.
        let writes = script();
        let count = writes.len() - 2;
        for wanted in writes.into_iter().take(count) {
            let _ = write(store, wanted);
        }
        for number in 0..6 {
            let of = if number == 0 {
                text("0")
            } else {
                new_text(&number.to_string())
            };
            prompt(store, "many", of).unwrap();
        }
        // Its content is used by another one.
        prompt(store, "other", text("1")).unwrap();
    }
    let [one, two] = &stores;
    assert_eq!(everything(one), everything(two));
    for (project, keep) in [
        (Some("p"), 9),
        (Some("p"), 3),
        (Some("q"), 1),
        (None, 1),
        (None, 1),
    ] {
        let of = project.map(name);
        let counted = stores
            .each_ref()
            .map(|store| store.count_old_versions(of.as_ref(), keep));
        let counted = counted.map(Result::unwrap);
        let dropped = stores
            .each_ref()
            .map(|store| store.drop_old_versions(of.as_ref(), keep));
        let dropped = dropped.map(Result::unwrap);
        assert_eq!(counted[0], counted[1], "{project:?} {keep}");
        assert_eq!(
            [dropped[0]; 2],
            [counted[0], dropped[1]],
            "{project:?} {keep}"
        );
        assert_eq!(everything(one), everything(two), "{project:?} {keep}");
    }
    for store in &stores {
        let gone = store.drop_old_versions(Some(&name("no")), 1);
        assert!(matches!(gone, Err(StoreError::NoProject { .. })));
        assert_eq!(
            store.drop_old_versions(None, 0).unwrap(),
            OldVersions::default()
        );
    }
}

#[test]
fn servers_go_on_while_versions_are_dropped() {
    let Some(server) = &*SHARED else { return };
    let of = database(server);
    server.sql("postgres", "CREATE ROLE compactor LOGIN");
    let owner = place_at(&server.url(&of));
    let app = "compactor";
    let roles = StoreRoles {
        app: Some(app),
        backup: None,
    };
    owner.migrate(roles).unwrap();
    let place = place_at(&server.url_of(&of, app, ""));
    let store = open(&place);
    create_project(&store, "p").unwrap();
    prompt(&store, "a", text("0")).unwrap();
    let is_over = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut last = 1;
            while !is_over.load(Ordering::Acquire) {
                last = prompt(&store, "a", new_text(&last.to_string()))
                    .unwrap()
                    .version;
            }
            last
        });
        // As the command does it: on a connection of its own.
        let limits = Limits::default();
        let other = place
            .open(&name("default"), Access::Write, &limits)
            .unwrap();
        let mut dropped = 0;
        while dropped < 200 {
            dropped += other.drop_old_versions(None, 2).unwrap().versions;
        }
        is_over.store(true, Ordering::Release);
        writing.join().unwrap()
    });
    let found = project(&store);
    assert_eq!(found.items[0].head.number, written);
    let refused = prompt(
        &store,
        "a",
        twig_core::store::Change::Restore { version: Some(1) },
    );
    assert!(refused.unwrap_err().to_string().contains("were dropped"));
    let history = store
        .history(&name("p"), ItemKind::Prompt, &name("a"))
        .unwrap();
    assert!(history.len() >= 2 && history.last().unwrap().number == written);
    assert_eq!(store.verify().unwrap().versions, history.len() as u64);
    assert_eq!(store.check_changes().unwrap()[0].broken, None);
}
