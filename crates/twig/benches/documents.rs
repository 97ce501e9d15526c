//! Documents and definitions over standard input and output: what they add to a start, and what
//! reading one costs beside a program that answers with bytes made beforehand.
//!
//! `cargo bench -p twig --bench documents`. Without `--bench`, as `cargo test` runs it, everything
//! is done a few times only, to show that it still works.

#![allow(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures, and what fails ends it"
)]

#[path = "support/line.rs"]
mod line;

use std::fs;
use std::io::{BufRead, Write};
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use twig_testkit::TestEnv;

use self::line::{Line, median, request};

/// The argument that turns this benchmark into the floor.
const FLOOR: &str = "--floor";
/// Bytes of a document that is read.
const LENGTH: usize = 4 * 1024;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = &args[..]
        && mode == FLOOR
    {
        return floor(file);
    }
    let is_measured = args.iter().any(|arg| arg == "--bench");
    let (rounds, requests) = if is_measured { (15, 20_000) } else { (1, 10) };
    start(rounds, if is_measured { 1_000 } else { 10 });
    read(requests);
    embed(requests / 20 + 1);
}

/// Answers every line with the bytes of a file.
fn floor(file: &str) {
    let canned = fs::read(file).expect("canned bytes");
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let _ = line.expect("a line");
        out.write_all(&canned).expect("a reader");
        out.flush().expect("a reader");
    }
}

/// From the start to the first list: as many Twig prompts, and documents and definitions beside them.
fn start(rounds: usize, documents: usize) {
    let definitions = documents / 10;
    let env = TestEnv::new(env!("CARGO_BIN_EXE_twig"));
    let count = documents + definitions;
    for library in 0..count.div_ceil(100) {
        let prompts = (0..count.min(100)).map(|at| {
            env.write(&format!("lib{library}/prompts/p{at}.md"), "Hello {{ a }}\n");
            format!("[prompts.p{at}]\n[[prompts.p{at}.arguments]]\nname = \"a\"\n\n")
        });
        let manifest: Vec<String> = prompts.collect();
        env.write(&format!("lib{library}/twig.toml"), manifest.concat());
    }
    let alone = median((0..rounds).map(|_| first_list(&env)).collect());
    for at in 0..documents {
        let text = format!("# Document {at}\n\n{}", "What it says. ".repeat(100));
        env.write(&format!("team/docs/d{}/d{at}.md", at % 10), text);
    }
    for at in 0..definitions {
        let text = "Look at {{a}}.\n\n{{resource:architecture://d1/*}}";
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        let argument = json!({"name": "a", "required": true});
        let prompt =
            json!({"name": format!("q{at}"), "arguments": [argument], "messages": [message]});
        env.write(&format!("team/prompts/q{at}.json"), prompt.to_string());
    }
    let both = median((0..rounds).map(|_| first_list(&env)).collect());
    println!(
        "start: {alone:.1} ms with {count} Twig prompts; {documents} documents and {definitions} definitions add {:.1} ms, {:.2} × of that",
        both - alone,
        (both - alone) / alone
    );
}

fn first_list(env: &TestEnv) -> f64 {
    let start = Instant::now();
    let mut server = Line::start(&mut env.command(["serve"]));
    server.ask(&request("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "0"}})));
    server.ask(&request("prompts/list", &json!({})));
    start.elapsed().as_secs_f64() * 1e3
}

/// `resources/read` of one document.
fn read(requests: usize) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_twig"));
    env.write("lib/twig.toml", "");
    env.write("lib/docs/a.md", "x".repeat(LENGTH));
    let ask = request("resources/read", &json!({"uri": "twig://lib/a"}));
    compare(&env, "resources/read of 4 KiB", &ask, requests);
}

/// `prompts/get` that embeds fifty documents of ten KiB.
fn embed(requests: usize) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_twig"));
    for at in 0..50 {
        env.write(&format!("team/docs/d/{at}.md"), "x".repeat(10 * 1024));
    }
    let content = json!({"type": "text", "text": "{{resource:architecture://d/*}}"});
    let prompt = json!({"name": "all", "messages": [{"role": "user", "content": content}]});
    env.write("team/prompts/all.json", prompt.to_string());
    let ask = request("prompts/get", &json!({"name": "all"}));
    compare(
        &env,
        "prompts/get with 50 documents of 10 KiB",
        &ask,
        requests,
    );
}

fn compare(env: &TestEnv, what: &str, ask: &str, requests: usize) {
    let mut twig = Line::start(&mut env.command(["serve"]));
    let canned = twig.ask(ask).to_owned();
    assert!(
        !canned.contains("\"error\""),
        "{}",
        &canned[..canned.len().min(300)]
    );
    let file = env.work().join("canned");
    fs::write(&file, &canned).expect("a folder of our own");
    let this = std::env::current_exe().expect("a program");
    let mut floor = Line::start(Command::new(this).arg(FLOOR).arg(file));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..requests {
        for (server, times) in [&mut floor, &mut twig].into_iter().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(server.ask(ask).len(), canned.len(), "another answer");
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let [floor, twig] = times.map(median);
    println!(
        "{what}: {twig:.1} µs, floor {floor:.1} µs, {:.2} ×",
        twig / floor
    );
}
