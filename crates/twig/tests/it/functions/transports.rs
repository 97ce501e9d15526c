//! Functions over HTTP: a connection, a request or a session that ends takes its function along.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::{HELLO, names, text, trust, trusted, wait_until};
use crate::http::Served;

const SOON: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn http_serves_functions_and_cannot_trust_them() {
    let env = super::library(&[("hello", HELLO)]);
    let served = Served::from_env(env);
    let mut caller = served.caller();
    let list = caller.modern("prompts/list", json!({})).json();
    assert_eq!(names(&list), [""; 0]);
    let refused = caller
        .modern("prompts/get", json!({"name": "f:hello"}))
        .json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    for method in ["library/trust", "prompts/trust"] {
        assert_eq!(caller.modern(method, json!({"name": "f"})).code(), -32601);
    }
    trust(&served.env, "f");
    let start = std::time::Instant::now();
    loop {
        let answer = caller
            .modern("prompts/get", json!({"name": "f:hello"}))
            .json();
        if answer.get("result").is_some() {
            assert_eq!(text(&answer), "hello");
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{answer}");
    }
}

#[test]
fn a_closed_connection_ends_its_function() {
    let served = Served::from_env(trusted(&[
        ("slow", "#!/bin/sh\nsleep 75001@@ & sleep 75001@@\n"),
        ("hello", HELLO),
    ]));
    let mut caller = served.caller();
    caller.start_modern("prompts/get", json!({"name": "f:slow"}));
    wait_until(true, "75001", PATIENCE);
    let mut other = served.caller();
    let answer = other
        .modern("prompts/get", json!({"name": "f:hello"}))
        .json();
    assert_eq!(text(&answer), "hello", "others go on meanwhile");
    drop(caller);
    wait_until(false, "75001", SOON);
}

#[test]
fn a_session_cancels_its_functions_and_ends_them_with_itself() {
    let served = Served::from_env(trusted(&[("slow", "#!/bin/sh\nexec sleep 75002@@\n")]));
    let mut caller = served.caller();
    let session = caller.initialize();
    let mut slow = served.caller();
    let params = json!({"name": "f:slow"});
    slow.start_legacy(&session, "prompts/get", &params);
    wait_until(true, "75002", PATIENCE);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    assert_eq!(caller.post(&headers, &cancel).status, 202);
    wait_until(false, "75002", SOON);
    assert_eq!(
        slow.response().status,
        202,
        "a cancelled request has no answer"
    );

    slow.start_legacy(&session, "prompts/get", &params);
    wait_until(true, "75002", PATIENCE);
    assert_eq!(caller.send("DELETE", &headers, b"").status, 204);
    wait_until(false, "75002", SOON);
}

#[test]
fn a_server_over_http_that_ends_takes_its_functions_with_it() {
    for signal in [Signal::TERM, Signal::KILL] {
        let mut served = Served::from_env(trusted(&[(
            "slow",
            "#!/bin/sh\nsleep 75003@@ & sleep 75003@@\n",
        )]));
        let mut caller = served.caller();
        caller.start_modern("prompts/get", json!({"name": "f:slow"}));
        wait_until(true, "75003", PATIENCE);
        served.signal(signal);
        served.ended();
        wait_until(false, "75003", SOON);
    }
}
