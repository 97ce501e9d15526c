//! Connections that are held for nothing: they make room for clients that ask for something.

use super::Served;
use super::client::{Caller, PATIENCE, list};
use std::time::Instant;

const TOKEN: &str = "correct-horse-battery-staple";
const RIGHT: (&str, &str) = ("authorization", "Bearer correct-horse-battery-staple");
/// Room for so many connections.
const ROOM: usize = 8;

/// What a connection does to stay.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hold {
    Silent,
    HalfHead,
    HalfBody,
    Health,
    NoToken,
    Elsewhere,
}

const HOLDS: [Hold; 6] = [
    Hold::Silent,
    Hold::HalfHead,
    Hold::HalfBody,
    Hold::Health,
    Hold::NoToken,
    Hold::Elsewhere,
];

impl Hold {
    fn start(self, caller: &mut Caller) {
        use std::io::Write;
        let host = format!("host: localhost:{}\r\n", caller.port);
        let json = "content-type: application/json\r\n";
        let request = match self {
            Self::Silent => String::new(),
            Self::HalfHead => "POST /mcp HTTP/1.1\r\nhost:".to_owned(),
            Self::HalfBody => {
                format!("POST /mcp HTTP/1.1\r\n{host}{json}content-length: 100\r\n\r\n{{")
            }
            Self::Health => format!("GET /healthz HTTP/1.1\r\n{host}\r\n"),
            Self::NoToken => {
                format!("POST /mcp HTTP/1.1\r\n{host}{json}content-length: 2\r\n\r\n{{}}")
            }
            Self::Elsewhere => format!("GET /nowhere HTTP/1.1\r\n{host}\r\n"),
        };
        // It may have had to make room already.
        let _ = caller.stream.get_mut().write_all(request.as_bytes());
    }
}

#[test]
fn who_only_holds_connections_keeps_nobody_out() {
    let config = format!("[http]\nconnections = {ROOM}\n");
    for token in [&[][..], &[("TWIG_TOKEN", TOKEN)]] {
        let served = Served::configured_with(&config, token);
        let mut known = served.caller();
        assert_eq!(list(&mut known, &[RIGHT]).status, 200);
        for hold in HOLDS {
            let mut held: Vec<Caller> = (0..2 * ROOM).map(|_| served.caller()).collect();
            for caller in &mut held {
                hold.start(caller);
            }
            for _ in 0..ROOM {
                let response = list(&mut served.caller(), &[RIGHT]);
                assert_eq!(response.status, 200, "{hold:?} {token:?}");
            }
            // Who was let in before stays.
            assert_eq!(list(&mut known, &[RIGHT]).status, 200, "{hold:?} {token:?}");
        }
    }
}

#[test]
fn who_asked_once_and_stays_makes_room_too() {
    let served = Served::configured_with(&format!("[http]\nconnections = {ROOM}\n"), &[]);
    let mut idle: Vec<Caller> = (0..ROOM).map(|_| served.caller()).collect();
    for caller in &mut idle {
        assert_eq!(list(caller, &[]).status, 200);
    }
    let mut others = Vec::new();
    for _ in 0..ROOM {
        let mut caller = served.caller();
        assert_eq!(list(&mut caller, &[]).status, 200);
        others.push(caller);
    }
}

#[test]
fn what_is_answered_to_anybody_ends_the_connection() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let own = format!("localhost:{}", served.port);
    let ask = |caller: &mut Caller, target: &str, host: &str| {
        caller.raw(format!("{target} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        caller.response()
    };
    let mut known = served.caller();
    assert_eq!(list(&mut known, &[RIGHT]).status, 200);
    for (target, host, status) in [
        ("GET /healthz", &*own, 200),
        ("GET /nowhere", &own, 404),
        ("POST /mcp", &own, 401),
        ("GET /mcp", "evil.example", 403),
        ("GET /healthz", "evil.example", 200),
    ] {
        let mut caller = served.caller();
        let response = ask(&mut caller, target, host);
        assert_eq!(response.status, status, "{target} {host}");
        assert_eq!(response.header("connection"), Some("close"), "{target}");
        assert!(caller.is_closed(), "{target}");
        let response = ask(&mut known, target, host);
        assert_eq!(response.status, status, "{target} {host}");
        assert_eq!(response.header("connection"), None, "{target}");
    }
}

#[test]
fn requests_that_are_refused_win_no_time() {
    let served = Served::configured("[http]\nhead_millis = 200\n");
    let mut caller = served.caller();
    let start = Instant::now();
    loop {
        use std::io::{BufRead, Write};
        let port = served.port;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]"
        );
        let sent = caller.stream.get_mut().write_all(request.as_bytes());
        if sent.is_err() || caller.stream.fill_buf().map_or(true, <[u8]>::is_empty) {
            break;
        }
        assert_eq!(caller.response().status, 400);
        assert!(start.elapsed() < PATIENCE, "it is still connected");
    }
    served.is_well();
}

#[test]
fn nobody_is_asked_for_a_body_that_is_refused() {
    let served = Served::with(&[], &[("TWIG_TOKEN", TOKEN)]);
    let own = format!("localhost:{}", served.port);
    for (host, token, status) in [
        (&*own, "wrong", 401),
        ("evil.example", TOKEN, 403),
        (&own, TOKEN, 100),
    ] {
        let mut caller = served.caller();
        caller.raw(format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n"
        ));
        assert_eq!(caller.head().status, status);
    }
}
