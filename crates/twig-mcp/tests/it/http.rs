//! The face that HTTP sees: headers and a body in, a status and a body out.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_core::{Content, Dialect, Limits, MediaKind, MessageSource, Prompt, RelativePath, Role};
use twig_mcp::Connection;
use twig_mcp::http::{self, ConnectionKind, Headers, HttpAnswer, HttpRefusal, Reply};

use crate::support::{Peer, jinja, library, modern, prompt, request, sample};

const MODERN: &str = "2026-07-28";

/// The headers of a modern client that calls a method.
fn headers(method: &str) -> Headers<'_> {
    Headers {
        version: Some(MODERN),
        method: Some(method),
        accept: Some("application/json, text/event-stream"),
        content_type: Some("application/json"),
        ..Headers::default()
    }
}

/// The headers of a legacy client.
fn legacy(session: Option<&str>) -> Headers<'_> {
    Headers {
        version: None,
        method: None,
        session,
        ..headers("")
    }
}

fn ask(method: &str, params: Value) -> String {
    request(7, method, modern(params, json!({})))
}

/// Posts on a fresh connection, whichever the exchange wants.
fn post(headers: &Headers<'_>, body: impl AsRef<[u8]>) -> (u16, Value) {
    let peer = Peer::new();
    let mut connection = Connection::new(Arc::clone(&peer.server));
    match http::post(&peer.server, headers, body.as_ref()) {
        Err(reply) => read(&reply),
        Ok(exchange) => match exchange.answer(&mut connection, peer.world()) {
            HttpAnswer::Reply(reply) | HttpAnswer::Session(reply) => read(&reply),
            other => panic!("{other:?}"),
        },
    }
}

fn read(reply: &Reply) -> (u16, Value) {
    let body = if reply.body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&whole(reply)).unwrap()
    };
    (reply.status, body)
}

/// A whole body, with what it shares.
fn whole(reply: &Reply) -> Vec<u8> {
    let mut body = reply.body.clone();
    if let Some(part) = &reply.shared {
        body.splice(part.at..part.at, part.bytes.iter().copied());
    }
    body
}

/// The status, the error's code and the id of a refusal.
#[track_caller]
fn refused(headers: &Headers<'_>, body: impl AsRef<[u8]>) -> (u16, i64, Value) {
    let (status, body) = post(headers, body);
    let code = body["error"]["code"].as_i64().unwrap();
    let id = body.get("id").cloned();
    (status, code, id.unwrap_or(json!("none")))
}

#[test]
fn a_modern_request_is_answered() {
    let (status, body) = post(&headers("prompts/list"), ask("prompts/list", json!({})));
    assert_eq!(status, 200);
    assert_eq!(body["id"], 7);
    assert_eq!(body["result"]["cacheScope"], "private");
    let (status, body) = post(
        &headers("server/discover"),
        ask("server/discover", json!({})),
    );
    assert_eq!(
        (status, &body["result"]["resultType"]),
        (200, &json!("complete"))
    );
}

#[test]
fn headers_have_to_say_what_the_message_says() {
    let get = ask("prompts/get", json!({"name": "lib:echo"}));
    let good = Headers {
        name: Some("lib:echo"),
        ..headers("prompts/get")
    };
    assert_eq!(post(&good, &get).0, 200);
    let bad = [
        Headers {
            version: None,
            ..good
        },
        Headers {
            version: Some("2025-11-25"),
            ..good
        },
        Headers {
            version: Some("2099-01-01"),
            ..good
        },
        Headers {
            version: Some("\u{fffd}"),
            ..good
        },
        Headers {
            method: None,
            ..good
        },
        Headers {
            method: Some("prompts/list"),
            ..good
        },
        Headers {
            method: Some("Prompts/Get"),
            ..good
        },
        Headers { name: None, ..good },
        Headers {
            name: Some("lib:ech"),
            ..good
        },
        Headers {
            name: Some("=?base64?bGliOmVjaA==?="),
            ..good
        },
        Headers {
            name: Some("=?base64?not base64?="),
            ..good
        },
    ];
    for headers in bad {
        assert_eq!(
            refused(&headers, &get),
            (400, -32020, json!(7)),
            "{headers:?}"
        );
    }
    let encoded = Headers {
        name: Some("=?base64?bGliOmVjaG8=?="),
        ..good
    };
    assert_eq!(post(&encoded, &get).0, 200);
}

#[test]
fn a_name_that_only_the_header_has_does_not_fit() {
    let body = ask("prompts/get", json!({}));
    let named = Headers {
        name: Some("lib:echo"),
        ..headers("prompts/get")
    };
    assert_eq!(refused(&named, &body), (400, -32020, json!(7)));
    // Nor the header nor the message has one: that is for the handler to say.
    assert_eq!(
        refused(&headers("prompts/get"), &body),
        (200, -32602, json!(7))
    );
}

#[test]
fn the_uri_is_the_name_of_a_resource() {
    let body = ask("resources/read", json!({"uri": "a://b"}));
    let named = Headers {
        name: Some("a://b"),
        ..headers("resources/read")
    };
    assert_eq!(refused(&named, &body), (200, -32602, json!(7)));
    assert_eq!(refused(&headers("resources/read"), &body).1, -32020);
}

#[test]
fn versions_that_nobody_speaks_are_refused() {
    let mut params = modern(json!({}), json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let unknown = Headers {
        version: Some("2099-01-01"),
        ..headers("prompts/list")
    };
    let (status, body) = post(&unknown, request(7, "prompts/list", params));
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(body["error"]["data"]["supported"], json!([MODERN]));
    let old = Headers {
        version: Some("1999-01-01"),
        ..legacy(Some("x"))
    };
    let list = request(7, "prompts/list", json!({}));
    assert_eq!(refused(&old, list), (400, -32022, json!(7)));
    assert_eq!(read(&http::session(&old).unwrap_err()).0, 400);
}

#[test]
fn a_modern_request_without_its_meta_is_malformed() {
    for params in [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": []}),
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": 1}}),
    ] {
        let body = request(7, "prompts/list", params.clone());
        let refusal = refused(&headers("prompts/list"), body);
        assert_eq!(refusal, (400, -32602, json!(7)), "{params}");
    }
}

#[test]
fn methods_that_are_unknown_or_gone_are_not_found() {
    for method in ["no/such", "ping", "initialize", "resources/subscribe"] {
        let refusal = refused(&headers(method), ask(method, json!({})));
        assert_eq!(refusal, (404, -32601, json!(7)), "{method}");
    }
}

#[test]
fn what_is_no_request_is_a_bad_one() {
    for (body, code) in [
        (&b"{"[..], -32700),
        (b"", -32700),
        (b" \n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}", -32700),
        (b"[]", -32600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (b"1", -32600),
    ] {
        let text = String::from_utf8_lossy(body);
        let modern = refused(&headers("ping"), body);
        assert_eq!(modern, (400, code, json!("none")), "{text}");
        let legacy = refused(&legacy(None), body);
        assert_eq!(legacy, (400, code, Value::Null), "{text}");
    }
    let wrong = r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#;
    assert_eq!(refused(&headers("ping"), wrong), (400, -32600, json!("a")));
}

#[test]
fn notifications_are_taken_silently() {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}).to_string();
    let taken = post(&headers("notifications/cancelled"), &cancel);
    assert_eq!(taken, (202, Value::Null));
    assert_eq!(post(&legacy(Some("s")), &cancel), (202, Value::Null));
    assert_eq!(refused(&headers("notifications/x"), &cancel).1, -32020);
    // The TypeScript SDK leaves the header out, and may.
    let unnamed = Headers {
        method: None,
        ..headers("")
    };
    assert_eq!(post(&unnamed, &cancel), (202, Value::Null));
}

#[test]
fn answers_that_nobody_asked_for_are_refused_where_they_are_illegal() {
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    assert_eq!(refused(&headers("x"), &answer).0, 400);
    assert_eq!(post(&legacy(Some("s")), &answer), (202, Value::Null));
}

#[test]
fn a_body_has_to_call_itself_json_and_be_short_enough() {
    let body = ask("prompts/list", json!({}));
    let good = headers("prompts/list");
    let kinds = [
        None,
        Some("text/plain"),
        Some("application/jsonl"),
        Some("\u{fffd}"),
    ];
    for content_type in kinds {
        let headers = Headers {
            content_type,
            ..good
        };
        assert_eq!(refused(&headers, &body).0, 415, "{content_type:?}");
    }
    let charset = Headers {
        content_type: Some("Application/JSON; charset=utf-8"),
        ..good
    };
    assert_eq!(post(&charset, &body).0, 200);
    let picky = Headers {
        accept: Some("text/html"),
        ..good
    };
    assert_eq!(refused(&picky, &body).0, 406);

    let limits = Limits {
        message: body.len(),
        ..Limits::default()
    };
    let peer = Peer::with(vec![sample()], limits);
    assert!(http::post(&peer.server, &good, body.as_bytes()).is_ok());
    let longer = format!("{body} ");
    let reply = http::post(&peer.server, &good, longer.as_bytes()).unwrap_err();
    let (status, body) = read(&reply);
    assert_eq!((status, &body["error"]["code"]), (413, &json!(-32600)));
}

#[test]
fn legacy_requests_belong_to_a_session() {
    let peer = Peer::new();
    let list = request(7, "prompts/list", json!({}));
    assert_eq!(refused(&legacy(None), &list), (400, -32600, json!(7)));
    let headers = legacy(Some("abc"));
    let exchange = http::post(&peer.server, &headers, list.as_bytes()).unwrap();
    assert_eq!(exchange.seat(), ConnectionKind::Session("abc"));
    let (status, body) = read(&exchange.refuse(&HttpRefusal::NoSession));
    assert_eq!((status, &body["id"]), (404, &json!(7)));
    // Errors of handlers are answers in the legacy era.
    let unknown = request(7, "no/such", json!({}));
    assert_eq!(refused(&headers, unknown), (200, -32601, json!(7)));
}

#[test]
fn initialize_starts_a_session_if_it_succeeds() {
    let mut peer = Peer::new();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let body = request(0, "initialize", params);
    let headers = legacy(None);
    let exchange = http::post(&peer.server, &headers, body.as_bytes()).unwrap();
    assert_eq!(exchange.seat(), ConnectionKind::New);
    let (status, refusal) = read(&exchange.refuse(&HttpRefusal::Sessions(256)));
    assert_eq!((status, &refusal["id"]), (503, &json!(0)));
    let mut connection = Connection::new(Arc::clone(&peer.server));
    let answer = exchange.answer(&mut connection, peer.world());
    assert!(matches!(answer, HttpAnswer::Session(reply) if reply.status == 200));
    peer.connection = connection;
    assert_eq!(peer.prompts_changed().len(), 1);
    assert_eq!(
        refused(&headers, request(0, "initialize", json!({}))).0,
        200
    );
}

#[test]
fn sessions_mean_nothing_in_the_modern_era() {
    let peer = Peer::new();
    let headers = Headers {
        session: Some("abc"),
        ..headers("prompts/list")
    };
    let body = ask("prompts/list", json!({}));
    let exchange = http::post(&peer.server, &headers, body.as_bytes()).unwrap();
    assert_eq!(exchange.seat(), ConnectionKind::Fresh);
    assert_eq!(http::session(&headers).unwrap_err().status, 405);
    assert_eq!(http::session(&legacy(None)).unwrap_err().status, 405);
    assert_eq!(http::session(&legacy(Some("abc"))), Ok("abc"));
}

#[test]
fn listening_opens_a_stream_for_who_takes_one() {
    let mut peer = Peer::new();
    let wish = json!({"notifications": {"promptsListChanged": true}});
    let body = ask("subscriptions/listen", wish);
    let good = headers("subscriptions/listen");
    let exchange = http::post(&peer.server, &good, body.as_bytes()).unwrap();
    let mut connection = Connection::new(Arc::clone(&peer.server));
    let HttpAnswer::Stream(first) = exchange.answer(&mut connection, peer.world()) else {
        panic!("no stream");
    };
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    peer.connection = connection;
    assert_eq!(peer.prompts_changed().len(), 1);
    assert_eq!(peer.close().len(), 1);
    let plain = Headers {
        accept: Some("application/json"),
        ..good
    };
    assert_eq!(refused(&plain, &body), (406, -32600, json!(7)));
    let malformed = ask("subscriptions/listen", json!({}));
    assert_eq!(refused(&good, malformed), (200, -32602, json!(7)));
}

#[test]
fn a_computed_prompt_leaves_as_a_job() {
    let template = "{% for i in [1, 2] %}{{ i }}{% endfor %}";
    let prompts = vec![jinja("count", template, Vec::new())];
    let peer = Peer::with(vec![library("lib", 1, prompts)], Limits::default());
    let body = ask("prompts/get", json!({"name": "lib:count"}));
    let headers = Headers {
        name: Some("lib:count"),
        ..headers("prompts/get")
    };
    let exchange = http::post(&peer.server, &headers, body.as_bytes()).unwrap();
    let mut connection = Connection::new(Arc::clone(&peer.server));
    let HttpAnswer::Job(job) = exchange.answer(&mut connection, peer.world()) else {
        panic!("no job");
    };
    let twig_mcp::Work::Render(render) = &job.work else {
        panic!("no template: {job:?}");
    };
    let outcome = twig_core::template::run(render);
    let (status, body) = read(&http::finish(&mut connection, job.ticket, outcome.clone()));
    assert_eq!(status, 200);
    assert_eq!(body["result"]["messages"][0]["content"]["text"], "12");
    // Answered already, or cancelled meanwhile.
    let reply = http::finish(&mut connection, job.ticket, outcome);
    assert_eq!(reply, Reply::accepted());
    let HttpAnswer::Job(job) = exchange.answer(&mut connection, peer.world()) else {
        panic!("no job");
    };
    connection.abandon(job.ticket);
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn a_handler_that_panics_is_an_internal_error() {
    let get = ask("prompts/get", json!({"name": "lib:panic"}));
    let headers = Headers {
        name: Some("lib:panic"),
        ..headers("prompts/get")
    };
    assert_eq!(refused(&headers, get), (200, -32603, json!(7)));
}

#[test]
fn what_the_transport_refuses_has_a_body_without_an_id() {
    for (trouble, status) in [
        (HttpRefusal::Body, 400),
        (HttpRefusal::Token, 401),
        (HttpRefusal::Host(None), 403),
        (HttpRefusal::Origin, 403),
        (HttpRefusal::Method, 405),
        (HttpRefusal::Slow, 408),
        (HttpRefusal::TooLarge(9), 413),
        (HttpRefusal::Panic, 500),
    ] {
        let (told, body) = read(&trouble.reply(&headers("x")));
        assert_eq!(told, status);
        assert!(body.get("id").is_none() && body["error"]["message"].is_string());
        let (_, body) = read(&trouble.reply(&legacy(None)));
        assert_eq!(body["id"], Value::Null);
    }
}

proptest! {
    /// Whatever headers and bodies come in, a reply is a status that HTTP knows and JSON.
    #[test]
    fn any_headers_and_any_body_are_answered(
        version in prop::option::of("2026-07-28|2025-11-25|\\PC{0,8}"),
        method in prop::option::of("prompts/(get|list)|\\PC{0,8}"),
        name in prop::option::of("lib:echo|=\\?base64\\?[A-Za-z0-9+/=]{0,8}\\?=|\\PC{0,8}"),
        session in prop::option::of("\\PC{0,8}"),
        accept in prop::option::of("\\*/\\*|application/json|\\PC{0,8}"),
        body in prop_oneof![
            Just(ask("prompts/get", json!({"name": "lib:echo"})).into_bytes()),
            Just(request(7, "prompts/list", json!({})).into_bytes()),
            prop::collection::vec(any::<u8>(), 0..64),
        ],
    ) {
        let headers = Headers {
            version: version.as_deref(),
            method: method.as_deref(),
            name: name.as_deref(),
            session: session.as_deref(),
            accept: accept.as_deref(),
            content_type: Some("application/json"),
        };
        let (status, body) = post(&headers, body);
        prop_assert!([200, 202, 400, 404, 406].contains(&status), "{}", status);
        prop_assert_eq!(status == 202, body.is_null());
    }
}

#[test]
fn the_reply_with_an_image_takes_no_more_memory_than_it_has_bytes() {
    const IMAGE: usize = 1024 * 1024;
    let message = |path: &str| MessageSource {
        role: Role::User,
        content: Content::Media {
            kind: MediaKind::Image,
            mime: "image/png",
            path: RelativePath::parse(path).unwrap(),
        },
    };
    let pictures = Prompt {
        messages: vec![message("a.png"), message("b.png")],
        dialect: Dialect::Jinja,
        ..prompt("pictures", Vec::new())
    };
    let mut peer = Peer::with(vec![library("lib", 1, vec![pictures])], Limits::default());
    peer.bodies.insert("a.png", vec![7; IMAGE]);
    peer.bodies.insert("b.png", vec![9; IMAGE]);
    let mut connection = Connection::new(Arc::clone(&peer.server));
    let calls = [
        ("prompts/get", json!({"name": "lib:pictures"})),
        (
            "tools/call",
            json!({"name": "expand_prompt", "arguments": {"command": "lib:pictures", "input": ""}}),
        ),
    ];
    for (method, params) in calls {
        let name = params["name"].as_str().unwrap().to_owned();
        let headers = Headers {
            name: Some(&name),
            ..headers(method)
        };
        let body = ask(method, params);
        let exchange = http::post(&peer.server, &headers, body.as_bytes()).unwrap();
        let HttpAnswer::Reply(reply) = exchange.answer(&mut connection, peer.world()) else {
            panic!("a job");
        };
        assert_eq!(reply.status, 200);
        let (length, capacity) = (reply.body.len(), reply.body.capacity());
        assert!(length > 2 * IMAGE, "{method}: {length}");
        assert!(
            capacity < length + 16 * 1024,
            "{method}: {length}, {capacity}"
        );
    }
}
