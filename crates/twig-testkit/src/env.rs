//! A home, a data folder and a clean environment for one test.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::client::TestClient;
use crate::fixture::write_fixture;

/// Everything that one test may touch; removed when it is dropped.
#[derive(Debug)]
pub struct TestEnv {
    root: TempDir,
    binary: PathBuf,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its data.
    pub stdout: String,
    /// Its talk.
    pub stderr: String,
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
}

/// The form that snapshots show, without empty parts.
impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stdout.is_empty() {
            writeln!(f, "{}", self.stdout.trim_end_matches('\n'))?;
        }
        if !self.stderr.is_empty() {
            writeln!(f, "--- stderr\n{}", self.stderr.trim_end_matches('\n'))?;
        }
        write!(f, "--- exit {}", self.code)
    }
}

impl TestEnv {
    /// An empty environment for a binary (`env!("CARGO_BIN_EXE_twig")`).
    pub fn new(binary: &str) -> Self {
        Self::at(binary, &std::env::temp_dir())
    }

    /// The same in memory, if the system has a file system there: for tests that write a lot and
    /// would mostly wait for a disk.
    pub fn in_memory(binary: &str) -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::at(binary, memory)
        } else {
            Self::new(binary)
        }
    }

    fn at(binary: &str, folder: &Path) -> Self {
        let root = tempfile::Builder::new()
            .prefix("twig-test-")
            .tempdir_in(folder)
            .expect("a temporary folder");
        let env = Self {
            root,
            binary: binary.into(),
        };
        fs::create_dir_all(env.data()).expect("the test's own folder is writable");
        fs::create_dir_all(env.work()).expect("the test's own folder is writable");
        env
    }

    /// An environment with libraries, in the format of [`write_fixture`].
    pub fn with(binary: &str, fixture: &str) -> Self {
        let env = Self::new(binary);
        write_fixture(&env.data(), fixture);
        env
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder of libraries.
    pub fn data(&self) -> PathBuf {
        self.home().join(".local/share/twig/prompts")
    }

    /// The working folder of commands.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file below the data folder.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.data().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the test's own folder is writable");
        }
        fs::write(path, text).expect("the test's own folder is writable");
    }

    /// Writes the user's configuration.
    pub fn configure(&self, config: &str) {
        let folder = self.home().join(".config/twig");
        fs::create_dir_all(&folder).expect("the test's own folder is writable");
        fs::write(folder.join("config.toml"), config).expect("the test's own folder is writable");
    }

    /// The binary without the outer environment.
    pub fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("TMPDIR", self.root.path())
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end; the output shows the test's folders as `[home]`, `[data]` and
    /// `[work]`.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> CommandOutput {
        self.outcome(&mut self.command(args))
    }

    /// The same, of a command that was prepared.
    pub fn outcome(&self, command: &mut Command) -> CommandOutput {
        let output = command.output().expect("the binary starts");
        CommandOutput {
            stdout: self.redact(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.redact(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Starts a server and a client on its pipes.
    pub fn serve(&self) -> TestClient {
        self.serve_with([])
    }

    /// Starts a server with further arguments.
    pub fn serve_with<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> TestClient {
        TestClient::start(self.command(["serve"].into_iter().chain(args)))
    }

    fn redact(&self, text: &str) -> String {
        let show = |path: PathBuf| path.display().to_string();
        text.replace(&show(self.data()), "[data]")
            .replace(&show(self.home()), "[home]")
            .replace(&show(self.work()), "[work]")
            .replace(&show(self.root.path().to_owned()), "[root]")
    }

    /// The parent folder of all the others.
    pub fn root(&self) -> &Path {
        self.root.path()
    }
}
