//! Clients that leave, and servers that end, in the middle of a write.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;
use twig_testkit::figure;

use super::{Agent, Era, PROMPTS, Served, Signal, piped, said, with_project};
use crate::http::client::PATIENCE;

/// The lock of the project's file, as another program would hold it.
fn lock(served: &Served) -> Connection {
    let path = served
        .env
        .home()
        .join(".local/share/twig/workspaces/default.db");
    let other = Connection::open(path).expect("opens");
    other.busy_timeout(PATIENCE).expect("ours");
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock gets free");
    other
}

/// How often the thread that writes has waited for something; it is started by the first write.
fn waits(served: &Served) -> u64 {
    let tasks = format!("/proc/{}/task", served.child.id());
    let tasks = fs::read_dir(tasks).expect("the server is there").flatten();
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status")).ok();
    let is_writer = |status: &String| status.contains("twig-store-writ");
    let status = tasks.filter_map(status).find(is_writer).unwrap_or_default();
    let mut lines = status.lines();
    let waits = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    waits.map_or(0, |waits| waits.trim().parse().expect("a number"))
}

/// Sends a write to a server that cannot write now, and waits until it tries to, again and again.
fn begin(served: &Served, era: Era, name: &str) -> Agent {
    let mut writer = Agent::new(served, era, "writer");
    let before = waits(served);
    writer.start_call("create_prompt", &json!({"name": name, "content": "kept"}));
    let start = Instant::now();
    while waits(served) < before + 4 {
        assert!(start.elapsed() < PATIENCE, "the write is never begun");
        std::thread::yield_now();
    }
    writer
}

#[test]
fn a_write_whose_client_left_is_carried_out() {
    let served = with_project();
    let mut reader = Agent::new(&served, Era::Modern, "reader");
    let mut stream = reader.listen(&served);
    for era in [Era::Legacy, Era::Modern] {
        let held = lock(&served);
        let name = format!("{era:?}");
        drop(begin(&served, era, &name));
        assert!(!reader.prompts().contains(&name));
        held.execute_batch("ROLLBACK").expect("ours");
        assert_eq!(stream.event().expect("news")["method"], PROMPTS);
        assert_eq!(reader.text(&name), "kept");
    }
}

/// T-TOOL-05 over HTTP: the answer never arrives, the client asks again, and one version is made.
#[test]
fn what_is_asked_twice_is_done_once() {
    let served = with_project();
    let mut reader = Agent::new(&served, Era::Modern, "reader");
    for round in 0..200 {
        let name = format!("p{round}");
        let era = [Era::Legacy, Era::Modern][round % 2];
        let create = json!({"name": name, "content": "one"});
        let mut writer = Agent::new(&served, era, "writer");
        writer.start_call("create_prompt", &create);
        let start = Instant::now();
        let get = json!({"name": name});
        while reader.answer("prompts/get", get.clone())["result"].is_null() {
            assert!(start.elapsed() < PATIENCE, "it is never made");
        }
        drop(writer);
        let mut again = Agent::new(&served, era, "writer");
        let refused = again.call("create_prompt", create);
        assert!(said(&refused).contains("already exists"), "{refused}");
        for _ in 0..2 {
            let result = again.call("update_prompt", json!({"name": name, "content": "two"}));
            assert_eq!(result["structuredContent"]["version"], 2, "{result}");
        }
    }
}

/// T-REL-15 over HTTP.
#[test]
fn a_signal_in_the_middle_of_writes_loses_none_that_was_acknowledged() {
    const WRITERS: usize = 10;
    for round in 0..10 {
        let mut served = with_project();
        let era = |at: usize| {
            if at.is_multiple_of(2) {
                Era::Legacy
            } else {
                Era::Modern
            }
        };
        let mut writers: Vec<Agent> = (0..WRITERS)
            .map(|at| Agent::new(&served, era(at), "writer"))
            .collect();
        let name = |at: usize| format!("p{at}");
        for (at, writer) in writers.iter_mut().enumerate() {
            writer.start_call("create_prompt", &json!({"name": name(at), "content": "x"}));
        }
        if round % 2 == 0 {
            writers[round].result();
        }
        served.signal(Signal::TERM);
        let (status, took, talk) = served.ended();
        assert_eq!(status.code(), Some(0), "{talk}");
        assert!(took < Duration::from_secs(2), "{took:?}");
        let mut check = piped(&served);
        let listed = check.request("prompts/list", json!({}))["result"]["prompts"].to_string();
        for (at, writer) in writers.iter_mut().enumerate() {
            let told = writer.caller.rest();
            if told.contains("Created prompt") {
                assert!(listed.contains(&format!("\"{}\"", name(at))), "{listed}");
            }
        }
        if round % 2 == 0 {
            assert!(listed.contains(&format!("\"{}\"", name(round))), "{listed}");
        }
    }
}

#[test]
fn a_server_does_not_wait_for_another_programs_lock_to_end() {
    for era in [Era::Legacy, Era::Modern] {
        let mut served = with_project();
        let _held = lock(&served);
        let mut writer = begin(&served, era, "p");
        let start = Instant::now();
        served.signal(Signal::TERM);
        let result = writer.result();
        assert_eq!(result["isError"], true, "{result}");
        let is_told = said(&result).starts_with("Error: The server is ending");
        assert!(is_told, "{result}");
        let (status, _, talk) = served.ended();
        assert_eq!(status.code(), Some(0), "{talk}");
        figure(
            "the end beside a lock",
            start.elapsed(),
            Duration::from_secs(2),
        );
    }
}
