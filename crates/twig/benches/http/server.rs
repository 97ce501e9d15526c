//! A server in a process of its own, and what the system knows of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use twig_testkit::TestEnv;

use crate::floor::MODE;

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// Kept open: a server may go on talking.
    _talk: BufReader<ChildStderr>,
}

impl Server {
    /// Twig itself.
    pub(crate) fn twig(env: &TestEnv) -> Self {
        Self::start(&mut env.command(["serve", "--http", ":0"]))
    }

    /// A bare handler that answers with these bytes.
    pub(crate) fn floor(env: &TestEnv, canned: &[u8]) -> Self {
        let file = env.work().join("canned");
        fs::write(&file, canned).expect("a folder of our own");
        let this = std::env::current_exe().expect("a program");
        Self::start(Command::new(this).arg(MODE).arg(file))
    }

    fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the server starts");
        let mut talk = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        let port = loop {
            line.clear();
            let length = talk.read_line(&mut line).expect("text");
            assert!(length > 0, "the server ended");
            let address = line.trim().strip_prefix("http://127.0.0.1:");
            if let Some(port) = address.and_then(|address| address.strip_suffix("/mcp")) {
                break port.parse().expect("a port");
            }
        };
        Self {
            child,
            port,
            _talk: talk,
        }
    }

    /// What all its threads have used so far.
    pub(crate) fn processor_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("a process");
        let used = tasks.filter_map(|task| {
            let line = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            line.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(used.sum())
    }

    /// Its memory in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.expect("a size")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
