//! What each protocol revision gets: links and audio only where it has them.

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::env;
use crate::http::Served;
use crate::http::client::legacy;

/// A prompt with a text, a link and audio; the same made by a computed template; and a skill with
/// files.
const LIBRARY: &str = r#"
//- lib/twig.toml
[[prompts.rich.messages]]
text = "Listen to this."
[[prompts.rich.messages]]
resource_link = "twig://lib/tides/dover"
[[prompts.rich.messages]]
audio = "bell.mp3"

[[prompts.computed.messages]]
text = "{% for i in range(2) %}{{ i }}{% endfor %}"
[[prompts.computed.messages]]
resource_link = "twig://lib/tides/dover"
//- lib/docs/tides/dover.md
# Dover
"#;

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn library() -> TestEnv {
    let env = env(LIBRARY);
    env.write("lib/bell.mp3", b"ID3");
    env
}

fn link(version: &str) -> Value {
    if version >= "2025-06-18" {
        json!({
            "type": "resource_link", "uri": "twig://lib/tides/dover", "name": "tides/dover",
            "title": "Dover", "mimeType": "text/markdown",
        })
    } else {
        json!({"type": "text", "text": "Resource \"tides/dover\" at twig://lib/tides/dover: Dover"})
    }
}

fn audio(version: &str) -> Value {
    if version >= "2025-03-26" {
        json!({"type": "audio", "data": "SUQz", "mimeType": "audio/mpeg"})
    } else {
        let text =
            "Audio (audio/mpeg, 3 bytes) is left out here: this client's version of MCP has none.";
        json!({"type": "text", "text": text})
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Asks for every prompt and calls the tool, and compares the contents with those of a version.
fn check(version: &str, mut ask: impl FnMut(&str, Value) -> Value) {
    let (link, audio) = (link(version), audio(version));
    for (name, contents) in [
        (
            "lib:rich",
            vec![text("Listen to this."), link.clone(), audio.clone()],
        ),
        ("lib:computed", vec![text("01"), link.clone()]),
    ] {
        let got = ask("prompts/get", json!({"name": name}));
        let messages = got["result"]["messages"].as_array().expect("messages");
        let got: Vec<&Value> = messages.iter().map(|message| &message["content"]).collect();
        assert_eq!(got, contents.iter().collect::<Vec<_>>(), "{version} {name}");
        let arguments = json!({"command": name, "input": ""});
        let called = ask(
            "tools/call",
            json!({"name": "expand_prompt", "arguments": arguments}),
        );
        let called = called["result"]["content"].as_array().expect("content");
        assert_eq!(called[1..], contents[1..], "{version} {name}");
    }
}

#[test]
fn links_and_audio_are_texts_before_the_revision_that_has_them() {
    let env = library();
    for version in REVISIONS {
        let mut client = env.serve();
        let agreed = client.initialize_as("testkit", version);
        assert_eq!(agreed["protocolVersion"], version);
        check(version, |method, params| client.request(method, params));
    }
    let mut client = env.serve();
    // A modern request has its own revision, whatever the connection agreed on.
    client.initialize_as("testkit", "2024-11-05");
    check("2026-07-28", |method, params| client.modern(method, params));
    // An unknown revision is answered with the newest one.
    let agreed = client.initialize_as("testkit", "2023-01-01");
    assert_eq!(agreed["protocolVersion"], "2025-11-25");
    check("2025-11-25", |method, params| {
        client.request(method, params)
    });
}

#[test]
fn sessions_over_http_keep_their_revision() {
    let served = Served::from_env(library());
    for version in REVISIONS {
        let mut caller = served.caller();
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "testkit", "version": "0"},
        });
        let begun = caller.post(&[], &legacy("initialize", params));
        let session = begun
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        check(version, |method, params| {
            let headers = [
                ("mcp-session-id", &*session),
                ("mcp-protocol-version", version),
            ];
            caller.post(&headers, &legacy(method, params)).json()
        });
    }
    let mut caller = served.caller();
    check("2026-07-28", |method, params| {
        caller.modern(method, params).json()
    });
}

#[test]
fn a_skill_names_its_files_in_one_message() {
    let env = TestEnv::new(crate::TWIG);
    let skill = env.work().join("skills/tides");
    std::fs::create_dir_all(skill.join("references")).expect("ours");
    let text = "---\nname: tides\ndescription: Read tides\n---\nRead the table.\n";
    std::fs::write(skill.join("SKILL.md"), text).expect("ours");
    std::fs::write(skill.join("references/all harbours.md"), "# All\n").expect("ours");
    let skills = env.work().join("skills");
    let skills = skills.to_str().expect("UTF-8");
    let mut client = env.serve_with(["--library", skills, "--kind", "skills"]);
    client.initialize_as("goose", "2025-03-26");
    let got = client.request("prompts/get", json!({"name": "skills:tides"}));
    let said = format!(
        "Read the table.\n\nBase directory for this skill: {skills}/tides\n\
         Relative paths in this skill are relative to this base directory.\n\
         Files of this skill:\n- references/all harbours.md\n"
    );
    let message = json!([{"role": "user", "content": {"type": "text", "text": said}}]);
    assert_eq!(got["result"]["messages"], message);
    let arguments = json!({"command": "skills:tides", "input": ""});
    let params = json!({"name": "expand_prompt", "arguments": arguments});
    let called = client.request("tools/call", params);
    assert_eq!(
        called["result"]["content"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(called["result"]["structuredContent"]["prompt"], said);

    // A client elsewhere reads them as resources: the folder and a path are a URI.
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--kind", "skills"]);
    command.args(["--library", skills]);
    let served = Served::start(env, command);
    let got = served
        .caller()
        .modern("prompts/get", json!({"name": "skills:tides"}))
        .json();
    let messages = got["result"]["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1);
    let said = messages[0]["content"]["text"].as_str().expect("text");
    let folder = "Base directory for this skill: skill://skills/tides\n";
    assert!(said.contains(folder), "{said}");
    assert!(
        said.ends_with("Files of this skill:\n- references/all%20harbours.md\n"),
        "{said}"
    );
    let uri = "skill://skills/tides/references/all%20harbours.md";
    let read = served
        .caller()
        .modern("resources/read", json!({"uri": uri}))
        .json();
    assert_eq!(read["result"]["contents"][0]["text"], "# All\n");
}
