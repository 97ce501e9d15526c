//! What a busy server takes, and how soon it answers.

use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::{TestClient, figure};

use super::support::{Weight, log_bytes};
use super::{done, prompt, serve, text, with_project};

fn all(server: &mut TestClient, ids: Vec<u64>) {
    for id in ids {
        let answer = server.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
    }
    server.forget();
}

/// So many requests, half a thousand of them at a time.
fn ask(
    server: &mut TestClient,
    count: usize,
    method: &str,
    params: impl Fn(usize) -> serde_json::Value,
) {
    for from in (0..count).step_by(500) {
        let ids = (from..count.min(from + 500)).map(|at| server.start_request(method, &params(at)));
        let ids = ids.collect();
        all(server, ids);
    }
}

/// T-REL-13, small.
#[test]
fn a_server_takes_no_more_after_thousands_of_requests() {
    let env = with_project();
    let mut server = serve(&env);
    server.initialize();
    for at in 0..50 {
        prompt(&mut server, &format!("p{at}"), &"x".repeat(2_000));
    }
    let get = |at: usize| json!({"name": format!("p{}", at % 50)});
    let write = |at: usize| {
        let content = format!("{at} {}", "y".repeat(2_000));
        let arguments = json!({"name": format!("p{}", at % 50), "content": content});
        json!({"name": "update_prompt", "arguments": arguments})
    };
    // All that is made on first need is there from now on.
    ask(&mut server, 2_000, "prompts/get", get);
    ask(&mut server, 500, "tools/call", write);
    let before = Weight::of(server.pid());
    ask(&mut server, 10_000, "prompts/get", get);
    ask(&mut server, 1_000, "tools/call", |at| write(at + 500));
    let now = Weight::of(server.pid());
    let bound = before.memory + (before.memory / 20).max(2 * 1024);
    assert!(now.memory < bound, "{before:?} became {now:?}");
    assert_eq!(now.files, before.files, "{before:?} became {now:?}");
    assert_eq!(now.threads, before.threads, "{before:?} became {now:?}");
    assert!(
        log_bytes(&env) < 8 * 1024 * 1024,
        "{} bytes",
        log_bytes(&env)
    );
    assert!(text(&mut server, "p49").starts_with("1499 "));
}

/// T-TOOL-04: a flood that is refused keeps nobody waiting.
#[test]
fn a_flood_of_refused_writes_keeps_nobody_waiting() {
    const FLOOD: usize = 2_000;
    let env = with_project();
    env.configure("[limits]\nproject_items = 10\n");
    let mut server = serve(&env);
    server.initialize();
    let create = |at: usize| json!({"name": format!("p{at}"), "content": "x"});
    for at in 0..10 {
        done(&mut server, "create_prompt", create(at));
    }
    let before = Weight::of(server.pid());
    let mut waits = Vec::new();
    for from in (0..FLOOD).step_by(20) {
        let params = |at| json!({"name": "create_prompt", "arguments": create(10 + at)});
        let ids: Vec<u64> = (from..from + 20)
            .map(|at| server.start_request("tools/call", &params(at)))
            .collect();
        let asked = Instant::now();
        let listed = server.request("prompts/list", json!({}));
        waits.push(asked.elapsed());
        let listed = listed["result"]["prompts"].as_array().map(Vec::len);
        assert_eq!(listed, Some(10));
        for id in ids {
            let answer = server.answer(id);
            let said = answer["result"]["content"][0]["text"].to_string();
            assert!(said.contains("which is the limit"), "{answer}");
        }
    }
    waits.sort_unstable();
    let nearly_all = waits[waits.len() * 90 / 100];
    figure(
        "a list beside refused writes",
        nearly_all,
        Duration::from_millis(200),
    );
    let now = Weight::of(server.pid());
    assert!(now.memory < before.memory + 4 * 1024, "{before:?} {now:?}");
    done(&mut server, "delete_prompt", json!({"name": "p0"}));
    done(&mut server, "create_prompt", create(10));
}
