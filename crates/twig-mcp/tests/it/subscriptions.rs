//! Notifications: unasked to legacy peers, on subscriptions to modern ones.

use serde_json::{Value, json};
use twig_core::Limits;

use crate::support::{Peer, error, modern, request, sample};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(peer: &mut Peer, id: impl Into<Value>, notifications: Value) -> Value {
    let params = modern(json!({"notifications": notifications}), json!({}));
    peer.one(request(id, "subscriptions/listen", params))
}

fn changed(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed",
        "params": {"_meta": {ID: id.into()}}})
}

fn legacy_changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})
}

fn cancel(peer: &mut Peer, id: impl Into<Value>) {
    let params = json!({"requestId": id.into(), "reason": "done"});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(peer.raw(message.to_string()), "");
}

#[test]
fn what_is_honoured_is_acknowledged_first() {
    let mut peer = Peer::new();
    let wanted = json!({"promptsListChanged": true, "toolsListChanged": true,
        "resourcesListChanged": false, "resourceSubscriptions": ["a://b"], "unheardOf": true});
    assert_eq!(
        listen(&mut peer, "listen:0", wanted),
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {ID: "listen:0"},
            "notifications": {"promptsListChanged": true, "toolsListChanged": true,
                "resourceSubscriptions": []},
        }})
    );
    assert_eq!(
        listen(&mut peer, 5, json!({}))["params"]["notifications"],
        json!({})
    );
}

#[test]
fn only_those_who_asked_hear_that_the_list_changed() {
    let mut peer = Peer::new();
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
    listen(&mut peer, 1, json!({"promptsListChanged": true}));
    listen(
        &mut peer,
        2,
        json!({"promptsListChanged": false, "toolsListChanged": true}),
    );
    listen(&mut peer, "1", json!({"promptsListChanged": true}));
    assert_eq!(peer.prompts_changed(), [changed(1), changed("1")]);
}

#[test]
fn a_legacy_peer_hears_it_once_it_has_initialized() {
    let mut peer = Peer::new();
    peer.ask("prompts/list", json!({}));
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
    peer.initialize();
    assert_eq!(peer.prompts_changed(), [legacy_changed()]);
    listen(&mut peer, 1, json!({"promptsListChanged": true}));
    assert_eq!(peer.prompts_changed(), [legacy_changed(), changed(1)]);
}

#[test]
fn an_initialize_that_failed_announces_nothing() {
    let mut peer = Peer::new();
    peer.ask("initialize", json!({}));
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
}

#[test]
fn a_cancelled_subscription_is_silent() {
    let mut peer = Peer::new();
    listen(&mut peer, "a/b", json!({"promptsListChanged": true}));
    cancel(&mut peer, "other");
    cancel(&mut peer, 1);
    assert_eq!(peer.prompts_changed().len(), 1);
    peer.raw(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\/b"}}"#,
    );
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
    assert_eq!(peer.close(), [] as [Value; 0]);
}

#[test]
fn an_id_that_is_used_again_leaves_the_older_subscription_open() {
    let mut peer = Peer::new();
    for _ in 0..2 {
        listen(&mut peer, 1, json!({"promptsListChanged": true}));
    }
    assert_eq!(peer.prompts_changed(), [changed(1), changed(1)]);
    cancel(&mut peer, 1);
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
}

#[test]
fn the_end_completes_every_subscription() {
    let mut peer = Peer::new();
    listen(&mut peer, 1, json!({"promptsListChanged": true}));
    listen(&mut peer, "x", json!({}));
    let completed = |id: Value| {
        json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": {
            ID: id,
            "io.modelcontextprotocol/serverInfo":
                {"name": "twig", "title": "Twig", "version": "1.2.3"},
        }}})
    };
    assert_eq!(peer.close(), [completed(json!(1)), completed(json!("x"))]);
    assert_eq!(peer.close(), [] as [Value; 0]);
    assert_eq!(peer.prompts_changed(), [] as [Value; 0]);
}

#[test]
fn open_subscriptions_are_limited() {
    let limits = Limits {
        subscriptions: 2,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![sample()], limits);
    listen(&mut peer, 1, json!({}));
    listen(&mut peer, 2, json!({}));
    let reply = listen(&mut peer, 3, json!({}));
    assert_eq!(
        error(&reply),
        (
            -32603,
            "The limit of 2 open subscriptions is reached: end one first".to_owned()
        )
    );
    cancel(&mut peer, 1);
    assert!(listen(&mut peer, 3, json!({})).get("error").is_none());
}

#[test]
fn the_id_of_a_subscription_is_limited_because_it_is_kept() {
    let mut peer = Peer::new();
    assert!(
        listen(&mut peer, "x".repeat(1022), json!({}))
            .get("error")
            .is_none()
    );
    let reply = listen(&mut peer, "x".repeat(1023), json!({}));
    assert_eq!(error(&reply).0, -32600);
}

#[test]
fn malformed_wishes_are_refused() {
    let mut peer = Peer::new();
    for wish in [
        json!(null),
        json!([]),
        json!({"promptsListChanged": "yes"}),
        json!({"resourceSubscriptions": "x"}),
        json!({"resourceSubscriptions": [1]}),
    ] {
        assert_eq!(error(&listen(&mut peer, 1, wish)).0, -32602);
    }
    assert_eq!(peer.close(), [] as [Value; 0]);
}
