//! What a terminal shows, and what a pipe gets: colour, tables that fit, quiet, and the pager.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use twig_testkit::TestEnv;

use crate::env;
use crate::pty::{OnTerminal, Streams, shown};

const LIBRARIES: &str = r#"
//- tools/twig.toml
[prompts.review]
description = "Review code for quality, for security and for what the next reader would have to ask about"
arguments = [{ name = "code", required = true }, { name = "language" }, { name = "framework" }]
[prompts.same]
//- tools/prompts/review.md
Review {{ code }}{{ language }}{{ framework }}
//- tools/prompts/same.md
x
//- work/twig.toml
[prompts.same]
description = "Short"
//- work/prompts/same.md
{{ oops }}
"#;

/// The terminal's text without its colours.
fn plain(screen: &str) -> String {
    let mut text = String::new();
    let mut rest = screen;
    while let Some(at) = rest.find("\u{1b}[") {
        text.push_str(&rest[..at]);
        let end = rest[at..].find('m').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    text + rest
}

fn run(command: Command, columns: u16, rows: u16) -> (i32, String) {
    let running = OnTerminal::sized(command, Streams::All, columns, rows);
    let (code, _, screen) = running.end();
    (code, screen)
}

#[test]
fn a_list_fits_the_terminal_and_is_grouped_by_library() {
    let env = env(LIBRARIES);
    let (_, screen) = run(env.command(["list"]), 80, 24);
    let screen = plain(&screen);
    insta::assert_snapshot!(screen, @"
    tools  2 prompts · ~/.local/share/twig/prompts/tools
      review      code [language] [fra…  Review code for quality, for security and…
      tools:same

    work  1 prompt · ~/.local/share/twig/prompts/work
      work:same                          Short
    ");
    for columns in [40, 60, 100, 200] {
        let (_, screen) = run(env.command(["list", "-q"]), columns, 24);
        for line in plain(&screen).lines() {
            assert!(line.chars().count() <= columns.into(), "{columns}: {line}");
        }
    }
}

#[test]
fn a_list_in_a_pipe_is_whole_and_has_names_only_if_asked() {
    let env = env(LIBRARIES);
    let mut command = env.command(["list", "-q"]);
    let output = command.env("COLUMNS", "40").output().expect("it ends");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @"
    tools:review  code [language] [framework]  Review code for quality, for security and for what the next reader would have to ask about
    tools:same
    work:same                                  Short
    ");
    assert_eq!(output.stderr, b"");
    let names = env.run(["list", "--names", "-q"]);
    assert_eq!(names.stdout, "tools:review\ntools:same\nwork:same\n");
}

#[test]
fn quiet_leaves_the_data_and_the_errors() {
    let env = env(LIBRARIES);
    let checked = env.run(["check", "-q"]);
    assert_eq!((checked.code, &*checked.stderr), (1, ""));
    assert!(checked.stdout.contains("oops"), "{checked}");
    let missing = env.run(["--quiet", "render", "nope"]);
    insta::assert_snapshot!(missing, @"
    --- stderr
    error: Prompt not found: nope
    hint: run `twig list` to see every prompt
    --- exit 1
    ");
}

fn colored(env: &TestEnv, flags: &[&str], variables: &[(&str, &str)]) -> bool {
    let mut command = env.command(["check"].into_iter().chain(flags.iter().copied()));
    command.envs(variables.iter().copied());
    let output = command.output().expect("it ends");
    output.stdout.contains(&0x1b)
}

#[test]
fn colour_is_for_terminals_unless_somebody_asks() {
    let env = env(LIBRARIES);
    let (code, screen) = shown(&env, &["check"], "");
    assert_eq!(code, 1);
    assert!(
        screen.contains("\u{1b}[1;31merror[unknown-variable]\u{1b}[0m"),
        "{screen:?}"
    );
    assert!(
        plain(&screen).contains("error[unknown-variable]: "),
        "{screen}"
    );
    let (_, screen) = shown(&env, &["render", "nope"], "");
    assert!(
        screen.contains("\u{1b}[1;31merror:\u{1b}[0m Prompt not found"),
        "{screen:?}"
    );
    for flags in [&["--color", "never"][..], &["--color=never"]] {
        let args: Vec<&str> = ["check"].iter().chain(flags).copied().collect();
        let (_, screen) = shown(&env, &args, "");
        assert!(!screen.contains('\u{1b}'), "{flags:?} {screen:?}");
    }
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        let mut command = env.command(["check"]);
        command.env(variable.0, variable.1);
        let (_, screen) = run(command, 80, 24);
        assert!(!screen.contains('\u{1b}'), "{variable:?} {screen:?}");
    }
    assert!(!colored(&env, &[], &[]));
    assert!(colored(&env, &["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(colored(&env, &[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(
        &env,
        &[],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(!colored(&env, &[], &[("CLICOLOR_FORCE", "0")]));
    // Mistakes on the command line are painted, too.
    let mut command = env.command(["lits"]);
    command.env("TERM", "xterm");
    let (_, screen) = run(command, 80, 24);
    assert!(screen.contains('\u{1b}'), "{screen:?}");
    let (_, screen) = shown(&env, &["lits", "--color", "never"], "");
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
}

#[test]
fn a_text_that_is_longer_than_the_terminal_goes_to_the_pager() {
    let env = env(LIBRARIES);
    env.write("tools/prompts/same.md", "line\n".repeat(100));
    let pager = env.home().join("pager");
    fs::write(&pager, "#!/bin/sh\n/usr/bin/wc -l > \"$HOME/paged\"\n").expect("writable");
    fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).expect("ours");
    let counted = || fs::read_to_string(env.home().join("paged")).ok();
    let show = |name: &'static str| {
        let mut command = env.command(["show", name]);
        command.env("PAGER", &pager);
        command
    };
    let (code, screen) = run(show("tools:review"), 80, 24);
    assert!(screen.contains("Review {{ code }}"), "{screen}");
    assert_eq!((code, counted()), (0, None));
    let (code, screen) = run(show("tools:same"), 80, 24);
    assert_eq!((code, &*screen), (0, ""));
    assert_eq!(counted().as_deref().map(str::trim), Some("106"));
    fs::remove_file(env.home().join("paged")).expect("written");
    let output = show("tools:same").output().expect("it ends");
    assert_eq!(
        (
            counted(),
            String::from_utf8_lossy(&output.stdout).lines().count()
        ),
        (None, 106)
    );
    let mut missing = env.command(["show", "tools:same"]);
    missing.env("PAGER", "/nowhere/pager");
    let (_, screen) = run(missing, 80, 24);
    assert!(screen.ends_with("line\nline\n"), "{screen}");
}

#[test]
fn every_help_has_examples() {
    let env = env(LIBRARIES);
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    let mut without = Vec::new();
    while let Some(path) = paths.pop() {
        let words = path.iter().map(String::as_str);
        let help = env.run(words.chain(["--help"])).stdout;
        if !help.contains("\nExamples:\n  ") {
            without.push(path.join(" "));
        }
        let commands = help
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest);
        for line in commands.lines().take_while(|line| line.starts_with("  ")) {
            let name = line.split_whitespace().next().unwrap_or_default();
            let is_name = line.starts_with("  ") && !line.starts_with("   ");
            if is_name && name != "help" {
                let mut inner = path.clone();
                inner.push(name.to_owned());
                paths.push(inner);
            }
        }
    }
    assert_eq!(without, [""; 0], "add them to `commands/examples.rs`");
}

#[test]
fn what_is_agreed_to_is_shown_whole() {
    let env = env("");
    let words: Vec<String> = (0..30).map(|at| format!("word-{at}")).collect();
    env.write(
        "f/twig.toml",
        format!(
            "[prompts.p]\ncommand = [\"./run\", \"{}\"]\n",
            words.join(" ")
        ),
    );
    env.write("f/run", "#!/bin/sh\n");
    fs::set_permissions(env.data().join("f/run"), fs::Permissions::from_mode(0o755)).expect("ours");
    let (_, screen) = shown(&env, &["library", "trust", "f"], "n\n");
    for word in &words {
        assert!(screen.contains(word.as_str()), "{word}: {screen}");
    }
    assert!(!screen.contains('…'), "{screen}");
}

#[test]
fn a_card_wraps_and_cuts_nothing() {
    let env = env(LIBRARIES);
    let (_, screen) = run(env.command(["show", "review"]), 70, 80);
    let screen = plain(&screen);
    assert!(screen.contains("have to ask about"), "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 70, "{line}");
    }
}
