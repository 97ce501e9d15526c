//! Who may come in.

use std::fs;

use serde_json::json;
use twig_testkit::MODERN;

use super::Served;
use super::client::{Response, modern};
use crate::env;

const TOKEN: &str = "correct-horse-battery-staple";

fn list(served: &Served, headers: &[(&str, &str)]) -> Response {
    let mut all = vec![
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "prompts/list"),
    ];
    all.extend_from_slice(headers);
    served
        .caller()
        .post(&all, &modern("prompts/list", json!({})))
}

#[test]
fn only_our_own_names_are_hosts() {
    let served = Served::new();
    let port = served.port;
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let host = format!("{host}:{port}");
        assert_eq!(list(&served, &[("host", &host)]).status, 200, "{host}");
    }
    let other = port.wrapping_add(1);
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost:{other}"),
        "localhost".to_owned(),
        format!("user@localhost:{port}"),
        format!("localhost:{port}, evil.example"),
        String::new(),
    ] {
        let response = list(&served, &[("host", &host)]);
        assert_eq!((response.status, response.code()), (403, -32600), "{host}");
    }
    let ours = format!("localhost:{port}");
    let twice = [("host", &*ours), ("host", &*ours)];
    assert_eq!(list(&served, &twice).status, 403);
    let mut caller = served.caller();
    caller.raw("GET /healthz HTTP/1.1\r\n\r\n");
    assert_eq!(caller.response().status, 403);
    let mut caller = served.caller();
    caller.raw(format!(
        "GET http://evil.example/healthz HTTP/1.1\r\nhost: {ours}\r\n\r\n"
    ));
    assert_eq!(caller.response().status, 403);
}

#[test]
fn only_pages_of_ours_may_ask() {
    let served = Served::new();
    let port = served.port;
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let origin = format!("http://{host}:{port}");
        let response = list(&served, &[("origin", &origin)]);
        assert_eq!(response.status, 200, "{origin}");
        assert_eq!(
            response.header("access-control-allow-origin"),
            Some(&*origin)
        );
    }
    let other = port.wrapping_add(1);
    for origin in [
        "null".to_owned(),
        "http://evil.example".to_owned(),
        format!("http://localhost:{other}"),
        "http://localhost".to_owned(),
        format!("https://localhost:{port}"),
        format!("http://localhost:{port}.evil.example"),
        format!("http://evil.example/http://localhost:{port}"),
        format!("http://localhost:{port}/"),
        String::new(),
    ] {
        let response = list(&served, &[("origin", &origin)]);
        assert_eq!(response.status, 403, "{origin}");
        assert_eq!(response.header("access-control-allow-origin"), None);
        let asked = [
            ("origin", &*origin),
            ("access-control-request-method", "POST"),
        ];
        let preflight = served.caller().send("OPTIONS", &asked, b"");
        assert_eq!(preflight.status, 403, "{origin}");
        assert_eq!(preflight.header("access-control-allow-origin"), None);
    }
    let ours = format!("http://localhost:{port}");
    let twice = [("origin", &*ours), ("origin", &*ours)];
    assert_eq!(list(&served, &twice).status, 403);
}

#[test]
fn the_lists_can_be_made_longer() {
    let args = [
        "--allow-host",
        "Prompts.example.com",
        "--allow-origin",
        "https://app.example.com",
    ];
    let served = Served::with(&args, &[("TWIG_TOKEN", TOKEN)]);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("host", "prompts.example.com"),
        ("origin", "https://app.example.com"),
        ("authorization", &*bearer),
    ];
    assert_eq!(list(&served, &headers).status, 200);
    // A browser asks first, and shows no token then.
    let asked = [
        ("origin", "https://app.example.com"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization, mcp-method",
        ),
    ];
    let preflight = served.caller().send("OPTIONS", &asked, b"");
    assert_eq!(preflight.status, 200);
    let allowed = preflight.header("access-control-allow-headers");
    assert!(allowed.is_some_and(|names| names.contains("mcp-method")));
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let mut served = Served::with(&["--log-level", "trace"], &[("TWIG_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    assert_eq!(list(&served, &[("authorization", &right)]).status, 200);
    let lower = format!("bearer {TOKEN}");
    assert_eq!(list(&served, &[("authorization", &lower)]).status, 200);
    let none = list(&served, &[]);
    assert_eq!(none.status, 401);
    assert_eq!(
        none.header("www-authenticate"),
        Some("Bearer realm=\"twig\"")
    );
    for wrong in [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        format!("Bearer {TOKEN}x"),
        format!("Bearer {}", &TOKEN[1..]),
        format!("Basic {TOKEN}"),
        TOKEN.to_owned(),
        format!("Bearer {}", TOKEN.to_uppercase()),
    ] {
        let refused = list(&served, &[("authorization", &wrong)]);
        assert_eq!(refused.status, 401, "{wrong}");
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.contains("invalid_token"), "{challenge}");
    }
    let twice = [("authorization", &*right), ("authorization", &*right)];
    assert_eq!(list(&served, &twice).status, 401);
    let mut caller = served.caller();
    let port = served.port;
    let query = format!(
        "POST /mcp?access_token={TOKEN} HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: 0\r\n\r\n"
    );
    caller.raw(query);
    assert_eq!(caller.response().status, 401);
    caller.raw(format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"
    ));
    assert_eq!(caller.response().status, 200);
    served.signal(rustix::process::Signal::TERM);
    let (_, _, talk) = served.ended();
    assert!(!talk.contains(TOKEN), "{talk}");
}

/// Clients send a body after its head, and go on with the next request on the same connection.
#[test]
fn who_is_turned_away_keeps_the_connection_or_is_told() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let host = format!("host: 127.0.0.1:{}", served.port);
    for (start, status) in [
        (format!("POST /mcp HTTP/1.1\r\n{host}"), 401),
        ("POST /mcp HTTP/1.1\r\nhost: evil.example".to_owned(), 403),
    ] {
        let head = format!("{start}\r\ncontent-length: 2\r\n\r\n");
        let mut caller = served.caller();
        for _ in 0..2 {
            caller.raw(&head);
            // By the time that another client was answered, the head was surely read.
            assert_eq!(list(&served, &[]).status, 401);
            caller.raw("{}");
            let response = caller.response();
            assert_eq!(response.status, status);
            assert_eq!(response.header("connection"), None);
        }
        // More than is worth reading, or more than comes.
        for length in [2, 1 << 20] {
            let mut caller = served.caller();
            caller.raw(format!("{start}\r\ncontent-length: {length}\r\n\r\n"));
            let response = caller.response();
            assert_eq!(response.status, status);
            assert_eq!(response.header("connection"), Some("close"));
            assert!(caller.is_closed());
        }
    }
}

#[test]
fn a_token_may_stand_in_a_file() {
    let place = env("");
    let path = place.work().join("token");
    fs::write(&path, format!("{TOKEN}\n")).expect("writable");
    let path = path.display().to_string();
    let served = Served::with(&["--token-file", &path], &[("TWIG_TOKEN", "another")]);
    let right = format!("Bearer {TOKEN}");
    assert_eq!(list(&served, &[("authorization", &right)]).status, 200);
    assert_eq!(
        list(&served, &[("authorization", "Bearer another")]).status,
        401
    );
}

#[test]
fn what_others_can_reach_needs_a_token() {
    let env = env("");
    insta::assert_snapshot!(env.run(["serve", "--http", "0.0.0.0:0"]), @r#"
    --- stderr
    error: without a token, 0.0.0.0:0 would serve your prompts to everyone who can reach it
    hint: set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["serve", "--http", "[::]:0"]), @r#"
    --- stderr
    error: without a token, [::]:0 would serve your prompts to everyone who can reach it
    hint: set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1
    --- exit 1
    "#);
    fs::write(env.work().join("empty"), "\n").expect("writable");
    insta::assert_snapshot!(env.run(["serve", "--http", ":0", "--token-file", "empty"]), @r#"
    --- stderr
    error: the token in empty has to be one word of ASCII characters
    hint: make one with `openssl rand -hex 32`
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["serve", "--http", ":0", "--token-file", "none"]), @r#"
    --- stderr
    error: could not read the token in none: there is no such file
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["serve", "--http", "nowhere"]), @r#"
    --- stderr
    error: invalid value 'nowhere' for '--http [<ADDR>]': it has to be an address such as 127.0.0.1:7373

    For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(env.run(["serve", "--allow-host", "x"]), @r#"
    --- stderr
    error: the following required arguments were not provided:
      --http [<ADDR>]

    Usage: twig serve --http [<ADDR>] --allow-host <HOST>

    For more information, try '--help'.
    --- exit 2
    "#);
    let served = Served::at("0.0.0.0:0", &[], &[("TWIG_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    assert_eq!(list(&served, &[("authorization", &right)]).status, 200);
    assert_eq!(list(&served, &[]).status, 401);
}
