//! Secrets that pass through the server and are not in its log, however much it logs: values,
//! texts, the token, the environment.

mod project;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{MODERN, TestClient, TestEnv, write_fixture};

use crate::env;
use crate::http::{Caller, Response, Served};

/// Each of these passes through the server in a way of its own.
const CANARIES: [&str; 6] = [VALUE, BODY, CONTENTS, VARIABLE, TOKEN, WRONG_TOKEN];
const VALUE: &str = "canary-value-6b1c";
const BODY: &str = "canary-body-93fe";
const CONTENTS: &str = "canary-contents-07aa";
const VARIABLE: &str = "canary-variable-5d21";
const TOKEN: &str = "canary-token-correct-horse-battery";
const WRONG_TOKEN: &str = "canary-token-wrong-horse-battery";

/// Templates that trip over a value, each at another place of the engine.
const TRIPS: [&str; 22] = [
    "{% for i in [1] %}{{ x / 2 }}{% endfor %}",
    "{% for i in [1] %}{{ x|int }}{% endfor %}",
    "{% for i in [1] %}{{ x|float }}{% endfor %}",
    "{% for i in [1] %}{{ x.a.b }}{% endfor %}",
    "{% for i in [1] %}{{ x() }}{% endfor %}",
    "{% for i in [1] %}{{ x.nope() }}{% endfor %}",
    "{% for i in range(x) %}{{ i }}{% endfor %}",
    "{% for i in [1] %}{{ -x }}{% endfor %}",
    "{% for i in [1] %}{{ [1][x] }}{% endfor %}",
    "{% for i in [1] %}{{ {}[x].y }}{% endfor %}",
    "{% for i in [1] %}{{ x|format(1, 2) }}{% endfor %}",
    "{% for i in [1] %}{{ (x ~ '%d')|format('a') }}{% endfor %}",
    "{% for i in [1] %}{{ x|round }}{% endfor %}",
    "{% for i in [1] %}{{ x|batch(x) }}{% endfor %}",
    "{% for i in [1] %}{{ [1]|sum(x) }}{% endfor %}",
    "{% for i in [1] %}{{ [1]|map(x)|list }}{% endfor %}",
    "{% for i in [1] %}{{ [1]|select(x)|list }}{% endfor %}",
    "{% for i in [1] %}{{ [{}]|map(attribute=x)|list }}{% endfor %}",
    "{% for i in [1] %}{{ x|items }}{% endfor %}",
    "{% for i in [1] %}{{ dict(x) }}{% endfor %}",
    "{% for i in [1] %}{{ 'a' in 1 }}{{ x in 1 }}{% endfor %}",
    "{% for i in [1] %}{{ '%s'|x }}{{ x|pprint }}{{ x|dictsort }}{% endfor %}",
];

/// A library of every kind, with prompts that work and prompts that fail.
fn world() -> TestEnv {
    let env = env(&format!(
        r#"
//- lib/twig.toml
[prompts.plain]
[prompts.broken]
[prompts.unknown]
[prompts.includes]
[prompts.gone]
[prompts.strict]
[prompts.loud]
command = ["./bin/loud"]
[prompts.odd]
command = ["./bin/odd"]

[[prompts.plain.arguments]]
name = "x"
[[prompts.unknown.arguments]]
name = "x"
[[prompts.includes.arguments]]
name = "x"
[[prompts.loud.arguments]]
name = "x"
[[prompts.odd.arguments]]
name = "x"
[[prompts.strict.arguments]]
name = "choice"
choices = ["a", "b"]
[[prompts.strict.arguments]]
name = "short"
max_length = 3
[[prompts.strict.arguments]]
name = "digits"
pattern = "^[0-9]+$"
//- lib/prompts/plain.md
{BODY} {{{{ x }}}} {{{{ resource("twig://lib/secret") }}}}
//- lib/prompts/broken.md
{BODY} {{% if "{BODY}" %}} {{{{ "{BODY}" }}}}
//- lib/prompts/unknown.md
{BODY} {{{{ x }}}} {{{{ nowhere }}}} {BODY}
//- lib/prompts/includes.md
{BODY} {{% include "part.md" %}}
//- lib/prompts/part.md
{BODY} {{{{ x|nosuch("{BODY}") }}}}
//- lib/prompts/strict.md
{BODY} {{{{ choice }}}}{{{{ short }}}}{{{{ digits }}}}
//- lib/docs/secret.md
# Title

{CONTENTS}
//- lib/docs/bytes.bin
{CONTENTS}
//- service/docs/patterns/one.md
# One

{CONTENTS}
//- service/prompts/braces.json
{{"name": "braces", "arguments": [{{"name": "x", "required": true, "maxLength": 40}}],
 "messages": [{{"role": "user", "content": {{"type": "text", "text":
 "{BODY} {{{{x}}}} {{{{resource:architecture://patterns/*}}}} {{{{resource:architecture://patterns/{{{{x}}}}}}}}"}}}}]}}
"#
    ));
    let mut manifest = String::new();
    for (at, trip) in TRIPS.iter().enumerate() {
        manifest += &format!("[prompts.t{at}]\n[[prompts.t{at}.arguments]]\nname = \"x\"\n");
        env.write(&format!("trips/prompts/t{at}.md"), format!("{BODY} {trip}"));
    }
    env.write("trips/twig.toml", manifest);
    // They say what they were told wherever a program can say something.
    let loud = "#!/bin/sh\nread -r line\necho \"told: $line\" >&2\necho \"$line\"\nexit 3\n";
    let odd = "#!/bin/sh\nread -r line\necho \"{\\\"messages\\\": [$line]}\"\n";
    for (name, program) in [("loud", loud), ("odd", odd)] {
        let path = format!("lib/bin/{name}");
        env.write(&path, program);
        let everyone = fs::Permissions::from_mode(0o755);
        fs::set_permissions(env.data().join(path), everyone).expect("the test's own file");
    }
    let trusted = env.run(["library", "trust", "lib", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted}");
    write_fixture(
        &env.work(),
        &format!(
            "//- notes/note.md\n---\ndescription: A note\n---\n{BODY} {{{{input}}}}\n//- notes/bare.md\n{BODY}\n"
        ),
    );
    env
}

/// What clients ask, right and wrong.
fn questions() -> Vec<(&'static str, Value)> {
    let mut asked = Vec::new();
    let mut get = |name: &str, argument: &str| {
        let arguments = json!({argument: VALUE, "other": VALUE});
        asked.push(("prompts/get", json!({"name": name, "arguments": arguments})));
        let arguments = json!({argument: VALUE});
        asked.push(("prompts/get", json!({"name": name, "arguments": arguments})));
        asked.push(("prompts/get", json!({"name": name, "arguments": VALUE})));
        asked.push((
            "prompts/get",
            json!({"name": name, "arguments": {argument: [VALUE]}}),
        ));
        asked.push(("prompts/get", json!({"name": [VALUE], "arguments": {}})));
        let long = VALUE.repeat(100_000);
        asked.push((
            "prompts/get",
            json!({"name": name, "arguments": {argument: long}}),
        ));
        let complete = json!({"ref": {"type": "ref/prompt", "name": name},
            "argument": {"name": argument, "value": VALUE}, "context": {"arguments": {"a": VALUE}}});
        asked.push(("completion/complete", complete));
        for tool in ["expand_prompt", "nosuch_tool"] {
            for arguments in [
                json!({"command": name, "input": VALUE}),
                json!({"command": name, "input": format!("{argument}={VALUE} {VALUE}")}),
                json!({"command": name, "input": [VALUE]}),
                json!(VALUE),
            ] {
                asked.push(("tools/call", json!({"name": tool, "arguments": arguments})));
            }
        }
    };
    for name in [
        "plain", "broken", "unknown", "includes", "gone", "loud", "odd",
    ] {
        get(&format!("lib:{name}"), "x");
    }
    for argument in ["choice", "short", "digits"] {
        get("lib:strict", argument);
    }
    for at in 0..TRIPS.len() {
        get(&format!("trips:t{at}"), "x");
    }
    get("braces", "x");
    get("note", "input");
    get("bare", "input");
    for uri in [
        "twig://lib/secret",
        "twig://lib/bytes.bin",
        "architecture://patterns/one",
    ] {
        asked.push(("resources/read", json!({"uri": uri})));
        asked.push(("resources/read", json!({"uri": format!("{uri}?{VALUE}")})));
        asked.push(("resources/subscribe", json!({"uri": uri})));
    }
    for tool in [
        "create_prompt",
        "update_prompt",
        "create_resource",
        "search",
    ] {
        let arguments = json!({"name": "n", "prompt_name": "n", "content": CONTENTS, "query": VALUE,
            "description": VALUE, "uri": "file:///x", "mime_type": "image/png"});
        asked.push(("tools/call", json!({"name": tool, "arguments": arguments})));
        let wrong = json!({"content": {"deep": [CONTENTS]}, "query": 5, "name": VALUE});
        asked.push(("tools/call", json!({"name": tool, "arguments": wrong})));
    }
    asked.push(("prompts/list", json!({"cursor": VALUE})));
    asked.push(("nosuch/method", json!({"secret": VALUE})));
    asked.push((
        "initialize",
        json!({"protocolVersion": VALUE, "clientInfo": VALUE}),
    ));
    asked
}

/// Bytes that are no message at all, or not quite.
fn noise() -> Vec<String> {
    vec![
        VALUE.to_owned(),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{{\"{VALUE}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{{\"{VALUE}\":1}},\"method\":\"ping\"}}"),
        format!("{{\"jsonrpc\":\"{VALUE}\",\"id\":1,\"method\":\"ping\"}}"),
        format!("[{{\"{VALUE}\":\"{VALUE}\"}}, \"{VALUE}\"]"),
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{VALUE}\"}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{VALUE}\",\"result\":\"{VALUE}\"}}"),
    ]
}

#[track_caller]
fn is_clean(log: &str) {
    let failed = log.matches("could not be rendered").count();
    assert!(failed > 10, "the log tells of failures: {log}");
    let leaks: Vec<&str> = log
        .lines()
        .filter(|line| CANARIES.iter().any(|canary| line.contains(canary)))
        .collect();
    assert!(
        leaks.is_empty(),
        "{} lines:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

#[test]
fn over_pipes_nothing_secret_is_logged() {
    let env = world();
    let args = ["serve", "--library", "notes", "--log-level", "trace"];
    let mut command = env.command(args);
    command
        .env("SOME_SECRET", VARIABLE)
        .env("TWIG_TOKEN", TOKEN);
    let mut client = TestClient::start(command);
    client.initialize();
    let mut rendered = 0;
    for (method, params) in questions() {
        let answer = client.request(method, params.clone()).to_string();
        rendered += usize::from(answer.contains(BODY) && answer.contains(VALUE));
        client.modern(method, params);
    }
    assert!(rendered > 2, "the values reach prompts");
    for line in noise() {
        client.send(line);
    }
    // An edit is looked at, logged and served.
    env.write(
        "lib/prompts/plain.md",
        format!("{BODY} {{{{ x }}}} {{% {BODY}"),
    );
    client.request(
        "prompts/get",
        json!({"name": "lib:plain", "arguments": {"x": VALUE}}),
    );
    client.request("ping", json!({}));
    is_clean(&client.close().stderr);
}

#[test]
fn over_http_nothing_secret_is_logged() {
    let env = world();
    let args = [
        "serve",
        "--http",
        "127.0.0.1:0",
        "--library",
        "notes",
        "--log-level",
        "trace",
    ];
    let mut command = env.command(args);
    command
        .env("SOME_SECRET", VARIABLE)
        .env("TWIG_TOKEN", TOKEN);
    let mut served = Served::start(env, command);
    let right = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {WRONG_TOKEN}");
    let mut caller = served.caller();
    let (mut rendered, mut strangers) = (0, 0);
    for (method, params) in questions() {
        let response = ask(&mut caller, &right, method, params.clone());
        let text = String::from_utf8_lossy(&response.body);
        rendered += usize::from(text.contains(BODY) && text.contains(VALUE));
        // Of a stranger's long message the server reads no more than it must, and after some wrong
        // tokens it takes its time.
        if params.to_string().len() < 1_000 && strangers < 12 {
            strangers += 1;
            let refused = ask(&mut served.caller(), &wrong, method, params);
            assert_eq!(refused.status, 401);
        }
    }
    assert!(rendered > 2, "the values reach prompts");
    for line in noise() {
        let headers = [
            ("authorization", right.as_str()),
            ("content-type", "application/json"),
        ];
        served.caller().send("POST", &headers, line.as_bytes());
    }
    // Heads that the server cannot read, or does not like.
    for head in [
        // (A host that is refused is logged, so that its owner learns of the flag.)
        format!("GET /mcp?token={TOKEN} HTTP/1.1\r\nhost: x\r\nx-y: {VALUE}\r\n\r\n"),
        format!("POST /mcp HTTP/1.1\r\nauthorization: {wrong}\r\n{VALUE}\r\n\r\n"),
        format!("{VALUE}\r\n\r\n"),
        format!("POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: {right}\u{1}\r\n\r\n"),
    ] {
        let mut caller = served.caller();
        caller.raw(head);
        caller.head();
    }
    served.signal(Signal::TERM);
    let (_, _, log) = served.ended();
    is_clean(&log);
}

/// A modern request.
fn ask(caller: &mut Caller, authorization: &str, method: &str, mut params: Value) -> Response {
    let name = params.get("name").or(params.get("uri"));
    let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [
        ("authorization", authorization),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", method),
        ("mcp-name", &name),
    ];
    let headers = &headers[..if name.is_empty() { 3 } else { 4 }];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    caller.post(headers, &body)
}
