//! Folders of definitions, from the outside: the examples of the contract, edits, and the terminal.

mod documents;

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;

const CHANGED: &str = "notifications/prompts/list_changed";

/// A definition with one text and these arguments, a `!` behind required ones.
fn definition(name: &str, text: &str, arguments: &[&str]) -> String {
    let arguments: Vec<Value> = arguments
        .iter()
        .map(|argument| {
            let required = argument.ends_with('!');
            json!({"name": argument.trim_end_matches('!'), "required": required})
        })
        .collect();
    json!({
        "name": name, "description": format!("Does {name}"), "arguments": arguments,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    })
    .to_string()
}

fn service() -> TestEnv {
    let env = env("");
    let review = json!({
        "name": "review", "title": "Review", "description": "Review code",
        "arguments": [
            {"name": "code", "description": "The code", "required": true, "maxLength": 10000},
            {"name": "language", "description": "Its language", "required": false},
        ],
        "messages": [{"role": "user", "content": {"type": "text",
            "text": "Review the following {{language}} code:\n\n```{{language}}\n{{code}}\n```"}}],
    });
    env.write("service/prompts/review.json", review.to_string());
    env
}

fn get(client: &mut TestClient, name: &str, arguments: &Value) -> Value {
    client.request("prompts/get", json!({"name": name, "arguments": arguments}))
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["messages"][0]["content"]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}"))
}

fn refusal(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    assert_eq!(error["data"]["details"], error["message"], "{answer}");
    let code = error["code"].as_i64().unwrap_or_default();
    (
        code,
        error["message"].as_str().unwrap_or_default().to_owned(),
    )
}

fn names(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().cloned();
    prompts
        .unwrap_or_default()
        .iter()
        .filter_map(|prompt| prompt["name"].as_str().map(str::to_owned))
        .collect()
}

/// Waits for announcements until the list is as expected.
fn settles_on(client: &mut TestClient, expected: &[&str]) {
    while names(client) != expected {
        client.notification(CHANGED);
    }
}

#[test]
fn a_definition_is_listed_as_it_is_written() {
    let env = service();
    let mut client = env.serve();
    let answer = client.request("prompts/list", json!({}));
    let expected = json!([{
        "name": "review", "title": "Review", "description": "Review code",
        "arguments": [
            {"name": "code", "description": "The code", "required": true},
            {"name": "language", "description": "Its language", "required": false},
        ],
        "inputSchema": {"type": "object", "properties": {
            "code": {"type": "string", "description": "The code", "maxLength": 10000},
            "language": {"type": "string", "description": "Its language"},
        }, "required": ["code"]},
    }]);
    assert_eq!(answer["result"]["prompts"], expected);
}

#[test]
fn the_answers_are_those_of_the_contract() {
    let env = service();
    let mut client = env.serve();
    let answer = get(
        &mut client,
        "review",
        &json!({"language": "go", "code": "func main() {}"}),
    );
    let expected = "Review the following go code:\n\n```go\nfunc main() {}\n```";
    assert_eq!(text(&answer), expected);
    assert_eq!(answer["result"]["description"], "Review code");
    let empty = get(&mut client, "review", &json!({"language": "", "code": ""}));
    assert_eq!(text(&empty), "Review the following  code:\n\n```\n\n```");
    let long = "\u{e4}".repeat(10_000);
    assert!(text(&get(&mut client, "review", &json!({"code": long}))).contains(&long));
    for (name, arguments, sentence) in [
        (
            "unknown-prompt",
            json!({}),
            "Prompt not found: unknown-prompt",
        ),
        ("review", json!({}), "Missing required arguments: code"),
        (
            "review",
            json!({"code": format!("{long}x")}),
            "Argument 'code' exceeds maximum length of 10000 characters",
        ),
        (
            "review",
            json!({"a": 1, "b": 2, "code": ""}),
            "Unknown arguments: a, b",
        ),
        (
            "review",
            json!({"code": "", "langauge": "go"}),
            "Unknown argument: langauge; did you mean `language`?",
        ),
    ] {
        let answer = get(&mut client, name, &arguments);
        assert_eq!(refusal(&answer), (-32602, sentence.to_owned()));
    }
}

#[test]
fn a_missing_argument_is_asked_for_where_the_client_can_ask() {
    let env = service();
    let mut client = env.serve();
    let mut params = json!({"name": "review", "_meta": {
        "io.modelcontextprotocol/protocolVersion": twig_testkit::MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }});
    let answer = client.request("prompts/get", params.clone());
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let form = &answer["result"]["inputRequests"]["arguments"]["params"]["requestedSchema"];
    assert_eq!(form["required"], json!(["code"]));
    params["inputResponses"] = json!({"arguments": {"action": "accept", "content": {"code": "x"}}});
    let answer = client.request("prompts/get", params);
    assert!(text(&answer).ends_with("```\nx\n```"), "{answer}");
}

#[test]
fn edits_are_served_and_announced() {
    let env = service();
    let mut client = env.serve();
    client.initialize();
    assert_eq!(names(&mut client), ["review"]);
    env.write("service/prompts/plan.json", definition("plan", "one", &[]));
    settles_on(&mut client, &["plan", "review"]);
    assert_eq!(text(&get(&mut client, "plan", &json!({}))), "one");

    env.write(
        "service/prompts/plan.json",
        definition("plan", "two {{x}}", &["x!"]),
    );
    let two = |answer: &Value| answer["result"]["messages"][0]["content"]["text"] == "two !";
    while !two(&get(&mut client, "plan", &json!({"x": "!"}))) {
        client.notification(CHANGED);
    }

    env.write("service/prompts/plan.json", "{\"name\": \"plan\", ");
    settles_on(&mut client, &["review"]);
    let (code, sentence) = refusal(&get(&mut client, "plan", &json!({})));
    assert_eq!(code, -32602);
    assert!(
        sentence.starts_with("The definition prompts/plan.json is not valid JSON: "),
        "{sentence}"
    );
    env.write(
        "service/prompts/plan.json",
        definition("plan", "mended", &[]),
    );
    settles_on(&mut client, &["plan", "review"]);
    assert_eq!(text(&get(&mut client, "plan", &json!({}))), "mended");

    fs::remove_file(env.data().join("service/prompts/review.json")).expect("removable");
    settles_on(&mut client, &["plan"]);
    let (_, sentence) = refusal(&get(&mut client, "review", &json!({})));
    assert_eq!(sentence, "Prompt not found: review");
    fs::remove_file(env.data().join("service/prompts/plan.json")).expect("removable");
    settles_on(&mut client, &[]);
    env.write("service/prompts/new.json", definition("new", "back", &[]));
    settles_on(&mut client, &["new"]);
}

#[test]
fn a_broken_file_is_told_and_leaves_the_others_alone() {
    let env = service();
    let text = "Review. {{#if language}}Focus.{{/if}}";
    env.write(
        "service/prompts/broken.json",
        definition("broken", text, &["language"]),
    );
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[unsupported-syntax]: $.messages[0].content.text: `{{#if` is not supported: conditions, loops, parts and comments are not part of `{{name}}`
     --> [data]/service/prompts/broken.json:1:121
      |
    1 | {"arguments":[{"name":"language","required":false}],"description":"Does broken","messages":[{"content":{"text":"Review. {{#if language}}Focus.{{/if}}","type":"text"},"role":"user"}],"name":"broken"}
      |                                                                                                                         ^^^^^
      = help: write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`

    error[unsupported-syntax]: $.messages[0].content.text: `{{/if` is not supported: conditions, loops, parts and comments are not part of `{{name}}`
     --> [data]/service/prompts/broken.json:1:143
      |
    1 | {"arguments":[{"name":"language","required":false}],"description":"Does broken","messages":[{"content":{"text":"Review. {{#if language}}Focus.{{/if}}","type":"text"},"role":"user"}],"name":"broken"}
      |                                                                                                                                               ^^^^^
      = help: write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    --- stderr
    checked 2 prompts in 1 library: 2 errors
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["list"]), @"
    review  code [language]  Review code
    --- stderr
    hint: problems found; run `twig check`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "broken"]), @"
    --- stderr
    error: The definition prompts/broken.json is refused: $.messages[0].content.text: `{{#if` is not supported: conditions, loops, parts and comments are not part of `{{name}}`
    --- exit 1
    ");
    let mut client = env.serve();
    assert_eq!(names(&mut client), ["review"]);
    let talk = client.close().stderr;
    assert!(
        talk.contains("broken.json") && talk.contains("unsupported-syntax"),
        "{talk}"
    );
}

#[test]
fn the_other_layout_and_the_flag_are_known() {
    let env = env("");
    let work = env.work();
    let folder = work.join("repo/mcp/prompts");
    fs::create_dir_all(&folder).expect("writable");
    fs::write(folder.join("plan.json"), definition("plan", "hi", &[])).expect("writable");
    insta::assert_snapshot!(env.run(["list", "--library", "repo"]), @"
    plan    Does plan
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "plan", "--library", "repo", "--kind", "definitions"]), @"
    hi
    --- exit 0
    ");
    fs::create_dir_all(work.join("empty")).expect("writable");
    insta::assert_snapshot!(env.run(["check", "empty", "--kind", "definitions"]), @"
    warning[no-definitions]: [work]/empty has no prompts/*.json, nor mcp/prompts/*.json
    --> empty
     = help: put a definition there, such as prompts/review-code.json
    --- stderr
    checked 0 prompts in 1 library: 1 warning
    --- exit 0
    ");
}

#[test]
fn the_terminal_shows_renders_and_finds_definitions() {
    let env = service();
    insta::assert_snapshot!(env.run(["show", "review"]), @"
    name         review
    title        Review
    description  Review code
    library      service
    kind         definitions
    path         ~/.local/share/twig/prompts/service/prompts/review.json

    arguments
      code      required; at most 10000 characters  The code
      language                                      Its language

    text
    Review the following {{language}} code:

    ```{{language}}
    {{code}}
    ```
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "review", "code=x", "language=go"]), @"
    Review the following go code:

    ```go
    x
    ```
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "review"]), @"
    --- stderr
    error: Missing required arguments: code
    hint: twig render review code=…
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "review", "code=x", "lang=go"]), @"
    --- stderr
    error: Unknown argument: lang; did you mean `language`?
    hint: put a value that contains = after `--`: -- 'lang=go'
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["search", "following"]), @"
    review  Review code
            Review the following {{language}} code: ```{{language}} {{code}} ```
    --- exit 0
    ");
}

#[test]
fn a_new_definition_is_served_at_once() {
    let env = service();
    insta::assert_snapshot!(env.run(["new", "prompt", "service:plan-work", "--description", "Plan \"it\""]), @"
    [data]/service/prompts/plan-work.json
    --- stderr
    created prompt `plan-work`; edit the file, then try `twig render plan-work input=…`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "plan-work", "input={{x}}"]), @"
    Write what `plan-work` should say here.

    {{x}}
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "service:plan-work"]), @"
    --- stderr
    error: library `service` has a prompt `plan-work` already
    hint: choose another name
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "service:Plan_Work"]), @"
    --- stderr
    error: the name `Plan_Work` has more than lower-case letters, digits and `-`
    hint: such as `review-code`
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 2 prompts in 1 library: no problems
    --- exit 0
    ");
}
