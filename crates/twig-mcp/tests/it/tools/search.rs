//! `search`: the question goes out, what was found comes back.

use serde_json::{Value, json};
use twig_core::search::{Hit, MatchedWords, Query, SearchScope, SearchTarget};
use twig_mcp::Work;

use super::agent::{Agent, text};
use crate::support::server_meta;

fn asked(agent: &mut Agent, arguments: Value) -> Query {
    let job = agent.start("search", arguments).0.unwrap();
    let Work::Search(query) = &job.work else {
        panic!("no search: {job:?}");
    };
    let query = query.clone();
    agent.run(job).unwrap();
    query
}

#[test]
fn the_question_is_handed_over() {
    let mut agent = Agent::new();
    let query = |text: &str, scope, limit| Query {
        text: text.to_owned(),
        scope,
        limit,
        enough: limit,
    };
    for (arguments, expected) in [
        (
            json!({"query": " cod  rev "}),
            query("cod  rev", SearchScope::All, 10),
        ),
        (
            json!({"query": "x", "limit": 50, "kind": "prompt"}),
            query("x", SearchScope::Prompts, 50),
        ),
        (
            json!({"query": "x", "limit": 1, "kind": "resource"}),
            query("x", SearchScope::Documents, 1),
        ),
    ] {
        assert_eq!(asked(&mut agent, arguments), expected);
    }
}

#[test]
fn what_was_found_is_told_as_text_and_as_data() {
    let mut agent = Agent::new();
    agent.found = Ok(vec![
        Hit {
            target: SearchTarget::Prompt("l:review".into()),
            title: Some("Code review".into()),
            description: Some("Reviews".into()),
            snippet: "… code …".into(),
            matches: Box::default(),
            matched: MatchedWords::All,
        },
        Hit {
            target: SearchTarget::Skill("s:tides".into()),
            title: None,
            description: None,
            snippet: "s".into(),
            matches: Box::default(),
            matched: MatchedWords::Some,
        },
        Hit {
            target: SearchTarget::Document {
                uri: "a://x".into(),
                name: "x.md".into(),
            },
            title: None,
            description: None,
            snippet: "x".into(),
            matches: Box::default(),
            matched: MatchedWords::Some,
        },
    ]);
    let expected = json!({"results": [
        {"type": "prompt", "name": "l:review", "title": "Code review", "description": "Reviews",
            "snippet": "… code …", "matched": "all"},
        {"type": "skill", "name": "s:tides", "snippet": "s", "matched": "some"},
        {"type": "resource", "name": "x.md", "uri": "a://x", "snippet": "x", "matched": "some"},
    ]});
    agent.is_modern = true;
    let result = agent.call("search", json!({"query": "x"}));
    assert_eq!(result["structuredContent"], expected);
    let said: Value = serde_json::from_str(&text(&result)).unwrap();
    assert_eq!(said, expected);
    assert_eq!(result["_meta"], server_meta());
    assert_eq!(result.get("isError"), None);

    agent.found = Ok(Vec::new());
    let result = agent.call("search", json!({"query": "x"}));
    assert_eq!(result["structuredContent"], json!({"results": []}));
}

#[test]
fn a_question_that_cannot_be_asked_is_a_tool_that_failed() {
    let mut agent = Agent::new();
    let empty = "Error: The query is empty: give words, or the beginnings of words";
    for query in ["", "  \n"] {
        assert_eq!(agent.fails("search", json!({"query": query})), empty);
    }
    agent.says("search", json!({"query": "ü".repeat(1000)}));
    assert_eq!(
        agent.fails("search", json!({"query": "ü".repeat(1001)})),
        "Error: Argument `query` is longer than the limit of 1000 characters"
    );
    agent.found = Err("The index is being built: try again".to_owned());
    assert_eq!(
        agent.fails("search", json!({"query": "x"})),
        "Error: The index is being built: try again"
    );
}

#[test]
fn a_cancelled_search_is_not_answered() {
    let mut agent = Agent::new();
    let job = agent.start("search", json!({"query": "x"})).0.unwrap();
    agent
        .peer
        .raw(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(agent.peer.connection.in_flight(), 0);
    assert_eq!(agent.run(job), None);
}
