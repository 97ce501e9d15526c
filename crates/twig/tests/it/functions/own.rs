//! Libraries that are trusted as the user's own: edits keep the trust.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::{HELLO, get, library, names, program, text, trust};

/// A library `f` that only this user can change.
fn private() -> TestEnv {
    let env = library(&[("hello", HELLO)]);
    let done = Command::new("chmod")
        .args(["-R", "go-w"])
        .arg(env.root())
        .status()
        .expect("chmod starts");
    assert!(done.success());
    env
}

fn mine(env: &TestEnv) {
    let trusted = env.run(["library", "trust", "f", "--mine", "--yes"]);
    assert!(
        trusted.code == 0
            && trusted
                .stderr
                .contains("edits keep the trust, unless they ask for more"),
        "{trusted}"
    );
}

fn make_executable(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the test's own file");
}

#[test]
fn edits_keep_the_trust_until_they_ask_for_more() {
    let env = private();
    mine(&env);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(text(&get(&mut client, "hello", "")), "hello");
    program(&env, "f/bin/hello", &HELLO.replace("hello", "howdy"));
    assert_eq!(text(&get(&mut client, "hello", "")), "howdy");
    env.write("f/bin/helper.sh", "true");
    assert_eq!(text(&get(&mut client, "hello", "")), "howdy");
    let list = env.run(["library", "list"]);
    assert!(
        list.stdout.contains("trusted as yours (1 command)"),
        "{list}"
    );
    let doctor = env.run(["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("trusted as yours: edits keep the trust\n  ~/.local/share/twig/prompts/f\n"),
        "{doctor}"
    );
    let doctor: Value = serde_json::from_str(&env.run(["doctor", "--json"]).stdout).expect("JSON");
    assert_eq!(doctor["own"].as_array().map(Vec::len), Some(1));
    // A new grant is asked for.
    let manifest = fs::read_to_string(env.data().join("f/twig.toml")).expect("readable");
    let manifest = manifest.replace("[[prompts", "network = true\n[[prompts");
    env.write("f/twig.toml", &manifest);
    let refused = get(&mut client, "hello", "");
    let refused = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(
        refused.contains("asks for more than it was granted (hello: network = true)"),
        "{refused}"
    );
    let again = env.run(["library", "trust", "f", "--yes"]);
    assert!(
        again.stdout.contains("may reach any host")
            && again.stderr.contains("edits keep the trust"),
        "{again}"
    );
    client.notification("notifications/prompts/list_changed");
    client.notification("notifications/prompts/list_changed");
    program(&env, "f/bin/hello", &HELLO.replace("hello", "hi"));
    assert_eq!(text(&get(&mut client, "hello", "")), "hi");
    // Less than was granted needs no question.
    env.write("f/twig.toml", manifest.replace("network = true\n", ""));
    assert_eq!(text(&get(&mut client, "hello", "")), "hi");
    assert_eq!(env.run(["library", "distrust", "f"]).code, 0);
    client.notification("notifications/prompts/list_changed");
    assert_eq!(names(&client.request("prompts/list", json!({}))), [""; 0]);
}

#[test]
fn only_what_nobody_else_can_change_is_ones_own() {
    let refuse = |env: &TestEnv, why: &str| {
        let refused = env.run(["library", "trust", "f", "--mine", "--yes"]);
        assert!(
            refused.code == 1
                && refused
                    .stderr
                    .contains("library `f` cannot be trusted as yours: ")
                && refused.stderr.contains(why),
            "{refused}"
        );
    };
    let env = private();
    let (folder, file) = (env.data().join("f/bin"), env.data().join("f/bin/hello"));
    for mode in [0o775, 0o757] {
        make_executable(&file, mode);
        refuse(&env, "bin/hello can be changed by other users");
    }
    make_executable(&file, 0o755);
    make_executable(&folder, 0o777);
    refuse(&env, "bin can be changed by other users");
    make_executable(&folder, 0o755);
    make_executable(&env.data(), 0o777);
    refuse(&env, "the folder above it can be changed by other users");
    make_executable(&env.data(), 0o755);
    let link = env.data().join("f/bin/link");
    symlink("hello", &link).expect("the test's own folder");
    refuse(&env, "bin/link is a symlink");
    fs::remove_file(&link).expect("the test's own link");
    env.write("f/.git/config", "[core]\n[remote \"origin\"]\n\turl = x\n");
    refuse(&env, "`f` is a git repository with a remote");
    env.write("f/.git/config", "[core]\n");
    mine(&env);
    // What does not hold any more ends the trust.
    assert_eq!(env.run(["render", "f:hello"]).stdout, "hello\n");
    make_executable(&file, 0o775);
    let refused = env.run(["render", "f:hello"]);
    assert!(
        refused.code == 1
            && refused
                .stderr
                .contains("cannot be trusted as yours any more: bin/hello can be changed"),
        "{refused}"
    );
}

#[test]
fn a_library_elsewhere_is_not_trusted_as_ones_own() {
    let env = private();
    let elsewhere = env.work().join("mine");
    fs::rename(env.data().join("f"), &elsewhere).expect("the test's own folder");
    let refused = env.run(["library", "trust", "./mine", "--mine", "--yes"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("it is not in the data folder"),
        "{refused}"
    );
    // Neither by a symlink from there.
    symlink(&elsewhere, env.data().join("f")).expect("the test's own folder");
    let refused = env.run(["library", "trust", "f", "--mine", "--yes"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("it is not in the data folder"),
        "{refused}"
    );
}

#[test]
fn a_trusted_library_becomes_ones_own_and_stays_as_it_is_otherwise() {
    let env = private();
    trust(&env, "f");
    let list = env.run(["library", "list"]);
    assert!(list.stdout.contains("trusted (1 command)"), "{list}");
    mine(&env);
    let again = env.run(["library", "trust", "f"]);
    assert!(
        again.code == 0 && again.stderr.contains("is trusted as yours"),
        "{again}"
    );
}
