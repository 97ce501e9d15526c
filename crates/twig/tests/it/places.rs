//! Where prompts are offered: in which repository, and to which client.

mod clients;
mod repository;
mod roots;
mod skills;

use serde_json::{Value, json};
use twig_testkit::TestClient;

/// The names of a list of prompts.
fn names(answer: &Value) -> Vec<&str> {
    let prompts = answer["result"]["prompts"].as_array();
    let prompts = prompts.unwrap_or_else(|| panic!("{answer}")).iter();
    prompts
        .filter_map(|prompt| prompt["name"].as_str())
        .collect()
}

/// Starts a conversation of the legacy era as a client of this name.
fn initialize(client: &mut TestClient, name: &str, capabilities: &Value) {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": name, "version": "1"},
    });
    let answer = client.request("initialize", params);
    assert!(answer.get("result").is_some(), "{answer}");
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
}

/// A modern request of a client of this name.
fn modern(client: &mut TestClient, name: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
    });
    client.request(method, params)
}
