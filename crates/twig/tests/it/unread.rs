//! Standard error that nobody reads: everything is served all the same, and what was not written is
//! counted.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::http::Served;
use crate::{CONTRACT, env};

/// Many more than fill a pipe with a line each.
const REQUESTS: usize = 5_000;

/// Long enough for a slow machine; waits end as soon as what they wait for is there.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server over pipes whose standard error nobody reads until the end.
struct Unread {
    child: Child,
    replies: Receiver<Value>,
}

impl Unread {
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let args = ["serve"].into_iter().chain(args.iter().copied());
        let mut command = env.command(args);
        command.stderr(Stdio::piped());
        Self::of(command)
    }

    fn of(mut command: std::process::Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, replies) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("text");
                let _ = sender.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Self { child, replies }
    }

    fn send(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{message}").expect("the server reads");
    }

    fn request(&mut self, id: usize, method: &str) -> Value {
        let params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": twig_testkit::MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.message(|message| message["id"] == id)
    }

    fn message(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.replies.recv_timeout(PATIENCE);
            let message = message.expect("the server answers");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Ends the server, and reads what it said.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut said = String::new();
        let mut talk = self.child.stderr.take().expect("piped");
        talk.read_to_string(&mut said).expect("text");
        assert!(self.child.wait().expect("ours").success());
        said
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many lines a log says it lacks.
#[track_caller]
fn dropped(said: &str) -> usize {
    let notes = said.lines().filter_map(|line| {
        let note = line.strip_prefix(" WARN ")?;
        let count =
            note.strip_suffix(" log lines were dropped because standard error was not read")?;
        count.parse::<usize>().ok()
    });
    notes.sum()
}

#[test]
fn requests_are_answered_at_every_level() {
    let env = env(CONTRACT);
    let mut server = Unread::start(&env, &["--log-level", "debug"]);
    for id in 0..REQUESTS {
        // What is refused is logged.
        assert!(server.request(id, "prompts/eat")["error"].is_object());
    }
    let said = server.end();
    let written = said
        .lines()
        .filter(|line| line.starts_with("DEBUG"))
        .count();
    assert!(written > 100 && dropped(&said) > 100, "{written}");
    assert!(
        written + dropped(&said) >= REQUESTS,
        "every line is written or counted"
    );
}

/// Prompts whose problems take some 20 KB to report, others for each `turn`.
fn broken(turn: usize) -> String {
    let long = "x".repeat(1_000);
    let prompt = |number| format!("[prompts.x{number}]\nfile = \"{long}{turn}.{number}\"\n");
    (0..20).map(prompt).collect()
}

#[test]
fn edits_are_served() {
    let env = env("//- lib/twig.toml\n# none\n");
    let mut server = Unread::start(&env, &[]);
    server.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
    }}));
    server.message(|message| message["id"] == 0);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for turn in 0..10 {
        let name = format!("p{turn}");
        env.write(&format!("lib/prompts/{name}.md"), "one");
        let manifest = format!("{}[prompts.{name}]\n", broken(turn));
        // A new file in its place: nobody reads a part of it.
        env.write("lib/next", manifest);
        std::fs::rename(
            env.data().join("lib/next"),
            env.data().join("lib/twig.toml"),
        )
        .expect("own folder");
        server.message(|message| message["method"] == "notifications/prompts/list_changed");
        let list = server.request(1, "prompts/list");
        let full = format!("lib:{name}");
        assert!(list.to_string().contains(&full), "{list}");
    }
    assert!(dropped(&server.end()) > 20);
}

#[test]
fn http_clients_are_answered_at_every_level() {
    let env = env(CONTRACT);
    let command = env.command(["serve", "--http", "127.0.0.1:0", "--log-level", "debug"]);
    let mut server = Served::start(env, command);
    let mut caller = server.caller();
    for _ in 0..REQUESTS {
        assert_eq!(crate::http::list(&mut caller, &[]).status, 200);
    }
    server.signal(rustix::process::Signal::TERM);
    let (status, _, said) = server.ended();
    assert_eq!(status.code(), Some(0));
    assert!(dropped(&said) > 100, "{}", said.len());
}

#[test]
fn an_end_with_an_error_comes_although_nobody_reads_it() {
    let env = env("");
    let (_reader, mut writer) = std::io::pipe().expect("a pipe");
    // Somebody else filled the pipe that both of us have.
    let size = rustix::pipe::fcntl_getpipe_size(&writer).expect("a pipe");
    writer.write_all(&vec![b'x'; size]).expect("it has room");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("a port").to_string();
    let mut child = env
        .command(["serve", "--http", &address])
        .stderr(writer.try_clone().expect("a pipe"))
        .spawn()
        .expect("it starts");
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("ours") {
            break status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("ours");
        }
        thread::yield_now();
    };
    assert_eq!(code, Some(1));
}

#[test]
fn a_disk_without_room_for_the_log_is_no_reason_to_stop() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full here");
        return;
    };
    let env = env(CONTRACT);
    let mut command = env.command(["serve", "--log-level", "debug"]);
    command.stderr(full);
    let mut server = Unread::of(command);
    for id in 0..10 {
        assert!(server.request(id, "prompts/list")["result"].is_object());
    }
    drop(server.child.stdin.take());
    assert!(server.child.wait().expect("ours").success());
}
