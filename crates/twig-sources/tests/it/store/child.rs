//! Other processes on the same file: this very program again, told what to do by its environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use twig_core::Limits;
use twig_core::store::{ItemKind, Store, StoreError, Write};
use twig_sources::{Access, Workspaces};

use super::support::*;

const FOLDER: &str = "TWIG_TEST_FOLDER";
const TASK: &str = "TWIG_TEST_TASK";

/// Starts a process that does a task on the workspaces of a folder.
pub(crate) fn start(folder: &Path, task: &str) -> Child {
    command(&std::env::current_exe().unwrap(), folder, task)
        .spawn()
        .unwrap()
}

/// The same, to be started later by a given program, which is this one or a copy of it.
pub(crate) fn command(program: &Path, folder: &Path, task: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "store::child::task", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(TASK, task)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Lines that a child printed for us, each behind `> `.
pub(crate) fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = output.lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once("> ").map(|(_, said)| said.to_owned()))
}

/// Waits for a child and makes sure that all went well.
pub(crate) fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "{said}");
}

/// Adds one to the number in a prompt, so often, each time from what it has read.
pub(crate) fn increment(store: &dyn Store, times: u32) {
    let mut done = 0;
    while done < times {
        let project = self::project(store);
        let item = &project.items[0];
        let Ok(content) = store.content(&item.head.content.digest) else {
            // Two reads are two snapshots: meanwhile others wrote newer versions and dropped it.
            assert!(self::project(store).items[0].head.number > item.head.number);
            continue;
        };
        let number: u64 = String::from_utf8(content).unwrap().parse().unwrap();
        let mut next = item_write(ItemKind::Prompt, "n", new_text(&(number + 1).to_string()));
        next.expected = Some(item.head.number);
        match write(store, Write::Item(Box::new(next))) {
            Ok(written) => {
                assert_eq!(written.version, item.head.number + 1);
                done += 1;
            }
            Err(StoreError::Stale { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
#[ignore = "other tests start it"]
fn task() {
    let folder = std::env::var(FOLDER).unwrap();
    let task = std::env::var(TASK).unwrap();
    let workspaces = Workspaces::new(folder.into());
    let open = |access| workspaces.open(&name("default"), access, &Limits::default());
    let (task, argument) = task.split_once(' ').unwrap();
    match task {
        "join" => {
            create_project(&open(Access::Write).unwrap(), argument).unwrap();
        }
        "increment" => increment(&open(Access::Write).unwrap(), argument.parse().unwrap()),
        // Writes until it is killed, and says what was acknowledged.
        "write" => {
            let store = open(Access::Write).unwrap();
            for at in 0.. {
                let prompt_name = format!("{argument}-{at}");
                prompt(&store, &prompt_name, text(&prompt_name)).unwrap();
                println!("> {prompt_name}");
            }
        }
        // The same so often, whatever happens; says what was acknowledged.
        "attempt" => {
            let times: u32 = argument.parse().unwrap();
            let limits = Limits {
                store_millis: 200,
                ..Limits::default()
            };
            let opened = workspaces.open(&name("default"), Access::Write, &limits);
            let Ok(store) = opened else {
                return;
            };
            for at in 0..times {
                let prompt_name = format!("n{at}");
                match prompt(&store, &prompt_name, text(&prompt_name)) {
                    Ok(_) => println!("> {prompt_name}"),
                    Err(error) => assert!(!error.is_callers(), "{error}"),
                }
            }
        }
        "read" => {
            let store = open(Access::Read).unwrap();
            assert_eq!(contents(&store), [("a".to_owned(), argument.to_owned())]);
            let refused = prompt(&store, "b", text("x")).unwrap_err();
            assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
            store.revision().unwrap();
            drop(store.watch(Box::new(|| {})));
        }
        "refuse" => {
            let refused = open(Access::Write).unwrap_err().to_string();
            assert!(refused.contains(argument), "{refused}");
        }
        "refuse-read" => {
            let refused = open(Access::Read).unwrap_err().to_string();
            assert!(refused.contains(argument), "{refused}");
        }
        other => panic!("{other}"),
    }
}
