//! JSON-RPC itself: what is answered, under which id, and what is not.

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_core::Limits;

use crate::support::{Peer, error, modern, request, sample};

fn ping() -> String {
    request(7, "ping", json!({}))
}

#[test]
fn a_line_that_is_not_json_is_a_parse_error_and_the_connection_goes_on() {
    let mut peer = Peer::new();
    for line in [
        "{",
        "hello",
        "{\"a\":}",
        "{} {}",
        "\u{feff}{}",
        "[1,2",
        "NaN",
    ] {
        let reply = peer.one(line);
        assert_eq!(reply["error"]["code"], -32700, "{line}");
        assert_eq!(reply["id"], Value::Null);
        assert!(reply.as_object().unwrap().contains_key("id"));
        assert_eq!(peer.one(ping())["result"], json!({}));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_a_parse_error() {
    let (code, message) = error(&Peer::new().one(b"{\"a\":\"\xff\"}"));
    assert_eq!(code, -32700);
    assert_eq!(
        message,
        "The message is not valid JSON: not UTF-8 at byte 6"
    );
}

#[test]
fn an_unreadable_id_is_left_out_once_only_modern_was_spoken() {
    let mut peer = Peer::new();
    peer.ask_modern("prompts/list", json!({}));
    assert!(!peer.one("{").as_object().unwrap().contains_key("id"));
    peer.ask("ping", json!({}));
    assert!(peer.one("{").as_object().unwrap().contains_key("id"));
}

#[test]
fn what_is_no_request_is_refused_with_the_id_where_it_could_be_read() {
    let mut peer = Peer::new();
    let cases = [
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, json!(3)),
        (r#"{"jsonrpc":2.0,"id":3,"method":"ping"}"#, json!(3)),
        (r#"{"id":"x","method":"ping"}"#, json!("x")),
        (r#"{"jsonrpc":"1.0","method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":3}"#, json!(3)),
        (r#"{"jsonrpc":"2.0","id":3,"method":4}"#, json!(3)),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":"x"}"#,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"ping"}"#,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"id":4,"method":"ping"}"#,
            Value::Null,
        ),
        (r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#, Value::Null),
        ("[]", Value::Null),
        ("1", Value::Null),
        ("\"x\"", Value::Null),
        ("null", Value::Null),
        ("{}", Value::Null),
    ];
    for (message, id) in cases {
        let reply = peer.one(message);
        assert_eq!(error(&reply).0, -32600, "{message}");
        assert_eq!(reply["id"], id, "{message}");
    }
    assert_eq!(peer.one(ping())["id"], 7);
}

#[test]
fn params_that_are_null_count_as_absent() {
    let reply = Peer::new().one(r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":null}"#);
    assert_eq!(reply["result"], json!({}));
}

#[test]
fn ids_are_echoed_exactly_as_written() {
    let mut peer = Peer::new();
    for id in [
        "0",
        "-7",
        "123456789012345678901234567890",
        "\"\"",
        "\"a b\"",
        "\"\\u00e9\\/\"",
        "\"é\"",
        "-0",
    ] {
        let heard = peer.raw(format!(
            r#"{{"jsonrpc":"2.0","id": {id} ,"method":"ping"}}"#
        ));
        assert_eq!(
            heard,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
        );
    }
}

#[test]
fn ids_that_are_neither_strings_nor_whole_numbers_are_refused() {
    let mut peer = Peer::new();
    for id in [
        "null",
        "1.5",
        "1.0",
        "1e3",
        "true",
        "{}",
        "[1]",
        "\"\\ud800\"",
    ] {
        let reply = peer.one(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(error(&reply).0, -32600, "{id}");
        assert_eq!(reply["id"], Value::Null);
    }
}

#[test]
fn notifications_responses_and_blank_lines_are_never_answered() {
    let mut peer = Peer::new();
    for message in [
        "",
        "  \r",
        "\t",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\ud800"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
        r#"{"id":1,"id":1,"result":{}}"#,
    ] {
        assert_eq!(peer.raw(message), "", "{message}");
    }
    let discover = request("probe", "server/discover", modern(json!({}), json!({})));
    assert_eq!(peer.one(discover)["id"], "probe");
    assert_eq!(
        peer.raw(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"probe"}}"#
        ),
        ""
    );
    assert_eq!(peer.one(ping())["id"], 7);
}

#[test]
fn a_carriage_return_before_the_newline_is_fine() {
    assert_eq!(Peer::new().one(format!("{}\r", ping()))["id"], 7);
}

#[test]
fn unknown_methods_are_named_and_shortened() {
    let mut peer = Peer::new();
    let reply = peer.ask("no/such", json!({"_meta": 5}));
    assert_eq!(
        error(&reply),
        (-32601, "Method not found: no/such".to_owned())
    );
    let reply = peer.ask_modern("no/such", json!({}));
    assert_eq!(error(&reply).0, -32601);
    let (code, message) = error(&peer.ask(&"é".repeat(100_000), json!({})));
    assert_eq!((code, message.chars().count()), (-32601, 18 + 200 + 1));
}

#[test]
fn known_methods_with_malformed_params_are_never_unknown() {
    let mut peer = Peer::new();
    for (method, params) in [
        ("prompts/get", json!({})),
        ("prompts/get", json!({"name": 1})),
        ("prompts/get", json!({"name": "lib:echo", "arguments": []})),
        ("prompts/get", json!({"name": "lib:echo", "_meta": 1})),
        ("prompts/list", json!({"cursor": 1})),
        ("completion/complete", json!({})),
        ("completion/complete", json!({"ref": 1, "argument": 2})),
        ("resources/read", json!({})),
        ("resources/subscribe", json!({"uri": 1})),
        ("resources/unsubscribe", json!({})),
        ("resources/list", json!({"cursor": {}})),
        ("tools/call", json!({})),
        ("tools/list", json!({"cursor": 3})),
        ("initialize", json!({})),
        ("initialize", json!({"protocolVersion": 1})),
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": 1}),
        ),
        ("server/discover", json!({})),
        ("subscriptions/listen", json!({})),
    ] {
        let reply = peer.ask(method, params.clone());
        assert_eq!(error(&reply).0, -32602, "{method} {params}");
    }
}

#[test]
fn the_longest_message_is_a_limit_that_is_named() {
    let limits = Limits {
        message: 64,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![sample()], limits);
    let fits = format!("{:<64}", request(1, "ping", json!({})));
    assert_eq!(peer.one(&fits)["result"], json!({}));
    let (code, message) = error(&peer.one(format!("{fits} ")));
    assert_eq!(code, -32600);
    assert_eq!(message, "The message is longer than the limit of 64 bytes");

    let mut out = Vec::new();
    peer.connection.oversized(&mut out);
    let reply: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(error(&reply), (code, message));
}

#[test]
fn a_handler_that_panics_fails_its_request_only() {
    let mut peer = Peer::new();
    for _ in 0..3 {
        let reply = peer.ask("prompts/get", json!({"name": "lib:panic"}));
        assert_eq!(error(&reply), (-32603, "Internal error".to_owned()));
        assert_eq!(reply["id"], 1);
        assert_eq!(
            peer.ask("prompts/get", json!({"name": "lib:echo"}))["id"],
            1
        );
        assert!(peer.ask("prompts/list", json!({}))["result"].is_object());
    }
}

proptest! {
    #[test]
    fn any_text_is_echoed_as_an_id(text in any::<String>(), number in any::<i128>()) {
        let mut peer = Peer::new();
        for id in [serde_json::to_string(&text).unwrap(), number.to_string()] {
            let heard = peer.raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            prop_assert_eq!(heard, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"));
        }
    }
}
