//! A small MCP client over a child process's pipes. Dropping it always ends the child.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::command_error::{CommandError, ErrorKind, reason};

/// More than any server sends in a short conversation.
const MOST: u64 = 256 * 1024 * 1024;

/// How much of a server's standard error is kept.
const KEPT: u64 = 64 * 1024;

/// How long a server may take to end by itself when it is no longer needed.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct ProbeClient {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// The beginning of standard error, once it is closed.
    complaint: Receiver<String>,
    next_id: u64,
    /// The name that it gives itself.
    name: &'static str,
    /// How long to wait for a server that sends nothing.
    patience: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("it cannot be started: {}", reason(.0))]
    Start(#[source] std::io::Error),
    #[error("it did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("it ended without an answer")]
    Ended,
    #[error("it answered `{method}` with an error: {message}")]
    Refused { method: String, message: String },
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> Self {
        let message = format!("the server is not as it should be: {error}");
        Self::new(ErrorKind::Internal, message)
    }
}

impl ProbeClient {
    /// Starts a server.
    pub(super) fn start(mut command: Command, patience: Duration) -> Result<Self, CallError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(CallError::Start)?;
        let input = child.stdin.take();
        let (sender, messages) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output.take(MOST)).lines();
                let lines = lines.map_while(Result::ok);
                for message in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            });
        }
        let (sender, complaint) = channel();
        if let Some(mut errors) = child.stderr.take() {
            thread::spawn(move || {
                let mut begin = Vec::new();
                let _ = errors.by_ref().take(KEPT).read_to_end(&mut begin);
                let _ = sender.send(String::from_utf8_lossy(&begin).into_owned());
                // A server that writes many errors must not block on its pipe.
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            });
        }
        Ok(Self {
            child,
            input,
            messages,
            complaint,
            next_id: 1,
            name: "twig",
            patience,
        })
    }

    /// The same under the name of another client.
    pub(super) fn called(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Sends a request and waits for its result; for a subscription, for the acknowledgement.
    pub(super) fn call(&mut self, method: &str, mut params: Value) -> Result<Value, CallError> {
        let id = self.next_id;
        self.next_id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": env!("CARGO_PKG_VERSION")},
        });
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let sent = self
            .input
            .as_mut()
            .map(|input| writeln!(input, "{request}"));
        if !matches!(sent, Some(Ok(()))) {
            return Err(CallError::Ended);
        }
        let answer = self.wait(|message| match message["method"].as_str() {
            Some(method) => method == "notifications/subscriptions/acknowledged",
            None => message["id"] == id,
        })?;
        match answer.get("error") {
            None => Ok(answer["result"].clone()),
            Some(error) => Err(CallError::Refused {
                method: method.to_owned(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    /// Waits for a notification.
    pub(super) fn notification(&mut self, method: &str) -> Result<(), CallError> {
        self.wait(|message| message["method"] == method).map(drop)
    }

    /// Closes the server's input and waits until it has ended.
    pub(super) fn end(mut self) -> Result<(), CommandError> {
        self.close(self.patience);
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        let message = format!("the server ended with {status}");
        Err(CommandError::new(ErrorKind::Internal, message))
    }

    /// Ends the server and returns the first error line, or the last line, if its standard error is
    /// a pipe.
    pub(super) fn complaint(mut self) -> Option<String> {
        self.kill();
        let text = self.complaint.recv_timeout(GRACE).ok()?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines.clone().find_map(|line| line.strip_prefix("error: "));
        error.or_else(|| lines.next_back()).map(str::to_owned)
    }

    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, CallError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) if wanted(&message) => return Ok(message),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(CallError::Ended),
                Err(RecvTimeoutError::Timeout) => return Err(CallError::Silent(self.patience)),
            }
        }
    }

    /// Closes the server's input and gives it some time to end by itself.
    fn close(&mut self, grace: Duration) {
        self.input = None;
        let deadline = Instant::now() + grace;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(_) => {}
                // The channel closes when the server has closed its output.
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => return self.kill(),
            }
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ProbeClient {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.close(GRACE);
            self.kill();
        }
    }
}
