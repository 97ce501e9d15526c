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
pub(crate) struct Caller {
    pub(crate) port: u16,
    pub(crate) stream: BufReader<TcpStream>,
    /// Messages that came together with an earlier one.
    events: VecDeque<Value>,
    /// Where requests go.
    pub(crate) path: String,
    /// The key that every request has.
    pub(crate) key: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {self:?} {text}"))
    }

    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().expect("an error")
    }
}

impl Caller {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        Self {
            port,
            stream: BufReader::new(stream),
            events: VecDeque::new(),
            path: "/mcp".to_owned(),
            key: None,
        }
    }

    /// The same, with a key.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// The same, for another address.
    pub(crate) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .get_mut()
            .write_all(bytes.as_ref())
            .expect("the server reads");
    }

    /// Sends a request with these headers; `Host` is ours unless given.
    pub(crate) fn start(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!(
            "{method} {} HTTP/1.1\r\ncontent-length: {}\r\n",
            self.path,
            body.len()
        );
        if let Some(key) = &self.key {
            head += &format!("authorization: Bearer {key}\r\n");
        }
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
    pub(crate) fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.start(method, headers, body);
        self.response()
    }

    /// Posts JSON with further headers.
    pub(crate) fn post(&mut self, headers: &[(&str, &str)], body: &Value) -> Response {
        self.start_post(headers, body);
        self.response()
    }

    /// The same, without waiting for the response.
    fn start_post(&mut self, headers: &[(&str, &str)], body: &Value) {
        let mut all = vec![("content-type", "application/json"), ("accept", ACCEPT)];
        all.extend_from_slice(headers);
        self.start("POST", &all, body.to_string().as_bytes());
    }

    /// A modern request with the headers that it needs.
    pub(crate) fn modern(&mut self, method: &str, params: Value) -> Response {
        self.start_modern(method, params);
        self.response()
    }

    /// The same, without waiting for the response.
    pub(crate) fn start_modern(&mut self, method: &str, params: Value) {
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
        self.start_post(&headers, &body);
    }

    /// Opens a modern stream and reads its head.
    pub(crate) fn listen(&mut self) -> Response {
        self.listen_for(&json!({"promptsListChanged": true}))
    }

    /// Begins a stream of what is wished for; gives its head.
    pub(crate) fn listen_for(&mut self, notifications: &Value) -> Response {
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
    pub(crate) fn initialize(&mut self) -> String {
        let response = self.post(&[], &initialize());
        assert_eq!(response.status, 200, "{response:?}");
        response
            .header("mcp-session-id")
            .expect("a session")
            .to_owned()
    }

    /// A legacy request of a session.
    #[allow(clippy::needless_pass_by_value)]
    pub(crate) fn legacy(&mut self, session: &str, method: &str, params: Value) -> Response {
        self.start_legacy(session, method, &params);
        self.response()
    }

    /// The same, without waiting for the response.
    pub(crate) fn start_legacy(&mut self, session: &str, method: &str, params: &Value) {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        self.start_post(&headers, &legacy(method, params.clone()));
    }

    /// Reads a response to its end.
    pub(crate) fn response(&mut self) -> Response {
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
    pub(crate) fn head(&mut self) -> Response {
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
    pub(crate) fn event(&mut self) -> Option<Value> {
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
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Everything up to the end of the connection.
    pub(super) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// The next piece of a body that comes in pieces; `None` at its end.
    pub(super) fn chunk(&mut self) -> Option<Vec<u8>> {
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

/// The headers of a modern `prompts/get`.
pub(super) fn get(name: &str) -> [(&str, &str); 4] {
    [
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "prompts/get"),
        ("mcp-name", name),
    ]
}

/// Lists the prompts in the modern era, with further headers.
pub(crate) fn list(caller: &mut Caller, headers: &[(&str, &str)]) -> Response {
    let method = "prompts/list";
    let mut all = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    all.extend_from_slice(headers);
    caller.post(&all, &modern(method, json!({})))
}

/// A modern request.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy(method, params)
}

/// A request without anything of the modern era.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn legacy(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(crate) fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}});
    legacy("initialize", params)
}
