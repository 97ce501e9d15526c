//! `prompts/get`: rendering, argument values, and what goes wrong with them.

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_core::Limits;

use crate::support::{Peer, argument, error, library, prompt, sample, server_meta};

fn get(name: &str, arguments: Value) -> Value {
    Peer::new().ask("prompts/get", json!({"name": name, "arguments": arguments}))
}

fn text(reply: &Value) -> &str {
    reply["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn a_prompt_is_rendered_as_messages() {
    let params = json!({"name": "lib:review", "arguments": {"input": "a\n\"b\""}});
    let expected = json!({
        "description": "Review code",
        "messages": [{"role": "user", "content": {"type": "text", "text": "review: a\n\"b\""}}],
    });
    let mut peer = Peer::new();
    assert_eq!(peer.ask("prompts/get", params.clone())["result"], expected);

    let mut modern = expected;
    modern["resultType"] = json!("complete");
    modern["_meta"] = server_meta();
    assert_eq!(peer.ask_modern("prompts/get", params)["result"], modern);
}

#[test]
fn a_description_that_is_not_there_is_absent() {
    let reply = get("lib:echo", json!(null));
    assert_eq!(
        reply["result"],
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": "echo: "}}]})
    );
}

#[test]
fn a_bare_name_will_do_where_just_one_library_has_it() {
    assert_eq!(text(&get("echo", json!({"input": "x"}))), "echo: x");
    let twins = ["one", "two"].map(|name| library(name, 1, vec![prompt("same", Vec::new())]));
    let mut peer = Peer::with(twins.to_vec(), Limits::default());
    let reply = peer.ask("prompts/get", json!({"name": "same"}));
    assert_eq!(
        error(&reply),
        (
            -32602,
            "Prompt `same` is in several libraries: one:same, two:same".to_owned()
        )
    );
    assert_eq!(
        reply["error"]["data"]["suggestions"],
        json!(["one:same", "two:same"])
    );
}

#[test]
fn values_become_text() {
    for (value, expected) in [
        (json!("x"), "echo: x"),
        (json!(1), "echo: 1"),
        (json!(-1.5), "echo: -1.5"),
        (json!(true), "echo: true"),
        (json!(null), "echo: "),
        (json!("{{input}}"), "echo: {{input}}"),
    ] {
        assert_eq!(text(&get("lib:echo", json!({"input": value}))), expected);
    }
    for value in [json!([]), json!({}), json!(["x"])] {
        let (code, message) = error(&get("lib:echo", json!({"input": value})));
        assert_eq!(code, -32602);
        assert_eq!(
            message,
            "Argument `input` must be a string, a number or a boolean"
        );
    }
}

#[test]
fn arguments_that_the_prompt_does_not_have_are_dropped() {
    let reply = get("lib:echo", json!({"input": "x", "other": "y"}));
    assert_eq!(text(&reply), "echo: x");
}

#[test]
fn an_unknown_prompt_comes_with_near_names() {
    let reply = get("lib:revew", json!({}));
    assert_eq!(
        error(&reply),
        (-32602, "Prompt not found: lib:revew".to_owned())
    );
    assert_eq!(reply["error"]["data"]["suggestions"], json!(["lib:review"]));
    let reply = get(&"x".repeat(10_000), json!({}));
    assert!(error(&reply).1.len() < 300);
    assert_eq!(reply["error"]["data"]["suggestions"], json!([]));
}

#[test]
fn each_mistake_is_said_in_a_sentence() {
    let long = json!({"input": "x", "short": "toolong"});
    let wrong = json!({"input": "x", "short": "A"});
    let other = json!({"input": "x", "language": "c"});
    for (name, arguments, sentence) in [
        ("lib:review", json!({}), "Missing required argument: input"),
        (
            "lib:review",
            other,
            "Argument `language` must be one of: rust, Ruby, go",
        ),
        (
            "lib:review",
            long,
            "Argument `short` has 7 characters; the limit is 5",
        ),
        (
            "lib:review",
            wrong,
            "Argument `short` does not match the pattern `^[a-z]+$`",
        ),
        (
            "lib:gone",
            json!({}),
            "Prompt content file not found: ~/lib/gone.md",
        ),
        ("lib:broken", json!({}), "Prompt `broken` has no template"),
    ] {
        assert_eq!(error(&get(name, arguments)), (-32602, sentence.to_owned()));
    }
}

#[test]
fn a_limit_of_the_server_is_not_the_callers_mistake() {
    let limits = Limits {
        rendered: 10,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![sample()], limits);
    let fits = json!({"name": "lib:echo", "arguments": {"input": ""}});
    assert!(peer.ask("prompts/get", fits).get("error").is_some());
    let reply = peer.ask(
        "prompts/get",
        json!({"name": "lib:echo", "arguments": {"input": "12345"}}),
    );
    assert_eq!(error(&reply).0, -32603);
}

#[test]
fn all_missing_arguments_are_named() {
    let both = ["a", "b"].map(crate::support::required).to_vec();
    let mut peer = Peer::with(
        vec![library("l", 1, vec![prompt("p", both)])],
        Limits::default(),
    );
    let reply = peer.ask("prompts/get", json!({"name": "l:p"}));
    assert_eq!(error(&reply).1, "Missing required arguments: a, b");
}

#[test]
fn two_requests_with_one_id_are_both_answered() {
    let mut peer = Peer::new();
    for input in ["x", "y"] {
        let params = json!({"name": "lib:echo", "arguments": {"input": input}});
        let reply = peer.ask("prompts/get", params);
        assert_eq!(
            (&reply["id"], text(&reply)),
            (&json!(1), &*format!("echo: {input}"))
        );
    }
}

proptest! {
    #[test]
    fn any_value_arrives_as_it_was_sent(value in any::<String>()) {
        let library = library("l", 1, vec![prompt("p", vec![argument("input")])]);
        let mut peer = Peer::with(vec![library], Limits::default());
        let params = json!({"name": "l:p", "arguments": {"input": value}});
        let reply = peer.ask("prompts/get", params);
        prop_assert_eq!(text(&reply), format!("p: {value}"));
    }
}
