//! Missing arguments are asked for where a modern client can show a form.

use serde_json::{Value, json};
use twig_core::{Argument, Limits};

use crate::support::{Peer, error, library, modern, prompt, request, required, server_meta};

fn peer() -> Peer {
    let input = Argument {
        description: Some("What to say".into()),
        max_length: Some(9),
        ..required("input")
    };
    let language = Argument {
        choices: ["rust", "go"].map(Into::into).to_vec(),
        ..required("language")
    };
    let ask = prompt("ask", vec![input, language]);
    Peer::with(vec![library("l", 1, vec![ask])], Limits::default())
}

fn get(arguments: Value, responses: Value, elicitation: Value) -> Value {
    let mut params = json!({"name": "l:ask", "arguments": arguments});
    if !responses.is_null() {
        params["inputResponses"] = responses;
    }
    let capabilities = json!({"elicitation": elicitation});
    peer().one(request(1, "prompts/get", modern(params, capabilities)))
}

fn accept(content: Value) -> Value {
    json!({"arguments": {"action": "accept", "content": content}})
}

#[test]
fn one_form_names_every_missing_argument() {
    let reply = get(json!({}), Value::Null, json!({}));
    assert_eq!(
        reply["result"],
        json!({
            "inputRequests": {"arguments": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "`l:ask` needs values to continue",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {
                            "input": {"type": "string", "description": "What to say", "maxLength": 9},
                            "language": {"type": "string", "enum": ["rust", "go"]},
                        },
                        "required": ["input", "language"],
                    },
                },
            }},
            "resultType": "input_required",
            "_meta": server_meta(),
        })
    );
}

#[test]
fn accepted_values_are_rendered() {
    let reply = get(
        json!({"language": "go"}),
        accept(json!({"input": 12, "language": "ignored"})),
        json!({"form": {}}),
    );
    assert_eq!(reply["result"]["messages"][0]["content"]["text"], "ask: 12");
    assert_eq!(reply["result"]["resultType"], "complete");
}

#[test]
fn what_is_still_missing_is_asked_for_again() {
    for responses in [
        accept(json!({"input": "x"})),
        json!({"arguments": {"action": "accept"}}),
        json!({"other": {"action": "accept", "content": {"language": "go"}}}),
        json!({}),
    ] {
        let reply = get(json!({}), responses, json!({}));
        let form = &reply["result"]["inputRequests"]["arguments"]["params"]["requestedSchema"];
        assert!(form["properties"]["language"].is_object(), "{reply}");
    }
}

#[test]
fn a_person_who_would_rather_not_gets_the_error() {
    for action in ["decline", "cancel"] {
        let responses = json!({"arguments": {"action": action}});
        let reply = get(json!({"language": "go"}), responses, json!({}));
        assert_eq!(
            error(&reply),
            (-32602, "Missing required argument: input".to_owned())
        );
    }
}

#[test]
fn malformed_responses_are_refused() {
    for responses in [
        json!([]),
        json!("x"),
        json!({"arguments": 1}),
        json!({"arguments": {}}),
        json!({"arguments": {"action": "maybe"}}),
        json!({"arguments": {"action": 1}}),
        accept(json!([])),
        accept(json!({"input": {}})),
    ] {
        let reply = get(json!({}), responses.clone(), json!({}));
        assert_eq!(error(&reply).0, -32602, "{responses}");
    }
}

#[test]
fn nobody_is_asked_who_cannot_show_a_form() {
    let sentence = "Missing required arguments: input, language";
    for elicitation in [json!(null), json!({"url": {}}), json!(true)] {
        let reply = get(json!({}), Value::Null, elicitation);
        assert_eq!(error(&reply), (-32602, sentence.to_owned()));
    }
    let params = json!({"name": "l:ask", "inputResponses": 5});
    assert_eq!(
        error(&peer().ask("prompts/get", params)),
        (-32602, sentence.to_owned())
    );
}
