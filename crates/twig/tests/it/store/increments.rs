//! T-REL-10: ten processes count on one prompt, each from what it has read. Nobody's step is lost,
//! nobody is told to come back later, and nobody waits long.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::Client;

use super::{call, done, servers, text, with_project};

const PROCESSES: usize = 10;
const EACH: usize = 200;

#[test]
fn ten_processes_count_together() {
    let env = with_project();
    let mut processes = servers(&env, PROCESSES);
    done(
        &mut processes[0],
        "create_prompt",
        json!({"name": "sum", "content": "0"}),
    );
    let longest = thread::scope(|scope| {
        let counting: Vec<_> = processes
            .iter_mut()
            .map(|one| scope.spawn(|| count(one)))
            .collect();
        let waits = counting.into_iter().map(|one| one.join().expect("counted"));
        waits.max().unwrap_or_default()
    });
    println!("the longest call took {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    for process in &mut processes {
        assert_eq!(text(process, "sum"), (PROCESSES * EACH).to_string());
    }
}

/// Makes its steps; gives the time of the slowest call.
fn count(process: &mut Client) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..EACH {
        loop {
            let start = Instant::now();
            let sum: usize = text(process, "sum").parse().expect("a number");
            // Every step is a version, so the sum says which one was read.
            let update = json!({"name": "sum", "content": (sum + 1).to_string(), "expected_version": sum + 1});
            let result = call(process, "update_prompt", update);
            longest = longest.max(start.elapsed());
            if result["isError"] == false {
                break;
            }
            let said = result["content"][0]["text"].as_str().unwrap_or_default();
            assert!(said.contains("not at the expected version"), "{said}");
        }
    }
    longest
}
