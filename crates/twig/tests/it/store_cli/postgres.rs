//! Workspaces in a PostgreSQL database. Skipped, with a line that says so, where it is not installed.

use std::fs;

use serde_json::json;
use twig_testkit::{PgServer, TestClient, TestEnv};

use super::{done, json, refused, timeless};
use crate::TWIG;

/// An environment whose workspaces are in a database without tables.
fn configured(server: &PgServer) -> TestEnv {
    configured_with(&server.url("postgres"), "")
}

/// The same for a URL, with further settings of the store.
pub(super) fn configured_with(url: &str, settings: &str) -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    let file = env.root().join("url");
    fs::write(&file, format!("{url}\n")).expect("a folder of ours");
    let file = file.display();
    env.configure(&format!("[store]\nurl_file = \"{file}\"\n{settings}\n"));
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
    assert_eq!(first, json!({"from": 0, "to": 4, "changed": true}));
    let again = json(&env, &["store", "migrate", "--json"]);
    assert_eq!(again, json!({"from": 4, "to": 4, "changed": false}));
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
    // The first version has a label.
    for content in ["Hello once more", "Hello for good"] {
        done(&env, &["prompt", "update", "greet", "-c", content]);
    }
    let outcome = env.run(["workspace", "compact", "--keep", "1", "-y"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert_eq!(
        outcome.stderr,
        "dropped 1 version (527 bytes) from workspace `default`\n\
         the database frees the space of deleted rows itself\n"
    );
    let compacted = json(&env, &["workspace", "compact", "--keep", "1", "--json"]);
    let expected = json!({
        "workspace": "default", "keep": 1, "dropped_versions": 0, "dropped_bytes": 0
    });
    assert_eq!(compacted, expected);
    let url = format!("@{}", env.root().join("url").display());
    env.configure("");
    let copy = [
        "store", "copy", "-w", "kept", "--to", &url, "--name", "back",
    ];
    done(&env, &copy);
    let said = refused(&env, &copy);
    assert!(
        said.contains("'back' of the place to copy to is not empty"),
        "{said}"
    );
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
    one.wait_for_log("cannot be reached: ");
    server.begin();
    let is_error = |client: &mut TestClient| {
        client.request("tools/call", call.clone())["result"]["isError"] == json!(true)
    };
    while is_error(&mut one) {}
    one.wait_for_log("WARN the database of the store can be reached again");
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

/// What a command prints, without what is new each time: times, keys and their digests.
fn said(env: &TestEnv, args: &[&str], keys: &mut Vec<String>) -> (i32, String) {
    let output = env.run(args.iter().copied());
    let mut said = timeless(&format!("{}{}", output.stdout, output.stderr));
    let words = said.split(['\n', '"']).map(str::to_owned);
    keys.extend(words.filter(|word| word.starts_with("twig_") && word.len() == 65));
    for (number, key) in keys.iter().enumerate() {
        let (whole, id) = (format!("[key {number}]"), format!("[id {number}]"));
        said = said.replace(key, &whole).replace(&key[5..15], &id);
    }
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|it| it.is_ascii_hexdigit());
    let digests = said.split_whitespace().filter(|word| is_digest(word));
    let digests: Vec<String> = digests.map(str::to_owned).collect();
    for digest in digests {
        said = said.replace(&digest, "[digest]");
    }
    (output.code, said)
}

#[test]
fn keys_and_roles_are_in_a_database_as_in_a_file() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let (shared, alone) = (configured(&server), TestEnv::in_memory(TWIG));
    done(&shared, &["store", "migrate"]);
    let (mut keys, mut own) = (Vec::new(), Vec::new());
    for line in [
        "key list",
        "key revoke anna",
        "key create anna --role writer -w acme",
        "workspace create acme",
        "project create garden -w acme",
        "key create ben --role reader -p acme/garden --expires 90d --json",
        "key create ben --role reader",
        "key rotate anna --grace 24h",
        "key rotate ann",
        "grant add everyone reader acme",
        "grant add everyone reader acme",
        "grant add ben run --json",
        "grant remove ben writer",
        "grant list",
        "project rename garden park -w acme",
        "grant list --json",
        "project delete park -w acme --yes",
        "workspace delete acme --yes",
        "key list",
        "key revoke ben --json",
        "key list --all",
        "audit verify",
        "audit show",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let expected = said(&alone, &args, &mut own);
        // What was done to projects is in the log of the workspace, which was deleted.
        assert_eq!(said(&shared, &args, &mut keys), expected, "{line}");
    }
    assert_eq!((keys.len(), own.len()), (3, 3));
    let file = ".local/share/twig/access.json";
    assert!(alone.home().join(file).exists() && !shared.home().join(file).exists());
    let dump = server.sql("postgres", "SELECT record FROM twig.access");
    for key in &keys {
        assert!(dump.contains(&key[5..15]) && !dump.contains(&key[16..40]));
    }
}

#[test]
fn the_keys_of_a_file_are_moved_to_a_database() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = configured(&server);
    done(&env, &["store", "migrate"]);
    let url = env.root().join("url");
    let settings = format!("[store]\nurl_file = \"{}\"\n", url.display());
    env.configure("");
    done(&env, &["key", "create", "anna", "--role", "reader"]);
    done(&env, &["key", "create", "ben", "--role", "writer"]);
    done(&env, &["key", "revoke", "ben"]);
    let said = refused(&env, &["key", "import"]);
    assert!(said.contains("needs no import"), "{said}");
    env.configure(&settings);
    // They work as before, and that they should be moved is said.
    let listed = env.run(["key", "list"]);
    assert!(listed.stdout.starts_with("anna"), "{listed}");
    assert!(listed.stderr.contains("`twig key import`"), "{listed}");
    // A server without a file has none yet, and can take those of this one.
    let other = configured(&server);
    assert_eq!(done(&other, &["key", "list"]), "");
    let said = refused(&other, &["key", "import"]);
    assert!(said.contains("there are no keys in"), "{said}");
    let file = env.home().join(".local/share/twig/access.json");
    let file = file.display().to_string();
    let moved = json(&other, &["key", "import", &file, "--json"]);
    assert_eq!(moved, json!({"keys": 1, "roles": 1, "changed": true}));
    let listed = env.run(["key", "list", "--all"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{listed}");
    assert_eq!(listed.stderr, "");
    let said = refused(&env, &["key", "import"]);
    assert!(said.contains("there are keys already"), "{said}");
    let chains = done(&env, &["audit", "verify"]);
    assert!(
        chains.contains("3 changes") && chains.contains("intact"),
        "{chains}"
    );
    assert_eq!(done(&other, &["key", "list"]), done(&env, &["key", "list"]));
}
