//! Arguments are held against the schema, and what does not fit is a tool that failed.

use serde_json::{Value, json};

use super::agent::Agent;
use crate::support::error;

#[test]
fn what_does_not_fit_the_schema_is_named() {
    let mut agent = Agent::new();
    for (tool, arguments, sentence) in [
        ("list_prompts", json!([]), "`arguments` must be an object"),
        ("search", json!("x"), "`arguments` must be an object"),
        ("create_prompt", json!(3), "`arguments` must be an object"),
        (
            "create_prompt",
            json!({}),
            "Missing required arguments: name, content",
        ),
        (
            "create_prompt",
            Value::Null,
            "Missing required arguments: name, content",
        ),
        (
            "delete_prompt",
            json!({"name": null}),
            "Missing required argument: name",
        ),
        (
            "expand_prompt",
            json!({"command": "x"}),
            "Missing required argument: input",
        ),
        (
            "create_prompt",
            json!({"name": "a", "content": 3}),
            "Argument `content` must be a string",
        ),
        (
            "create_prompt",
            json!({"name": ["a"], "content": "c"}),
            "Argument `name` must be a string",
        ),
        (
            "update_prompt",
            json!({"name": "a", "content": {"text": "c"}}),
            "Argument `content` must be a string",
        ),
        (
            "create_prompt",
            json!({"nmae": "a", "content": "c"}),
            "Unknown argument: nmae; did you mean `name`?",
        ),
        (
            "delete_prompt",
            json!({"name": "a", "force": true}),
            "Unknown argument: force; there are: name, expected_version",
        ),
        (
            "create_prompt",
            json!({"name": "a", "content": "c", "expected_version": 1}),
            "Unknown argument: expected_version; there are: name, content, description",
        ),
        (
            "search",
            json!({"query": "a", "kind": "tool"}),
            "Argument `kind` must be one of: prompt, resource",
        ),
        (
            "search",
            json!({"query": "a", "kind": 1}),
            "Argument `kind` must be one of: prompt, resource",
        ),
    ] {
        let said = agent.fails(tool, arguments.clone());
        assert_eq!(said, format!("Error: {sentence}"), "{tool} {arguments}");
    }
}

#[test]
fn numbers_are_whole_and_within_their_bounds() {
    let mut agent = Agent::new();
    for limit in [
        json!(0),
        json!(51),
        json!(-1),
        json!(1.5),
        json!("5"),
        json!(true),
        json!(1e99),
    ] {
        let said = agent.fails("search", json!({"query": "a", "limit": limit}));
        assert_eq!(
            said,
            "Error: Argument `limit` must be a whole number from 1 to 50"
        );
    }
    for limit in [json!(1), json!(50), json!(7.0), Value::Null] {
        agent.says("search", json!({"query": "a", "limit": limit}));
    }
    for version in [json!(0), json!(-1), json!("1"), json!(0.5)] {
        let arguments = json!({"name": "a", "expected_version": version});
        let said = agent.fails("delete_prompt", arguments);
        assert_eq!(
            said,
            "Error: Argument `expected_version` must be a whole number from 1 on"
        );
    }
}

#[test]
fn an_argument_is_given_once() {
    let mut agent = Agent::new();
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_prompt","arguments":{"name":"a","n\u0061me":"b"}}}"#;
    let result = &agent.peer.one(message)["result"];
    assert_eq!(
        result["content"][0]["text"],
        "Error: Argument `name` is given twice"
    );
    assert_eq!(result["isError"], true);
}

#[test]
fn tools_with_an_open_schema_take_more_than_they_read() {
    let mut agent = Agent::new();
    agent.says("list_prompts", json!({"verbose": true}));
    agent.says("list_prompts", Value::Null);
}

#[test]
fn malformed_params_are_an_error_of_the_protocol() {
    let mut agent = Agent::new();
    for params in [
        json!({}),
        json!({"name": 3}),
        json!({"name": null}),
        json!({"name": ["x"]}),
    ] {
        let reply = agent.peer.ask("tools/call", params);
        assert_eq!(
            error(&reply),
            (-32602, "`name` must be a string".to_owned())
        );
    }
}

#[test]
fn half_a_character_is_no_text() {
    let mut agent = Agent::new();
    for (arguments, sentence) in [
        (
            r#"{"name":"a","content":"\ud800"}"#,
            "Argument `content` has half of a surrogate pair, which is no character",
        ),
        (r#"{"\ud800":"a"}"#, "The arguments are malformed"),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"create_prompt","arguments":{arguments}}}}}"#
        );
        let reply = agent.peer.one(message);
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("Error: {sentence}")), "{text}");
    }
}

#[test]
fn a_flood_of_arguments_is_answered_in_one_short_sentence() {
    let mut agent = Agent::new();
    let many: serde_json::Map<String, Value> = (0..50_000)
        .map(|at| (format!("{at}{}", "x".repeat(40)), json!([at])))
        .collect();
    let said = agent.fails("create_prompt", Value::Object(many));
    assert!(said.starts_with("Error: Unknown argument: "), "{said}");
    assert!(said.len() < 300, "{said}");
    let long = json!({"x".repeat(1_000_000): 1});
    let said = agent.fails("search", long);
    assert!(said.len() < 300, "{said}");
}
