//! The server over HTTP, from the outside.

mod admin;
#[cfg(feature = "page")]
mod browse;
pub(crate) mod client;
mod crowd;
#[cfg(feature = "postgres")]
mod database;
mod disk;
mod door;
mod drain;
#[cfg(feature = "page")]
mod edit;
mod ending;
mod few_files;
mod held;
mod hostile;
mod hub;
mod legacy;
mod limits;
mod messages;
mod modern;
mod page;
mod paths;
mod people;
mod questions;
mod read_only;
mod resources;
mod screens;
mod settings;
mod start;
mod tls;
mod token;
mod tools;
mod turns;
mod unread;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use twig_testkit::TestEnv;

use self::client::PATIENCE;
pub(super) use self::client::list;
pub(super) use self::client::{Caller, Response};
use crate::env;

/// A library with a plain prompt and a computed one.
const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.hello]
description = "Greet somebody"

[[prompts.hello.arguments]]
name = "name"
required = true

[prompts.count]
description = "Count"

[prompts.slow]
description = "Never ends"
//- lib/prompts/hello.md
Hello {{ name }}!
//- lib/prompts/count.md
{% for i in range(3) %}{{ i }}{% endfor %}
//- lib/prompts/slow.md
{% set l = range(100000)|list %}{% for i in range(9999) %}{% set l = l|sort %}{% endfor %}
"#;

/// A server on a port of its own.
pub(super) struct Served {
    pub(super) env: TestEnv,
    child: Child,
    talk: BufReader<ChildStderr>,
    /// What was logged before the address.
    before: String,
    port: u16,
}

impl Served {
    fn new() -> Self {
        Self::with(&[], &[])
    }

    /// With further arguments and variables.
    fn with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::at("127.0.0.1:0", args, variables)
    }

    fn at(address: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let env = env(LIBRARY);
        let mut command = env.command(["serve", "--http", address]);
        command.args(args).envs(variables.iter().copied());
        Self::start(env, command)
    }

    /// A server of what this environment has.
    pub(super) fn from_env(env: TestEnv) -> Self {
        let command = env.command(["serve", "--http", "127.0.0.1:0"]);
        Self::start(env, command)
    }

    /// With a configuration.
    fn configured(config: &str) -> Self {
        Self::configured_with(config, &[])
    }

    /// With a configuration and variables.
    fn configured_with(config: &str, variables: &[(&str, &str)]) -> Self {
        let env = env(LIBRARY);
        env.configure(config);
        let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        Self::start(env, command)
    }

    pub(super) fn start(env: TestEnv, mut command: Command) -> Self {
        // Tests hold many connections at once; some systems start a process with few descriptors.
        let _ = rlimit::increase_nofile_limit(4_096);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut talk = BufReader::new(child.stderr.take().expect("piped"));
        let (mut line, mut before) = (String::new(), String::new());
        // The log may speak before.
        while !line.starts_with("http://") && !line.starts_with("https://") {
            before.push_str(&line);
            line.clear();
            let length = talk.read_line(&mut line).expect("text");
            assert!(length > 0, "the server ended");
        }
        let port = line
            .trim()
            .strip_suffix("/mcp")
            .and_then(|line| line.rsplit_once(':'))
            .and_then(|(_, port)| port.parse().ok())
            .unwrap_or_else(|| panic!("no address: {line}"));
        Self {
            env,
            child,
            talk,
            before,
            port,
        }
    }

    /// A new connection.
    pub(super) fn caller(&self) -> Caller {
        Caller::new(self.port)
    }

    /// The next line that the server says.
    pub(super) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.talk.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    /// The port of the admin listener, which the server has said.
    fn admin_port(&mut self) -> u16 {
        loop {
            let line = self.next_line();
            assert!(!line.is_empty(), "no admin listener");
            if let Some(rest) = line.strip_prefix("probes and metrics at http://127.0.0.1:") {
                let port = rest.split(':').next().and_then(|port| port.parse().ok());
                return port.expect("a port");
            }
        }
    }

    /// The environment of a server that has ended.
    pub(super) fn into_env(mut self) -> TestEnv {
        std::mem::replace(&mut self.env, TestEnv::new(crate::TWIG))
    }

    /// Asks whether it still serves.
    #[track_caller]
    fn is_well(&self) {
        assert_eq!(list(&mut self.caller(), &[]).status, 200);
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("the server is there");
    }

    /// Waits for the end: how, after how long, and what was said.
    pub(super) fn ended(&mut self) -> (ExitStatus, Duration, String) {
        let start = Instant::now();
        let mut talk = String::new();
        self.talk.read_to_string(&mut talk).expect("text");
        let status = self.child.wait().expect("the server was started");
        assert!(start.elapsed() < PATIENCE);
        (status, start.elapsed(), talk)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
