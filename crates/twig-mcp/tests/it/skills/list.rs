//! `skills/list`: entries, pages and cursors.

use serde_json::{Value, json};
use twig_core::Limits;

use super::{manifest, peer, with_skills};
use crate::support::{Peer, error, server_meta};

fn uris(reply: &Value) -> Vec<&str> {
    let skills = reply["result"]["skills"].as_array().unwrap().iter();
    skills.map(|it| it["uri"].as_str().unwrap()).collect()
}

/// Every page of the list, by the URIs on it.
fn pages(peer: &mut Peer) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let reply = peer.ask("skills/list", params.clone());
        pages.push(uris(&reply).into_iter().map(str::to_owned).collect());
        let Some(cursor) = reply["result"].get("nextCursor") else {
            return pages;
        };
        params["cursor"] = cursor.clone();
    }
}

#[test]
fn entries_have_the_front_matter_and_every_file() {
    let mut peer = peer(&["pdf/SKILL.md", "pdf/references/forms.md", "pdf/run.py"]);
    let digest = |byte: &str| format!("sha256:{}", byte.repeat(32));
    let skills = json!([{
        "uri": "skill://team/pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Does pdf", "license": "MIT"},
        "resources": [
            {"uri": "skill://team/pdf/SKILL.md", "digest": digest("0c"), "size": 7},
            {"uri": "skill://team/pdf/references/forms.md", "digest": digest("17"), "size": 7},
            {"uri": "skill://team/pdf/run.py", "digest": digest("0a"), "size": 7},
        ],
    }]);
    let legacy = peer.ask("skills/list", json!({}));
    assert_eq!(legacy["result"], json!({"skills": skills}));
    let modern = peer.ask_modern("skills/list", json!({}));
    assert_eq!(
        modern["result"],
        json!({
            "skills": skills,
            "ttlMs": 5000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_meta(),
        })
    );
}

#[test]
fn a_server_without_skills_says_so() {
    let mut peer = Peer::new();
    let reply = peer.ask("skills/list", json!({}));
    assert_eq!(reply["result"], json!({"skills": []}));
    for cursor in ["", "x", "00000000000000003000000001"] {
        let reply = peer.ask("skills/list", json!({"cursor": cursor}));
        assert_eq!(error(&reply).0, -32602);
    }
}

#[test]
fn a_skill_with_too_much_in_it_has_no_list() {
    let mut library = with_skills("team", &["big/SKILL.md", "big/a.md"]);
    let mut skill = twig_core::Skill::clone(&library.skills[0]);
    skill.is_unlisted = true;
    library.skills = vec![skill.into()];
    let mut peer = Peer::with(vec![library], Limits::default());
    let entry = peer.ask("skills/list", json!({}))["result"]["skills"][0].clone();
    assert_eq!(entry["resources"], "dynamic");
    let uri = json!({"uri": "skill://team/big/SKILL.md"});
    assert_eq!(peer.ask("skills/get", uri)["result"]["skill"], entry);
    let found = super::walk(&mut peer, "skill://team/big");
    assert_eq!(
        found,
        ["skill://team/big/SKILL.md", "skill://team/big/a.md"]
    );
}

#[test]
fn a_skill_inside_of_another_is_listed_and_is_part_of_it() {
    let mut peer = peer(&["a/SKILL.md", "a/b/SKILL.md", "a/b/x.md", "c/SKILL.md"]);
    let reply = peer.ask("skills/list", json!({}));
    let expected = [
        "skill://team/a/SKILL.md",
        "skill://team/a/b/SKILL.md",
        "skill://team/c/SKILL.md",
    ];
    assert_eq!(uris(&reply), expected);
    let outer = manifest(&reply["result"]["skills"][0]);
    assert!(outer.contains(&"skill://team/a/b/x.md".to_owned()));
    assert_eq!(manifest(&reply["result"]["skills"][1]).len(), 2);
}

/// A peer with a skill in each of these folders.
fn paged(folders: &[&str], limits: Limits) -> Peer {
    let paths = folders.iter().map(|folder| format!("{folder}/SKILL.md"));
    let paths: Vec<String> = paths.collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    Peer::with(vec![with_skills("team", &paths)], limits)
}

#[test]
fn a_page_has_so_many_skills_and_no_more_bytes_than_a_message() {
    let folders = ["a", "b", "c", "d", "e", "f", "g"];
    let everything = pages(&mut paged(&folders, Limits::default()));
    assert_eq!(everything.len(), 1);
    for (page, message, expected) in [
        (3, 4 << 20, vec![3, 3, 1]),
        (7, 4 << 20, vec![7]),
        // An entry is never split: where not even one has room, it is alone on its page.
        (100, 1_000, vec![1; 7]),
        // Each takes about 480 bytes, by a reckoning that is never too small.
        (100, (16 << 10) + 1_200, vec![2, 2, 2, 1]),
    ] {
        let limits = Limits {
            page,
            message,
            ..Limits::default()
        };
        let mut peer = paged(&folders, limits);
        let found = pages(&mut peer);
        let counts: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(counts, expected, "{page} {message}");
        assert_eq!(found.concat(), everything.concat());
    }
}

#[test]
fn a_cursor_leads_to_the_start_of_a_page_of_its_own_list() {
    let limits = Limits {
        page: 2,
        ..Limits::default()
    };
    let mut peer = paged(&["a", "b", "c", "d", "e"], limits);
    let first = peer.ask("skills/list", json!({}));
    let cursor = first["result"]["nextCursor"].as_str().unwrap().to_owned();
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let reply = peer.ask(method, json!({"cursor": cursor}));
        assert_eq!(error(&reply).0, -32602, "{method}");
    }
    let reply = peer.ask(
        "resources/directory/read",
        json!({"uri": "skill://team/a", "cursor": cursor}),
    );
    assert_eq!(error(&reply).0, -32602);
    for (from, is_good) in [("00000002", true), ("00000001", false), ("00000005", false)] {
        let cursor = format!("{}{from}", &cursor[..cursor.len() - 8]);
        let reply = peer.ask("skills/list", json!({"cursor": cursor}));
        assert_eq!(reply.get("result").is_some(), is_good, "{from}");
    }
    // One skill more: who was reading the list goes on with the one that was begun.
    let mut next = with_skills("team", &["0/SKILL.md", "a/SKILL.md"]);
    next.state = 9;
    peer.publish(vec![next]);
    let reply = peer.ask("skills/list", json!({"cursor": cursor}));
    assert_eq!(
        uris(&reply),
        ["skill://team/c/SKILL.md", "skill://team/d/SKILL.md"]
    );
}

#[test]
fn a_skill_whose_files_are_not_its_own_is_not_served_as_one() {
    let mut other = with_skills("other", &["x/SKILL.md"]);
    other.documents[0].uri = "skill://team/pdf/run.py".into();
    other.skills.clear();
    let team = with_skills("team", &["pdf/SKILL.md", "pdf/run.py", "ok/SKILL.md"]);
    let mut peer = Peer::with(vec![other, team], Limits::default());
    let reply = peer.ask("skills/list", json!({}));
    assert_eq!(uris(&reply), ["skill://team/ok/SKILL.md"]);
    let codes = peer.catalog.problems().map(|problem| problem.code.as_str());
    assert!(codes.collect::<Vec<_>>().contains(&"shadowed-skill"));
}
