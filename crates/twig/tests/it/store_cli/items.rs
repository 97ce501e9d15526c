//! `twig prompt` and `twig resource`: every verb, and every refusal.

use std::fs;

use serde_json::Value;

use crate::store_cli::{done, fed, garden, json, refused, timeless};

#[test]
fn a_prompt_is_added_shown_changed_and_listed() {
    let env = garden();
    insta::assert_snapshot!(env.run(["prompt", "add", "water", "-c", "Water {{ plants }}", "-d", "What to water"]), @"
    --- stderr
    created prompt `water` in project `garden`
    hint: clients of `twig serve` get it as `garden:water`; with `twig serve -p garden` as `water`
    --- exit 0
    ");
    assert_eq!(
        done(&env, &["prompt", "show", "water"]),
        "Water {{ plants }}"
    );
    insta::assert_snapshot!(env.run(["prompt", "add", "water", "-c", "again"]), @"
    --- stderr
    error: Prompt 'water' already exists in project 'garden'
    hint: change it with `twig prompt update water`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "update", "water", "-c", "Water all"]), @"
    --- stderr
    updated prompt `water` in project `garden`: it is version 2 now
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "update", "water", "-c", "Water all"]), @"
    --- stderr
    nothing to change: prompt `water` in project `garden` stays at version 2
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "update", "water"]), @"
    --- stderr
    error: Nothing to update: give a new content or description
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "list"]), @"
    water  What to water
    --- exit 0
    ");
    done(&env, &["prompt", "update", "water", "-d", ""]);
    let row = &json(&env, &["prompt", "list", "--json"])[0];
    assert_eq!(
        (&row["version"], &row["description"]),
        (&3.into(), &Value::Null)
    );
    insta::assert_snapshot!(timeless(&done(&env, &["prompt", "show", "water", "--json"])), @r#"
    {
      "workspace": "default",
      "project": "garden",
      "name": "water",
      "version": 3,
      "operation": "update",
      "time": "[time]",
      "author": "twig",
      "description": null,
      "size": 9,
      "labels": [],
      "text": "Water all"
    }
    "#);
}

#[test]
fn a_resource_is_added_shown_changed_and_listed() {
    let env = garden();
    insta::assert_snapshot!(env.run(["resource", "add", "api", "-c", "# API"]), @"
    --- stderr
    error: the following required arguments were not provided:
      --uri <URI>

    Usage: twig resource add --content <CONTENT> --uri <URI> <NAME>

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["resource", "add", "api", "--uri", "file:///api.md", "-c", "# API", "-d", "The API"]), @"
    --- stderr
    created resource `api` in project `garden`
    --- exit 0
    ");
    done(
        &env,
        &[
            "resource",
            "update",
            "api",
            "--uri",
            "file:///v2.md",
            "-m",
            "text/x-rst",
        ],
    );
    insta::assert_snapshot!(env.run(["resource", "list"]), @"
    api  file:///v2.md  text/x-rst  The API
    --- exit 0
    ");
    insta::assert_snapshot!(timeless(&done(&env, &["resource", "show", "api", "--json"])), @r##"
    {
      "workspace": "default",
      "project": "garden",
      "name": "api",
      "version": 2,
      "operation": "update",
      "time": "[time]",
      "author": "twig",
      "description": "The API",
      "uri": "file:///v2.md",
      "mime_type": "text/x-rst",
      "size": 5,
      "labels": [],
      "text": "# API"
    }
    "##);
    insta::assert_snapshot!(timeless(&done(&env, &["resource", "history", "api"])), @"
    1  [time]  create  twig  5 bytes  file:///api.md  text/markdown  The API
    2  [time]  update  twig  5 bytes  file:///v2.md   text/x-rst     The API
    ");
}

#[test]
fn history_tells_all_and_restore_brings_back() {
    let env = garden();
    done(
        &env,
        &["prompt", "add", "water", "-c", "one", "-d", "First"],
    );
    done(&env, &["prompt", "update", "water", "-c", "two two"]);
    insta::assert_snapshot!(timeless(&done(&env, &["prompt", "delete", "water", "-f", "--json"])), @r#"
    {
      "workspace": "default",
      "project": "garden",
      "name": "water",
      "version": 3,
      "operation": "delete",
      "changed": true,
      "time": "[time]"
    }
    "#);
    insta::assert_snapshot!(env.run(["prompt", "show", "water"]), @"
    --- stderr
    error: Prompt 'water' does not exist in project 'garden'
    hint: it was deleted; restore it with `twig prompt restore water`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "update", "water", "-c", "x"]), @"
    --- stderr
    error: Prompt 'water' does not exist in project 'garden'
    hint: it was deleted; restore it with `twig prompt restore water`
    --- exit 1
    ");
    assert_eq!(
        done(&env, &["prompt", "show", "water", "--version", "1"]),
        "one"
    );
    insta::assert_snapshot!(env.run(["prompt", "restore", "water", "--version", "1"]), @"
    --- stderr
    restored prompt `water` in project `garden` from version 1: it is version 4 now
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "restore", "water", "--version", "1"]), @"
    --- stderr
    nothing to restore: prompt `water` in project `garden` is at version 4, which is like version 1
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "restore", "water", "--version", "9"]), @"
    --- stderr
    error: Prompt 'water' has no version 9; the last one is 4
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "show", "water", "--version", "9"]), @"
    --- stderr
    error: Prompt 'water' has no version 9; the last one is 4
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "restore", "nothing", "--version", "1"]), @"
    --- stderr
    error: Prompt 'nothing' does not exist in project 'garden'
    hint: `twig prompt list` lists all of them
    --- exit 1
    ");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "one");
    insta::assert_snapshot!(timeless(&done(&env, &["prompt", "history", "water"])), @"
    1  [time]  create        twig  3 bytes  First
    2  [time]  update        twig  7 bytes  First
    3  [time]  delete        twig  7 bytes  First
    4  [time]  restore of 1  twig  3 bytes  First
    ");
    insta::assert_snapshot!(env.run(["prompt", "history", "watr"]), @"
    --- stderr
    error: Prompt 'watr' does not exist in project 'garden'
    hint: did you mean `water`?
    --- exit 1
    ");
    let all = json(&env, &["prompt", "history", "water", "--json"]);
    assert_eq!(all[3]["operation"], "restore");
    assert_eq!(
        (&all[3]["from"], &all[3]["author"]),
        (&1.into(), &"twig".into())
    );
    assert!(all[0].get("from").is_none());
}

#[test]
fn restore_without_a_version_brings_back_what_was_deleted() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    done(&env, &["prompt", "update", "water", "-c", "two"]);
    insta::assert_snapshot!(env.run(["prompt", "restore", "water"]), @"
    --- stderr
    error: Prompt 'water' in project 'garden' is not deleted: give the version to restore
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    done(&env, &["prompt", "delete", "water", "-f"]);
    insta::assert_snapshot!(env.run(["prompt", "restore", "water", "--expected-version", "2"]), @"
    --- stderr
    error: Prompt 'water' is at version 3, not at the expected version 2: read it again, then repeat the change
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "restore", "water"]), @"
    --- stderr
    restored prompt `water` in project `garden` from version 2: it is version 4 now
    --- exit 0
    ");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "two");
    // Also where the version before the deletion was dropped.
    done(&env, &["prompt", "delete", "water", "-f"]);
    done(&env, &["workspace", "compact", "--keep", "1", "--yes"]);
    done(&env, &["prompt", "restore", "water"]);
    assert_eq!(done(&env, &["prompt", "show", "water"]), "two");
}

#[test]
fn a_stale_change_is_refused_with_both_versions() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    done(
        &env,
        &[
            "prompt",
            "update",
            "water",
            "-c",
            "two",
            "--expected-version",
            "1",
        ],
    );
    insta::assert_snapshot!(env.run(["prompt", "update", "water", "-c", "three", "--expected-version", "1"]), @"
    --- stderr
    error: Prompt 'water' is at version 2, not at the expected version 1: read it again, then repeat the change
    hint: `twig prompt history water` lists all versions
    --- exit 1
    ");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "two");
    for number in ["-1", "0", "1.5", "x", "99999999999999999999"] {
        let outcome = env.run(["prompt", "show", "water", &format!("--version={number}")]);
        let told = format!(
            "invalid value '{number}' for '--version <N>': it has to be a whole number from 1"
        );
        assert!(
            outcome.code == 2 && outcome.stderr.contains(&told),
            "{outcome}"
        );
    }
}

#[test]
fn content_comes_from_files_and_standard_input() {
    let env = garden();
    fs::write(env.work().join("a.txt"), "\u{feff}from a file\r\n").expect("writable");
    done(&env, &["prompt", "add", "file", "-c", "@a.txt"]);
    assert_eq!(
        done(&env, &["prompt", "show", "file"]),
        "\u{feff}from a file\r\n"
    );
    let output = fed(
        &env,
        &["prompt", "add", "input", "-c", "-"],
        b"from input\n",
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(done(&env, &["prompt", "show", "input"]), "from input\n");
    done(&env, &["prompt", "add", "at", "-c", "@@home"]);
    assert_eq!(done(&env, &["prompt", "show", "at"]), "@home");
    done(&env, &["prompt", "add", "dash", "-c", "--not a flag"]);
    assert_eq!(done(&env, &["prompt", "show", "dash"]), "--not a flag");
    done(&env, &["prompt", "add", "empty", "-c", ""]);
    assert_eq!(done(&env, &["prompt", "show", "empty"]), "");
    for verb in ["add", "update"] {
        let output = fed(&env, &["prompt", verb, "fed", "-c", "-"], b"");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("\nwarning: it is empty\n"), "{told}");
        done(&env, &["prompt", "update", "fed", "-c", "x"]);
    }
    insta::assert_snapshot!(env.run(["prompt", "add", "x", "-c", "@nowhere.txt"]), @"
    --- stderr
    error: the file `nowhere.txt` cannot be read: there is no such file
    hint: write @@… for a content that starts with an @
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "add", "x", "-c", "@."]), @"
    --- stderr
    error: the file `.` cannot be read: it is a folder
    hint: write @@… for a content that starts with an @
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "add", "x"]), @"
    --- stderr
    error: the following required arguments were not provided:
      --content <CONTENT>

    Usage: twig prompt add --content <CONTENT> <NAME>

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn bytes_stay_as_they_are() {
    let env = garden();
    let bytes: Vec<u8> = (0..=255).collect();
    let bytes = [b"\x89PNG\r\n\x1a\n".as_slice(), &bytes].concat();
    fs::write(env.work().join("logo"), &bytes).expect("writable");
    done(
        &env,
        &["resource", "add", "file", "--uri", "a:1", "-c", "@logo"],
    );
    let output = fed(
        &env,
        &["resource", "add", "input", "--uri", "a:2", "-c", "-"],
        &bytes,
    );
    assert!(output.status.success(), "{output:?}");
    let spelled = json(&env, &["resource", "show", "file", "--json"]);
    let spelled = spelled["base64"].as_str().expect("not text").to_owned();
    done(
        &env,
        &[
            "resource",
            "add",
            "typed",
            "--uri",
            "a:3",
            "-m",
            "image/png",
            "-c",
            &spelled,
        ],
    );
    for name in ["file", "input", "typed"] {
        let output = fed(&env, &["resource", "show", name], b"");
        assert_eq!(output.stdout, bytes, "{name}");
        let shown = json(&env, &["resource", "show", name, "--json"]);
        assert_eq!(shown["mime_type"], "image/png", "{name}");
        assert!(shown.get("text").is_none(), "{name}");
    }
    insta::assert_snapshot!(env.run(["resource", "update", "typed", "-c", "no base64"]), @"
    --- stderr
    error: Content of type 'image/png' is binary and has to be valid base64: ` ` at byte 3 is no character of base64
    hint: read the bytes themselves with `-c @FILE` or `-c -`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["resource", "update", "typed", "-m", "text/plain"]), @"
    --- stderr
    error: MIME type 'text/plain' does not fit the content, which is binary: give the content too
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["resource", "add", "x", "--uri", "a:4", "-m", "text/plain", "-c", "@logo"]), @"
    --- stderr
    error: Content of type 'text/plain' has to be UTF-8 text, which ends at byte 0
    hint: say what it is with `-m`, such as `-m image/png`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "add", "x", "-c", "@logo"]), @"
    --- stderr
    error: the file `logo` is not UTF-8 text (byte 0)
    hint: a prompt is text; `twig resource add` takes bytes
    --- exit 1
    ");
}

#[test]
fn names_tell_what_a_resource_is() {
    let env = garden();
    fs::write(env.work().join("notes.md"), "x").expect("writable");
    let mime = |name: &str, uri: &str, content: &str| {
        done(
            &env,
            &["resource", "add", name, "--uri", uri, "-c", content],
        );
        json(&env, &["resource", "show", name, "--json"])["mime_type"].clone()
    };
    assert_eq!(mime("a", "file:///a.sql", "@notes.md"), "text/markdown");
    assert_eq!(mime("b", "file:///b.sql", "select 1"), "application/sql");
    assert_eq!(mime("c", "file:///c", "text"), "text/plain");
    assert_eq!(mime("d", "file:///d.png", "AQI="), "image/png");
}

#[test]
fn limits_are_named() {
    let env = garden();
    let text = "x".repeat(1024 * 1024);
    fs::write(env.work().join("edge"), &text).expect("writable");
    fs::write(env.work().join("past"), text + "x").expect("writable");
    done(&env, &["prompt", "add", "edge", "-c", "@edge"]);
    insta::assert_snapshot!(refused(&env, &["prompt", "add", "past", "-c", "@past"]), @"error: the file `past` holds more than 1048576 bytes, which is the limit");
    // A device without end is not read without end.
    insta::assert_snapshot!(refused(&env, &["prompt", "add", "past", "-c", "@/dev/zero"]), @"error: the file `/dev/zero` holds more than 1048576 bytes, which is the limit");
}

#[test]
fn a_write_says_what_it_did_to_scripts() {
    let env = garden();
    let add = ["prompt", "add", "water", "-c", "x", "--json"];
    insta::assert_snapshot!(timeless(&done(&env, &add)), @r#"
    {
      "workspace": "default",
      "project": "garden",
      "name": "water",
      "version": 1,
      "operation": "create",
      "changed": true,
      "time": "[time]"
    }
    "#);
    let update = ["prompt", "update", "water", "-c", "x", "--json"];
    let told = json(&env, &update);
    assert_eq!(
        (&told["version"], &told["changed"]),
        (&1.into(), &false.into())
    );
    done(&env, &["prompt", "update", "water", "-c", "y"]);
    let told = json(
        &env,
        &["prompt", "restore", "water", "--version", "1", "--json"],
    );
    assert_eq!((&told["version"], &told["from"]), (&3.into(), &1.into()));
    assert_eq!(
        (&told["operation"], &told["changed"]),
        (&"restore".into(), &true.into())
    );
}
