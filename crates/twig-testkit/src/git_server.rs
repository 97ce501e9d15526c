//! A git server over HTTP on loopback, with faults that a test switches on.
//!
//! `git http-backend` answers for every repository below a folder. One request a connection; each
//! answer goes out through [`FaultyStream`], which is where most faults happen.

use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::client::PATIENCE;
use crate::git_repo::hermetic_git;
use crate::http_request::{HttpRequest, read_headers};
use crate::loopback::{LoopbackListener, locked};

/// The time between two empty packets of an answer that never ends.
const HEARTBEAT: Duration = Duration::from_millis(20);

/// Serves repositories and plain files; dropping it stops it and ends every answer.
///
/// A fault holds for all requests after it, until another one or [`GitServer::heal`].
#[derive(Debug)]
pub struct GitServer {
    core: Arc<GitServerCore>,
    listener: LoopbackListener,
}

#[derive(Debug)]
struct GitServerCore {
    root: PathBuf,
    state: Mutex<GitServerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GitServerState {
    files: BTreeMap<String, ServedFile>,
    behavior: GitServerBehavior,
    requests: Vec<String>,
    bytes: u64,
    stalled: usize,
    is_stopped: bool,
}

#[derive(Debug, Clone)]
struct ServedFile {
    content_type: String,
    bytes: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct GitServerBehavior {
    latency: Duration,
    /// What a request has to say in `Authorization`.
    authorization: Option<String>,
    /// The server that clients are sent to.
    redirect: Option<String>,
    is_old: bool,
    fault: AnswerFault,
}

#[derive(Debug, Default, Clone, Copy)]
enum AnswerFault {
    #[default]
    None,
    NotFound,
    StallAfter(u64),
    CutAfter(u64),
    GarbageAfter(u64),
    Endless,
}

impl GitServer {
    /// Starts a server for all repositories below a folder, also those made later.
    pub fn start(root: &Path) -> Self {
        let core = Arc::new(GitServerCore {
            root: root.to_owned(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&core);
        let listener = LoopbackListener::start(move |stream| {
            // An error means that the client or the test has ended the connection.
            let _ = shared.serve(stream);
        });
        Self { core, listener }
    }

    /// Where a repository is, by the name of its folder with or without `.git`.
    pub fn url(&self, name: &str) -> String {
        let name = name.trim_end_matches(".git");
        format!("{}/{name}.git", self.base())
    }

    /// The server's address as a URL, without a slash at its end.
    pub fn base(&self) -> String {
        format!("http://{}", self.listener.address())
    }

    /// Serves a file at a path that starts with a slash.
    pub fn file(&self, path: &str, content_type: &str, bytes: impl AsRef<[u8]>) {
        let file = ServedFile {
            content_type: content_type.to_owned(),
            bytes: bytes.as_ref().to_owned(),
        };
        self.core.state().files.insert(path.to_owned(), file);
    }

    /// Waits that long before each answer.
    pub fn latency(&self, latency: Duration) {
        self.core.state().behavior.latency = latency;
    }

    /// Answers 401 to everyone who does not send this name and password.
    pub fn require_basic_auth(&self, user: &str, password: &str) {
        let credentials = base64(format!("{user}:{password}").as_bytes());
        self.core.state().behavior.authorization = Some(format!("Basic {credentials}"));
    }

    /// Sends everyone to the same path of another server, such as `http://127.0.0.1:8080`.
    pub fn redirect_to(&self, base: &str) {
        self.core.state().behavior.redirect = Some(base.to_owned());
    }

    /// Behaves as an old server: protocol 0, no filters, and only commits that a ref names.
    pub fn old_server(&self) {
        self.core.state().behavior.is_old = true;
    }

    /// Answers 404 to everything.
    pub fn not_found(&self) {
        self.fault(AnswerFault::NotFound);
    }

    /// Stops sending after that many bytes of each answer, head included; the connection stays open.
    pub fn stall_after(&self, bytes: u64) {
        self.fault(AnswerFault::StallAfter(bytes));
    }

    /// Closes the connection after that many bytes of each answer, head included.
    pub fn cut_after(&self, bytes: u64) {
        self.fault(AnswerFault::CutAfter(bytes));
    }

    /// Sends noise in place of each answer's body.
    pub fn garbage(&self) {
        self.garbage_after(0);
    }

    /// Sends noise in place of what follows that many bytes of each answer's body.
    pub fn garbage_after(&self, bytes: u64) {
        self.fault(AnswerFault::GarbageAfter(bytes));
    }

    /// Answers each fetch of objects with empty packets, for ever.
    pub fn endless(&self) {
        self.fault(AnswerFault::Endless);
    }

    /// Ends all faults, latency, redirects and the need of a password. Answers that stall go on stalling.
    pub fn heal(&self) {
        self.core.state().behavior = GitServerBehavior::default();
    }

    /// The requests so far: method, path and query.
    pub fn requests(&self) -> Vec<String> {
        self.core.state().requests.clone()
    }

    /// The number of requests so far.
    pub fn request_count(&self) -> usize {
        self.core.state().requests.len()
    }

    /// The number of bytes sent so far, heads included.
    pub fn bytes_sent(&self) -> u64 {
        self.core.state().bytes
    }

    /// Waits until there were that many requests.
    pub fn wait_for_requests(&self, count: usize) {
        self.core
            .wait_until(|state| state.requests.len() >= count, "requests");
    }

    /// Waits until an answer has stalled.
    pub fn wait_until_stalled(&self) {
        self.core.wait_until(|state| state.stalled > 0, "a stall");
    }

    fn fault(&self, fault: AnswerFault) {
        self.core.state().behavior.fault = fault;
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.core.state().is_stopped = true;
        self.core.changed.notify_all();
    }
}

impl GitServerCore {
    fn state(&self) -> MutexGuard<'_, GitServerState> {
        locked(&self.state)
    }

    /// Blocks a test until something has happened.
    fn wait_until(&self, holds: impl Fn(&GitServerState) -> bool, what: &str) {
        let waits = |state: &mut GitServerState| !holds(state);
        let waited = self
            .changed
            .wait_timeout_while(self.state(), PATIENCE, waits);
        let (state, timeout) = waited.expect("the server's threads do not panic");
        drop(state);
        assert!(!timeout.timed_out(), "{what} did not come");
    }

    /// Blocks an answer for a time; fails as soon as the server stops.
    fn pause(&self, time: Duration) -> io::Result<()> {
        let waits = |state: &mut GitServerState| !state.is_stopped;
        let waited = self.changed.wait_timeout_while(self.state(), time, waits);
        match waited {
            Ok((state, _)) if !state.is_stopped => Ok(()),
            _ => Err(ErrorKind::ConnectionAborted.into()),
        }
    }

    /// Blocks an answer until the server stops.
    fn stall(&self) -> io::Error {
        self.state().stalled += 1;
        self.changed.notify_all();
        let waits = |state: &mut GitServerState| !state.is_stopped;
        drop(self.changed.wait_while(self.state(), waits));
        ErrorKind::ConnectionAborted.into()
    }

    /// Notes a request; returns how to answer it.
    fn begin(&self, request: &HttpRequest) -> (GitServerBehavior, Option<ServedFile>) {
        let mut state = self.state();
        state
            .requests
            .push(format!("{} {}", request.method, request.target()));
        self.changed.notify_all();
        (
            state.behavior.clone(),
            state.files.get(&request.path).cloned(),
        )
    }

    /// Answers the one request of a connection.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let request = HttpRequest::read(stream)?;
        let (behavior, file) = self.begin(&request);
        if !behavior.latency.is_zero() {
            self.pause(behavior.latency)?;
        }
        let mut output = FaultyStream::new(self, stream, behavior.fault);
        let wanted = behavior.authorization.as_deref();
        if wanted.is_some() && wanted != request.header("authorization") {
            let realm = ("WWW-Authenticate", "Basic realm=\"test\"");
            return output.send_whole("401 Unauthorized", realm, b"");
        }
        if let Some(base) = &behavior.redirect {
            let place = format!("{base}{}", request.target());
            return output.send_whole("302 Found", ("Location", &place), b"");
        }
        match (behavior.fault, file) {
            (AnswerFault::NotFound, _) => {
                output.send_whole("404 Not Found", ("Content-Type", "text/plain"), b"")
            }
            (_, Some(file)) => {
                let kind = ("Content-Type", file.content_type.as_str());
                output.send_whole("200 OK", kind, &file.bytes)
            }
            (AnswerFault::Endless, _) if is_fetch(&request) => self.send_for_ever(&mut output),
            _ => self.run_backend(&request, &behavior, &mut output),
        }
    }

    /// Sends the head of a pack, then packets without content, as servers do to show that they work.
    fn send_for_ever(&self, output: &mut FaultyStream<'_>) -> io::Result<()> {
        let kind = ("content-type", "application/x-git-upload-pack-result");
        output.start_chunks("200 OK", &[kind])?;
        output.send_chunk(b"000dpackfile\n")?;
        loop {
            output.send_chunk(b"0005\x01")?;
            self.pause(HEARTBEAT)?;
        }
    }

    /// Lets git answer, as a CGI program.
    fn run_backend(
        &self,
        request: &HttpRequest,
        behavior: &GitServerBehavior,
        output: &mut FaultyStream<'_>,
    ) -> io::Result<()> {
        let mut backend = HttpBackend::start(self.backend_command(request, behavior))?;
        let input = backend.child.stdin.take();
        let answer = backend.child.stdout.take();
        thread::scope(|scope| {
            scope.spawn(|| input.map(|mut input: ChildStdin| input.write_all(&request.body)));
            let sent = answer.map_or(Ok(()), |answer| send_answer(answer, output));
            // The writer ends with the program, also if the client has left.
            backend.stop();
            sent
        })
    }

    fn backend_command(&self, request: &HttpRequest, behavior: &GitServerBehavior) -> Command {
        let mut command = hermetic_git();
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", self.path_info(&request.path))
            .env("QUERY_STRING", &request.query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("REMOTE_ADDR", "127.0.0.1");
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ] {
            if let Some(value) = request.header(header) {
                command.env(variable, value);
            }
        }
        if !behavior.is_old {
            if let Some(protocol) = request.header("git-protocol") {
                command.env("GIT_PROTOCOL", protocol);
            }
            let settings = ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"];
            command.env("GIT_CONFIG_COUNT", settings.len().to_string());
            for (number, setting) in settings.iter().enumerate() {
                command.env(format!("GIT_CONFIG_KEY_{number}"), setting);
                command.env(format!("GIT_CONFIG_VALUE_{number}"), "true");
            }
        }
        command
    }

    /// Finds `repo` for `/repo.git/…`, if there is no `repo.git`.
    fn path_info(&self, path: &str) -> String {
        let Some((name, rest)) = path.split_once(".git/") else {
            return path.to_owned();
        };
        let folder = format!("{}.git", name.trim_start_matches('/'));
        if self.root.join(folder).exists() {
            path.to_owned()
        } else {
            format!("{name}/{rest}")
        }
    }
}

/// A running `git http-backend`, which ends with this value.
struct HttpBackend {
    child: Child,
}

impl HttpBackend {
    fn start(mut command: Command) -> io::Result<Self> {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child })
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for HttpBackend {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Passes a CGI program's answer on as it comes.
fn send_answer(answer: ChildStdout, output: &mut FaultyStream<'_>) -> io::Result<()> {
    let mut answer = BufReader::new(answer);
    let mut headers = read_headers(&mut answer)?;
    let status = headers.iter().position(|(name, _)| name == "status");
    let status = status.map_or_else(|| "200 OK".to_owned(), |at| headers.remove(at).1);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| *name != "content-length")
        .collect();
    output.start_chunks(&status, &headers)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match answer.read(&mut buffer)? {
            0 => return output.end_chunks(),
            length => output.send_chunk(&buffer[..length])?,
        }
    }
}

/// A connection that counts what is sent and does what the fault says.
struct FaultyStream<'a> {
    core: &'a GitServerCore,
    stream: &'a TcpStream,
    fault: AnswerFault,
    sent: u64,
    body_sent: u64,
}

impl<'a> FaultyStream<'a> {
    fn new(core: &'a GitServerCore, stream: &'a TcpStream, fault: AnswerFault) -> Self {
        Self {
            core,
            stream,
            fault,
            sent: 0,
            body_sent: 0,
        }
    }

    /// Sends an answer of known length.
    fn send_whole(
        &mut self,
        status: &str,
        (name, value): (&str, &str),
        body: &[u8],
    ) -> io::Result<()> {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\n{name}: {value}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        );
        self.send(head.as_bytes())?;
        let body = self.body(body);
        self.send(&body)
    }

    /// Starts an answer whose length is not known, so that a client notices where it is cut.
    fn start_chunks(&mut self, status: &str, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
        self.send(head.as_bytes())
    }

    fn send_chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend(self.body(bytes));
        chunk.extend(b"\r\n");
        self.send(&chunk)
    }

    fn end_chunks(&mut self) -> io::Result<()> {
        self.send(b"0\r\n\r\n")
    }

    /// A part of the body, with noise where the fault wants it.
    fn body(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_owned();
        if let AnswerFault::GarbageAfter(start) = self.fault {
            for (byte, at) in bytes.iter_mut().zip(self.body_sent..) {
                if at >= start {
                    *byte = noise(at);
                }
            }
        }
        self.body_sent += size(&bytes);
        bytes
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (AnswerFault::StallAfter(limit) | AnswerFault::CutAfter(limit)) = self.fault else {
            return self.pass_on(bytes);
        };
        let left = usize::try_from(limit - self.sent).unwrap_or(usize::MAX);
        if bytes.len() <= left {
            return self.pass_on(bytes);
        }
        self.pass_on(&bytes[..left])?;
        Err(match self.fault {
            AnswerFault::StallAfter(_) => self.core.stall(),
            _ => ErrorKind::ConnectionAborted.into(),
        })
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.sent += size(bytes);
        self.core.state().bytes += size(bytes);
        Ok(())
    }
}

/// True for a request of objects, false for one of refs; of protocol 2.
fn is_fetch(request: &HttpRequest) -> bool {
    let lists_refs = request
        .body
        .windows(15)
        .any(|bytes| bytes == b"command=ls-refs");
    request.method == "POST" && !lists_refs
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A byte that looks random; the same in every run.
fn noise(at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}

/// The usual alphabet, padded.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for place in 0..4 {
            if place <= group.len() {
                let index = (bits >> (18 - 6 * place)) & 63;
                text.push(char::from(ALPHABET[index as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
