//! `diff`, `edit` and `rename` of what a project holds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use twig_testkit::{CommandOutput, TestEnv};

use crate::store_cli::{done, garden, json};

/// Runs `twig prompt edit` with a script as the editor; `$1` is the file.
fn edited(env: &TestEnv, args: &[&str], script: &str) -> CommandOutput {
    let path = env.root().join("editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = env.command(args.iter().copied());
    command.env("VISUAL", format!("{} --wait", path.display()));
    command.env("TWIG", crate::TWIG);
    env.outcome(&mut command)
}

#[test]
fn diff_shows_the_last_change_or_two_versions() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one\ntwo\n"]);
    insta::assert_snapshot!(done(&env, &["prompt", "diff", "water"]), @r"
    --- /dev/null
    +++ water version 1
    @@ -0,0 +1,2 @@
    +one
    +two
    ");
    done(&env, &["prompt", "update", "water", "-c", "one\n2\n"]);
    done(&env, &["prompt", "update", "water", "-d", "Daily"]);
    insta::assert_snapshot!(done(&env, &["prompt", "diff", "water"]), @r"
    --- water version 2
    +++ water version 3
    @@ -1,2 +1,4 @@
    +description: Daily
    +
     one
     2
    ");
    insta::assert_snapshot!(done(&env, &["prompt", "diff", "water", "1", "2"]), @r"
    --- water version 1
    +++ water version 2
    @@ -1,2 +1,2 @@
     one
    -two
    +2
    ");
    insta::assert_snapshot!(env.run(["prompt", "diff", "water", "2", "2"]), @r"
    --- stderr
    versions 2 and 2 of prompt `water` are the same
    --- exit 0
    ");
    let diff = json(&env, &["prompt", "diff", "water", "1", "--json"]);
    assert_eq!((&diff["from"], &diff["to"]), (&1.into(), &3.into()));
    assert_eq!(diff["changed"], true);
    insta::assert_snapshot!(env.run(["prompt", "diff", "water", "9"]), @r"
    --- stderr
    error: Prompt 'water' has no version 9; the last one is 3
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    done(&env, &["prompt", "delete", "water", "-f"]);
    insta::assert_snapshot!(done(&env, &["prompt", "diff", "water"]), @r"
    --- water version 3
    +++ water version 4
    @@ -1,4 +0,0 @@
    -description: Daily
    -
    -one
    -2
    ");
}

#[test]
fn edit_opens_the_users_editor_and_writes_what_it_saved() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let edit = ["prompt", "edit", "water"];
    insta::assert_snapshot!(edited(&env, &edit, "echo \"$1\" > \"$0.args\"; echo two > \"$2\""), @r"
    --- stderr
    updated prompt `water` in project `garden`: it is version 2 now
    --- exit 0
    ");
    let first = fs::read_to_string(env.root().join("editor.args")).unwrap();
    assert_eq!(first, "--wait\n");
    // The newline is the editor's.
    assert_eq!(done(&env, &["prompt", "show", "water"]), "two");
    insta::assert_snapshot!(edited(&env, &edit, "true"), @r"
    --- stderr
    nothing to change: prompt `water` in project `garden` stays at version 2
    --- exit 0
    ");
    insta::assert_snapshot!(edited(&env, &edit, ": > \"$2\""), @r"
    --- stderr
    error: nothing was changed: the text of prompt `water` is empty
    hint: `twig prompt delete water` deletes it
    --- exit 1
    ");
    let failed = edited(&env, &edit, "exit 3").stderr;
    assert!(
        failed.contains("failed: it ended with exit code 3"),
        "{failed}"
    );
    assert!(!failed.contains("your text is in"), "{failed}");
    let mut command = env.command(edit);
    command.env_remove("VISUAL").env_remove("EDITOR");
    insta::assert_snapshot!(env.outcome(&mut command), @r"
    --- stderr
    error: there is no editor: $VISUAL and $EDITOR are not set
    hint: set one of them, such as `export EDITOR=nano`
    --- exit 1
    ");
}

#[test]
fn an_edit_overwrites_nothing_and_loses_nothing() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let meanwhile = "echo mine > \"$2\"; \"$TWIG\" prompt update water -c theirs 2>/dev/null";
    let outcome = edited(&env, &["prompt", "edit", "water"], meanwhile);
    assert_eq!(outcome.code, 1);
    let said = &outcome.stderr;
    assert!(
        said.starts_with("error: Prompt 'water' is at version 2, not at the expected version 1"),
        "{said}"
    );
    assert_eq!(done(&env, &["prompt", "show", "water"]), "theirs");
    let (_, kept) = said.split_once("hint: your text is in ").unwrap();
    let kept = kept.lines().next().unwrap();
    assert!(said.contains(&format!(
        "`twig prompt update water -c @{kept}` writes yours"
    )));
    let files = fs::read_dir(env.root()).unwrap().flatten();
    let is_kept = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"water.");
    let mut names = files
        .map(|file| file.file_name())
        .filter(|name| is_kept(name));
    let name = names.next().expect("the user's text");
    assert!(kept.ends_with(name.to_str().unwrap()));
    let text = fs::read_to_string(env.root().join(name)).unwrap();
    assert_eq!(text, "mine\n");
}

#[test]
fn rename_keeps_the_versions() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    done(&env, &["prompt", "update", "water", "-c", "two"]);
    insta::assert_snapshot!(env.run(["prompt", "rename", "water", "sprinkle"]), @r"
    --- stderr
    renamed prompt `water` to `sprinkle` in project `garden`; it keeps its 2 versions
    --- exit 0
    ");
    assert_eq!(done(&env, &["prompt", "show", "sprinkle"]), "two");
    let show = ["prompt", "show", "sprinkle", "--version", "1"];
    assert_eq!(done(&env, &show), "one");
    insta::assert_snapshot!(env.run(["prompt", "show", "water"]), @r"
    --- stderr
    error: Prompt 'water' does not exist in project 'garden'
    hint: `twig prompt list` lists all of them
    --- exit 1
    ");
    // The old name is free again.
    done(&env, &["prompt", "add", "water", "-c", "new"]);
    insta::assert_snapshot!(env.run(["prompt", "rename", "water", "sprinkle"]), @r"
    --- stderr
    error: Prompt 'sprinkle' already exists in project 'garden'
    hint: change it with `twig prompt update sprinkle`
    --- exit 1
    ");
    done(&env, &["prompt", "delete", "sprinkle", "-f"]);
    insta::assert_snapshot!(env.run(["prompt", "rename", "water", "sprinkle"]), @r"
    --- stderr
    error: Prompt 'sprinkle' was deleted from project 'garden', and its versions are kept under that name: choose another name
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "rename", "watr", "x"]), @r"
    --- stderr
    error: Prompt 'watr' does not exist in project 'garden'
    hint: did you mean `water`?
    --- exit 1
    ");
    let stale = ["prompt", "rename", "water", "x", "--expected-version", "7"];
    assert_eq!(env.run(stale).code, 1);
    let renamed = json(&env, &["prompt", "rename", "water", "x", "--json"]);
    assert_eq!(renamed["old_name"], "water");
    assert_eq!(
        (&renamed["name"], &renamed["changed"]),
        (&"x".into(), &true.into())
    );
    insta::assert_snapshot!(env.run(["doctor"]).stdout.lines().filter(|line| line.contains("damaged")).count(), @"0");
}

#[test]
fn a_served_prompt_is_announced_under_its_new_name() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let mut client = env.serve_with(["--project", "garden"]);
    client.initialize();
    done(&env, &["prompt", "rename", "water", "sprinkle"]);
    let listed = client.request("prompts/list", serde_json::json!({}));
    let names = listed["result"]["prompts"].as_array().unwrap();
    let names: Vec<&str> = names
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sprinkle"]);
}

#[test]
fn a_rename_to_the_same_name_changes_nothing() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    insta::assert_snapshot!(env.run(["prompt", "rename", "water", "water"]), @"
    --- stderr
    nothing changed: prompt `water` in project `garden` has that name already
    --- exit 0
    ");
    let renamed = json(&env, &["prompt", "rename", "water", "water", "--json"]);
    assert_eq!(renamed["changed"], false);
}

#[test]
fn what_cannot_be_written_says_what_helps_here() {
    let env = garden();
    // A folder in place of the lock keeps even the superuser from writing.
    let lock = env.home().join(".local/share/twig/workspaces/default.lock");
    let _ = fs::remove_file(&lock);
    fs::create_dir(&lock).expect("writable");
    insta::assert_snapshot!(env.run(["prompt", "add", "x", "-c", "x"]), @"
    --- stderr
    error: The file of workspace 'default' cannot be written: is a directory; make it and its folder writable
    hint: the file is [home]/.local/share/twig/workspaces/default.db
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["serve", "-p", "garden"]), @"
    --- stderr
    error: The file of workspace 'default' cannot be written: is a directory; make it and its folder writable
    hint: the file is [home]/.local/share/twig/workspaces/default.db
    hint: `--read-only` serves the project without the tools that write
    --- exit 1
    ");
}

/// An editor may crash after a save.
#[test]
fn a_text_that_was_saved_survives_the_failure_of_the_editor() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let edit = ["prompt", "edit", "water"];
    for (script, failure) in [
        ("echo mine > \"$2\"; exit 3", "it ended with exit code 3"),
        (
            "echo mine > \"$2\"; kill -9 $$",
            "it ended with exit code 137",
        ),
    ] {
        let outcome = edited(&env, &edit, script);
        assert_eq!(outcome.code, 1);
        let said = &outcome.stderr;
        assert!(said.contains(&format!("failed: {failure}\n")), "{said}");
        let (_, kept) = said.split_once("hint: your text is in ").unwrap();
        let (_, name) = kept.lines().next().unwrap().rsplit_once('/').unwrap();
        let kept = env.root().join(name);
        assert_eq!(fs::read_to_string(&kept).unwrap(), "mine\n");
        fs::remove_file(kept).unwrap();
    }
    // A file that the editor removed is no text.
    let gone = edited(&env, &edit, "rm \"$2\"").stderr;
    assert!(gone.contains(" is gone\n"), "{gone}");
    assert!(!gone.contains("your text is in"), "{gone}");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "one");
}
