//! Clients that take a prompt for a command, as opencode does: text that they would run or replace.

use serde_json::{Value, json};
use twig_core::{
    Content, Dialect, Function, FunctionOutcome, Limits, MessageSource, Prompt, RelativePath, Role,
};
use twig_mcp::Work;

use crate::support::{Peer, argument, error, jinja, library, modern, prompt, request, required};

/// Text with all that such a client looks for, around a value.
const TEXT: &str = "Run !`ls`, pay $5 or $1, $ARGUMENTS: ";
const HARMLESS: &str = "Run ! `ls`, pay $ 5 or $ 1, $ ARGUMENTS: ";

fn peer() -> Peer {
    let program = RelativePath::parse("bin/run").unwrap();
    let function = Prompt {
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Function(Function::command(program, Vec::new())),
        }],
        dialect: Dialect::Function,
        ..prompt("function", vec![argument("what")])
    };
    let picky = twig_core::Argument {
        choices: vec!["rust".into(), "go".into()],
        max_length: Some(4),
        ..required("what")
    };
    let picky_function = Prompt {
        messages: function.messages.clone(),
        dialect: Dialect::Function,
        ..prompt("picky-function", vec![picky.clone()])
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
        prompt("bare", Vec::new()),
        function,
        picky_function,
    ];
    let mut peer = Peer::with(vec![library("l", 1, prompts)], Limits::default());
    let text = format!("{TEXT}{{{{input}}}}");
    peer.bodies.insert("echo.md", text);
    peer.bodies.insert("bare.md", TEXT);
    peer
}

fn opencode() -> Peer {
    named("opencode")
}

fn named(client: &str) -> Peer {
    let mut peer = peer();
    peer.initialize_as(client);
    peer
}

/// A modern request for a prompt, from a client of this name.
fn modern_get(client: &str, name: &str, arguments: Value) -> String {
    let mut params = modern(get(name, arguments), json!({}));
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": client, "version": "1"});
    request(1, "prompts/get", params)
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
        let reply = peer.one(modern_get(name, "plain", params["arguments"].clone()));
        assert_eq!(text(&reply), expected);
    }
}

#[test]
fn forks_are_known_by_their_names() {
    let expected = format!("{HARMLESS}! `x`");
    for name in ["kilo", "Kilo", "kilo-vscode", "mimocode", "altimate"] {
        let mut peer = named(name);
        let reply = peer.ask("prompts/get", get("plain", json!({"more": "!`x`"})));
        assert_eq!(text(&reply), expected, "{name}");
        let reply = peer.ask("prompts/get", get("bare", json!({})));
        assert_eq!(text(&reply), HARMLESS, "{name}");
    }
}

#[test]
fn the_person_can_add_a_fork() {
    let mut peer = peer();
    peer.add_command_client("acme-code");
    let reply = peer.one(modern_get("Acme-Code", "bare", json!({})));
    assert_eq!(text(&reply), HARMLESS);
    let reply = peer.one(modern_get("acme", "bare", json!({})));
    assert_eq!(text(&reply), TEXT);
}

#[test]
fn a_client_that_nobody_knows_is_one_once_it_asks_like_one() {
    for arguments in [json!({"what": "$1", "more": "$2"}), json!({"more": "$2"})] {
        let mut peer = named("acme-code");
        assert_eq!(text(&peer.ask("prompts/get", get("bare", json!({})))), TEXT);
        let reply = peer.ask("prompts/get", get("plain", arguments.clone()));
        let given = if arguments["what"].is_null() {
            "$2"
        } else {
            "$1$2"
        };
        assert_eq!(text(&reply), format!("{HARMLESS}{given}"));
        // From then on it is one, also where it has nothing to give.
        let reply = peer.ask("prompts/get", get("bare", json!({})));
        assert_eq!(text(&reply), HARMLESS);
        // A request that says for itself who asks is answered as that client wants it.
        let reply = peer.one(modern_get("claude-code", "bare", json!({})));
        assert_eq!(text(&reply), TEXT);
    }
}

#[test]
fn a_client_that_nobody_knows_and_that_gives_real_values_is_none() {
    for arguments in [
        json!({}),
        json!({"what": "$2", "more": "$1"}),
        json!({"what": "$1", "more": "two"}),
        json!({"what": "$01"}),
        json!({"what": "$1001"}),
        json!({"what": "$1", "other": "$2"}),
    ] {
        let mut peer = named("acme-code");
        let reply = peer.ask("prompts/get", get("plain", arguments.clone()));
        assert!(text(&reply).starts_with(TEXT), "{arguments}: {reply}");
        let reply = peer.ask("prompts/get", get("bare", json!({})));
        assert_eq!(text(&reply), TEXT, "{arguments}");
    }
}

#[test]
fn a_client_that_is_known_to_be_none_never_becomes_one() {
    for name in [
        "claude-code",
        "codex-mcp-client",
        "gemini-cli-mcp-client",
        "gemini-cli-mcp-client-twig",
        "cursor-vscode",
        "Visual Studio Code",
        "Visual Studio Code - Insiders",
        "goose",
        "Cline",
        "Zed",
        "inspector-client",
    ] {
        let mut peer = named(name);
        let params = get("plain", json!({"what": "$1", "more": "$2"}));
        let reply = peer.ask("prompts/get", params);
        assert_eq!(text(&reply), format!("{TEXT}$1$2"), "{name}");
        let reply = peer.ask("prompts/get", get("bare", json!({})));
        assert_eq!(text(&reply), TEXT, "{name}");
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
fn elsewhere_a_mark_is_a_value_like_any_other() {
    let digits = format!("${}", "7".repeat(200_000));
    let values = ["$1", "$12", "$999", &digits, "\u{10f001}", "\u{10f0ff}"];
    let refused = |peer: &mut Peer, prompt: &str, value: &str| {
        let reply = peer.ask("prompts/get", get(prompt, json!({"what": value})));
        let (_, sentence) = error(&reply);
        let named = sentence.chars().take(40).collect::<String>();
        assert!(
            sentence.starts_with("Argument `what` "),
            "{prompt}: {named}"
        );
    };
    for value in values {
        let mut peer = named("claude-code");
        refused(&mut peer, "picky", value);
        refused(&mut peer, "picky-function", value);
    }
    // A client that fills in later gives `$1` to `$999` and no other, and a program none at all.
    for value in [&digits, "$1000", "$01", "\u{10f001}", "\u{10f0ff}"] {
        refused(&mut opencode(), "picky", value);
    }
    for value in values {
        refused(&mut opencode(), "picky-function", value);
    }
}

#[test]
fn a_character_that_could_stand_in_is_text() {
    let value = "\u{10f001} and \u{10f002}";
    for client in ["claude-code", "acme-code"] {
        let mut peer = named(client);
        let reply = peer.ask("prompts/get", get("plain", json!({"what": value})));
        assert_eq!(text(&reply), format!("{TEXT}{value}"), "{client}");
    }
    let mut peer = opencode();
    let params = get("plain", json!({"what": value, "more": "$2"}));
    let reply = peer.ask("prompts/get", params);
    assert_eq!(text(&reply), format!("{HARMLESS}{value}$ 2"));
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
