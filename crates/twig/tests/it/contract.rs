//! The contract of Twig libraries, request by request.

use serde_json::{Value, json};

use crate::{CONTRACT, env};

#[test]
fn prompts_are_listed_with_arguments_and_schema() {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let answer = client.request("prompts/list", json!({"cursor": null}));
    let prompts = answer["result"]["prompts"].as_array().expect("a list");
    let names: Vec<&str> = prompts
        .iter()
        .filter_map(|prompt| prompt["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "my_coding_lib:broken",
            "my_coding_lib:code_review",
            "my_coding_lib:documentation"
        ]
    );
    assert_eq!(
        prompts[1],
        json!({
            "name": "my_coding_lib:code_review",
            "description": "Review code for quality and best practices",
            "arguments": [
                {"name": "code_snippet", "description": "The code to review", "required": true},
                {"name": "language", "description": "Programming language (optional)", "required": false},
            ],
            "inputSchema": {
                "type": "object",
                "properties": {
                    "code_snippet": {"type": "string", "description": "The code to review"},
                    "language": {"type": "string", "description": "Programming language (optional)"},
                },
                "required": ["code_snippet"],
            },
        })
    );
    assert_eq!(answer["result"].get("nextCursor"), None);
}

#[test]
fn a_prompt_is_one_user_message_with_its_values() {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let answer = client.request(
        "prompts/get",
        json!({
            "name": "my_coding_lib:code_review",
            "arguments": {"code_snippet": "def hello():\n    return '{{ world }}'", "language": "python"},
        }),
    );
    assert_eq!(
        answer["result"],
        json!({
            "description": "Review code for quality and best practices",
            "messages": [{"role": "user", "content": {"type": "text", "text":
                "Please review the following python code:\n\n```python\ndef hello():\n    return '{{ world }}'\n```\n"}}],
        })
    );
}

#[test]
fn an_optional_argument_may_be_left_out_and_an_unknown_one_is_dropped() {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let arguments = json!({"code_snippet": "x", "colour": "blue"});
    let answer = client.request(
        "prompts/get",
        json!({"name": "code_review", "arguments": arguments}),
    );
    let text = &answer["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Please review the following code:\n\n```\nx\n```\n");
}

#[test]
fn every_error_says_what_to_do() {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let mut error = |params: Value| client.request("prompts/get", params)["error"].clone();
    let sentence = |error: &Value| {
        assert_eq!(error["code"], -32602);
        assert_eq!(error["message"], error["data"]["details"]);
        error["message"].as_str().unwrap_or_default().to_owned()
    };

    let unknown = error(json!({"name": "my_coding_lib:code_revue"}));
    assert_eq!(
        sentence(&unknown),
        "Prompt not found: my_coding_lib:code_revue"
    );
    assert_eq!(
        unknown["data"]["suggestions"][0],
        "my_coding_lib:code_review"
    );

    let missing = error(json!({"name": "my_coding_lib:code_review"}));
    assert_eq!(
        sentence(&missing),
        "Missing required argument: code_snippet"
    );

    let gone = error(json!({"name": "my_coding_lib:gone"}));
    assert_eq!(
        sentence(&gone),
        "Prompt content file not found: ~/.local/share/twig/prompts/My-Coding Lib/prompts/gone.md"
    );

    let broken = error(json!({"name": "my_coding_lib:broken"}));
    assert_eq!(
        sentence(&broken),
        "Error rendering prompt template at line 5: undefined variable 'required_arg'"
    );
}

#[test]
fn nothing_installed_is_an_empty_list() {
    let env = env("");
    std::fs::remove_dir(env.data()).expect("the folder was empty");
    let mut client = env.serve();
    let answer = client.request("prompts/list", json!({}));
    assert_eq!(answer["result"], json!({"prompts": []}));
    let modern = client.modern("prompts/list", json!({}));
    assert_eq!(modern["result"]["prompts"], json!([]));
    assert_eq!(modern["result"]["resultType"], "complete");
}

#[test]
fn a_data_folder_that_is_a_file_is_an_empty_list() {
    let env = env("");
    std::fs::remove_dir(env.data()).expect("the folder was empty");
    std::fs::write(env.data(), "not a folder").expect("writable");
    let mut client = env.serve();
    assert_eq!(
        client.request("prompts/list", json!({}))["result"],
        json!({"prompts": []})
    );
}

#[test]
fn missing_arguments_are_asked_for_where_the_client_can() {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let params = json!({"name": "code_review", "_meta": meta});
    let asked = client.request("prompts/get", params.clone());
    assert_eq!(asked["result"]["resultType"], "input_required");
    let requests = asked["result"]["inputRequests"]
        .as_object()
        .expect("one form");
    assert_eq!(requests.len(), 1);
    let (key, form) = requests.iter().next().expect("one form");
    assert_eq!(form["method"], "elicitation/create");
    let schema = &form["params"]["requestedSchema"];
    assert_eq!(
        schema["properties"]["code_snippet"]["description"],
        "The code to review"
    );

    let mut retry = params;
    retry["inputResponses"] =
        json!({key: {"action": "accept", "content": {"code_snippet": "1 + 1"}}});
    let answer = client.request("prompts/get", retry);
    assert_eq!(answer["result"]["resultType"], "complete");
    let text = answer["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(text.contains("1 + 1"), "{text}");
}
