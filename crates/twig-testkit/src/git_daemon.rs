//! `git daemon` on loopback: the `git://` protocol.

use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::git_repo::{hermetic_git, run};
use crate::loopback::{LoopbackListener, run_on};

/// Serves all repositories below a folder; dropping it stops it.
#[derive(Debug)]
pub struct GitDaemon {
    listener: LoopbackListener,
}

impl GitDaemon {
    /// Starts it; `None` where git comes without `git daemon`.
    pub fn start(root: &Path) -> Option<Self> {
        let programs = PathBuf::from(run(hermetic_git().arg("--exec-path"), b""));
        if !programs.join("git-daemon").exists() {
            return None;
        }
        let root = root.to_owned();
        let listener = LoopbackListener::start(move |stream| answer(&root, stream));
        Some(Self { listener })
    }

    /// Where a repository is, by the name of its folder without `.git`.
    pub fn url(&self, name: &str) -> String {
        format!("git://{}/{name}", self.listener.address())
    }
}

/// One process for each connection: the port is ours, so nobody has to wait until it is open.
fn answer(root: &Path, stream: &TcpStream) {
    let mut command = hermetic_git();
    command
        .args([
            "daemon",
            "--inetd",
            "--export-all",
            "--log-destination=none",
        ])
        .arg("--informative-errors")
        .arg(format!("--base-path={}", root.display()));
    run_on(stream, command);
}
