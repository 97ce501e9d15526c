//! A tiny HTTP client over a socket: what it sends is what a test wrote.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use twig_testkit::MODERN;

/// Long enough for a slow machine; waits end as soon as what they wait for is there.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One connection, kept from request to request.
pub(super) struct Caller {
    pub(super) port: u16,
    pub(super) stream: BufReader<TcpStream>,
    /// Messages that came together with an earlier one.
    events: VecDeque<Value>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Response {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(super) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {self:?} {text}"))
    }

    pub(super) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().expect("an error")
    }
}

impl Caller {
    pub(super) fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        Self {
            port,
            stream: BufReader::new(stream),
            events: VecDeque::new(),
        }
    }

    /// Sends bytes as they are.
    pub(super) fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .get_mut()
            .write_all(bytes.as_ref())
            .expect("the server reads");
    }

    /// Sends a request with these headers; `Host` is ours unless given.
    pub(super) fn start(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\ncontent-length: {}\r\n",
            body.len()
        );
        if headers
            .iter()
            .all(|(name, _)| !name.eq_ignore_ascii_case("host"))
        {
            head += &format!("host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.raw(bytes);
    }

    /// Sends a request and reads its whole response.
    pub(super) fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.start(method, headers, body);
        self.response()
    }

    /// Posts JSON with further headers.
    pub(super) fn post(&mut self, headers: &[(&str, &str)], body: &Value) -> Response {
        let mut all = vec![("content-type", "application/json"), ("accept", ACCEPT)];
        all.extend_from_slice(headers);
        self.send("POST", &all, body.to_string().as_bytes())
    }

    /// A modern request with the headers that it needs.
    pub(super) fn modern(&mut self, method: &str, params: Value) -> Response {
        let body = modern(method, params);
        let (name, uri) = (&body["params"]["name"], &body["params"]["uri"]);
        let name = name
            .as_str()
            .or(uri.as_str())
            .unwrap_or_default()
            .to_owned();
        let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.post(&headers, &body)
    }

    /// Opens a modern stream and reads its head.
    pub(super) fn listen(&mut self) -> Response {
        self.listen_for(&json!({"promptsListChanged": true}))
    }

    /// Begins a stream of what is wished for; gives its head.
    pub(super) fn listen_for(&mut self, notifications: &Value) -> Response {
        let method = "subscriptions/listen";
        let params = json!({"notifications": notifications});
        let body = modern(method, params).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("accept", ACCEPT),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", method),
        ];
        self.start("POST", &headers, body.as_bytes());
        self.head()
    }

    /// `initialize`; gives the id of the session.
    pub(super) fn initialize(&mut self) -> String {
        let response = self.post(&[], &initialize());
        assert_eq!(response.status, 200, "{response:?}");
        response
            .header("mcp-session-id")
            .expect("a session")
            .to_owned()
    }

    /// A legacy request of a session.
    pub(super) fn legacy(&mut self, session: &str, method: &str, params: Value) -> Response {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        self.post(&headers, &legacy(method, params))
    }

    /// Reads a response to its end.
    pub(super) fn response(&mut self) -> Response {
        let mut response = self.head();
        match response.header("content-length").map(str::to_owned) {
            Some(length) => {
                response.body = vec![0; length.parse().expect("a length")];
                self.stream
                    .read_exact(&mut response.body)
                    .expect("a whole body");
            }
            None if response.header("transfer-encoding").is_some() => {
                while let Some(chunk) = self.chunk() {
                    response.body.extend(chunk);
                }
            }
            None => {}
        }
        response
    }

    /// Reads the head of a response.
    pub(super) fn head(&mut self) -> Response {
        let status = self.line();
        let status = status
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").expect("a header");
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Response {
            status: status.expect("a status"),
            headers,
            body: Vec::new(),
        }
    }

    /// The next message of a stream; `None` at its end. Comments are passed over.
    pub(super) fn event(&mut self) -> Option<Value> {
        while self.events.is_empty() {
            let chunk = String::from_utf8(self.chunk()?).expect("text");
            let data = chunk.lines().filter_map(|line| line.strip_prefix("data: "));
            let events = data.map(|data| serde_json::from_str(data).expect("JSON"));
            self.events.extend::<Vec<Value>>(events.collect());
            assert!(chunk.ends_with("\n\n"), "{chunk}");
        }
        self.events.pop_front()
    }

    /// Whether the server has closed the connection.
    pub(super) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line(), 16).expect("a length");
        let mut chunk = vec![0; length];
        self.stream.read_exact(&mut chunk).expect("a whole chunk");
        assert_eq!(self.line(), "");
        (length > 0).then_some(chunk)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        assert!(line.ends_with("\r\n"), "the connection ended: {line:?}");
        line.trim_end_matches("\r\n").to_owned()
    }
}

pub(super) const ACCEPT: &str = "application/json, text/event-stream";

/// A modern request.
pub(super) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy(method, params)
}

/// A request without anything of the modern era.
#[allow(clippy::needless_pass_by_value)]
pub(super) fn legacy(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(super) fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}});
    legacy("initialize", params)
}
