//! What is not found where a project is selected, in the words of its contract.

use serde_json::json;
use twig_mcp::Tools;

use super::agent::Agent;
use crate::support::{error, sample};

fn agent() -> Agent {
    let mut agent = Agent::with(vec![sample()], Tools::default());
    agent.says(
        "create_prompt",
        json!({"name": "code-review", "content": "c"}),
    );
    let api = json!({"name": "api", "uri": "file:///docs/api.md", "content": "c"});
    agent.says("create_resource", api);
    agent
}

#[test]
fn a_prompt_is_not_found_in_the_project() {
    let mut agent = agent();
    for modern in [false, true] {
        let params = json!({"name": "code-reveiw"});
        let reply = if modern {
            agent.peer.ask_modern("prompts/get", params)
        } else {
            agent.peer.ask("prompts/get", params)
        };
        let sentence = "Prompt 'code-reveiw' not found in project 'auth-module'";
        assert_eq!(error(&reply), (-32602, sentence.to_owned()));
        assert_eq!(reply["error"]["data"]["suggestions"][0], "code-review");
    }
    // What no stored prompt could be called was meant for a library.
    for name in ["lib:reveiw", "no such", ""] {
        let reply = agent.peer.ask("prompts/get", json!({"name": name}));
        assert_eq!(error(&reply), (-32602, format!("Prompt not found: {name}")));
    }
}

#[test]
fn a_resource_is_not_found_in_the_project() {
    let mut agent = agent();
    for method in ["resources/read", "resources/subscribe"] {
        let reply = agent
            .peer
            .ask(method, json!({"uri": "file:///docs/apo.md"}));
        let sentence = "Resource 'file:///docs/apo.md' not found in project 'auth-module'";
        assert_eq!(error(&reply), (-32602, sentence.to_owned()));
        let data = &reply["error"]["data"];
        assert_eq!(data["uri"], "file:///docs/apo.md");
        assert_eq!(data["suggestions"][0], "file:///docs/api.md");
    }
}

#[test]
fn without_a_project_nothing_speaks_of_one() {
    let mut agent = Agent::without_project(vec![sample()], Tools::default());
    let reply = agent.peer.ask("prompts/get", json!({"name": "x"}));
    assert_eq!(error(&reply).1, "Prompt not found: x");
    let reply = agent.peer.ask("resources/read", json!({"uri": "a://x"}));
    assert_eq!(error(&reply).1, "Resource not found: a://x");
}
