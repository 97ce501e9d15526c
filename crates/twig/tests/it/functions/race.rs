//! A program that is changed just between the look at it and its start.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::trusted;

const TRIES: usize = 150;
const GOOD: &str = "#!/bin/sh\necho good\n";
const EVIL: &str = "#!/bin/sh\necho evil\n";

#[test]
fn what_was_not_trusted_never_runs() {
    let env = trusted(&[("run", GOOD)]);
    let record = env.data().parent().expect("above").join("trust.json");
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let root = env.data().join("f").canonicalize().expect("a folder");
    let root = root.to_str().expect("UTF-8");
    let task = json!({
        "parent": std::process::id(), "root": root, "unsandboxed": false,
        "program": {"Command": {"file": "bin/run", "arguments": []}},
        "approved": record["libraries"][root],
    })
    .to_string();
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
        assert!(!said.contains("evil"), "{said}");
        if said == "good\n" {
            good += 1;
        } else {
            assert_eq!(output.status.code(), Some(125), "{said}");
        }
    }
    over.store(true, Ordering::Release);
    swapper.join().expect("it ends well");
    assert!(good > 0, "now and then the trusted one was there");
}
