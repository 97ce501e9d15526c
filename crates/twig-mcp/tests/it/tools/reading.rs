//! The tools with which agents read what they write, and take it back.

use serde_json::{Value, json};
use twig_mcp::Tools;

use super::agent::Agent;
use crate::support::sample;

fn agent() -> Agent {
    let mut agent = Agent::with(vec![sample()], Tools::default());
    for (name, content) in [("water", "Water {{what}}"), ("weed", "Weed")] {
        agent.says("create_prompt", json!({"name": name, "content": content}));
    }
    let map = json!({"name": "map", "uri": "file:///map.md", "content": "# Beds",
        "mime_type": "text/markdown", "description": "Where what grows"});
    agent.says("create_resource", map);
    agent
}

fn content(result: &Value) -> &Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    let same: Value = serde_json::from_str(text).unwrap();
    assert_eq!(same, result["structuredContent"]);
    &result["structuredContent"]
}

#[test]
fn a_prompt_comes_as_it_was_written_with_its_version() {
    let mut agent = agent();
    let update = json!({"name": "water", "content": "Water all", "description": "Daily"});
    agent.says("update_prompt", update);
    let result = agent.call("get_prompt", json!({"name": "water"}));
    assert_eq!(
        content(&result),
        &json!({"project": "auth-module", "name": "water", "description": "Daily", "version": 2,
            "operation": "update", "time": "1970-01-01T00:00:00Z", "author": "unknown (mcp)",
            "text": "Water all"})
    );
    let result = agent.call("get_prompt", json!({"name": "water", "version": 1}));
    assert_eq!(content(&result)["text"], "Water {{what}}");
    assert_eq!(
        agent.fails("get_prompt", json!({"name": "water", "version": 3})),
        "Error: Prompt 'water' has no version 3; the last one is 2"
    );
    agent.says("delete_prompt", json!({"name": "water"}));
    assert_eq!(
        agent.fails("get_prompt", json!({"name": "water"})),
        "Error: Prompt 'water' was deleted from project 'auth-module': `restore` brings it back"
    );
}

#[test]
fn unknown_names_come_with_similar_ones() {
    let mut agent = agent();
    for tool in ["get_prompt", "history", "restore"] {
        assert_eq!(
            agent.fails(tool, json!({"name": "watr"})),
            "Error: Prompt 'watr' does not exist in project 'auth-module'; did you mean `water`?",
            "{tool}"
        );
    }
    assert_eq!(
        agent.fails("history", json!({"name": "mapp", "kind": "resource"})),
        "Error: Resource 'mapp' does not exist in project 'auth-module'; did you mean `map`?"
    );
    assert_eq!(
        agent.fails("read_resource", json!({"uri": "file:///mop.md"})),
        "Error: Resource 'file:///mop.md' not found in project 'auth-module'; did you mean `file:///map.md`?"
    );
}

#[test]
fn resources_are_listed_and_read() {
    let mut agent = agent();
    let result = agent.call("list_resources", json!({}));
    let listed = content(&result)["resources"].as_array().unwrap();
    let map = listed.iter().find(|it| it["name"] == "map").unwrap();
    assert_eq!(
        map,
        &json!({"uri": "file:///map.md", "name": "map", "description": "Where what grows",
            "mimeType": "text/markdown", "size": 6, "version": 1})
    );
    let result = agent.call("read_resource", json!({"uri": "file:///map.md"}));
    let map = json!({"uri": "file:///map.md", "name": "map", "mimeType": "text/markdown",
        "size": 6, "version": 1, "text": "# Beds"});
    assert_eq!(content(&result), &map);
    agent.says(
        "update_resource",
        json!({"name": "map", "content": "# Two"}),
    );
    let first = json!({"uri": "file:///map.md", "version": 1});
    let result = agent.call("read_resource", first);
    assert_eq!(content(&result), &map);
}

#[test]
fn many_resources_come_in_pages() {
    let mut agent = Agent::new();
    for at in 0..150 {
        let name = format!("r{at:03}");
        let resource = json!({"name": name, "uri": format!("a://{name}"), "content": "x"});
        agent.says("create_resource", resource);
    }
    let first = agent.call("list_resources", json!({}));
    let first = content(&first);
    assert_eq!(first["resources"].as_array().unwrap().len(), 100);
    let cursor = first["nextCursor"].clone();
    let second = agent.call("list_resources", json!({"cursor": cursor}));
    let second = content(&second);
    assert_eq!(second["resources"][0]["name"], "r100");
    assert_eq!(second["resources"].as_array().unwrap().len(), 50);
    assert!(second.get("nextCursor").is_none());
    for wrong in ["", "x", "0000000000000000100000001"] {
        let sentence = agent.fails("list_resources", json!({"cursor": wrong}));
        assert!(sentence.contains("list again from the start"), "{sentence}");
    }
}

#[test]
fn long_contents_come_in_parts_that_join_to_the_whole() {
    let mut agent = agent();
    // Two bytes a letter: no part may end within one.
    let text = format!("x{}", "ü".repeat(100_000));
    let draft = json!({"name": "long", "content": text});
    agent.says("create_prompt", draft);
    agent.says(
        "create_resource",
        json!({"name": "long", "uri": "a://long", "content": text}),
    );
    for (tool, which) in [
        ("get_prompt", ("name", "long")),
        ("read_resource", ("uri", "a://long")),
    ] {
        let mut joined = String::new();
        let mut arguments = json!({which.0: which.1});
        let mut parts = 0;
        loop {
            let result = agent.call(tool, arguments.clone());
            joined.push_str(content(&result)["text"].as_str().unwrap());
            parts += 1;
            let Some(cursor) = content(&result).get("nextCursor") else {
                break;
            };
            arguments["cursor"] = cursor.clone();
        }
        assert_eq!(parts, 4);
        assert!(joined == text);
        // A cursor of another content is refused.
        let other = if tool == "get_prompt" {
            json!({"name": "water", "cursor": arguments["cursor"]})
        } else {
            json!({"uri": "file:///map.md", "cursor": arguments["cursor"]})
        };
        assert_eq!(
            agent.fails(tool, other),
            "Error: The cursor is not valid, or the content has changed: read again without a cursor"
        );
    }
}

#[test]
fn history_is_newest_first_and_comes_in_pages() {
    let mut agent = agent();
    for at in 2..=60 {
        agent.says(
            "update_prompt",
            json!({"name": "water", "content": at.to_string()}),
        );
    }
    let result = agent.call("history", json!({"name": "water"}));
    let page = content(&result);
    assert_eq!(page["kind"], "prompt");
    let versions = page["versions"].as_array().unwrap();
    assert_eq!((versions.len(), &versions[0]["version"]), (50, &json!(60)));
    let result = agent.call(
        "history",
        json!({"name": "water", "cursor": page["nextCursor"]}),
    );
    let page = content(&result);
    let versions = page["versions"].as_array().unwrap();
    assert_eq!((versions.len(), &versions[9]["version"]), (10, &json!(1)));
    assert_eq!(versions[9]["operation"], "create");
    assert!(page.get("nextCursor").is_none());
    let sentence = agent.fails("history", json!({"name": "water", "cursor": "soon"}));
    assert_eq!(
        sentence,
        "Error: The cursor is not valid: list again from the start"
    );
}

#[test]
fn restore_brings_back_a_version_and_what_was_deleted() {
    let mut agent = agent();
    agent.says("update_prompt", json!({"name": "water", "content": "Two"}));
    assert_eq!(
        agent.fails("restore", json!({"name": "water"})),
        "Error: Prompt 'water' in project 'auth-module' is not deleted: give the version to restore"
    );
    let stale = json!({"name": "water", "version": 1, "expected_version": 1});
    assert_eq!(
        agent.fails("restore", stale),
        "Error: Prompt 'water' is at version 2, not at the expected version 1: read it again, then repeat the change"
    );
    let result = agent.call("restore", json!({"name": "water", "version": 1}));
    let said =
        "Restored prompt 'water' in project 'auth-module' from version 1: it is version 3 now";
    assert_eq!(result["content"][0]["text"], said);
    assert_eq!(
        result["structuredContent"],
        json!({"project": "auth-module", "name": "water", "version": 3, "changed": true})
    );
    agent.says("delete_prompt", json!({"name": "water"}));
    agent.says("restore", json!({"name": "water"}));
    let result = agent.call("get_prompt", json!({"name": "water"}));
    assert_eq!(content(&result)["text"], "Water {{what}}");

    agent.says("delete_resource", json!({"name": "map"}));
    agent.says("restore", json!({"name": "map", "kind": "resource"}));
    agent.says("read_resource", json!({"uri": "file:///map.md"}));
}
