//! `prompts/list`: items, pages and cursors.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_core::World;
use twig_core::{Catalog, Library, Limits, ListingSettings};
use twig_mcp::Outbox;

use crate::support::{Peer, bodies, catalog, error, library, prompt, request, server_meta};

fn many(digest: u8, count: usize) -> Library {
    let prompts = (0..count).map(|at| prompt(&format!("p{at:03}"), Vec::new()));
    library("many", digest, prompts.collect())
}

fn paged(count: usize) -> Peer {
    let limits = Limits {
        page: 2,
        ..Limits::default()
    };
    Peer::with(vec![many(1, count)], limits)
}

fn names(reply: &Value) -> Vec<&str> {
    let prompts = reply["result"]["prompts"].as_array().unwrap();
    prompts
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect()
}

#[test]
fn items_carry_arguments_and_a_schema_and_no_nulls() {
    let reply = Peer::new().ask("prompts/list", json!({"cursor": null}));
    assert_eq!(
        reply["result"],
        json!({"prompts": [
            {
                "name": "lib:echo",
                "arguments": [{"name": "input", "required": false}],
                "inputSchema": {"type": "object", "properties": {"input": {"type": "string"}}},
            },
            {
                "name": "lib:gone",
                "arguments": [],
                "inputSchema": {"type": "object", "properties": {}},
            },
            {
                "name": "lib:panic",
                "arguments": [],
                "inputSchema": {"type": "object", "properties": {}},
            },
            {
                "name": "lib:review",
                "title": "Code review",
                "description": "Review code",
                "arguments": [
                    {"name": "input", "required": true},
                    {"name": "language", "description": "Programming language", "required": false},
                    {"name": "short", "required": false},
                ],
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "input": {"type": "string"},
                        "language": {"type": "string", "description": "Programming language",
                            "default": "rust", "enum": ["rust", "Ruby", "go"]},
                        "short": {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"},
                    },
                    "required": ["input"],
                },
            },
        ]})
    );
}

#[test]
fn the_modern_era_adds_how_long_a_page_may_be_kept() {
    let mut peer = Peer::new();
    let legacy = peer.ask("prompts/list", json!({}));
    let modern = peer.ask_modern("prompts/list", json!({}));
    let mut expected = legacy["result"].clone();
    expected["ttlMs"] = json!(5000);
    expected["cacheScope"] = json!("private");
    expected["resultType"] = json!("complete");
    expected["_meta"] = server_meta();
    assert_eq!(modern["result"], expected);
}

#[test]
fn nothing_to_list_is_an_empty_list() {
    let mut peer = Peer::with(Vec::new(), Limits::default());
    assert_eq!(
        peer.ask("prompts/list", json!({}))["result"],
        json!({"prompts": []})
    );
}

#[test]
fn pages_follow_one_another_to_the_end() {
    for (count, pages) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
        let mut peer = paged(count);
        let (mut cursor, mut heard, mut turns) = (Value::Null, Vec::new(), 0);
        loop {
            let reply = peer.ask("prompts/list", json!({"cursor": cursor}));
            heard.extend(names(&reply).into_iter().map(str::to_owned));
            turns += 1;
            match reply["result"].get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!((heard.len(), turns), (count, pages));
        assert!(heard.is_sorted());
    }
}

#[test]
fn a_listing_under_way_goes_on_when_the_catalog_changes() {
    let mut peer = paged(3);
    let first = peer.ask("prompts/list", json!({}));
    let cursor = first["result"]["nextCursor"].clone();
    peer.catalog = catalog(vec![many(2, 9)]).into();
    assert_eq!(
        names(&peer.ask("prompts/list", json!({}))),
        ["many:p000", "many:p001"]
    );

    let second = peer.ask("prompts/list", json!({"cursor": cursor}));
    assert_eq!(names(&second), ["many:p002"]);
    assert_eq!(second["result"].get("nextCursor"), None);
}

#[test]
fn a_listing_under_way_goes_on_when_a_prompt_is_hidden() {
    let mut peer = paged(3);
    let cursor = peer.ask("prompts/list", json!({}))["result"]["nextCursor"].clone();
    let mut settings = ListingSettings::default();
    settings.rules.hide = vec!["many:p000".into()];
    let hidden = Catalog::build([Arc::new(many(1, 3))]);
    peer.catalog = Arc::new(hidden.with_listing(&settings)).into();
    let again = peer.ask("prompts/list", json!({}));
    assert_eq!(names(&again), ["many:p001", "many:p002"]);
    let second = peer.ask("prompts/list", json!({"cursor": cursor}));
    assert_eq!(names(&second), ["many:p002"]);
}

#[test]
fn a_cursor_holds_for_another_copy_of_the_same_catalog() {
    let mut peer = paged(3);
    let cursor = peer.ask("prompts/list", json!({}))["result"]["nextCursor"].clone();
    let mut later = paged(3);
    let second = later.ask_modern("prompts/list", json!({"cursor": cursor}));
    assert_eq!(names(&second), ["many:p002"]);
}

#[test]
fn old_snapshots_are_forgotten_in_the_end() {
    let mut peer = paged(3);
    let cursor = peer.ask("prompts/list", json!({}))["result"]["nextCursor"].clone();
    let first = Arc::downgrade(&peer.catalog);
    for digest in 2..12 {
        peer.catalog = catalog(vec![many(digest, 3)]).into();
        peer.ask("prompts/list", json!({}));
    }
    assert!(first.upgrade().is_none());
    let reply = peer.ask("prompts/list", json!({"cursor": cursor}));
    assert_eq!(
        error(&reply),
        (
            -32602,
            "The cursor is not valid, or no longer: list again from the start".to_owned()
        )
    );
}

#[test]
fn a_snapshot_without_cursors_is_let_go_at_once() {
    let mut peer = paged(2);
    peer.ask("prompts/list", json!({}));
    let first = Arc::downgrade(&peer.catalog);
    peer.catalog = catalog(vec![many(2, 2)]).into();
    peer.ask("prompts/list", json!({}));
    assert!(first.upgrade().is_none());
}

#[test]
fn cursors_that_were_never_given_are_refused() {
    let mut peer = paged(5);
    let given = peer.ask("prompts/list", json!({}))["result"]["nextCursor"].clone();
    let given = given.as_str().unwrap();
    let (snapshot, _) = given.split_at(16);
    let mut forged: Vec<String> = ["00000000", "00000001", "00000006", "ffffffff"]
        .iter()
        .map(|offset| format!("{snapshot}{offset}"))
        .collect();
    forged.extend([
        String::new(),
        given.to_uppercase(),
        format!("{given}0"),
        "0".repeat(24),
        "é".repeat(12),
    ]);
    for cursor in forged.iter().filter(|cursor| *cursor != given) {
        let reply = peer.ask("prompts/list", json!({"cursor": cursor}));
        assert_eq!(error(&reply).0, -32602, "{cursor}");
    }
}

/// Keeps shared pages apart from what was copied.
#[derive(Default)]
struct Pieces {
    copied: Vec<u8>,
    shared: Vec<Arc<Vec<u8>>>,
}

impl Outbox for Pieces {
    fn bytes(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    fn shared(&mut self, page: &Arc<Vec<u8>>) {
        self.shared.push(Arc::clone(page));
    }

    fn message_end(&mut self) {
        self.copied.push(b'\n');
    }
}

#[test]
fn a_page_is_written_once_and_shared_by_all_connections() {
    let mut peer = Peer::new();
    let mut other = twig_mcp::Connection::new(Arc::clone(&peer.server));
    let templates = twig_core::template::Templates::default();
    let catalog = twig_core::Latest::from(Arc::clone(&peer.catalog));
    let world = World {
        catalog: &catalog,
        bodies: &bodies(),
        templates: &templates,
    };
    let mut out = Pieces::default();
    let message = request("a", "prompts/list", json!({}));
    peer.connection.receive(message.as_bytes(), world, &mut out);
    other.receive(message.as_bytes(), world, &mut out);
    assert!(Arc::ptr_eq(&out.shared[0], &out.shared[1]));
    assert_eq!(
        String::from_utf8(out.copied).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":}\n".repeat(2)
    );
}

proptest! {
    #[test]
    fn garbage_is_refused_as_a_cursor(cursor in "\\PC{0,30}|[0-9a-f]{24}") {
        let reply = paged(5).ask("prompts/list", json!({"cursor": cursor}));
        prop_assert_eq!(error(&reply).0, -32602);
    }
}
