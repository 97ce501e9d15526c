//! The server over HTTP beside a bare axum handler that answers with bytes made beforehand.
//!
//! `cargo bench -p twig --bench http [-- --seconds 60]`. Without `--bench`, as `cargo test` runs it,
//! everything is done a few times only, to show that it still works.

#![allow(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures, and what fails ends it"
)]

mod floor;
mod load;
mod server;
mod streams;
mod wire;

use std::time::Duration;

use twig_testkit::TestEnv;

use self::server::Server;
use self::wire::{Kept, get};

/// Connections that a server and its clients here may have.
const FILES: u64 = 8_192;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = &args[..]
        && mode == floor::MODE
    {
        return floor::serve(file);
    }
    let is_measured = args.iter().any(|arg| arg == "--bench");
    let seconds = args.iter().position(|arg| arg == "--seconds");
    let seconds = seconds.and_then(|at| args.get(at + 1)?.parse().ok());
    let seconds = seconds.unwrap_or(if is_measured { 60 } else { 1 });
    rlimit::increase_nofile_limit(FILES).expect("a limit of open files");

    let env = TestEnv::with(env!("CARGO_BIN_EXE_twig"), &fixture());
    processor_time(&env, is_measured);
    streams::run(&env, if is_measured { 1_000 } else { 20 });
    load::run(&env, 64, Duration::from_secs(seconds));
}

/// What one `prompts/get` costs the server, on a connection that is kept.
fn processor_time(env: &TestEnv, is_measured: bool) {
    let (rounds, requests) = if is_measured { (7, 10_000) } else { (1, 10) };
    let twig = Server::twig(env);
    let mut to_twig = Kept::new(twig.port);
    let request = get(twig.port);
    let canned = to_twig.send(&request).to_vec();
    let floor = Server::floor(env, &canned);
    let mut to_floor = Kept::new(floor.port);

    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let sides = [(&floor, &mut to_floor), (&twig, &mut to_twig)];
        for ((server, client), costs) in sides.into_iter().zip(&mut costs) {
            let before = server.processor_time();
            for _ in 0..requests {
                assert_eq!(client.send(&request), canned, "another answer");
            }
            let spent = server.processor_time().saturating_sub(before);
            costs.push(spent.as_secs_f64() * 1e6 / f64::from(requests));
        }
    }
    let [floor, twig] = costs.map(median);
    println!(
        "prompts/get, {} bytes: {twig:.1} µs of processor time, floor {floor:.1} µs, {:.2} ×",
        canned.len(),
        twig / floor
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One prompt with ten arguments, two of them in conditions.
fn fixture() -> String {
    let argument = |at| format!("\n[[prompts.ten.arguments]]\nname = \"a{at}\"\n");
    let arguments: Vec<String> = (0..10).map(argument).collect();
    let around = "what is said around it ".repeat(15);
    let line = |at| format!("{{{{ a{at} }}}} {around}\n");
    let lines: Vec<String> = (0..10).map(line).collect();
    format!(
        "//- lib/twig.toml\n[prompts.ten]\ndescription = \"Ten\"\n{}\
         //- lib/prompts/ten.md\n{}{{% if a0 %}}first{{% endif %}}{{% if a1 %}}second{{% endif %}}\n",
        arguments.concat(),
        lines.concat()
    )
}
