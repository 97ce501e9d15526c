//! A program or a manifest that is changed just between the look at it and the start.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::{text, trust, trusted};
use crate::env;
use crate::http::Served;

const TRIES: usize = 150;
const GOOD: &str = "#!/bin/sh\necho good\n";
const EVIL: &str = "#!/bin/sh\necho evil\n";

/// What the server tells `run-function`: to run `bin/run` of the library as it was trusted.
fn task(env: &TestEnv) -> Value {
    let record = env.data().parent().expect("above").join("trust.json");
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let root = env.data().join("f").canonicalize().expect("a folder");
    let root = root.to_str().expect("UTF-8");
    let approved = &record["libraries"][root];
    json!({
        "parent": std::process::id(), "root": root, "unsandboxed": false,
        "program": {"Command": {"file": "bin/run", "arguments": []}},
        "approved": {"Trusted": approved},
        "sources": {"twig.toml": approved["twig.toml"]},
    })
}

fn run(env: &TestEnv, task: &str) -> (Option<i32>, String) {
    let mut child = env
        .command(["run-function"])
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    let _ = input.write_all(format!("{:08}{task}", task.len()).as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_task_that_was_not_read_from_the_trusted_files_is_refused() {
    let env = trusted(&[("run", GOOD)]);
    let task = task(&env);
    assert_eq!(run(&env, &task.to_string()).1, "good\n");
    let other = format!("sha256:{}", "0".repeat(64));
    for sources in [
        json!({"twig.toml": other}),
        json!({"twig.toml": task["approved"]["Trusted"]["twig.toml"], "prompts.json": other}),
        json!({}),
    ] {
        let mut task = task.clone();
        task["sources"] = sources;
        let (code, said) = run(&env, &task.to_string());
        assert_eq!(code, Some(125), "{task}: {said}");
        assert!(said.starts_with("{\"Changed\":"), "{said}");
    }
}

#[test]
fn what_was_not_trusted_never_runs() {
    let env = trusted(&[("run", GOOD)]);
    let task = task(&env).to_string();
    let over = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (over, path, beside) = (
            Arc::clone(&over),
            env.data().join("f/bin/run"),
            env.root().join("next"),
        );
        thread::spawn(move || {
            let mut round = 0_u32;
            while !over.load(Ordering::Acquire) {
                let text = if round.is_multiple_of(2) { EVIL } else { GOOD };
                if round % 4 < 2 {
                    // Another file in its place.
                    fs::write(&beside, text).expect("the test's own folder");
                    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755))
                        .expect("the test's own file");
                    fs::rename(&beside, &path).expect("the test's own folder");
                } else if let Ok(mut file) = fs::OpenOptions::new().write(true).open(&path) {
                    // Other bytes in the same file.
                    let _ = file.write_all(text.as_bytes());
                }
                round += 1;
            }
        })
    };
    let mut good = 0;
    for _ in 0..TRIES {
        let (code, said) = run(&env, &task);
        assert!(!said.contains("evil"), "{said}");
        if said == "good\n" {
            good += 1;
        } else {
            assert_eq!(code, Some(125), "{said}");
        }
    }
    over.store(true, Ordering::Release);
    swapper.join().expect("it ends well");
    assert!(good > 0, "now and then the trusted one was there");
}

/// How often the manifest is swapped; more with `TWIG_FLIPS`.
const FLIPS: usize = 25;

/// A library whose one prompt says what its manifest has it say.
fn says(word: &str) -> String {
    format!("[prompts.run]\ncommand = [\"./bin/run\", \"{word}\"]\n")
}

const SAY: &str = r#"#!/bin/sh
printf '{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}]}' "$1"
"#;

fn saying() -> TestEnv {
    let env = env("");
    env.write("f/twig.toml", says("good"));
    super::program(&env, "f/bin/run", SAY);
    trust(&env, "f");
    env
}

/// Swaps the manifest for another one and back again and again, and asks all the while. Nothing
/// but the trusted manifest's word may come; when all is over, that has to.
fn swap(folder: &Path, beside: &Path, mut get: impl FnMut() -> Value) {
    let flips = std::env::var("TWIG_FLIPS").ok();
    let flips = flips.map_or(FLIPS, |flips| flips.parse().expect("a number"));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..flips {
                for word in ["evil", "good"] {
                    fs::write(beside, says(word)).expect("the test's own folder");
                    fs::rename(beside, folder.join("twig.toml")).expect("the test's own folder");
                    // For up to twelve milliseconds, a little longer each time.
                    let until = Duration::from_micros((round * 379 % 12_000) as u64);
                    let start = Instant::now();
                    while start.elapsed() < until {
                        thread::yield_now();
                    }
                }
            }
            is_over.store(true, Ordering::Release);
        });
        loop {
            let was_over = is_over.load(Ordering::Acquire);
            let answer = get();
            if answer.get("result").is_some() {
                assert_eq!(text(&answer), "good");
                if was_over {
                    break;
                }
            }
        }
    });
}

#[test]
fn a_manifest_that_was_not_trusted_never_runs() {
    let env = saying();
    let mut client = env.serve();
    client.initialize();
    swap(&env.data().join("f"), &env.root().join("next"), || {
        client.request("prompts/get", json!({"name": "f:run"}))
    });
}

#[test]
fn a_manifest_that_was_not_trusted_never_runs_over_http() {
    let served = Served::from_env(saying());
    let (folder, beside) = (served.env.data().join("f"), served.env.root().join("next"));
    let mut caller = served.caller();
    swap(&folder, &beside, || {
        let params = json!({"name": "f:run"});
        caller.modern("prompts/get", params).json()
    });
}

#[test]
fn a_folder_that_takes_the_librarys_place_is_not_run() {
    let env = trusted(&[("run", GOOD)]);
    let task = task(&env).to_string();
    let (folder, away) = (env.data().join("f"), env.root().join("away"));
    fs::rename(&folder, &away).expect("the test's own folder");
    std::os::unix::fs::symlink(env.home(), &folder).expect("the test's own folder");
    let (code, said) = run(&env, &task);
    assert_eq!(code, Some(125), "{said}");
    fs::remove_file(&folder).expect("the test's own link");
    std::os::unix::fs::symlink(&away, &folder).expect("the test's own folder");
    assert_eq!(run(&env, &task).1, "good\n", "the very same files");
}
