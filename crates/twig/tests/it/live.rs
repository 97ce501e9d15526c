//! Edits while a server runs.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

use crate::env;

const CHANGED: &str = "notifications/prompts/list_changed";

fn one(name: &str) -> String {
    format!(
        "//- {name}/twig.toml\n[prompts.p]\ndescription = \"first\"\n//- {name}/prompts/p.md\nold\n"
    )
}

fn names(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    prompts
        .iter()
        .filter_map(|prompt| prompt["name"].as_str().map(str::to_owned))
        .collect()
}

/// Waits for announcements until the list is as expected.
fn settles_on(client: &mut TestClient, expected: &[&str]) {
    while names(client) != expected {
        client.notification(CHANGED);
    }
}

fn text(client: &mut TestClient, name: &str) -> Value {
    let answer = client.request("prompts/get", json!({"name": name}));
    answer["result"]["messages"][0]["content"]["text"].clone()
}

fn started(env: &TestEnv) -> TestClient {
    let mut client = env.serve();
    client.initialize();
    client
}

#[test]
fn a_body_is_served_at_once_after_an_edit() {
    let env = env(&one("lib"));
    let mut client = started(&env);
    assert_eq!(text(&mut client, "lib:p"), "old\n");
    for round in 0..50 {
        let body = format!("round {round}\n");
        env.write("lib/prompts/p.md", &body);
        assert_eq!(text(&mut client, "lib:p"), body);
    }
}

#[test]
fn a_new_prompt_is_announced_in_both_eras() {
    let env = env(&one("lib"));
    let mut client = started(&env);
    let id = client.start_modern(
        "subscriptions/listen",
        json!({"notifications": {"promptsListChanged": true}}),
    );
    client.notification("notifications/subscriptions/acknowledged");
    env.write("lib/prompts/q.md", "new\n");
    env.write(
        "lib/twig.toml",
        "[prompts.p]\ndescription = \"first\"\n[prompts.q]\n",
    );
    let key = "io.modelcontextprotocol/subscriptionId";
    client.wait_for(|m| m["method"] == CHANGED && m["params"]["_meta"][key] == id);
    client.wait_for(|m| m["method"] == CHANGED && m["params"]["_meta"].get(key).is_none());
    settles_on(&mut client, &["lib:p", "lib:q"]);
}

#[test]
fn a_library_moved_in_and_out_is_followed() {
    let env = env(&one("lib"));
    let outside = env.root().join("outside");
    twig_testkit::write_fixture(&outside, &one("more"));
    let mut client = started(&env);
    settles_on(&mut client, &["lib:p"]);
    fs::rename(outside.join("more"), env.data().join("more")).expect("same file system");
    settles_on(&mut client, &["lib:p", "more:p"]);
    fs::rename(env.data().join("lib"), outside.join("lib")).expect("same file system");
    settles_on(&mut client, &["more:p"]);
}

#[test]
fn the_data_folder_may_go_and_come_back() {
    let env = env(&one("lib"));
    let mut client = started(&env);
    settles_on(&mut client, &["lib:p"]);
    fs::remove_dir_all(env.data()).expect("ours");
    settles_on(&mut client, &[]);
    twig_testkit::write_fixture(&env.data(), &one("again"));
    settles_on(&mut client, &["again:p"]);
    env.write(
        "again/twig.toml",
        "[prompts.p]\n[prompts.q]\nfile = \"prompts/p.md\"\n",
    );
    settles_on(&mut client, &["again:p", "again:q"]);
}

#[test]
fn a_broken_save_keeps_what_was_good_until_it_is_mended() {
    let env = env(&one("lib"));
    let mut client = started(&env);
    settles_on(&mut client, &["lib:p"]);
    env.write("lib/twig.toml", "[prompts.p\n");
    env.write("two/prompts/p.md", "x");
    env.write("two/twig.toml", "[prompts.p]\n");
    settles_on(&mut client, &["lib:p", "two:p"]);
    env.write("lib/prompts/q.md", "q");
    env.write("lib/twig.toml", "[prompts.p]\n[prompts.q]\n");
    settles_on(&mut client, &["lib:p", "lib:q", "two:p"]);
}

#[test]
fn polling_finds_changes_too() {
    let env = env(&one("lib"));
    let mut client = env.serve_with(["--poll"]);
    client.initialize();
    settles_on(&mut client, &["lib:p"]);
    twig_testkit::write_fixture(&env.data(), &one("more"));
    settles_on(&mut client, &["lib:p", "more:p"]);
}

#[test]
fn a_body_edit_alone_is_not_a_changed_list() {
    let env = env(&one("lib"));
    let mut client = started(&env);
    settles_on(&mut client, &["lib:p"]);
    env.write("lib/prompts/p.md", "edited\n");
    assert_eq!(text(&mut client, "lib:p"), "edited\n");
    // The next real change is announced; nothing came before it.
    env.write("lib/twig.toml", "[prompts.p]\ndescription = \"second\"\n");
    client.notification(CHANGED);
    assert_eq!(client.pending(CHANGED), 0);
    let answer = client.request("prompts/list", json!({}));
    assert_eq!(answer["result"]["prompts"][0]["description"], "second");
}

#[test]
fn an_announcement_waits_for_a_client_that_does_not_read() {
    let env = env(&one("lib"));
    env.write("lib/prompts/p.md", "x".repeat(100_000));
    let mut client = started(&env);
    settles_on(&mut client, &["lib:p"]);
    let mut input = client.take_input();
    // More than the pipe and the queue hold, so that replies are still waiting when the list changes.
    let get =
        json!({"jsonrpc": "2.0", "id": 900, "method": "prompts/get", "params": {"name": "lib:p"}});
    std::io::Write::write_all(&mut input, format!("{get}\n").repeat(40).as_bytes())
        .expect("the server reads");
    env.write("lib/twig.toml", "[prompts.p]\ndescription = \"second\"\n");
    for _ in 0..40 {
        client.answer(900);
    }
    client.notification(CHANGED);
}

#[test]
fn a_folder_that_is_added_or_removed_is_served_at_once() {
    let env = env(&one("lib"));
    let folder = env.home().join("more");
    write_fixture(&folder, &one("other"));
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:p"]);
    let path = folder.join("other").display().to_string();
    assert_eq!(env.run(["library", "add", &path]).code, 0);
    client.notification(CHANGED);
    settles_on(&mut client, &["lib:p", "other:p"]);
    fs::write(folder.join("other/prompts/p.md"), "newer\n").expect("writable");
    assert_eq!(text(&mut client, "other:p"), "newer\n");
    assert_eq!(env.run(["library", "remove", "other"]).code, 0);
    client.notification(CHANGED);
    settles_on(&mut client, &["lib:p"]);
}

#[test]
fn an_edit_of_the_configuration_is_followed_and_a_broken_one_is_not() {
    let env = env(&one("lib"));
    let folder = env.home().join("more");
    write_fixture(&folder, &one("other"));
    let path = folder.join("other").display().to_string();
    let entry = format!("[[libraries]]\npath = \"{path}\"\n");
    env.configure(&entry);
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:p", "other:p"]);
    // Another name for it.
    env.configure(&format!("{entry}name = \"mine\"\n"));
    settles_on(&mut client, &["lib:p", "mine:p"]);
    // Broken: what was good stays, and something else is still followed.
    env.configure("[[libraries]]\npath = \n");
    client.wait_for_log("not valid TOML");
    env.write("late/twig.toml", "[prompts.q]\n");
    env.write("late/prompts/q.md", "q\n");
    settles_on(&mut client, &["late:q", "lib:p", "mine:p"]);
    env.configure("seperator = \"/\"\n");
    client.wait_for_log("unknown setting `seperator`");
    env.write("later/twig.toml", "[prompts.q]\n");
    env.write("later/prompts/q.md", "q\n");
    settles_on(&mut client, &["late:q", "later:q", "lib:p", "mine:p"]);
    env.configure("[limits]\nmessages = 7\n");
    settles_on(&mut client, &["late:q", "later:q", "lib:p"]);
    fs::remove_file(env.home().join(".config/twig/config.toml")).expect("there");
    let log = client.close().stderr;
    assert!(
        log.contains("config.toml:2: error[bad-config]: not valid TOML"),
        "{log}"
    );
    assert!(
        log.contains(
            "unknown setting `seperator`; did you mean `separator`? Meanwhile the last good configuration stays in use"
        ),
        "{log}"
    );
    assert!(
        log.contains("~/.config/twig/config.toml: changes of [limits] take effect when the server is started again"),
        "{log}"
    );
}
