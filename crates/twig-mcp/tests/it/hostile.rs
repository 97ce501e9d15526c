//! Hostile JSON: each is answered by the book, and the connection lives.

use serde_json::{Value, json};

use crate::support::{Peer, error, request};

/// A ping whose params nest so that the whole message is this deep.
fn nested(depth: usize) -> String {
    let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{open}{close}}}}}"#)
}

fn with_params(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{params}}}"#)
}

fn with_id(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

/// `{"a0":0,"a1":0,…}`
fn many_keys(count: usize) -> String {
    let members: Vec<String> = (0..count).map(|at| format!("\"a{at}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn depth_is_limited_and_the_limit_named() {
    let mut peer = Peer::new();
    assert_eq!(peer.one(nested(128))["result"], json!({}));
    for depth in [129, 100_000] {
        let reply = peer.one(nested(depth));
        assert_eq!(reply["id"], 1);
        assert_eq!(
            error(&reply),
            (
                -32600,
                "The message nests deeper than the limit of 128 levels".to_owned()
            )
        );
    }
}

#[test]
fn depth_in_what_is_never_answered_does_no_harm() {
    let mut peer = Peer::new();
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    for message in [
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"x":{deep}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{deep}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"_meta":{{"x":{deep}}}}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#),
    ] {
        assert_eq!(peer.raw(message), "");
    }
    assert_eq!(peer.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn brackets_in_text_are_not_depth() {
    let input = "[{".repeat(1000);
    let params = json!({"name": "lib:echo", "arguments": {"input": input}});
    let reply = Peer::new().ask("prompts/get", params);
    assert!(reply["result"]["messages"].is_array());
}

#[test]
fn thirty_hostile_messages_are_answered_by_the_book() {
    let keys = many_keys(300_000);
    let cases: [(String, i64); 30] = [
        ("[".repeat(100_000), -32700),
        ("{\"a\":".repeat(100_000), -32700),
        (format!("{}{}", "[".repeat(129), "]".repeat(129)), -32600),
        (
            format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            -32600,
        ),
        (nested(129), -32600),
        (nested(100_000), -32600),
        (keys.clone(), -32600),
        (with_params(&keys), -32602),
        (
            with_params(&format!(r#"{{"name":"lib:echo","arguments":{keys}}}"#)),
            -32602,
        ),
        (
            with_params(&format!(r#"{{"name":"lib:echo","_meta":{keys},"name":1}}"#)),
            -32602,
        ),
        (
            with_params(r#"{"name":"lib:echo","name":"lib:echo"}"#),
            -32602,
        ),
        (
            with_params(r#"{"name":"lib:echo","arguments":{"a":1,"a":2}}"#),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#.to_owned(),
            -32600,
        ),
        (with_params(r#"{"name":"\ud800"}"#), -32602),
        (with_params(r#"{"name":"\udc00\ud800"}"#), -32602),
        (
            with_params(r#"{"name":"lib:echo","arguments":{"\ud800":1}}"#),
            -32602,
        ),
        (
            with_params(r#"{"name":"lib:echo","arguments":{"input":"\ud800"}}"#),
            -32602,
        ),
        (with_params(r#"{"name":NaN}"#), -32700),
        (with_params(r#"{"name":Infinity}"#), -32700),
        (with_params(r#"{"name":01}"#), -32700),
        (with_params("{\"name\":\"a\u{1}b\"}"), -32700),
        (with_params(r#"{"name":"\u{0}"}"#), -32700),
        (with_id("null"), -32600),
        (with_id("1.5"), -32600),
        (with_id("1e308"), -32600),
        (with_id("1e999"), -32600),
        (with_id("\"\\ud800\""), -32600),
        (format!("[{}]", vec![with_id("1"); 1000].join(",")), -32600),
        (format!("{}\0", with_id("1")), -32700),
    ];
    let mut peer = Peer::new();
    for (message, code) in cases {
        let reply = peer.one(&message);
        let start: String = message.chars().take(80).collect();
        assert_eq!(error(&reply).0, code, "{start}");
        let size = reply.to_string().len();
        assert!(size < 2000, "{size} bytes in answer to {start}");
        let alive = peer.one(request(2, "ping", json!({})));
        assert_eq!(alive, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    }
}

#[test]
fn errors_do_not_repeat_long_input() {
    let long = "x".repeat(1_000_000);
    let mut peer = Peer::new();
    for (method, params) in [
        ("prompts/get", json!({"name": long})),
        ("prompts/get", json!({"name": "lib:echo", "_meta": long})),
        (
            "prompts/get",
            json!({"name": "lib:echo", "arguments": {(long.clone()): []}}),
        ),
        ("resources/read", json!({"uri": long})),
        ("tools/call", json!({"name": long})),
        ("completion/complete", json!({"ref": long, "argument": {}})),
        (&*long, json!({})),
    ] {
        let reply = peer.ask(method, params);
        assert_ne!(reply["error"]["code"], Value::Null);
        assert!(reply.to_string().len() < 4000);
    }
}
