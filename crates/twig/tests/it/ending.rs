//! How a server ends: at once, with every subscription completed, exit code 0.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use twig_testkit::figure;

use crate::{CONTRACT, TWIG, env, piped};

const LISTEN: &str = "subscriptions/listen";

fn completes_its_subscription(end: impl FnOnce(twig_testkit::TestClient) -> twig_testkit::Ended) {
    let env = env(CONTRACT);
    let mut client = env.serve();
    let id = client.start_modern(
        LISTEN,
        json!({"notifications": {"promptsListChanged": true}}),
    );
    client.notification("notifications/subscriptions/acknowledged");
    let ended = end(client);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.took < Duration::from_secs(2), "{:?}", ended.took);
    let last = ended.rest.last().expect("the completion");
    assert_eq!(last["id"], id);
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(
        last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
}

#[test]
fn end_of_input_completes_subscriptions() {
    completes_its_subscription(twig_testkit::TestClient::close);
}

#[test]
fn sigint_completes_subscriptions() {
    completes_its_subscription(|client| {
        client.signal(Signal::INT);
        client.ended()
    });
}

#[test]
fn sigterm_completes_subscriptions() {
    completes_its_subscription(|client| {
        client.signal(Signal::TERM);
        client.ended()
    });
}

#[test]
fn a_last_line_without_an_end_is_served() {
    let env = env(CONTRACT);
    let (mut child, mut input, mut output) = piped(&env);
    let request = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    input.write_all(request).expect("the server reads");
    drop(input);
    let mut answer = String::new();
    output.read_to_string(&mut answer).expect("text");
    assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

#[test]
fn a_closed_output_ends_the_server_at_its_next_write() {
    let env = env(CONTRACT);
    let (mut child, mut input, output) = piped(&env);
    drop(output);
    let start = Instant::now();
    while child.try_wait().expect("ours").is_none() {
        assert!(start.elapsed() < Duration::from_secs(10), "still there");
        // Either the server ends or this line makes it.
        if input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n")
            .is_err()
        {
            break;
        }
    }
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

/// A wrapper is killed while something else keeps the server's input open: nothing tells the server
/// but that it has a new parent.
#[test]
fn an_orphan_ends_by_itself() {
    let env = env(CONTRACT);
    let script = format!("exec 3<&0; {TWIG} serve <&3 & wait");
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .env("HOME", env.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    let mut input = shell.stdin.take().expect("piped, and held open");
    let mut output = shell.stdout.take().expect("piped");
    let request = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n";
    input.write_all(request).expect("the server reads");
    let mut answer = [0; 36];
    output
        .read_exact(&mut answer)
        .expect("the server answers, so it knows its parent");
    shell.kill().expect("ours");
    shell.wait().expect("ours");
    let start = Instant::now();
    // The server holds the other end of this pipe until it has gone.
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).expect("readable");
    figure(
        "the end of an orphan",
        start.elapsed(),
        Duration::from_secs(6),
    );
}

#[test]
fn a_render_under_way_is_answered_before_the_end() {
    let env = env(
        "//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\n{% for i in range(3) %}{{ i }}{% endfor %}\n",
    );
    let mut client = env.serve();
    let id = client.start_request("prompts/get", &json!({"name": "lib:p"}));
    let ended = client.close();
    assert_eq!(ended.rest[0]["id"], id);
    assert_eq!(
        ended.rest[0]["result"]["messages"][0]["content"]["text"],
        "012\n"
    );
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn a_log_that_nobody_reads_is_no_reason_to_end() {
    let env = env(CONTRACT);
    let mut child = env
        .command(["serve", "--log-level", "trace"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    drop(child.stderr.take());
    let requests = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\nnonsense\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n";
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(requests)
        .expect("the server reads");
    let output = child.wait_with_output().expect("the server ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3);
}
