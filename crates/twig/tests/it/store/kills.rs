//! T-REL-01: servers are killed in the middle of writing, and nothing that was acknowledged is lost.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::support::{Random, check_file};
use super::{names, serve, text, with_project};

const ROUNDS: usize = 100;
const SERVERS: usize = 5;
/// More than any server gets done before it is killed.
const WRITES: usize = 40;

#[test]
fn no_acknowledged_write_is_lost_to_a_kill() {
    let env = with_project();
    let mut random = Random::new();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut servers: Vec<TestClient> = (0..SERVERS).map(|_| serve(&env)).collect();
        let mut asked = Vec::new();
        for (at, server) in servers.iter_mut().enumerate() {
            let name = |write: usize| format!("r{round}.s{at}.w{write}");
            let ids = (0..WRITES).map(|write| (create(server, &name(write)), name(write)));
            asked.push(ids.collect::<BTreeMap<u64, String>>());
        }
        // Some of them got so far, the others somewhere.
        let (which, after) = (random.below(SERVERS), random.below(WRITES / 2));
        let id = *asked[which].keys().nth(after).expect("so many were asked");
        let answer = servers[which].answer(id);
        note(&answer, &asked[which], &mut acknowledged);
        for server in &servers {
            server.signal(Signal::KILL);
        }
        for (server, asked) in servers.into_iter().zip(&asked) {
            for message in server.ended().rest {
                note(&message, asked, &mut acknowledged);
            }
        }
        if round % 10 == 9 {
            check(&env, &acknowledged);
        }
    }
    assert!(acknowledged.len() > ROUNDS, "{} writes", acknowledged.len());
    check(&env, &acknowledged);
}

fn create(server: &mut TestClient, name: &str) -> u64 {
    let arguments = json!({"name": name, "content": format!("content of {name}")});
    server.start_request(
        "tools/call",
        &json!({"name": "create_prompt", "arguments": arguments}),
    )
}

fn note(message: &Value, asked: &BTreeMap<u64, String>, acknowledged: &mut BTreeSet<String>) {
    if let Some(name) = message["id"].as_u64().and_then(|id| asked.get(&id)) {
        assert_eq!(message["result"]["isError"], false, "{message}");
        acknowledged.insert(name.clone());
    }
}

/// Everything is there, whole, and the file is sound.
fn check(env: &TestEnv, acknowledged: &BTreeSet<String>) {
    let mut server = serve(env);
    let present: BTreeSet<String> = list_all(&mut server);
    let lost: Vec<&String> = acknowledged.difference(&present).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    for name in acknowledged.iter().rev().take(20) {
        assert_eq!(text(&mut server, name), format!("content of {name}"));
    }
    server.close();
    check_file(env);
}

fn list_all(server: &mut TestClient) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = names(server).into_iter().collect();
    let mut answer = server.request("prompts/list", json!({}));
    while let Some(cursor) = answer["result"]["nextCursor"].as_str().map(str::to_owned) {
        answer = server.request("prompts/list", json!({"cursor": cursor}));
        let prompts = answer["result"]["prompts"].as_array().expect("a list");
        all.extend(
            prompts
                .iter()
                .map(|p| p["name"].as_str().expect("a name").to_owned()),
        );
    }
    all
}
