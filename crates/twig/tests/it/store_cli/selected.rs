//! `twig show`, `list`, `search`, `render` and `doctor` with a project selected.

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::store_cli::{done, garden, json as read, timeless};

const PLACE: [&str; 4] = ["-w", "team", "-p", "big-zoo"];

/// A prompt, a text and a picture, in a workspace and a project with names of their own.
fn zoo() -> TestEnv {
    let env = garden();
    done(&env, &["workspace", "create", "team"]);
    done(&env, &["project", "create", "big-zoo", "-w", "team"]);
    for args in [
        &["prompt", "add", "feed", "-c", "Feed them", "-d", "Meals"][..],
        &["prompt", "update", "feed", "-c", "Feed them all"],
        &["resource", "add", "heart", "--uri", "urn:heart", "-c", "<3"],
        &[
            "resource",
            "add",
            "pic",
            "--uri",
            "urn:pic.png",
            "-c",
            "aGVsbG8=",
        ],
    ] {
        done(&env, &[args, &PLACE].concat());
    }
    env
}

#[test]
fn what_comes_from_a_project_says_so_and_its_version() {
    let env = zoo();
    let run = |args: &[&str]| env.run([args, &PLACE].concat());
    insta::assert_snapshot!(run(&["show", "feed"]), @"
    name         feed
    description  Meals
    project      big-zoo
    workspace    team
    version      2

    text
    Feed them all
    --- exit 0
    ");
    let row = json!({
        "name": "feed", "title": null, "description": "Meals", "arguments": [], "kind": "store",
        "project": "big-zoo", "workspace": "team", "version": 2,
    });
    let with = |key: &str, value: Value| {
        let mut row = row.clone();
        row[key] = value;
        row
    };
    let message = json!([{"role": "user", "path": null, "text": "Feed them all"}]);
    let mut found = with("snippet", "Meals".into());
    found["matched"] = "all".into();
    for (args, expected) in [
        (&["show", "feed"][..], with("messages", message)),
        (&["list"], json!([row])),
        (&["search", "meals"], json!([found])),
    ] {
        let args = [args, &["--json"], &PLACE].concat();
        assert_eq!(read(&env, &args), expected, "{args:?}");
    }
    let documents = done(
        &env,
        &[&["list", "--documents", "--json"], &PLACE[..]].concat(),
    );
    insta::assert_snapshot!(timeless(&documents), @r#"
    [
      {
        "uri": "urn:heart",
        "name": "heart",
        "title": "heart",
        "mime_type": "text/plain",
        "size": 2,
        "last_modified": "[time]",
        "project": "big-zoo",
        "workspace": "team",
        "version": 1
      },
      {
        "uri": "urn:pic.png",
        "name": "pic",
        "title": "pic",
        "mime_type": "image/png",
        "size": 5,
        "last_modified": "[time]",
        "project": "big-zoo",
        "workspace": "team",
        "version": 1
      }
    ]
    "#);
}

#[test]
fn a_uri_is_a_uri_whatever_its_scheme() {
    let env = zoo();
    let run = |args: &[&str]| env.run([args, &PLACE].concat());
    insta::assert_snapshot!(run(&["show", "urn:heart"]), @"
    <3
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["show", "urn:pic.png"]), @"
    --- stderr
    urn:pic.png is not text: 5 bytes of image/png
    hint: `twig resource show pic -w team -p big-zoo > FILE` writes it to a file
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["show", "none://of-that-kind"]), @"
    --- stderr
    error: there is no document `none://of-that-kind`
    hint: run `twig list --documents -w team -p big-zoo`
    --- exit 1
    ");
}

#[test]
fn what_is_not_there_is_told_as_clients_hear_it() {
    let env = zoo();
    let run = |args: &[&str]| env.run([args, &PLACE].concat());
    insta::assert_snapshot!(run(&["show", "nope"]), @"
    --- stderr
    error: Prompt 'nope' not found in project 'big-zoo'
    hint: no library has it either; run `twig list -w team -p big-zoo` to see every prompt
    --- exit 1
    ");
    insta::assert_snapshot!(run(&["render", "fed"]), @"
    --- stderr
    error: Prompt 'fed' not found in project 'big-zoo'
    hint: no library has it either; did you mean `feed`?
    --- exit 1
    ");
    insta::assert_snapshot!(run(&["show", "no:pe"]), @"
    --- stderr
    error: Prompt not found: no:pe
    hint: run `twig list -w team -p big-zoo` to see every prompt
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["show", "nope", "-p", "garden"]), @"
    --- stderr
    error: Prompt 'nope' not found in project 'garden'
    hint: no library has it either; run `twig list -p garden` to see every prompt
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["show", "nope"]), @"
    --- stderr
    error: Prompt not found: nope
    hint: run `twig list` to see every prompt
    --- exit 1
    ");
}

#[test]
fn an_empty_project_says_how_to_fill_it() {
    let env = garden();
    insta::assert_snapshot!(env.run(["list", "-p", "garden"]), @"
    --- stderr
    no prompts in project `garden` and none in libraries
    hint: add one with `twig prompt add NAME -p garden -c TEXT`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["list", "--documents", "-p", "garden"]), @"
    --- stderr
    no documents
    hint: add one with `twig resource add NAME -p garden --uri URI -c TEXT`
    --- exit 0
    ");
}

#[test]
fn doctor_tells_a_project_from_libraries() {
    let env = zoo();
    let told = done(&env, &[&["doctor"], &PLACE[..]].concat());
    let part = told
        .split("\n\n")
        .find(|part| part.starts_with("project\n"));
    assert_eq!(
        part,
        Some("project\n  big-zoo  1 prompt  2 resources  in workspace `team`"),
        "{told}"
    );
    let report = read(&env, &[&["doctor", "--json"], &PLACE[..]].concat());
    assert_eq!(
        (&report["project"], &report["libraries"]),
        (
            &json!({"name": "big-zoo", "workspace": "team", "prompts": 1, "resources": 2}),
            &json!([])
        )
    );
    let report = read(&env, &["doctor", "--json"]);
    assert_eq!(report.get("project"), None);
    let libraries = read(&env, &[&["library", "list", "--json"], &PLACE[..]].concat());
    assert_eq!(libraries, json!([]));
}

#[test]
fn a_search_for_nothing_is_a_mistake() {
    let env = garden();
    for words in [&[""][..], &[" ", "\t"]] {
        let outcome = env.run([&["search"][..], words].concat());
        let told = "error: the query is empty\nhint: give words, or the beginnings of words\n";
        assert_eq!((outcome.code, &*outcome.stderr), (2, told), "{outcome}");
    }
}
