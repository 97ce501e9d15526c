//! Ten thousand prompts: figures for people.

use std::time::{Duration, Instant};

use twig_core::Bodies;
use twig_testkit::figure;

use crate::support::{Tree, description, library, manifest, read, relative};

fn ten_thousand() -> Tree {
    let tree = Tree::new();
    let prompts: Vec<String> = (0..100).map(|at| format!("prompt_{at:03}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    for at in 0..100 {
        tree.library(&format!("data/lib{at:03}"), &prompts);
    }
    tree.library("data/lib", &["a"]);
    tree
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

#[test]
fn ten_thousand_prompts_are_loaded_looked_at_and_followed_() {
    let tree = ten_thousand();
    println!("{}", looks_are_cheap(&tree));
    println!("{}", saves_are_announced_soon(&tree));
}

fn looks_are_cheap(tree: &Tree) -> String {
    let first = timed(|| assert_eq!(tree.load().snapshot().len(), 10_001));
    let loads = (0..5).map(|_| timed(|| drop(tree.load()))).collect();
    let live = tree.load();
    // Until everything has settled, a look reads again.
    let started = Instant::now();
    while read(&live, "prompts/a.md").map(|body| body.stamp)
        != live.stamp(&library(&live, "lib"), &relative("prompts/a.md"))
    {
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    live.refresh();
    let refreshes = (0..20).map(|_| timed(|| assert!(!live.refresh().changed)));
    let refresh = median(refreshes.collect());
    let lib = library(&live, "lib");
    let path = relative("prompts/a.md");
    let stamps = timed(|| (0..1000).for_each(|_| drop(live.stamp(&lib, &path)))) / 1000;
    let reads = timed(|| (0..1000).for_each(|_| drop(live.read(&lib, &path)))) / 1000;
    let loads = median(loads);
    figure(
        "refresh of ten thousand",
        refresh,
        Duration::from_millis(100),
    );
    format!(
        "first load {first:?}, load {loads:?}, refresh {refresh:?}, stamp {stamps:?}, read {reads:?}"
    )
}

fn saves_are_announced_soon(tree: &Tree) -> String {
    let following = tree.follow();
    let mut times = Vec::new();
    for round in 0..15 {
        let wanted = format!("Round {round}");
        let text = manifest(&["a"]).replace("Does a", &wanted);
        tree.write("data/lib/twig.toml", text);
        times.push(following.until("the save", |live| {
            description(live, "lib:a").as_deref() == Some(&*wanted)
        }));
    }
    let median = median(times);
    figure("announcement of a save", median, Duration::from_millis(500));
    format!("announced after {median:?}")
}
