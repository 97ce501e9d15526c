//! Over HTTP nobody reads where things are on the server's machine.

use serde_json::{Value, json};

use super::Served;
use crate::env;

/// Prompts of every kind, and one of each mistake whose sentence names a file.
const LIBRARIES: &str = r#"
//- good/twig.toml
[prompts.hello]
[prompts.gone]
[prompts.later]
[prompts.broken]
[prompts.computed]
[prompts.picture]
[[prompts.picture.messages]]
role = "user"
image = "shot.png"
[prompts.large]
[[prompts.large.messages]]
role = "user"
image = "large.png"
[prompts.long]
template = "none"
[prompts.program]
command = ["run"]
//- good/prompts/hello.md
Hello
//- good/prompts/later.md
Later
//- good/prompts/long.md
LONG
//- good/prompts/broken.md
{% include "nowhere.md" %}
//- good/prompts/computed.md
{% for i in range(3) %}{{ i.x.y }}{% endfor %}
//- good/run
#!/bin/sh
//- good/large.png
LARGE
//- good/docs/notes/a.md
# A note
//- bash/prompts.json
{"prompts": [{"name": "made"}]}
//- bash/prompts.bash
prompt_made() { echo hi; }
//- defs/prompts/one.json
{"name": "one", "messages": [{"role": "user", "content": {"type": "image", "file": "no.png"}}]}
//- defs/prompts/two.json
{"name": "two", "messages": [{"role": "user", "content": {"type": "text", "text": "two"}}]}
"#;

const SKILL: &str =
    "---\nname: tides\ndescription: Read tides\n---\nRun ${CLAUDE_SKILL_DIR}/x.sh\n";

fn served() -> Served {
    let env = env(LIBRARIES);
    let limits = "[limits]\nmedia = 3\nverbatim = 3\n";
    env.configure(limits);
    let skills = env.work().join("skills/tides");
    std::fs::create_dir_all(&skills).expect("ours");
    std::fs::write(skills.join("SKILL.md"), SKILL).expect("ours");
    std::fs::write(skills.join("x.sh"), "echo\n").expect("ours");
    let folder = env.work().join("skills");
    let folder = folder.to_str().expect("UTF-8");
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--log-level", "debug"]);
    command.args(["--library", folder, "--kind", "skills"]);
    let data = env.data();
    command.args(["--library", data.to_str().expect("UTF-8")]);
    Served::start(env, command)
}

/// Every text in a reply.
fn list<'v>(reply: &'v Value, key: &str, name: &str) -> Vec<&'v str> {
    let items = reply["result"][key].as_array().into_iter().flatten();
    items.filter_map(|item| item[name].as_str()).collect()
}

#[test]
fn no_reply_says_where_a_library_is() {
    let served = served();
    let mut caller = served.caller();
    let mut replies: Vec<(String, String)> = Vec::new();
    let mut ask = |method: &str, params: Value| {
        let asked = format!("{method} {params}");
        let reply = caller.modern(method, params).json();
        replies.push((asked, reply.to_string()));
        reply
    };
    // What is read on first use went away since it was listed.
    std::fs::remove_file(served.env.data().join("good/prompts/later.md")).expect("ours");
    let prompts = ask("prompts/list", json!({}));
    let mut names = list(&prompts, "prompts", "name");
    assert!(names.contains(&"skills:tides"), "{names:?}");
    names.extend([
        "good:gone",
        "good:later",
        "good:broken",
        "good:computed",
        "good:picture",
        "good:large",
        "good:long",
        "good:program",
        "made",
        "one",
        "nothing",
    ]);
    for name in names {
        ask("prompts/get", json!({"name": name}));
        let arguments = json!({"command": name, "input": "x"});
        let params = json!({"name": "expand_prompt", "arguments": arguments});
        ask("tools/call", params);
    }
    for (method, key) in [("resources/list", "resources"), ("skills/list", "skills")] {
        let listed = ask(method, json!({}));
        for uri in list(&listed, key, "uri") {
            ask("resources/read", json!({"uri": uri}));
        }
    }
    for tool in ["list_prompts", "search", "nothing"] {
        let params = json!({"name": tool, "arguments": {"query": "hello"}});
        ask("tools/call", params);
    }
    for method in [
        "server/discover",
        "tools/list",
        "resources/templates/list",
        "nothing",
    ] {
        ask(method, json!({}));
    }
    let root = served.env.root().display().to_string();
    assert!(replies.len() > 40, "{}", replies.len());
    for (asked, reply) in &replies {
        for place in [root.as_str(), "~/", ".local/share"] {
            assert!(!reply.contains(place), "{asked}: {reply}");
        }
    }
    let reply = |start: &str| {
        let found = replies.iter().find(|(asked, _)| asked.starts_with(start));
        found.map(|(_, reply)| reply.as_str()).unwrap_or_default()
    };
    for (asked, expected) in [
        (
            "good:gone",
            "Prompt content file not found: good/prompts/gone.md",
        ),
        (
            "good:later",
            "Prompt content file not found: good/prompts/later.md",
        ),
        ("good:large", "with good/large.png they hold more"),
        ("good:long", "good/prompts/long.md exceeds the limit"),
        ("good:program", "Program of the prompt good/run is not"),
        ("made", "run `twig library trust bash`"),
        (
            "skills:tides",
            "Base directory for this skill: skill://skills/tides\\nRelative",
        ),
        ("skills:tides", "Run skill://skills/tides/x.sh"),
    ] {
        let reply = reply(&format!("prompts/get {{\"name\":\"{asked}\""));
        assert!(reply.contains(expected), "{asked}: {reply}");
    }
}
