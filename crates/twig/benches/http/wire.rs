//! Requests and the least that reads their responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use twig_testkit::MODERN;

/// One connection, kept from request to request.
pub(crate) struct Kept {
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Kept {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a socket");
        Self {
            stream: BufReader::with_capacity(16 * 1024, stream),
            line: String::new(),
            body: Vec::new(),
        }
    }

    /// Sends a request and reads the body of its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> &[u8] {
        let length = self.start(request).expect("a length");
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
        &self.body
    }

    /// Sends a request and reads the head of its answer; gives the body's length, if it has one.
    pub(crate) fn start(&mut self, request: &[u8]) -> Option<usize> {
        let sent = self.stream.get_mut().write_all(request);
        sent.expect("the server reads");
        self.read_line();
        assert!(self.line.starts_with("HTTP/1.1 200 "), "{}", self.line);
        let mut length = None;
        loop {
            self.read_line();
            if self.line == "\r\n" {
                return length;
            }
            if let Some(value) = self.line.strip_prefix("content-length: ") {
                length = value.trim().parse().ok();
            }
        }
    }

    /// Reads a stream up to the next message.
    pub(crate) fn event(&mut self) {
        self.read_line();
        while !self.line.starts_with("data: ") {
            self.read_line();
        }
    }

    fn read_line(&mut self) {
        self.line.clear();
        let length = self.stream.read_line(&mut self.line).expect("text");
        assert!(length > 0, "the server closed the connection");
    }
}

/// `prompts/get` with ten arguments.
pub(crate) fn get(port: u16) -> Vec<u8> {
    let arguments = (0..10).map(|at| (format!("a{at}"), json!(format!("value {at}"))));
    let arguments: serde_json::Map<String, Value> = arguments.collect();
    let params = json!({"name": "lib:ten", "arguments": arguments});
    request(port, "prompts/get", params, "mcp-name: lib:ten\r\n")
}

/// `subscriptions/listen` for changes of the list of prompts.
pub(crate) fn listen(port: u16) -> Vec<u8> {
    let params = json!({"notifications": {"promptsListChanged": true}});
    request(port, "subscriptions/listen", params, "")
}

fn request(port: u16, method: &str, mut params: Value, headers: &str) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: {MODERN}\r\n\
         mcp-method: {method}\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}
