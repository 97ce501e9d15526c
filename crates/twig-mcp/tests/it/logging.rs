//! `logging/setLevel` of legacy clients that set a level without looking whether there is one.

use serde_json::json;

use crate::support::{Peer, error};

#[test]
fn logging_is_not_declared() {
    let reply = Peer::new().ask("initialize", json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(reply["result"]["capabilities"].get("logging"), None);
}

#[test]
fn every_level_is_obeyed() {
    let mut peer = Peer::new();
    for level in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        let reply = peer.ask("logging/setLevel", json!({"level": level}));
        assert_eq!(
            reply,
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            "{level}"
        );
    }
}

#[test]
fn what_is_no_level_is_refused() {
    let mut peer = Peer::new();
    for level in [json!("loud"), json!("INFO"), json!("")] {
        let (code, message) = error(&peer.ask("logging/setLevel", json!({"level": level})));
        assert_eq!(code, -32602, "{level}");
        assert!(
            message.starts_with("`level` must be one of `debug`, "),
            "{message}"
        );
    }
    for params in [json!({}), json!({"level": 3}), json!({"level": null})] {
        assert_eq!(
            error(&peer.ask("logging/setLevel", params)),
            (-32602, "`level` must be a string".to_owned())
        );
    }
}
