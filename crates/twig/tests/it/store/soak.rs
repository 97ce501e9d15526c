//! Ten servers on one file, all of them busy: for two seconds, or for as many as `TWIG_SOAK_SECONDS`
//! says.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::TestClient;

use super::{PROJECT, serve, with_project};
use crate::memory_kib;

const SERVERS: usize = 10;

#[test]
fn ten_busy_servers_agree_in_the_end() {
    let seconds = std::env::var("TWIG_SOAK_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(2);
    let env = with_project();
    let mut servers: Vec<TestClient> = (0..SERVERS).map(|_| serve(&env)).collect();
    for server in &mut servers {
        server.initialize();
        // What is opened on first need is open from now on.
        let arguments = json!({"name": "p0", "content": "x"});
        server.request(
            "tools/call",
            json!({"name": "create_prompt", "arguments": arguments}),
        );
        state(server);
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let before: Vec<(u64, usize)> = servers.iter().map(weight).collect();
    std::thread::scope(|scope| {
        for (at, server) in servers.iter_mut().enumerate() {
            scope.spawn(move || work(server, at as u64, until));
        }
    });
    let first = state(&mut servers[0]);
    assert!(!first.is_empty());
    for server in &mut servers {
        assert_eq!(state(server), first);
    }
    for (server, (memory, files)) in servers.iter().zip(before) {
        let (now, open) = weight(server);
        assert!(now < memory + 6 * 1024, "{memory} KiB became {now}");
        // Whoever watches opens the file in its own time: a database, its log, its index and a lock.
        assert!(open <= files + 5, "{files} files became {open}");
    }
    let log = env
        .home()
        .join(".local/share/twig/workspaces/default.db-wal");
    let log = fs::metadata(log).map_or(0, |log| log.len());
    assert!(log < 16 * 1024 * 1024, "the log holds {log} bytes");
    let history = env.run(["prompt", "history", "p0", "-p", PROJECT, "--json"]);
    assert_eq!(history.code, 0, "{}", history.stderr);
}

fn weight(server: &TestClient) -> (u64, usize) {
    let files = fs::read_dir(format!("/proc/{}/fd", server.pid())).map_or(0, Iterator::count);
    (memory_kib(server.pid(), "VmRSS"), files)
}

/// Writes and reads without a pause. What others did meanwhile may be in the way; nothing else may.
fn work(server: &mut TestClient, seed: u64, until: Instant) {
    let mut number = seed;
    while Instant::now() < until {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let name = format!("p{}", number >> 33 & 15);
        let content = format!("{number}");
        let (tool, arguments) = match number >> 60 & 7 {
            0 | 1 => ("create_prompt", json!({"name": name, "content": content})),
            2..=4 => ("update_prompt", json!({"name": name, "content": content})),
            5 => ("delete_prompt", json!({"name": name})),
            _ => {
                state(server);
                continue;
            }
        };
        let answer = server.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let said = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        let is_fine = answer["result"]["isError"] == false
            || said.contains("already exists")
            || said.contains("does not exist");
        assert!(is_fine, "{answer}");
        server.forget();
    }
}

/// Names and texts of all prompts.
fn state(server: &mut TestClient) -> BTreeMap<String, String> {
    let listed = server.request("prompts/list", json!({}));
    let prompts = listed["result"]["prompts"]
        .as_array()
        .expect("a list")
        .clone();
    let names = prompts.iter().filter_map(|prompt| prompt["name"].as_str());
    let texts = names.filter_map(|name| {
        let answer: Value = server.request("prompts/get", json!({"name": name}));
        // Somebody may have deleted it since it was listed.
        let text = answer["result"]["messages"][0]["content"]["text"].as_str()?;
        Some((name.to_owned(), text.to_owned()))
    });
    texts.collect()
}
