//! The legacy era: sessions, their stream and their end.

use serde_json::json;
use twig_testkit::write_fixture;

use super::Served;
use super::client::{ACCEPT, initialize, legacy};

#[test]
fn a_session_lists_gets_and_ends() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = caller.initialize();
    assert!(session.len() >= 32, "{session}");
    assert_ne!(session, caller.initialize());
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let taken = caller.post(&[("mcp-session-id", &session)], &initialized);
    assert_eq!((taken.status, taken.body.len()), (202, 0));
    let listed = caller.legacy(&session, "prompts/list", json!({})).json();
    assert_eq!(
        listed["result"]["prompts"].as_array().map(Vec::len),
        Some(3)
    );
    assert!(listed["result"].get("resultType").is_none());
    for (name, text) in [("lib:hello", "Hello Ada!\n"), ("lib:count", "012\n")] {
        let params = json!({"name": name, "arguments": {"name": "Ada"}});
        let got = caller.legacy(&session, "prompts/get", params).json();
        assert_eq!(got["result"]["messages"][0]["content"]["text"], text);
    }
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 200);
    let unknown = caller.legacy(&session, "no/such", json!({}));
    assert_eq!((unknown.status, unknown.code()), (200, -32601));

    let delete = [("mcp-session-id", &*session)];
    assert_eq!(caller.send("DELETE", &delete, b"").status, 204);
    assert_eq!(caller.send("DELETE", &delete, b"").status, 404);
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 404);
}

#[test]
fn sessions_are_checked() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = caller.initialize();
    let unknown = caller.legacy("0123456789abcdef", "ping", json!({}));
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["id"], 1);
    let none = caller.post(&[], &legacy("ping", json!({})));
    assert_eq!((none.status, none.code()), (400, -32600));
    let headers = [
        ("mcp-session-id", &*session),
        ("mcp-protocol-version", "1999-01-01"),
    ];
    let version = caller.post(&headers, &legacy("ping", json!({})));
    assert_eq!((version.status, version.code()), (400, -32022));
    // A version that is not said is an early one.
    let silent = caller.post(&[("mcp-session-id", &session)], &legacy("ping", json!({})));
    assert_eq!(silent.status, 200);
    let get = [("mcp-session-id", "nobody"), ("accept", ACCEPT)];
    assert_eq!(caller.send("GET", &get, b"").status, 404);
    let get = [
        ("mcp-session-id", &*session),
        ("accept", "application/json"),
    ];
    assert_eq!(caller.send("GET", &get, b"").status, 406);
    assert_eq!(caller.send("GET", &[], b"").status, 405);
}

#[test]
fn the_stream_of_a_session_tells_of_an_edit_and_ends_with_it() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = caller.initialize();
    let get = [
        ("mcp-session-id", &*session),
        ("accept", "text/event-stream"),
    ];
    let mut first = served.caller();
    first.start("GET", &get, b"");
    assert_eq!(first.head().status, 200);
    // A client that comes back has one stream, not two.
    let mut stream = served.caller();
    stream.start("GET", &get, b"");
    assert_eq!(
        stream.head().header("content-type"),
        Some("text/event-stream")
    );
    assert_eq!(first.event(), None);
    served.env.write("more/twig.toml", "[prompts.p]\n");
    served.env.write("more/prompts/p.md", "x");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"});
    assert_eq!(stream.event(), Some(changed));
    caller.send("DELETE", &[("mcp-session-id", &session)], b"");
    assert_eq!(stream.event(), None);
}

#[test]
fn a_change_before_the_stream_opens_is_told_when_it_does() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = caller.initialize();
    let mut other = served.caller();
    other.listen();
    other.event();
    served.env.write("more/twig.toml", "[prompts.p]\n");
    served.env.write("more/prompts/p.md", "x");
    other.event();
    let get = [("mcp-session-id", &*session), ("accept", ACCEPT)];
    caller.start("GET", &get, b"");
    assert_eq!(caller.head().status, 200);
    assert!(caller.event().is_some());
}

#[test]
fn a_session_that_made_room_for_others_goes_on() {
    let served = Served::new();
    let mut caller = served.caller();
    let sessions: Vec<String> = (0..300).map(|_| caller.initialize()).collect();
    for session in &sessions {
        assert_eq!(caller.legacy(session, "ping", json!({})).status, 200);
    }
}

/// A client over HTTP may be on another machine: it is not asked for folders, and loads none here.
#[test]
fn what_a_client_loads_itself_and_its_roots_do_not_count_over_http() {
    let env = crate::env("");
    write_fixture(&env.home(), "//- .claude/commands/commit.md\nCommit.\n");
    env.configure("[[libraries]]\npath = \"~/.claude/commands\"\n");
    let served = Served::from_env(env);
    let mut caller = served.caller();
    let mut hello = initialize();
    hello["params"]["clientInfo"]["name"] = json!("claude-code");
    hello["params"]["capabilities"] = json!({"roots": {"listChanged": true}});
    let welcome = caller.post(&[], &hello);
    let session = welcome
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let headers = [("mcp-session-id", &*session)];
    for method in [
        "notifications/initialized",
        "notifications/roots/list_changed",
    ] {
        let said = json!({"jsonrpc": "2.0", "method": method});
        let taken = caller.post(&headers, &said);
        assert_eq!((taken.status, taken.body.len()), (202, 0));
    }
    let listed = caller.legacy(&session, "prompts/list", json!({})).json();
    assert_eq!(listed["result"]["prompts"][0]["name"], "claude:commit");
    let get = [("mcp-session-id", &*session), ("accept", ACCEPT)];
    let mut stream = served.caller();
    stream.start("GET", &get, b"");
    assert_eq!(stream.head().status, 200);
    served
        .env
        .write("more/twig.toml", "[prompts.p]\ntext = \"x\"\n");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"});
    assert_eq!(stream.event(), Some(changed));
}
