//! A system that lets the server open few files.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::figure;

use super::Served;
use super::client::{Caller, PATIENCE};
use crate::{TWIG, env};

/// Time that a process has computed, in hundredths of a second.
fn computed(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(')').expect("its name");
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || -> u64 { fields.next().and_then(|n| n.parse().ok()).expect("a time") };
    next() + next()
}

/// Connects and listens; `None` where there is no room.
fn connect(served: &Served) -> Option<Caller> {
    let mut caller = served.caller();
    match caller.listen().status {
        200 => Some(caller),
        503 => None,
        other => panic!("{other}"),
    }
}

#[test]
#[cfg(target_os = "linux")]
fn connections_leave_some_for_prompts_and_workers() {
    let env = env(super::LIBRARY);
    env.configure("[http]\nkeep_alive_millis = 300\n");
    let mut command = Command::new("/bin/sh");
    let script = "ulimit -n 64; exec \"$0\" serve --http 127.0.0.1:0";
    command
        .args(["-c", script, TWIG])
        .env_clear()
        .env("HOME", env.home())
        .current_dir(env.work());
    let served = Served::start(env, command);
    let mut stream = served.caller();
    stream.listen();
    stream.event();
    let mut callers = Vec::new();
    while let Some(caller) = connect(&served) {
        callers.push(caller);
    }
    assert!((16..64).contains(&callers.len()), "{}", callers.len());
    for _ in 0..20 {
        assert!(connect(&served).is_none());
    }
    // Who comes once another has left is served, by workers too.
    drop(callers.pop());
    let start = Instant::now();
    let mut caller = served.caller();
    let params = json!({"name": "lib:hello", "arguments": {"name": "Ada"}});
    while caller.modern("prompts/get", params.clone()).status != 200 {
        assert!(start.elapsed() < PATIENCE);
        caller = served.caller();
    }
    let counted = caller.modern("prompts/get", json!({"name": "lib:count"}));
    assert!(counted.json()["error"].is_null(), "{counted:?}");
    // And it rests. The comments of the stream are the clock.
    let before = computed(served.child.id());
    for _ in 0..3 {
        stream.chunk();
    }
    let spent = Duration::from_millis((computed(served.child.id()) - before) * 10);
    figure(
        "work of a server without a free file",
        spent,
        Duration::from_millis(50),
    );
    drop(callers);
    let start = Instant::now();
    while connect(&served).is_none() {
        assert!(start.elapsed() < PATIENCE);
    }
}
