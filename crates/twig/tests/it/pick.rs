//! `twig pick` on a terminal: typing finds, Enter prints, and the terminal is as it was.

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use twig_testkit::TestEnv;

use crate::env;
use crate::pty::{OnTerminal, Streams};

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.commit]
description = "Write a commit message"
[prompts.review]
description = "Review code"
arguments = [{ name = "code", required = true }, { name = "language" }]
[prompts.tricky]
description = "Sound the bell"
//- lib/prompts/commit.md
Write a commit message.
//- lib/prompts/review.md
Review {{ code }} {{ language }}
//- lib/prompts/tricky.md
Ring it.
"#;

const LEFT: &str = "\u{1b}[?1049l";

fn start(env: &TestEnv, args: &[&str]) -> OnTerminal {
    let mut command = env.command(["pick"].into_iter().chain(args.iter().copied()));
    command.env("TERM", "xterm-256color");
    let mut running = OnTerminal::start(command, Streams::AllButOutput);
    running.wait_for("3/3");
    running
}

/// Whether the terminal shows what is typed, line by line.
fn is_cooked(running: &OnTerminal) -> bool {
    let modes = tcgetattr(running.far()).expect("a terminal").local_modes;
    modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

#[test]
fn typing_finds_and_enter_prints() {
    let env = env(LIBRARY);
    let mut running = start(&env, &[]);
    assert!(!is_cooked(&running));
    running.press("cmit").wait_for("Write a commit message.");
    running.press("\r").wait_for(LEFT);
    let (code, printed, screen) = running.end();
    assert_eq!((code, &*printed), (0, "Write a commit message.\n"));
    assert!(screen.contains("lib:review"), "{screen:?}");
}

#[test]
fn arguments_are_asked_for_after_the_choice() {
    let env = env(LIBRARY);
    let mut running = start(&env, &[]);
    running.press("rev").wait_for("Review {{ code }}");
    running.press("\r").wait_for("code\r\n");
    running.press("x = 1\r").wait_for("language [optional]");
    running.press("\r");
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "Review x = 1 \n"));
}

#[test]
fn arrows_move_and_a_text_controls_nothing() {
    let env = env(LIBRARY);
    env.write(
        "lib/prompts/tricky.md",
        "a\t\u{1b}[31m\u{1b}]52;c;aGk=\u{7}\n",
    );
    let mut running = start(&env, &[]);
    running
        .press("\u{1b}[B\u{1b}[B")
        .wait_for("<U+001B>[31m<U+001B>]52;c;aGk=");
    running.press("\u{7f}\u{10}\u{10}\r");
    let (code, printed, screen) = running.end();
    assert_eq!((code, &*printed), (0, "Write a commit message.\n"));
    assert!(!screen.contains("\u{1b}]52"), "{screen:?}");
    assert!(!screen.contains("\u{1b}[31m"), "{screen:?}");
}

#[test]
fn leaving_prints_nothing_and_restores_the_terminal() {
    let env = env(LIBRARY);
    for key in ["\u{3}", "\u{1b}", "\u{4}"] {
        let mut running = start(&env, &[]);
        running.press(key).wait_for(LEFT);
        running.child.wait().expect("it ends");
        assert!(is_cooked(&running), "{key:?}");
        let (code, printed, _) = running.end();
        assert_eq!((code, &*printed), (130, ""), "{key:?}");
    }
}

#[test]
fn a_signal_restores_the_terminal() {
    let env = env(LIBRARY);
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut running = start(&env, &[]);
        let pid = Pid::from_child(&running.child);
        kill_process(pid, signal).expect("ours");
        running.wait_for(LEFT);
        running.child.wait().expect("it ends");
        assert!(is_cooked(&running), "{signal:?}");
        assert_eq!(running.end().0, code, "{signal:?}");
    }
}

#[test]
fn without_a_terminal_there_are_names() {
    let env = env(LIBRARY);
    let listed = env.run(["pick", "--plain"]);
    assert_eq!(listed.stdout, "lib:commit\nlib:review\nlib:tricky\n");
}

#[test]
fn a_query_may_be_given() {
    let env = env(LIBRARY);
    let mut command = env.command(["pick", "commit"]);
    command.env("TERM", "xterm");
    let mut running = OnTerminal::start(command, Streams::AllButOutput);
    running.wait_for("1/3").press("\r");
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "Write a commit message.\n"));
}

#[test]
fn nothing_wraps_on_a_small_terminal() {
    let env = env(LIBRARY);
    let mut running = start(&env, &[]);
    // Each line ends after the name, one column before the edge.
    running
        .resize(10, 3)
        .wait_for("lib:co…\u{1b}[0m\u{1b}[K\r\n  lib:re…\u{1b}[K\u{1b}[J");
    running.resize(3, 1).wait_for("> \u{1b}[0m\u{1b}[K\u{1b}[J");
    running.press("\r");
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "Write a commit message.\n"));
}
