//! Packages that a server follows, with the real binary and git servers on this machine.

mod hook;
mod refused;
mod replicas;

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use twig_testkit::{GitRepo, GitServer, TestEnv, search_path};

use crate::TWIG;
use crate::http::{Caller, Served, list};

/// A repository, the server that has it, and a home whose configuration follows it.
struct FollowTest {
    env: TestEnv,
    repo: GitRepo,
    git: GitServer,
}

impl FollowTest {
    fn new() -> Self {
        let env = TestEnv::in_memory(TWIG);
        let folder = env.root().join("repos");
        fs::create_dir_all(&folder).expect("the test's own folder is writable");
        let repo = GitRepo::new(folder.join("kit.git"));
        let git = GitServer::start(&folder);
        let test = Self { env, repo, git };
        test.push("one");
        test.configure("");
        test
    }

    /// Follows the repository every second, with further lines of the entry.
    fn configure(&self, more: &str) {
        self.configure_with(more, "");
    }

    fn configure_with(&self, more: &str, rest: &str) {
        self.env.configure(&self.config(1, more, rest));
    }

    fn configure_every(&self, every: u32, rest: &str) {
        self.env.configure(&self.config(every, "", rest));
    }

    fn config(&self, every: u32, more: &str, rest: &str) -> String {
        let url = self.git.url("kit");
        format!(
            "{rest}\n[[libraries]]\nsource = \"git+{url}\"\nref = \"main\"\npath = \"prompts\"\nname = \"kit\"\nevery = {every}\n{more}\n"
        )
    }

    /// Commits prompts that say a word in their descriptions; returns the commit.
    fn push(&self, word: &str) -> String {
        self.repo.write("prompts/twig.toml", manifest(word));
        for name in ["a", "b"] {
            let path = format!("prompts/prompts/{name}.md");
            self.repo.write(&path, format!("The text {word}.\n"));
        }
        self.repo.commit(word)
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.env.command(args.iter().copied());
        command
            .env("PATH", search_path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn serve(self) -> Following {
        self.serve_with(&[])
    }

    fn serve_with(self, more: &[&str]) -> Following {
        let mut command = self.command(&["serve", "--http", "127.0.0.1:0"]);
        command.args(more);
        let Self { env, repo, git } = self;
        let replica = Replica::new(Served::start(env, command));
        Following { replica, repo, git }
    }

    /// The file with the token.
    fn token_file(&self) -> PathBuf {
        self.env.root().join("token")
    }
}

/// A server that follows the repository.
struct Following {
    replica: Replica,
    repo: GitRepo,
    git: GitServer,
}

/// A server, and a client that is notified of changes.
struct Replica {
    served: Served,
    changes: Caller,
}

impl Replica {
    fn new(served: Served) -> Self {
        let mut changes = served.caller();
        assert_eq!(changes.listen().status, 200);
        Self { served, changes }
    }

    fn listed(&self) -> String {
        let response = list(&mut self.served.caller(), &[]);
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["result"].to_string()
    }

    /// Waits until the list has a word, as a client does: it asks again when it is notified. Both
    /// prompts have the same word at every moment.
    #[track_caller]
    fn wait_for(&mut self, word: &str) {
        loop {
            let listed = self.listed();
            let count = listed.matches(&format!("says {word}")).count();
            if count == 2 {
                return;
            }
            assert_eq!(count, 0, "{listed}");
            self.changes.event().expect("the stream goes on");
        }
    }

    /// Waits until the server has said a text.
    #[track_caller]
    fn wait_for_log(&mut self, text: &str) -> String {
        loop {
            let line = self.served.next_line();
            assert!(!line.is_empty(), "the server ended before it said `{text}`");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Ends the server; returns what it said meanwhile.
    fn end(self) -> (TestEnv, String) {
        let Self {
            mut served,
            changes,
        } = self;
        drop(changes);
        served.signal(Signal::TERM);
        let (status, _, talk) = served.ended();
        assert!(status.success(), "{status} {talk}");
        (served.into_env(), talk)
    }
}

impl Following {
    fn listed(&self) -> String {
        self.replica.listed()
    }

    #[track_caller]
    fn wait_for(&mut self, word: &str) {
        self.replica.wait_for(word);
    }

    #[track_caller]
    fn wait_for_log(&mut self, text: &str) -> String {
        self.replica.wait_for_log(text)
    }

    /// Has the next commit say a word.
    fn push(&self, word: &str) -> String {
        self.repo.write("prompts/twig.toml", manifest(word));
        self.repo.commit(word)
    }

    /// Waits until the source was asked several times more.
    fn wait_for_looks(&self) {
        let before = self.git.request_count();
        self.git.wait_for_requests(before + 6);
    }

    fn end(self) -> (FollowTest, String) {
        let Self { replica, repo, git } = self;
        let (env, talk) = replica.end();
        (FollowTest { env, repo, git }, talk)
    }
}

fn manifest(word: &str) -> String {
    format!(
        "[prompts.a]\ndescription = \"a says {word}\"\n[prompts.b]\ndescription = \"b says {word}\"\n"
    )
}

#[test]
fn a_push_is_noticed_and_all_prompts_switch_at_once() {
    let test = FollowTest::new();
    let mut server = test.serve();
    server.wait_for("one");
    let first = server.repo.git(["rev-parse", "main"]);
    for word in ["two", "three"] {
        server.repo.write("prompts/twig.toml", manifest(word));
        server.repo.commit(word);
        server.wait_for(word);
    }
    // A forced push, back to the first commit.
    server
        .repo
        .git(["update-ref", "refs/heads/main", first.trim()]);
    server.wait_for("one");
    let (test, _) = server.end();
    // What is served and the commit before it stay; what came between them goes.
    let collected = test.env.outcome(&mut test.command(&["gc"]));
    assert!(
        collected.stderr.contains("removed 1 package"),
        "{collected}"
    );
    let why = test.env.outcome(&mut test.command(&["why", "kit"]));
    assert!(why.stdout.contains(&first[..10]), "{why}");
}

#[test]
fn a_restart_without_a_network_serves_the_last_commit() {
    let mut server = FollowTest::new().serve();
    server.wait_for("one");
    let (test, _) = server.end();
    test.git.not_found();
    let mut server = test.serve();
    // Before anything is asked of the host.
    assert!(server.listed().contains("a says one"));
    server.wait_for_log("could not be followed");
    assert!(server.listed().contains("a says one"));
    server.git.heal();
    server.repo.write("prompts/twig.toml", manifest("two"));
    server.repo.commit("two");
    server.wait_for("two");
}

#[test]
fn a_token_is_read_again_and_appears_nowhere() {
    const TOKENS: [&str; 2] = ["first-SECRET-0123456789", "later-SECRET-9876543210"];
    let test = FollowTest::new();
    let token_file = test.token_file();
    test.configure(&format!("token_file = \"{}\"", token_file.display()));
    fs::write(&token_file, format!("{}\n", TOKENS[0])).unwrap();
    test.git.require_basic_auth("x-access-token", TOKENS[0]);
    let mut server = test.serve();
    server.wait_for("one");
    // The login ends; what is served stays.
    server.git.require_basic_auth("robot", TOKENS[1]);
    let line = server.wait_for_log("could not be followed");
    assert!(line.contains("no login"), "{line}");
    assert!(server.listed().contains("a says one"));
    fs::write(&token_file, format!("robot:{}", TOKENS[1])).unwrap();
    server.repo.write("prompts/twig.toml", manifest("two"));
    server.repo.commit("two");
    server.wait_for("two");
    let (test, talk) = server.end();
    assert!(
        !line.contains("SECRET") && !talk.contains("SECRET"),
        "{talk}"
    );
    fs::remove_file(&token_file).unwrap();
    let found = std::process::Command::new("grep")
        .args(["-rl", "SECRET"])
        .arg(test.env.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn other_commands_leave_followed_packages_to_the_server() {
    let mut server = FollowTest::new().serve();
    server.wait_for("one");
    let (test, _) = server.end();
    let lock = test.env.home().join(".local/share/twig/followed.lock");
    let before = fs::read_to_string(&lock).unwrap();
    test.push("two");
    for words in [
        &["install"][..],
        &["outdated"],
        &["update", "--yes"],
        &["gc"],
    ] {
        let output = test.env.outcome(&mut test.command(words));
        assert_eq!(output.code, 0, "{output}");
    }
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    let named = test.env.outcome(&mut test.command(&["update", "kit"]));
    assert_eq!(named.code, 1, "{named}");
    assert!(named.stderr.contains("a server follows"), "{named}");
    let listed = test.env.outcome(&mut test.command(&["library", "list"]));
    assert!(listed.stdout.contains("followed, looked at"), "{listed}");
    let why = test
        .env
        .outcome(&mut test.command(&["why", "kit:a", "--json"]));
    assert!(why.stdout.contains("\"looked_at\""), "{why}");
}

#[test]
fn functions_run_only_as_they_were_trusted() {
    let test = FollowTest::new();
    let answer = |word: &str| {
        let message = format!(
            r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"{word}"}}}}]}}"#
        );
        format!("#!/bin/sh\nprintf '{message}'\n")
    };
    let manifest = "[prompts.run]\ncommand = [\"./bin/run\"]\ndescription = \"says";
    let push = |repo: &GitRepo, word: &str| {
        repo.remove("prompts");
        repo.write("prompts/twig.toml", format!("{manifest} {word}\"\n"));
        repo.write("prompts/bin/run", answer(word));
        repo.executable("prompts/bin/run");
        repo.commit(word)
    };
    push(&test.repo, "first");
    let mut server = test.serve_with(&["--log-level", "info"]);
    server.wait_for_log("is at main");
    let get = |server: &Following| {
        let mut caller = server.replica.served.caller();
        let params = serde_json::json!({"name": "kit:run"});
        String::from_utf8(caller.modern("prompts/get", params).body).unwrap()
    };
    assert!(!get(&server).contains("first"));
    let env = &server.replica.served.env;
    let trusted = env.run(["library", "trust", "kit", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted}");
    while !server.listed().contains("says first") {
        server.replica.changes.event().expect("the stream goes on");
    }
    let ran = get(&server);
    assert!(ran.contains("first"), "{ran}");
    push(&server.repo, "second");
    server.wait_for_log("is at main");
    assert!(!get(&server).contains("second"));
}
