//! Missing arguments are asked for over HTTP, on the stream that answers the request.

use serde_json::{Value, json};

use super::Served;
use super::client::{Caller, legacy};

const MISSING: &str = "Missing required argument: name";

/// A session of a client that shows forms.
fn session(caller: &mut Caller) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "forms", "version": "0"}});
    let response = caller.post(&[], &legacy("initialize", params));
    response
        .header("mcp-session-id")
        .expect("a session")
        .to_owned()
}

/// Asks for a prompt without its argument; gives the question.
fn ask(caller: &mut Caller, session: &str) -> Value {
    caller.start_legacy(session, "prompts/get", &json!({"name": "lib:hello"}));
    asked(caller)
}

fn asked(caller: &mut Caller) -> Value {
    let head = caller.head();
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let question = caller.event().expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(
        question["params"]["requestedSchema"]["required"],
        json!(["name"])
    );
    question
}

/// Posts a message that gets no answer of its own.
#[allow(clippy::needless_pass_by_value)]
fn post(served: &Served, session: &str, message: Value) {
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let response = served.caller().post(&headers, &message);
    assert_eq!(
        (response.status, response.body.len()),
        (202, 0),
        "{response:?}"
    );
}

fn accept(question: &Value, name: &str) -> Value {
    let result = json!({"action": "accept", "content": {"name": name}});
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}

#[test]
fn the_answer_to_a_form_goes_on_with_its_request() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = session(&mut caller);
    let question = ask(&mut caller, &session);
    // Other requests of the session do not wait.
    assert_eq!(
        served.caller().legacy(&session, "ping", json!({})).status,
        200
    );
    post(&served, &session, accept(&question, "Ada"));
    let reply = caller.event().expect("a result");
    assert_eq!(reply["id"], 1);
    assert_eq!(
        reply["result"]["messages"][0]["content"]["text"],
        "Hello Ada!\n"
    );
    assert_eq!(caller.event(), None);

    // The connection goes on after the stream; a tool asks in the same way.
    let arguments = json!({"command": "hello"});
    let params = json!({"name": "use_prompt", "arguments": arguments});
    caller.start_legacy(&session, "tools/call", &params);
    let question = asked(&mut caller);
    post(&served, &session, accept(&question, "Bea"));
    let reply = caller.event().expect("a result");
    assert_eq!(reply["result"]["content"][0]["text"], "Hello Bea!\n");
    assert_eq!(caller.event(), None);

    let question = ask(&mut caller, &session);
    let decline = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    post(&served, &session, decline);
    assert_eq!(
        caller.event().expect("an error")["error"]["message"],
        MISSING
    );
    assert_eq!(caller.event(), None);
    // An answer to nothing is taken and ignored.
    post(&served, &session, accept(&question, "Ada"));
}

#[test]
fn a_client_that_never_answers_gets_the_error_when_the_time_is_over() {
    let served = Served::configured("[limits]\nanswer_millis = 50\n");
    let mut caller = served.caller();
    let session = session(&mut caller);
    let question = ask(&mut caller, &session);
    let withdrawn = caller.event().expect("a notification");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    assert_eq!(
        caller.event().expect("an error")["error"]["message"],
        MISSING
    );
    assert_eq!(caller.event(), None);
}

#[test]
fn a_request_that_asked_can_be_cancelled_and_ends_with_its_session() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = session(&mut caller);
    ask(&mut caller, &session);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    post(&served, &session, cancel);
    assert_eq!(caller.event(), None);
    ask(&mut caller, &session);
    let delete = [("mcp-session-id", &*session)];
    assert_eq!(served.caller().send("DELETE", &delete, b"").status, 204);
    assert_eq!(caller.event(), None);
}

#[test]
fn a_client_without_streams_gets_the_error() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = session(&mut caller);
    for accept in [&[("accept", "application/json")][..], &[]] {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("mcp-session-id", &*session),
        ];
        headers.extend_from_slice(accept);
        let body = legacy("prompts/get", json!({"name": "lib:hello"})).to_string();
        let response = caller.send("POST", &headers, body.as_bytes());
        assert_eq!(response.json()["error"]["message"], MISSING);
    }
}

#[test]
fn clients_that_leave_free_their_questions() {
    let served = Served::new();
    let mut caller = served.caller();
    let session = session(&mut caller);
    let open: Vec<Caller> = (0..8)
        .map(|_| {
            let mut caller = served.caller();
            ask(&mut caller, &session);
            caller
        })
        .collect();
    // There are enough open ones: the error comes at once, and nothing else waits.
    let refused = caller.legacy(&session, "prompts/get", json!({"name": "lib:hello"}));
    assert_eq!(refused.json()["error"]["message"], MISSING);
    let mut other = served.caller();
    let second = self::session(&mut other);
    ask(&mut other, &second);
    drop(open);
    loop {
        // The server notices closed connections one by one.
        let mut caller = served.caller();
        caller.start_legacy(&session, "prompts/get", &json!({"name": "lib:hello"}));
        if caller.head().header("content-type") == Some("text/event-stream") {
            break;
        }
    }
}

#[test]
fn a_server_that_ends_answers_what_still_asks() {
    let mut served = Served::new();
    let mut caller = served.caller();
    let session = session(&mut caller);
    ask(&mut caller, &session);
    served.signal(rustix::process::Signal::TERM);
    let withdrawn = caller.event().expect("a notification");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(
        caller.event().expect("an error")["error"]["message"],
        MISSING
    );
    assert!(served.ended().0.success());
}

#[test]
fn a_modern_client_is_asked_by_a_tool() {
    let served = Served::new();
    let mut caller = served.caller();
    let mut call = |responses: Option<Value>| {
        let mut params = json!({"name": "use_prompt", "arguments": {"command": "hello"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": twig_testkit::MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }});
        if let Some(responses) = responses {
            params["inputResponses"] = responses;
        }
        let headers = [
            ("mcp-protocol-version", twig_testkit::MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "use_prompt"),
        ];
        caller.post(&headers, &legacy("tools/call", params)).json()["result"].clone()
    };
    assert_eq!(call(None)["resultType"], "input_required");
    let content = json!({"name": "Ada"});
    let used = call(Some(
        json!({"arguments": {"action": "accept", "content": content}}),
    ));
    assert_eq!(used["content"][0]["text"], "Hello Ada!\n");
}
