//! Missing arguments are asked for where a client can show a form.

use serde_json::{Value, json};
use twig_core::{Argument, Limits};

use twig_mcp::{Job, WorkKind, WorkOutcome};

use crate::support::{
    Peer, error, jinja, library, modern, prompt, request, required, server_meta, values,
};

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

/// A legacy client that shows forms.
fn with_forms() -> Peer {
    let mut peer = peer();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}});
    peer.ask("initialize", params);
    peer
}

/// Asks for the prompt without its arguments; gives the job and the id of the question.
fn asked(peer: &mut Peer, id: u64) -> (Job, Value) {
    let message = request(id, "prompts/get", json!({"name": "l:ask"}));
    let (job, heard) = peer.start(message);
    let question: Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let job = job.unwrap();
    assert_eq!(job.work.kind(), WorkKind::Question);
    (job, question["id"].clone())
}

fn answer(id: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn unanswered(peer: &mut Peer, job: &Job) -> Vec<Value> {
    let mut out = Vec::new();
    let outcome = WorkOutcome::Unanswered;
    peer.connection.finish(job.ticket, outcome, &mut out);
    values(&String::from_utf8(out).unwrap())
}

const MISSING: &str = "Missing required arguments: input, language";

#[test]
fn a_legacy_client_is_asked_with_a_request_of_its_own() {
    let mut peer = with_forms();
    let message = request(
        7,
        "prompts/get",
        json!({"name": "l:ask", "arguments": {"input": "x"}}),
    );
    let (job, heard) = peer.start(message);
    assert_eq!(
        values(&heard),
        [
            json!({"jsonrpc": "2.0", "id": "twig-0", "method": "elicitation/create", "params": {
                "message": "`l:ask` needs a value to continue",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"language": {"type": "string", "enum": ["rust", "go"]}},
                    "required": ["language"],
                },
            }})
        ]
    );
    let job = job.unwrap();
    assert!(peer.connection.wants(job.ticket));
    // Other requests do not wait for the answer.
    assert_eq!(peer.ask("ping", json!({}))["result"], json!({}));
    let content = json!({"input": "not this", "language": "go"});
    let reply = peer.one(answer(
        &json!("twig-0"),
        json!({"action": "accept", "content": content}),
    ));
    assert_eq!(reply["id"], 7);
    assert_eq!(reply["result"]["messages"][0]["content"]["text"], "ask: x");
    assert!(!peer.connection.wants(job.ticket));
    assert_eq!(peer.connection.in_flight(), 0);
}

#[test]
fn a_legacy_client_without_values_gets_the_error_of_today() {
    let mut peer = with_forms();
    for result in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "maybe"}),
        json!({}),
        json!([]),
        json!(null),
    ] {
        let (_, id) = asked(&mut peer, 3);
        let reply = peer.one(answer(&id, result));
        assert_eq!(reply["id"], 3);
        assert_eq!(error(&reply), (-32602, MISSING.to_owned()));
    }
    let (_, id) = asked(&mut peer, 4);
    let failed = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}});
    let reply = peer.one(failed.to_string());
    assert_eq!(error(&reply), (-32602, MISSING.to_owned()));
    let (_, id) = asked(&mut peer, 5);
    let content = json!({"input": "x", "language": "perl"});
    let reply = peer.one(answer(&id, json!({"action": "accept", "content": content})));
    assert_eq!(
        error(&reply).1,
        "Argument `language` must be one of: rust, go"
    );
    let (_, id) = asked(&mut peer, 6);
    let content = json!({"input": {}});
    let reply = peer.one(answer(&id, json!({"action": "accept", "content": content})));
    assert_eq!(reply["id"], 6);
    assert_eq!(error(&reply).0, -32602);
    assert_eq!(peer.connection.in_flight(), 0);
}

#[test]
fn a_question_without_an_answer_ends() {
    let mut peer = with_forms();
    let (job, id) = asked(&mut peer, 3);
    let heard = unanswered(&mut peer, &job);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(
        heard[0],
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "No answer came in time"}})
    );
    assert_eq!(heard[1]["id"], 3);
    assert_eq!(error(&heard[1]), (-32602, MISSING.to_owned()));
    // An answer that comes too late, or twice, or to nothing, is ignored.
    let accept = json!({"action": "accept", "content": {"input": "x", "language": "go"}});
    for id in [
        id,
        json!("twig-99"),
        json!("twig-"),
        json!("x"),
        json!(0),
        json!(null),
    ] {
        assert_eq!(peer.raw(answer(&id, accept.clone())), "");
    }
    let (job, id) = asked(&mut peer, 4);
    peer.one(answer(&id, accept));
    assert_eq!(unanswered(&mut peer, &job), [Value::Null; 0]);
}

#[test]
fn a_client_may_cancel_the_request_that_asked() {
    let mut peer = with_forms();
    let (job, id) = asked(&mut peer, 3);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 3}});
    assert_eq!(peer.raw(cancel.to_string()), "");
    assert!(!peer.connection.wants(job.ticket));
    let accept = json!({"action": "accept", "content": {"input": "x", "language": "go"}});
    assert_eq!(peer.raw(answer(&id, accept)), "");
    assert_eq!(peer.connection.in_flight(), 0);
}

#[test]
fn open_questions_are_bounded() {
    let mut peer = with_forms();
    let open: Vec<(Job, Value)> = (0..8).map(|at| asked(&mut peer, at)).collect();
    let get = || request(20, "prompts/get", json!({"name": "l:ask"}));
    assert_eq!(error(&peer.one(get())), (-32602, MISSING.to_owned()));
    // Other work is not held up.
    assert!(peer.ask("prompts/list", json!({}))["result"].is_object());
    peer.one(answer(&open[5].1, json!({"action": "decline"})));
    asked(&mut peer, 21);
    assert_eq!(error(&peer.one(get())), (-32602, MISSING.to_owned()));
    let mut peer = with_forms();
    // A request that waits is kept, so it has to be short.
    let long = json!({"name": "l:ask", "arguments": {"other": "x".repeat(20_000)}});
    let reply = peer.ask("prompts/get", long);
    assert_eq!(error(&reply), (-32602, MISSING.to_owned()));
    let ended = peer.close();
    assert_eq!(ended, [Value::Null; 0]);
}

#[test]
fn a_server_that_ends_says_so_to_requests_that_asked() {
    let mut peer = with_forms();
    asked(&mut peer, 3);
    let ended = peer.close();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(error(&ended[0]).1, "The server is ending");
}

#[test]
fn the_tools_ask_in_both_eras() {
    for tool in ["expand_prompt", "use_prompt"] {
        let text = |result: &Value| match tool {
            "use_prompt" => result["content"][0]["text"].clone(),
            _ => result["structuredContent"]["prompt"].clone(),
        };
        let two = jinja("two", "{{ a }} {{ b }}", vec![required("a"), required("b")]);
        let libraries = || vec![library("l", 1, vec![two.clone()])];
        let params = json!({"name": tool, "arguments": {"command": "two", "input": "b=1"}});

        let mut peer = Peer::with(libraries(), Limits::default());
        let forms = json!({"elicitation": {}});
        let reply = peer.one(request(
            1,
            "tools/call",
            modern(params.clone(), forms.clone()),
        ));
        assert_eq!(reply["result"]["resultType"], "input_required");
        let form = &reply["result"]["inputRequests"]["arguments"]["params"]["requestedSchema"];
        assert_eq!(form["required"], json!(["a"]));
        let mut answered = params.clone();
        answered["inputResponses"] = accept(json!({"a": "0", "b": "ignored"}));
        let reply = peer.one(request(
            2,
            "tools/call",
            modern(answered.clone(), forms.clone()),
        ));
        assert_eq!(text(&reply["result"]), "0 1");
        answered["inputResponses"] = json!({"arguments": {"action": "decline"}});
        let reply = peer.one(request(3, "tools/call", modern(answered, forms)));
        assert_eq!(reply["result"]["isError"], true);
        let reply = peer.ask_modern("tools/call", params.clone());
        assert_eq!(reply["result"]["isError"], true, "it shows no forms");

        let mut peer = Peer::with(libraries(), Limits::default());
        let reply = peer.ask("tools/call", params.clone());
        assert_eq!(reply["result"]["isError"], true, "it shows no forms");
        let error = reply["result"].clone();
        peer.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}}),
        );
        let (job, heard) = peer.start(request(4, "tools/call", params.clone()));
        let question: Value = serde_json::from_str(&heard).unwrap();
        assert_eq!(
            question["params"]["requestedSchema"]["required"],
            json!(["a"])
        );
        let heard = unanswered(&mut peer, &job.unwrap());
        assert_eq!(heard[1]["result"], error);
        let (job, heard) = peer.start(request(5, "tools/call", params));
        assert!(job.is_some());
        let question: Value = serde_json::from_str(&heard).unwrap();
        let content = json!({"a": 0});
        let result = json!({"action": "accept", "content": content});
        let reply = peer.one(answer(&question["id"], result));
        assert_eq!(
            (&reply["id"], text(&reply["result"])),
            (&json!(5), json!("0 1"))
        );
    }
}

#[test]
fn an_answer_may_start_a_job() {
    let looped = "{% for c in who %}<{{ c }}>{% endfor %}";
    let looped = jinja("loop", looped, vec![required("who")]);
    let mut peer = Peer::with(vec![library("l", 1, vec![looped])], Limits::default());
    let capabilities = json!({"elicitation": {}});
    peer.ask(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": capabilities}),
    );
    let (_, heard) = peer.start(request(2, "prompts/get", json!({"name": "l:loop"})));
    let question: Value = serde_json::from_str(&heard).unwrap();
    let result = json!({"action": "accept", "content": {"who": "ab"}});
    let (job, heard) = peer.start(answer(&question["id"], result));
    assert_eq!(heard, "");
    let replies = peer.run(&job.unwrap());
    assert_eq!(replies[0]["id"], 2);
    assert_eq!(
        replies[0]["result"]["messages"][0]["content"]["text"],
        "<a><b>"
    );
}
