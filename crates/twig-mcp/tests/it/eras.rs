//! Two eras on one connection, told apart request by request.

use serde_json::{Value, json};

use crate::support::{Peer, error, modern, request, server_meta};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[test]
fn interleaved_requests_are_served_each_in_its_own_era() {
    let mut peer = Peer::new();
    for _ in 0..2 {
        let legacy = peer.ask("resources/list", json!({}));
        assert_eq!(legacy["result"], json!({"resources": []}));
        let modern = peer.ask_modern("resources/list", json!({}));
        assert_eq!(
            modern["result"],
            json!({"resources": [], "ttlMs": 5000, "cacheScope": "private",
                "resultType": "complete", "_meta": server_meta()})
        );
    }
}

#[test]
fn a_modern_request_has_to_say_what_its_client_can_do() {
    let mut peer = Peer::new();
    let reply = peer.ask("prompts/list", json!({"_meta": {VERSION: "2026-07-28"}}));
    let (code, message) = error(&reply);
    assert_eq!(code, -32602);
    assert_eq!(message, format!("`params._meta` needs `{CAPABILITIES}`"));

    let meta = json!({VERSION: "2026-07-28", CAPABILITIES: []});
    let (code, message) = error(&peer.ask("prompts/list", json!({"_meta": meta})));
    assert_eq!(code, -32602);
    assert_eq!(message, format!("`{CAPABILITIES}` must be an object"));
}

#[test]
fn a_version_that_is_no_string_is_malformed() {
    for version in [
        json!(20_260_728),
        json!(null),
        json!({}),
        json!(["2026-07-28"]),
    ] {
        let meta = json!({VERSION: version, CAPABILITIES: {}});
        let (code, message) = error(&Peer::new().ask("prompts/list", json!({"_meta": meta})));
        assert_eq!(code, -32602);
        assert_eq!(message, format!("`{VERSION}` must be a string"));
    }
}

#[test]
fn a_version_that_is_not_spoken_is_answered_with_those_that_are() {
    let mut peer = Peer::new();
    for version in ["2099-01-01", "2025-11-25", ""] {
        let meta = json!({VERSION: version, CAPABILITIES: {}});
        for method in ["server/discover", "prompts/get", "no/such"] {
            let reply = peer.ask(method, json!({"_meta": meta}));
            assert_eq!(error(&reply).0, -32022);
            let data = &reply["error"]["data"];
            assert_eq!(data["requested"], version);
            assert_eq!(data["supported"], json!(["2026-07-28"]));
        }
    }
}

#[test]
fn methods_of_the_modern_era_name_the_key_that_is_missing() {
    let mut peer = Peer::new();
    for method in ["server/discover", "subscriptions/listen"] {
        for params in [json!({}), json!({"_meta": {}}), json!({"_meta": null})] {
            let (code, message) = error(&peer.ask(method, params));
            assert_eq!(code, -32602);
            assert_eq!(message, format!("`params._meta` needs `{VERSION}`"));
        }
    }
}

#[test]
fn methods_that_were_removed_are_not_found_in_the_modern_era() {
    let mut peer = Peer::new();
    for method in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    ] {
        let reply = peer.ask_modern(method, json!({"uri": "x:y", "level": "info"}));
        assert_eq!(
            error(&reply),
            (-32601, format!("Method not found: {method}"))
        );
    }
    let (code, message) = error(&peer.ask_modern("initialize", json!({})));
    assert_eq!(code, -32601);
    assert!(message.contains("2026-07-28, 2025-11-25"), "{message}");
}

#[test]
fn meta_is_an_object_or_refused() {
    let mut peer = Peer::new();
    for meta in [json!([]), json!(["2026-07-28", {}]), json!("x"), json!(1)] {
        for method in ["prompts/list", "prompts/get"] {
            let params = json!({"name": "lib:echo", "_meta": meta});
            assert_eq!(error(&peer.ask(method, params)).0, -32602, "{meta}");
        }
    }
}

#[test]
fn other_keys_in_meta_are_nobodys_business() {
    let mut params = modern(json!({}), json!({"roots": {}}));
    params["_meta"]["progressToken"] = json!(1.5);
    params["_meta"]["traceparent"] = Value::Null;
    let reply = Peer::new().one(request(1, "prompts/list", params));
    assert_eq!(reply["result"]["resultType"], "complete");
}
