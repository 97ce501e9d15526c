//! A folder that is swapped with a symlink while a command writes into it.
//!
//! `TWIG_TEST_SWAPS` says how often each command is run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use twig_testkit::TestEnv;

use crate::TWIG;

fn swaps() -> usize {
    let given = std::env::var("TWIG_TEST_SWAPS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(60)
}

/// Runs a command again and again while a folder keeps being swapped with a symlink that leads out;
/// `before` is called in between.
fn never_leaves(env: &TestEnv, folder: &Path, before: impl Fn(usize) -> Vec<String>) {
    let outside = env.root().join("outside");
    fs::create_dir_all(&outside).expect("own folder");
    fs::create_dir_all(folder).expect("own folder");
    let link = folder.with_file_name("other");
    symlink(&outside, &link).expect("own folder");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let _ = renameat_with(CWD, folder, CWD, &link, RenameFlags::EXCHANGE);
                thread::yield_now();
            }
        });
        for turn in 0..swaps() {
            let command = before(turn);
            let outcome = env.run(command.iter().map(String::as_str));
            let written = fs::read_dir(&outside).expect("own folder").count();
            if written > 0 {
                over.store(true, Ordering::Release);
            }
            assert_eq!(written, 0, "run {turn}: {outcome}");
        }
        over.store(true, Ordering::Release);
    });
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn connect_writes_into_the_project_alone() {
    let env = TestEnv::in_memory(TWIG);
    never_leaves(&env, &env.work().join(".cursor"), |turn| {
        let remove = if turn % 2 == 0 { "" } else { " --remove" };
        words(&format!(
            "connect cursor --project --name n{}{remove}",
            turn % 5
        ))
    });
}

#[test]
fn init_writes_into_the_project_alone() {
    let env = TestEnv::in_memory(TWIG);
    never_leaves(&env, &env.work().join(".twig"), |_| {
        // Whichever of the two is the real one is emptied.
        for name in [".twig", "other"] {
            for file in ["config.toml", "prompts", "docs"] {
                let path = env.work().join(name).join(file);
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
        words("init .")
    });
}

#[test]
fn new_prompts_are_written_into_the_library_alone() {
    let env = TestEnv::in_memory(TWIG);
    env.write("lib/twig.toml", "# mine\n");
    never_leaves(&env, &env.data().join("lib/prompts"), |turn| {
        words(&format!("new prompt lib:n{turn}"))
    });
}
