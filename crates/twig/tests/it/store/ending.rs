//! Servers that end, and clients that ask again.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{PROJECT, call, done, failed, names, serve, text, update, with_project};

/// T-REL-15: a signal in the middle of writes.
#[test]
fn a_signal_loses_no_write_and_leaves_a_tidy_folder() {
    const WRITES: usize = 20;
    let env = with_project();
    for round in 0..50 {
        let mut client = serve(&env);
        let name = |write: usize| format!("r{round}.w{write}");
        let ids: Vec<u64> = (0..WRITES)
            .map(|write| {
                let arguments = json!({"name": name(write), "content": "x"});
                client.start_request(
                    "tools/call",
                    &json!({"name": "create_prompt", "arguments": arguments}),
                )
            })
            .collect();
        client.answer(ids[round % 5]);
        client.signal(Signal::TERM);
        let ended = client.ended();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert!(ended.took < Duration::from_secs(2), "{:?}", ended.took);
        let mut kept = vec![name(round % 5)];
        for message in ended.rest {
            let write = ids
                .iter()
                .position(|id| message["id"] == *id)
                .expect("an answer");
            if message["result"]["isError"] == false {
                kept.push(name(write));
            }
        }
        let mut check = serve(&env);
        let present = names(&mut check);
        assert!(
            kept.iter().all(|name| present.contains(name)),
            "{kept:?} {present:?}"
        );
        assert!(check.close().status.success());
        let folder = env.home().join(".local/share/twig/workspaces");
        let left: Vec<_> = std::fs::read_dir(folder)
            .expect("a folder")
            .flatten()
            .collect();
        let is_log = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with("-wal");
        assert!(
            !left.iter().any(|entry| is_log(&entry.file_name())),
            "{left:?}"
        );
    }
}

/// T-TOOL-05: a client that got no answer asks again, and one version is made.
#[test]
fn what_is_asked_twice_is_done_once() {
    let env = with_project();
    let mut client = serve(&env);
    for round in 0..100 {
        let name = format!("p{round}");
        let create = json!({"name": name, "content": "one"});
        client.start_request(
            "tools/call",
            &json!({"name": "create_prompt", "arguments": create}),
        );
        // The next request is answered after the write was made; its own answer is never read.
        names(&mut client);
        client.signal(Signal::KILL);
        client = serve(&env);
        let again = call(&mut client, "create_prompt", create);
        let said = again["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned();
        assert_eq!(
            said,
            format!("Error: Prompt '{name}' already exists in project '{PROJECT}'")
        );
        let update = json!({"name": name, "content": "two"});
        for _ in 0..2 {
            let result = call(&mut client, "update_prompt", update.clone());
            assert_eq!(result["structuredContent"]["version"], 2);
        }
    }
}

/// T-TOOL-03.
#[test]
fn what_an_agent_deleted_comes_back() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    done(
        &mut client,
        "create_prompt",
        json!({"name": "p", "content": "one", "description": "first"}),
    );
    update(&mut client, "p", "two");
    done(&mut client, "delete_prompt", json!({"name": "p"}));
    assert!(names(&mut client).is_empty());
    let restored = env.run(["prompt", "restore", "p", "--version", "1", "-p", PROJECT]);
    assert_eq!(restored.code, 0, "{restored}");
    assert!(restored.stderr.contains("version 1"), "{restored}");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(text(&mut client, "p"), "one");
    let history = env.run(["prompt", "history", "p", "-p", PROJECT, "--json"]);
    let history: Vec<Value> = serde_json::from_str(&history.stdout).expect("JSON");
    let operations: Vec<&str> = history
        .iter()
        .map(|v| v["operation"].as_str().expect("a word"))
        .collect();
    assert_eq!(operations, ["create", "update", "delete", "restore"]);
    let authors: Vec<&str> = history
        .iter()
        .map(|v| v["author"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        authors,
        ["testkit (mcp)", "testkit (mcp)", "testkit (mcp)", "twig"]
    );
}

/// T-TOOL-04: a flood ends at the limit, and the server goes on.
#[test]
fn a_project_takes_only_so_much() {
    let env = with_project();
    env.configure("[limits]\nproject_items = 10\nverbatim = 100\n");
    let mut client = serve(&env);
    client.initialize();
    let create = |at: usize| json!({"name": format!("p{at}"), "content": "x".repeat(100)});
    for at in 0..10 {
        done(&mut client, "create_prompt", create(at));
    }
    let asked: Vec<u64> = (10..2_010)
        .map(|at| {
            let params = json!({"name": "create_prompt", "arguments": create(at)});
            client.start_request("tools/call", &params)
        })
        .collect();
    for id in asked {
        let result = client.answer(id)["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(
            result["content"][0]["text"],
            "Error: Project 'auth-module' has 10 prompts and resources, which is the limit: delete some first"
        );
    }
    let said = failed(
        &mut client,
        "update_prompt",
        json!({"name": "p0", "content": "x".repeat(101)}),
    );
    assert_eq!(
        said,
        "Error: The content of the prompt is 101 bytes long; the limit is 100"
    );
    done(&mut client, "delete_prompt", json!({"name": "p0"}));
    done(&mut client, "create_prompt", create(10));
}

/// The limit of a project's versions is the configured one, over MCP and on the terminal.
#[test]
fn the_versions_of_a_project_take_only_so_much() {
    let env = with_project();
    env.configure("[limits]\nproject_history = 3300\n");
    let mut client = serve(&env);
    client.initialize();
    done(
        &mut client,
        "create_prompt",
        json!({"name": "p", "content": "x".repeat(400)}),
    );
    update(&mut client, "p", &"y".repeat(400));
    update(&mut client, "p", &"z".repeat(400));
    let more = json!({"name": "p", "content": "w".repeat(400)});
    let said = failed(&mut client, "update_prompt", more);
    assert!(said.contains("the limit is 3300"), "{said}");
    let outcome = env.run(["prompt", "update", "p", "-p", PROJECT, "-c", "v"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let shown = env.run(["project", "show", PROJECT, "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(shown["history_limit"], 3300);
    assert_eq!(shown["history_bytes"], 4 * 512 + 3 * 400 + 1);
    // Without the setting there is room again.
    env.configure("");
    let outcome = env.run(["prompt", "update", "p", "-p", PROJECT, "-c", "more"]);
    assert_eq!(outcome.code, 0, "{outcome}");
}
