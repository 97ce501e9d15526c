//! Tools of a project over HTTP, for clients of both eras.

use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{MODERN, TestClient, TestEnv, write_fixture};

use super::Served;
use super::client::{ACCEPT, Caller, legacy};
use crate::TWIG;

mod crowd;
mod ending;
mod project;

const PROJECT: &str = "auth-module";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

/// A server of an empty project, beside a library.
fn served(args: &[&str]) -> Served {
    let env = TestEnv::in_memory(TWIG);
    write_fixture(
        &env.work(),
        "//- notes/research.md\n---\ndescription: Look into a topic\n---\nLook into {{input}}.\n",
    );
    let made = env.run(["project", "create", PROJECT]);
    assert_eq!(made.code, 0, "{made}");
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--library", "notes"]);
    command.args(args);
    Served::start(env, command)
}

fn with_project() -> Served {
    served(&["--project", PROJECT])
}

/// A server of the same project over pipes.
fn piped(served: &Served) -> TestClient {
    let mut client = served.env.serve_with(["--project", PROJECT]);
    client.initialize();
    client
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

/// A client with a name, on a connection of its own.
struct Agent {
    caller: Caller,
    name: String,
    session: Option<String>,
}

impl Agent {
    fn new(served: &Served, era: Era, name: &str) -> Self {
        let mut caller = served.caller();
        let session = (era == Era::Legacy).then(|| {
            let info = json!({"name": name, "version": "0"});
            let params =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
            let response = caller.post(&[], &legacy("initialize", params));
            let session = response.header("mcp-session-id").expect("a session");
            session.to_owned()
        });
        Self {
            caller,
            name: name.to_owned(),
            session,
        }
    }

    /// Sends a request.
    fn start(&mut self, method: &str, mut params: Value) {
        let mut headers = vec![("content-type", "application/json"), ("accept", ACCEPT)];
        let named = params.get("name").or(params.get("uri"));
        let named = named.and_then(Value::as_str).map(str::to_owned);
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
            headers.push(("mcp-protocol-version", "2025-11-25"));
        } else {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "0"},
            });
            headers.push(("mcp-protocol-version", MODERN));
            headers.push(("mcp-method", method));
            headers.extend(named.as_deref().map(|name| ("mcp-name", name)));
        }
        let body = legacy(method, params).to_string();
        self.caller.start("POST", &headers, body.as_bytes());
    }

    /// The whole answer to a request.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.start(method, params);
        self.caller.response().json()
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    fn start_call(&mut self, tool: &str, arguments: &Value) {
        self.start("tools/call", json!({"name": tool, "arguments": arguments}));
    }

    #[allow(clippy::needless_pass_by_value)]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.start_call(tool, &arguments);
        self.result()
    }

    /// The result of a call that was started.
    fn result(&mut self) -> Value {
        let mut answer = self.caller.response().json();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// Calls a tool that has to do what it is asked; gives what it says.
    fn done(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"].as_bool(), Some(false), "{result}");
        said(&result)
    }

    fn tools(&mut self) -> Vec<String> {
        self.names("tools/list", "tools")
    }

    fn prompts(&mut self) -> Vec<String> {
        self.names("prompts/list", "prompts")
    }

    fn names(&mut self, method: &str, list: &str) -> Vec<String> {
        let result = self.ask(method, json!({}));
        let items = result[list].as_array().expect("a list");
        let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
        items.iter().map(name).collect()
    }

    fn text(&mut self, name: &str) -> String {
        let result = self.ask("prompts/get", json!({"name": name}));
        let text = result["messages"][0]["content"]["text"].as_str();
        text.unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// Opens a stream on a further connection; gives it once all changes are heard on it.
    fn listen(&self, served: &Served) -> Caller {
        let mut stream = served.caller();
        if let Some(session) = &self.session {
            let headers = [
                ("mcp-session-id", &**session),
                ("accept", "text/event-stream"),
            ];
            stream.start("GET", &headers, b"");
            assert_eq!(stream.head().status, 200);
        } else {
            let wanted = json!({"promptsListChanged": true, "resourcesListChanged": true});
            assert_eq!(stream.listen_for(&wanted).status, 200);
            let first = stream.event().expect("the acknowledgement");
            assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        }
        stream
    }
}

fn said(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

fn both(served: &Served) -> [Agent; 2] {
    [
        Agent::new(served, Era::Legacy, "old-client"),
        Agent::new(served, Era::Modern, "new-client"),
    ]
}

#[test]
fn an_agent_of_either_era_keeps_a_project() {
    let served = with_project();
    for (at, mut agent) in both(&served).into_iter().enumerate() {
        let name = format!("greet-{at}");
        let uri = format!("docs://greet/{at}");
        let create =
            json!({"name": name, "content": "Hello {{input}}", "description": "Greets somebody"});
        let result = agent.call("create_prompt", create);
        assert_eq!(
            said(&result),
            format!("Created prompt '{name}' in project '{PROJECT}'")
        );
        assert_eq!(
            result["structuredContent"],
            json!({"project": PROJECT, "name": name, "version": 1, "changed": true})
        );
        let update = json!({"name": name, "content": "Good day", "expected_version": 1});
        agent.done("update_prompt", update);
        assert_eq!(agent.text(&name), "Good day");
        let listed = agent.call("list_prompts", json!({}));
        let prompts = listed["structuredContent"]["prompts"].as_array();
        let mine = prompts.and_then(|all| all.iter().find(|prompt| prompt["name"] == *name));
        assert_eq!(
            mine.expect("it is listed")["description"],
            "Greets somebody"
        );
        let expanded = agent.call(
            "expand_prompt",
            json!({"command": "research", "input": "bees"}),
        );
        assert_eq!(
            expanded["structuredContent"]["prompt"], "Look into bees.",
            "{expanded}"
        );
        let used = agent.call(
            "use_prompt",
            json!({"command": "research", "input": "bees"}),
        );
        let text = json!([{"type": "text", "text": "Look into bees."}]);
        assert_eq!(
            (&used["content"], &used["structuredContent"]),
            (&text, &Value::Null)
        );
        let listed = agent.call("list_prompts", json!({"filter": "TOPIC"}));
        assert_eq!(
            listed["structuredContent"],
            json!({"prompts": [{"name": "research", "description": "Look into a topic"}]})
        );
        let expanded = agent.call("expand_prompt", json!({"command": name, "input": "Ada"}));
        assert_eq!(expanded["structuredContent"]["prompt"], "Good day\n\nAda");
        let image = json!({"name": name, "uri": uri, "content": "AQI=", "mime_type": "image/png"});
        agent.done("create_resource", image);
        let read = agent.ask("resources/read", json!({"uri": uri}));
        assert_eq!(read["contents"][0]["blob"], "AQI=");
        let text =
            json!({"name": name, "content": "a meadow of foxgloves", "mime_type": "text/plain"});
        agent.done("update_resource", text);
        let found = agent.call("search", json!({"query": "mead foxg"}));
        assert_eq!(
            found["structuredContent"]["results"][0]["uri"], *uri,
            "{found}"
        );
        agent.done("delete_resource", json!({"name": name}));
        agent.done(
            "delete_prompt",
            json!({"name": name, "expected_version": 2}),
        );
        assert_eq!(agent.prompts(), ["research"]);
        let found = agent.call("search", json!({"query": "foxgloves"}));
        assert_eq!(found["structuredContent"]["results"], json!([]));
    }
}

#[test]
fn a_write_is_seen_and_heard_by_everybody() {
    const ROUNDS: usize = 6;
    let served = with_project();
    let mut others = both(&served);
    let mut streams = [others[0].listen(&served), others[1].listen(&served)];
    let mut writers = both(&served);
    let mut pipes = piped(&served);
    for round in 0..ROUNDS {
        let name = format!("p{round}");
        let arguments = json!({"name": name, "content": format!("text {round}")});
        // Whoever writes, of whatever era, over whatever transport.
        if let Some(writer) = writers.get_mut(round % 3) {
            writer.done("create_prompt", arguments);
        } else {
            let result = pipes.request(
                "tools/call",
                json!({"name": "create_prompt", "arguments": arguments}),
            );
            assert_eq!(result["result"]["isError"], false, "{result}");
        }
        for other in &mut others {
            assert!(other.prompts().contains(&name));
            assert_eq!(other.text(&name), format!("text {round}"));
        }
        let got = pipes.request("prompts/get", json!({"name": name}));
        assert_eq!(
            got["result"]["messages"][0]["content"]["text"],
            format!("text {round}")
        );
        for stream in &mut streams {
            assert_eq!(stream.event().expect("a change")["method"], PROMPTS);
        }
        pipes.notification(PROMPTS);
    }
    let [writer, _] = &mut writers;
    writer.done(
        "create_resource",
        json!({"name": "r", "uri": "x://r", "content": "x"}),
    );
    for stream in &mut streams {
        assert_eq!(stream.event().expect("a change")["method"], RESOURCES);
    }
    pipes.notification(RESOURCES);
    let params = json!({"name": "delete_resource", "arguments": {"name": "r"}});
    pipes.request("tools/call", params);
    for (stream, other) in streams.iter_mut().zip(&mut others) {
        let listed = other.ask("resources/list", json!({}));
        assert_eq!(listed["resources"], json!([]));
        assert_eq!(stream.event().expect("a change")["method"], RESOURCES);
    }
}

/// Each version names the client that wrote it.
#[test]
fn writes_are_recorded_under_the_names_of_their_clients() {
    let served = with_project();
    let [mut old, mut new] = both(&served);
    old.done("create_prompt", json!({"name": "p", "content": "one"}));
    new.done("update_prompt", json!({"name": "p", "content": "two"}));
    old.done("delete_prompt", json!({"name": "p"}));
    new.done("restore", json!({"name": "p"}));
    let updated = served.env.run(["prompt", "update", "p", "-c", "three"]);
    assert_eq!(updated.code, 0, "{updated}");
    // A client that does not say who it is.
    let mut caller = served.caller();
    let update = json!({"name": "p", "content": "four"});
    let call = json!({"name": "update_prompt", "arguments": update});
    assert_eq!(caller.modern("tools/call", call).status, 200);
    let expected = [
        "old-client (mcp)",
        "new-client (mcp)",
        "old-client (mcp)",
        "new-client (mcp)",
        "twig",
        "unknown (mcp)",
    ];
    let authors = |versions: &Value| -> Vec<String> {
        let versions = versions.as_array().expect("a list").iter();
        let author = versions.map(|it| it["author"].as_str().expect("a name").to_owned());
        author.collect()
    };
    let history = served.env.run(["prompt", "history", "p", "--json"]);
    let history: Value = serde_json::from_str(&history.stdout).expect("JSON");
    assert_eq!(authors(&history), expected);
    for agent in [&mut old, &mut new] {
        let history = agent.call("history", json!({"name": "p"}));
        let mut told = authors(&history["structuredContent"]["versions"]);
        told.reverse();
        assert_eq!(told, expected);
    }
}
