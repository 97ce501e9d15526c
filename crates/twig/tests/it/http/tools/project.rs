//! A project that comes, goes and changes while it is served.

use serde_json::json;

use super::{Agent, Caller, Era, PROJECT, Served, both, piped, with_project};

const TOOLS: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A stream of what happens to the tools and to these resources.
fn listen(served: &Served, agent: &mut Agent, uris: &[&str]) -> Caller {
    if agent.session.is_some() {
        for uri in uris {
            agent.ask("resources/subscribe", json!({"uri": uri}));
        }
        return agent.listen(served);
    }
    let mut stream = served.caller();
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": uris});
    assert_eq!(stream.listen_for(&wanted).status, 200);
    stream.event().expect("the acknowledgement");
    stream
}

/// Waits for a notification; others may come before it.
fn hear(stream: &mut Caller, method: &str) -> serde_json::Value {
    loop {
        let event = stream.event().expect("the stream goes on");
        if event["method"] == method {
            return event;
        }
    }
}

#[test]
fn tools_that_write_come_and_go_with_the_project() {
    let served = with_project();
    let mut agents = both(&served);
    let mut streams = agents.each_mut().map(|agent| listen(&served, agent, &[]));
    let mut pipes = piped(&served);
    for (command, count) in [
        (&["project", "delete", PROJECT, "--force"][..], 4),
        (&["project", "create", PROJECT], 16),
        (&["project", "rename", PROJECT, "other"], 4),
        (&["project", "rename", "other", PROJECT], 16),
    ] {
        let outcome = served.env.run(command.iter().copied());
        assert_eq!(outcome.code, 0, "{outcome}");
        for (agent, stream) in agents.iter_mut().zip(&mut streams) {
            assert_eq!(agent.tools().len(), count, "{command:?}");
            hear(stream, TOOLS);
            let result = agent.call("delete_prompt", json!({"name": "no-such"}));
            assert_eq!(result["isError"], true, "{result}");
        }
        pipes.notification(TOOLS);
        let listed = pipes.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().map(Vec::len);
        assert_eq!(tools, Some(count), "{command:?}");
    }
}

#[test]
fn a_resource_that_changes_is_told_to_its_subscribers() {
    let served = with_project();
    let mut writer = Agent::new(&served, Era::Modern, "writer");
    for name in ["mine", "other"] {
        let create = json!({"name": name, "uri": format!("x://{name}"), "content": "one"});
        writer.done("create_resource", create);
    }
    let mut agents = both(&served);
    let mut streams = agents
        .each_mut()
        .map(|agent| listen(&served, agent, &["x://mine"]));
    let mut pipes = piped(&served);
    pipes.request("resources/subscribe", json!({"uri": "x://mine"}));
    for round in 0..5 {
        let content = format!("round {round}");
        for name in ["other", "mine"] {
            writer.done("update_resource", json!({"name": name, "content": content}));
        }
        for (agent, stream) in agents.iter_mut().zip(&mut streams) {
            assert_eq!(hear(stream, UPDATED)["params"]["uri"], "x://mine");
            let read = agent.ask("resources/read", json!({"uri": "x://mine"}));
            assert_eq!(read["contents"][0]["text"], *content);
        }
        assert_eq!(pipes.notification(UPDATED)["params"]["uri"], "x://mine");
    }
}
