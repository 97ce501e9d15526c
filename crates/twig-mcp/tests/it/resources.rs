//! Resources and tools: empty, and correct about it.

use serde_json::json;

use crate::support::{Peer, error};

#[test]
fn lists_are_empty_and_take_no_cursor() {
    let mut peer = Peer::new();
    for (method, items) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("tools/list", "tools"),
    ] {
        assert_eq!(
            peer.ask(method, json!({"cursor": null}))["result"],
            json!({items: []})
        );
        let modern = peer.ask_modern(method, json!({}));
        assert_eq!(modern["result"]["ttlMs"], 5000);
        assert_eq!(modern["result"]["cacheScope"], "private");
        for cursor in ["", "x"] {
            assert_eq!(
                error(&peer.ask(method, json!({"cursor": cursor}))).0,
                -32602
            );
        }
    }
}

#[test]
fn a_resource_that_is_not_there_is_named() {
    let mut peer = Peer::new();
    for reply in [
        peer.ask("resources/read", json!({"uri": "test://x"})),
        peer.ask_modern("resources/read", json!({"uri": "test://x"})),
        peer.ask("resources/subscribe", json!({"uri": "test://x"})),
    ] {
        assert_eq!(
            error(&reply),
            (-32602, "Resource not found: test://x".to_owned())
        );
        assert_eq!(reply["error"]["data"]["uri"], "test://x");
    }
    let reply = peer.ask("resources/unsubscribe", json!({"uri": "test://x"}));
    assert_eq!(reply["result"], json!({}));
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let reply = Peer::new().ask("tools/call", json!({"name": "x", "arguments": {}}));
    assert_eq!(error(&reply), (-32602, "Unknown tool: x".to_owned()));
}
