//! `resources/directory/read`: what is right inside of a folder.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_core::Limits;
use twig_mcp::Connection;
use twig_mcp::http::{self, Headers, HttpAnswer};

use super::{all, manifest, peer, walk, with_skills};
use crate::support::{Peer, error, modern, request, server_meta, with_documents};

fn children(peer: &mut Peer, uri: &str) -> Vec<String> {
    let uris = all(peer, uri).into_iter();
    uris.map(|it| it["uri"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_folder_has_its_files_and_folders() {
    let mut peer = peer(&[
        "pdf/SKILL.md",
        "pdf/a-b/x.md",
        "pdf/a/deep/er/y.md",
        "pdf/a b/z.py",
    ]);
    let resources = json!([
        {"uri": "skill://team/pdf/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown", "size": 7},
        {"uri": "skill://team/pdf/a", "name": "a", "mimeType": "inode/directory"},
        {"uri": "skill://team/pdf/a%20b", "name": "a b", "mimeType": "inode/directory"},
        {"uri": "skill://team/pdf/a-b", "name": "a-b", "mimeType": "inode/directory"},
    ]);
    let uri = json!({"uri": "skill://team/pdf"});
    let legacy = peer.ask("resources/directory/read", uri.clone());
    assert_eq!(legacy["result"], json!({"resources": resources}));
    let modern = peer.ask_modern("resources/directory/read", uri);
    assert_eq!(
        modern["result"],
        json!({
            "resources": resources,
            "ttlMs": 5000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_meta(),
        })
    );
    for (folder, expected) in [
        ("skill://team", vec!["skill://team/pdf"]),
        ("skill://team/pdf/a", vec!["skill://team/pdf/a/deep"]),
        (
            "skill://team/pdf/a/deep/er",
            vec!["skill://team/pdf/a/deep/er/y.md"],
        ),
        (
            "skill://team/pdf/a%20b",
            vec!["skill://team/pdf/a%20b/z.py"],
        ),
    ] {
        assert_eq!(children(&mut peer, folder), expected, "{folder}");
    }
}

#[test]
fn what_is_no_folder_is_said_to_be_none() {
    let mut peer = peer(&["pdf/SKILL.md", "pdf/scripts/run.py"]);
    for (uri, sentence, near) in [
        (
            "skill://team/pdf/SKILL.md",
            "skill://team/pdf/SKILL.md is not a directory: read it with `resources/read`",
            None,
        ),
        (
            "skill://team/pdf/",
            "skill://team/pdf/ is no directory that is served here",
            Some("skill://team/pdf"),
        ),
        (
            "skill://team/pdf/script",
            "skill://team/pdf/script is no directory that is served here",
            Some("skill://team/pdf/scripts"),
        ),
        (
            "skill://",
            "skill:// is no directory that is served here",
            None,
        ),
        (
            "skill:/",
            "skill:/ is no directory that is served here",
            None,
        ),
        ("", " is no directory that is served here", None),
    ] {
        for reply in [
            peer.ask("resources/directory/read", json!({"uri": uri})),
            peer.ask_modern("resources/directory/read", json!({"uri": uri})),
        ] {
            assert_eq!(error(&reply), (-32602, sentence.to_owned()));
            let data = &reply["error"]["data"];
            assert_eq!(data["uri"], uri);
            if let Some(near) = near {
                assert_eq!(data["suggestions"][0], near);
            }
        }
    }
}

#[test]
fn folders_of_other_documents_are_read_too() {
    let library = with_documents(&[("a.md", 1), ("a/b.md", 1), ("c/d/e.md", 1)]);
    let mut peer = Peer::with(vec![library], Limits::default());
    assert_eq!(children(&mut peer, "a://c"), ["a://c/d"]);
    assert_eq!(children(&mut peer, "a://c/d"), ["a://c/d/e"]);
    // What is a document is read as one.
    let reply = peer.ask("resources/directory/read", json!({"uri": "a://a"}));
    assert_eq!(error(&reply).0, -32602);
}

#[test]
fn nobody_else_puts_files_into_a_skill() {
    let team = with_skills("team", &["pdf/SKILL.md", "pdf/a/x.md"]);
    let mut other = with_skills("other", &["x/SKILL.md", "y/SKILL.md"]);
    other.skills.clear();
    other.documents[0].uri = "skill://team/pdf/a/evil.md".into();
    other.documents[1].uri = "skill://team/pdf/evil/y.md".into();
    let mut peer = Peer::with(vec![other, team], Limits::default());
    let expected = ["skill://team/pdf/SKILL.md", "skill://team/pdf/a/x.md"];
    assert_eq!(walk(&mut peer, "skill://team/pdf"), expected);
    let reply = peer.ask(
        "resources/directory/read",
        json!({"uri": "skill://team/pdf/evil"}),
    );
    assert_eq!(error(&reply).0, -32602);
}

#[test]
fn what_a_skill_does_not_list_is_not_in_its_folder() {
    // A skill inside of another, under a name that is not its folder's: its URIs are its own.
    let mut team = with_skills("team", &["a/SKILL.md", "a/b/SKILL.md", "a/x/SKILL.md"]);
    let mut outer = twig_core::Skill::clone(&team.skills[0]);
    outer.files.retain(|file| !file.uri.contains("/x/"));
    team.skills[0] = outer.into();
    let mut peer = Peer::with(vec![team], Limits::default());
    let expected = ["skill://team/a/SKILL.md", "skill://team/a/b/SKILL.md"];
    assert_eq!(walk(&mut peer, "skill://team/a"), expected);
    let expected = ["skill://team/a/x/SKILL.md"];
    assert_eq!(walk(&mut peer, "skill://team/a/x"), expected);
}

#[test]
fn a_long_folder_comes_in_pages_of_its_snapshot() {
    let limits = Limits {
        page: 2,
        ..Limits::default()
    };
    let paths = [
        "s/SKILL.md",
        "s/a",
        "s/b",
        "s/c/x",
        "s/d",
        "t/SKILL.md",
        "t/a",
        "t/b",
    ];
    let mut peer = Peer::with(vec![with_skills("team", &paths)], limits);
    let folder = json!({"uri": "skill://team/s"});
    let first = peer.ask("resources/directory/read", folder.clone());
    assert_eq!(first["result"]["resources"].as_array().unwrap().len(), 2);
    let cursor = first["result"]["nextCursor"].clone();
    let mut next = folder.clone();
    next["cursor"] = cursor.clone();
    // A cursor belongs to its folder, and is no list's.
    for reply in [
        peer.ask(
            "resources/directory/read",
            json!({"uri": "skill://team/t", "cursor": cursor}),
        ),
        peer.ask("resources/list", json!({"cursor": cursor})),
        peer.ask("skills/list", json!({"cursor": cursor})),
    ] {
        assert_eq!(error(&reply).0, -32602);
    }
    // A file less: who is reading goes on with the folder as it was.
    let mut library = with_skills("team", &paths[..2]);
    library.state = 2;
    peer.publish(vec![library]);
    let reply = peer.ask("resources/directory/read", next.clone());
    assert_eq!(reply["result"]["resources"][0]["uri"], "skill://team/s/b");
    let now = peer.ask("resources/directory/read", folder);
    assert_eq!(now["result"].get("nextCursor"), None);
    let text = next["cursor"].as_str().unwrap();
    next["cursor"] = format!("{}000000ff", &text[..text.len() - 8]).into();
    let reply = peer.ask("resources/directory/read", next);
    assert_eq!(error(&reply).0, -32602);
}

#[test]
fn a_page_of_a_folder_is_no_longer_than_a_message() {
    let names: Vec<String> = (0..40)
        .map(|at| format!("s/{at:02}{}", "x".repeat(100)))
        .collect();
    let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
    paths.push("s/SKILL.md");
    let limits = Limits {
        message: 20_000,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![with_skills("team", &paths)], limits);
    let reply = peer.ask("resources/directory/read", json!({"uri": "skill://team/s"}));
    assert!(reply.to_string().len() < 20_000);
    assert!(reply["result"].get("nextCursor").is_some());
    assert_eq!(all(&mut peer, "skill://team/s").len(), 41);
}

#[test]
fn over_http_a_name_in_the_headers_has_to_be_the_uri() {
    let peer = peer(&["pdf/SKILL.md"]);
    for method in ["skills/get", "resources/directory/read"] {
        let uri = match method {
            "skills/get" => "skill://team/pdf/SKILL.md",
            _ => "skill://team/pdf",
        };
        for (name, status) in [(None, 200), (Some(uri), 200), (Some("skill://team"), 400)] {
            let headers = Headers {
                version: Some("2026-07-28"),
                method: Some(method),
                name,
                accept: Some("application/json, text/event-stream"),
                content_type: Some("application/json"),
                ..Headers::default()
            };
            let params = modern(json!({"uri": uri}), json!({}));
            assert_eq!(post(&peer, &headers, &request(7, method, params)), status);
        }
    }
}

fn post(peer: &Peer, headers: &Headers<'_>, body: &str) -> u16 {
    let mut connection = Connection::new(Arc::clone(&peer.server));
    match http::post(&peer.server, headers, body.as_bytes()) {
        Err(reply) => reply.status,
        Ok(exchange) => match exchange.answer(&mut connection, peer.world()) {
            HttpAnswer::Reply(reply) | HttpAnswer::Session(reply) => reply.status,
            other => panic!("{other:?}"),
        },
    }
}

proptest! {
    #[test]
    fn whoever_walks_a_skill_finds_the_files_of_its_list(
        files in proptest::collection::btree_set("[a-c!. -]([/]?[a-c.0-]){0,5}", 0..24),
        page in 1_usize..5,
    ) {
        // A path is a file or a folder, never both, as on a disk; and no part is a dot.
        let mut paths = BTreeSet::from(["s/SKILL.md".to_owned()]);
        for file in files {
            let path = format!("s/{file}");
            let is_sound = path.split('/').all(|part| !part.chars().all(|c| c == '.' || c == ' '));
            let clashes = paths.iter().any(|known: &String| {
                known.starts_with(&format!("{path}/")) || path.starts_with(&format!("{known}/"))
            });
            if is_sound && !clashes && twig_core::RelativePath::parse(&path).is_ok() {
                paths.insert(path);
            }
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let limits = Limits { page, ..Limits::default() };
        let mut peer = Peer::with(vec![with_skills("team", &paths)], limits);
        let entry: Value = peer.ask("skills/get", json!({"uri": "skill://team/s/SKILL.md"}));
        let expected = manifest(&entry["result"]["skill"]);
        prop_assert_eq!(expected.len(), paths.len());
        prop_assert_eq!(walk(&mut peer, "skill://team/s"), expected);
    }
}
