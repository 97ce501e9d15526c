//! A server that is asked one line at a time, and what benchmarks make of it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// One line with a request.
pub(crate) fn request(method: &str, params: &Value) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    format!("{message}\n")
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A server that is asked one line at a time.
#[allow(clippy::struct_field_names, reason = "what came last is a line")]
pub(crate) struct Line {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Line {
    pub(crate) fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::null()).spawn().expect("it starts");
        Self {
            input: child.stdin.take().expect("piped"),
            output: BufReader::with_capacity(1 << 20, child.stdout.take().expect("piped")),
            child,
            line: String::new(),
        }
    }

    /// Sends a line; gives the one that comes back.
    pub(crate) fn ask(&mut self, line: &str) -> &str {
        self.input.write_all(line.as_bytes()).expect("it reads");
        self.line.clear();
        let length = self.output.read_line(&mut self.line).expect("text");
        assert!(length > 0, "the server ended");
        &self.line
    }
}

#[allow(
    dead_code,
    reason = "not every benchmark weighs its server or listens to it"
)]
impl Line {
    /// Sends a line that has no answer.
    pub(crate) fn tell(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).expect("it reads");
    }

    /// The next line, whenever it comes.
    pub(crate) fn hear(&mut self) -> &str {
        self.line.clear();
        let length = self.output.read_line(&mut self.line).expect("text");
        assert!(length > 0, "the server ended");
        &self.line
    }

    /// What the server's memory measures now.
    pub(crate) fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
