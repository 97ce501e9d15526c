//! Workspaces in a PostgreSQL database. Skipped, with a line that says so, where it is not installed.

use std::fs;

use serde_json::json;
use twig_testkit::{PgServer, TestClient, TestEnv};

use super::{done, json, refused};
use crate::TWIG;

/// An environment whose workspaces are in a database without tables.
fn configured(server: &PgServer) -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    let file = env.root().join("url");
    fs::write(&file, format!("{}\n", server.url("postgres"))).expect("a folder of ours");
    let file = file.display();
    env.configure(&format!("[store]\nurl_file = \"{file}\"\n"));
    env
}

/// The names of a server's threads.
fn threads(client: &TestClient) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", client.pid())).expect("its tasks");
    let names = tasks.map(|task| fs::read_to_string(task.expect("a task").path().join("comm")));
    let names = names.map(|name| name.expect("a name").trim().to_owned());
    names.collect()
}

#[test]
fn every_command_works_on_a_database() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = configured(&server);
    let said = refused(&env, &["project", "create", "p"]);
    assert!(said.contains("`twig store migrate`"), "{said}");
    let first = json(&env, &["store", "migrate", "--json"]);
    assert_eq!(first, json!({"from": 0, "to": 1, "changed": true}));
    let again = json(&env, &["store", "migrate", "--json"]);
    assert_eq!(again, json!({"from": 1, "to": 1, "changed": false}));
    done(&env, &["project", "create", "p"]);
    done(&env, &["prompt", "add", "hello", "-c", "Hello"]);
    done(&env, &["prompt", "update", "hello", "-c", "Hello again"]);
    done(&env, &["prompt", "label", "hello", "production"]);
    done(&env, &["prompt", "rename", "hello", "greet"]);
    done(
        &env,
        &["resource", "add", "r", "--uri", "file:///r", "-c", "x"],
    );
    assert_eq!(done(&env, &["render", "p:greet"]), "Hello again\n");
    let found = done(&env, &["search", "again"]);
    assert!(found.contains("p:greet"), "{found}");
    done(&env, &["project", "export", "p", "out"]);
    done(&env, &["project", "delete", "p", "--yes"]);
    done(&env, &["project", "import", "out"]);
    let chains = done(&env, &["audit", "verify"]);
    assert_eq!(chains.matches("intact").count(), 2, "{chains}");
    let verified = json(&env, &["store", "verify", "--json"]);
    let expected = json!([
        {"workspace": "default", "versions": 2, "contents": 2, "changes": 13}
    ]);
    assert_eq!(verified, expected);
    let shown = json(&env, &["project", "show", "p", "--json"]);
    assert_eq!(shown.get("path"), None);
    let copied = json(
        &env,
        &["store", "copy", "--to", "files", "--name", "kept", "--json"],
    );
    let expected = json!({
        "workspace": "default", "name": "kept", "projects": 1, "versions": 2, "contents": 2
    });
    assert_eq!(copied, expected);
    let said = refused(&env, &["workspace", "backup", "copy.db"]);
    assert!(said.contains("pg_dump"), "{said}");
    let url = format!("@{}", env.root().join("url").display());
    env.configure("");
    let copy = [
        "store", "copy", "-w", "kept", "--to", &url, "--name", "back",
    ];
    done(&env, &copy);
    let said = refused(&env, &copy);
    assert!(said.contains("already exists"), "{said}");
    assert_eq!(done(&env, &["workspace", "list"]), "kept  1 project\n");
}

#[test]
fn servers_on_one_database_announce_each_others_writes() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = configured(&server);
    done(&env, &["store", "migrate"]);
    done(&env, &["project", "create", "p"]);
    let other = configured(&server);
    let mut one = env.serve_with(["-p", "p"]);
    let mut two = other.serve_with(["-p", "p"]);
    one.initialize();
    two.initialize();
    let list = |client: &mut TestClient| client.request("prompts/list", json!({}));
    assert_eq!(list(&mut two)["result"]["prompts"], json!([]));
    let call = json!({
        "name": "create_prompt",
        "arguments": {"name": "a", "content": "Hello"},
    });
    let called = one.request("tools/call", call);
    assert_eq!(called["result"]["isError"], json!(false), "{called}");
    two.notification("notifications/prompts/list_changed");
    let listed = list(&mut two);
    assert_eq!(listed["result"]["prompts"][0]["name"], "a", "{listed}");
    // What was read is served while the database is away, and writes are refused.
    server.crash();
    let listed = list(&mut two);
    assert_eq!(listed["result"]["prompts"][0]["name"], "a", "{listed}");
    let call = json!({
        "name": "create_prompt",
        "arguments": {"name": "b", "content": "Hello"},
    });
    let called = one.request("tools/call", call.clone());
    let said = called["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("nothing was written"), "{said}");
    server.begin();
    let is_error = |client: &mut TestClient| {
        client.request("tools/call", call.clone())["result"]["isError"] == json!(true)
    };
    while is_error(&mut one) {}
    two.notification("notifications/prompts/list_changed");
}

#[test]
fn a_server_without_a_database_has_no_thread_for_one() {
    let env = TestEnv::in_memory(TWIG);
    done(&env, &["project", "create", "p"]);
    let mut client = env.serve_with(["-p", "p"]);
    client.initialize();
    let found = threads(&client);
    let is_pg = |name: &String| name == "twig-store-pg" || name.starts_with("tokio");
    assert!(!found.iter().any(is_pg), "{found:?}");
}

#[test]
fn settings_of_the_store_are_checked() {
    let env = TestEnv::in_memory(TWIG);
    for (config, expected) in [
        (
            "url = \"mysql://x\"",
            "`url` is the address of a PostgreSQL",
        ),
        ("freshness_millis = -1", "whole number from 0"),
        ("url_file = 3", "`url_file` is the path"),
        ("ur = \"x\"", "did you mean `url`"),
        ("url_file = \"nothing\"", "cannot be read"),
    ] {
        env.configure(&format!("[store]\n{config}\n"));
        let said = refused(&env, &["project", "list"]);
        assert!(said.contains(expected), "{said}");
    }
}
