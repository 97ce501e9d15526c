//! T-REL-11: readers that never finish, and servers that stand still in the middle of something.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{TestClient, figure};

use super::support::{Random, check_file, database, log_bytes};
use super::{names, prompt, servers, text, with_project};

const MIB: u64 = 1024 * 1024;

/// Asks for writes without waiting for them; gives the ids.
fn storm(server: &mut TestClient, writes: std::ops::Range<usize>) -> Vec<u64> {
    let update = |at: usize| json!({"name": "p", "content": format!("{at}")});
    let params = |at| json!({"name": "update_prompt", "arguments": update(at)});
    writes
        .map(|at| server.start_request("tools/call", &params(at)))
        .collect()
}

#[test]
fn a_reader_that_never_finishes_holds_up_nobody() {
    // Each is five pages or so, and none of them can be used again while somebody may read it.
    const WRITES: usize = 1_500;
    let env = with_project();
    let mut servers = servers(&env, 2);
    prompt(&mut servers[0], "p", "start");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = Connection::open_with_flags(database(&env), flags).expect("opens");
    reader.execute_batch("BEGIN").expect("begins");
    let count = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
    let changes = "SELECT count(*) FROM change";
    let before = count(changes).expect("an answer");
    for round in 0..10 {
        let from = round * WRITES / 10;
        let ids = storm(&mut servers[0], from..from + WRITES / 10);
        for id in ids {
            let answer = servers[0].answer(id);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        let last = (from + WRITES / 10 - 1).to_string();
        assert_eq!(text(&mut servers[1], "p"), last, "others read what is new");
        servers[0].forget();
        assert!(log_bytes(&env) < 64 * MIB, "{} bytes", log_bytes(&env));
    }
    assert_eq!(count(changes).expect("an answer"), before, "one moment");
    reader.execute_batch("COMMIT").expect("ends");
    drop(reader);
    // The next writes begin the log anew, and it is cut.
    for id in storm(&mut servers[1], 0..20) {
        let answer = servers[1].answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    assert!(log_bytes(&env) <= 8 * MIB, "{} bytes", log_bytes(&env));
    for server in servers {
        assert!(server.close().status.success());
    }
    check_file(&env);
}

#[test]
fn a_server_that_stands_still_holds_up_nobody_for_long() {
    const ROUNDS: usize = 12;
    let env = with_project();
    env.configure("[limits]\nstore_millis = 300\n");
    let mut random = Random::new();
    let mut servers = servers(&env, 3);
    prompt(&mut servers[0], "p", "start");
    let [stopped, other, reader] = &mut servers[..] else {
        unreachable!()
    };
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let ids = storm(stopped, round * 100..round * 100 + 60);
        // Somewhere among its writes, perhaps with the lock in its hand.
        let seen = stopped.answer(ids[random.below(40)]);
        acknowledged += u64::from(seen["result"]["isError"] == false);
        stopped.signal(Signal::STOP);
        let start = Instant::now();
        let name = format!("r{round}");
        let arguments = json!({"name": name, "content": "other"});
        let create = json!({"name": "create_prompt", "arguments": arguments});
        let waiting = other.start_request("tools/call", &create);
        text(reader, "p");
        let listed = names(reader).len();
        assert!(listed > 0);
        let answer = other.answer(waiting);
        figure(
            "a write beside a stopped one",
            start.elapsed(),
            Duration::from_secs(5),
        );
        let is_done = answer["result"]["isError"] == false;
        if !is_done {
            let said = answer["result"]["content"][0]["text"].to_string();
            assert!(said.contains("Another program has been writing"), "{said}");
        }
        stopped.signal(Signal::CONT);
        for id in ids {
            if seen["id"] != id {
                let answer = stopped.answer(id);
                acknowledged += u64::from(is_fine(&answer));
            }
        }
        assert_eq!(names(reader).contains(&name), is_done);
        let last = text(stopped, "p");
        assert_eq!(text(other, "p"), last);
        assert_eq!(text(reader, "p"), last);
        stopped.forget();
    }
    assert!(acknowledged > ROUNDS as u64, "{acknowledged}");
    for server in servers {
        assert!(server.close().status.success());
    }
    check_file(&env);
}

/// Whether a write was done; it may have had to wait for too long.
fn is_fine(answer: &Value) -> bool {
    let result = &answer["result"];
    let said = result["content"][0]["text"].to_string();
    let is_done = result["isError"] == false;
    assert!(is_done || said.contains("Another program"), "{answer}");
    is_done
}
