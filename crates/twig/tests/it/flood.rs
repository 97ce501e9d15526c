//! Clients that write a lot: memory stays bounded and every request is answered.

use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::thread;

use serde_json::{Value, json};

use crate::{CONTRACT, env, piped};

fn resident_kib(child: &Child) -> u64 {
    crate::memory_kib(child.id(), "VmHWM")
}

fn get(id: usize) -> String {
    let arguments = json!({"code_snippet": "x".repeat(100), "language": "rust"});
    let params = json!({"name": "my_coding_lib:code_review", "arguments": arguments});
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": params})
    )
}

/// The client does not read a byte before its last request is written.
#[test]
fn requests_written_before_the_first_reply_is_read_are_all_answered() {
    const COUNT: usize = 50_000;
    let env = env(CONTRACT);
    let (mut child, mut input, output) = piped(&env);
    let requests: String = (0..COUNT).map(get).collect();
    input
        .write_all(requests.as_bytes())
        .expect("the server goes on reading");
    drop(input);
    let mut answered = 0;
    for line in BufReader::new(output).lines() {
        let answer: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        assert_eq!(answer["id"], answered);
        assert!(answer["result"]["messages"].is_array());
        answered += 1;
        if answered == COUNT {
            assert!(
                resident_kib(&child) < 64 * 1024,
                "{} KiB",
                resident_kib(&child)
            );
        }
    }
    assert_eq!(answered, COUNT);
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

#[test]
fn a_line_without_end_is_refused_and_not_held() {
    let env = env(CONTRACT);
    let (mut child, mut input, output) = piped(&env);
    let mut lines = BufReader::new(output).lines();
    let mut next = || -> Value {
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON")
    };
    let ping = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    input
        .write_all(ping(1).as_bytes())
        .expect("the server reads");
    assert_eq!(next()["id"], 1);
    let before = resident_kib(&child);
    let writer = thread::spawn(move || {
        let block = vec![b'x'; 1 << 20];
        for _ in 0..256 {
            input.write_all(&block).expect("the server skips");
        }
        input
            .write_all(format!("\n{}", ping(2)).as_bytes())
            .expect("the server reads");
        input
    });
    let refused = next();
    assert_eq!(refused["error"]["code"], -32600);
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("4194304"), "{message}");
    assert_eq!(next()["id"], 2);
    // The longest message there may be, what was read ahead of it, and the code that refuses it.
    let grown = resident_kib(&child) - before;
    assert!(grown < 24 * 1024, "{grown} KiB more");
    drop(writer.join().expect("written"));
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

/// Replies pile up while the client reads, but never all of them: what was written is given back.
#[test]
fn a_client_that_reads_slower_than_it_asks_does_not_make_memory_grow() {
    const COUNT: usize = 12_000;
    let env = env(CONTRACT);
    let (mut child, mut input, output) = piped(&env);
    let request = {
        let arguments = json!({"code_snippet": "x".repeat(8_000)});
        let params = json!({"name": "my_coding_lib:code_review", "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params});
        format!("{request}\n")
    };
    let writer = thread::spawn(move || {
        for _ in 0..COUNT {
            input
                .write_all(request.as_bytes())
                .expect("the server reads");
        }
    });
    let mut answered = 0;
    let mut most = 0;
    for line in BufReader::new(output).lines() {
        let answer: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        assert_eq!(answer["id"], 1);
        answered += 1;
        most = most.max(resident_kib(&child));
    }
    writer.join().expect("written");
    assert_eq!(answered, COUNT);
    // Read-ahead of requests is bounded at 64 MiB; replies come to 100 MB.
    assert!(most < 100 * 1024, "{most} KiB");
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}
