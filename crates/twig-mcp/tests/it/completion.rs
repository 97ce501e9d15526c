//! `completion/complete`.

use serde_json::{Value, json};
use twig_core::{Argument, Limits};

use crate::support::{Peer, argument, error, library, prompt, server_meta};

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
