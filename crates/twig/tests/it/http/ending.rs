//! How the server ends: streams are completed, exit code 0, within a second.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use twig_testkit::figure;

use super::Served;
use super::client::get;
use crate::{children, wait_until};

fn completes_its_streams(signal: Signal) {
    let mut served = Served::new();
    let mut idle = served.caller();
    assert_eq!(idle.modern("prompts/list", json!({})).status, 200);
    let _silent = served.caller();
    let mut stream = served.caller();
    stream.listen();
    stream.event().expect("the acknowledgement");
    let session = idle.initialize();
    let mut legacy = served.caller();
    let get = [
        ("mcp-session-id", &*session),
        ("accept", "text/event-stream"),
    ];
    legacy.start("GET", &get, b"");
    assert_eq!(legacy.head().status, 200);
    served.signal(signal);
    let last = stream.event().expect("the completion");
    assert_eq!(last["id"], 1);
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(stream.event(), None);
    assert_eq!(legacy.event(), None);
    let (status, took, talk) = served.ended();
    assert_eq!(status.code(), Some(0), "{talk}");
    figure("the end of a server", took, Duration::from_secs(2));
    assert!(!talk.contains("WARN"), "{talk}");
}

#[test]
fn sigint_completes_streams() {
    completes_its_streams(Signal::INT);
}

#[test]
fn sigterm_completes_streams() {
    completes_its_streams(Signal::TERM);
}

#[test]
fn a_request_under_way_is_answered() {
    let mut served = Served::new();
    let mut caller = served.caller();
    // Its body is still on its way when the signal comes.
    let body = super::client::modern("prompts/list", json!({})).to_string();
    let (one, two) = body.split_at(10);
    caller.raw(format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\ncontent-type: application/json\r\n\
         mcp-protocol-version: {}\r\nmcp-method: prompts/list\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        served.port,
        twig_testkit::MODERN,
        body.len()
    ));
    assert_eq!(caller.head().status, 100);
    caller.raw(one);
    served.signal(Signal::TERM);
    caller.raw(two);
    assert_eq!(caller.response().status, 200);
    let (status, _, _) = served.ended();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_render_that_cannot_be_waited_for_is_given_up() {
    let mut served = Served::configured("[limits]\nrender_millis = 60000\n");
    let [mut modern, mut legacy] = [served.caller(), served.caller()];
    let session = legacy.initialize();
    let params = json!({"name": "lib:slow"});
    let body = super::client::modern("prompts/get", params.clone()).to_string();
    modern.start("POST", &get("lib:slow"), body.as_bytes());
    let body = super::client::legacy("prompts/get", params).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("mcp-session-id", &*session),
    ];
    legacy.start("POST", &headers, body.as_bytes());
    // Each of them is rendered by a process of its own.
    wait_until("two renders", || children(served.child.id()).len() == 2);
    served.signal(Signal::TERM);
    for caller in [&mut modern, &mut legacy] {
        let response = caller.response();
        assert_eq!((response.status, response.code()), (200, -32603));
        let message = response.json()["error"]["message"].to_string();
        assert!(message.contains("The server is ending"), "{message}");
    }
    let (status, took, _) = served.ended();
    assert_eq!(status.code(), Some(0));
    figure("the end of a server", took, Duration::from_secs(2));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let served = Served::new();
    let address = format!("127.0.0.1:{}", served.port);
    let outcome = served.env.run(["serve", "--http", &address]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("another program listens there"),
        "{outcome}"
    );
}
