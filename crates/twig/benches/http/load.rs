//! Many clients that ask without a pause.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use twig_testkit::TestEnv;

use crate::server::Server;
use crate::wire::{Kept, get};

/// From this second on memory should stay as it is.
const SETTLED: usize = 10;

/// Lets clients ask for some time, and looks at the server's memory each second.
pub(crate) fn run(env: &TestEnv, clients: usize, time: Duration) {
    let server = Server::twig(env);
    let request = get(server.port);
    let expected = Kept::new(server.port).send(&request).to_vec();
    let (is_over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let memory: Vec<u64> = thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = Kept::new(server.port);
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(client.send(&request), expected, "another answer");
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let look = |_| {
            thread::sleep(Duration::from_secs(1));
            server.memory()
        };
        let memory = (0..time.as_secs()).map(look).collect();
        is_over.store(true, Ordering::Relaxed);
        memory
    });
    let settled = &memory[SETTLED.min(memory.len()) - 1..];
    let (least, most) = (settled.iter().min(), settled.iter().max());
    println!(
        "{clients} connections for {} s: {} answers a second, none wrong; memory from second {} on: {} to {} KiB",
        time.as_secs(),
        answers.into_inner() / time.as_secs(),
        memory.len() - settled.len() + 1,
        least.expect("a second"),
        most.expect("a second"),
    );
}
