//! Projects in a store, served by the real binary to one client and to many.

mod agents;
mod coherence;
mod contract;
mod ending;
mod faults;
mod gone;
mod held;
mod hostile;
mod injected;
mod kills;
mod labels;
mod listed;
mod model;
mod slow;
mod soak;
mod support;
mod swapped;
mod users;
mod weight;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::TWIG;

/// The project of the contract's examples.
const PROJECT: &str = "auth-module";

/// An environment with an empty project.
fn with_project() -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    let made = env.run(["project", "create", PROJECT]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    env
}

/// A server of that project.
fn serve(env: &TestEnv) -> TestClient {
    env.serve_with(["--project", PROJECT])
}

/// Servers of one project, all of which have answered.
fn servers(env: &TestEnv, count: usize) -> Vec<TestClient> {
    let mut servers: Vec<TestClient> = (0..count).map(|_| serve(env)).collect();
    for server in &mut servers {
        server.initialize();
    }
    servers
}

/// Calls a tool; gives its result.
#[allow(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
fn call(client: &mut TestClient, tool: &str, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Calls a tool that has to do what it is asked; gives what it says.
fn done(client: &mut TestClient, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

/// Creates a prompt; gives what the tool says.
fn prompt(client: &mut TestClient, name: &str, content: &str) -> String {
    let arguments = json!({"name": name, "content": content});
    done(client, "create_prompt", arguments)
}

/// Gives a prompt another content; gives what the tool says.
fn update(client: &mut TestClient, name: &str, content: &str) -> String {
    let arguments = json!({"name": name, "content": content});
    done(client, "update_prompt", arguments)
}

/// Calls a tool that has to fail; gives what it says.
fn failed(client: &mut TestClient, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

/// The names on a client's list of prompts.
fn names(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("a list");
    let name = |prompt: &Value| prompt["name"].as_str().expect("a name").to_owned();
    prompts.iter().map(name).collect()
}

/// The text of a prompt.
fn text(client: &mut TestClient, name: &str) -> String {
    let answer = client.request("prompts/get", json!({"name": name}));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    text.as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}
