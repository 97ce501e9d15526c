//! `initialize`, `ping` and `server/discover`.

use serde_json::{Value, json};

use crate::support::{Peer, server_meta};

fn capabilities() -> Value {
    json!({
        "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "tools": {"listChanged": true},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
    })
}

#[test]
fn initialize_says_who_is_there() {
    let reply = Peer::new().ask(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c"}}),
    );
    assert_eq!(
        reply,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities(),
            "serverInfo": {"name": "twig", "title": "Twig", "version": "1.2.3"},
            "instructions": "Ask for a prompt.",
        }})
    );
}

#[test]
fn initialize_agrees_on_a_legacy_version_and_may_come_again() {
    let mut peer = Peer::new();
    for (requested, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let reply = peer.ask("initialize", json!({"protocolVersion": requested}));
        assert_eq!(reply["result"]["protocolVersion"], agreed);
    }
}

#[test]
fn requests_are_served_before_initialize() {
    let mut peer = Peer::new();
    assert_eq!(peer.ask("ping", json!({}))["result"], json!({}));
    assert!(peer.ask("prompts/list", json!({}))["result"]["prompts"].is_array());
}

#[test]
fn discover_says_what_is_spoken() {
    let reply = Peer::new().ask_modern("server/discover", json!({}));
    assert_eq!(
        reply["result"],
        json!({
            "supportedVersions":
                ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": capabilities(),
            "instructions": "Ask for a prompt.",
            "ttlMs": 60000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_meta(),
        })
    );
}
