//! The folders that a legacy client over stdio works in.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

use super::{initialize, names};
use crate::TWIG;

/// Two repositories, one with commands that were added for it alone, and one with a `.twig`.
fn machine() -> TestEnv {
    let env = TestEnv::with(
        TWIG,
        "//- team/twig.toml\n[prompts.ship]\ntext = \"Ship.\"\n",
    );
    write_fixture(
        env.root(),
        "//- one two/.git/HEAD\nref\n//- one two/.claude/commands/fix.md\nFix.\n\
         //- shop/.twig/twig.toml\n[prompts.sell]\ntext = \"Sell.\"\n//- shop/src/x.txt\nx\n",
    );
    let one = env.root().join("one two");
    let entry = format!(
        "[[libraries]]\npath = \"{0}/.claude/commands\"\nrepository = \"{0}\"\n",
        one.display()
    );
    env.configure(&entry);
    env
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display().to_string().replace(' ', "%20"))
}

/// Answers the server's next request for roots.
fn answer(client: &mut TestClient, folders: &[&Path]) {
    let request = client.wait_for(|message| message["method"] == "roots/list");
    let roots: Vec<Value> = folders.iter().map(|it| json!({"uri": uri(it)})).collect();
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": roots}});
    client.send(reply.to_string());
}

fn listed(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    names(&answer).into_iter().map(str::to_owned).collect()
}

#[test]
fn the_roots_of_a_client_are_served_and_followed() {
    let env = machine();
    let (one, shop) = (env.root().join("one two"), env.root().join("shop/src"));
    let mut client = env.serve();
    initialize(
        &mut client,
        "acme",
        &json!({"roots": {"listChanged": true}}),
    );
    assert_eq!(listed(&mut client), ["team:ship"]);
    answer(&mut client, &[&one]);
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["claude:fix", "team:ship"]);
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    client.send(changed.to_string());
    answer(&mut client, &[&shop]);
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["sell", "team:ship"]);
    // A new file in a root is noticed as everywhere.
    let manifest = env.root().join("shop/.twig/twig.toml");
    fs::write(manifest, "[prompts.buy]\ntext = \"Buy.\"\n").expect("writable");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["buy", "team:ship"]);
}

#[test]
fn a_client_is_not_offered_what_it_loads_from_its_roots() {
    let env = machine();
    let mut client = env.serve();
    initialize(&mut client, "claude-code", &json!({"roots": {}}));
    answer(
        &mut client,
        &[&env.root().join("one two"), &env.root().join("shop")],
    );
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["sell", "team:ship"]);
    let found = client.request("prompts/get", json!({"name": "claude:fix"}));
    assert!(found.get("result").is_some(), "{found}");
}

#[test]
fn an_answer_that_never_comes_or_is_wrong_changes_nothing() {
    let env = machine();
    let mut client = env.serve();
    initialize(&mut client, "acme", &json!({"roots": {}}));
    let request = client.wait_for(|message| message["method"] == "roots/list");
    // However often it says so, one request is open at a time.
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    for _ in 0..5 {
        client.send(changed.to_string());
    }
    assert_eq!(listed(&mut client), ["team:ship"]);
    assert_eq!(client.pending("roots/list"), 0);
    let error = json!({"code": -32601, "message": "no"});
    client.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string());
    let request = client.wait_for(|message| message["method"] == "roots/list");
    let wrong = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": "https://x"}, {"uri": "file://other/x"}]}});
    client.send(wrong.to_string());
    assert_eq!(listed(&mut client), ["team:ship"]);
    assert_eq!(client.pending("roots/list"), 0);
}

#[test]
fn clients_without_roots_and_modern_ones_are_not_asked() {
    let env = machine();
    let mut client = env.serve();
    initialize(&mut client, "acme", &json!({}));
    assert_eq!(listed(&mut client), ["team:ship"]);
    client.modern("prompts/list", json!({}));
    assert_eq!(client.pending("roots/list"), 0);
    // An answer to a question that was not asked is ignored.
    let roots = json!({"roots": [{"uri": uri(&env.root().join("shop"))}]});
    client.send(json!({"jsonrpc": "2.0", "id": "twig-roots-1", "result": roots}).to_string());
    client.send(json!({"jsonrpc": "2.0", "id": "twig-roots-0", "result": roots}).to_string());
    assert_eq!(listed(&mut client), ["team:ship"]);
}
