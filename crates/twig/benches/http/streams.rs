//! Many clients that listen and say nothing.

use std::time::Instant;

use twig_testkit::TestEnv;

use crate::server::Server;
use crate::wire::{Kept, get, listen};

/// Opens that many streams, changes the list, and waits until the last one has heard of it.
pub(crate) fn run(env: &TestEnv, count: usize) {
    let server = Server::twig(env);
    Kept::new(server.port).send(&get(server.port));
    let before = server.memory();
    let request = listen(server.port);
    let mut streams: Vec<Kept> = (0..count).map(|_| Kept::new(server.port)).collect();
    for stream in &mut streams {
        stream.start(&request);
        stream.event();
    }
    let each = (server.memory() - before) as f64 / count as f64;
    let start = Instant::now();
    env.write(
        "other/twig.toml",
        "[prompts.more]\ndescription = \"More\"\n",
    );
    env.write("other/prompts/more.md", "More\n");
    for stream in &mut streams {
        stream.event();
    }
    let all = start.elapsed();
    println!("{count} streams: {each:.1} KiB each, a change reached all in {all:.0?}");
}
