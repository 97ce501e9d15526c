//! Several servers on one database, which serve the same commit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use twig_testkit::{PgServer, TestEnv, figure, search_path};

use super::{FollowTest, Replica, manifest};
use crate::TWIG;
use crate::http::Served;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Two replicas and what they share.
struct ReplicaTest {
    test: FollowTest,
    database: PgServer,
    others: Vec<Replica>,
}

impl ReplicaTest {
    /// `None` where PostgreSQL is not installed.
    fn start(every: u32) -> Option<Self> {
        Self::start_with(every, |_| String::new())
    }

    /// The same, with further lines of the library's entry.
    fn start_with(every: u32, more: impl FnOnce(&FollowTest) -> String) -> Option<Self> {
        let database = PgServer::start()?;
        database.create("garden");
        let test = FollowTest::new();
        let more = more(&test);
        let secret = test.env.root().join("hook-secret");
        fs::write(&secret, SECRET).expect("a file");
        let rest = format!(
            "[store]\nurl = \"{}\"\n[http]\nhook_secret_file = \"{}\"",
            database.url("garden"),
            secret.display()
        );
        let config = test.config(every, &more, &rest);
        test.env.configure(&config);
        let migrated = test.env.run(["store", "migrate"]);
        assert_eq!(migrated.code, 0, "{migrated}");
        let mut this = Self {
            test,
            database,
            others: Vec::new(),
        };
        for _ in 0..2 {
            let env = TestEnv::in_memory(TWIG);
            env.configure(&config);
            this.serve(env);
        }
        Some(this)
    }

    /// Starts a replica with a git of its own, which a test can remove.
    fn serve(&mut self, env: TestEnv) {
        let git = git_of(&env);
        let folder = git.parent().expect("a folder");
        fs::create_dir_all(folder).expect("the test's own folder is writable");
        let path = search_path();
        let script = format!("#!/bin/sh\nPATH='{}' exec git \"$@\"\n", path.display());
        fs::write(&git, script).expect("the test's own folder is writable");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&git, executable).expect("the test's own folder is writable");
        let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("PATH", folder);
        self.others.push(Replica::new(Served::start(env, command)));
    }

    fn push(&self, word: &str) -> String {
        self.test.repo.write("prompts/twig.toml", manifest(word));
        self.test.repo.commit(word)
    }

    #[track_caller]
    fn wait_for(&mut self, word: &str) {
        for replica in &mut self.others {
            replica.wait_for(word);
        }
    }

    fn row(&self, columns: &str) -> String {
        let sql = format!("SELECT {columns} FROM twig.followed_library");
        self.database.sql("garden", &sql).trim().to_owned()
    }

    /// The commits that the replicas serve, as their locks say.
    fn locks(&self) -> Vec<String> {
        let lock = |replica: &Replica| {
            let path = replica
                .served
                .env
                .home()
                .join(".local/share/twig/followed.lock");
            fs::read_to_string(path).expect("a lock")
        };
        self.others.iter().map(lock).collect()
    }
}

/// The git that a replica runs.
fn git_of(env: &TestEnv) -> PathBuf {
    env.root().join("bin").join("git")
}

#[test]
fn replicas_serve_the_same_commit_and_neither_takes_a_bad_one() {
    let Some(mut test) = ReplicaTest::start(1) else {
        return;
    };
    test.wait_for("one");
    let good = test.push("two");
    test.wait_for("two");
    assert_eq!(test.row("commit"), good);
    let locks = test.locks();
    assert_eq!(locks[0], locks[1]);
    test.test.repo.write("prompts/prompts/a.md", "{% if %}\n");
    let bad = test.push("bad");
    for replica in &mut test.others {
        let line = replica.wait_for_log("was not taken");
        assert!(
            line.contains(&bad[..10]) && line.contains(&good[..10]),
            "{line}"
        );
    }
    assert_eq!(test.row("commit, refused_commit"), format!("{good}|{bad}"));
    for replica in &test.others {
        assert!(replica.listed().contains("a says two"));
    }
    // A forced push back, which leaves out the bad commit.
    test.test.repo.git(["update-ref", "refs/heads/main", &good]);
    test.test.repo.write("prompts/prompts/a.md", "fixed\n");
    let next = test.push("three");
    test.wait_for("three");
    assert_eq!(
        test.row("commit, refused_commit IS NULL"),
        format!("{next}|t")
    );
}

#[test]
fn a_webhook_to_one_replica_reaches_all() {
    let Some(mut test) = ReplicaTest::start(86_400) else {
        return;
    };
    test.wait_for("one");
    test.push("two");
    let caller = test.others[1].served.caller().at("/hooks/git");
    let sent = Instant::now();
    let response = { caller }.send("POST", &[("x-gitlab-token", SECRET)], b"{}");
    assert_eq!(response.status, 202);
    test.wait_for("two");
    println!("served by both {:?} after the webhook", sent.elapsed());
    figure(
        "a webhook is not followed",
        sent.elapsed(),
        Duration::from_secs(5),
    );
    let locks = test.locks();
    assert_eq!(locks[0], locks[1]);
}

#[test]
fn a_login_that_ends_leaves_all_replicas_at_the_last_commit() {
    const TOKENS: [&str; 2] = ["first-SECRET-0123456789", "later-SECRET-9876543210"];
    let started = ReplicaTest::start_with(1, |test| {
        let file = test.token_file();
        fs::write(&file, TOKENS[0]).expect("a file");
        test.git.require_basic_auth("x-access-token", TOKENS[0]);
        format!("token_file = \"{}\"", file.display())
    });
    let Some(mut test) = started else { return };
    test.wait_for("one");
    let first = test.row("commit");
    test.test
        .git
        .require_basic_auth("x-access-token", TOKENS[1]);
    let next = test.push("two");
    // Whoever asks says so, and both take turns.
    for replica in &mut test.others {
        let line = replica.wait_for_log("could not be followed");
        assert!(
            line.contains("no login") && !line.contains("SECRET"),
            "{line}"
        );
        assert!(replica.listed().contains("a says one"));
    }
    assert_eq!(
        test.row("commit, refused_commit IS NULL"),
        format!("{first}|t")
    );
    fs::write(test.test.token_file(), TOKENS[1]).expect("a file");
    test.wait_for("two");
    assert_eq!(test.row("commit"), next);
    let locks = test.locks();
    assert_eq!(locks[0], locks[1]);
}

#[test]
fn a_replica_that_cannot_fetch_keeps_the_last_commit_and_says_so() {
    let Some(mut test) = ReplicaTest::start(1) else {
        return;
    };
    test.wait_for("one");
    fs::remove_file(git_of(&test.others[1].served.env)).unwrap();
    test.push("two");
    test.others[0].wait_for("two");
    let line = test.others[1].wait_for_log("could not be followed");
    assert!(line.contains("git is not installed"), "{line}");
    assert!(test.others[1].listed().contains("a says one"));
    // With the database away, both go on with what they have.
    test.database.crash();
    test.push("three");
    test.others[0].wait_for_log("could not be followed");
    assert!(test.others[0].listed().contains("a says two"));
    test.database.begin();
    test.others[0].wait_for("three");
}
