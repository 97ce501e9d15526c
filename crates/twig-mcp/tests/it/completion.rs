//! `completion/complete`.

use serde_json::{Value, json};
use twig_core::{Argument, Limits};

use crate::support::{Peer, argument, error, library, prompt, server_meta, with_documents};

fn complete(peer: &mut Peer, name: &str, argument: &str, value: &str) -> Value {
    let params = json!({
        "ref": {"type": "ref/prompt", "name": name},
        "argument": {"name": argument, "value": value},
        "context": {"arguments": {"a": "b"}},
    });
    peer.ask("completion/complete", params)
}

#[test]
fn choices_are_offered_by_prefix_whatever_their_case() {
    let mut peer = Peer::new();
    for (value, expected) in [
        ("", json!(["rust", "Ruby", "go"])),
        ("RU", json!(["rust", "Ruby"])),
        ("rub", json!(["Ruby"])),
        ("x", json!([])),
    ] {
        let reply = complete(&mut peer, "lib:review", "language", value);
        let total = expected.as_array().unwrap().len();
        assert_eq!(
            reply["result"],
            json!({"completion": {"values": expected, "total": total, "hasMore": false}})
        );
    }
}

#[test]
fn arguments_without_choices_and_unknown_ones_have_no_completions() {
    let mut peer = Peer::new();
    let nothing = json!({"completion": {"values": [], "total": 0, "hasMore": false}});
    for name in ["input", "unheard_of"] {
        assert_eq!(complete(&mut peer, "review", name, "")["result"], nothing);
    }
    let params = json!({"ref": {"type": "ref/prompt", "name": "echo"},
        "argument": {"name": "input", "value": ""}});
    let mut expected = nothing;
    expected["resultType"] = json!("complete");
    expected["_meta"] = server_meta();
    assert_eq!(
        peer.ask_modern("completion/complete", params)["result"],
        expected
    );
}

#[test]
fn no_more_values_are_offered_than_the_limit() {
    let choices = |count: usize| (0..count).map(|at| format!("c{at}").into()).collect();
    for (count, shown, more) in [(3, 3, false), (4, 3, true)] {
        let argument = Argument {
            choices: choices(count),
            ..argument("a")
        };
        let limits = Limits {
            completions: 3,
            ..Limits::default()
        };
        let library = library("l", 1, vec![prompt("p", vec![argument])]);
        let reply = complete(&mut Peer::with(vec![library], limits), "p", "a", "C");
        let completion = &reply["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), shown);
        assert_eq!(completion["total"], count);
        assert_eq!(completion["hasMore"], more);
    }
}

#[test]
fn unknown_prompts_and_references_are_refused() {
    let mut peer = Peer::new();
    let reply = complete(&mut peer, "lib:nope", "a", "");
    assert_eq!(
        error(&reply),
        (-32602, "Prompt not found: lib:nope".to_owned())
    );
    for reference in [
        json!({"type": "ref/other"}),
        json!({"type": "ref/prompt"}),
        json!({}),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "a", "value": ""}});
        assert_eq!(error(&peer.ask("completion/complete", params)).0, -32602);
    }
}

#[test]
fn variables_of_a_template_are_completed_from_the_documents() {
    let paths = [
        ("patterns/Unit of work.md", 1),
        ("patterns/unity.md", 1),
        ("patterns/repository.md", 1),
        ("adr/unit.md", 1),
        ("overview.md", 1),
        ("deep/er/unit.md", 1),
    ];
    let limits = Limits {
        completions: 2,
        ..Limits::default()
    };
    let mut peer = Peer::with(vec![with_documents(&paths)], limits);
    let mut complete = |uri: &str, name: &str, value: &str, given: Value| {
        let params = json!({"ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": name, "value": value}, "context": {"arguments": given}});
        peer.ask("completion/complete", params)
    };
    let template = "a://{category}/{name}";
    for (name, value, given, values, total) in [
        ("category", "", json!({}), json!(["adr", "patterns"]), 2),
        ("category", "P", json!(null), json!(["patterns"]), 1),
        ("category", "", json!({"name": "unit"}), json!(["adr"]), 1),
        (
            "name",
            "UNIT",
            json!({"category": "patterns"}),
            json!(["Unit of work", "unity"]),
            2,
        ),
        (
            "name",
            "unit",
            json!({}),
            json!(["Unit of work", "unit"]),
            3,
        ),
        ("name", "", json!({"category": "none"}), json!([]), 0),
        ("unheard_of", "", json!({}), json!([]), 0),
    ] {
        let reply = complete(template, name, value, given);
        let completion = &reply["result"]["completion"];
        assert_eq!(completion["values"], values, "{name} {value}: {reply}");
        assert_eq!(completion["total"], total, "{name} {value}");
        assert_eq!(completion["hasMore"], total > 2);
    }
    let reply = complete("a://overview", "x", "", json!({}));
    assert_eq!(reply["result"]["completion"]["values"], json!([]));
    let reply = complete("a://{category}/{nmae}", "name", "", json!({}));
    assert_eq!(
        error(&reply),
        (
            -32602,
            "Resource template not found: a://{category}/{nmae}".to_owned()
        )
    );
    assert_eq!(reply["error"]["data"]["suggestions"], json!([template]));
    assert_eq!(
        error(&complete(template, "name", "", json!({"category": 1}))).0,
        -32602
    );
    assert_eq!(error(&complete(template, "name", "", json!([]))).0, -32602);
}
