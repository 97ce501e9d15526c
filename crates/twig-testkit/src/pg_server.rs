//! A PostgreSQL server of its own for a test: Debian's binaries, a folder in the temporary one, a
//! socket instead of a port.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The user that the server runs as if the tests are run by root, which it refuses.
const USER: &str = "postgres";

/// How long a server may take to answer after it was resumed.
const LONG: Duration = Duration::from_secs(60);

/// A running server; dropping this ends it.
#[derive(Debug)]
pub struct PgServer {
    folder: TempDir,
    programs: PathBuf,
    /// Ends the server and removes its files as soon as its input is closed, also if the tests are
    /// killed.
    guard: Option<Child>,
}

impl PgServer {
    /// Starts a server; `None`, and a line that says so, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln_skipped();
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("twig-pg")
            .tempdir_in("/tmp")
            .expect("a folder");
        let mut server = Self {
            folder,
            programs,
            guard: None,
        };
        server.open_folder();
        let data = server.data();
        server.program(
            "initdb",
            &["-U", "twig", "-A", "trust", "--no-sync", "-D", &data],
        );
        let options = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = on\n\
             max_connections = 60\nshared_buffers = 16MB\n",
            server.folder.path().display()
        );
        let add = format!("cat >> {data}/postgresql.conf <<'END'\n{options}END\n");
        shell(&add);
        // This role alone needs its password.
        let guard = "sed -i '1i local all guarded scram-sha-256'";
        shell(&format!("{guard} {data}/pg_hba.conf"));
        server.begin();
        server.guard = Some(server.start_guard());
        Some(server)
    }

    /// The URL of a database, for its owner.
    pub fn url(&self, database: &str) -> String {
        self.url_of(database, "twig", "")
    }

    /// The URL of a database for a role.
    pub fn url_of(&self, database: &str, role: &str, password: &str) -> String {
        let socket = self.folder.path().display();
        format!(
            "postgres:///{database}?host={socket}&user={role}&password={password}&sslmode=disable"
        )
    }

    /// Creates an empty database.
    pub fn create(&self, database: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {database}"));
    }

    /// Runs SQL as the superuser; gives the rows as text.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let socket = self.folder.path().display().to_string();
        let arguments = [
            "-h",
            &socket,
            "-U",
            "twig",
            "-d",
            database,
            "-v",
            "ON_ERROR_STOP=1",
        ];
        self.program(
            "psql",
            &[&arguments[..], &["-X", "-At", "-c", sql]].concat(),
        )
    }

    /// Ends the server at once, as a crash does.
    pub fn crash(&self) {
        self.program(
            "pg_ctl",
            &["-D", &self.data(), "-w", "-m", "immediate", "stop"],
        );
    }

    /// Starts it again.
    pub fn begin(&self) {
        let log = self.folder.path().join("log").display().to_string();
        self.program("pg_ctl", &["-D", &self.data(), "-w", "-l", &log, "start"]);
    }

    /// Stops every process of the server; connections stay open and nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets them go on, and waits until the server answers.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
        let begun = Instant::now();
        while !self.try_program(
            "pg_isready",
            &["-h", &self.folder.path().display().to_string()],
        ) {
            assert!(begun.elapsed() < LONG, "the server does not answer");
        }
    }

    fn start_guard(&self) -> Child {
        let folder = self.folder.path().display().to_string();
        let stop = self.programs.join("pg_ctl");
        let mut inner = command_of(&stop);
        inner.args(["-D", &self.data(), "-m", "immediate", "stop"]);
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let words: Vec<&str> = words.filter_map(|word| word.to_str()).collect();
        let script = format!(
            "read end; {} >/dev/null 2>&1; rm -rf {folder}",
            words.join(" ")
        );
        Command::new("/bin/sh")
            .args(["-c", &script])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal for the tests is not for the guard.
            .process_group(0)
            .spawn()
            .expect("a shell")
    }

    fn signal(&self, signal: Signal) {
        // There is no such file while the server is down.
        let pid = shell(&format!("head -n1 {}/postmaster.pid || true", self.data()));
        let main = pid.trim().to_owned();
        if main.is_empty() {
            return;
        }
        let children = fs::read_to_string(format!("/proc/{main}/task/{main}/children"));
        let children = children.unwrap_or_default();
        for pid in std::iter::once(&*main).chain(children.split_whitespace()) {
            let pid = pid.parse().ok().and_then(Pid::from_raw);
            // A connection may have ended meanwhile.
            let _ = kill_process(pid.expect("the id of a process"), signal);
        }
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// The server's user makes its own folder in this one.
    fn open_folder(&self) {
        use std::os::unix::fs::PermissionsExt;
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(self.folder.path(), everybody).expect("a folder of ours");
    }

    fn program(&self, name: &str, arguments: &[&str]) -> String {
        let mut command = command_of(&self.programs.join(name));
        command.args(arguments);
        finish(name, &mut command)
    }

    fn try_program(&self, name: &str, arguments: &[&str]) -> bool {
        let mut command = command_of(&self.programs.join(name));
        let status = command.args(arguments).stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for PgServer {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// A server started by `pg_ctl` keeps its output, so it goes to files.
fn finish(what: &str, command: &mut Command) -> String {
    let output = tempfile::tempfile().expect("a file");
    let errors = tempfile::tempfile().expect("a file");
    let again = |file: &fs::File| file.try_clone().expect("the same file");
    let status = command
        .stdin(Stdio::null())
        .stdout(again(&output))
        .stderr(again(&errors))
        .status()
        .expect("a program");
    assert!(status.success(), "{what}: {}", read(errors));
    read(output)
}

fn read(mut file: fs::File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    file.rewind().expect("a file");
    file.read_to_string(&mut text).expect("text");
    text
}

/// The folder of the newest installed server.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop()
}

#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn eprintln_skipped() {
    eprintln!("skipped: PostgreSQL is not installed here");
}

/// A program, run by a user that the server accepts, without the outer environment.
fn command_of(program: &Path) -> Command {
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", USER, "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").env_clear();
    command
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C");
    command
}

fn shell(script: &str) -> String {
    let mut command = command_of(Path::new("/bin/sh"));
    command.args(["-c", script]);
    finish(script, &mut command)
}
