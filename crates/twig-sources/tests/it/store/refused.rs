//! Files that are not opened: each is one sentence, and the file stays as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;
use twig_core::Limits;
use twig_core::store::{Noun, StoreName};
use twig_sources::Access;

use super::support::*;

/// Opening says this, and leaves the folder as it is.
fn refuses(home: &Home, access: Access, sentence: &str) {
    let path = home.file("default.db");
    let before = fs::read(&path).unwrap();
    let refused = home.try_open(access).unwrap_err();
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(refused.path(), Some(&*path));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(home.files(), ["default.db", "default.lock"]);
}

fn with_file(bytes: &[u8]) -> Home {
    let home = Home::new();
    fs::create_dir_all(home.workspaces.folder()).unwrap();
    fs::write(home.file("default.db"), bytes).unwrap();
    home
}

#[test]
fn a_foreign_file_is_refused() {
    for access in [Access::Write, Access::Read] {
        for (bytes, why) in [
            (&b""[..], "it is empty"),
            (b"some text", "it does not begin like one"),
            (&[0; 8192], "it does not begin like one"),
            (b"SQLite format 3\0", "it is a file of another program"),
        ] {
            let sentence = format!(
                "The file of workspace 'default' is not one of Twig's: {why}; it was left as it is, move it away or name another workspace"
            );
            refuses(&with_file(bytes), access, &sentence);
        }
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    let home = with_file(b"");
    let other = Connection::open(home.file("default.db")).unwrap();
    other
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(other);
    let sentence = "The file of workspace 'default' is not one of Twig's: it is a file of another program; \
                    it was left as it is, move it away or name another workspace";
    for access in [Access::Write, Access::Read] {
        refuses(&home, access, sentence);
    }
}

#[test]
fn a_file_of_a_newer_twig_is_refused() {
    let home = Home::with_project();
    let newer = Connection::open(home.file("default.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let sentence = "The file of workspace 'default' was written by a newer Twig (version 99 of the file; this one knows 5): update Twig";
    for access in [Access::Write, Access::Read] {
        refuses(&home, access, sentence);
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_refused() {
    let home = Home::new();
    fs::create_dir_all(home.file("default.db")).unwrap();
    let refused = home.try_open(Access::Write).unwrap_err().to_string();
    assert!(refused.contains("it is not a file"), "{refused}");
}

#[test]
fn a_workspace_that_is_not_there_says_how_to_make_it() {
    let home = Home::new();
    let limits = Limits::default();
    let open = |workspace: &str, access| {
        let opened = home.workspaces.open(&name(workspace), access, &limits);
        opened.unwrap_err().to_string()
    };
    assert_eq!(
        open("team", Access::Write),
        "Workspace 'team' does not exist: make it with `twig workspace create team`"
    );
    assert_eq!(
        open("default", Access::Read),
        "Workspace 'default' does not exist: make it with `twig workspace create default`"
    );
    assert!(!home.workspaces.folder().exists());
    home.workspaces.create(&name("teams")).unwrap();
    assert_eq!(
        open("team", Access::Write),
        "Workspace 'team' does not exist: make it with `twig workspace create team`; did you mean `teams`?"
    );
}

#[test]
fn workspaces_are_made_listed_and_deleted() {
    let home = Home::new();
    let workspaces = &home.workspaces;
    assert_eq!(workspaces.list(), Ok(Vec::new()));
    workspaces.create(&name("b.c")).unwrap();
    workspaces.create(&name("a")).unwrap();
    assert_eq!(workspaces.list(), Ok(vec![name("a"), name("b.c")]));
    assert_eq!(
        workspaces.create(&name("a")).unwrap_err().to_string(),
        "Workspace 'a' already exists"
    );
    for file in ["a.db", "a.lock"] {
        let mode = fs::metadata(home.file(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(workspaces.folder()), 0o700);
    let store = workspaces
        .open(&name("a"), Access::Write, &Limits::default())
        .unwrap();
    create_project(&store, "p").unwrap();
    assert_eq!(mode(&home.file("a.db-wal")), 0o600);
    workspaces.delete(&name("a")).unwrap();
    assert!(!workspaces.exists(&name("a")));
    assert_eq!(home.files(), ["b.c.db", "b.c.lock"]);
    assert!(create_project(&store, "q").is_err());
    drop(store);
    assert_eq!(home.files(), ["b.c.db", "b.c.lock"]);
    workspaces.delete(&name("a")).unwrap_err();
}

#[test]
fn a_name_is_not_longer_than_a_file_system_takes() {
    let home = Home::new();
    let long = StoreName::parse(Noun::Workspace, &"x".repeat(200)).unwrap();
    home.workspaces.create(&long).unwrap();
    let limits = Limits::default();
    let store = home.workspaces.open(&long, Access::Write, &limits).unwrap();
    create_project(&store, "p").unwrap();
    let longer = StoreName::parse(Noun::Workspace, &"x".repeat(201)).unwrap();
    home.workspaces.create(&longer).unwrap_err();
    home.workspaces
        .open(&longer, Access::Write, &limits)
        .unwrap_err();
}
