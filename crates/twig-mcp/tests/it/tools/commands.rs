//! `list_prompts`: the prompts, page by page, for clients that know no prompts.

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
        choices: ["go", "rust"].map(Into::into).to_vec(),
        ..required("language")
    };
    let chosen = Argument {
        choices: ["a", "b"].map(Into::into).to_vec(),
        ..required("input")
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
        prompt("e", vec![chosen]),
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
            {"name": "language", "required": false, "choices": ["go", "rust"], "default": "go"}]},
        {"name": "l:b", "description": "", "arguments": [{"name": "topic", "required": false}]},
        {"name": "l:c", "description": "A title"},
        {"name": "l:d", "description": ""},
        {"name": "l:e", "description": "", "arguments": [
            {"name": "input", "required": true, "choices": ["a", "b"]}]},
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

/// What Codex shows of a result before it cuts out the middle.
const SHOWN_BY_CODEX: usize = 12_000;

/// All pages of a list, each checked for its length.
fn pages(agent: &mut Agent, filter: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut arguments = json!({"filter": filter});
    loop {
        let result = agent.call("list_prompts", arguments.clone());
        assert!(
            text(&result).len() < SHOWN_BY_CODEX,
            "{}",
            text(&result).len()
        );
        let listed = &result["structuredContent"];
        assert_eq!(
            serde_json::from_str::<Value>(&text(&result)).unwrap(),
            *listed
        );
        let prompts = listed["prompts"].as_array().unwrap();
        let names = prompts
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        pages.push(names.collect());
        match listed.get("nextCursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => return pages,
        }
    }
}

#[test]
fn many_prompts_come_in_pages_that_codex_shows_whole() {
    let long = "d".repeat(700);
    let prompts = (0..225).map(|at| described(&format!("p{at:03}"), &long, Vec::new()));
    let endless = described(
        "q",
        &"x".repeat(100_000),
        vec![Argument {
            description: Some("y".repeat(100_000).into()),
            ..argument("topic")
        }],
    );
    let prompts: Vec<Prompt> = prompts.chain([endless]).collect();
    let mut agent = Agent::with(vec![library("l", 1, prompts)], Tools::default());
    for is_modern in [false, true] {
        agent.is_modern = is_modern;
        let pages = pages(&mut agent, "");
        assert!(pages.len() > 10, "{}", pages.len());
        let names = pages.concat();
        assert_eq!(names.len(), 226);
        assert!(names.is_sorted());
    }
}

#[test]
fn ten_thousand_prompts_with_short_descriptions_do_too() {
    let prompts = (0..10_000).map(|at| described(&format!("p{at:05}"), "Does it", Vec::new()));
    let mut agent = Agent::with(vec![library("l", 1, prompts.collect())], Tools::default());
    let names = pages(&mut agent, "").concat();
    assert_eq!(names.len(), 10_000);
    assert_eq!(names[9_999], "l:p09999");
}

#[test]
fn a_filter_lists_prompts_with_all_its_words() {
    let titled = Prompt {
        title: Some("Überprüfen".into()),
        ..prompt("c", Vec::new())
    };
    let prompts = vec![
        described("commit", "Write a Git commit message", Vec::new()),
        described("review", "Review changes before a commit", Vec::new()),
        titled,
    ];
    let other = library("other", 2, vec![prompt("commit", Vec::new())]);
    let mut agent = Agent::with(vec![library("git", 1, prompts), other], Tools::default());
    for (filter, expected) in [
        (
            "",
            &["git:c", "git:commit", "git:review", "other:commit"][..],
        ),
        ("commit", &["git:commit", "git:review", "other:commit"]),
        (" COMMIT  review ", &["git:review"]),
        ("git:*", &["git:c", "git:commit", "git:review"]),
        ("*:commit", &["git:commit", "other:commit"]),
        ("*:commit message", &["git:commit"]),
        ("überPRÜFEN", &["git:c"]),
        ("nothing", &[]),
    ] {
        assert_eq!(pages(&mut agent, filter).concat(), expected, "{filter}");
    }
    let said = agent.fails("list_prompts", json!({"filter": "x".repeat(2_000)}));
    assert_eq!(
        said,
        "Error: Argument `filter` is longer than the limit of 1000 characters"
    );
}

#[test]
fn a_cursor_is_good_for_its_own_list_only() {
    let prompts = (0..500).map(|at| described(&format!("p{at:03}"), &"d".repeat(99), Vec::new()));
    let mut agent = Agent::with(vec![library("l", 1, prompts.collect())], Tools::default());
    let first = agent.call("list_prompts", json!({}));
    let cursor = first["structuredContent"]["nextCursor"].clone();
    let expected = "Error: The cursor is not valid, or no longer: list again from the start";
    for arguments in [
        json!({"cursor": cursor, "filter": "p"}),
        json!({"cursor": ""}),
        json!({"cursor": "0000000000000000000000001"}),
    ] {
        assert_eq!(agent.fails("list_prompts", arguments), expected);
    }
    assert_eq!(
        agent.fails("list_resources", json!({"cursor": cursor})),
        expected
    );
    // The list that was begun goes on while prompts come and go.
    agent.says("create_prompt", json!({"name": "a", "content": "c"}));
    let next = agent.call("list_prompts", json!({"cursor": cursor}));
    let listed = first["structuredContent"]["prompts"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(
        next["structuredContent"]["prompts"][0]["name"],
        format!("l:p{listed:03}")
    );
}
