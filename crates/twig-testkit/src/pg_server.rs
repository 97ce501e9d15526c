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

/// The port in the name of the server's socket.
const PORT: u16 = 5432;

/// The same of its pooler.
pub(crate) const POOLED: u16 = 6432;

/// How long to wait for a server at most.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A running server; dropping this ends it.
#[derive(Debug)]
pub struct PgServer {
    folder: TempDir,
    programs: PathBuf,
    /// Ends the server and removes its files as soon as its input is closed, also if the tests are
    /// killed.
    guard: Option<Child>,
    /// Whether URLs are those of the pooler.
    is_pooled: bool,
}

impl PgServer {
    /// Starts a server; `None`, and a line that says so, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln_skipped();
            return None;
        };
        let mut server = Self::in_new_folder(programs);
        let data = server.data();
        server.program(
            "initdb",
            &["-U", "twig", "-A", "trust", "--no-sync", "-D", &data],
        );
        server.configure(
            "listen_addresses = ''\nfsync = on\nmax_connections = 60\nshared_buffers = 16MB",
        );
        // This role alone needs its password.
        let guard = "sed -i '1i local all guarded scram-sha-256'";
        shell(&format!("{guard} {data}/pg_hba.conf"));
        server.begin();
        server.guard = Some(server.start_guard());
        // An ordinary role: policies do not apply to superusers.
        server.sql("postgres", "CREATE ROLE keeper LOGIN");
        server.sql("postgres", "ALTER DATABASE postgres OWNER TO keeper");
        // The same tests, through a pooler.
        #[allow(clippy::disallowed_methods, reason = "of the tests, not of Twig")]
        let is_pooled = std::env::var_os("TWIG_TEST_POOLER").is_some();
        server.is_pooled = is_pooled && server.pool();
        Some(server)
    }

    /// A standby that follows this server. Writes of this one wait for it if they are to be
    /// `synchronous`.
    #[must_use]
    pub fn standby(&self, is_synchronous: bool) -> Self {
        let mut standby = Self::in_new_folder(self.programs.clone());
        let (socket, data) = (self.folder.path().display().to_string(), standby.data());
        let copy = [
            "-h",
            &*socket,
            "-U",
            "twig",
            "-D",
            &*data,
            "-R",
            "--no-sync",
        ];
        standby.program("pg_basebackup", &[&copy[..], &["-c", "fast"]].concat());
        standby.configure("");
        standby.begin();
        standby.guard = Some(standby.start_guard());
        let names = if is_synchronous { "*" } else { "" };
        self.sql(
            "postgres",
            &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
        );
        self.sql("postgres", "SELECT pg_reload_conf()");
        let expected = if is_synchronous { "sync" } else { "async" };
        let state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'";
        until("the standby follows", || {
            self.sql("postgres", state).trim() == expected
        });
        standby
    }

    /// Waits until a standby has all that was written here so far.
    pub fn wait_for(&self, standby: &Self) {
        let here = self.sql("postgres", "SELECT pg_current_wal_lsn()");
        let here = here.trim();
        let is_there = format!("SELECT pg_last_wal_replay_lsn() >= '{here}'");
        until("the standby has everything", || {
            standby.sql("postgres", &is_there).trim() == "t"
        });
    }

    /// Has this standby receive nothing any more.
    pub fn hold_back(&self) {
        self.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let count = "SELECT count(*) FROM pg_stat_wal_receiver";
        until("the standby receives nothing", || {
            self.sql("postgres", count).trim() == "0"
        });
    }

    /// Makes this standby the primary.
    pub fn promote(&self) {
        self.program("pg_ctl", &["-D", &self.data(), "-w", "promote"]);
    }

    /// Crashes and starts again, with one command.
    pub fn restart(&self) {
        let log = self.folder.path().join("log").display().to_string();
        let options = ["-D", &*self.data(), "-w", "-l", &*log];
        let options = [&options[..], &["-m", "immediate", "restart"]].concat();
        self.program("pg_ctl", &options);
    }

    /// The URL of a database that is on either of two servers, for its owner.
    pub fn url_with(&self, other: &Self, database: &str) -> String {
        let hosts = [self, other].map(|server| {
            let socket = server.folder.path().display().to_string();
            socket.replace('/', "%2F")
        });
        format!(
            "postgres://{}/{database}?user=keeper&sslmode=disable&target_session_attrs=read-write",
            hosts.join(",")
        )
    }

    /// True if URLs are those of a pooler in front of the server.
    pub fn is_pooled(&self) -> bool {
        self.is_pooled
    }

    /// The URL of a database, for its owner.
    pub fn url(&self, database: &str) -> String {
        self.url_of(database, "keeper", "")
    }

    /// The URL of a database past any pooler, for its owner.
    pub fn direct_url(&self, database: &str) -> String {
        self.url_at(PORT, database, "keeper", "")
    }

    /// The URL of a database for a role.
    pub fn url_of(&self, database: &str, role: &str, password: &str) -> String {
        let port = if self.is_pooled { POOLED } else { PORT };
        self.url_at(port, database, role, password)
    }

    fn url_at(&self, port: u16, database: &str, role: &str, password: &str) -> String {
        let socket = self.folder.path().display();
        format!(
            "postgres:///{database}?host={socket}&port={port}&user={role}&password={password}&sslmode=disable"
        )
    }

    /// Creates an empty database.
    pub fn create(&self, database: &str) {
        self.sql(
            "postgres",
            &format!("CREATE DATABASE {database} OWNER keeper"),
        );
    }

    /// Runs SQL as the superuser; gives the rows as text.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.sql_of(database, "twig", sql)
            .unwrap_or_else(|said| panic!("{sql}: {said}"))
    }

    /// Runs SQL as a role; gives the rows as text, or what the server said.
    pub fn sql_of(&self, database: &str, role: &str, sql: &str) -> Result<String, String> {
        self.client(
            "psql",
            role,
            &[
                "-d",
                database,
                "-v",
                "ON_ERROR_STOP=1",
                "-X",
                "-At",
                "-c",
                sql,
            ],
        )
    }

    /// Runs one of the programs that connect to the server, as a role.
    pub fn client(&self, name: &str, role: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = command_of(&self.programs.join(name));
        command.arg("-h").arg(self.folder.path());
        command.args(["-U", role]).args(arguments);
        run(&mut command)
    }

    /// A folder that programs of this server can write to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
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
        let socket = self.folder.path().display().to_string();
        until("the server answers", || {
            self.try_program("pg_isready", &["-h", &socket])
        });
    }

    fn in_new_folder(programs: PathBuf) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("twig-pg")
            .tempdir_in("/tmp")
            .expect("a folder");
        let server = Self {
            folder,
            programs,
            guard: None,
            is_pooled: false,
        };
        server.open_folder();
        server
    }

    /// Adds settings to those of the server, and where its socket is.
    fn configure(&self, settings: &str) {
        let socket = self.folder.path().display();
        let data = self.data();
        let lines = format!("unix_socket_directories = '{socket}'\n{settings}\n");
        shell(&format!(
            "cat >> {data}/postgresql.conf <<'END'\n{lines}END\n"
        ));
    }

    fn start_guard(&self) -> Child {
        let folder = self.folder.path().display().to_string();
        let stop = self.programs.join("pg_ctl");
        let mut inner = command_of(&stop);
        inner.args(["-D", &self.data(), "-m", "immediate", "stop"]);
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let words: Vec<&str> = words.filter_map(|word| word.to_str()).collect();
        let script = format!(
            "read end; [ -f {folder}/pooler.pid ] && kill $(cat {folder}/pooler.pid); \
             {} >/dev/null 2>&1; umount -l {folder}/disk-* 2>/dev/null; rm -rf {folder}",
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

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "waited too long: {what}");
    }
}

/// A server started by `pg_ctl` keeps its output, so it goes to files.
pub(crate) fn finish(what: &str, command: &mut Command) -> String {
    run(command).unwrap_or_else(|said| panic!("{what}: {said}"))
}

/// What a program printed, or its errors.
fn run(command: &mut Command) -> Result<String, String> {
    let output = tempfile::tempfile().expect("a file");
    let errors = tempfile::tempfile().expect("a file");
    let again = |file: &fs::File| file.try_clone().expect("the same file");
    let status = command
        .stdin(Stdio::null())
        .stdout(again(&output))
        .stderr(again(&errors))
        .status()
        .expect("a program");
    if status.success() {
        Ok(read(output))
    } else {
        Err(read(errors))
    }
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
pub(crate) fn command_of(program: &Path) -> Command {
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

pub(crate) fn shell(script: &str) -> String {
    let mut command = command_of(Path::new("/bin/sh"));
    command.args(["-c", script]);
    finish(script, &mut command)
}
