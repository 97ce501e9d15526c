//! The token: who does not show it learns nothing, and nobody learns it from us.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use super::Served;
use super::client::{Response, list, modern};
use crate::env;

const TOKEN: &str = "correct-horse-battery-staple";

#[track_caller]
fn is_refused(response: &Response, row: &str) {
    assert_eq!((response.status, response.code()), (401, -32600), "{row}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    let challenge = response.header("www-authenticate").unwrap_or_default();
    assert!(challenge.starts_with("Bearer realm="), "{row}: {challenge}");
    let text = String::from_utf8_lossy(&response.body);
    assert!(!text.contains(TOKEN) && !text.contains("hello"), "{text}");
}

#[test]
fn it_is_asked_for_where_there_is_one() {
    let mut served = Served::with(&["--log-level", "trace"], &[("TWIG_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    let mut caller = served.caller();
    assert_eq!(list(&mut caller, &[("authorization", &right)]).status, 200);
    // The scheme is the same in any case (RFC 9110, 11.1); the token is not.
    let lower = format!("bearer {TOKEN}");
    assert_eq!(list(&mut caller, &[("authorization", &lower)]).status, 200);
    let none = list(&mut caller, &[]);
    is_refused(&none, "none");
    let challenge = none.header("www-authenticate");
    assert_eq!(challenge, Some("Bearer realm=\"twig\""));
    for wrong in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        "Bearer \u{fc}".to_owned(),
        format!("Bearer {TOKEN}x"),
        format!("Bearer x{TOKEN}"),
        format!("Bearer {}", &TOKEN[1..]),
        format!("Bearer {}", &TOKEN[..TOKEN.len() - 1]),
        format!("Bearer {}", TOKEN.to_uppercase()),
        format!("Bearer {TOKEN} {TOKEN}"),
        format!("Bearer \"{TOKEN}\""),
        format!("Bearer={TOKEN}"),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        TOKEN.to_owned(),
    ] {
        let refused = list(&mut caller, &[("authorization", &wrong)]);
        is_refused(&refused, &wrong);
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    for both in [
        [&*right, &*right],
        [&*right, "Bearer x"],
        ["Bearer x", &*right],
    ] {
        let both = both.map(|value| ("authorization", value));
        is_refused(&list(&mut caller, &both), "two of them");
    }
    for elsewhere in ["cookie", "x-api-key", "proxy-authorization"] {
        let headers = [(elsewhere, &*right)];
        is_refused(&list(&mut caller, &headers), elsewhere);
    }
    let port = served.port;
    caller.raw(format!(
        "POST /mcp?access_token={TOKEN} HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: 0\r\n\r\n"
    ));
    is_refused(&caller.response(), "in the address");
    // Whatever is asked for: nobody learns what sessions there are.
    for method in ["GET", "DELETE", "PUT"] {
        let refused = caller.send(method, &[("mcp-session-id", "x")], b"");
        is_refused(&refused, method);
    }
    // Whether the server is up is no secret.
    caller.raw(format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"
    ));
    assert_eq!(caller.response().status, 200);
    served.signal(Signal::TERM);
    let (_, _, talk) = served.ended();
    assert!(talk.contains("answered"), "{talk}");
    assert!(!talk.contains(TOKEN), "{talk}");
    assert!(!talk.to_lowercase().contains("bearer"), "{talk}");
}

#[test]
fn a_body_is_not_read_before_the_token() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let mut caller = served.caller();
    let port = served.port;
    caller.raw(format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: 4000000\r\n\r\n"
    ));
    is_refused(&caller.response(), "before its body");
}

/// The lists of a server with a token are for its owner: no cache may hand them to others.
#[test]
fn every_page_is_private() {
    let served = Served::configured_with("[limits]\npage = 1\n", &[("TWIG_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    let mut caller = served.caller();
    let mut ask = |method: &str, params| {
        let headers = [
            ("authorization", &*right),
            ("mcp-protocol-version", twig_testkit::MODERN),
            ("mcp-method", method),
        ];
        caller.post(&headers, &modern(method, params)).json()["result"].clone()
    };
    let mut params = json!({});
    let mut pages = 0;
    loop {
        let page = ask("prompts/list", params);
        assert_eq!(page["cacheScope"], "private", "{page}");
        pages += 1;
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        params = json!({"cursor": cursor});
    }
    assert_eq!(pages, 3);
    for method in [
        "server/discover",
        "resources/list",
        "resources/templates/list",
        "tools/list",
    ] {
        let page = ask(method, json!({}));
        assert_eq!(page["cacheScope"], "private", "{method}: {page}");
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
    assert_eq!(
        list(&mut served.caller(), &[("authorization", &right)]).status,
        200
    );
    assert_eq!(
        list(&mut served.caller(), &[("authorization", "Bearer another")]).status,
        401
    );
}

#[test]
fn what_others_can_reach_needs_a_token() {
    let env = env("");
    insta::assert_snapshot!(env.run(["serve", "--http", "0.0.0.0:0"]), @r#"
    --- stderr
    error: without a key or a token, 0.0.0.0:0 would serve your prompts to everyone who can reach it
    hint: make a key with `twig key create NAME --role reader`, set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["serve", "--http", "[::]:0"]), @r#"
    --- stderr
    error: without a key or a token, [::]:0 would serve your prompts to everyone who can reach it
    hint: make a key with `twig key create NAME --role reader`, set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1
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
    assert_eq!(
        list(&mut served.caller(), &[("authorization", &right)]).status,
        200
    );
    assert_eq!(list(&mut served.caller(), &[]).status, 401);
}

#[test]
fn a_token_that_can_be_guessed_is_refused_where_others_can_try() {
    let env = env("");
    let short = env.work().join("short");
    fs::write(&short, "fifteen-chars-x\n").expect("writable");
    fs::set_permissions(&short, fs::Permissions::from_mode(0o644)).expect("ours");
    insta::assert_snapshot!(env.run(["serve", "--http", "0.0.0.0:0", "--token-file", "short"]), @r#"
    --- stderr
    error: the token in short has 15 characters, and 0.0.0.0:0 needs one of at least 16: others could guess it
    hint: make one with `openssl rand -hex 32`
    --- exit 1
    "#);
    let served = Served::at("0.0.0.0:0", &[], &[("TWIG_TOKEN", "sixteen-chars-xy")]);
    let right = [("authorization", "Bearer sixteen-chars-xy")];
    assert_eq!(list(&mut served.caller(), &right).status, 200);
    // On this machine it is a matter of taste, and worth a word.
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--token-file", "short"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut talk = BufReader::new(child.stderr.take().expect("piped")).lines();
    let first = talk.next().expect("a line").expect("text");
    assert!(
        first.contains("has 15 characters and is easy to guess"),
        "{first}"
    );
    let second = talk.next().expect("a line").expect("text");
    assert!(
        second.contains(
            "every user of this machine can read the token in short: run `chmod 600 short`"
        ),
        "{second}"
    );
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn a_token_gets_a_warning_below_twenty_characters() {
    for (token, is_short) in [
        ("nineteen-characters", true),
        ("twenty-characters-xx", false),
    ] {
        let mut served = Served::with(&[], &[("TWIG_TOKEN", token)]);
        served.signal(Signal::TERM);
        let (_, _, later) = served.ended();
        let talk = format!("{}{later}", served.before);
        let warning = "the token in TWIG_TOKEN has 19 characters and is easy to guess: use at least 20; \
                       make one with `openssl rand -hex 32`";
        assert_eq!(talk.contains(warning), is_short, "{talk}");
        assert!(!talk.contains(token), "{talk}");
    }
}

#[test]
fn wrong_tokens_slow_nobody_else() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    let mut guessing: Vec<_> = (0..100).map(|_| served.caller()).collect();
    let body = modern("prompts/list", json!({})).to_string();
    for caller in &mut guessing {
        let headers = [("authorization", "Bearer wrong")];
        caller.start("POST", &headers, body.as_bytes());
    }
    assert_eq!(
        list(&mut served.caller(), &[("authorization", &right)]).status,
        200
    );
    // The last ones still wait for their refusal.
    let last = guessing.last_mut().expect("many");
    let stream = last.stream.get_ref();
    stream.set_nonblocking(true).expect("a socket");
    let answered = stream.peek(&mut [0]);
    assert!(answered.is_err(), "{answered:?}");
    stream.set_nonblocking(false).expect("a socket");
    is_refused(&guessing[0].response(), "the first");
}

/// Clients send a body after its head, and would go on with the next request on the same connection.
#[test]
fn who_is_turned_away_is_told_that_the_connection_ends() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let host = format!("host: 127.0.0.1:{}", served.port);
    for (start, status) in [
        (format!("POST /mcp HTTP/1.1\r\n{host}"), 401),
        ("POST /mcp HTTP/1.1\r\nhost: evil.example".to_owned(), 403),
    ] {
        let head = format!("{start}\r\ncontent-length: 2\r\n\r\n");
        // Who showed the token before keeps the connection.
        for showed_token in [true, false] {
            let mut caller = served.caller();
            if showed_token {
                let right = format!("Bearer {TOKEN}");
                assert_eq!(list(&mut caller, &[("authorization", &right)]).status, 200);
            }
            caller.raw(&head);
            // By the time that another client was answered, the head was surely read.
            assert_eq!(list(&mut served.caller(), &[]).status, 401);
            caller.raw("{}");
            let response = caller.response();
            assert_eq!(response.status, status);
            let close = (!showed_token).then_some("close");
            assert_eq!(response.header("connection"), close);
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
