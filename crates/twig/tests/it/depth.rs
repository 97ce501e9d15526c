//! Files that nest without end, wherever Twig reads one: each is refused with its place and the
//! limit, and nothing ends by a signal.

use std::fs;
use std::path::Path;

use serde_json::json;
use twig_testkit::{CommandOutput, TestEnv};

use crate::env;
use crate::http::Served;

/// More than an 8 MiB stack took, and twice what a thread of a server took.
const PARTS: usize = 120_000;

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the test's own folder");
    fs::write(path, text).expect("the test's own folder");
}

fn header() -> String {
    format!("[{}a]\n", "a.".repeat(PARTS))
}

fn list_header() -> String {
    format!("# first\n[[{}a]]\n", "a.".repeat(PARTS))
}

/// It ended by itself, and said where and why.
#[track_caller]
fn refused(outcome: &CommandOutput, place: &str) {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(said.contains("deeper than 32 levels"), "{outcome}");
    assert!(said.contains(place), "{outcome}");
    assert_ne!(outcome.code, -1, "{outcome}");
}

#[test]
fn a_deep_manifest_is_a_problem_of_its_library() {
    for (text, line) in [(header(), 1), (list_header(), 2)] {
        let env = env("//- good/twig.toml\n[prompts.p]\n//- good/prompts/p.md\nfine\n");
        env.write("deep/twig.toml", text);
        let place = format!("deep/twig.toml:{line}:");
        refused(&env.run(["check"]), &place);
        let listed = env.run(["list"]);
        assert!(listed.stdout.contains("good:p"), "{listed}");
        assert_eq!(listed.code, 0, "{listed}");
        let library = env.data().join("deep");
        let library = library.to_str().expect("UTF-8");
        refused(&env.run(["check", library]), "twig.toml");
    }
}

#[test]
fn a_deep_file_of_a_checkout_does_not_end_commands() {
    for file in [".twig/config.toml", ".twig/twig.toml"] {
        let env = env("");
        put(&env.work().join(".twig/prompts/p.json"), "{}");
        put(&env.work().join(file), &header());
        refused(&env.run(["check"]), file);
        assert_ne!(env.run(["list"]).code, -1, "{file}");
    }
}

#[test]
fn a_deep_command_of_another_client_is_a_problem() {
    let env = env("");
    put(&env.work().join(".gemini/commands/x.toml"), &list_header());
    put(
        &env.work().join(".gemini/commands/y.toml"),
        "prompt = \"fine\"\n",
    );
    let found = env.run(["library", "add", "--detect", "--yes"]);
    assert_eq!(found.code, 0, "{found}");
    let listed = env.run(["list"]);
    assert!(listed.stdout.contains(":y"), "{listed}");
    refused(&env.run(["check"]), "x.toml:2:");
}

#[test]
fn a_deep_configuration_is_refused() {
    let env = env("");
    env.configure(&list_header());
    let outcome = env.run(["list"]);
    refused(&outcome, "config.toml:2: ");
    assert_eq!(outcome.code, 1, "{outcome}");
}

#[test]
fn deep_files_of_clients_are_refused() {
    let deep_json = format!("// mine\n{}", "{\"a\": [".repeat(PARTS));
    let dotted = format!("[a]\n{}a = 1\n", "a.".repeat(PARTS));
    for (client, file, text) in [
        ("codex", ".codex/config.toml", header()),
        ("codex", ".codex/config.toml", dotted),
        ("cursor", ".cursor/mcp.json", deep_json),
    ] {
        let env = env("");
        put(&env.home().join(file), &text);
        let outcome = env.run(["connect", client]);
        refused(&outcome, "line ");
        assert_eq!(outcome.code, 1, "{outcome}");
        assert_ne!(env.run(["doctor"]).code, -1, "{client}");
        let kept = fs::read_to_string(env.home().join(file)).expect("the file");
        assert_eq!(kept, text, "the file is as it was");
    }
}

#[test]
fn deep_files_of_other_tools_do_not_end_an_import() {
    let env = env("");
    let deep = "[".repeat(PARTS);
    for (file, text) in [
        ("a.json", deep.clone()),
        ("b.prompt", format!("---\na: {deep}\n---\n{{{{x}}}}\n")),
        ("c.tmpl", "{{if .x}}".repeat(10_000)),
        ("d/prompt.yaml", format!("id: d\nx: {deep}\n")),
    ] {
        put(&env.work().join("in").join(file), &text);
    }
    let outcome = env.run(["import", "in"]);
    assert_ne!(outcome.code, -1, "{outcome}");
}

/// A server, and what makes it look at a library that was good before.
fn library() -> TestEnv {
    env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nfine\n")
}

const CHANGED: &str = "notifications/prompts/list_changed";

#[test]
fn a_server_stands_when_a_manifest_becomes_deep() {
    let env = library();
    let mut client = env.serve();
    client.initialize();
    env.write("lib/twig.toml", header());
    // The last good state of it stays; a further library shows that the watcher went on.
    env.write("more/prompts/q.md", "new\n");
    env.write("more/twig.toml", "[prompts.q]\n");
    loop {
        client.notification(CHANGED);
        let list = client.request("prompts/list", json!({})).to_string();
        if list.contains("more:q") {
            break;
        }
    }
    env.write("lib/twig.toml", "[prompts.p]\n[prompts.r]\n");
    env.write("lib/prompts/r.md", "again\n");
    while !client
        .request("prompts/list", json!({}))
        .to_string()
        .contains("lib:r")
    {
        client.notification(CHANGED);
    }
}

#[test]
fn a_server_over_http_stands_when_a_manifest_becomes_deep() {
    let env = library();
    let served = Served::from_env(env);
    let mut listener = served.caller();
    listener.listen();
    served.env.write("lib/twig.toml", header());
    served.env.write("more/prompts/q.md", "new\n");
    served.env.write("more/twig.toml", "[prompts.q]\n");
    let mut caller = served.caller();
    while !String::from_utf8_lossy(&caller.modern("prompts/list", json!({})).body)
        .contains("more:q")
    {
        listener.event().expect("the server stands");
    }
}
