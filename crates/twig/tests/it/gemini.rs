//! Gemini CLI gives words to required arguments only: one is listed as required for it.

use serde_json::{Value, json};
use twig_testkit::{MODERN, TestClient};

use crate::env;

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.none]

[[prompts.optional.arguments]]
name = "place"
default = "Dover"

[[prompts.optional.arguments]]
name = "day"
choices = ["today", "tomorrow"]

[[prompts.chosen.arguments]]
name = "day"
choices = ["today", "tomorrow"]

[[prompts.needed.arguments]]
name = "first"

[[prompts.needed.arguments]]
name = "second"
required = true
//- lib/prompts/none.md
None
//- lib/prompts/optional.md
{{ place }} {{ day }}
//- lib/prompts/chosen.md
{% if day %}On {{ day }}{% else %}Any day{% endif %}
//- lib/prompts/needed.md
{{ first }}{{ second }}
"#;

const GEMINI: &str = "gemini-cli-mcp-client";

/// The required arguments of each prompt, in both forms in which a list has them.
fn required(listed: &Value) -> Value {
    let prompts = listed["result"]["prompts"].as_array().expect("prompts");
    let prompts = prompts.iter().map(|prompt| {
        let arguments = prompt["arguments"].as_array().expect("arguments");
        let required = arguments.iter().filter(|it| it["required"] == true);
        let required: Vec<Value> = required.map(|it| it["name"].clone()).collect();
        let of_schema = prompt["inputSchema"]["required"].as_array();
        assert_eq!(of_schema.cloned().unwrap_or_default(), required, "{prompt}");
        let name = prompt["name"].as_str().expect("a name").to_owned();
        (name, Value::Array(required))
    });
    Value::Object(prompts.collect())
}

fn modern(client: &mut TestClient, name: Option<&str>, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(name) = name {
        let info = json!({"name": name, "version": "1"});
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = info;
    }
    client.request(method, params)
}

#[allow(clippy::needless_pass_by_value)]
fn get(client: &mut TestClient, name: &str, arguments: Value) -> String {
    let answer = client.request("prompts/get", json!({"name": name, "arguments": arguments}));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    text.as_str().unwrap_or(&answer.to_string()).to_owned()
}

#[test]
fn the_first_argument_is_listed_as_required_where_none_is() {
    let env = env(LIBRARY);
    let plain = json!({
        "lib:chosen": [], "lib:needed": ["second"], "lib:none": [], "lib:optional": [],
    });
    let for_gemini = json!({
        "lib:chosen": ["day"], "lib:needed": ["second"], "lib:none": [],
        "lib:optional": ["place"],
    });
    for (name, expected) in [
        (GEMINI, &for_gemini),
        ("gemini-cli-mcp-client-twig", &for_gemini),
        ("qwen-code", &plain),
    ] {
        let mut client = env.serve();
        client.initialize_as(name, "2025-06-18");
        let listed = client.request("prompts/list", json!({}));
        assert_eq!(required(&listed), *expected, "{name}");
    }
    // In the modern era a request names its client; what the connection said before does not count.
    let mut client = env.serve();
    client.initialize_as(GEMINI, "2025-06-18");
    for (name, expected) in [
        (Some("claude-code"), &plain),
        (Some(GEMINI), &for_gemini),
        (None, &plain),
    ] {
        let listed = modern(&mut client, name, "prompts/list", json!({}));
        assert_eq!(required(&listed), *expected, "{name:?}");
        assert_eq!(listed["result"]["cacheScope"], "private");
    }
}

#[test]
fn words_are_still_optional() {
    let env = env(LIBRARY);
    let mut client = env.serve();
    client.initialize_as(GEMINI, "2025-06-18");
    let mut get = |name: &str, arguments: Value| get(&mut client, name, arguments);
    assert_eq!(get("lib:optional", json!({"place": "Hull"})), "Hull \n");
    // The default counts, and choices do not refuse: Gemini had nothing to give.
    assert_eq!(get("lib:optional", json!({"place": ""})), "Dover \n");
    assert_eq!(get("lib:optional", json!({})), "Dover \n");
    assert_eq!(get("lib:chosen", json!({"day": ""})), "Any day\n");
    let refused = get("lib:chosen", json!({"day": "never"}));
    assert!(refused.contains("today, tomorrow"), "{refused}");
}
