//! `twig workspace backup`, and the way back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

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
    // As it was written, with the log of changes: the copy and the one that was changed since.
    let verified = json(&env, &["store", "verify", "--json"]);
    let count = |at: usize| (&verified[at]["versions"], &verified[at]["changes"]);
    assert_eq!(count(0), (&3.into(), &4.into()), "{verified}");
    assert_eq!(count(1), (&2.into(), &3.into()), "{verified}");
    // A server goes on with it.
    let mut client = env.serve_with(["--project", "garden"]);
    client.initialize();
    let update = json!({
        "name": "update_prompt", "arguments": {"name": "water", "content": "five"},
    });
    let called = client.request("tools/call", update);
    assert_eq!(called["result"]["isError"], false, "{called}");
    assert_eq!(show(&[]), "five");
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

/// The file of a workspace that no program has open is a backup, too.
#[test]
fn a_copied_file_becomes_a_workspace_and_nothing_else_is_left() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let folder = env.home().join(".local/share/twig/workspaces");
    fs::copy(folder.join("default.db"), env.work().join("copy.db")).unwrap();
    let names = |folder: &std::path::Path| {
        let files = fs::read_dir(folder).unwrap().flatten();
        let names = files.map(|file| file.file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    let mut expected = names(&folder);
    done(&env, &["workspace", "restore", "copy.db", "again"]);
    expected.extend(["again.db".to_owned(), "again.lock".to_owned()]);
    assert_eq!(names(&folder), expected);
    assert_eq!(names(&env.work()), BTreeSet::from(["copy.db".to_owned()]));
    let show = ["prompt", "show", "water", "-w", "again"];
    assert_eq!(done(&env, &show), "one");
    // Nor by a backup.
    done(&env, &["workspace", "backup", "copy.db", "--force"]);
    assert_eq!(names(&env.work()), BTreeSet::from(["copy.db".to_owned()]));
}

/// The hint can be pasted into a shell, whatever the file is called.
#[test]
fn the_command_that_brings_a_backup_back_works_as_shown() {
    let env = garden();
    for (at, file) in [
        "plain.db",
        "two words.db",
        "it's $HOME.db",
        "a;b&c|d.db",
        "-dash.db",
        "~tilde.db",
    ]
    .into_iter()
    .enumerate()
    {
        let path = env.home().join(file);
        let outcome = env.run(["workspace", "backup", path.to_str().unwrap()]);
        assert_eq!(outcome.code, 0, "{outcome}");
        // As it was said, not as tests show it.
        let said = env.command(["workspace", "backup", "--force"]);
        let said = { said }.arg(&path).output().expect("it starts").stderr;
        let said = String::from_utf8(said).expect("UTF-8");
        let (_, hint) = said.split_once("hint: `twig ").expect("a hint");
        let (command, _) = hint.split_once(" NAME`").expect("a command");
        let plain = env.command([""; 0]);
        let mut shell = std::process::Command::new("sh");
        shell.env_clear().current_dir(env.work());
        for (name, value) in plain.get_envs() {
            shell.envs(value.map(|value| (name, value)));
        }
        let script = format!("{} {command} back-{at}", crate::TWIG);
        let outcome = env.outcome(shell.args(["-c", &script]));
        assert_eq!(outcome.code, 0, "{script}: {outcome}");
    }
}

#[test]
fn a_folder_is_no_file_for_a_backup() {
    let env = garden();
    let said = refused(&env, &["workspace", "backup", "."]);
    insta::assert_snapshot!(said, @"
    error: [work] is a folder, not a file to write
    hint: name a file in it, such as `twig workspace backup ./default.db`
    ");
    let said = refused(&env, &["workspace", "backup", ".", "--force"]);
    assert!(said.contains("is a folder"), "{said}");
}
