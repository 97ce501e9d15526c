//! Messages that are none, and messages that their headers do not fit: each is refused with its
//! status and code, and the connection goes on where HTTP lets it.

use serde_json::json;
use twig_testkit::MODERN;

use super::Served;
use super::client::{ACCEPT, list, modern};

const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/json"),
    ("mcp-protocol-version", MODERN),
    ("mcp-method", "prompts/list"),
];

/// A list request with this id, and more in its params.
fn ask(id: &str, more: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/list","params":{{{meta}{more}}}}}"#)
}

fn deep(levels: usize) -> String {
    // The message and its params are two.
    let (open, close) = ("[".repeat(levels - 2), "]".repeat(levels - 2));
    ask("1", &format!(r#","x":{open}{close}"#))
}

/// T-DOS-03
#[test]
fn what_is_no_message_is_refused() {
    let served = Served::new();
    let mut caller = served.caller();
    let keys: String = (0..300_000).map(|n| format!(",\"k{n}\":0")).collect();
    for body in [
        deep(128),
        ask("1", &keys),
        ask("1", r#","x":1,"x":2"#),
        ask("1", r#","x":1e999"#),
        ask("123456789012345678901234567890", ""),
        ask(r#""a""#, ""),
    ] {
        let row = &body[..60];
        let response = caller.send("POST", &HEADERS, body.as_bytes());
        assert_eq!(response.status, 200, "{row}");
        // As it was written.
        let id = body[17..].split(',').next().unwrap_or_default();
        let text = String::from_utf8_lossy(&response.body);
        assert!(
            text.starts_with(&format!(r#"{{"jsonrpc":"2.0",{id},"#)),
            "{row}"
        );
    }
    let message = ask("1", "");
    for (body, code) in [
        (deep(129), -32600),
        (deep(100_000), -32600),
        (ask("1", r#","cursor":"a","cursor":"b""#), -32602),
        (message.replace(r#""id""#, r#""id":1,"id""#), -32600),
        (message.replace(r#""id""#, r#""method":"a","id""#), -32600),
        (ask("1", r#","\ud800":1"#), -32602),
        (ask(r#""\ud800""#, ""), -32600),
        (ask("1", r#","x":NaN"#), -32700),
        (ask("1", r#","x":-Infinity"#), -32700),
        (ask("NaN", ""), -32700),
        (ask("null", ""), -32600),
        (ask("true", ""), -32600),
        (ask("{}", ""), -32600),
        (ask("[1]", ""), -32600),
        (ask("1.5", ""), -32600),
        (ask("1e2", ""), -32600),
        (ask("1e308", ""), -32600),
        (ask("01", ""), -32700),
        (format!("[{message}]"), -32600),
        ("[]".to_owned(), -32600),
        (format!("[{}1]", "1,".repeat(100_000)), -32600),
        ("5".to_owned(), -32600),
        ("null".to_owned(), -32600),
        (message.repeat(2), -32700),
        (ask("1", ","), -32700),
        (ask("1", "/**/"), -32700),
        (format!("\u{feff}{message}"), -32700),
        (message.replace(r#"{"_meta"#, r#"[{"_meta"#), -32700),
        (message.replace("\"2.0\"", "\"1.0\""), -32600),
        (message.replace("\"2.0\"", "2.0"), -32600),
        (message.replace("jsonrpc", "JSONRPC"), -32600),
        (message.replace("\"prompts/list\"", "5"), -32600),
        (message[..40].to_owned(), -32700),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), -32600),
        ("\0".to_owned(), -32700),
        (" \n".to_owned(), -32700),
    ] {
        let row = &body[..body.len().min(100)];
        let response = caller.send("POST", &HEADERS, body.as_bytes());
        assert_eq!((response.status, response.code()), (400, code), "{row}");
    }
    let lone = caller.send(
        "POST",
        &HEADERS,
        ask("1", r#","cursor":"\ud800""#).as_bytes(),
    );
    assert_eq!((lone.status, lone.code()), (200, -32602));
    let bytes = [&message.as_bytes()[..60], b"\xff\xfe"].concat();
    let bytes = caller.send("POST", &HEADERS, &bytes);
    assert_eq!((bytes.status, bytes.code()), (400, -32700));
    // Older clients are told the same, with an id that is null where it cannot be read.
    for (body, code) in [("", -32700), ("{", -32700), ("[]", -32600)] {
        let response = caller.send("POST", &HEADERS[..1], body.as_bytes());
        assert_eq!((response.status, response.code()), (400, code), "{body}");
        assert_eq!(response.json().get("id"), Some(&json!(null)), "{body}");
    }
    assert_eq!(list(&mut caller, &[]).status, 200);
    // A million keys are more than a message may hold.
    let body = ask("1", &",\"\":0".repeat(1_000_000));
    let response = caller.send("POST", &HEADERS, body.as_bytes());
    assert_eq!((response.status, response.code()), (413, -32600));
}

/// Posts a `prompts/get` of `lib:count` with these lines of headers.
fn get(served: &Served, lines: &[&[u8]]) -> super::client::Response {
    let body = modern("prompts/get", json!({"name": "lib:count"})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\ncontent-type: application/json\r\naccept: {ACCEPT}\r\n\
         content-length: {}\r\n",
        served.port,
        body.len()
    );
    let lines = lines.iter().map(|line| [line, &b"\r\n"[..]].concat());
    let lines = lines.collect::<Vec<_>>().concat();
    let mut caller = served.caller();
    caller.raw([head.as_bytes(), &lines, b"\r\n", body.as_bytes()].concat());
    caller.response()
}

/// T-HTTP-05
#[test]
fn headers_that_do_not_fit_the_message_are_refused() {
    let served = Served::new();
    let version: &[u8] = b"mcp-protocol-version: 2026-07-28";
    let method: &[u8] = b"mcp-method: prompts/get";
    let name: &[u8] = b"mcp-name: lib:count";
    for lines in [
        [version, method, name],
        [name, b"MCP-METHOD:prompts/get", version],
        [version, method, b"Mcp-Name: =?base64?bGliOmNvdW50?="],
    ] {
        assert_eq!(get(&served, &lines).status, 200);
    }
    let rows: &[&[&[u8]]] = &[
        &[method, name],
        &[b"mcp-protocol-version: 2025-11-25", method, name],
        &[b"mcp-protocol-version: 1999-01-01", method, name],
        &[version, version, method, name],
        &[version, name],
        &[version, b"mcp-method: prompts/list", name],
        &[version, b"mcp-method: Prompts/Get", name],
        &[version, method, method, name],
        &[version, method],
        &[version, method, b"mcp-name: lib:hello"],
        &[version, method, b"mcp-name: lib:count, lib:count"],
        &[version, method, b"mcp-name:"],
        &[version, method, b"mcp-name: lib:c\xffunt"],
        &[version, method, name, b"mcp-name: lib:hello"],
        // `lib:hello`, `lib:count` and a line end, and no Base64 at all.
        &[version, method, b"mcp-name: =?base64?bGliOmhlbGxv?="],
        &[version, method, b"mcp-name: =?base64?bGliOmNvdW50DQo=?="],
        &[version, method, b"mcp-name: =?base64?lib:count?="],
        &[version, method, b"mcp-name: =?base64?bGliOmNvdW50"],
    ];
    for lines in rows {
        let response = get(&served, lines);
        let row = String::from_utf8_lossy(&lines.concat()).into_owned();
        assert_eq!((response.status, response.code()), (400, -32020), "{row}");
        assert_eq!(response.json()["id"], 1, "{row}");
    }
    // Line ends, and what else HTTP does not let into a value.
    for line in [
        &b"mcp-name: lib:count\r\n folded"[..],
        b"mcp-name: lib:\rcount",
        b"mcp-name: lib:\0count",
        b"mcp-name : lib:count",
        b"mcp-name",
    ] {
        assert_eq!(get(&served, &[version, method, line]).status, 400);
    }
    // A line end alone ends a header too; what follows is another one.
    assert_eq!(
        get(&served, &[version, method, b"mcp-name: lib:\nx: y"]).code(),
        -32020
    );
}
