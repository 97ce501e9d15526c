//! Projects: what a start from a store costs, how fast writes are durable, how soon ten servers
//! have heard of one, how long a search takes.
//!
//! `cargo bench -p twig --bench store`, or with `-- writes` one part of it. Without `--bench`, as
//! `cargo test` runs it, everything is done a few times only, to show that it still works.

#![allow(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures, and what fails ends it"
)]

#[path = "support/line.rs"]
mod line;

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_core::Limits;
use twig_core::store::{
    Author, Change, GivenContent, ItemDraft, ItemKind, ItemWrite, Noun, Store, StoreName, Write,
};
use twig_sources::{Access, Workspaces};
use twig_testkit::{TestClient, TestEnv};

use self::line::{Line, median, request};

const BINARY: &str = env!("CARGO_BIN_EXE_twig");

/// How much is done.
struct Scale {
    workspaces: usize,
    projects: usize,
    prompts: usize,
    rounds: usize,
    writes: usize,
    searched: usize,
}

fn main() {
    let is_measured = std::env::args().any(|arg| arg == "--bench");
    let scale = if is_measured {
        Scale {
            workspaces: 10,
            projects: 20,
            prompts: 50,
            rounds: 40,
            writes: 1_000,
            searched: 10_000,
        }
    } else {
        Scale {
            workspaces: 1,
            projects: 2,
            prompts: 5,
            rounds: 2,
            writes: 5,
            searched: 20,
        }
    };
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |part: &str| {
        let mut named = asked
            .iter()
            .filter(|word| !word.starts_with('-'))
            .peekable();
        named.peek().is_none() || named.any(|word| word == part)
    };
    if is_asked("start") {
        start(&scale);
    }
    if is_asked("writes") {
        writes(scale.writes);
    }
    if is_asked("announcements") {
        announcements(scale.rounds);
    }
    if is_asked("search") {
        search(scale.searched, scale.rounds);
    }
}

/// From the start to the first list, from a store and from the same prompts as files.
fn start(scale: &Scale) {
    let env = TestEnv::new(BINARY);
    let folder = env.home().join(".local/share/twig/workspaces");
    for workspace in 0..scale.workspaces {
        let name = store_name(&format!("w{workspace}"));
        let workspaces = Workspaces::new(folder.clone());
        workspaces.create(&name).expect("a workspace");
        let store = workspaces
            .open(&name, Access::Write, &Limits::default())
            .expect("a workspace");
        for project in 0..scale.projects {
            fill(&store, &format!("p{project}"), scale.prompts);
        }
    }
    let store = median(
        (0..scale.rounds)
            .map(|_| first_list(&env, &["-w", "w0", "-p", "p0"]))
            .collect(),
    );
    let mut server = Line::start(&mut env.command(["serve", "-w", "w0", "-p", "p0"]));
    server.ask(&request("prompts/list", &json!({})));
    let memory = server.memory_kib();
    let files = TestEnv::new(BINARY);
    library(&files, "lib", scale.prompts);
    let one = median((0..scale.rounds).map(|_| first_list(&files, &[])).collect());
    for at in 0..scale.workspaces * scale.projects {
        library(&files, &format!("lib{at}"), scale.prompts);
    }
    let all = median((0..scale.rounds).map(|_| first_list(&files, &[])).collect());
    println!(
        "start: {store:.2} ms from a store of {} workspaces × {} projects × {} prompts; as files {one:.2} ms for the {} prompts of one project, {:.2} ×, and {all:.2} ms for all, {:.2} ×",
        scale.workspaces,
        scale.projects,
        scale.prompts,
        scale.prompts,
        store / one,
        store / all
    );
    println!("memory of an idle server: {memory} KiB");
}

fn library(env: &TestEnv, name: &str, prompts: usize) {
    let entries = (0..prompts).map(|at| {
        env.write(&format!("{name}/prompts/q{at}.md"), content(at));
        format!("[prompts.q{at}]\ndescription = \"Prompt number {at}\"\n")
    });
    let manifest: Vec<String> = entries.collect();
    env.write(&format!("{name}/twig.toml"), manifest.concat());
}

fn first_list(env: &TestEnv, arguments: &[&str]) -> f64 {
    let start = Instant::now();
    let arguments = ["serve"].into_iter().chain(arguments.iter().copied());
    let mut server = Line::start(&mut env.command(arguments));
    server.ask(&request("prompts/list", &json!({})));
    start.elapsed().as_secs_f64() * 1e3
}

/// How often writes and their floor take turns.
const TURNS: usize = 10;

/// Durable writes from one client, and of the store alone, beside a loop around SQLite that does no
/// more than that. All three take turns, because machines are noisy.
fn writes(count: usize) {
    let env = with_project();
    // The server watches its folder, so the others have one of their own.
    let apart = TestEnv::new(BINARY);
    let folder = apart.home().join("workspaces");
    let workspaces = Workspaces::new(folder.clone());
    let other = store_name("other");
    workspaces.create(&other).expect("a workspace");
    let store = workspaces
        .open(&other, Access::Write, &Limits::default())
        .expect("a workspace");
    fill(&store, "bench", 0);
    let bare = BareTable::new(&folder.join("bare.db"));
    let mut server = Line::start(&mut env.command(["serve", "-p", "bench"]));
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        let numbers = turn * count / TURNS..(turn + 1) * count / TURNS;
        let bare = seconds(|| bare.insert(numbers.clone()));
        let alone = seconds(|| write_prompts(&store, "bench", numbers.clone()));
        let twig = seconds(|| {
            for at in numbers {
                let arguments = json!({"name": format!("q{at}"), "content": content(at), "description": "Made by a client"});
                let params = json!({"name": "create_prompt", "arguments": arguments});
                let answer = server.ask(&request("tools/call", &params));
                assert!(answer.contains("\"isError\":false"), "{answer}");
            }
        });
        turns.push([bare, alone, twig]);
    }
    let rate = |which: usize| {
        let seconds: f64 = turns.iter().map(|turn| turn[which]).sum();
        count as f64 / seconds
    };
    println!(
        "create_prompt: {:.0}/s durable, the store alone {:.0}/s, bare SQLite {:.0}/s; {:.2} × and {:.2} ×",
        rate(2),
        rate(1),
        rate(0),
        rate(2) / rate(0),
        rate(1) / rate(0),
    );
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

/// A table with nothing but names and contents.
struct BareTable(rusqlite::Connection);

impl BareTable {
    fn new(path: &std::path::Path) -> Self {
        let file = rusqlite::Connection::open(path).expect("a file");
        file.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE p (name TEXT PRIMARY KEY, content TEXT)",
        )
        .expect("a table");
        Self(file)
    }

    fn insert(&self, numbers: std::ops::Range<usize>) {
        let mut insert = self.0.prepare("INSERT INTO p VALUES (?, ?)").expect("SQL");
        for at in numbers {
            insert
                .execute((format!("q{at}"), content(at)))
                .expect("a row");
        }
    }
}

/// From a write's acknowledgement to the last of ten servers' words to their clients.
fn announcements(rounds: usize) {
    let env = with_project();
    let serve = || {
        let mut server = env.serve_with(["-p", "bench"]);
        server.initialize();
        server
    };
    let mut servers: Vec<TestClient> = (0..10).map(|_| serve()).collect();
    let mut times = Vec::new();
    for round in 0..rounds {
        let arguments = json!({"name": format!("q{round}"), "content": "x"});
        let start = Instant::now();
        servers[round % 10].request(
            "tools/call",
            json!({"name": "create_prompt", "arguments": arguments}),
        );
        for server in &mut servers {
            server.notification("notifications/prompts/list_changed");
        }
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!(
        "a write until the last of ten servers has told its client: median {:.1} ms, worst {worst:.1} ms",
        median(times)
    );
}

/// A search over prompts and documents, once they are indexed.
fn search(count: usize, rounds: usize) {
    let env = TestEnv::new(BINARY);
    for library in 0..10 {
        let prompts = (0..count / 20).map(|at| {
            let number = library * 100_000 + at;
            env.write(&format!("lib{library}/prompts/q{at}.md"), long(number));
            env.write(
                &format!("lib{library}/docs/d{at}.md"),
                long(number + 50_000),
            );
            format!("[prompts.q{at}]\ndescription = \"Prompt number {number}\"\n")
        });
        let manifest: Vec<String> = prompts.collect();
        env.write(&format!("lib{library}/twig.toml"), manifest.concat());
    }
    let mut server = Line::start(&mut env.command(["serve"]));
    let mut find = |query: &str| {
        let params = json!({"name": "search", "arguments": {"query": query}});
        let start = Instant::now();
        let answer: Value =
            serde_json::from_str(server.ask(&request("tools/call", &params))).expect("JSON");
        let found = answer["result"]["structuredContent"]["results"]
            .as_array()
            .map_or(0, Vec::len);
        assert!(found > 0, "{query}: {answer}");
        start.elapsed().as_secs_f64() * 1e3
    };
    let first = find("number");
    let queries = [
        "number",
        "rev sec",
        "careful",
        "prompt number",
        "q0",
        "tokens ref",
    ];
    let times = (0..rounds).flat_map(|_| queries).map(&mut find).collect();
    println!(
        "search over {count} prompts and documents: first {first:.0} ms, then median {:.2} ms; {} KiB resident",
        median(times),
        server.memory_kib()
    );
}

fn with_project() -> TestEnv {
    let env = TestEnv::new(BINARY);
    let made = env.run(["project", "create", "bench"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    env
}

/// Creates a project with this many prompts.
fn fill(store: &dyn Store, project: &str, prompts: usize) {
    let name = store_name(project);
    let author = Author::Person;
    write(store, Write::CreateProject { name, author });
    write_prompts(store, project, 0..prompts);
}

fn write_prompts(store: &dyn Store, project: &str, numbers: std::ops::Range<usize>) {
    let project = store_name(project);
    for at in numbers {
        let item = ItemWrite {
            project: project.clone(),
            kind: ItemKind::Prompt,
            name: store_name(&format!("q{at}")),
            change: Change::Create(ItemDraft {
                content: GivenContent::Text(content(at)),
                description: Some(format!("Prompt number {at}").into()),
                uri: None,
                mime: None,
            }),
            expected: None,
            author: Author::Client("bench".into()),
        };
        write(store, Write::Item(Box::new(item)));
    }
}

/// Writes, and waits until it is durable.
fn write(store: &dyn Store, write: Write) {
    let (tell, told) = channel();
    let done = move |outcome| tell.send(outcome).expect("we listen");
    store.write(write, Box::new(done));
    let outcome = told.recv_timeout(Duration::from_secs(60));
    outcome.expect("an answer").expect("written");
}

fn content(at: usize) -> String {
    format!("Prompt {at}: {}", "look at this with care. ".repeat(20))
}

fn long(at: usize) -> String {
    const WORDS: [&str; 12] = [
        "review", "security", "tokens", "expire", "careful", "module", "database", "latency",
        "schema", "refactor", "deploy", "metrics",
    ];
    let words = (0..250).map(|word| WORDS[(at + word * 5) % WORDS.len()]);
    format!("# Number {at}\n\n{}\n", words.collect::<Vec<_>>().join(" "))
}

fn store_name(text: &str) -> StoreName {
    StoreName::parse(Noun::Project, text).expect("a name")
}
