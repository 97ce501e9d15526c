//! A server of another user, who has no watches left.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::{TestEnv, figure};

use super::support::{User, ticks};
use super::{names, prompt, with_project};

/// Nobody else is this user, so what it uses up is missed by no other test.
const WITHOUT_WATCHES: u32 = 65_533;

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
