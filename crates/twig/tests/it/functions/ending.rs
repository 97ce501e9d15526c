//! Functions whose request ended before they did, over standard input and output.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use twig_testkit::TestClient;

use super::{HELLO, get, text, trusted, wait_until};

const SOON: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

fn start(client: &mut TestClient, name: &str) -> u64 {
    client.start_request("prompts/get", &json!({"name": format!("f:{name}")}))
}

#[test]
fn a_cancelled_request_ends_its_function_and_others_go_on_meanwhile() {
    let env = trusted(&[
        ("slow", "#!/bin/sh\nsleep 74001@@ & sleep 74001@@\n"),
        ("hello", HELLO),
    ]);
    let mut client = env.serve();
    let id = start(&mut client, "slow");
    wait_until(true, "74001", PATIENCE);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(text(&get(&mut client, "hello", "")), "hello");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(cancel.to_string());
    wait_until(false, "74001", SOON);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let rest = client.close().rest;
    assert!(
        rest.is_empty(),
        "a cancelled request is not answered: {rest:?}"
    );
}

#[test]
fn a_few_run_a_few_wait_and_the_rest_is_told() {
    let env = trusted(&[
        ("slow", "#!/bin/sh\nexec sleep 74002@@\n"),
        ("hello", HELLO),
    ]);
    let mut client = env.serve();
    let ids: Vec<u64> = (0..20).map(|_| start(&mut client, "slow")).collect();
    let refused = get(&mut client, "hello", "");
    let sentence = super::error(&refused);
    assert!(
        sentence.contains("Too many requests are waiting"),
        "{sentence}"
    );
    // Those that wait take the places of those that are cancelled, and one that waits is
    // forgotten at once.
    let hello = |client: &mut TestClient, ids: &[u64]| {
        for id in ids {
            let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            client.send(cancel.to_string());
        }
    };
    hello(&mut client, &ids[4..]);
    let waiting = client.start_request("prompts/get", &json!({"name": "f:hello"}));
    hello(&mut client, &ids[..1]);
    assert_eq!(text(&client.answer(waiting)), "hello");
    drop(client);
    wait_until(false, "74002", SOON);
}

#[test]
fn a_server_that_ends_takes_its_functions_with_it() {
    let env = trusted(&[(
        "slow",
        "#!/bin/sh\nsleep 74003@@ & (sleep 74003@@ &) ; sleep 74003@@\n",
    )]);
    for signal in [Signal::TERM, Signal::KILL] {
        let mut client = env.serve();
        start(&mut client, "slow");
        wait_until(true, "74003", PATIENCE);
        client.signal(signal);
        client.ended();
        wait_until(false, "74003", SOON);
    }
}

#[test]
fn what_was_asked_before_the_input_ended_is_still_answered() {
    let env = trusted(&[("late", &format!("#!/bin/sh\nsleep 0.3\n{}", &HELLO[10..]))]);
    let mut client = env.serve();
    start(&mut client, "late");
    let ended = client.close();
    assert!(ended.status.success());
    assert_eq!(text(&ended.rest[0]), "hello");
}
