//! Missing arguments are asked for over standard input and output, where a client shows forms.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.greet]
description = "Greet somebody"
text = "Greet {{ name }} in {{ language }}."

[[prompts.greet.arguments]]
name = "name"
description = "Whom to greet"
required = true

[[prompts.greet.arguments]]
name = "language"
choices = ["french", "dutch"]
required = true

[prompts.spell]
text = "{% for c in word %}<{{ c }}>{% endfor %}"

[[prompts.spell.arguments]]
name = "word"
required = true
"#;

const MISSING: &str = "Missing required arguments: name, language";

fn start(env: &TestEnv) -> TestClient {
    let mut client = env.serve();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "forms", "version": "0"}});
    client.request("initialize", params);
    client
}

fn question(client: &mut TestClient) -> Value {
    client.wait_for(|message| message["method"] == "elicitation/create")
}

#[allow(clippy::needless_pass_by_value)]
fn answer(client: &mut TestClient, question: &Value, result: Value) {
    let message = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    client.send(message.to_string());
}

#[test]
fn the_answer_to_a_form_renders_the_prompt() {
    let env = env(LIBRARY);
    let mut client = start(&env);
    let get = client.start_request("prompts/get", &json!({"name": "lib:greet"}));
    let form = question(&mut client);
    assert_eq!(
        form["params"],
        json!({
            "message": "`lib:greet` needs values to continue",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Whom to greet"},
                    "language": {"type": "string", "enum": ["french", "dutch"]},
                },
                "required": ["name", "language"],
            },
        })
    );
    // Nothing waits for the person but this request.
    assert!(client.request("prompts/list", json!({}))["result"].is_object());
    let content = json!({"name": "Ada \"{{ language }}\"", "language": "dutch"});
    answer(
        &mut client,
        &form,
        json!({"action": "accept", "content": content}),
    );
    let got = client.answer(get);
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "Greet Ada \"{{ language }}\" in dutch."
    );

    let arguments = json!({"command": ":greet", "input": "Ada"});
    let call = client.start_request(
        "tools/call",
        &json!({"name": "use_prompt", "arguments": arguments}),
    );
    let form = question(&mut client);
    assert_eq!(
        form["params"]["requestedSchema"]["required"],
        json!(["language"])
    );
    let content = json!({"language": "french"});
    answer(
        &mut client,
        &form,
        json!({"action": "accept", "content": content}),
    );
    let called = client.answer(call);
    assert_eq!(
        called["result"]["content"][0]["text"],
        "Greet Ada in french."
    );

    // A template that loops is rendered elsewhere, after the answer.
    let get = client.start_request("prompts/get", &json!({"name": "lib:spell"}));
    let form = question(&mut client);
    let content = json!({"word": "ab"});
    answer(
        &mut client,
        &form,
        json!({"action": "accept", "content": content}),
    );
    let got = client.answer(get);
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "<a><b>");
}

#[test]
fn a_form_that_is_declined_is_the_error() {
    let env = env(LIBRARY);
    let mut client = start(&env);
    for result in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({}),
    ] {
        let get = client.start_request("prompts/get", &json!({"name": "lib:greet"}));
        let form = question(&mut client);
        answer(&mut client, &form, result);
        assert_eq!(client.answer(get)["error"]["message"], MISSING);
    }
}

#[test]
fn a_client_that_never_answers_gets_the_error_when_the_time_is_over() {
    let env = env(LIBRARY);
    env.configure("[limits]\nanswer_millis = 50\n");
    let mut client = start(&env);
    let get = client.start_request("prompts/get", &json!({"name": "lib:greet"}));
    let form = question(&mut client);
    let withdrawn = client.notification("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], form["id"]);
    assert_eq!(client.answer(get)["error"]["message"], MISSING);
    // What comes too late is ignored.
    let content = json!({"name": "Ada", "language": "dutch"});
    answer(
        &mut client,
        &form,
        json!({"action": "accept", "content": content}),
    );
    assert!(client.request("ping", json!({}))["result"].is_object());
}

#[test]
fn a_client_that_leaves_frees_its_questions() {
    let env = env(LIBRARY);
    let mut client = start(&env);
    let get = client.start_request("prompts/get", &json!({"name": "lib:greet"}));
    question(&mut client);
    let ended = client.close();
    assert!(ended.status.success());
    let is_answer = |message: &&Value| message["id"] == get;
    let last = ended.rest.iter().find(is_answer).expect("an answer");
    assert_eq!(last["error"]["message"], MISSING);
}

#[test]
fn questions_without_answers_hold_nothing_up() {
    let env = env(LIBRARY);
    let mut client = start(&env);
    for _ in 0..8 {
        client.start_request("prompts/get", &json!({"name": "lib:greet"}));
        question(&mut client);
    }
    // Further requests get the error at once.
    for _ in 0..100 {
        let got = client.request("prompts/get", json!({"name": "lib:greet"}));
        assert_eq!(got["error"]["message"], MISSING);
    }
    let arguments = json!({"name": "lib:spell", "arguments": {"word": "x"}});
    let got = client.request("prompts/get", arguments);
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "<x>");
}

#[test]
fn a_modern_client_is_asked_by_the_tools_too() {
    let env = env(LIBRARY);
    let mut client = env.serve();
    let call = |client: &mut TestClient, responses: Value| {
        let mut params = json!({"name": "use_prompt",
        "arguments": {"command": "greet", "input": "language=dutch"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": twig_testkit::MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }});
        if !responses.is_null() {
            params["inputResponses"] = responses;
        }
        client.request("tools/call", params)["result"].clone()
    };
    let asked = call(&mut client, Value::Null);
    assert_eq!(asked["resultType"], "input_required");
    let form = &asked["inputRequests"]["arguments"];
    assert_eq!(form["method"], "elicitation/create");
    assert_eq!(
        form["params"]["requestedSchema"]["required"],
        json!(["name"])
    );
    let content = json!({"name": "Ada"});
    let accept = json!({"arguments": {"action": "accept", "content": content}});
    let used = call(&mut client, accept);
    assert_eq!(used["content"][0]["text"], "Greet Ada in dutch.");
    let declined = call(&mut client, json!({"arguments": {"action": "decline"}}));
    assert_eq!(declined["isError"], true);
}
