//! T-REL-02: a system that fails in one call, wherever that is.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::support::{check_file, workspaces};
use super::{PROJECT, done, failed, serve, text, with_project};
use crate::TWIG;

/// Calls, what they fail with, and which of them: the first, second … of each thread, or all from
/// one on (`+`). Only calls on the workspace's own files count.
const FAULTS: [(&str, &[&str], &[&str]); 7] = [
    (
        "pwrite64",
        &["ENOSPC", "EIO"],
        &["1", "2", "3", "9", "20", "33", "10+"],
    ),
    ("pwrite64", &["EINTR"], &["1", "2", "3", "9", "20", "33"]),
    (
        "fsync,fdatasync",
        &["EIO", "ENOSPC"],
        &["1", "2", "3", "4", "1+"],
    ),
    ("ftruncate", &["EIO"], &["1", "2", "3", "1+"]),
    ("mmap", &["ENOMEM"], &["1", "2", "1+"]),
    (
        "openat",
        &["EMFILE", "EACCES"],
        &["1", "2", "3", "4", "5", "6", "7+"],
    ),
    ("fcntl", &["EINTR", "ENOLCK"], &["1", "2", "3", "4", "5"]),
];

/// Writes that are asked for while something fails.
const WRITES: usize = 6;

#[test]
fn a_system_that_fails_loses_no_acknowledged_write() {
    let mut tracer = Command::new("strace");
    tracer.args(["-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "true"]);
    if !tracer.output().is_ok_and(|output| output.status.success()) {
        println!("passed over: there is no strace here, or it may not trace");
        return;
    }
    let felt = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (call, errors, positions) in FAULTS {
            let felt = &felt;
            scope.spawn(move || {
                let env = with_project();
                env.configure("[limits]\nstore_millis = 2000\n");
                let mut kept = Kept::default();
                for error in errors {
                    for position in positions {
                        let fault = format!("inject={call}:error={error}:when={position}");
                        kept.try_with(&env, call, &fault);
                    }
                }
                kept.check_all(&env);
                felt.fetch_add(kept.felt, Ordering::Relaxed);
            });
        }
    });
    let felt = felt.into_inner();
    assert!(felt > 20, "only {felt} of the faults were felt");
}

/// Writing needs files that reading has open already.
#[test]
fn a_server_out_of_files_fails_the_write_and_nothing_else() {
    let env = with_project();
    let mut server = serve(&env);
    server.initialize();
    // The writes of others are followed from now on, so no more files are needed for that.
    let mut other = serve(&env);
    let create = |name: &str| json!({"name": name, "content": content(name)});
    done(&mut other, "create_prompt", create("a"));
    server.notification("notifications/prompts/list_changed");
    let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw);
    let limit = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(3),
        ..limit
    };
    prlimit(pid, Resource::Nofile, few).expect("it is ours");
    for _ in 0..3 {
        let said = failed(&mut server, "create_prompt", create("b"));
        assert!(said.starts_with("Error: The file of workspace"), "{said}");
        assert!(
            said.to_lowercase().contains("too many open files"),
            "{said}"
        );
    }
    assert_eq!(text(&mut server, "a"), content("a"), "reads go on");
    done(&mut other, "create_prompt", create("c"));
    server.notification("notifications/prompts/list_changed");
    assert_eq!(text(&mut server, "c"), content("c"));
    prlimit(pid, Resource::Nofile, limit).expect("it is ours");
    done(&mut server, "create_prompt", create("b"));
    assert_eq!(text(&mut other, "b"), content("b"));
    assert!(server.close().status.success());
}

/// What is known of a project.
#[derive(Default)]
struct Kept {
    rounds: usize,
    /// Every prompt that was asked for, and whether that was acknowledged.
    asked: BTreeMap<String, bool>,
    /// Rounds in which a fault showed.
    felt: usize,
}

impl Kept {
    /// A server whose calls fail like this, and one afterwards whose calls do not.
    fn try_with(&mut self, env: &TestEnv, call: &str, fault: &str) {
        self.rounds += 1;
        let mut server = TestClient::start(traced(env, call, fault));
        // A server that refuses to start reads nothing.
        let mut input = server.take_input();
        let mut ids = BTreeMap::new();
        for at in 1..=WRITES {
            let name = format!("r{}.w{at}", self.rounds);
            let arguments = json!({"name": name, "content": content(&name)});
            let params = json!({"name": "create_prompt", "arguments": arguments});
            let message =
                json!({"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params});
            let _ = writeln!(input, "{message}");
            ids.insert(at, name.clone());
            self.asked.insert(name, false);
        }
        let _ = writeln!(
            input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 0, "method": "prompts/list"})
        );
        drop(input);
        let ended = server.ended();
        let said = &ended.stderr;
        assert!(!said.contains("panicked"), "{fault}: {said}");
        match ended.status.code() {
            Some(0) => {
                let answered = ended.rest.iter().filter(|message| message["id"].is_u64());
                assert_eq!(answered.count(), WRITES + 1, "{fault}: {:?}", ended.rest);
            }
            Some(1) => {
                assert!(ended.rest.is_empty(), "{fault}: {:?}", ended.rest);
                let errors = said.lines().filter(|line| line.starts_with("error: "));
                assert_eq!(errors.count(), 1, "{fault}: {said}");
                assert!(said.lines().count() <= 3, "{fault}: {said}");
            }
            code => panic!("{fault}: it ended with {code:?}: {said}"),
        }
        let at = |message: &Value| {
            message["id"]
                .as_u64()
                .and_then(|id| usize::try_from(id).ok())
        };
        for message in &ended.rest {
            let Some(name) = at(message).and_then(|at| ids.get(&at)) else {
                continue;
            };
            let is_done = check_answer(message, fault);
            self.asked.insert(name.clone(), is_done);
        }
        let is_failed = |message: &Value| message["result"]["isError"] == true;
        if ended.rest.is_empty() || ended.rest.iter().any(is_failed) {
            self.felt += 1;
        }
        // A store that cannot be read is served as it was last, and that is said.
        if !said.contains("WARN The file") && !said.contains("WARN Another") {
            self.check_listed(&listed(&ended.rest), fault, false);
        }
        let after = env.run(["prompt", "list", "-p", PROJECT, "--json"]);
        let after: Vec<Value> = serde_json::from_str(&after.stdout)
            .unwrap_or_else(|_| panic!("{fault}: afterwards {after}"));
        self.check_listed(&after, fault, true);
        // What was not acknowledged and is there is there from now on.
        for item in after {
            let name = item["name"].as_str().expect("a name").to_owned();
            self.asked.insert(name, true);
        }
    }

    /// All that was acknowledged is there, and nothing that nobody asked for.
    fn check_listed(&self, listed: &[Value], fault: &str, is_whole: bool) {
        let names: Vec<&str> = listed.iter().filter_map(|p| p["name"].as_str()).collect();
        if is_whole || !names.is_empty() {
            // A list waits a moment for the writes before it, not until they are done.
            let this_round = format!("r{}.", self.rounds);
            let is_old = |name: &str| is_whole || !name.starts_with(&this_round);
            for (name, is_done) in &self.asked {
                let is_there = names.contains(&name.as_str());
                assert!(
                    is_there || !*is_done || !is_old(name),
                    "{fault}: lost {name}"
                );
            }
        }
        for name in names {
            assert!(self.asked.contains_key(name), "{fault}: {name}?");
        }
    }

    fn check_all(&self, env: &TestEnv) {
        let mut server = serve(env);
        for (name, is_done) in &self.asked {
            if *is_done {
                assert_eq!(text(&mut server, name), content(name));
            }
        }
        assert!(server.close().status.success());
        check_file(env);
    }
}

/// Whether the write was acknowledged; if not, it is said in words for people.
fn check_answer(message: &Value, fault: &str) -> bool {
    if message["error"]["code"] == -32603 {
        let said = message["error"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with("The server is ending"), "{fault}: {said}");
        return false;
    }
    let result = &message["result"];
    let said = result["content"][0]["text"].as_str();
    let said = said.unwrap_or_else(|| panic!("{fault}: {message}"));
    if result["isError"] == false {
        return true;
    }
    let starts = ["Error: The ", "Error: Another program "];
    let is_clear = starts.iter().any(|start| said.starts_with(start));
    assert!(is_clear, "{fault}: {said}");
    for word in ["mistake", "SQLITE", "rusqlite", "damaged", "Err(", "code "] {
        assert!(!said.contains(word), "{fault}: {said}");
    }
    false
}

fn listed(messages: &[Value]) -> Vec<Value> {
    let answer = messages.iter().find(|message| message["id"] == 0);
    let listed = answer.and_then(|answer| answer["result"]["prompts"].as_array());
    listed.cloned().unwrap_or_default()
}

fn content(name: &str) -> String {
    format!("{name} {}", "x".repeat(5_000))
}

/// The server under a tracer that has some of its calls fail.
fn traced(env: &TestEnv, call: &str, fault: &str) -> Command {
    let plain = env.command(["serve", "-p", PROJECT]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "--seccomp-bpf"]);
    command.args(["-e", &format!("trace={call}"), "-e", fault]);
    // The locks in the index cannot fail when they are let go, and SQLite relies on that.
    let ends: &[&str] = match call {
        "fcntl" => &["db", "lock"],
        _ => &["db", "lock", "db-wal", "db-shm"],
    };
    for end in ends {
        command.arg("-P");
        command.arg(workspaces(env).join("default").with_extension(end));
    }
    command.arg(TWIG).args(plain.get_args()).env_clear();
    command.current_dir(env.work());
    for (key, value) in plain.get_envs() {
        command.envs(value.map(|value| (key, value)));
    }
    // The tracer itself is found by it.
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}
