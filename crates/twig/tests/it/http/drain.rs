//! The end of a server that drains: nobody notices it.

use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;
use twig_testkit::TestEnv;

use super::admin::ask;
use super::client::{get, list};
use super::{LIBRARY, Served};
use crate::{children, env, wait_until};

fn draining(config: &str) -> Served {
    let env: TestEnv = env(LIBRARY);
    env.configure(config);
    let command = env.command(["serve", "--http", ":0", "--admin", ":0"]);
    Served::start(env, command)
}

#[test]
fn a_draining_server_is_not_ready_and_goes_on_to_serve() {
    let mut served = draining("[http]\ndrain_millis = 3_600_000\n");
    let port = served.admin_port();
    assert_eq!(ask(port, "GET /readyz").status, 200);
    let mut stream = served.caller();
    stream.listen();
    stream.event().expect("the acknowledgement");
    served.signal(Signal::TERM);
    wait_until("not ready", || ask(port, "GET /readyz").status == 503);
    let draining = ask(port, "GET /readyz");
    assert_eq!(
        draining.json(),
        json!({"ready": false, "reasons": ["draining"]})
    );
    assert_eq!(ask(port, "GET /livez").status, 200);
    // New connections are accepted, and streams go on.
    let mut late = served.caller();
    let listed = list(&mut late, &[]);
    assert_eq!(listed.status, 200);
    // The next request of this client goes to another server.
    assert_eq!(listed.header("connection"), Some("close"));
    assert!(late.is_closed());
    served.env.write("lib/prompts/new.md", "New");
    served.env.write("lib/twig.toml", "[prompts.new]\n");
    let event = stream.event().expect("a change");
    assert_eq!(event["method"], "notifications/prompts/list_changed");
    // A second signal ends it at once.
    served.signal(Signal::TERM);
    let (status, _, talk) = served.ended();
    assert_eq!(status.code(), Some(0), "{talk}");
}

#[test]
fn after_the_drain_streams_are_completed_and_requests_answered() {
    // Without a drain, a render of this length is given up.
    let config = "[http]\ndrain_millis = 1\n[limits]\nrender_millis = 1500\n";
    let mut served = draining(config);
    let mut stream = served.caller();
    stream.listen();
    stream.event().expect("the acknowledgement");
    let mut slow = served.caller();
    let body = super::client::modern("prompts/get", json!({"name": "lib:slow"})).to_string();
    slow.start("POST", &get("lib:slow"), body.as_bytes());
    wait_until("a render", || children(served.child.id()).len() == 1);
    served.signal(Signal::TERM);
    wait_until("no new connections", || {
        TcpStream::connect(("127.0.0.1", served.port)).is_err()
    });
    let answer = slow.response();
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("the limit of 1500 ms"), "{message}");
    let last = stream.event().expect("the completion");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(stream.event(), None);
    let (status, _, talk) = served.ended();
    assert_eq!(status.code(), Some(0), "{talk}");
}
