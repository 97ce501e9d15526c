//! A small MCP client over a child process's pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command_error::{CommandError, ErrorKind};

/// A server that says nothing for so long is not going to.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: u64,
}

impl Client {
    /// Starts this very binary as a server on a folder of libraries.
    pub(super) fn start(data: &Path) -> Result<Self, CommandError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--log-level", "error"])
            .env("TWIG_DATA_DIR", data)
            .env("XDG_CONFIG_HOME", data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let (sender, messages) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                for message in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self {
            child,
            input,
            messages,
            next_id: 1,
        })
    }

    /// Sends a request and waits for its result; for a subscription, for the acknowledgement.
    pub(super) fn call(&mut self, method: &str, mut params: Value) -> Result<Value, CommandError> {
        let id = self.next_id;
        self.next_id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "twig-demo", "version": env!("CARGO_PKG_VERSION")},
        });
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if let Some(input) = &mut self.input {
            writeln!(input, "{request}")?;
        }
        let answer = self.wait(|message| {
            message["id"] == id || message["method"] == "notifications/subscriptions/acknowledged"
        })?;
        match answer.get("error") {
            None => Ok(answer["result"].clone()),
            Some(error) => Err(CommandError::new(
                ErrorKind::Internal,
                format!("{method}: {error}"),
            )),
        }
    }

    /// Waits for a notification.
    pub(super) fn notification(&mut self, method: &str) -> Result<(), CommandError> {
        self.wait(|message| message["method"] == method).map(drop)
    }

    /// Closes the server's input and waits until it has ended.
    pub(super) fn end(mut self) -> Result<(), CommandError> {
        self.input = None;
        // The reader's channel closes when the server has closed its output.
        while self.messages.recv_timeout(PATIENCE).is_ok() {}
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(CommandError::new(
            ErrorKind::Internal,
            format!("the server ended with {status}"),
        ))
    }

    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, CommandError> {
        loop {
            match self.messages.recv_timeout(PATIENCE) {
                Ok(message) if wanted(&message) => return Ok(message),
                Ok(_) => {}
                Err(_) => {
                    let _ = self.child.kill();
                    let message = "the server did not answer";
                    return Err(CommandError::new(ErrorKind::Internal, message));
                }
            }
        }
    }
}
