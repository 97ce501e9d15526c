//! Runs `git` so that it can do nothing but fetch: no hooks, filters, prompts or other protocols, and
//! an end for what stalls or grows without bound.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::package_error::PackageError;
use crate::platform::{kill_group, own_group};

/// Variables of git that stay: how the user reaches hosts, and where their configuration is. All
/// others could lead git to another repository or program.
const KEPT: [&str; 14] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_EXEC_PATH",
];

/// Settings that override the user's, because they could run something, ask something, or write more
/// than the objects.
const OVERRIDES: [&str; 16] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.askPass=",
    "core.protectNTFS=true",
    "credential.interactive=never",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "fetch.fsckObjects=false",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
    "advice.detachedHead=false",
];

/// The first safe release of each line of git; later lines are safe, earlier ones are not.
const SAFE: [(u32, u32); 8] = [
    (43, 7),
    (44, 4),
    (45, 4),
    (46, 4),
    (47, 3),
    (48, 2),
    (49, 1),
    (50, 1),
];

/// How often the size of what was received is looked at.
const TICK: Duration = Duration::from_millis(50);

/// The variable that git takes the header with a token from.
const LOGIN_HEADER: &str = "TWIG_GIT_HEADER";

/// The name that goes with a token that has none.
const ANY_USER: &str = "x-access-token";

/// The longest token, in bytes.
const LONGEST_TOKEN: usize = 4_096;

/// How much of what git says is kept.
const KEPT_LINES: usize = 40;

/// The user's environment, as far as a fetch sees it. The program has the one door to it.
#[derive(Debug, Clone, Default)]
pub struct GitEnvironment {
    /// The names of all variables.
    pub variables: Vec<OsString>,
    /// The user's own way to call ssh (`GIT_SSH_COMMAND`).
    pub ssh_command: Option<OsString>,
    /// The proxy for https (`HTTPS_PROXY`, `ALL_PROXY`); git reads it itself.
    pub proxy: Option<String>,
    /// The hosts that are asked without it (`NO_PROXY`), with commas between them.
    pub no_proxy: Option<String>,
    /// The user's own program in place of ssh (`GIT_SSH`).
    pub ssh_program: Option<OsString>,
    /// Which program that is (`GIT_SSH_VARIANT`).
    pub ssh_variant: Option<OsString>,
    /// What Twig itself says to a host, instead of the user's own helpers.
    pub login: Option<GitLogin>,
}

/// A token for a host. It is in the environment of git alone: in no argument, message or log.
#[derive(Clone, PartialEq, Eq)]
pub struct GitLogin {
    token: String,
    /// The header that it is sent in.
    header: String,
}

impl GitLogin {
    /// Reads `TOKEN` or `USER:TOKEN`; the error says what is wrong with the text, without it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty");
        }
        if text.len() > LONGEST_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("is not one line with a token");
        }
        // The hosts look at the name rarely, and it must not be empty.
        let (user, token) = text.split_once(':').unwrap_or((ANY_USER, text));
        if token.is_empty() {
            return Err("has no token");
        }
        let encoded = STANDARD.encode(format!("{user}:{token}"));
        Ok(Self {
            token: token.to_owned(),
            header: format!("Authorization: Basic {encoded}"),
        })
    }

    /// A text without the token.
    fn redact(&self, text: &str) -> String {
        let encoded = self.header.rsplit(' ').next().unwrap_or_default();
        text.replace(encoded, "…").replace(&self.token, "…")
    }
}

impl fmt::Debug for GitLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GitLogin")
    }
}

impl GitEnvironment {
    /// True if the user says that it is another program than OpenSSH's.
    fn has_other_ssh(&self) -> bool {
        let variant = self.ssh_variant.as_ref();
        variant.is_some_and(|it| !matches!(it.to_str(), Some("" | "ssh" | "auto")))
    }
}

/// What bounds a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLimits {
    /// The bytes of a package, received and unpacked.
    pub bytes: u64,
    /// The files of a package.
    pub files: usize,
    /// How long nothing may be received.
    pub stall: Duration,
    /// How long all of it may take.
    pub total: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            bytes: 256 * 1024 * 1024,
            files: 20_000,
            stall: Duration::from_secs(30),
            total: Duration::from_secs(15 * 60),
        }
    }
}

/// Ends the fetches that have it.
#[derive(Debug, Clone, Default)]
pub struct FetchStop(Arc<AtomicBool>);

impl FetchStop {
    /// Ends them.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True if they are to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a fetch is about, for messages and limits.
#[derive(Clone, Copy)]
pub(super) struct GitTask<'t> {
    /// The source, as files keep it.
    pub(super) source: &'t str,
    /// The address.
    pub(super) url: &'t str,
    pub(super) limits: &'t FetchLimits,
    pub(super) environment: &'t GitEnvironment,
    pub(super) stop: &'t FetchStop,
    /// Gets what git says about its progress.
    pub(super) progress: &'t (dyn Fn(&str) + Sync),
}

/// What a program wrote.
#[derive(Debug, Default)]
pub(super) struct GitOutput {
    pub(super) stdout: Vec<u8>,
    /// The last lines that it said.
    pub(super) said: Vec<String>,
    pub(super) is_success: bool,
}

/// A sign of life.
enum Sign {
    Output(Vec<u8>),
    Said(Vec<u8>),
    Closed,
}

impl GitTask<'_> {
    /// A command of git on a repository of ours.
    pub(super) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        let names = self.environment.variables.iter();
        let is_git = |name: &&OsString| name.to_str().is_some_and(|it| it.starts_with("GIT_"));
        let is_kept = |name: &OsString| name.to_str().is_some_and(is_kept);
        for name in names.filter(is_git).filter(|name| !is_kept(name)) {
            command.env_remove(name);
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .env_remove("SSH_ASKPASS")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_ALLOW_PROTOCOL", self.protocols())
            .arg("--git-dir")
            .arg(folder);
        for setting in OVERRIDES {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null());
        // git and the programs that it starts are ended together.
        own_group(&mut command);
        command
    }

    /// A command of git that reaches the source.
    pub(super) fn remote_command(&self, folder: &Path) -> Command {
        let mut command = self.command(folder);
        if self.is_ssh() {
            let own = self.own_ssh_command(folder);
            let is_plain = self.environment.has_other_ssh();
            command.env("GIT_SSH_COMMAND", ssh_command(own, is_plain));
        }
        command.env_remove(LOGIN_HEADER);
        if let Some(login) = &self.environment.login {
            // No helper may keep it, and no other host may get it.
            command.env(LOGIN_HEADER, &login.header);
            command.arg(format!("--config-env=http.extraHeader={LOGIN_HEADER}"));
            command.args([
                "-c",
                "credential.helper=",
                "-c",
                "http.followRedirects=false",
            ]);
        }
        command
    }

    /// The protocols that git may use, whatever the user's configuration allows: unencrypted ones lead
    /// to this machine only, as the address was checked.
    fn protocols(&self) -> &'static str {
        match self.url.split("://").next() {
            Some("file") => "file",
            Some("http") => "http:https",
            Some("git") => "git",
            _ => "https:ssh",
        }
    }

    fn is_ssh(&self) -> bool {
        !["https://", "http://", "git://", "file://"]
            .iter()
            .any(|scheme| self.url.starts_with(scheme))
    }

    /// How the user calls ssh, in git's own order: `GIT_SSH_COMMAND`, `core.sshCommand`, `GIT_SSH`.
    fn own_ssh_command(&self, folder: &Path) -> Option<OsString> {
        let is_given = |command: &OsString| !command.is_empty();
        let variable = self.environment.ssh_command.clone().filter(is_given);
        variable
            .or_else(|| {
                let mut command = self.command(folder);
                command.args(["config", "--get", "core.sshCommand"]);
                let output = command.output().ok().filter(|it| it.status.success());
                let text = output.and_then(|it| String::from_utf8(it.stdout).ok());
                let text = text.map(|text| text.trim().to_owned());
                text.filter(|it| !it.is_empty()).map(Into::into)
            })
            .or_else(|| {
                let program = self.environment.ssh_program.clone().filter(is_given)?;
                let program = program.to_string_lossy().replace('\'', r"'\''");
                Some(format!("'{program}'").into())
            })
    }

    /// Runs a command to its end, or ends it: because nothing was received, it took too long, or what
    /// it wrote to `grows` is too large.
    pub(super) fn run(
        &self,
        mut command: Command,
        input: Option<Vec<u8>>,
        grows: Option<&Path>,
    ) -> Result<GitOutput, PackageError> {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let (mut child, signs) = start(&mut command, input)?;
        let done = self.follow(&signs, grows);
        if done.is_err() {
            // The programs that it started would go on waiting for the other side.
            kill_group(&mut child);
        }
        let status = child
            .wait()
            .map_err(PackageError::disk("git cannot be run"))?;
        let mut output = done?;
        output.is_success = status.success();
        Ok(output)
    }

    fn follow(
        &self,
        signs: &Receiver<Sign>,
        grows: Option<&Path>,
    ) -> Result<GitOutput, PackageError> {
        let started = Instant::now();
        let mut alive = started;
        let mut size = 0;
        let mut open = 2;
        let mut output = GitOutput::default();
        let mut said = SaidLines::default();
        let limits = self.limits;
        while open > 0 {
            match signs.recv_timeout(TICK) {
                Ok(Sign::Output(bytes)) => {
                    alive = Instant::now();
                    output.stdout.extend(bytes);
                    // Lists of references and files; a package has far less.
                    if output.stdout.len() as u64 > limits.bytes {
                        return Err(self.too_large());
                    }
                }
                Ok(Sign::Said(bytes)) => {
                    alive = Instant::now();
                    said.add(&bytes, self.progress);
                }
                Ok(Sign::Closed) => open -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = grows.map_or(0, size_of);
            if now != size {
                (size, alive) = (now, Instant::now());
            }
            if size > limits.bytes {
                return Err(self.too_large());
            }
            if self.stop.is_set() {
                return Err(PackageError::Ended {
                    source_text: self.source.to_owned(),
                });
            }
            if alive.elapsed() > limits.stall {
                return Err(self.stalled());
            }
            if started.elapsed() > limits.total {
                return Err(PackageError::TooLong {
                    source_text: self.source.to_owned(),
                    limit: limits.total,
                });
            }
        }
        output.said = said.finish();
        Ok(output)
    }

    fn stalled(&self) -> PackageError {
        PackageError::Stalled {
            source_text: self.source.to_owned(),
            limit: self.limits.stall,
        }
    }

    pub(super) fn too_large(&self) -> PackageError {
        PackageError::TooLarge {
            source_text: self.source.to_owned(),
            limit: self.limits.bytes,
        }
    }

    /// What a failure of git means.
    pub(super) fn failure(&self, said: &[String]) -> PackageError {
        // What the other side says is no reason: it could say anything.
        let own = said.iter().filter(|line| !line.starts_with("remote: "));
        let own: Vec<String> = match &self.environment.login {
            Some(login) => own.map(|line| login.redact(line)).collect(),
            None => own.cloned().collect(),
        };
        let all = own.join("\n").to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
        let source_text = self.source.to_owned();
        let detail = detail(&own);
        if has(&["no space left on device", "disk quota exceeded"]) {
            let error = io::Error::from(io::ErrorKind::StorageFull);
            return PackageError::disk("the fetched files cannot be written")(error);
        }
        if has(&["file too large"]) {
            let error = io::Error::from(io::ErrorKind::FileTooLarge);
            return PackageError::disk("the fetched files cannot be written")(error);
        }
        if has(&["remote host identification has changed"]) {
            return PackageError::HostKeyChanged { source_text };
        }
        if has(&["host key verification failed"]) {
            return PackageError::HostKey { source_text };
        }
        if has(&[
            "could not resolve host",
            "name or service not known",
            "could not resolve hostname",
        ]) {
            return PackageError::NoHost { source_text };
        }
        if has(&[
            "could not read username",
            "could not read password",
            "authentication failed",
            "terminal prompts disabled",
            "permission denied (",
            "error: 401",
            "error: 403",
            "unable to get password",
        ]) {
            return PackageError::Login {
                source_text,
                url: self.url.to_owned(),
            };
        }
        if has(&[
            "connection refused",
            "failed to connect",
            "couldn't connect to server",
            "timed out",
            "network is unreachable",
            "no route to host",
            "connection reset",
        ]) {
            return PackageError::Unreachable {
                source_text,
                detail,
            };
        }
        if has(&["operation too slow"]) {
            return self.stalled();
        }
        if has(&[
            "does not appear to be a git repository",
            "repository not found",
            "no such repository",
            "' not found",
            "not a git repository",
            "access denied or repository not exported",
            "error: 404",
        ]) {
            return PackageError::NoRepository { source_text };
        }
        if has(&[
            "not valid: is this a git repository",
            "bad line length",
            "protocol error",
            "invalid index-pack",
            "index-pack failed",
            "early eof",
            "unexpected disconnect",
            "the remote end hung up",
            "bad pack header",
            "transfer closed",
            "rpc failed",
            "expected flush",
            "invalid server response",
            "empty reply from server",
            "received http/0.9",
            "unsupported protocol",
        ]) {
            return PackageError::Garbage {
                source_text,
                detail,
            };
        }
        PackageError::Git {
            source_text,
            detail,
        }
    }
}

/// The version of the installed git, if it has known security defects. They need a checkout, which is
/// never made here.
pub(super) fn old_version() -> Option<String> {
    let output = Command::new("git").arg("version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.split_whitespace().nth(2)?;
    is_old(version).then(|| version.to_owned())
}

fn is_old(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|it| it.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        return false;
    };
    let patch = numbers.next().unwrap_or(0);
    match SAFE.iter().find(|(line, _)| *line == minor) {
        _ if major != 2 => major < 2,
        Some((_, safe)) => patch < *safe,
        None => minor < SAFE[0].0,
    }
}

/// True for a variable that git keeps; `GIT_CONFIG_COUNT` and its pairs are how tools hand settings
/// over.
fn is_kept(name: &str) -> bool {
    KEPT.contains(&name)
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_")
        || name == "GIT_CONFIG_COUNT"
}

/// The user's own way to call ssh, without questions and with an end. Other programs than OpenSSH's do
/// not know the options.
fn ssh_command(own: Option<OsString>, is_other: bool) -> OsString {
    let mut command = own.unwrap_or_else(|| "ssh".into());
    if is_other {
        return command;
    }
    command.push(
        " -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=2",
    );
    command
}

fn start(
    command: &mut Command,
    input: Option<Vec<u8>>,
) -> Result<(Child, Receiver<Sign>), PackageError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => PackageError::NoGit,
        _ => PackageError::disk("git cannot be run")(error),
    })?;
    let (sender, signs) = channel();
    if let Some(stdout) = child.stdout.take() {
        forward(stdout, Sign::Output, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        forward(stderr, Sign::Said, sender);
    }
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that ends early does not read all of it.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    Ok((child, signs))
}

fn forward(
    mut reader: impl Read + Send + 'static,
    sign: impl Fn(Vec<u8>) -> Sign + Send + 'static,
    sender: Sender<Sign>,
) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length) = reader.read(&mut buffer) {
            if length == 0 || sender.send(sign(buffer[..length].to_vec())).is_err() {
                break;
            }
        }
        let _ = sender.send(Sign::Closed);
    });
}

/// The lines that git says; those of its progress end with a carriage return and are handed on.
#[derive(Debug, Default)]
struct SaidLines {
    lines: VecDeque<String>,
    rest: Vec<u8>,
    /// A line that ended with a carriage return: one of progress, unless a line break follows, as ssh
    /// ends its lines.
    returned: Option<String>,
}

impl SaidLines {
    fn add(&mut self, bytes: &[u8], progress: &dyn Fn(&str)) {
        for &byte in bytes {
            if let Some(line) = self.returned.take() {
                if byte == b'\n' {
                    self.keep(line);
                    continue;
                }
                progress(&line);
            }
            match byte {
                b'\r' => self.returned = Some(self.line()),
                b'\n' => {
                    let line = self.line();
                    self.keep(line);
                }
                // A line without an end takes no memory without a bound.
                byte if self.rest.len() < 4_096 => self.rest.push(byte),
                _ => {}
            }
        }
    }

    fn line(&mut self) -> String {
        let bytes = std::mem::take(&mut self.rest);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    fn keep(&mut self, line: String) {
        if line.is_empty() {
            return;
        }
        if self.lines.len() == KEPT_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    fn finish(mut self) -> Vec<String> {
        let line = self.line();
        if let Some(returned) = self.returned.take() {
            self.keep(returned);
        }
        self.keep(line);
        self.lines.into()
    }
}

/// The line that says why, without git's own word in front.
fn detail(said: &[String]) -> String {
    let is_reason = |line: &&String| line.starts_with("fatal: ") || line.starts_with("error: ");
    let line = said.iter().rev().find(is_reason).or(said.last());
    let line = line.map_or("it said nothing", String::as_str);
    let line = line
        .trim_start_matches("fatal: ")
        .trim_start_matches("error: ");
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

/// The bytes of all files beneath a folder.
fn size_of(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_path_buf()];
    let mut size = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => size += metadata.len(),
                Err(_) => {}
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_with_known_defects_are_old() {
        for version in ["2.30.2", "1.8.3", "2.43.6", "2.47.2", "2.50.0"] {
            assert!(is_old(version), "{version}");
        }
        for version in [
            "2.43.7",
            "2.47.3",
            "2.51.0",
            "3.0.0",
            "2.50.1.windows.1",
            "?",
        ] {
            assert!(!is_old(version), "{version}");
        }
    }

    #[test]
    fn progress_is_handed_on_and_lines_are_kept() {
        let seen = std::sync::Mutex::new(Vec::new());
        let mut said = SaidLines::default();
        said.add(b"Receiving objects: 1%\rReceiving", &|line| {
            seen.lock().unwrap().push(line.to_owned());
        });
        said.add(b" objects: 100%\nfatal: bad\n", &|_| {});
        assert_eq!(*seen.lock().unwrap(), ["Receiving objects: 1%"]);
        let lines = said.finish();
        assert_eq!(lines, ["Receiving objects: 100%", "fatal: bad"]);
        assert_eq!(detail(&lines), "bad");
    }

    fn failure(said: &[&str]) -> String {
        let said: Vec<String> = said.iter().map(|line| (*line).to_owned()).collect();
        let task = GitTask {
            source: "x",
            url: "https://example.com/x.git",
            limits: &FetchLimits::default(),
            environment: &GitEnvironment::default(),
            stop: &FetchStop::default(),
            progress: &|_| {},
        };
        task.failure(&said).to_string()
    }

    #[test]
    fn what_the_other_side_says_is_no_reason() {
        let said = failure(&[
            "remote: Host key verification failed.",
            "remote: fatal: No space left on device",
            "fatal: early EOF",
        ]);
        assert_eq!(
            said,
            "x: the answer is not that of a git server, or was cut off (early EOF)"
        );
    }

    #[test]
    fn lines_of_ssh_are_kept_and_progress_is_not() {
        let mut said = SaidLines::default();
        said.add(b"10%\r20%\rPermission denied (publickey).\r\n", &|_| {});
        said.add(b"done\r", &|_| {});
        said.add(b"\nfatal: x", &|_| {});
        let lines = ["Permission denied (publickey).", "done", "fatal: x"];
        assert_eq!(said.finish(), lines);
    }
}
