//! Prompts through tools, in both eras: `list_prompts` in pages, `use_prompt` in plain content.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.fix]
description = "Fix an issue"
text = "Fix \"{{ issue }}\" in {{ language }}.\nNow."

[[prompts.fix.arguments]]
name = "issue"
required = true

[[prompts.fix.arguments]]
name = "language"
choices = ["rust", "go"]
default = "rust"

[[prompts.look.messages]]
text = "Look:"

[[prompts.look.messages]]
image = "page.png"

[[prompts.look.messages]]
text = "What is wrong?"
"#;

/// What Codex shows a model of one result.
const SHOWN_BY_CODEX: usize = 12_000;

fn library() -> TestEnv {
    let env = env(LIBRARY);
    env.write("lib/page.png", b"\x89PNG\r\n\x1a\n\0\xff");
    env
}

/// Asks in one of the eras.
fn ask(client: &mut TestClient, is_modern: bool, method: &str, params: Value) -> Value {
    let mut answer = if is_modern {
        client.modern(method, params)
    } else {
        client.request(method, params)
    };
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].take()
}

#[allow(clippy::needless_pass_by_value)]
fn call(client: &mut TestClient, is_modern: bool, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    ask(client, is_modern, "tools/call", params)
}

#[test]
fn use_prompt_answers_with_what_a_model_can_follow() {
    let env = library();
    let mut client = env.serve();
    for is_modern in [false, true] {
        let arguments = json!({"command": ":fix", "input": "language=go the \"big\" one"});
        let result = call(&mut client, is_modern, "use_prompt", arguments);
        let text = "Fix \"the \"big\" one\" in go.\nNow.";
        assert_eq!(result["content"], json!([{"type": "text", "text": text}]));
        assert_eq!(result.get("structuredContent"), None);

        let result = call(
            &mut client,
            is_modern,
            "use_prompt",
            json!({"command": "lib:look"}),
        );
        assert_eq!(
            result["content"],
            json!([
                {"type": "text", "text": "Look:"},
                {"type": "image", "data": "iVBORw0KGgoA/w==", "mimeType": "image/png"},
                {"type": "text", "text": "What is wrong?"},
            ])
        );

        let result = call(
            &mut client,
            is_modern,
            "use_prompt",
            json!({"command": "fix"}),
        );
        assert_eq!(result["isError"], true);
        assert_eq!(
            result["content"][0]["text"],
            "Error: Missing required argument: issue
Give them in `input` as key=value or key=\"several words\". `lib:fix` takes:
- issue (required)
- language (optional, one of: rust, go; default: rust)"
        );
    }
}

#[test]
fn a_server_says_how_its_prompts_are_called() {
    let env = library();
    let mut client = env.serve();
    let legacy = client.initialize();
    let modern = ask(&mut client, true, "server/discover", json!({}));
    let instructions = legacy["instructions"].as_str().expect("instructions");
    assert_eq!(modern["instructions"], instructions);
    assert!(
        instructions.contains("a word such as `:name`"),
        "{instructions}"
    );
    for tool in ["use_prompt", "search", "list_prompts"] {
        assert!(instructions.contains(tool), "{instructions}");
    }
    env.configure("trigger = \"!\"\n");
    let other = env.serve().initialize();
    let instructions = other["instructions"].as_str().expect("instructions");
    assert!(
        instructions.contains("a word such as `!name`"),
        "{instructions}"
    );
}

#[test]
fn a_long_list_of_prompts_comes_in_pages() {
    let env = library();
    let description = "words ".repeat(30);
    let prompts = (0..225).map(|at| {
        format!("[prompts.p{at:03}]\ndescription = \"{description}\"\ntext = \"Do {at}\"\n")
    });
    env.write("many/twig.toml", prompts.collect::<String>());
    let mut client = env.serve();
    for is_modern in [false, true] {
        let mut names = Vec::new();
        let mut arguments = json!({});
        loop {
            let result = call(&mut client, is_modern, "list_prompts", arguments.clone());
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert!(text.len() < SHOWN_BY_CODEX, "{}", text.len());
            let listed = &result["structuredContent"];
            let prompts = listed["prompts"].as_array().expect("a list");
            let listed_names = prompts
                .iter()
                .map(|it| it["name"].as_str().expect("a name"));
            names.extend(listed_names.map(str::to_owned));
            match listed.get("nextCursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!(names.len(), 227);
        let result = call(
            &mut client,
            is_modern,
            "list_prompts",
            json!({"filter": "fix issue"}),
        );
        assert_eq!(
            result["structuredContent"],
            json!({"prompts": [{"name": "lib:fix", "description": "Fix an issue", "arguments": [
                {"name": "issue", "required": true},
                {"name": "language", "required": false, "choices": ["rust", "go"],
                    "default": "rust"},
            ]}]})
        );
    }
}

/// The one argument of another client's file is the line as it was typed.
#[test]
fn a_pair_inside_a_line_is_a_part_of_it() {
    let env = env("//- c/explain.md\nExplain: $ARGUMENTS\n//- c/plain.md\nRun the tests.\n");
    let folder = env.data().join("c").display().to_string();
    let mut client = env.serve_with(["--library", &folder, "--kind", "claude"]);
    client.initialize();
    let mut text = |command: &str, input: &str| {
        let arguments = json!({"command": command, "input": input});
        let answer = call(&mut client, false, "use_prompt", arguments);
        answer["content"][0]["text"].as_str().map(str::to_owned)
    };
    let line = "why does arguments=5 fail in main()";
    assert_eq!(text("explain", line), Some(format!("Explain: {line}\n")));
    let run = text("plain", line);
    assert_eq!(run, Some(format!("Run the tests.\n\nARGUMENTS: {line}")));
    let pair = text("explain", "arguments=\"the tides\"");
    assert_eq!(pair.as_deref(), Some("Explain: the tides\n"));
}
