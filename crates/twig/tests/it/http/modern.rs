//! The modern era: requests that stand alone, and subscriptions as streams.

use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::{MODERN, figure};

use super::Served;
use super::client::{get, modern};

#[test]
fn discover_list_and_get_on_one_connection() {
    let served = Served::new();
    let mut caller = served.caller();
    let discovered = caller.modern("server/discover", json!({}));
    assert_eq!(discovered.status, 200);
    assert_eq!(discovered.header("content-type"), Some("application/json"));
    assert_eq!(discovered.json()["result"]["supportedVersions"][0], MODERN);
    let listed = caller.modern("prompts/list", json!({})).json();
    let prompts = listed["result"]["prompts"].as_array().expect("a list");
    assert_eq!(prompts.len(), 3);
    assert_eq!(listed["result"]["cacheScope"], "private");
    let params = json!({"name": "lib:hello", "arguments": {"name": "Ada"}});
    let got = caller.modern("prompts/get", params).json();
    let text = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Hello Ada!\n");
    let params = json!({"name": "lib:count"});
    let got = caller.modern("prompts/get", params).json();
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "012\n");
}

#[test]
fn statuses_say_what_is_wrong() {
    let served = Served::new();
    let mut caller = served.caller();
    let list = modern("prompts/list", json!({}));
    let version = ("mcp-protocol-version", MODERN);
    let method = ("mcp-method", "prompts/list");
    for (headers, status, code) in [
        (vec![version, method], 200, None),
        (vec![version], 400, Some(-32020)),
        (vec![method], 400, Some(-32020)),
        (
            vec![version, ("mcp-method", "prompts/get")],
            400,
            Some(-32020),
        ),
        (vec![version, method, method], 400, Some(-32020)),
        (
            vec![("mcp-protocol-version", "2025-06-18"), method],
            400,
            Some(-32020),
        ),
    ] {
        let response = caller.post(&headers, &list);
        assert_eq!(response.status, status, "{headers:?}");
        assert_eq!(response.json()["id"], 1);
        assert_eq!(
            response.json()["error"]["code"].as_i64(),
            code,
            "{headers:?}"
        );
    }
    let unknown = caller.modern("no/such", json!({}));
    assert_eq!((unknown.status, unknown.code()), (404, -32601));
    let unknown = caller.modern("prompts/get", json!({"name": "lib:none"}));
    assert_eq!((unknown.status, unknown.code()), (200, -32602));
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    let taken = caller.post(
        &[version, ("mcp-method", "notifications/cancelled")],
        &notification,
    );
    assert_eq!((taken.status, taken.body.len()), (202, 0));
}

#[test]
fn only_post_is_modern() {
    let served = Served::new();
    let mut caller = served.caller();
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let headers = [("mcp-protocol-version", MODERN), ("mcp-session-id", "x")];
        let response = caller.send(method, &headers, b"");
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("allow"), Some("POST"));
        assert_eq!(response.code(), -32600);
    }
    // A session means nothing here, and is not echoed.
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "prompts/list"),
        ("mcp-session-id", "no-such-session"),
        ("last-event-id", "5"),
    ];
    let listed = caller.post(&headers, &modern("prompts/list", json!({})));
    assert_eq!(listed.status, 200);
    assert_eq!(listed.header("mcp-session-id"), None);
}

#[test]
fn a_stream_begins_with_its_acknowledgement_and_tells_of_an_edit() {
    let served = Served::new();
    let mut caller = served.caller();
    let head = caller.listen();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    let first = caller.event().expect("the acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    served.env.write("more/twig.toml", "[prompts.p]\n");
    served.env.write("more/prompts/p.md", "x");
    let told = caller.event().expect("an announcement");
    assert_eq!(told["method"], "notifications/prompts/list_changed");
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        1
    );
    // Others are served meanwhile.
    served.is_well();
}

#[test]
fn one_slow_template_does_not_hold_up_the_others() {
    let served = Served::new();
    let mut slow = served.caller();
    let body = modern("prompts/get", json!({"name": "lib:slow"})).to_string();
    let headers = get("lib:slow");
    slow.start("POST", &headers, body.as_bytes());
    // A client that goes away gives its request up.
    let mut gone = served.caller();
    gone.start("POST", &headers, body.as_bytes());
    drop(gone);
    let params = json!({"name": "lib:hello", "arguments": {"name": "Ada"}});
    let mut caller = served.caller();
    for _ in 0..50 {
        assert_eq!(caller.modern("prompts/get", params.clone()).status, 200);
    }
    let answer = slow.response();
    assert_eq!((answer.status, answer.code()), (200, -32603));
}

#[test]
fn who_goes_away_gives_up_its_render() {
    let served = Served::configured("[limits]\nrender_millis = 500\n");
    let body = modern("prompts/get", json!({"name": "lib:slow"})).to_string();
    let ask = || {
        let mut caller = served.caller();
        caller.start("POST", &get("lib:slow"), body.as_bytes());
        caller
    };
    // Two run; twenty more would take five seconds.
    let running = [ask(), ask()];
    let gone: Vec<_> = (0..20).map(|_| ask()).collect();
    let start = Instant::now();
    drop(gone);
    let mut caller = served.caller();
    let counted = caller.modern("prompts/get", json!({"name": "lib:count"}));
    assert_eq!(counted.status, 200, "{counted:?}");
    figure(
        "a render after others left",
        start.elapsed(),
        Duration::from_secs(3),
    );
    for mut caller in running {
        assert_eq!(caller.response().code(), -32603);
    }
}

#[test]
fn a_name_may_come_encoded() {
    let served = Served::new();
    let params = json!({"name": "lib:count"});
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "prompts/get"),
        ("mcp-name", "=?base64?bGliOmNvdW50?="),
    ];
    let response = served
        .caller()
        .post(&headers, &modern("prompts/get", params));
    assert_eq!(response.status, 200);
}
