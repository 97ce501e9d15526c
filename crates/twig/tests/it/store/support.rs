//! What several tests of the store need: chance that can be repeated, another user, and a look at
//! a server from outside.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, OpenFlags};
use twig_testkit::{TestClient, TestEnv};

use crate::{TWIG, memory_kib};

/// Numbers that are random enough. The seed is printed; `TWIG_SEED` gives another one.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        let given = std::env::var("TWIG_SEED").ok();
        let given = given.and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0) | 1);
        println!("TWIG_SEED={seed}");
        Self(seed)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("a small number")
    }

    pub(super) fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// The folder of workspaces.
pub(super) fn workspaces(env: &TestEnv) -> PathBuf {
    env.home().join(".local/share/twig/workspaces")
}

/// The workspace's file.
pub(super) fn database(env: &TestEnv) -> PathBuf {
    workspaces(env).join("default.db")
}

/// Bytes of the write-ahead log.
pub(super) fn log_bytes(env: &TestEnv) -> u64 {
    let log = workspaces(env).join("default.db-wal");
    fs::metadata(log).map_or(0, |log| log.len())
}

/// The file is sound, and every change is counted.
pub(super) fn check_file(env: &TestEnv) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let file = Connection::open_with_flags(database(env), flags).expect("opens");
    let ask = |sql: &str| -> String {
        let value = file.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
        format!("{:?}", value.expect("an answer"))
    };
    assert_eq!(ask("PRAGMA integrity_check"), "Text(\"ok\")");
    let uncounted = "SELECT count(*) FROM \
        (SELECT count(*) AS rows, max(rev) AS last FROM change GROUP BY project) WHERE rows <> last";
    assert_eq!(ask(uncounted), "Integer(0)");
    let changes = ask("SELECT count(*) FROM change WHERE kind <> 'project'");
    assert_eq!(changes, ask("SELECT count(*) FROM version"));
}

/// What a server takes: KiB of memory, files, threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    pub(super) memory: u64,
    pub(super) files: usize,
    pub(super) threads: usize,
}

impl Weight {
    pub(super) fn of(pid: u32) -> Self {
        let count =
            |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
        Self {
            memory: memory_kib(pid, "VmRSS"),
            files: count("fd"),
            threads: count("task"),
        }
    }
}

/// Processor time that a process has used, in hundredths of a second.
pub(super) fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || fields.next().and_then(|text| text.parse::<u64>().ok());
    next().expect("user time") + next().expect("system time")
}

/// Another user of this machine, who owns the environment from now on.
pub(super) struct User {
    id: u32,
}

impl User {
    /// `None` where this user cannot become another one, or the other one cannot run the binary.
    pub(super) fn new(id: u32, env: &TestEnv) -> Option<Self> {
        let user = Self { id };
        let mut version = Command::new(TWIG);
        let is_fine = rustix::process::geteuid().is_root()
            && user.become_it(version.arg("--version")).output().is_ok();
        if !is_fine {
            println!("passed over: this needs root, and a binary that all may run");
            return None;
        }
        user.own(env.root());
        Some(user)
    }

    /// Hands over all that is below a folder.
    pub(super) fn own(&self, folder: &Path) {
        chown(folder, Some(self.id), Some(self.id)).expect("root may");
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.own(&entry.path());
            } else {
                chown(entry.path(), Some(self.id), Some(self.id)).expect("root may");
            }
        }
    }

    /// Has a command run as this user.
    pub(super) fn become_it<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.uid(self.id).gid(self.id)
    }

    /// A server of this user.
    pub(super) fn serve(&self, env: &TestEnv, arguments: &[&str]) -> TestClient {
        let mut command = env.command(["serve", "-p", super::PROJECT]);
        self.become_it(command.args(arguments));
        TestClient::start(command)
    }
}
