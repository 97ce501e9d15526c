//! Clients that take a prompt for the template of a command: opencode and its forks.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.exec-doc]
template = "none"

[prompts.value]

[[prompts.value.arguments]]
name = "x"
required = true
choices = ["one", "two"]
//- lib/prompts/exec-doc.md
To clean, run !`touch PWNED`. It costs $5.
//- lib/prompts/value.md
value !{{ x }} end, not $1
"#;

const RUN: &str = "To clean, run !`touch PWNED`. It costs $5.\n";
const SAFE: &str = "To clean, run ! `touch PWNED`. It costs $ 5.\n";

fn connected(env: &TestEnv, name: &str) -> TestClient {
    let mut client = env.serve();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": name, "version": "7.7.9"}});
    client.request("initialize", params);
    client
}

#[allow(clippy::needless_pass_by_value)]
fn get(client: &mut TestClient, name: &str, arguments: Value) -> String {
    let answer = client.request("prompts/get", json!({"name": name, "arguments": arguments}));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    text.as_str()
        .unwrap_or(&answer["error"].to_string())
        .to_owned()
}

#[test]
fn nothing_that_a_prompt_says_is_run() {
    let env = env(LIBRARY);
    for name in ["opencode", "kilo"] {
        let mut client = connected(&env, name);
        assert_eq!(get(&mut client, "lib:exec-doc", json!({})), SAFE, "{name}");
        let text = get(&mut client, "lib:value", json!({"x": "$1"}));
        assert_eq!(text, "value ! $1 end, not $ 1\n", "{name}");
    }
}

#[test]
fn a_fork_is_known_by_how_it_asks_or_by_the_configuration() {
    let env = env(LIBRARY);
    let mut client = connected(&env, "acme-code");
    assert_eq!(get(&mut client, "lib:exec-doc", json!({})), RUN);
    // It asks for this prompt in a way that says what it is: what it gives is checked from now on
    // by the person who fills it in.
    let text = get(&mut client, "lib:value", json!({"x": "$1"}));
    assert_eq!(text, "value ! $1 end, not $ 1\n");
    assert_eq!(get(&mut client, "lib:exec-doc", json!({})), SAFE);
    env.configure("[clients]\nlike_opencode = [\"acme-code\"]\n");
    let mut client = connected(&env, "acme-code");
    assert_eq!(get(&mut client, "lib:exec-doc", json!({})), SAFE);
}

#[test]
fn other_clients_get_the_text_as_it_is() {
    let env = env(LIBRARY);
    let mut client = connected(&env, "claude-code");
    let refused = get(&mut client, "lib:value", json!({"x": "$1"}));
    assert!(refused.contains("must be one of: one, two"), "{refused}");
    assert_eq!(get(&mut client, "lib:exec-doc", json!({})), RUN);
}

#[test]
fn a_list_that_is_none_is_refused() {
    let env = env(LIBRARY);
    for config in [
        "clients = 3\n",
        "[clients]\nlike_opencode = \"x\"\n",
        "[clients]\nlike_opencode = [\"\"]\n",
    ] {
        env.configure(config);
        let outcome = env.run(["list"]);
        assert_eq!(outcome.code, 1, "{config}");
        let expected = [
            "`clients` has to be a table",
            "is a list of names of clients",
        ];
        assert!(
            expected.iter().any(|it| outcome.stderr.contains(it)),
            "{}",
            outcome.stderr
        );
    }
}
