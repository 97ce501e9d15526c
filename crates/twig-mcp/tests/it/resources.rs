//! Documents as resources: lists, reading, subscriptions.

use serde_json::{Value, json};
use twig_core::Limits;

use crate::support::{Peer, error, modern, request, with_documents};

const ID: &str = "io.modelcontextprotocol/subscriptionId";
const UPDATED: &str = "notifications/resources/updated";

fn peer(paths: &[&str]) -> Peer {
    Peer::with(vec![at(paths, 1)], Limits::default())
}

fn at(paths: &[&str], version: u64) -> twig_core::Library {
    let paths: Vec<(&str, u64)> = paths.iter().map(|path| (*path, version)).collect();
    with_documents(&paths)
}

fn listen(peer: &mut Peer, id: u64, uris: &[&str]) -> Value {
    let wanted = json!({"resourceSubscriptions": uris, "resourcesListChanged": true});
    let params = modern(json!({"notifications": wanted}), json!({}));
    let told = peer.one(request(id, "subscriptions/listen", params));
    told["params"]["notifications"]["resourceSubscriptions"].clone()
}

fn methods(heard: &[Value]) -> Vec<&str> {
    heard
        .iter()
        .filter_map(|it| it["method"].as_str())
        .collect()
}

#[test]
fn lists_without_items_take_no_cursor() {
    let mut peer = Peer::new();
    for (method, items) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(
            peer.ask(method, json!({"cursor": null}))["result"],
            json!({items: []})
        );
        let modern = peer.ask_modern(method, json!({}));
        assert_eq!(modern["result"]["ttlMs"], 5000);
        assert_eq!(modern["result"]["cacheScope"], "private");
        for cursor in ["", "x", "0000000000000000100000001"] {
            assert_eq!(
                error(&peer.ask(method, json!({"cursor": cursor}))).0,
                -32602
            );
        }
    }
}

#[test]
fn a_cursor_belongs_to_its_list() {
    let limits = Limits {
        page: 2,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![at(&["a.md", "b.md", "c.md"], 1)], limits);
    let first = peer.ask("resources/list", json!({}))["result"].clone();
    assert_eq!(first["resources"].as_array().map(Vec::len), Some(2));
    let cursor = json!({"cursor": first["nextCursor"]});
    let rest = peer.ask("resources/list", cursor.clone())["result"].clone();
    assert_eq!(rest["resources"][0]["uri"], "a://c");
    assert_eq!(rest.get("nextCursor"), None);
    for other in ["prompts/list", "resources/templates/list"] {
        assert_eq!(error(&peer.ask(other, cursor.clone())).0, -32602);
    }
    // An edit leaves the cursor good, and so does a document more.
    for next in [
        at(&["a.md", "b.md", "c.md"], 2),
        at(&["0.md", "a.md", "b.md", "c.md"], 2),
    ] {
        peer.publish(vec![next]);
        let rest = peer.ask("resources/list", cursor.clone());
        assert_eq!(rest["result"]["resources"][0]["uri"], "a://c");
    }
}

#[test]
fn a_resource_that_is_not_there_is_named() {
    let mut peer = peer(&["patterns/repository.md"]);
    let near = "a://patterns/repositry";
    for reply in [
        peer.ask("resources/read", json!({"uri": near})),
        peer.ask_modern("resources/read", json!({"uri": near})),
        peer.ask("resources/subscribe", json!({"uri": near})),
    ] {
        assert_eq!(
            error(&reply),
            (-32602, format!("Resource not found: {near}"))
        );
        assert_eq!(reply["error"]["data"]["uri"], near);
        assert_eq!(
            reply["error"]["data"]["suggestions"],
            json!(["a://patterns/repository"])
        );
    }
    let reply = peer.ask("resources/unsubscribe", json!({"uri": near}));
    assert_eq!(reply["result"], json!({}));
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let reply = peer.ask_modern(method, json!({"uri": "a://patterns/repository"}));
        assert_eq!(error(&reply).0, -32601);
    }
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let mut peer = peer(&["gone.md", "large.md", "locked.md", "fine.md"]);
    for (name, expected) in [
        ("gone", (-32602, "Resource not found: a://gone")),
        (
            "large",
            (
                -32603,
                "Resource a://large is 99 bytes long; the limit is 16777216",
            ),
        ),
        (
            "locked",
            (
                -32602,
                "Resource a://locked cannot be read: permission denied",
            ),
        ),
    ] {
        let reply = peer.ask("resources/read", json!({"uri": format!("a://{name}")}));
        let (code, message) = expected;
        assert_eq!(error(&reply), (code, message.to_owned()));
        assert_eq!(reply["error"]["data"]["uri"], format!("a://{name}"));
    }
    let reply = peer.ask("resources/read", json!({"uri": "a://fine"}));
    assert_eq!(
        reply["result"],
        json!({"contents": [{"uri": "a://fine", "mimeType": "text/markdown", "text": "fine: {{input}}"}]})
    );
}

#[test]
fn those_who_watch_a_document_hear_of_it_once() {
    let mut peer = peer(&["a.md", "b.md", "adr/001-x.md"]);
    peer.initialize();
    peer.ask("resources/subscribe", json!({"uri": "a://a"}));
    peer.ask("resources/subscribe", json!({"uri": "a://a"}));
    assert_eq!(
        listen(&mut peer, 7, &["a://adr/001", "a://none", "a://b", "a://b"]),
        json!(["a://adr/001", "a://b"])
    );
    assert_eq!(peer.catch_up(), [] as [Value; 0]);
    let next = with_documents(&[("a.md", 2), ("b.md", 1), ("adr/001-x.md", 3)]);
    let expected = [
        json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": "a://a"}}),
        json!({"jsonrpc": "2.0", "method": UPDATED,
            "params": {"uri": "a://adr/001", "_meta": {ID: 7}}}),
    ];
    assert_eq!(peer.publish(vec![next]), expected);
    assert_eq!(peer.catch_up(), [] as [Value; 0]);
    // What goes away and what comes back is told, too, beside the list.
    let heard = peer.publish(vec![with_documents(&[("b.md", 1), ("adr/001-x.md", 3)])]);
    let lists = "notifications/resources/list_changed";
    assert_eq!(methods(&heard), [lists, UPDATED, lists]);
    let heard = peer.publish(vec![with_documents(&[
        ("a.md", 4),
        ("b.md", 1),
        ("adr/001-x.md", 3),
    ])]);
    assert_eq!(methods(&heard), [lists, UPDATED, lists]);
    peer.ask("resources/unsubscribe", json!({"uri": "a://a"}));
    let heard = peer.publish(vec![with_documents(&[
        ("a.md", 5),
        ("b.md", 1),
        ("adr/001-x.md", 3),
    ])]);
    assert_eq!(heard, [] as [Value; 0]);
}

#[test]
fn changes_that_nobody_was_told_of_become_one_announcement() {
    let mut peer = peer(&["a.md"]);
    listen(&mut peer, 1, &["a://a"]);
    for version in 2..10 {
        let next = twig_core::Catalog::build([std::sync::Arc::new(at(&["a.md"], version))]);
        peer.catalog = std::sync::Arc::new(next.after(&peer.catalog)).into();
    }
    assert_eq!(methods(&peer.catch_up()), [UPDATED]);
    // There and back again is no change of what is watched, but one of the list.
    for paths in [&["a.md", "b.md"][..], &["a.md"]] {
        let next = twig_core::Catalog::build([std::sync::Arc::new(at(paths, 9))]);
        peer.catalog = std::sync::Arc::new(next.after(&peer.catalog)).into();
    }
    assert_eq!(
        methods(&peer.catch_up()),
        ["notifications/resources/list_changed"]
    );
}

#[test]
fn watched_documents_are_limited() {
    let limits = Limits {
        subscriptions: 2,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![at(&["a.md", "b.md", "c.md"], 1)], limits);
    peer.initialize();
    for uri in ["a://a", "a://b", "a://a"] {
        let reply = peer.ask("resources/subscribe", json!({"uri": uri}));
        assert_eq!(reply["result"], json!({}));
    }
    let reply = peer.ask("resources/subscribe", json!({"uri": "a://c"}));
    assert_eq!(error(&reply).0, -32603);
    peer.ask("resources/unsubscribe", json!({"uri": "a://a"}));
    let reply = peer.ask("resources/subscribe", json!({"uri": "a://c"}));
    assert_eq!(reply["result"], json!({}));
    let honoured = listen(&mut peer, 1, &["a://c", "a://b", "a://a"]);
    assert_eq!(honoured, json!(["a://c", "a://b"]));
}
