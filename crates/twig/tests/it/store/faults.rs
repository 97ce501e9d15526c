//! Disks that are full or cannot be written to, and programs that hold the lock.

use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::json;
use twig_testkit::{CommandOutput, TestClient, TestEnv};

use super::support::database;
use super::{PROJECT, call, done, failed, names, prompt, serve, text, update, with_project};
use crate::TWIG;

/// A small disk of its own, gone when it is dropped.
struct Disk {
    path: PathBuf,
}

impl Disk {
    /// `None` where this user may not mount one.
    fn new(env: &TestEnv, size: &str) -> Option<Self> {
        let path = env.root().join("disk");
        std::fs::create_dir(&path).expect("the test's own folder is writable");
        let disk = Self { path };
        let options = format!("size={size}");
        let is_mounted = disk.mount(&["-t", "tmpfs", "-o", &options, "tmpfs"]);
        if !is_mounted {
            println!("passed over: no disk can be mounted here");
        }
        is_mounted.then_some(disk)
    }

    fn remount(&self, options: &str) {
        assert!(self.mount(&["-o", &format!("remount,{options}"), "tmpfs"]));
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let mut mount = Command::new("mount");
        let status = mount.args(arguments).arg(&self.path).status();
        status.is_ok_and(|status| status.success())
    }

    /// The binary with its data on this disk.
    fn command(&self, env: &TestEnv, arguments: &[&str]) -> Command {
        let mut command = env.command(arguments.iter().copied());
        command.env("XDG_DATA_HOME", &self.path);
        command
    }

    fn serve(&self, env: &TestEnv, arguments: &[&str]) -> TestClient {
        let all: Vec<&str> = ["serve", "-p", PROJECT]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        TestClient::start(self.command(env, &all))
    }

    fn run(&self, env: &TestEnv, arguments: &[&str]) -> CommandOutput {
        let output = self.command(env, arguments).output().expect("it starts");
        CommandOutput {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// T-REL-03.
#[test]
fn a_full_disk_fails_the_write_and_nothing_else() {
    let env = TestEnv::new(TWIG);
    let Some(disk) = Disk::new(&env, "2m") else {
        return;
    };
    assert_eq!(disk.run(&env, &["project", "create", PROJECT]).code, 0);
    let mut client = disk.serve(&env, &[]);
    client.initialize();
    let content = |at: usize| format!("{at} {}", "x".repeat(30_000 + at));
    let create = |at: usize| json!({"name": format!("p{at:03}"), "content": content(at)});
    let mut written = 0;
    let said = loop {
        let result = call(&mut client, "create_prompt", create(written));
        if result["isError"] == true {
            break result["content"][0]["text"]
                .as_str()
                .expect("a text")
                .to_owned();
        }
        written += 1;
        assert!(written < 500, "the disk never gets full");
    };
    assert_eq!(
        said,
        "Error: The disk is full, nothing was written: make room, then try again"
    );
    assert_eq!(
        names(&mut client).len(),
        written,
        "what was acknowledged is there, no more"
    );
    assert_eq!(text(&mut client, "p000"), content(0));
    disk.remount("size=16m");
    done(&mut client, "create_prompt", create(written));
    assert!(client.close().status.success());
    let mut again = disk.serve(&env, &[]);
    assert_eq!(names(&mut again).len(), written + 1);
    assert_eq!(
        text(&mut again, &format!("p{written:03}")),
        content(written)
    );
}

/// T-REL-04.
#[test]
fn a_disk_that_cannot_be_written_is_served_read_only() {
    let env = TestEnv::new(TWIG);
    let Some(disk) = Disk::new(&env, "4m") else {
        return;
    };
    assert_eq!(disk.run(&env, &["project", "create", PROJECT]).code, 0);
    let mut client = disk.serve(&env, &[]);
    prompt(&mut client, "p", "kept");
    assert!(client.close().status.success());
    disk.remount("ro");
    let refused = disk.run(&env, &["serve", "-p", PROJECT]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("--read-only"), "{refused}");
    let lines = refused.stderr.lines().count();
    assert!(
        lines <= 3,
        "a sentence, the file, and what helps: {refused}"
    );
    let mut reader = disk.serve(&env, &["--read-only"]);
    assert_eq!(text(&mut reader, "p"), "kept");
    assert!(reader.close().status.success());
    disk.remount("rw");
}

/// T-REL-11: whoever stops in the middle of a write holds up writes for a while, and nothing else.
#[test]
fn a_lock_that_is_held_ends_in_a_clear_error() {
    let env = with_project();
    env.configure("[limits]\nstore_millis = 400\n");
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "p", "one");
    let other = Connection::open(database(&env)).expect("opens");
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let wanted = json!({"name": "update_prompt", "arguments": {"name": "p", "content": "two"}});
    let waiting = client.start_request("tools/call", &wanted);
    assert_eq!(text(&mut client, "p"), "one", "reads go on");
    let refused = client.answer(waiting);
    let said = refused["result"]["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        said.starts_with("Error: Another program has been writing to workspace 'default'"),
        "{said}"
    );
    other.execute_batch("ROLLBACK").expect("ours");
    update(&mut client, "p", "two");
    assert_eq!(text(&mut client, "p"), "two");
}

#[test]
fn where_a_file_is_is_said_on_the_terminal_and_to_no_client() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let database = database(&env);
    let other = database.with_extension("other");
    std::fs::write(&other, "something else").expect("written");
    std::fs::rename(&other, &database).expect("in its place");
    let sentence = "The file of workspace 'default' is not one of Twig's: it does not begin like one; \
                    it was left as it is, move it away or name another workspace";
    let said = failed(
        &mut client,
        "create_prompt",
        json!({"name": "p", "content": "one"}),
    );
    assert_eq!(said, format!("Error: {sentence}"));
    let refused = env.run(["serve", "--project", PROJECT]);
    let file = "[home]/.local/share/twig/workspaces/default.db";
    let shown = format!("error: {sentence}\nhint: the file is {file}\n");
    assert_eq!((refused.code, refused.stderr), (1, shown));
}
