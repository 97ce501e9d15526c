//! Files in the place of a workspace's: nothing of it is lost, and nothing of theirs.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use twig_testkit::TestEnv;

use super::{PROJECT, names, prompt, serve, with_project};

fn folder(env: &TestEnv) -> PathBuf {
    env.home().join(".local/share/twig/workspaces")
}

fn put(env: &TestEnv, from: &str, to: &str) {
    fs::rename(folder(env).join(from), folder(env).join(to)).expect("the test's own folder");
}

/// A write that was acknowledged and is in the log of a server that was killed.
fn with_pending_log() -> TestEnv {
    let env = with_project();
    let mut client = serve(&env);
    prompt(&mut client, "acked", "x");
    client.signal(Signal::KILL);
    client.ended();
    assert!(folder(&env).join("default.db-wal").exists());
    env
}

fn listed(env: &TestEnv) -> String {
    env.run(["prompt", "list", "-p", PROJECT]).stdout
}

#[test]
fn a_file_that_is_refused_leaves_the_log_of_the_one_before() {
    let env = with_pending_log();
    put(&env, "default.db", "kept");
    for text in ["", "just a text", "SQLite format 3\0"] {
        fs::write(folder(&env).join("default.db"), text).expect("the test's own folder");
        let refused = env.run(["prompt", "list", "-p", PROJECT]);
        assert_eq!(refused.code, 1, "{refused}");
        let refused = env.run(["workspace", "delete", "default", "--force"]);
        assert_eq!(
            refused.code, 1,
            "what is not ours is not deleted: {refused}"
        );
        let found = fs::read_to_string(folder(&env).join("default.db")).expect("still there");
        assert_eq!(found, text);
    }
    put(&env, "kept", "default.db");
    assert!(listed(&env).contains("acked"), "{}", listed(&env));
}

#[test]
fn a_file_with_the_log_of_another_one_is_refused_and_both_stay_as_they_are() {
    let env = with_pending_log();
    assert_eq!(env.run(["workspace", "create", "other"]).code, 0);
    assert_eq!(
        env.run(["project", "create", PROJECT, "-w", "other"]).code,
        0
    );
    put(&env, "default.db", "kept");
    put(&env, "other.db", "default.db");
    let refused = env.run(["prompt", "list", "-p", PROJECT]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused
            .stderr
            .contains("is not the one that its log (default.db-wal) belongs to"),
        "{refused}"
    );
    put(&env, "default.db", "other.db");
    put(&env, "kept", "default.db");
    assert!(listed(&env).contains("acked"), "{}", listed(&env));
    let other = env.run(["project", "list", "-w", "other"]);
    assert!(other.stdout.contains(PROJECT), "{other}");
    let deleted = env.run(["workspace", "delete", "default", "--force"]);
    assert_eq!(deleted.code, 0, "{deleted}");
    let left = fs::read_dir(folder(&env)).expect("a folder").flatten();
    let left: Vec<String> = left
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        left.iter().all(|name| name.starts_with("other.")),
        "{left:?}"
    );
}

#[test]
fn one_file_has_one_name() {
    let env = with_project();
    let hard = fs::hard_link(
        folder(&env).join("default.db"),
        folder(&env).join("twin.db"),
    );
    hard.expect("the test's own folder");
    for workspace in ["default", "twin"] {
        let refused = env.run(["prompt", "list", "-p", PROJECT, "-w", workspace]);
        assert_eq!(refused.code, 1, "{refused}");
        assert!(refused.stderr.contains("hard links"), "{refused}");
    }
}

#[test]
fn a_lock_that_leads_elsewhere_is_not_written_to() {
    let env = with_project();
    let other = env.root().join("precious");
    fs::write(&other, "precious").expect("the test's own folder");
    let lock = folder(&env).join("default.lock");
    fs::remove_file(&lock).expect("it is there");
    std::os::unix::fs::symlink(&other, &lock).expect("the test's own folder");
    env.run(["prompt", "list", "-p", PROJECT]);
    env.run(["prompt", "add", "p", "-c", "x", "-p", PROJECT]);
    assert_eq!(fs::read_to_string(&other).expect("readable"), "precious");
}

#[test]
fn a_folder_that_cannot_be_read_is_not_an_empty_one() {
    let env = TestEnv::in_memory(crate::TWIG);
    fs::create_dir_all(env.home().join(".local/share/twig")).expect("the test's own folder");
    fs::write(folder(&env), "a file").expect("the test's own folder");
    let refused = env.run(["prompt", "list"]);
    assert_eq!(refused.code, 1);
    assert!(!refused.stderr.contains("has no projects"), "{refused}");
}

#[test]
fn a_workspace_that_is_deleted_is_gone_from_every_client() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "p", "x");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(
        env.run(["workspace", "delete", "default", "--force"]).code,
        0
    );
    client.notification("notifications/prompts/list_changed");
    client.notification("notifications/tools/list_changed");
    assert!(names(&mut client).is_empty());
    assert_eq!(env.run(["project", "create", PROJECT]).code, 0);
    client.notification("notifications/tools/list_changed");
    prompt(&mut client, "q", "x");
    assert_eq!(names(&mut client), ["q"]);
}
