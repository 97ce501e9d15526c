//! `skills/get`: one entry by its URI.

use serde_json::json;

use super::peer;
use crate::support::{error, server_meta};

#[test]
fn an_entry_is_the_one_of_the_list() {
    let mut peer = peer(&["pdf/SKILL.md", "pdf/run.py"]);
    let listed = peer.ask("skills/list", json!({}))["result"]["skills"][0].clone();
    let uri = json!({"uri": "skill://team/pdf/SKILL.md", "cursor": "x"});
    let legacy = peer.ask("skills/get", uri.clone());
    assert_eq!(legacy["result"], json!({"skill": listed}));
    let modern = peer.ask_modern("skills/get", uri);
    assert_eq!(
        modern["result"],
        json!({
            "skill": listed,
            "ttlMs": 5000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_meta(),
        })
    );
}

#[test]
fn what_is_no_skill_is_named_with_what_is_near() {
    let mut peer = peer(&["pdf/SKILL.md", "pdf/run.py"]);
    for (uri, near) in [
        ("skill://team/pdf", vec!["skill://team/pdf/SKILL.md"]),
        ("skill://team/pdf/", vec!["skill://team/pdf/SKILL.md"]),
        (
            "skill://team/pdff/SKILL.md",
            vec!["skill://team/pdf/SKILL.md"],
        ),
        ("x", vec![]),
        ("", vec![]),
    ] {
        for reply in [
            peer.ask("skills/get", json!({"uri": uri})),
            peer.ask_modern("skills/get", json!({"uri": uri})),
        ] {
            assert_eq!(error(&reply), (-32602, format!("Skill not found: {uri}")));
            assert_eq!(reply["error"]["data"]["uri"], uri);
            assert_eq!(reply["error"]["data"]["suggestions"], json!(near), "{uri}");
        }
    }
    let reply = peer.ask("skills/get", json!({"uri": "skill://team/pdf/run.py"}));
    assert_eq!(error(&reply).0, -32602);
}

#[test]
fn params_that_make_no_sense_are_refused() {
    let mut peer = peer(&["pdf/SKILL.md"]);
    let long = "x".repeat(100_000);
    for method in ["skills/get", "resources/directory/read"] {
        for params in [
            json!({}),
            json!({"uri": null}),
            json!({"uri": 3}),
            json!({"uri": ["skill://team/pdf"]}),
            json!({"uri": {}}),
            json!({"uri": long}),
            json!({"uri": format!("skill://{long}/SKILL.md")}),
            json!({"uri": format!("skill://team{}", "/x".repeat(1_000_000))}),
            json!({"uri": "skill://team/pdf/../pdf/SKILL.md"}),
            json!({"uri": "SKILL://team/pdf/SKILL.md"}),
        ] {
            let reply = peer.ask(method, params);
            let (code, message) = error(&reply);
            assert_eq!(code, -32602, "{method} {message}");
            assert!(reply.to_string().len() < 8_000, "{method}");
        }
    }
    for params in [
        json!({"cursor": 3}),
        json!({"cursor": long}),
        json!({"cursor": {}}),
    ] {
        assert_eq!(error(&peer.ask("skills/list", params.clone())).0, -32602);
        let mut params = params;
        params["uri"] = "skill://team/pdf".into();
        let reply = peer.ask("resources/directory/read", params);
        assert_eq!(error(&reply).0, -32602);
    }
}
