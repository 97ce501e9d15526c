//! Workspaces in PostgreSQL apart from each other: row-level security, and roles with few rights.
//! Skipped, with a line that says so, where PostgreSQL is not installed.

use twig_core::Limits;
use twig_core::store::{Store, StoreError};
use twig_sources::{Access, StoreRoles};
use twig_testkit::{PgServer, rounds};

use super::postgres::{database, open, place_at};
use super::support::*;

/// A server with a database whose servers have a role of their own.
pub(super) fn with_roles() -> Option<(PgServer, String)> {
    let server = PgServer::start()?;
    let of = database(&server);
    server.sql(&of, "CREATE ROLE app LOGIN");
    server.sql(&of, "CREATE ROLE dumper LOGIN BYPASSRLS");
    let roles = StoreRoles {
        app: Some("app"),
        backup: Some("dumper"),
    };
    place_at(&server.url(&of)).migrate(roles).unwrap();
    Some((server, of))
}

#[test]
fn no_row_crosses_between_workspaces() {
    let Some((server, of)) = with_roles() else {
        return;
    };
    let url = server.url_of(&of, "app", "");
    let place = place_at(&url);
    for workspace in ["red", "blue"] {
        place.create(&name(workspace)).unwrap();
        let store = place.open(&name(workspace), Access::Write, &Limits::default());
        create_project(&store.unwrap(), "p").unwrap();
    }
    std::thread::scope(|scope| {
        for workspace in ["red", "blue"] {
            let (patient, url) = (&place, &url);
            scope.spawn(move || {
                for round in 0..rounds(20, 1_000) {
                    let is_hasty = round % 2 == 1;
                    // With this little time many calls are given up half-way.
                    let limits = Limits {
                        store_millis: if is_hasty {
                            1 + round as u64 % 20
                        } else {
                            10_000
                        },
                        ..Limits::default()
                    };
                    let hasty = place_at(url);
                    let place = if is_hasty { &hasty } else { patient };
                    let Ok(store) = place.open(&name(workspace), Access::Write, &limits) else {
                        continue;
                    };
                    for number in 0..50 {
                        let of = format!("{workspace}-{round}-{number}");
                        let _ = prompt(&store, &of, text(&of));
                        let found = store.project(&name("p"));
                        let items = found.map_or_else(|_| Vec::new(), |it| it.unwrap().items);
                        for item in &items {
                            assert!(item.name.as_str().starts_with(workspace), "{item:?}");
                        }
                        if let Some(item) = items.last()
                            && let Ok(content) = store.content(&item.head.content.digest)
                        {
                            assert_eq!(content, item.name.as_str().as_bytes());
                        }
                        let projects = store.projects().map_or(1, |projects| projects.len());
                        assert_eq!(projects, 1);
                    }
                }
            });
        }
    });
    for workspace in ["red", "blue"] {
        let store = place.open(&name(workspace), Access::Write, &Limits::default());
        let store = store.unwrap();
        assert!(project(&store).items.len() >= 500);
        store.verify().unwrap();
        let chains = store.check_changes().unwrap();
        assert!(chains.len() == 1 && chains[0].broken.is_none());
    }
    // Without the condition of a statement, the policy alone decides, also for the owner.
    let both = "SELECT count(DISTINCT workspace), count(*) >= 500 FROM twig.item";
    let red = "SELECT id FROM twig.workspace WHERE name = 'red'";
    for role in ["app", "keeper"] {
        let none = server.sql_of(&of, role, both).unwrap();
        assert_eq!(none.trim(), "0|f");
        let shown = format!(
            "BEGIN; SELECT NULL FROM set_config('twig.workspace', ({red})::text, true); {both}; COMMIT; {both}"
        );
        let shown = server.sql_of(&of, role, &shown).unwrap();
        assert!(shown.contains("1|t") && shown.contains("0|f"), "{shown}");
    }
    assert_eq!(server.sql(&of, both).trim(), "2|t");
}

#[test]
fn the_role_of_servers_cannot_edit_history_and_can_do_all_else() {
    let Some((server, of)) = with_roles() else {
        return;
    };
    let place = place_at(&server.url_of(&of, "app", ""));
    let store = open(&place);
    for wanted in super::postgres::script() {
        let outcome = write(&store, wanted);
        let is_fault = matches!(
            outcome,
            Err(StoreError::Unavailable(_) | StoreError::Offline { .. })
        );
        assert!(!is_fault, "{outcome:?}");
    }
    for sql in [
        "UPDATE twig.version SET author = 'eve'",
        "UPDATE twig.content SET bytes = ''",
        "UPDATE twig.change SET actor = 'eve'",
        "DELETE FROM twig.change",
        "UPDATE twig.meta SET schema = 1",
        "DELETE FROM twig.workspace",
        "ALTER TABLE twig.item DISABLE ROW LEVEL SECURITY",
        "DROP TABLE twig.label",
        "TRUNCATE twig.version",
    ] {
        let said = server.sql_of(&of, "app", sql).unwrap_err();
        let is_refused = said.contains("permission denied") || said.contains("must be owner");
        assert!(is_refused, "{sql}: {said}");
    }
    place.create(&name("other")).unwrap();
    let other = place.open(&name("other"), Access::Write, &Limits::default());
    create_project(&other.unwrap(), "p").unwrap();
    place.delete(&name("default")).unwrap();
    assert_eq!(place.list().unwrap(), [name("other")]);
    let counts = "SELECT count(*), count(DISTINCT workspace) FROM twig.change";
    assert_eq!(server.sql(&of, counts).trim(), "1|1");
}

#[test]
fn roles_that_do_not_fit_are_refused_with_what_to_do() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let of = database(&server);
    let place = place_at(&server.url(&of));
    let app = |role| StoreRoles {
        app: Some(role),
        backup: None,
    };
    let backup = |role| StoreRoles {
        app: None,
        backup: Some(role),
    };
    server.sql(&of, "CREATE ROLE \"odd \"\" name\" LOGIN");
    for (roles, expected) in [
        (app("nothing"), "CREATE ROLE \"nothing\" LOGIN"),
        (app("keeper"), "name another one"),
        (app("twig"), "name another one"),
        (
            backup("odd \" name"),
            "ALTER ROLE \"odd \"\" name\" BYPASSRLS",
        ),
    ] {
        let said = place.migrate(roles).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        // Nothing of it was done.
        let tables = server.sql(
            &of,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'twig'",
        );
        assert_eq!(tables.trim(), "0");
    }
    place.migrate(app("odd \" name")).unwrap();
}

#[test]
fn a_dump_of_the_backup_role_is_restored_in_an_empty_cluster() {
    let (Some((server, of)), Some(empty)) = (with_roles(), PgServer::start()) else {
        return;
    };
    let store = open(&place_at(&server.url_of(&of, "app", "")));
    for wanted in super::postgres::script() {
        let _ = write(&store, wanted);
    }
    let file = server.folder().join("dump").display().to_string();
    let dump = ["-Fc", "-f", &file, &*of];
    // Policies hide rows from the owner of the tables, and pg_dump refuses to leave them out.
    let said = server.client("pg_dump", "keeper", &dump).unwrap_err();
    assert!(said.contains("row-level security"), "{said}");
    server.client("pg_dump", "dumper", &dump).unwrap();
    empty.create("restored");
    let restore = [
        "--no-owner",
        "--no-acl",
        "--exit-on-error",
        "-d",
        "restored",
        &*file,
    ];
    empty.client("pg_restore", "keeper", &restore).unwrap();
    let restored = open(&place_at(&empty.url("restored")));
    assert_eq!(restored.verify().unwrap(), store.verify().unwrap());
    assert_eq!(
        restored.check_changes().unwrap(),
        store.check_changes().unwrap()
    );
    assert_eq!(contents(&restored), contents(&store));
    prompt(&restored, "after", text("x")).unwrap();
    // The policies came along.
    let seen = empty.sql_of("restored", "keeper", "SELECT count(*) FROM twig.change");
    assert_eq!(seen.unwrap().trim(), "0");
}
