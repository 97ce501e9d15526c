//! A disk that is full, and calls to the system that fail.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use twig_core::Limits;
use twig_core::store::{Store, StoreError};
use twig_sources::{Access, Workspaces};

use super::child;
use super::support::*;

/// A small disk in memory, taken away at the end.
struct Disk(tempfile::TempDir);

impl Disk {
    /// `None` where only root could make one.
    fn new(size: &str) -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let option = format!("size={size}");
        disk.mount(&["-t", "tmpfs", "-o", &option, "none"])
            .then_some(disk)
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("mount");
        command.args(arguments).arg(self.0.path());
        command.output().is_ok_and(|output| output.status.success())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_fails_the_write_and_nothing_else() {
    let Some(disk) = Disk::new("2m") else {
        return;
    };
    let workspaces = Workspaces::new(disk.path().join("workspaces"));
    let open = || {
        workspaces
            .open(&name("default"), Access::Write, &Limits::default())
            .unwrap()
    };
    let store = open();
    create_project(&store, "p").unwrap();
    let mut acknowledged = Vec::new();
    let mut refusals = 0;
    for at in 0..400 {
        let prompt_name = format!("n{at}");
        match prompt(&store, &prompt_name, text(&prompt_name.repeat(4_000))) {
            Ok(_) => acknowledged.push(prompt_name),
            Err(StoreError::DiskFull) => refusals += 1,
            Err(error) => panic!("{error}"),
        }
        if refusals > 20 {
            break;
        }
    }
    assert!(refusals > 20 && acknowledged.len() > 10);
    let there = |store: &dyn Store| {
        let mut names: Vec<String> = contents(store).into_iter().map(|(name, _)| name).collect();
        names.sort_by_key(|name| name[1..].parse::<u32>().unwrap());
        names
    };
    assert_eq!(there(&store), acknowledged);
    assert!(disk.mount(&["-o", "remount,size=8m"]));
    prompt(&store, "n1000", text("at last")).unwrap();
    acknowledged.push("n1000".to_owned());
    assert_eq!(there(&store), acknowledged);
    drop(store);
    assert_eq!(there(&open()), acknowledged);
}

#[test]
fn a_disk_without_room_for_a_workspace_is_left_without_half_of_one() {
    let Some(disk) = Disk::new("16k") else {
        return;
    };
    let workspaces = Workspaces::new(disk.path().to_path_buf());
    let refused = workspaces.create(&name("default")).unwrap_err();
    assert_eq!(refused, StoreError::DiskFull);
    assert!(!workspaces.exists(&name("default")));
    let left: Vec<_> = fs::read_dir(disk.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["default.lock"]);
}

/// Every one of these fails once, at some point of a child that writes.
const CALLS: [(&str, &str); 9] = [
    ("pwrite64", "ENOSPC"),
    ("pwrite64", "EIO"),
    ("pwrite64", "EINTR"),
    ("fsync", "EIO"),
    ("fsync", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("openat", "EMFILE"),
    ("fcntl", "ENOLCK"),
    ("fcntl", "EINTR"),
];

#[test]
fn a_call_that_fails_costs_no_acknowledged_write() {
    let can_trace = Command::new("strace")
        .args(["-f", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_trace {
        return;
    }
    // They mostly wait, so they wait together.
    thread::scope(|scope| {
        for (at, (call, error)) in (1..).zip(CALLS) {
            scope.spawn(move || {
                let mut dice = Dice(4711 * at);
                for _ in 0..7 {
                    // Further on it is unlocking that fails, which SQLite cannot mend within
                    // the process: each later write is an error, after ten seconds.
                    let when = 1 + dice.roll(if call == "fcntl" { 18 } else { 30 });
                    fail_once(&format!("inject={call}:error={error}:when={when}"));
                }
            });
        }
    });
}

/// Has a child write while one of its calls fails.
fn fail_once(inject: &str) {
    let home = Home::with_project();
    let program = std::env::current_exe().unwrap();
    let child = child::command(&program, home.workspaces.folder(), "attempt 8");
    let told = child.get_envs();
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", inject])
        .arg(child.get_program())
        .args(child.get_args())
        .envs(told.filter_map(|(key, value)| Some((key, value?))))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut started = command.spawn().unwrap();
    let said: Vec<String> = child::lines(&mut started).collect();
    // A failure before the first write may be the end of the child, which is no harm.
    started.wait().unwrap();
    let store = home.open();
    let there = contents(&store);
    for name in &said {
        let is_it = |(found, text): &(String, String)| found == name && text == name;
        assert!(there.iter().any(is_it), "{inject}: {name} is lost");
    }
    prompt(&store, "after", text("all is well")).unwrap();
}
