//! Sessions that survive a restart of the server.

use rustix::process::Signal;
use serde_json::json;

use super::super::client::Caller;
use super::super::{LIBRARY, Served};
use super::key;
use crate::env;

/// Ends a server and starts another one in the same home.
fn restarted(mut served: Served) -> Served {
    served.signal(Signal::TERM);
    served.ended();
    let env = std::mem::replace(&mut served.env, crate::env(""));
    Served::from_env(env)
}

fn stream(served: &Served, key: &str, session: &str) -> Caller {
    let mut stream = served.caller().with_key(key);
    let get = [("mcp-session-id", session), ("accept", "text/event-stream")];
    stream.start("GET", &get, b"");
    assert_eq!(stream.head().status, 200);
    stream
}

/// T-SES-02
#[test]
fn a_session_goes_on_after_a_restart() {
    let env = env(LIBRARY);
    let anna = key(&env, "anna", "reader", &[]);
    let served = Served::from_env(env);
    let session = served.caller().with_key(&anna).initialize();
    assert!(session.len() <= 160 && session.bytes().all(|byte| byte.is_ascii_graphic()));
    let served = restarted(served);
    let mut caller = served.caller().with_key(&anna);
    let listed = caller.legacy(&session, "prompts/list", json!({}));
    assert_eq!(listed.status, 200);
    assert_eq!(
        listed.json()["result"]["prompts"].as_array().unwrap().len(),
        3
    );
    // What was announced before is not known, so every list is announced once; then changes are.
    let mut stream = stream(&served, &anna, &session);
    for list in ["prompts", "resources", "tools"] {
        let method = format!("notifications/{list}/list_changed");
        assert_eq!(stream.event().unwrap()["method"], *method);
    }
    served
        .env
        .write("more/twig.toml", "[prompts.p]\ntext = \"x\"\n");
    let changed = "notifications/prompts/list_changed";
    assert_eq!(stream.event().unwrap()["method"], changed);
}

/// T-SES-03
#[test]
fn an_ended_session_stays_ended() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = caller.initialize();
    let delete = [("mcp-session-id", &*session)];
    assert_eq!(caller.send("DELETE", &delete, b"").status, 204);
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 404);
    let served = restarted(served);
    let mut caller = served.caller();
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 404);
    assert_eq!(caller.send("DELETE", &delete, b"").status, 404);
}

/// T-SES-04
#[test]
fn every_bad_session_is_refused_with_one_text() {
    let env = env(LIBRARY);
    let (anna, bob) = (
        key(&env, "anna", "reader", &[]),
        key(&env, "bob", "reader", &[]),
    );
    let served = Served::from_env(env);
    let mut caller = served.caller().with_key(&anna);
    let session = caller.initialize();
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 200);
    let mut bad = vec!["0".to_owned(), "A".repeat(10_000), format!("{session}A")];
    for at in 0..session.len() {
        let mut other = session.clone();
        let letter = if &session[at..=at] == "A" { "B" } else { "A" };
        other.replace_range(at..=at, letter);
        bad.push(other);
    }
    let refusal = caller.legacy("unknown", "ping", json!({}));
    assert_eq!(refusal.status, 404);
    for id in &bad {
        let refused = caller.legacy(id, "ping", json!({}));
        assert_eq!(
            (refused.status, &refused.body),
            (404, &refusal.body),
            "{id}"
        );
    }
    // Another person's, and one of another address.
    let mut other = served.caller().with_key(&bob);
    let refused = other.legacy(&session, "ping", json!({}));
    assert_eq!((refused.status, refused.body), (404, refusal.body));
    let delete = [("mcp-session-id", &*session)];
    assert_eq!(other.send("DELETE", &delete, b"").status, 404);
    assert_eq!(caller.legacy(&session, "ping", json!({})).status, 200);
}
