//! Packages, with the real binary and git servers on this machine.

mod add;
mod faults;
mod from;
mod index;
mod install;
mod inventory;
mod lessons;
mod sample_package;
mod serving;
mod shown;
mod update;
mod vendor;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use twig_testkit::{CommandOutput, GitRepo, TestEnv, search_path};

use crate::TWIG;

/// A home, and repositories beside it.
struct PackageTest {
    env: TestEnv,
}

/// What no failure may change: the configuration, the lock, and the folder of packages.
#[derive(Debug, PartialEq, Eq)]
struct PackageState {
    config: Option<String>,
    lock: Option<String>,
    packages: Vec<String>,
}

impl PackageTest {
    fn new() -> Self {
        let env = TestEnv::in_memory(TWIG);
        Self { env }
    }

    /// A repository with one skill, `pdf`, tagged as `v1.0.0`. No two of them have the same files.
    fn repo(&self, name: &str) -> GitRepo {
        let repo = self.empty_repo(name);
        repo.write("skills/pdf/SKILL.md", skill("pdf", "Read the file."));
        repo.write("about.txt", format!("About {name}.\n"));
        repo.commit("first");
        repo.tag("v1.0.0");
        repo
    }

    fn empty_repo(&self, name: &str) -> GitRepo {
        GitRepo::new(self.repos().join(format!("{name}.git")))
    }

    /// The folder of all repositories.
    fn repos(&self) -> PathBuf {
        let folder = self.env.root().join("repos");
        fs::create_dir_all(&folder).expect("the test's own folder is writable");
        folder
    }

    fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.env.command(args);
        command
            .env("PATH", search_path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> CommandOutput {
        self.env.outcome(&mut self.command(args))
    }

    /// The data of a command that has to succeed.
    #[track_caller]
    fn ok<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 0, "{output}");
        output.stdout
    }

    /// What a command that has to succeed says.
    #[track_caller]
    fn says<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 0, "{output}");
        output.stderr
    }

    #[track_caller]
    fn json<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Value {
        let args = args.into_iter().chain(["--json"]);
        serde_json::from_str(&self.ok(args)).expect("JSON on standard output")
    }

    /// What a command says that has to fail and to leave everything as it was.
    #[track_caller]
    fn refused<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        self.refused_by(&mut self.command(args))
    }

    #[track_caller]
    fn refused_by(&self, command: &mut Command) -> String {
        let before = self.state();
        let output = self.env.outcome(command);
        assert!(matches!(output.code, 1 | 2), "{output}");
        assert_eq!(self.state(), before, "{output}");
        assert!(!self.was_executed(), "{output}");
        output.stderr
    }

    fn state(&self) -> PackageState {
        PackageState {
            config: fs::read_to_string(self.config_path()).ok(),
            lock: fs::read_to_string(self.lock_path()).ok(),
            packages: self.packages(),
        }
    }

    fn config_path(&self) -> PathBuf {
        self.env.home().join(".config/twig/config.toml")
    }

    fn lock_path(&self) -> PathBuf {
        self.config_path().with_file_name("twig.lock")
    }

    #[track_caller]
    fn lock(&self) -> String {
        fs::read_to_string(self.lock_path()).expect("a lock")
    }

    fn store(&self) -> PathBuf {
        self.env.home().join(".local/share/twig/packages")
    }

    /// The names in the folder of packages, unfinished ones too.
    fn packages(&self) -> Vec<String> {
        let entries = fs::read_dir(self.store()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !is_record(name)).collect();
        names.sort();
        names
    }

    /// The folder of the only package.
    #[track_caller]
    fn package(&self) -> PathBuf {
        let names = self.packages();
        let folders = names.iter().map(|name| self.store().join(name));
        let mut folders = folders.filter(|path| path.is_dir());
        let folder = folders.next().expect("a package");
        assert_eq!(folders.next(), None);
        folder
    }

    /// Writes `~/.gitconfig`.
    fn git_config(&self, text: &str) {
        fs::create_dir_all(self.env.home()).expect("the test's own folder is writable");
        let path = self.env.home().join(".gitconfig");
        fs::write(path, text).expect("the test's own folder is writable");
    }

    /// A program that leaves a mark when it runs.
    fn trap(&self, name: &str) -> PathBuf {
        let path = self.env.root().join(name);
        let mark = self.mark();
        write_program(&path, &format!("touch '{}'\n", mark.display()));
        path
    }

    fn was_executed(&self) -> bool {
        self.mark().exists()
    }

    fn mark(&self) -> PathBuf {
        self.env.root().join("executed")
    }

    /// The names of all prompts that are served.
    fn prompts(&self) -> Vec<String> {
        let rows = self.json(["list"]);
        let rows = rows.as_array().expect("a list");
        let names = rows.iter().filter_map(|row| row["name"].as_str());
        names.map(str::to_owned).collect()
    }
}

/// Records beside the packages.
fn is_record(name: &str) -> bool {
    name.starts_with("locks.txt") || name.starts_with("before") || name.starts_with(".locks.txt")
}

fn source(repo: &GitRepo) -> String {
    format!("git+file://{}", repo.folder().display())
}

fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: How to {name}\n---\n{text}\n")
}

fn write_program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let write = |path: &Path| {
        fs::write(path, format!("#!/bin/sh\n{script}"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("the test's own folder is writable");
    }
    write(path).expect("the test's own folder is writable");
}

/// Replaces a text in a file of a package, which is read-only.
fn edit(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().expect("a folder");
    for (path, mode) in [(folder, 0o755), (path, 0o644)] {
        if path.exists() {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(path, mode).expect("the test's own folder is writable");
        }
    }
    fs::write(path, bytes).expect("the test's own folder is writable");
}

/// True in `just soak`, which takes its time.
fn is_soak() -> bool {
    std::env::var_os("TWIG_FIGURES").is_some()
}

/// An empty environment.
fn new_env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_twig"))
}

/// A command that finds git.
fn command(env: &TestEnv, words: &[&str]) -> Command {
    let mut command = env.command(words.iter().copied());
    command.env("PATH", search_path());
    command
}

/// Runs a command that finds git.
fn run(env: &TestEnv, words: &[&str]) -> CommandOutput {
    env.outcome(&mut command(env, words))
}

/// The JSON that a command prints.
fn json(env: &TestEnv, words: &[&str]) -> serde_json::Value {
    let output = run(env, words);
    let value = serde_json::from_str(&output.stdout);
    value.unwrap_or_else(|error| panic!("{error}: {output}"))
}
