//! T-LOG-01 for a project: what is stored, what is refused, what is searched for and what prompts
//! are given is nowhere in the log.

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::{BODY, CANARIES, CONTENTS, TOKEN, VALUE, VARIABLE, WRONG_TOKEN, ask};
use crate::TWIG;
use crate::http::Served;

const PROJECT: &str = "secrets";
/// It is stored as bytes and read as Base64; neither may be seen.
const BYTES: &str = "Y2FuYXJ5LWJ5dGVzLTFjMDk=";
const DECODED: &str = "canary-bytes-1c09";

/// A project with a prompt and two resources that people wrote.
fn world() -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    env.configure("[limits]\nverbatim = 5000\nproject_items = 12\n");
    for args in [
        &["project", "create", PROJECT][..],
        &[
            "prompt", "add", "kept", "-p", PROJECT, "-c", BODY, "-d", VALUE,
        ],
        &[
            "resource", "add", "doc", "--uri", "x://doc", "-p", PROJECT, "-c", CONTENTS, "-d",
            VALUE,
        ],
    ] {
        let outcome = env.run(args.iter().copied());
        assert_eq!(outcome.code, 0, "{args:?}: {outcome}");
    }
    env
}

fn command(env: &TestEnv, args: &[&str]) -> std::process::Command {
    let mut command = env.command(["serve", "--project", PROJECT, "--log-level", "trace"]);
    command.args(args);
    command
        .env("SOME_SECRET", VARIABLE)
        .env("TWIG_TOKEN", TOKEN);
    command
}

/// A tool, its arguments, and whether it does what it is asked.
type Call = (&'static str, Value, bool);

/// Calls of tools, right and wrong.
fn calls() -> Vec<Call> {
    let parts = [prompts(), strange(), resources(), reading(), too_many()];
    parts.into_iter().flatten().collect()
}

/// Text with characters that nobody sees.
fn hidden() -> String {
    format!("{BODY} \u{e0041}\u{e0042}\u{202e}")
}

fn long() -> String {
    VALUE.repeat(2_000)
}

#[rustfmt::skip]
fn prompts() -> Vec<Call> {
    vec![
        ("create_prompt", json!({"name": "p", "content": BODY, "description": VALUE}), true),
        ("update_prompt", json!({"name": "p", "content": format!("{BODY} again"), "expected_version": 1}), true),
        ("update_prompt", json!({"name": "p", "content": CONTENTS, "expected_version": 1}), false),
        ("create_prompt", json!({"name": "p", "content": CONTENTS}), false),
        ("update_prompt", json!({"name": "p"}), false),
        ("delete_prompt", json!({"name": "p", "expected_version": 77}), false),
        ("create_prompt", json!({"name": format!("{VALUE} {BODY}"), "content": CONTENTS}), false),
        ("create_prompt", json!({"name": format!("../{VALUE}"), "content": CONTENTS}), false),
        ("create_prompt", json!({"name": long(), "content": CONTENTS}), false),
        ("update_prompt", json!({"name": VALUE, "content": CONTENTS}), false),
        ("delete_prompt", json!({"name": "p"}), true),
    ]
}

/// Text that hides something, too much of it, and arguments of the wrong sort.
#[rustfmt::skip]
fn strange() -> Vec<Call> {
    vec![
        ("create_prompt", json!({"name": "h", "content": hidden()}), false),
        ("create_prompt", json!({"name": "h", "content": "x", "description": hidden()}), false),
        ("create_resource", json!({"name": "h", "uri": format!("x://{}", hidden()), "content": "x"}), false),
        ("create_prompt", json!({"name": "l", "content": long()}), false),
        ("create_prompt", json!({"name": "l", "content": [CONTENTS], "description": {"x": VALUE}}), false),
        ("create_prompt", json!({"name": "l", "content": CONTENTS, VALUE: VALUE}), false),
        ("update_prompt", json!({"name": "kept", "content": "x", "expected_version": VALUE}), false),
        ("update_prompt", json!(VALUE), false),
    ]
}

#[rustfmt::skip]
fn resources() -> Vec<Call> {
    vec![
        ("create_resource", json!({"name": "b", "uri": "x://b", "content": BYTES, "mime_type": "image/png", "description": VALUE}), true),
        ("create_resource", json!({"name": "c", "uri": "x://c", "content": format!("{CONTENTS}!"), "mime_type": "image/png"}), false),
        ("create_resource", json!({"name": "c", "uri": "x://b", "content": CONTENTS}), false),
        ("create_resource", json!({"name": "c", "uri": format!("no uri {VALUE}"), "content": CONTENTS}), false),
        ("create_resource", json!({"name": "c", "uri": "x://c", "content": CONTENTS, "mime_type": VALUE}), false),
        ("update_resource", json!({"name": "b", "mime_type": "text/plain"}), false),
        ("update_resource", json!({"name": "doc", "content": format!("{CONTENTS} {VALUE}")}), true),
        ("delete_resource", json!({"name": VALUE}), false),
        ("delete_resource", json!({"name": "b"}), true),
    ]
}

/// What is looked for, and what prompts are given.
#[rustfmt::skip]
fn reading() -> Vec<Call> {
    vec![
        ("search", json!({"query": VALUE}), true),
        ("search", json!({"query": format!("\"{VALUE} AND ( NEAR* {BODY}"), "limit": 3}), true),
        ("search", json!({"query": long()}), false),
        ("search", json!({"query": VALUE, "kind": CONTENTS}), false),
        ("search", json!({"query": [VALUE]}), false),
        ("list_prompts", json!({}), true),
        ("expand_prompt", json!({"command": "kept", "input": VALUE}), true),
        ("expand_prompt", json!({"command": VALUE, "input": BODY}), false),
        ("expand_prompt", json!({"command": "kept", "input": [VALUE]}), false),
        ("expand_prompt", json!({"command": "kept", "input": VALUE.repeat(20_000)}), false),
    ]
}

/// More than the project takes.
fn too_many() -> Vec<Call> {
    let create = |at: usize| {
        let create = json!({"name": format!("n{at}"), "content": format!("{CONTENTS} {at}")});
        ("create_prompt", create, at < 10)
    };
    let delete = |at: usize| ("delete_prompt", json!({"name": format!("n{at}")}), true);
    let created = (0..12).map(create);
    created.chain((0..10).map(delete)).collect()
}

/// Requests that lead to what is stored, and past it.
fn questions() -> Vec<(&'static str, Value)> {
    vec![
        (
            "prompts/get",
            json!({"name": "kept", "arguments": {"x": VALUE}}),
        ),
        ("prompts/get", json!({"name": VALUE})),
        ("resources/read", json!({"uri": "x://doc"})),
        ("resources/read", json!({"uri": format!("x://{VALUE}")})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        (
            "tools/call",
            json!({"name": VALUE, "arguments": {"content": CONTENTS}}),
        ),
        ("tools/list", json!({"cursor": VALUE})),
    ]
}

#[track_caller]
fn check(tool: &str, is_done: bool, answer: &Value) {
    let failed = answer["result"]["isError"].as_bool().unwrap_or(false);
    assert!(answer["result"]["content"].is_array(), "{tool}: {answer}");
    assert_eq!(!failed, is_done, "{tool}: {answer}");
}

/// Nothing of it is in the log, which was kept.
#[track_caller]
fn is_clean(log: &str) {
    assert!(log.contains("DEBUG"), "much is logged: {log}");
    let all = CANARIES.iter().chain(&[BYTES, DECODED]);
    let all: Vec<&&str> = all.collect();
    let is_leak = |line: &&str| all.iter().any(|canary| line.contains(**canary));
    let leaks: Vec<&str> = log.lines().filter(is_leak).collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn over_pipes_nothing_of_a_project_is_logged() {
    let env = world();
    let mut client = TestClient::start(command(&env, &[]));
    client.initialize();
    let mut watching = TestClient::start(command(&env, &[]));
    watching.initialize();
    let mut seen = String::new();
    for (tool, arguments, is_done) in calls() {
        let call = json!({"name": tool, "arguments": arguments});
        check(tool, is_done, &client.request("tools/call", call));
    }
    for (method, params) in questions() {
        seen += &client.request(method, params.clone()).to_string();
        client.modern(method, params.clone());
        watching.request(method, params);
    }
    assert!(CANARIES[..3].iter().all(|canary| seen.contains(canary)));
    // A file that is damaged under it, and one that is gone.
    let file = env.home().join(".local/share/twig/workspaces/default.db");
    std::fs::write(&file, format!("{CONTENTS} is no database")).expect("ours");
    for (method, params) in questions() {
        client.request(method, params);
    }
    let create = json!({"name": "create_prompt", "arguments": {"name": "z", "content": CONTENTS}});
    assert_eq!(
        client.request("tools/call", create)["result"]["isError"],
        true
    );
    for client in [client, watching] {
        is_clean(&client.close().stderr);
    }
}

#[test]
fn over_http_nothing_of_a_project_is_logged() {
    let env = world();
    let command = command(&env, &["--http", "127.0.0.1:0"]);
    let mut served = Served::start(env, command);
    let right = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {WRONG_TOKEN}");
    let mut caller = served.caller();
    let mut seen = String::new();
    for (at, (tool, arguments, is_done)) in calls().into_iter().enumerate() {
        let call = json!({"name": tool, "arguments": arguments});
        // More wrong tokens would be answered late.
        if at < 8 {
            let refused = ask(&mut served.caller(), &wrong, "tools/call", call.clone());
            assert_eq!(refused.status, 401);
        }
        check(
            tool,
            is_done,
            &ask(&mut caller, &right, "tools/call", call).json(),
        );
    }
    for (method, params) in questions() {
        let response = ask(&mut caller, &right, method, params);
        seen += &String::from_utf8_lossy(&response.body);
    }
    assert!(CANARIES[..3].iter().all(|canary| seen.contains(canary)));
    served.signal(Signal::TERM);
    let (status, _, log) = served.ended();
    assert_eq!(status.code(), Some(0));
    is_clean(&log);
}
