//! A disk that is full, and calls to the system that fail.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use twig_core::Limits;
use twig_core::store::{Author, Change, Store, StoreError, Write};
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

/// Fills a project until the disk is full; gives the names of what is there.
fn fill(store: &dyn Store, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for at in 0.. {
        let prompt_name = format!("{prefix}{at}");
        match prompt(store, &prompt_name, text(&prompt_name.repeat(4_000))) {
            Ok(_) => names.push(prompt_name),
            Err(StoreError::DiskFull) => return names,
            Err(error) => panic!("{error}"),
        }
    }
    names
}

#[test]
fn a_full_disk_lets_what_makes_room_through() {
    for is_reopened in [false, true] {
        let Some(disk) = Disk::new("4m") else {
            return;
        };
        let workspaces = Workspaces::new(disk.path().join("workspaces"));
        let open = || {
            workspaces
                .open(&name("default"), Access::Write, &Limits::default())
                .unwrap()
        };
        let mut store = open();
        create_project(&store, "p").unwrap();
        let mut names = fill(&store, "n");
        assert!(names.len() > 20, "{}", names.len());
        // All of it, down to the last byte.
        let left = disk.path().join("left");
        let _ = fs::write(&left, vec![1; 4 * 1024 * 1024]);
        if is_reopened {
            // A command that comes when nothing else has the workspace open.
            store = open();
        }
        for round in ["second", "third"] {
            for name in names.drain(..5) {
                prompt(&store, &name, Change::Delete).unwrap();
            }
            // What is free by then is used up again.
            names.extend(fill(&store, round));
            if is_reopened {
                store = open();
            }
            assert_eq!(project(&store).items.len(), names.len());
        }
        store.drop_old_versions(None, 1).unwrap();
        let delete = Write::DeleteProject {
            name: name("p"),
            author: Author::Person,
        };
        write(&store, delete).unwrap();
        assert_eq!(store.projects(), Ok(Vec::new()));
        let files = store.reclaim().unwrap();
        assert!(files.after < 100_000, "{files:?}");
        // There is room for something new, and for the next deletion.
        create_project(&store, "p").unwrap();
        prompt(&store, "a", text(&"x".repeat(100_000))).unwrap();
        drop(store);
        let lock = disk.path().join("workspaces/default.lock");
        assert!(fs::metadata(lock).unwrap().len() >= 512 * 1024);
    }
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
    if !can_trace() {
        return;
    }
    // They mostly wait, so they wait together.
    thread::scope(|scope| {
        for (at, (call, error)) in (1..).zip(CALLS) {
            scope.spawn(move || {
                let mut dice = Dice(4711 * at);
                for _ in 0..7 {
                    let when = 1 + dice.roll(if call == "fcntl" { 60 } else { 30 });
                    fail_once(&format!("inject={call}:error={error}:when={when}"));
                }
            });
        }
    });
}

fn can_trace() -> bool {
    let mut tracer = Command::new("strace");
    let output = tracer.args(["-f", "true"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// SQLite releases a lock without looking whether that worked. One that the process keeps by mistake
/// makes the next write wait in vain, and none after it.
#[test]
fn a_lock_that_is_not_released_costs_one_write() {
    if !can_trace() {
        return;
    }
    let mut said = Vec::new();
    thread::scope(|scope| {
        let start = |when: usize| {
            scope.spawn(move || fail_once(&format!("inject=fcntl:error=ENOLCK:when={when}")))
        };
        let running: Vec<_> = [19, 20, 25, 28, 31, 34].into_iter().map(start).collect();
        said.extend(running.into_iter().map(|child| child.join().unwrap()));
    });
    for said in &said {
        assert!(said.len() >= 7, "{said:?}");
    }
    let felt = said.iter().filter(|said| said.len() < 8).count();
    assert!(felt > 0, "no write felt the fault");
}

/// Has a child write while one of its calls fails; gives the names of what was acknowledged.
fn fail_once(inject: &str) -> Vec<String> {
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
    said
}
