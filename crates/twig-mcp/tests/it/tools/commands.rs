//! `list_prompts`: every prompt, for clients that know no prompts.

use std::sync::Arc;

use serde_json::{Value, json};
use twig_core::{Argument, Prompt};
use twig_mcp::Tools;

use super::agent::{Agent, text};
use crate::support::{argument, library, prompt, required, server_meta};

fn described(name: &str, description: &str, arguments: Vec<Argument>) -> Prompt {
    Prompt {
        description: Some(description.into()),
        ..prompt(name, arguments)
    }
}

/// A folder of Markdown prompts, which have bare names.
fn folder(prompts: Vec<Prompt>) -> twig_core::Library {
    let mut folder = library("prompts", 1, prompts);
    for prompt in &mut folder.prompts {
        let prompt = std::sync::Arc::make_mut(prompt);
        prompt.full_name = prompt.name.as_str().into();
    }
    folder
}

#[test]
fn markdown_prompts_are_listed_as_their_contract_says() {
    let input = || vec![argument("input")];
    let prompts = vec![
        described(
            "research",
            "Research a topic and provide a concise summary with key sources.",
            input(),
        ),
        described(
            "summarize",
            "Summarize provided text into a tight digest with bullets.",
            input(),
        ),
    ];
    let mut agent = Agent::without_project(vec![folder(prompts)], Tools::default());
    let request = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_prompts","arguments":{}}}"#;
    let expected = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"prompts\":[{\"name\":\"research\",\"description\":\"Research a topic and provide a concise summary with key sources.\"},{\"name\":\"summarize\",\"description\":\"Summarize provided text into a tight digest with bullets.\"}]}"}],"structuredContent":{"prompts":[{"name":"research","description":"Research a topic and provide a concise summary with key sources."},{"name":"summarize","description":"Summarize provided text into a tight digest with bullets."}]}}}
"#;
    assert_eq!(agent.peer.raw(request), expected);
    assert_eq!(agent.peer.raw(request), expected);
}

#[test]
fn arguments_are_listed_where_there_is_more_than_input() {
    let code = Argument {
        description: Some("The code".into()),
        ..required("code")
    };
    let defaulted = Argument {
        default: Some("go".into()),
        ..required("language")
    };
    let titled = Prompt {
        title: Some("A title".into()),
        ..prompt("c", Vec::new())
    };
    let prompts = vec![
        described("a", "A", vec![code, defaulted]),
        prompt("b", vec![argument("topic")]),
        titled,
        prompt("d", vec![required("input")]),
    ];
    let mut agent = Agent::with(vec![library("l", 1, prompts)], Tools::default());
    agent.says(
        "create_prompt",
        json!({"name": "stored", "content": "c", "description": "S"}),
    );
    let result = agent.call("list_prompts", json!({}));
    let expected = json!({"prompts": [
        {"name": "l:a", "description": "A", "arguments": [
            {"name": "code", "description": "The code", "required": true},
            {"name": "language", "required": false}]},
        {"name": "l:b", "description": "", "arguments": [{"name": "topic", "required": false}]},
        {"name": "l:c", "description": "A title"},
        {"name": "l:d", "description": ""},
        {"name": "stored", "description": "S", "version": 1},
    ]});
    assert_eq!(result["structuredContent"], expected);
    let said: Value = serde_json::from_str(&text(&result)).unwrap();
    assert_eq!(said, expected);
    assert_eq!(result.get("isError"), None);
}

#[test]
fn both_eras_get_the_same_list() {
    let mut agent = Agent::with(
        vec![folder(vec![prompt("p", Vec::new())])],
        Tools::default(),
    );
    let legacy = agent.call("list_prompts", json!({}));
    agent.is_modern = true;
    let modern = agent.call("list_prompts", json!({}));
    assert_eq!(legacy.get("resultType"), None);
    assert_eq!(modern["resultType"], "complete");
    assert_eq!(modern["_meta"], server_meta());
    for key in ["content", "structuredContent"] {
        assert_eq!(modern[key], legacy[key]);
    }
}

#[test]
fn the_list_is_of_the_catalog_of_the_moment() {
    let mut agent = Agent::new();
    let count = |agent: &mut Agent| {
        let result = agent.call("list_prompts", json!({}));
        result["structuredContent"]["prompts"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(&mut agent), 0);
    for at in 1..4 {
        agent.says(
            "create_prompt",
            json!({"name": format!("p{at}"), "content": "c"}),
        );
        assert_eq!(count(&mut agent), at);
    }
    // What only looks the same is written for each snapshot, not for each list.
    agent.peer.catalog = Arc::new(twig_core::Catalog::build(Vec::new())).into();
    assert_eq!(count(&mut agent), 0);
}

#[test]
fn ten_thousand_prompts_come_at_once() {
    let prompts = (0..10_000).map(|at| described(&format!("p{at:05}"), "Does it", Vec::new()));
    let mut agent = Agent::with(vec![library("l", 1, prompts.collect())], Tools::default());
    let result = agent.call("list_prompts", json!({}));
    let listed = result["structuredContent"]["prompts"].as_array().unwrap();
    assert_eq!(listed.len(), 10_000);
    assert_eq!(listed[9_999]["name"], "l:p09999");
}
