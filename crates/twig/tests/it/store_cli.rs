//! Workspaces, projects, prompts and resources from the command line.

mod audit;
mod backup;
mod changes;
mod compact;
#[cfg(feature = "postgres")]
mod databases;
mod folders;
#[cfg(feature = "postgres")]
mod hostile_database;
mod items;
mod labels;
mod names;
mod postgres;
mod postgres_failover;
mod postgres_schema;
mod projects;
mod selected;
pub(crate) mod terminal;
mod updates;

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;
use twig_testkit::TestEnv;

use crate::TWIG;

/// An environment whose default workspace has one project, `garden`.
fn garden() -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    done(&env, &["project", "create", "garden"]);
    env
}

/// Runs a command that has to succeed; gives its data.
fn done(env: &TestEnv, args: &[&str]) -> String {
    let outcome = env.run(args.iter().copied());
    assert_eq!(outcome.code, 0, "{args:?}: {outcome}");
    outcome.stdout
}

/// The same, its data being JSON.
fn json(env: &TestEnv, args: &[&str]) -> Value {
    let text = done(env, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs a command that has to be refused for a reason that the person can mend; gives its talk.
fn refused(env: &TestEnv, args: &[&str]) -> String {
    let outcome = env.run(args.iter().copied());
    assert_eq!(
        (outcome.code, &*outcome.stdout),
        (1, ""),
        "{args:?}: {outcome}"
    );
    outcome.stderr
}

/// Runs a command with something on its standard input; gives bytes as they are.
fn fed(env: &TestEnv, args: &[&str], input: &[u8]) -> Output {
    let mut child = env
        .command(args.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("piped");
    // Whoever does not read it all has a reason.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("the binary ends")
}

/// The text with every time in it as `[time]`.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let shape: String = word
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        shape == "0000-00-00T00:00:00Z"
    };
    let ends = [' ', '\n', '"', ';'];
    let words = text.split_inclusive(ends);
    let words = words.map(|word| {
        let bare = word.trim_end_matches(ends);
        if is_time(bare) {
            word.replacen(bare, "[time]", 1)
        } else {
            word.to_owned()
        }
    });
    words.collect()
}
