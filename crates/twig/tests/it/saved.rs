//! What was saved a moment ago is what is served: manifests, definitions and front matter, too.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;
use crate::functions::trust;

/// How often a file is saved and asked for; `TWIG_TEST_SAVES` says more.
fn rounds() -> usize {
    let said = std::env::var("TWIG_TEST_SAVES").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(12)
}

fn started(env: &TestEnv) -> TestClient {
    let mut client = env.serve();
    client.initialize();
    client
}

fn get(client: &mut TestClient, name: &str) -> Value {
    client.request("prompts/get", json!({"name": name}))
}

/// Saves in place, or as editors do: a new file that takes the old one's name.
fn save(env: &TestEnv, path: &str, text: &str, round: usize) {
    if round.is_multiple_of(2) {
        return env.write(path, text);
    }
    let fresh = format!("{path}.tmp");
    env.write(&fresh, text);
    let data = env.data();
    fs::rename(data.join(fresh), data.join(path)).expect("ours");
}

/// Saves again and again, and asks at once; gives how often what was served was old.
fn old(
    path: &str,
    name: &str,
    text: impl Fn(usize) -> String,
    is_new: impl Fn(&Value, usize) -> bool,
) {
    let env = env("");
    env.write(path, text(0));
    let mut client = started(&env);
    let mut old = 0;
    for round in 0..rounds() {
        save(&env, path, &text(round), round);
        old += usize::from(!is_new(&get(&mut client, name), round));
    }
    assert_eq!(old, 0, "{path}: of {} saves", rounds());
}

fn text(reply: &Value) -> &str {
    let text = &reply["result"]["messages"][0]["content"]["text"];
    text.as_str().unwrap_or_default()
}

fn says(reply: &Value, round: usize) -> bool {
    text(reply) == format!("round {round}")
}

fn describes(reply: &Value, round: usize) -> bool {
    reply["result"]["description"] == format!("round {round}")
}

#[test]
fn a_message_in_a_manifest_is_never_old() {
    let manifest = |round: usize| {
        format!("[prompts.p]\n[[prompts.p.messages]]\nrole = \"user\"\ntext = \"round {round}\"\n")
    };
    old("lib/twig.toml", "lib:p", manifest, says);
}

#[test]
fn what_a_manifest_says_of_a_prompt_is_never_old() {
    let manifest = |round: usize| {
        format!(
            "[prompts.p]\ndescription = \"round {round}\"\n[[prompts.p.arguments]]\nname = \"a{round}\"\nrequired = true\n[[prompts.p.messages]]\nrole = \"user\"\ntext = \"hi\"\n"
        )
    };
    let asks = |reply: &Value, round: usize| {
        let sentence = reply["error"]["message"].as_str().unwrap_or_default();
        sentence == format!("Missing required argument: a{round}")
    };
    old("lib/twig.toml", "lib:p", manifest, asks);
}

#[test]
fn a_definition_is_never_old() {
    let definition = |round: usize| {
        let text = format!("round {round}");
        let content = json!({"type": "text", "text": text});
        json!({"name": "d", "messages": [{"role": "user", "content": content}]}).to_string()
    };
    old("lib/prompts/d.json", "d", definition, says);
}

#[test]
fn front_matter_is_never_old() {
    let file = |round: usize| format!("---\ndescription: round {round}\n---\nHi\n");
    let env = env("");
    let path = env.work().join(".claude/commands/c.md");
    fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
    fs::write(&path, file(0)).expect("ours");
    let folder = env.work().join(".claude/commands");
    let folder = folder.to_str().expect("UTF-8");
    let mut client = env.serve_with(["--library", folder]);
    client.initialize();
    let name = first_name(&mut client);
    let mut old = 0;
    for round in 0..rounds() {
        fs::write(&path, file(round)).expect("ours");
        old += usize::from(!describes(&get(&mut client, &name), round));
    }
    assert_eq!(old, 0, "of {} saves", rounds());
}

fn first_name(client: &mut TestClient) -> String {
    let listed = client.request("prompts/list", json!({}));
    let name = &listed["result"]["prompts"][0]["name"];
    name.as_str().expect("a prompt").to_owned()
}

#[test]
fn a_list_of_functions_is_never_old() {
    let env = env(r#"
//- box/prompts.json
[{"name": "f"}]
//- box/prompts.bash
prompt_f() { echo '{"messages":[{"role":"user","content":{"type":"text","text":"ran"}}]}'; }
"#);
    trust(&env, "box");
    let mut client = started(&env);
    for round in 0..rounds().min(50) {
        while text(&get(&mut client, "f")) != "ran" {}
        // It is not what was trusted, so nothing of it is run any more.
        let list = json!([{"name": "f", "description": format!("round {round}")}]);
        env.write("box/prompts.json", list.to_string());
        let reply = get(&mut client, "f");
        let sentence = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(sentence.contains("changed since it was trusted"), "{reply}");
        trust(&env, "box");
    }
}

#[test]
fn tools_and_http_serve_what_was_saved_too() {
    let env = env("");
    let manifest = |round: usize| {
        format!("[prompts.p]\n[[prompts.p.messages]]\nrole = \"user\"\ntext = \"round {round}\"\n")
    };
    env.write("lib/twig.toml", manifest(0));
    let served = crate::http::Served::from_env(env);
    let mut caller = served.caller();
    for round in 1..rounds() {
        served.env.write("lib/twig.toml", manifest(round));
        let reply = if round.is_multiple_of(2) {
            caller.modern("prompts/get", json!({"name": "lib:p"}))
        } else {
            let arguments = json!({"command": "lib:p", "input": ""});
            let params = json!({"name": "expand_prompt", "arguments": arguments});
            caller.modern("tools/call", params)
        };
        let body = reply.json().to_string();
        assert!(body.contains(&format!("round {round}")), "{round}: {body}");
    }
}

#[test]
fn a_file_that_is_broken_or_away_for_a_moment_leaves_the_last_good_one() {
    let good = "[prompts.p]\n[[prompts.p.messages]]\nrole = \"user\"\ntext = \"good\"\n";
    let env = env("");
    env.write("lib/twig.toml", good);
    let mut client = started(&env);
    assert_eq!(text(&get(&mut client, "lib:p")), "good");
    for half in [&good[..good.len() / 2], "[prompts.p", "\u{1}"] {
        env.write("lib/twig.toml", half);
        assert_eq!(text(&get(&mut client, "lib:p")), "good", "{half:?}");
    }
    env.write("lib/twig.toml", good);
    assert_eq!(text(&get(&mut client, "lib:p")), "good");
    let (file, away) = (
        env.data().join("lib/twig.toml"),
        env.data().join("lib/away"),
    );
    move_away_and_ask(&mut client, &file, &away);
}

/// A file that is away for longer than a moment is gone, and on a busy machine an answer may take that
/// long: only an answer in time proves something.
fn move_away_and_ask(client: &mut TestClient, file: &Path, away: &Path) {
    const MOMENT: Duration = Duration::from_millis(4);
    for _ in 0..100 {
        let start = Instant::now();
        fs::rename(file, away).expect("ours");
        let reply = get(client, "lib:p");
        let is_late = start.elapsed() > MOMENT;
        fs::rename(away, file).expect("ours");
        if text(&reply) == "good" {
            return;
        }
        assert!(is_late, "after {:?}: {reply}", start.elapsed());
        assert_eq!(text(&get(client, "lib:p")), "good");
    }
    panic!("no answer came within a moment");
}
