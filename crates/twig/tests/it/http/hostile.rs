//! Bad input: a clear status, and the server goes on.

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::MODERN;

use super::Served;
use super::client::{Caller, modern};
use crate::memory_kib;

fn head(caller: &Caller, rest: &str) -> String {
    let port = caller.port;
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n{rest}"
    )
}

#[test]
fn a_body_past_the_limit_is_refused_before_it_is_read() {
    let served = Served::new();
    let limit = 4 * 1024 * 1024;
    let mut body = modern("prompts/list", json!({})).to_string().into_bytes();
    body.resize(limit, b' ');
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "prompts/list"),
    ];
    assert_eq!(served.caller().send("POST", &headers, &body).status, 200);
    let mut caller = served.caller();
    caller.raw(head(
        &caller,
        &format!("content-length: {}\r\n\r\n", limit + 1),
    ));
    let response = caller.response();
    assert_eq!((response.status, response.code()), (413, -32600));
    assert_eq!(response.header("connection"), Some("close"));
    // Who sends it all the same is told as well.
    let mut caller = served.caller();
    body.push(b' ');
    let response = caller.send("POST", &headers, &body);
    assert_eq!((response.status, response.code()), (413, -32600));
    assert!(caller.is_closed());
    // One that does not say its length is read as far as the limit.
    let mut caller = served.caller();
    caller.raw(head(&caller, "transfer-encoding: chunked\r\n\r\n"));
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    for _ in 0..200 {
        caller.raw(&chunk);
    }
    let response = caller.response();
    assert_eq!((response.status, response.code()), (413, -32600));
    served.is_well();
    assert!(memory_kib(served.child.id(), "VmHWM") < 100 * 1024);
}

#[test]
fn heads_have_limits() {
    let served = Served::new();
    // The headers of `head` count as well.
    for (many, status) in [(61, 400), (62, 431), (1_000, 431), (10_000, 431)] {
        let mut caller = served.caller();
        let many = "x: y\r\n".repeat(many);
        caller.raw(head(&caller, &format!("content-length: 0\r\n{many}\r\n")));
        assert_eq!(caller.head().status, status);
    }
    let mut caller = served.caller();
    let rest = "content-length: 0\r\nx: \r\n\r\n";
    let room = 16 * 1024 - head(&caller, rest).len();
    for (long, status) in [(room, 400), (room + 1, 431), (1024 * 1024, 431)] {
        let long = rest.replace("x: ", &format!("x: {}", "y".repeat(long)));
        caller.raw(head(&caller, &long));
        assert_eq!(caller.head().status, status);
        caller = served.caller();
    }
    served.is_well();
}

#[test]
fn nonsense_ends_its_connection_only() {
    let served = Served::new();
    for text in [
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "POST /mcp HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        let mut caller = served.caller();
        caller.raw(text);
        assert_eq!(caller.head().status, 400, "{text}");
    }
    for chunks in [
        "nonsense\r\n",
        "-1\r\n\r\n",
        "fffffffffffffffff\r\n",
        "2\r\n{}xx",
    ] {
        let mut caller = served.caller();
        caller.raw(head(&caller, "transfer-encoding: chunked\r\n\r\n"));
        caller.raw(chunks);
        let response = caller.head();
        assert_eq!(response.status, 400, "{chunks}");
    }
    let mut caller = served.caller();
    caller.raw(head(
        &caller,
        "content-length: 5\r\ncontent-length: 6\r\n\r\n",
    ));
    assert_eq!(caller.head().status, 400);
    served.is_well();
}

#[test]
fn a_body_that_is_cut_off_is_refused() {
    let served = Served::new();
    for framing in [
        "content-length: 100\r\n\r\n{\"jsonrpc\"",
        "transfer-encoding: chunked\r\n\r\n9\r\n{\"jsonrp",
        "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
    ] {
        let mut caller = served.caller();
        caller.raw(head(&caller, framing));
        let stream = caller.stream.get_ref();
        stream.shutdown(Shutdown::Write).expect("a socket");
        // There may be nobody left to tell.
        let told = caller.rest();
        assert!(
            told.is_empty() || told.starts_with("HTTP/1.1 400 "),
            "{told}"
        );
        assert!(!told.contains("result"), "{told}");
    }
    served.is_well();
}

#[test]
fn who_goes_in_the_middle_of_a_body_is_not_missed() {
    let served = Served::new();
    for _ in 0..20 {
        let mut caller = served.caller();
        caller.raw(head(&caller, "content-length: 100\r\n\r\n{"));
    }
    served.is_well();
}

#[test]
fn other_paths_are_not_there() {
    let served = Served::new();
    let port = served.port;
    for path in ["/nothing", "/mcp/", "/mcp/x", "/../etc/passwd", "//mcp"] {
        let mut caller = served.caller();
        caller.raw(format!(
            "GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"
        ));
        assert_eq!(caller.response().status, 404, "{path}");
    }
    let mut caller = served.caller();
    caller.raw(format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"
    ));
    assert_eq!(caller.response().body, b"ok\n");
}

#[test]
fn connections_are_limited() {
    let served = Served::new();
    let mut callers: Vec<Caller> = (0..1_024).map(|_| served.caller()).collect();
    for caller in &mut callers {
        assert_eq!(caller.listen().status, 200);
    }
    assert_eq!(served.caller().head().status, 503);
    callers.truncate(1_000);
    // Their ends are noticed in a moment.
    let start = Instant::now();
    loop {
        let mut caller = served.caller();
        caller
            .stream
            .get_mut()
            .write_all(b"x\r\n\r\n")
            .expect("a socket");
        if caller.head().status == 400 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
}

#[test]
fn streams_that_are_never_read_cost_little() {
    let served = Served::new();
    let mut unread: Vec<Caller> = (0..200).map(|_| served.caller()).collect();
    for caller in &mut unread {
        caller.listen();
    }
    let mut reader = served.caller();
    reader.listen();
    reader.event();
    served.env.write("more/prompts/p.md", "x");
    served.env.write("more/twig.toml", "[prompts.p]\n");
    reader.event();
    for round in 0..20 {
        let text = format!("[prompts.p]\ndescription = \"{round}\"\n");
        served.env.write("more/twig.toml", text);
        reader.event();
    }
    for caller in &mut unread {
        caller.event();
        let told = caller.event().expect("an announcement");
        assert_eq!(told["method"], "notifications/prompts/list_changed");
    }
    assert!(memory_kib(served.child.id(), "VmRSS") < 100 * 1024);
}

#[test]
fn many_long_bodies_take_turns() {
    let served = Served::new();
    let mut callers: Vec<Caller> = (0..300).map(|_| served.caller()).collect();
    let piece = vec![b' '; 64 * 1024];
    for caller in &mut callers {
        caller.raw(head(caller, "content-length: 4000000\r\n\r\n"));
        caller
            .stream
            .get_ref()
            .set_nonblocking(true)
            .expect("a socket");
    }
    // As much as the server and the system take.
    for _ in 0..40 {
        for caller in &mut callers {
            let _ = caller.stream.get_mut().write(&piece);
        }
    }
    served.is_well();
    // Thirty-two are held at once; three hundred would be a gigabyte.
    assert!(memory_kib(served.child.id(), "VmHWM") < 300 * 1024);
}
