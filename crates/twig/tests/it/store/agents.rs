//! Clients that support only tools: they read what they write, and take it back.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::{PROJECT, call, done, failed, prompt, serve, update, with_project};

/// A project with two prompts, a text and an image, and a server of it.
fn garden() -> (TestEnv, TestClient) {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let water = json!({"name": "water", "content": "Water {{what}}", "description": "Daily"});
    done(&mut client, "create_prompt", water);
    prompt(&mut client, "weed", "Weed");
    let map = json!({"name": "map", "uri": "file:///map.md", "content": "# Beds",
        "mime_type": "text/markdown", "description": "Where what grows"});
    done(&mut client, "create_resource", map);
    let dot = json!({"name": "dot", "uri": "x://dot", "content": "AQID", "mime_type": "image/png"});
    done(&mut client, "create_resource", dot);
    (env, client)
}

/// What a tool returns, which is the same as text.
fn content(client: &mut TestClient, tool: &str, arguments: Value) -> Value {
    let mut result = call(client, tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let same: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(same, result["structuredContent"]);
    result["structuredContent"].take()
}

/// The numbers and operations that `history` lists.
fn versions(client: &mut TestClient, arguments: Value) -> Vec<String> {
    let history = content(client, "history", arguments);
    let versions = history["versions"].as_array().expect("a list").iter();
    let version = versions.map(|it| {
        let operation = it["operation"].as_str().expect("a word");
        let from = it["from"].as_u64().map(|from| format!(" {from}"));
        format!("{} {operation}{}", it["version"], from.unwrap_or_default())
    });
    version.collect()
}

#[test]
fn what_an_agent_writes_another_one_reads() {
    let (env, mut writer) = garden();
    let mut reader = env.serve_with(["-p", PROJECT, "--read-only"]);
    reader.initialize();
    let mut got = content(&mut reader, "get_prompt", json!({"name": "water"}));
    let time = got["time"].take();
    assert!(time.as_str().is_some_and(|it| it.ends_with('Z')), "{time}");
    assert_eq!(
        got,
        json!({"project": PROJECT, "name": "water", "description": "Daily", "version": 1,
            "operation": "create", "time": null, "author": "testkit (mcp)",
            "text": "Water {{what}}"})
    );
    let listed = content(&mut reader, "list_resources", json!({}));
    assert_eq!(
        listed,
        json!({"resources": [
            {"uri": "file:///map.md", "name": "map", "description": "Where what grows",
                "mimeType": "text/markdown", "size": 6, "version": 1},
            {"uri": "x://dot", "name": "dot", "mimeType": "image/png", "size": 3, "version": 1},
        ]})
    );
    let map = json!({"uri": "file:///map.md", "name": "map", "mimeType": "text/markdown",
        "size": 6, "version": 1, "text": "# Beds"});
    let uri = json!({"uri": "file:///map.md"});
    assert_eq!(content(&mut reader, "read_resource", uri.clone()), map);
    let dot = content(&mut reader, "read_resource", json!({"uri": "x://dot"}));
    assert_eq!(dot["blob"], "AQID");

    update(&mut writer, "water", "Water all");
    let two = json!({"name": "map", "content": "# Two"});
    done(&mut writer, "update_resource", two);
    let got = content(&mut reader, "get_prompt", json!({"name": "water"}));
    assert_eq!(
        (&got["version"], &got["text"]),
        (&json!(2), &json!("Water all"))
    );
    let first = json!({"name": "water", "version": 1});
    let got = content(&mut reader, "get_prompt", first);
    assert_eq!(got["text"], "Water {{what}}");
    let now = content(&mut reader, "read_resource", uri);
    assert_eq!(
        (&now["version"], &now["text"]),
        (&json!(2), &json!("# Two"))
    );
    let first = json!({"uri": "file:///map.md", "version": 1});
    assert_eq!(content(&mut reader, "read_resource", first), map);
    let expected = json!({"name": "water", "content": "x", "expected_version": 1});
    let said = failed(&mut writer, "update_prompt", expected);
    assert!(said.contains("not at the expected version 1"), "{said}");
}

#[test]
fn what_an_agent_deleted_it_restores() {
    let (env, mut client) = garden();
    update(&mut client, "water", "Water all");
    done(&mut client, "delete_prompt", json!({"name": "water"}));
    let name = json!({"name": "water"});
    assert_eq!(
        failed(&mut client, "get_prompt", name.clone()),
        "Error: Prompt 'water' was deleted from project 'auth-module': `restore` brings it back"
    );
    assert_eq!(
        versions(&mut client, name.clone()),
        ["3 delete", "2 update", "1 create"]
    );
    let said = done(&mut client, "restore", name.clone());
    assert_eq!(
        said,
        "Restored prompt 'water' in project 'auth-module' from version 2: it is version 4 now"
    );
    let got = content(&mut client, "get_prompt", name.clone());
    assert_eq!(got["text"], "Water all");
    let first = json!({"name": "water", "version": 1, "expected_version": 4});
    done(&mut client, "restore", first);
    assert_eq!(
        versions(&mut client, name.clone())[..2],
        ["5 restore 1", "4 restore 2"]
    );
    done(&mut client, "delete_resource", json!({"name": "map"}));
    let map = json!({"name": "map", "kind": "resource"});
    assert_eq!(versions(&mut client, map.clone()), ["2 delete", "1 create"]);
    done(&mut client, "restore", map);
    let uri = json!({"uri": "file:///map.md"});
    assert_eq!(content(&mut client, "read_resource", uri)["version"], 3);

    // Versions that were dropped are gone for agents, too.
    let compacted = env.run(["workspace", "compact", "--keep", "2", "--yes"]);
    assert_eq!(compacted.code, 0, "{compacted}");
    assert_eq!(versions(&mut client, name), ["5 restore 1", "4 restore 2"]);
    for (version, said) in [
        (
            1,
            "Error: Prompt 'water' has no version 1 any more (versions before 4 were dropped); the last one is 5",
        ),
        (
            6,
            "Error: Prompt 'water' has no version 6; the last one is 5",
        ),
    ] {
        let gone = json!({"name": "water", "version": version});
        assert_eq!(failed(&mut client, "get_prompt", gone), said);
    }
}

#[test]
fn names_that_do_not_exist_come_with_similar_ones() {
    let (_env, mut client) = garden();
    for tool in ["get_prompt", "history", "restore", "delete_prompt"] {
        assert_eq!(
            failed(&mut client, tool, json!({"name": "watr"})),
            "Error: Prompt 'watr' does not exist in project 'auth-module'; did you mean `water`?",
            "{tool}"
        );
    }
    for tool in ["history", "restore"] {
        assert_eq!(
            failed(
                &mut client,
                tool,
                json!({"name": "mapp", "kind": "resource"})
            ),
            "Error: Resource 'mapp' does not exist in project 'auth-module'; did you mean `map`?",
            "{tool}"
        );
    }
    assert_eq!(
        failed(
            &mut client,
            "read_resource",
            json!({"uri": "file:///mop.md"})
        ),
        "Error: Resource 'file:///mop.md' not found in project 'auth-module'; did you mean `file:///map.md`?"
    );
    // What was deleted is no suggestion: `restore` needs its own name.
    done(&mut client, "delete_prompt", json!({"name": "weed"}));
    assert_eq!(
        failed(&mut client, "get_prompt", json!({"name": "wed"})),
        "Error: Prompt 'wed' does not exist in project 'auth-module'"
    );
}

/// Long texts come in parts, and a cursor of one version is none of another.
#[test]
fn a_cursor_does_not_mix_versions() {
    let (_env, mut client) = garden();
    let long = |end: &str| format!("{}{end}", "ü".repeat(40_000));
    prompt(&mut client, "long", &long("one"));
    let first = content(&mut client, "get_prompt", json!({"name": "long"}));
    let cursor = first["nextCursor"].clone();
    let rest = json!({"name": "long", "cursor": cursor});
    let second = content(&mut client, "get_prompt", rest.clone());
    let text = |part: &Value| part["text"].as_str().expect("a text").to_owned();
    assert!(text(&first) + &text(&second) == long("one"));
    assert_eq!(second["nextCursor"], Value::Null);
    update(&mut client, "long", &long("two"));
    let said = failed(&mut client, "get_prompt", rest);
    assert!(said.contains("the content has changed"), "{said}");
    // Of the version that it belongs to, it still is one.
    let rest = json!({"name": "long", "version": 1, "cursor": cursor});
    assert!(text(&content(&mut client, "get_prompt", rest)).ends_with("one"));
}

/// Requests of one client are answered as if it had waited for each answer.
#[test]
fn requests_that_do_not_wait_keep_their_order() {
    const ROUNDS: u64 = 100;
    let (_env, mut client) = garden();
    let mut asked = Vec::new();
    for round in 1..=ROUNDS {
        let mut start = |tool: &str, arguments: Value| {
            let params = json!({"name": tool, "arguments": arguments});
            client.start_request("tools/call", &params)
        };
        let history = start("history", json!({"name": "weed"}));
        let before = start("get_prompt", json!({"name": "weed"}));
        let content = format!("round {round}");
        start("update_prompt", json!({"name": "weed", "content": content}));
        let after = start("get_prompt", json!({"name": "weed"}));
        asked.push((round, history, before, after));
    }
    for (round, history, before, after) in asked {
        let mut newest = |id: u64| client.answer(id)["result"]["structuredContent"].take();
        assert_eq!(newest(history)["versions"][0]["version"], round);
        assert_eq!(newest(before)["version"], round);
        let after = newest(after);
        assert_eq!(after["version"], round + 1);
        assert_eq!(after["text"], format!("round {round}"));
    }
}
