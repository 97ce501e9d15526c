//! What a server keeps of the requests that it answers, if it is asked to: the log of reads, and the
//! counts of use.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::env;
use crate::http::Served;

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.hello]
[[prompts.hello.arguments]]
name = "name"
required = true

[prompts.count]

[prompts.rest]
//- lib/prompts/hello.md
Hello {{ name }}!
//- lib/prompts/count.md
{% for i in range(3) %}{{ i }}{% endfor %}
//- lib/prompts/rest.md
Rest
//- lib/docs/guide.md
# Guide
"#;

const LOGGED: &str = "[audit]\nfile = \"reads.jsonl\"\nreads = \"names\"\n";

/// The lines of the log.
fn reads(env: &TestEnv) -> Vec<Value> {
    let path = env.home().join(".config/twig/reads.jsonl");
    let text = fs::read_to_string(path).expect("a log");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Method, tool, name and outcome of each line.
fn short(lines: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = lines.iter().map(|it| {
        let [method, tool, name, outcome] =
            ["method", "tool", "name", "outcome"].map(|key| word(&it[key]));
        format!("{method} {tool} {name} {outcome}")
    });
    line.collect()
}

#[test]
fn reads_are_logged_without_arguments_and_contents() {
    let env = env(LIBRARY);
    env.configure(LOGGED);
    let mut client = env.serve();
    client.initialize_as("acme", "2025-11-25");
    let hello = json!({"name": "lib:hello", "arguments": {"name": "secret-value"}});
    client.request("prompts/get", hello.clone());
    client.modern("prompts/get", hello);
    client.request("prompts/get", json!({"name": "hello"}));
    client.request("prompts/get", json!({"name": "count"}));
    client.request("prompts/get", json!({"name": "nothing"}));
    let listed = client.request("resources/list", json!({}));
    let uri = listed["result"]["resources"][0]["uri"].clone();
    client.request("resources/read", json!({"uri": uri}));
    let used = json!({"name": "use_prompt", "arguments": {"command": "rest"}});
    client.request("tools/call", used);
    let used = json!({"name": "use_prompt", "arguments": {"command": "rust"}});
    client.request("tools/call", used);
    client.request("tools/call", json!({"name": "no_tool"}));
    client.request("no/method", json!({}));
    client.request("prompts/list", json!({}));
    client.close();
    let lines = reads(&env);
    let uri = uri.as_str().expect("a URI");
    assert_eq!(
        short(&lines),
        [
            "prompts/get - lib:hello ok",
            "prompts/get - lib:hello ok",
            "prompts/get - lib:hello refused",
            "prompts/get - lib:count ok",
            "prompts/get - nothing refused",
            &format!("resources/read - {uri} ok"),
            "tools/call use_prompt lib:rest ok",
            "tools/call use_prompt rust failed",
            "tools/call - - refused",
            "no/method - - refused",
        ]
    );
    assert!(!format!("{lines:?}").contains("secret-value"));
    assert_eq!(
        (&lines[0]["actor"], &lines[0]["client"]),
        (&json!("local"), &json!("acme"))
    );
    assert!(lines[0]["milliseconds"].is_number() && lines[0]["time"].is_string());
    assert_eq!(lines[4]["code"], -32602);
}

#[test]
fn nothing_is_logged_or_counted_unless_asked() {
    let env = env(LIBRARY);
    env.configure("[audit]\nfile = \"reads.jsonl\"\n");
    let mut client = env.serve();
    client.initialize();
    client.request("prompts/get", json!({"name": "rest"}));
    client.close();
    assert!(!env.home().join(".config/twig/reads.jsonl").exists());
    assert!(!env.home().join(".local/share/twig/stats").exists());
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_at_the_start() {
    let env = env(LIBRARY);
    env.configure("[audit]\nfile = \"no/folder/reads.jsonl\"\nreads = \"names\"\n");
    let refused = env.run(["serve"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("the log of reads"), "{refused}");
}

#[test]
fn reads_over_http_are_logged_too() {
    let env = env(LIBRARY);
    env.configure(&format!("{LOGGED}[stats]\nenable = true\n"));
    let mut served = Served::from_env(env);
    let mut caller = served.caller();
    let session = caller.initialize();
    let params = json!({"name": "rest"});
    assert_eq!(
        caller
            .legacy(&session, "prompts/get", params.clone())
            .status,
        200
    );
    assert_eq!(caller.modern("prompts/get", params).status, 200);
    let foreign = [("host", "evil.example")];
    assert_eq!(
        crate::http::list(&mut served.caller(), &foreign).status,
        403
    );
    served.signal(Signal::TERM);
    served.ended();
    let lines = reads(&served.env);
    let [get, refused] = ["prompts/get - lib:rest ok", "http - - refused"];
    assert_eq!(short(&lines), [get, get, refused]);
    assert_eq!(lines[2]["code"], 403);
    let rows = stats(&served.env, &[]);
    let count: u64 = rows.iter().filter_map(|row| row["count"].as_u64()).sum();
    assert_eq!(count, 2, "{rows:?}");
}

/// What `twig stats` prints.
fn stats(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let printed = env.run([&["stats", "--json"], args].concat());
    assert_eq!(printed.code, 0, "{printed}");
    serde_json::from_str(&printed.stdout).expect("JSON")
}

#[test]
fn the_use_of_prompts_is_counted_by_prompt_version_and_client() {
    let env = env(LIBRARY);
    env.configure("[stats]\nenable = true\n");
    for args in [
        &["project", "create", "garden"][..],
        &["prompt", "add", "water", "-c", "one"],
        &["prompt", "label", "water", "live"],
        &["prompt", "update", "water", "-c", "two"],
    ] {
        assert_eq!(env.run(args.iter().copied()).code, 0);
    }
    for (client_name, names) in [
        ("one", &["lib:rest", "lib:rest", "garden:water"][..]),
        ("two", &["lib:rest", "garden:water@live", "lib:nothing"]),
    ] {
        let mut client = env.serve();
        client.initialize_as(client_name, "2025-11-25");
        for name in names {
            client.request("prompts/get", json!({"name": name}));
        }
        client.close();
    }
    let rows: Vec<String> = stats(&env, &[])
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["prompt"], row["version"], row["client"], row["count"]
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            r#""garden:water" 2 "one" 1"#,
            r#""garden:water@live" 1 "two" 1"#,
            r#""lib:rest" null "one" 2"#,
            r#""lib:rest" null "two" 1"#,
        ]
    );
    let shown = env.run(["stats"]).stdout;
    assert!(shown.starts_with("lib:rest           3 uses"), "{shown}");
    let unused: Vec<Value> = stats(&env, &["--unused", "30d"]);
    let names: Vec<&str> = unused
        .iter()
        .filter_map(|row| row["prompt"].as_str())
        .collect();
    assert_eq!(names, ["lib:count", "lib:hello"]);
    assert_eq!(unused[0]["last_use"], Value::Null);
    let all: Vec<Value> = stats(&env, &["--unused", "0s"]);
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn without_counts_the_command_says_how_to_count() {
    let env = env(LIBRARY);
    let printed = env.run(["stats"]);
    assert!(printed.stderr.contains("enable = true"), "{printed}");
    assert_eq!(stats(&env, &[]).len(), 0);
}
