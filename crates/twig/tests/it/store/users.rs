//! Other users: one who has no watches left, one who may only read, one with a folder of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::{TestEnv, figure};

use super::support::{User, ticks, workspaces};
use super::{names, prompt, serve, text, with_project};

/// Nobody else is this user, so what it uses up is missed by no other test.
const WITHOUT_WATCHES: u32 = 65_533;

/// A user who may read a workspace of others.
const READER: u32 = 65_532;

/// T-COH-03: the system has no more watches for this user.
#[test]
fn without_watches_every_write_is_still_announced() {
    const ROUNDS: usize = 20;
    let env = with_project();
    let Some(user) = User::new(WITHOUT_WATCHES, &env) else {
        return;
    };
    let Some(mut holder) = Holder::start(&env, &user) else {
        return;
    };
    let mut servers = [user.serve(&env, &[]), user.serve(&env, &[])];
    for server in &mut servers {
        server.initialize();
        server.start_modern(
            "subscriptions/listen",
            json!({"notifications": {"promptsListChanged": true}}),
        );
        server.notification("notifications/subscriptions/acknowledged");
    }
    let mut waits = Vec::new();
    for round in 0..ROUNDS {
        prompt(&mut servers[round % 2], &format!("p{round}"), "x");
        let written = Instant::now();
        for server in &mut servers {
            // One to the legacy client, one to the subscription.
            for _ in 0..2 {
                server.notification("notifications/prompts/list_changed");
            }
            waits.push(written.elapsed());
            assert_eq!(names(server).len(), round + 1);
        }
    }
    waits.sort_unstable();
    let nearly_all = waits[waits.len() * 95 / 100];
    figure(
        "an announcement by polling",
        nearly_all,
        Duration::from_secs(1),
    );
    // Idle from here on: all that is done is looking, and what that costs in a while is the point.
    let busy = servers.each_ref().map(|server| ticks(server.pid()));
    let watched = Instant::now();
    while watched.elapsed() < Duration::from_secs(2) {
        std::thread::park_timeout(Duration::from_secs(2));
    }
    for (server, before) in servers.into_iter().zip(busy) {
        let spent = ticks(server.pid()) - before;
        let spent = Duration::from_millis(10 * spent);
        figure(
            "two idle seconds of polling",
            spent,
            Duration::from_millis(200),
        );
        let ended = server.close();
        assert!(ended.status.success(), "{}", ended.stderr);
        let warnings: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("polling for changes"), "{warnings:?}");
    }
    holder.end();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

/// Everything in a folder, with its content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let file = entries.map(|file| {
        let name = file.file_name().into_string().expect("UTF-8");
        (name, fs::read(file.path()).expect("a file"))
    });
    let mut files: Vec<_> = file.collect();
    files.sort();
    files
}

#[test]
fn a_user_who_may_only_read_leaves_nothing_behind() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "p", "text");
    assert!(client.close().status.success());
    let Some(user) = User::new(READER, &env) else {
        return;
    };
    let folder = workspaces(&env);
    for file in fs::read_dir(&folder).expect("a folder").flatten() {
        set_mode(&file.path(), 0o444);
    }
    set_mode(&folder, 0o555);
    let before = files(&folder);
    let mut client = user.serve(&env, &["--read-only"]);
    client.initialize();
    assert_eq!(names(&mut client), ["p"]);
    assert_eq!(text(&mut client, "p"), "text");
    let history = json!({"name": "history", "arguments": {"name": "p"}});
    let history = client.request("tools/call", history);
    assert_eq!(
        history["result"]["structuredContent"]["versions"][0]["version"],
        1
    );
    assert_eq!(files(&folder), before, "while it runs");
    let ended = client.close();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert_eq!(ended.stderr, "");
    // The same for a server that only offers its prompts, and for commands.
    for arguments in [&["list"][..], &["prompt", "show", "p"], &["doctor"]] {
        let outcome = env.outcome(user.become_it(&mut env.command(arguments.iter().copied())));
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    assert_eq!(files(&folder), before);
    set_mode(&folder, 0o755);
}

/// A folder in which files can be made, but which cannot be read, cannot be synced.
#[test]
fn a_backup_that_is_not_surely_on_disk_is_not_called_lost() {
    let env = with_project();
    let folder = env.work().join("closed");
    fs::create_dir(&folder).expect("ours");
    let Some(user) = User::new(READER, &env) else {
        return;
    };
    set_mode(&folder, 0o300);
    let mut said = Vec::new();
    for force in [None, Some("--force")] {
        let mut command = env.command(["workspace", "backup", "closed/copy.db"]);
        let outcome = env.outcome(user.become_it(command.args(force)));
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{outcome}");
        said.push(outcome.stderr);
    }
    set_mode(&folder, 0o700);
    for said in said {
        assert_eq!(
            said,
            "error: The backup was written, but may be lost if the machine fails now, because its \
             folder cannot be synced: permission denied\n\
             hint: the file is [work]/closed/copy.db\n"
        );
    }
    let restore = ["workspace", "restore", "closed/copy.db", "again"];
    let outcome = env.run(restore);
    assert_eq!(outcome.code, 0, "{outcome}");
}

const HOLD: &str = "TWIG_TEST_HOLD";

/// A process of another user that has taken all watchers the system gives.
struct Holder(Child);

impl Holder {
    /// `None` where that cannot be done: this very program has to be one that the user may run.
    fn start(env: &TestEnv, user: &User) -> Option<Self> {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let task = ["--exact", "store::users::hold", "--ignored", "--nocapture"];
        command.args(task).env(HOLD, "1").current_dir(env.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawned = user.become_it(&mut command).spawn();
        let Ok(mut child) = spawned else {
            println!("passed over: another user cannot run this program");
            return None;
        };
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = said.lines().map_while(Result::ok);
        let is_held = said.any(|line| line.ends_with("> held"));
        // What it says last is read, too, so that it can say it.
        std::thread::spawn(move || said.count());
        assert!(is_held, "the watchers could not be taken");
        Some(Self(child))
    }

    fn end(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes all watchers there are until its input ends; started by [`Holder::start`] only.
#[test]
#[ignore = "a task of another test"]
fn hold() {
    use rustix::fs::inotify::{CreateFlags, init};
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let mut held = Vec::new();
    while let Ok(watcher) = init(CreateFlags::CLOEXEC) {
        held.push(watcher);
    }
    println!("> held");
    let _ = std::io::stdin().lines().count();
    drop(held);
}
