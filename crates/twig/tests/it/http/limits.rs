//! The limits of `[http]`: each at its edge and one past it, with times short enough to wait for.

use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
use std::io::Write;

use serde_json::{Value, json};

use super::Served;
use super::client::{Caller, get, modern};
use crate::env;

#[test]
fn mistakes_are_told() {
    let env = env("");
    let mut told = String::new();
    for config in [
        "[http]\nconections = 1",
        "[http]\nhead_millis = 0",
        "[http]\nbody_millis = 1.5",
        "[http]\nsessions = 1000001",
        "[http]\nsession_millis = 86400001",
        "http = 5",
        "[htp]\nsessions = 1",
    ] {
        env.configure(config);
        told += &env.run(["serve", "--http", ":0"]).stderr;
    }
    insta::assert_snapshot!(told, @"
    error: ~/.config/twig/config.toml:2: unknown setting `conections`; did you mean `connections`?
    error: ~/.config/twig/config.toml:2: limit `head_millis` has to be a whole number above zero
    error: ~/.config/twig/config.toml:2: limit `body_millis` has to be a whole number above zero
    error: ~/.config/twig/config.toml:2: limit `sessions` can be 1000000 at most
    error: ~/.config/twig/config.toml:2: limit `session_millis` can be 86400000 at most
    error: ~/.config/twig/config.toml:1: `http` has to be a table: [http]
    error: ~/.config/twig/config.toml:1: unknown setting `htp`
    hint: did you mean `http`?
    ");
}

#[test]
fn connections_at_once() {
    let served = Served::configured("[http]\nconnections = 2\n");
    let mut callers = [served.caller(), served.caller()];
    for caller in &mut callers {
        assert_eq!(caller.listen().status, 200);
    }
    // All are in use by clients that listen.
    let mut third = served.caller();
    assert_eq!(third.head().status, 503);
    assert!(third.is_closed());
}

#[test]
fn sessions_at_once() {
    let served = Served::configured("[http]\nsessions = 2\n");
    let mut caller = served.caller();
    let streams: Vec<Caller> = (0..2)
        .map(|_| {
            let session = caller.initialize();
            let mut stream = served.caller();
            let headers = [
                ("mcp-session-id", &*session),
                ("accept", "text/event-stream"),
            ];
            stream.start("GET", &headers, b"");
            assert_eq!(stream.head().status, 200);
            stream
        })
        .collect();
    // The third client is answered, but there is no room for its stream.
    let session = caller.initialize();
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 200);
    let headers = [
        ("mcp-session-id", &*session),
        ("accept", "text/event-stream"),
    ];
    let third = caller.send("GET", &headers, b"");
    assert_eq!((third.status, third.code()), (503, -32603));
    let message = third.json()["error"]["message"].to_string();
    assert!(message.contains('2'), "{message}");
    drop(streams);
}

#[test]
fn renders_that_wait() {
    let served = Served::configured("[http]\nrenders = 1\n[limits]\nrender_millis = 300\n");
    let body = modern("prompts/get", json!({"name": "lib:slow"})).to_string();
    let mut callers: Vec<Caller> = (0..8).map(|_| served.caller()).collect();
    for caller in &mut callers {
        caller.start("POST", &get("lib:slow"), body.as_bytes());
    }
    let told: Vec<Value> = callers
        .iter_mut()
        .map(|caller| caller.response().json()["error"]["message"].clone())
        .collect();
    let full = told
        .iter()
        .filter(|message| {
            message
                .to_string()
                .contains("Too many requests are waiting")
        })
        .count();
    // How many run before the last one asks is the machine's business; never are all of them taken.
    assert!((1..8).contains(&full), "{told:?}");
}

#[test]
fn a_client_that_says_nothing_is_let_go() {
    let served = Served::configured("[http]\nhead_millis = 300\n");
    let mut silent: Vec<Caller> = (0..50).map(|_| served.caller()).collect();
    for caller in silent.iter_mut().step_by(2) {
        caller.raw("POST /mcp HTTP/1.1\r\nhost:");
    }
    served.is_well();
    for caller in &mut silent {
        assert!(caller.is_closed());
    }
    served.is_well();
}

#[test]
fn a_connection_is_kept_between_requests_but_not_for_half_a_head() {
    let served = Served::configured("[http]\nhead_millis = 100\n");
    let [mut kept, mut begun] = [served.caller(), served.caller()];
    for caller in [&mut kept, &mut begun] {
        assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    }
    begun.raw("POST /mcp");
    assert!(begun.is_closed());
    assert_eq!(kept.modern("prompts/list", json!({})).status, 200);
}

#[test]
fn a_connection_without_requests_is_closed_in_the_end() {
    let served = Served::configured("[http]\nidle_millis = 100\n");
    let mut kept = served.caller();
    assert_eq!(kept.modern("prompts/list", json!({})).status, 200);
    assert!(kept.is_closed());
}

#[test]
fn a_body_that_never_ends_is_given_up() {
    let served = Served::configured("[http]\nbody_millis = 200\n");
    for framing in [
        "content-length: 100\r\n\r\n{",
        "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    ] {
        let mut caller = served.caller();
        let port = served.port;
        caller.raw(format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n{framing}"
        ));
        let response = caller.response();
        assert_eq!((response.status, response.code()), (408, -32600));
        assert!(caller.is_closed());
    }
    served.is_well();
}

#[test]
fn who_does_not_read_its_replies_is_let_go() {
    let served = Served::configured("[http]\nstall_millis = 200\n");
    let name = "x".repeat(100 * 1024);
    let params = json!({"name": "lib:hello", "arguments": {"name": name}});
    let body = modern("prompts/get", params).to_string();
    let mut head = format!("POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\n", served.port);
    for (name, value) in get("lib:hello") {
        head += &format!("{name}: {value}\r\n");
    }
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let mut caller = served.caller();
    // The buffers of both sides fill up; then it waits, until the server closes.
    let error = loop {
        if let Err(error) = caller.stream.get_mut().write_all(request.as_bytes()) {
            break error;
        }
    };
    assert!(
        matches!(error.kind(), ConnectionReset | BrokenPipe),
        "{error}"
    );
    served.is_well();
}

#[test]
fn a_silent_stream_shows_that_it_is_alive() {
    let served = Served::configured("[http]\nkeep_alive_millis = 50\n");
    let mut stream = served.caller();
    stream.listen();
    assert!(stream.event().is_some());
    let mut session = served.caller();
    let id = session.initialize();
    let headers = [("mcp-session-id", &*id), ("accept", "text/event-stream")];
    session.start("GET", &headers, b"");
    session.head();
    for caller in [&mut stream, &mut session] {
        for _ in 0..2 {
            assert_eq!(caller.chunk().as_deref(), Some(&b":\n\n"[..]));
        }
    }
}

#[test]
fn a_session_that_was_not_used_for_a_while_goes_on() {
    let served = Served::configured("[http]\nkeep_alive_millis = 60\nsession_millis = 50\n");
    let mut caller = served.caller();
    let [heard, idle] = [(); 2].map(|()| caller.initialize());
    let mut stream = served.caller();
    let headers = [("mcp-session-id", &*heard), ("accept", "text/event-stream")];
    stream.start("GET", &headers, b"");
    assert_eq!(stream.head().status, 200);
    // The comments of a stream are the clock, and who listens to one is there.
    for _ in 0..3 {
        stream.chunk();
    }
    assert_eq!(caller.legacy(&idle, "ping", json!({})).status, 200);
    assert_eq!(caller.legacy(&heard, "ping", json!({})).status, 200);
}
