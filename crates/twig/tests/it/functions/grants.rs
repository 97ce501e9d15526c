//! What functions get beyond their library: only what `twig.toml` asks for and the user was shown.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use twig_testkit::{CommandOutput, TestClient, TestEnv};

use super::{error, has, program, text, trust};
use crate::env;
use crate::http::Served;

const DOCS: &str = include_str!("../../../../../docs/functions.md");

/// The first block of this language after these words of the documentation.
fn block(after: &str, language: &str) -> &'static str {
    let rest = DOCS.split_once(after).expect("these words").1;
    let rest = rest
        .split_once(&format!("```{language}\n"))
        .expect("a block")
        .1;
    rest.split_once("```").expect("its end").0
}

/// Runs Twig in a folder.
fn run_in(env: &TestEnv, folder: &Path, args: &[&str]) -> CommandOutput {
    let output = env
        .command(args.iter().copied())
        .current_dir(folder)
        .output()
        .expect("it starts");
    CommandOutput {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

fn git(folder: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git starts");
    assert!(done.status.success(), "{done:?}");
}

/// A repository with one commit.
fn repository(env: &TestEnv) -> PathBuf {
    let folder = env.work().join("repository");
    fs::create_dir_all(folder.join("src")).expect("the test's own folder");
    git(&folder, &["init", "-q"]);
    fs::write(folder.join("src/a"), "a").expect("the test's own folder");
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "Count the beans"]);
    folder
}

/// A library `f` with one prompt and these lines in its table.
fn asking(lines: &str, script: &str) -> TestEnv {
    let env = env("");
    env.write(
        "f/twig.toml",
        format!(
            "[prompts.run]\ncommand = [\"./run\"]\noutput = \"text\"\n{lines}\n[[prompts.run.arguments]]\nname = \"x\"\n"
        ),
    );
    program(&env, "f/run", script);
    env
}

fn ask(client: &mut TestClient, x: &str) -> Value {
    let params = json!({"name": "f:run", "arguments": {"x": x}});
    client.request("prompts/get", params)
}

#[test]
fn the_standup_of_the_documentation_is_made_from_this_weeks_commits() {
    if !has("git") {
        return;
    }
    let env = env("");
    env.write("f/twig.toml", block("a standup", "toml"));
    program(&env, "f/bin/standup", block("a standup", "sh"));
    let shown = env.run(["library", "trust", "f", "--yes"]);
    assert!(
        shown.code == 0
            && shown
                .stdout
                .contains("may read the repository in which it is called"),
        "{shown}"
    );
    let repository = repository(&env);
    let rendered = run_in(&env, &repository.join("src"), &["render", "f:standup"]);
    assert!(
        rendered.code == 0 && rendered.stdout.contains("Count the beans"),
        "{rendered}"
    );
    let mut command = env.command(["serve"]);
    command.current_dir(&repository);
    let mut client = TestClient::start(command);
    let answer = client.request("prompts/get", json!({"name": "f:standup"}));
    assert!(text(&answer).contains("Count the beans"), "{answer}");
    // A worktree has its history elsewhere.
    git(&repository, &["worktree", "add", "-q", "../side"]);
    let rendered = run_in(&env, &env.work().join("side"), &["render", "f:standup"]);
    assert!(rendered.stdout.contains("Count the beans"), "{rendered}");
    let elsewhere = run_in(&env, &env.home(), &["render", "f:standup"]);
    assert!(
        elsewhere.code == 1
            && elsewhere
                .stderr
                .contains("which is not in a git repository"),
        "{elsewhere}"
    );
    let served = Served::from_env(env);
    let mut caller = served.caller();
    let refused = caller
        .modern("prompts/get", json!({"name": "f:standup"}))
        .json();
    assert!(
        error(&refused).contains("which no function can over HTTP"),
        "{refused}"
    );
}

#[test]
fn git_without_the_repository_is_told_which_grant_helps() {
    if !has("git") {
        return;
    }
    let script = "#!/bin/sh\ngit -C \"$TWIG_WORKING_FOLDER\" log\n";
    let env = asking("", script);
    trust(&env, "f");
    let repository = repository(&env);
    let refused = run_in(&env, &repository, &["render", "f:run"]);
    let hint = "hint: functions do not see the repository in which they are called: write `read = [\"repository\"]` under [prompts.run] in twig.toml, run `twig library trust f`";
    assert!(
        refused.code == 1 && refused.stderr.contains(hint),
        "{refused}"
    );
}

/// A repository's settings may name programs, and git runs them as a part of the function.
#[test]
fn programs_that_a_repository_names_run_in_the_sandbox() {
    if !has("git") {
        return;
    }
    let script = "#!/bin/sh\ngit -C \"$TWIG_WORKING_FOLDER\" status 2>&1\n";
    let env = asking("read = [\"repository\"]", script);
    trust(&env, "f");
    let secret = env.home().join("secret");
    fs::write(&secret, "canary").expect("the test's own folder");
    let repository = repository(&env);
    let monitor = format!("cat {}; touch hostile; false", secret.display());
    git(&repository, &["config", "core.fsmonitor", &monitor]);
    let rendered = run_in(&env, &repository, &["render", "f:run"]);
    assert!(
        rendered.stdout.contains("Permission denied") && !rendered.stdout.contains("canary"),
        "{rendered}"
    );
    assert!(!repository.join("hostile").exists());
}

/// A home folder that is a repository holds keys and Twig's own files.
#[test]
fn a_repository_with_twigs_own_files_is_not_read() {
    let env = asking("read = [\"repository\"]", "#!/bin/sh\ncat ~/.ssh/id\n");
    fs::create_dir_all(env.home().join(".git")).expect("the test's own folder");
    trust(&env, "f");
    let refused = run_in(&env, &env.home(), &["render", "f:run"]);
    assert!(
        refused.code == 1
            && refused
                .stderr
                .contains("has Twig's own files, which functions never read"),
        "{refused}"
    );
}

const CONNECT: &str = r#"#!/usr/bin/env bash
port=$(sed 's/.*"x":"\([^"]*\)".*/\1/')
case $port in
pair:*) exec perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; close B; connect(A, pack_sockaddr_un($ARGV[0])) or die "$!\n"; print "reached"' "${port#pair:}" ;;
/*) exec perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un($ARGV[0])) or die "$!\n"; print "reached"' "$port" ;;
esac
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
echo reached
"#;

#[test]
fn a_network_is_there_only_where_it_was_granted() {
    if !has("bash") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    let env = asking("", CONNECT);
    trust(&env, "f");
    let refused = ask(&mut env.serve(), &port);
    assert!(
        error(&refused).contains(
            "\nhint: functions have no network: write `network = true` under [prompts.run]"
        ),
        "{refused}"
    );
    let env = asking("network = true", CONNECT);
    let shown = env.run(["library", "trust", "f", "--yes"]);
    assert!(shown.stdout.contains("may reach any host"), "{shown}");
    let mut client = env.serve();
    assert_eq!(text(&ask(&mut client, &port)), "reached");
    // Services of this machine that are no hosts stay out of reach.
    if has("perl") {
        let place = env.root().join("socket");
        let _service = UnixListener::bind(&place).expect("a socket");
        let refused = ask(&mut client, place.to_str().expect("UTF-8"));
        assert!(
            error(&refused).contains("Operation not permitted"),
            "{refused}"
        );
        let pair = ask(&mut client, &format!("pair:{}", place.display()));
        assert!(error(&pair).contains("already connected"), "{pair}");
    }
}

#[test]
fn a_grant_that_is_written_later_is_asked_for_again() {
    let env = asking("", "#!/bin/sh\necho hello\n");
    trust(&env, "f");
    let mut client = env.serve();
    client.initialize();
    assert_eq!(text(&ask(&mut client, "")), "hello");
    let manifest = fs::read_to_string(env.data().join("f/twig.toml")).expect("readable");
    let more = manifest.replace("output = \"text\"", "output = \"text\"\nnetwork = true");
    env.write("f/twig.toml", &more);
    let refused = ask(&mut client, "");
    let refused = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(
        refused.contains("changed since it was trusted (twig.toml)"),
        "{refused}"
    );
    trust(&env, "f");
    client.notification("notifications/prompts/list_changed");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(text(&ask(&mut client, "")), "hello");
}

/// A Twig that knew no grants showed none, even if the manifest had such lines.
#[test]
fn a_record_without_grants_grants_nothing() {
    let env = asking("network = true", "#!/bin/sh\necho hello\n");
    trust(&env, "f");
    let path = env.data().parent().expect("above").join("trust.json");
    let record = fs::read(&path).expect("a record");
    let mut record: Value = serde_json::from_slice(&record).expect("JSON");
    record
        .as_object_mut()
        .expect("an object")
        .remove("grants")
        .expect("grants");
    fs::write(&path, record.to_string()).expect("the test's own file");
    let refused = env.run(["render", "f:run"]);
    assert!(
        refused.code == 1
            && refused
                .stderr
                .contains("library `f` asks for more than it was granted (run: network = true)"),
        "{refused}"
    );
    assert_eq!(env.run(["library", "trust", "f", "--yes"]).code, 0);
    assert_eq!(env.run(["render", "f:run"]).stdout, "hello\n");
}

#[test]
fn a_granted_folder_is_read_and_nothing_around_it() {
    let script = "#!/bin/sh\ncat \"$(sed 's/.*\"x\":\"\\([^\"]*\\)\".*/\\1/')\"\n";
    let env = asking("read = [\"~/notes\"]", script);
    let notes = env.home().join("notes");
    fs::create_dir_all(&notes).expect("the test's own folder");
    fs::write(notes.join("today"), "today").expect("the test's own folder");
    fs::write(env.home().join("secret"), "secret").expect("the test's own folder");
    symlink("../secret", notes.join("out")).expect("the test's own folder");
    let shown = env.run(["library", "trust", "f", "--yes"]);
    assert!(
        shown
            .stdout
            .contains("\n    may read ~/notes and everything in it\n"),
        "{shown}"
    );
    let mut client = env.serve();
    let place = |name: &str| env.home().join(name).display().to_string();
    assert_eq!(text(&ask(&mut client, &place("notes/today"))), "today");
    for outside in ["secret", "notes/../secret", "notes/out"] {
        let refused = ask(&mut client, &place(outside));
        assert!(
            error(&refused).contains("Permission denied"),
            "{outside}: {refused}"
        );
    }
    // Another folder in its place was not granted.
    fs::rename(&notes, env.home().join("other")).expect("the test's own folder");
    let elsewhere = env.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("the test's own folder");
    fs::write(elsewhere.join("secret"), "secret").expect("the test's own folder");
    symlink(&elsewhere, &notes).expect("the test's own folder");
    let refused = ask(&mut client, &place("notes/secret"));
    assert!(error(&refused).contains("~/notes is "), "{refused}");
    assert!(
        error(&refused).contains(" when it was granted"),
        "{refused}"
    );
}

#[test]
fn a_file_that_the_sandbox_hides_is_named_with_its_grant() {
    let env = asking("", "#!/bin/sh\ncat \"$TWIG_WORKING_FOLDER/plan\"\n");
    fs::write(env.home().join("plan"), "plan").expect("the test's own folder");
    trust(&env, "f");
    let refused = run_in(&env, &env.home(), &["render", "f:run"]);
    let hint = "hint: functions do not see ~/plan: write `read = [\"~/plan\"]` under [prompts.run]";
    assert!(refused.stderr.contains(hint), "{refused}");
    // A path in the words of a program is not opened: this one would never answer.
    let fifo = env.home().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("the test's own folder");
    let liar = format!(
        "#!/bin/sh\nprintf 'cat: {}: Permission denied\\n' >&2; exit 1\n",
        fifo.display()
    );
    let env = asking("", &liar);
    trust(&env, "f");
    assert!(
        env.run(["render", "f:run"])
            .stderr
            .contains("hint: functions do not see")
    );
    let env = asking("", "#!/bin/sh\nmktemp\n");
    trust(&env, "f");
    let refused = env.run(["render", "f:run"]);
    assert!(
        refused
            .stderr
            .contains("hint: the sandbox lets functions write no file"),
        "{refused}"
    );
}

#[test]
fn what_no_function_reads_cannot_be_granted() {
    let env = env("");
    for (path, why) in [
        ("~/.local/share", "Twig's own files"),
        ("~/.local/share/twig/workspaces", "Twig's own files"),
        ("~/.config/twig/config.toml", "Twig's own files"),
        ("~/.codex", "the configuration of Codex"),
        ("~/.claude.json", "the configuration of Claude Code"),
        ("/proc/self", "files of the system"),
        ("/run/user", "files of the system"),
        ("/tmp/twig-no-such-link/../..", "a granted path has no `..`"),
        ("/", "which is everything"),
        ("~/", "which is everything"),
        ("notes", "starts with / or ~/"),
        ("~other/x", "starts with / or ~/"),
    ] {
        env.write(
            "f/twig.toml",
            format!("[prompts.run]\ncommand = [\"./run\"]\nread = [\"{path}\"]\n"),
        );
        program(&env, "f/run", "#!/bin/sh\n");
        let trusted = env.run(["library", "trust", "f", "--yes"]);
        let checked = env.run(["check"]);
        assert!(
            trusted.code == 1 && (trusted.stderr.contains(why) || checked.stdout.contains(why)),
            "{path}: {trusted}{checked}"
        );
    }
    // By another way.
    fs::create_dir_all(env.home().join(".config/twig")).expect("the test's own folder");
    symlink(env.home().join(".config"), env.home().join("innocent"))
        .expect("the test's own folder");
    env.write(
        "f/twig.toml",
        "[prompts.run]\ncommand = [\"./run\"]\nread = [\"~/innocent/twig\"]\n",
    );
    let trusted = env.run(["library", "trust", "f", "--yes"]);
    assert!(
        trusted.stderr.contains("which has Twig's own files"),
        "{trusted}"
    );
}

#[test]
fn variables_are_those_that_were_granted() {
    let script = "#!/bin/sh\nset -u\necho \"$GRANTED in $TWIG_WORKING_FOLDER\"\n";
    let env = asking("environment = [\"GRANTED\"]", script);
    let shown = env.run(["library", "trust", "f", "--yes"]);
    assert!(
        shown.stdout.contains("gets from your environment: GRANTED"),
        "{shown}"
    );
    let mut command = env.command(["serve"]);
    command.env("GRANTED", "yes").env("SECRET", "canary");
    let answer = ask(&mut TestClient::start(command), "");
    assert_eq!(text(&answer), format!("yes in {}", env.work().display()));
    let env = asking("", "#!/bin/sh\nset -u\necho \"$SECRET\"\n");
    trust(&env, "f");
    let mut command = env.command(["serve"]);
    command.env("SECRET", "canary");
    let refused = ask(&mut TestClient::start(command), "");
    assert!(
        error(&refused).contains("hint: functions do not get `SECRET` from your environment: write `environment = [\"SECRET\"]`"),
        "{refused}"
    );
    for name in [
        "LD_PRELOAD",
        "TWIG_TOKEN",
        "BASH_ENV",
        "PATH",
        "A B",
        "1A",
        "",
    ] {
        let env = asking(&format!("environment = [\"{name}\"]"), "#!/bin/sh\n");
        let checked = env.run(["check"]);
        assert!(
            checked.code == 1 && checked.stdout.contains("error[bad-grant]"),
            "{name}: {checked}"
        );
    }
}

/// Clients on other machines learn no paths of this one.
#[test]
fn a_path_that_changed_is_not_named_over_http() {
    let env = asking("read = [\"~/notes\"]", "#!/bin/sh\necho hello\n");
    fs::create_dir_all(env.home().join("notes")).expect("the test's own folder");
    fs::create_dir_all(env.home().join("other")).expect("the test's own folder");
    trust(&env, "f");
    let served = Served::from_env(env);
    let mut caller = served.caller();
    let mut ask = || {
        caller
            .modern("prompts/get", json!({"name": "f:run"}))
            .json()
    };
    assert_eq!(text(&ask()), "hello");
    let home = served.env.home();
    fs::remove_dir(home.join("notes")).expect("the test's own folder");
    symlink(home.join("other"), home.join("notes")).expect("the test's own folder");
    let refused = ask();
    let expected = "Prompt `f:run` was not run: it cannot get a path that it asks for; the log of the server says why";
    assert_eq!(error(&refused), expected);
}

#[test]
fn lists_of_grants_are_bounded() {
    let many: Vec<String> = (0..17).map(|at| format!("\"/a{at}\"")).collect();
    let env = asking(&format!("read = [{}]", many.join(",")), "#!/bin/sh\n");
    let checked = env.run(["check"]);
    assert!(
        checked
            .stdout
            .contains("`read` has 17 entries; the limit is 16"),
        "{checked}"
    );
    let long = "x".repeat(5000);
    let env = asking(&format!("read = [\"/{long}\"]"), "#!/bin/sh\n");
    assert!(
        env.run(["check"])
            .stdout
            .contains("is longer than 1024 bytes")
    );
    let env = asking("read = \"repository\"\n", "#!/bin/sh\n");
    let checked = env.run(["check"]);
    assert!(
        checked
            .stdout
            .contains("`read` has to be an array of strings"),
        "{checked}"
    );
}
