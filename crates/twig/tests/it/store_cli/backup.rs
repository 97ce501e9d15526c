//! `twig workspace backup`, and the way back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::store_cli::{done, garden, json, refused};

#[test]
fn a_backup_comes_back_as_a_workspace() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    done(&env, &["prompt", "update", "water", "-c", "two"]);
    // A server that has the workspace open goes on.
    let mut client = env.serve_with(["--project", "garden"]);
    client.initialize();
    let outcome = env.run(["workspace", "backup", "copy.db"]);
    assert_eq!((outcome.code, &*outcome.stdout), (0, ""), "{outcome}");
    assert!(
        outcome
            .stderr
            .starts_with("backed up workspace `default` to "),
        "{outcome}"
    );
    assert!(outcome.stderr.contains(": 1 project, "), "{outcome}");
    let hint = outcome.stderr.lines().last().unwrap();
    assert!(hint.starts_with("hint: `twig workspace restore "), "{hint}");
    assert!(
        hint.ends_with("copy.db NAME` brings it back as workspace NAME"),
        "{hint}"
    );
    let copy = env.work().join("copy.db");
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    done(&env, &["prompt", "update", "water", "-c", "three"]);

    done(&env, &["workspace", "restore", "copy.db", "before"]);
    let show = |args: &[&str]| done(&env, &[&["prompt", "show", "water"], args].concat());
    assert_eq!(show(&["-w", "before"]), "two");
    assert_eq!(show(&["-w", "before", "--version", "1"]), "one");
    assert_eq!(show(&[]), "three");
    // What came back can be changed.
    done(
        &env,
        &["prompt", "update", "water", "-w", "before", "-c", "four"],
    );
    assert_eq!(show(&["-w", "before"]), "four");
    drop(client);

    // And in place of what was lost.
    done(&env, &["workspace", "delete", "default", "-f"]);
    let restored = json(&env, &["workspace", "restore", "copy.db", "--json"]);
    assert_eq!(
        (&restored["name"], &restored["projects"]),
        (&"default".into(), &1.into())
    );
    assert_eq!(show(&[]), "two");
}

#[test]
fn a_backup_replaces_nothing_unless_told_to() {
    let env = garden();
    fs::write(env.work().join("copy.db"), "mine").unwrap();
    let said = refused(&env, &["workspace", "backup", "copy.db"]);
    assert!(
        said.starts_with("error: There is a file already; nothing was written"),
        "{said}"
    );
    assert!(
        said.ends_with("hint: name another file, or replace it with --force\n"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(env.work().join("copy.db")).unwrap(),
        "mine"
    );
    let backup = json(
        &env,
        &["workspace", "backup", "copy.db", "--force", "--json"],
    );
    let size = fs::metadata(env.work().join("copy.db")).unwrap().len();
    assert_eq!(backup["bytes"], size);
    // No part of it is left beside it.
    let files = fs::read_dir(env.work()).unwrap().flatten();
    let names: Vec<_> = files.map(|file| file.file_name()).collect();
    assert_eq!(names, ["copy.db"]);

    let folder = env.home().join(".local/share/twig/workspaces");
    let target = folder.join("default.db");
    let said = refused(
        &env,
        &["workspace", "backup", target.to_str().unwrap(), "--force"],
    );
    assert!(
        said.contains("The folder of workspaces cannot hold a backup"),
        "{said}"
    );
    let said = refused(&env, &["workspace", "backup", "no/such/copy.db"]);
    assert!(said.contains("The backup cannot be written"), "{said}");
    let said = refused(&env, &["workspace", "backup", "x.db", "-w", "defalt"]);
    assert!(said.contains("did you mean `default`?"), "{said}");
}

#[test]
fn only_a_backup_becomes_a_workspace() {
    let env = garden();
    fs::write(env.work().join("text.db"), "no database").unwrap();
    let said = refused(&env, &["workspace", "restore", "text.db", "new"]);
    assert!(
        said.starts_with("error: The file is not a backup of a workspace: "),
        "{said}"
    );
    // The last changes of a workspace in use are in its log.
    fs::write(env.work().join("text.db-wal"), "log").unwrap();
    let said = refused(&env, &["workspace", "restore", "text.db", "new"]);
    assert!(said.starts_with("error: The file is in use"), "{said}");
    let said = refused(&env, &["workspace", "restore", "none.db", "new"]);
    assert!(
        said.starts_with("error: The backup cannot be read: "),
        "{said}"
    );
    done(&env, &["workspace", "backup", "copy.db"]);
    let said = refused(&env, &["workspace", "restore", "copy.db"]);
    assert!(
        said.starts_with("error: Workspace 'default' already exists\n"),
        "{said}"
    );
    assert!(said.contains("copy.db default-2`"), "{said}");
    // Half a backup is no workspace.
    let copy = fs::read(env.work().join("copy.db")).unwrap();
    fs::write(env.work().join("half.db"), &copy[..copy.len() / 2]).unwrap();
    let said = refused(&env, &["workspace", "restore", "half.db", "new"]);
    assert!(said.contains("damaged"), "{said}");
    let listed = json(&env, &["workspace", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
}
