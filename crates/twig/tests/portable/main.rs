//! The real binary with the portable twins of its platform modules, as it would be on a system without
//! the calls of Unix: built and run on Unix with `--cfg twig_portable`, by `just portable`. In every
//! other build there is nothing here.
#![cfg(twig_portable)]
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    reason = "tests fail by panicking, and their texts are short"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

const TWIG: &str = env!("CARGO_BIN_EXE_twig");

const LIBRARY: &str = "//- lib/twig.toml\n\
    [prompts.hello]\n[[prompts.hello.arguments]]\nname = \"x\"\n\
    [prompts.loop]\n[prompts.endless]\n\
    //- lib/prompts/hello.md\nHello {{ x }}\n\
    //- lib/prompts/loop.md\n{% for i in range(3) %}{{ i }}{% endfor %}\n\
    //- lib/prompts/endless.md\n{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}\n";

fn request(id: usize, method: &str, params: &Value) -> String {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    format!("{request}\n")
}

fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}
    });
    request(0, "initialize", &params)
}

fn text(answer: &Value) -> &str {
    let text = &answer["result"]["messages"][0]["content"]["text"];
    text.as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn get(client: &mut TestClient, name: &str) -> Value {
    client.request(
        "prompts/get",
        json!({"name": name, "arguments": {"x": "1"}}),
    )
}

fn names(client: &mut TestClient) -> BTreeSet<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("a list");
    let name = |prompt: &Value| prompt["name"].as_str().expect("a name").to_owned();
    prompts.iter().map(name).collect()
}

#[test]
fn this_is_the_portable_build() {
    let version = TestEnv::new(TWIG).run(["--version"]);
    assert!(version.stdout.contains("portable"), "{version}");
}

#[test]
fn pipelined_requests_are_all_answered_after_the_end_of_input() {
    const GETS: usize = 2_000;
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut child = env
        .command(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut input = child.stdin.take().expect("piped");
    // Megabytes of answers that nobody reads yet; the last line has no end.
    let value = "x".repeat(2_000);
    let params = json!({"name": "lib:hello", "arguments": {"x": value}});
    let gets = (2..GETS + 2).map(|id| request(id, "prompts/get", &params));
    let list = request(1, "prompts/list", &json!({}));
    let lines: String = [initialize(), list].into_iter().chain(gets).collect();
    let writer = thread::spawn(move || input.write_all(lines.trim_end().as_bytes()));
    writer.join().expect("no panic").expect("all is read");
    let mut output = String::new();
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_to_string(&mut output).expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    let answers = output
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let answers: Vec<Value> = answers.collect();
    let ids: Vec<_> = answers.iter().filter_map(|it| it["id"].as_u64()).collect();
    let expected: Vec<u64> = (0..GETS as u64 + 2).collect();
    assert_eq!(ids, expected, "each once, in order");
    assert_eq!(answers[1]["result"]["prompts"][0]["name"], "lib:endless");
    let greeting = format!("Hello {value}");
    assert!(
        answers[2..]
            .iter()
            .all(|it| text(it).trim_end() == greeting)
    );
}

#[test]
fn a_client_that_is_gone_ends_its_server() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut command = env.command(["serve"]);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = streams.spawn().expect("the server starts");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("piped");
    input.write_all(initialize().as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_save_is_announced() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(text(&get(&mut client, "lib:hello")).trim_end(), "Hello 1");
    let manifest = "[prompts.hello]\n[prompts.new]\n";
    env.write("lib/prompts/new.md", "New\n");
    env.write("lib/twig.toml", manifest);
    client.notification("notifications/prompts/list_changed");
    assert!(names(&mut client).contains("lib:new"));
    let ended = client.close();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
}

#[test]
fn computed_templates_are_rendered_and_end_at_their_limit() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(text(&get(&mut client, "lib:loop")).trim_end(), "012");
    let refused = get(&mut client, "lib:endless");
    assert!(refused["error"]["message"].is_string(), "{refused}");
    assert_eq!(text(&get(&mut client, "lib:loop")).trim_end(), "012");
}

#[test]
fn two_servers_write_to_one_store() {
    const EACH: usize = 20;
    let env = TestEnv::new(TWIG);
    let made = env.run(["project", "create", "p"]);
    assert_eq!(made.code, 0, "{made}");
    thread::scope(|scope| {
        for server in ["a", "b"] {
            let env = &env;
            scope.spawn(move || {
                let mut client = env.serve_with(["--project", "p"]);
                client.initialize();
                for number in 0..EACH {
                    let name = format!("{server}-{number}");
                    let arguments = json!({"name": name, "content": "text"});
                    let params = json!({"name": "create_prompt", "arguments": arguments});
                    let answer = client.request("tools/call", params);
                    assert_eq!(answer["result"]["isError"], false, "{answer}");
                }
            });
        }
    });
    let mut client = env.serve_with(["--project", "p"]);
    client.initialize();
    assert_eq!(names(&mut client).len(), 2 * EACH);
    let verified = env.run(["store", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
}

/// Eight commands change one file; a reader meets none of them half-way.
#[test]
fn commands_take_turns_at_a_file_that_readers_see_whole() {
    const AT_ONCE: usize = 8;
    const ROUNDS: usize = 4;
    let env = TestEnv::new(TWIG);
    env.write("lib/twig.toml", "# mine\n");
    let manifest = env.data().join("lib/twig.toml");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&manifest).expect("it is always there");
                assert!(
                    text.starts_with("# mine\n") && text.ends_with('\n'),
                    "{text}"
                );
            }
        });
        for round in 0..ROUNDS {
            thread::scope(|commands| {
                for number in 0..AT_ONCE {
                    let env = &env;
                    commands.spawn(move || {
                        let name = format!("lib:n{}", round * AT_ONCE + number);
                        let made = env.run(["new", "prompt", &name]);
                        assert_eq!(made.code, 0, "{made}");
                    });
                }
            });
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("it was whole each time");
    });
    let text = fs::read_to_string(&manifest).expect("the test's own file");
    assert_eq!(
        text.matches("[prompts.n").count(),
        AT_ONCE * ROUNDS,
        "{text}"
    );
    let left = fs::read_dir(env.data().join("lib")).expect("a folder");
    let left = left.flatten().map(|entry| entry.file_name());
    let left = left.filter(|name| name.as_encoded_bytes().starts_with(b".twig-"));
    assert_eq!(left.count(), 0, "no temporary file stays");
}

#[test]
fn a_function_is_refused_in_words() {
    let env = TestEnv::with(
        TWIG,
        "//- f/twig.toml\n[prompts.run]\ncommand = [\"./bin/run\"]\n//- f/bin/run\n#!/bin/sh\ntouch /tmp/ran\n",
    );
    let trusted = env.run(["library", "trust", "f", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted}");
    for arguments in [
        &["render", "f:run"][..],
        &["render", "--allow-unsandboxed-functions", "f:run"],
    ] {
        let refused = env.run(arguments.iter().copied());
        assert_eq!((refused.code, &*refused.stdout), (1, ""), "{refused}");
        let why = "Prompt `f:run` was not run: Twig has no sandbox for programs on this system";
        assert!(refused.stderr.contains(why), "{refused}");
    }
}

#[test]
fn a_terminal_is_not_needed_and_its_lack_is_explained() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let refused = env.run(["pick"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("twig pick --plain"),
        "{refused}"
    );
    assert!(env.run(["pick", "--plain"]).stdout.contains("lib:hello"));
}

#[test]
fn a_server_over_http_answers() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = log.find_map(|line| {
        let line = line.expect("UTF-8");
        let address = line.strip_prefix("http://")?.strip_suffix("/mcp")?;
        Some(address.to_owned())
    });
    let address = address.expect("it says where it listens");
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let get = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(get.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
