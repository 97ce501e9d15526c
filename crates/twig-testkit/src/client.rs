//! An MCP client over a child process's pipes. It requires every line that it reads to be JSON-RPC.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The newest protocol version.
pub const MODERN: &str = "2026-07-28";

/// Long enough for a slow machine; waits end as soon as their condition holds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A client of one server process.
#[derive(Debug)]
pub struct TestClient {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    kept: Vec<Value>,
    next_id: u64,
    talk: Option<JoinHandle<String>>,
    /// What the server logs, piece by piece, and what was read of it.
    log: Receiver<String>,
    logged: String,
}

impl TestClient {
    /// Starts a server.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.expect("standard output is UTF-8");
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| json!({"not-json-rpc": line}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let (said, log) = channel();
        let talk = thread::spawn(move || {
            let mut text = Vec::new();
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = errors.read(&mut part) {
                text.extend_from_slice(&part[..length]);
                // Most tests read the log only at the end.
                let _ = said.send(String::from_utf8_lossy(&part[..length]).into_owned());
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            messages,
            kept: Vec::new(),
            next_id: 1,
            talk: Some(talk),
            log,
            logged: String::new(),
        }
    }

    /// Waits until the server has logged this.
    pub fn wait_for_log(&mut self, text: &str) {
        let start = Instant::now();
        while !self.logged.contains(text) {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let more = self.log.recv_timeout(left);
            let more = more.unwrap_or_else(|_| panic!("{text} is not logged: {}", self.logged));
            self.logged.push_str(&more);
        }
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line.
    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("the input is open");
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        input.write_all(&bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    /// The server's input, for a test that writes in its own way.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("the input is open")
    }

    /// `initialize` in the legacy era; returns the result.
    pub fn initialize(&mut self) -> Value {
        self.initialize_as("testkit", "2025-11-25")
    }

    /// The same for a client of this name, in this version.
    pub fn initialize_as(&mut self, name: &str, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": name, "version": "0"},
        });
        let answer = self.request("initialize", params);
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer["result"].clone()
    }

    /// A legacy request and its answer.
    #[allow(clippy::needless_pass_by_value)]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start_request(method, &params);
        self.answer(id)
    }

    /// A modern request and its answer.
    pub fn modern(&mut self, method: &str, params: Value) -> Value {
        let id = self.start_modern(method, params);
        self.answer(id)
    }

    /// Sends a modern request; returns its id.
    pub fn start_modern(&mut self, method: &str, mut params: Value) -> u64 {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.start_request(method, &params)
    }

    /// Sends a request; returns its id.
    pub fn start_request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for a notification.
    pub fn notification(&mut self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method)
    }

    /// Waits for a message; keeps others for later.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) => {
                    assert_eq!(
                        message["jsonrpc"], "2.0",
                        "standard output is the protocol: {message}"
                    );
                    if wanted(&message) {
                        return message;
                    }
                    self.kept.push(message);
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no such message came; kept: {:?}", self.kept)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the server ended: {}", self.take_talk())
                }
            }
        }
    }

    /// How many messages with that method have arrived and were not taken yet.
    pub fn pending(&mut self, method: &str) -> usize {
        while let Ok(message) = self.messages.try_recv() {
            self.kept.push(message);
        }
        self.kept
            .iter()
            .filter(|message| message["method"] == method)
            .count()
    }

    /// Drops the messages that have arrived so far.
    pub fn forget(&mut self) {
        while self.messages.try_recv().is_ok() {}
        self.kept.clear();
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .expect("a process id");
        kill_process(pid, signal).expect("the server is there");
    }

    /// Closes the server's input and waits for its end.
    pub fn close(mut self) -> Ended {
        self.input = None;
        self.ended()
    }

    /// Waits for the server's end: its status, its last messages, and how long it took.
    pub fn ended(mut self) -> Ended {
        let start = Instant::now();
        let mut rest = std::mem::take(&mut self.kept);
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            match self.messages.recv_timeout(left) {
                Ok(message) => rest.push(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
        let status = self.child.wait().expect("the server was started");
        Ended {
            status,
            rest,
            took: start.elapsed(),
            stderr: self.take_talk(),
        }
    }

    fn take_talk(&mut self) -> String {
        self.talk
            .take()
            .and_then(|talk| talk.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for TestClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a server ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Messages that the test had not waited for.
    pub rest: Vec<Value>,
    /// Time since the client's last action.
    pub took: Duration,
    /// Its log.
    pub stderr: String,
}
