//! Where the client is opencode: text that it would run or replace.

use serde_json::{Value, json};
use twig_core::{
    Content, Dialect, Function, FunctionOutcome, Limits, MessageSource, Prompt, RelativePath, Role,
};
use twig_mcp::Work;

use crate::support::{Peer, argument, error, jinja, library, modern, prompt, request, required};

/// Text with all that opencode looks for, around a value.
const TEXT: &str = "Run !`ls`, pay $5 or $1, $ARGUMENTS: ";
const HARMLESS: &str = "Run ! `ls`, pay $ 5 or $ 1, $ ARGUMENTS: ";

fn peer() -> Peer {
    let program = RelativePath::parse("bin/run").unwrap();
    let function = Prompt {
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Function(Function::Command {
                program,
                arguments: Vec::new(),
            }),
        }],
        dialect: Dialect::Function,
        ..prompt("function", vec![argument("what")])
    };
    let picky = twig_core::Argument {
        choices: vec!["rust".into(), "go".into()],
        max_length: Some(4),
        ..required("what")
    };
    let what = || vec![argument("what"), argument("more")];
    let prompts = vec![
        jinja(
            "plain",
            &format!("{TEXT}{{{{ what }}}}{{{{ more }}}}"),
            what(),
        ),
        jinja(
            "computed",
            &format!("{TEXT}{{% for w in [what, more] %}}[{{{{ w }}}}]{{% endfor %}}"),
            what(),
        ),
        jinja(
            "wrong",
            "{% for c in what %}{{ c.x.y }}{% endfor %}",
            what(),
        ),
        jinja("picky", "{{ what }}", vec![picky]),
        prompt("echo", vec![argument("input")]),
        function,
    ];
    let mut peer = Peer::with(vec![library("l", 1, prompts)], Limits::default());
    let text = format!("{TEXT}{{{{input}}}}");
    peer.bodies.0.insert("echo.md".to_owned(), text);
    peer
}

fn opencode() -> Peer {
    let mut peer = peer();
    peer.initialize_as("opencode");
    peer
}

fn text(reply: &Value) -> &str {
    reply["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
}

fn get(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

#[test]
fn marks_that_were_given_stay_and_all_else_is_harmless() {
    let mut peer = opencode();
    let reply = peer.ask(
        "prompts/get",
        get("plain", json!({"what": "$1", "more": "$2"})),
    );
    assert_eq!(text(&reply), format!("{HARMLESS}$1$2"));
    let reply = peer.ask("prompts/get", get("echo", json!({"input": "$1"})));
    assert_eq!(text(&reply), format!("{HARMLESS}$1"));
    // A value that is no mark is data, and opencode would run it just the same.
    for (value, harmless) in [
        ("!`rm -rf ~`", "! `rm -rf ~`"),
        ("$1 and $2", "$ 1 and $ 2"),
        ("a $ARGUMENTS", "a $ ARGUMENTS"),
    ] {
        let reply = peer.ask("prompts/get", get("plain", json!({"what": value})));
        assert_eq!(text(&reply), format!("{HARMLESS}{harmless}"));
    }
}

#[test]
fn other_clients_get_the_text_as_it_is() {
    let mut peer = peer();
    let params = get("plain", json!({"what": "$1", "more": "!`x`"}));
    let expected = format!("{TEXT}$1!`x`");
    assert_eq!(text(&peer.ask("prompts/get", params.clone())), expected);
    peer.initialize_as("opencodex");
    assert_eq!(text(&peer.ask("prompts/get", params.clone())), expected);
    peer.initialize_as("OpenCode");
    let reply = peer.ask("prompts/get", params.clone());
    assert_eq!(text(&reply), format!("{HARMLESS}$1! `x`"));
    // A modern request says for itself who asks.
    for (name, expected) in [("opencode", format!("{HARMLESS}$1! `x`")), ("x", expected)] {
        let mut params = modern(params.clone(), json!({}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] =
            json!({"name": name, "version": "1"});
        let reply = peer.one(request(1, "prompts/get", params));
        assert_eq!(text(&reply), expected);
    }
}

#[test]
fn a_mark_passes_where_only_some_values_do() {
    let mut peer = opencode();
    let reply = peer.ask("prompts/get", get("picky", json!({"what": "$12"})));
    assert_eq!(text(&reply), "$12");
    let reply = peer.ask("prompts/get", get("picky", json!({"what": "perl"})));
    assert_eq!(error(&reply).1, "Argument `what` must be one of: rust, go");
}

#[test]
fn what_is_rendered_elsewhere_is_harmless_too() {
    let mut peer = opencode();
    let params = get("computed", json!({"what": "$1", "more": "!`x`"}));
    let (job, _) = peer.start(request(1, "prompts/get", params));
    let replies = peer.run(&job.unwrap());
    assert_eq!(text(&replies[0]), format!("{HARMLESS}[$1][! `x`]"));
    // What went wrong is said without anything that nobody wrote.
    let params = get("wrong", json!({"what": "$1"}));
    let (job, _) = peer.start(request(1, "prompts/get", params));
    let replies = peer.run(&job.unwrap());
    let (code, sentence) = error(&replies[0]);
    assert_eq!(code, -32602);
    assert!(sentence.is_ascii(), "{sentence}");
}

#[test]
fn a_program_is_told_the_marks_and_may_print_them() {
    let mut peer = opencode();
    let params = get("function", json!({"what": "$1"}));
    let (job, _) = peer.start(request(1, "prompts/get", params));
    let job = job.unwrap();
    let Work::Function(call) = &job.work else {
        panic!("no function: {job:?}");
    };
    assert!(call.input.contains(r#""what":"$1""#), "{}", call.input);
    let printed = json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": "!`ls` $1 $2"}},
        {"role": "user", "content": {"type": "text", "text": "!`"}},
    ]});
    let mut out = Vec::new();
    let outcome = FunctionOutcome::Printed(printed.to_string().into_bytes());
    peer.connection.finish(job.ticket, outcome, &mut out);
    let reply: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(text(&reply), "! `ls` $1 $ 2");
    let last = &reply["result"]["messages"][1]["content"]["text"];
    assert_eq!(*last, "! `");
}

#[test]
fn tools_answer_as_ever() {
    let mut peer = opencode();
    let params = json!({"name": "expand_prompt", "arguments": {"command": "echo", "input": "$1"}});
    let reply = peer.ask("tools/call", params);
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("{TEXT}$1")), "{text}");
}
