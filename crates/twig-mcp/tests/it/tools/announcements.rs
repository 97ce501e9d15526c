//! Who hears that the list of tools changed, and when.

use serde_json::{Value, json};
use twig_mcp::Tools;

use super::agent::{Agent, for_project};
use crate::support::{modern, request};

const CHANGED: &str = "notifications/tools/list_changed";

fn listen(agent: &mut Agent, id: u64, wanted: Value) {
    let params = modern(json!({"notifications": wanted}), json!({}));
    agent.peer.one(request(id, "subscriptions/listen", params));
}

/// Who heard that the tools changed: a subscription's id, or null for a legacy client.
fn heard(announced: &[Value]) -> Vec<Value> {
    let tools = announced.iter().filter(|it| it["method"] == CHANGED);
    tools
        .map(|it| it["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone())
        .collect()
}

fn agent(tools: Tools) -> Agent {
    let mut agent = Agent::without_project(Vec::new(), for_project(tools));
    agent.peer.initialize();
    listen(&mut agent, 1, json!({"toolsListChanged": true}));
    listen(&mut agent, 2, json!({"promptsListChanged": true}));
    agent
}

#[test]
fn a_project_that_comes_or_goes_is_announced_once() {
    let mut agent = agent(Tools::default());
    assert_eq!(heard(&agent.select()), [Value::Null, json!(1)]);
    assert_eq!(heard(&agent.peer.catch_up()), [] as [Value; 0]);
    let announced = agent.peer.publish(Vec::new());
    assert_eq!(heard(&announced), [Value::Null, json!(1)]);
    let legacy = announced.iter().find(|it| it["method"] == CHANGED);
    assert_eq!(legacy, Some(&json!({"jsonrpc": "2.0", "method": CHANGED})));
}

#[test]
fn a_write_changes_prompts_and_not_tools() {
    let mut agent = agent(Tools::default());
    agent.select();
    let arguments = json!({"name": "p", "content": "c"});
    let job = agent.start("create_prompt", arguments).0.unwrap();
    agent.run(job).unwrap();
    assert_eq!(heard(&agent.peer.prompts_changed()), [] as [Value; 0]);
}

#[test]
fn the_tools_that_read_a_project_come_and_go_with_it() {
    let mut agent = agent(Tools {
        writes: false,
        ..Tools::default()
    });
    assert_eq!(heard(&agent.select()), [Value::Null, json!(1)]);
    assert_eq!(heard(&agent.peer.publish(Vec::new())).len(), 2);
}

#[test]
fn whoever_comes_later_hears_of_what_comes_later_still() {
    let mut agent = Agent::new();
    agent.peer.initialize();
    listen(&mut agent, 1, json!({"toolsListChanged": true}));
    assert_eq!(heard(&agent.select()), [] as [Value; 0]);
    assert_eq!(heard(&agent.peer.publish(Vec::new())).len(), 2);
}
