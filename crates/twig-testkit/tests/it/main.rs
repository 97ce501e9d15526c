//! The testkit's git repositories and servers, as git itself sees them.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking, and they say what they skip"
)]

mod git_daemon;
mod git_repo;
mod git_server;
mod ssh_server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use twig_testkit::{GitRepo, hermetic_git};

/// A folder with a repository `repo` in it that has one commit.
struct Site {
    folder: TempDir,
    repo: GitRepo,
}

impl Site {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let repo = GitRepo::new(folder.path().join("served/repo"));
        repo.write("greet.md", "Hello.\n").commit("first");
        Self { folder, repo }
    }

    fn served(&self) -> PathBuf {
        self.folder.path().join("served")
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    /// `git clone` of this address.
    fn clone_command(&self, url: &str) -> Command {
        let mut command = hermetic_git();
        command.args(["clone", "--quiet", url]).arg(self.target());
        command
    }

    fn clone(&self, url: &str) -> Output {
        self.clone_command(url).output().expect("git starts")
    }

    /// Clones, and finds the file of the first commit.
    fn assert_clones(&self, url: &str) {
        assert_done(&self.clone(url));
        assert_eq!(read(&self.target().join("greet.md")), "Hello.\n");
    }
}

fn assert_done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn assert_fails(output: &Output, why: &str) {
    assert!(!output.status.success(), "it should fail with `{why}`");
    assert!(said(output).contains(why), "{}", said(output));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}
