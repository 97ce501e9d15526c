//! `initialize`, `ping` and `server/discover`.

use serde_json::{Value, json};

use twig_core::Limits;
use twig_core::store::{Noun, StoreName};
use twig_mcp::Tools;

use crate::support::{Peer, server_meta};

const INSTRUCTIONS: &str = "Twig serves the user's own prompts, skills and documents. If a message contains a word such as `:name`, perhaps followed by more words, call use_prompt with that name as the command and those words as the input, then follow the text that it returns. To find a prompt or skill that fits a task, call search with the user's own words; list_prompts lists all of them.";

fn capabilities() -> Value {
    json!({
        "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "tools": {"listChanged": true},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
    })
}

#[test]
fn initialize_says_who_is_there() {
    let reply = Peer::new().ask(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c"}}),
    );
    assert_eq!(
        reply,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities(),
            "serverInfo": {"name": "twig", "title": "Twig", "version": "1.2.3"},
            "instructions": INSTRUCTIONS,
        }})
    );
}

#[test]
fn initialize_agrees_on_a_legacy_version_and_may_come_again() {
    let mut peer = Peer::new();
    for (requested, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let reply = peer.ask("initialize", json!({"protocolVersion": requested}));
        assert_eq!(reply["result"]["protocolVersion"], agreed);
    }
}

#[test]
fn requests_are_served_before_initialize() {
    let mut peer = Peer::new();
    assert_eq!(peer.ask("ping", json!({}))["result"], json!({}));
    assert!(peer.ask("prompts/list", json!({}))["result"]["prompts"].is_array());
}

#[test]
fn discover_says_what_is_spoken() {
    let reply = Peer::new().ask_modern("server/discover", json!({}));
    assert_eq!(
        reply["result"],
        json!({
            "supportedVersions":
                ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": capabilities(),
            "instructions": INSTRUCTIONS,
            "ttlMs": 60000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_meta(),
        })
    );
}

#[test]
fn instructions_name_the_trigger_and_the_tools_of_this_server() {
    let instructions = |tools: Tools| {
        let mut peer = Peer::with_tools(Vec::new(), Limits::default(), tools);
        let reply = peer.ask("initialize", json!({"protocolVersion": "2025-06-18"}));
        let legacy = reply["result"]["instructions"].as_str().unwrap().to_owned();
        let modern = peer.ask_modern("server/discover", json!({}));
        assert_eq!(modern["result"]["instructions"], legacy);
        assert!(legacy.len() < 600, "{legacy}");
        legacy
    };
    let other = Tools {
        trigger: "!".to_owned(),
        ..Tools::default()
    };
    assert_eq!(instructions(other), INSTRUCTIONS.replace(":name", "!name"));
    let project = |writes: bool| Tools {
        project: StoreName::parse(Noun::Project, "docs").ok(),
        writes,
        ..Tools::default()
    };
    assert_eq!(
        instructions(project(true)),
        format!(
            "{INSTRUCTIONS} create_prompt, update_prompt and delete_prompt write to the project `docs`."
        )
    );
    assert_eq!(
        instructions(project(false)),
        format!("{INSTRUCTIONS} get_prompt and history read the project `docs`.")
    );
}
