//! Values of arguments on the command line: by name, in order, from files and pipes, and asked for.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use twig_testkit::TestEnv;

use crate::pty::{OnTerminal, Streams, shown};
use crate::{TWIG, env};

const REVIEW: &str = r#"
//- lib/twig.toml
[prompts.review]
[[prompts.review.arguments]]
name = "code"
description = "The code to review"
required = true
[[prompts.review.arguments]]
name = "language"
required = true
choices = ["rust", "go"]
[prompts.fix]
arguments = [{ name = "issue", required = true }, { name = "priority" }, { name = "note" }]
[prompts.plain]
//- lib/prompts/review.md
Review {{ language }}: {{ code }}
//- lib/prompts/fix.md
{{ issue }}|{{ priority }}|{{ note }}
//- lib/prompts/plain.md
plain
"#;

/// Runs a command with this on its standard input.
fn piped(env: &TestEnv, args: &[&str], input: &[u8]) -> (String, String, i32) {
    let mut command = env.command(args.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    // A command that ends early does not read everything.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code().unwrap_or(-1),
    )
}

#[test]
fn a_value_may_come_from_standard_input() {
    let env = env(REVIEW);
    for value in ["code=-", "code=@-", "-", "@-"] {
        let said = piped(&env, &["render", "review", value, "language=go"], b"a diff");
        assert_eq!(
            said,
            ("Review go: a diff\n".to_owned(), String::new(), 0),
            "{value}"
        );
    }
    let (_, said, code) = piped(&env, &["render", "review", "code=-", "language=-"], b"x");
    insta::assert_snapshot!(said, @"
    error: standard input can be the value of one argument only
    hint: give `language` as a text or as language=@FILE
    ");
    assert_eq!(code, 2);
    let (_, said, code) = piped(&env, &["render", "review", "code=-"], b"\xff");
    insta::assert_snapshot!(said, @"error: standard input for `code` cannot be read: it is not UTF-8 text");
    assert_eq!(code, 1);
    let long = vec![b'x'; 300_000];
    let (_, said, code) = piped(&env, &["render", "review", "code=-"], &long);
    insta::assert_snapshot!(said, @"
    error: Argument `code` exceeds the limit of 262144 bytes
    hint: the limit is `argument_value`, in bytes, in `[limits]` of config.toml
    ");
    assert_eq!(code, 1);
}

#[test]
fn a_file_may_be_below_home() {
    let env = env(REVIEW);
    fs::write(env.home().join("x.rs"), "fn main() {}").expect("writable");
    let said = env.run(["render", "review", "code=@~/x.rs", "language=rust"]);
    assert_eq!(said.stdout, "Review rust: fn main() {}\n", "{said}");
    fs::write(env.work().join("long"), vec![b'x'; 300_000]).expect("writable");
    let said = env.run(["render", "review", "code=@long", "language=rust"]);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: Argument `code` exceeds the limit of 262144 bytes
    hint: the limit is `argument_value`, in bytes, in `[limits]` of config.toml
    --- exit 1
    ");
}

#[test]
fn values_in_order_go_to_the_arguments_in_order_and_the_rest_to_the_last() {
    let env = env(REVIEW);
    for (args, text) in [
        (&["12"][..], "12||"),
        (&["12", "high"], "12|high|"),
        (
            &["12", "high", "ask", "bob", "first"],
            "12|high|ask bob first",
        ),
        (&["priority=low", "12", "soon"], "12|low|soon"),
        (&["12", "issue=7"], "7|12|"),
        (&["-5", "a+b=c"], "-5|a+b=c|"),
        (
            &["https://x.example/?a=b", "x = y"],
            "https://x.example/?a=b|x = y|",
        ),
        (&["1", "--", "note=x", "@file", "-"], "1|note=x|@file -"),
        (&["@@home"], "@home||"),
    ] {
        let said = env.run(["render", "fix"].into_iter().chain(args.iter().copied()));
        assert_eq!(said.stdout, format!("{text}\n"), "{args:?}: {said}");
        assert_eq!(said.stderr, "", "{args:?}");
    }
}

#[test]
fn values_that_no_argument_takes_are_mistakes() {
    let env = env(REVIEW);
    insta::assert_snapshot!(env.run(["render", "plain", "x"]), @"
    --- stderr
    error: prompt `lib:plain` takes no arguments, so it has no use for `x`
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["render", "plain", "a=b"]), @"
    --- stderr
    error: Unknown argument: a
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "review", "code=1", "language=go", "x"]), @"
    --- stderr
    error: every argument of prompt `lib:review` has its value, so it has no use for `x`
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["render", "fix", "1", "prio=high"]), @"
    --- stderr
    error: Unknown argument: prio; did you mean `priority`?
    hint: put a value that contains = after `--`: -- 'prio=high'
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "fix", "issue=1", "issue=2"]), @"
    --- stderr
    error: `issue` is given twice
    --- exit 2
    ");
}

#[test]
fn a_missing_value_is_asked_for_on_a_terminal() {
    let env = env(REVIEW);
    let start =
        |args: &[&str]| OnTerminal::start(env.command(args.iter().copied()), Streams::AllButOutput);
    let mut running = start(&["render", "review"]);
    running.wait_for("code: The code to review\r\n");
    running
        .press("\r")
        .wait_for("`code` needs a value; Ctrl-D ends\r\n");
    running
        .press("let x\r")
        .wait_for("language\r\n  1  rust\r\n  2  go\r\n");
    let refused = "Argument `language` must be one of: rust, go\r\n";
    running.press("3\r").wait_for(refused).press("2\r");
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "Review go: let x\n"));

    let mut running = start(&["render", "review", "x", "--color=never"]);
    running.wait_for("> ").press("\u{4}");
    let (code, _, screen) = running.end();
    assert!(
        screen.ends_with(
            "error: Missing required argument: language\nhint: twig render lib:review language=…\n"
        ),
        "{screen}"
    );
    assert_eq!(code, 1);

    // Ctrl-C ends it as it ends every program.
    let mut running = start(&["render", "review"]);
    running.wait_for("> ").press("\u{3}");
    let status = running.child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(2));
}

#[test]
fn a_typed_value_can_be_edited() {
    let env = env(REVIEW);
    let mut running = OnTerminal::start(env.command(["render", "fix"]), Streams::AllButOutput);
    let keys = "one x\u{1b}[D\u{1b}[Dy\u{1}\u{1b}[3~\u{5}\u{1b}[A\u{7f}é\r";
    running.wait_for("> ").press(keys);
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "ney é||\n"));
}

/// The lines of a pasted text are one value; none of them is left for the shell.
#[test]
fn a_pasted_text_keeps_its_lines() {
    let env = env(REVIEW);
    let args = ["render", "review", "language=go"];
    let mut running = OnTerminal::start(env.command(args), Streams::AllButOutput);
    running.wait_for("> ");
    assert!(
        running.screen.contains("\u{1b}[?2004h"),
        "pastes are marked"
    );
    running.press("\u{1b}[200~fn a() {\r\tlet x = 1;\r}\r\u{1b}[201~");
    running.wait_for("}⏎").press("\r").wait_for("\u{1b}[?2004l");
    let (code, printed, _) = running.end();
    let expected = "Review go: fn a() {\n\tlet x = 1;\n}\n";
    assert_eq!((code, &*printed), (0, expected));
}

#[test]
fn questions_stay_out_of_the_output() {
    let env = env(REVIEW);
    let mut running = OnTerminal::start(env.command(["render", "fix"]), Streams::AllButOutput);
    running.wait_for("> ").press("12\n");
    let (code, printed, _) = running.end();
    assert_eq!((code, &*printed), (0, "12||\n"));
}

#[test]
fn a_question_shows_no_control_characters() {
    let env = env(
        "//- lib/twig.toml\n[prompts.p]\n[[prompts.p.arguments]]\nname = \"a\"\nrequired = true\nchoices = [\"\\u001b[31mx\"]\n//- lib/prompts/p.md\n{{ a }}\n",
    );
    let (_, screen) = shown(&env, &["render", "p"], "1\n");
    assert!(screen.contains("<U+001B>[31mx"), "{screen:?}");
    assert!(!screen.contains("\u{1b}[31m"), "{screen:?}");
}

#[test]
fn a_rendered_text_is_exact_in_a_pipe_and_harmless_on_a_terminal() {
    let env = env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\na\u{1b}[31mb\n");
    assert_eq!(env.run(["render", "p"]).stdout, "a\u{1b}[31mb\n");
    assert_eq!(
        shown(&env, &["render", "p"], ""),
        (0, "a<U+001B>[31mb\n".to_owned())
    );
}

#[test]
fn a_skill_prints_its_text_only() {
    let env = TestEnv::new(TWIG);
    let folder = env.home().join(".claude/skills/pdf");
    fs::create_dir_all(folder.join("scripts")).expect("writable");
    fs::write(
        folder.join("SKILL.md"),
        "---\nname: pdf\ndescription: d\n---\nFill it.\n",
    )
    .expect("writable");
    fs::write(folder.join("scripts/fill.py"), "pass\n").expect("writable");
    let skills = env.home().join(".claude/skills");
    let said = env.run(["render", "pdf", "--library", skills.to_str().expect("text")]);
    insta::assert_snapshot!(said, @"
    Fill it.

    Base directory for this skill: [home]/.claude/skills/pdf
    Relative paths in this skill are relative to this base directory.
    Files of this skill:
    - scripts/fill.py
    --- exit 0
    ");
}

#[test]
fn copy_sends_the_text_to_the_terminal_and_to_the_program_of_the_desktop() {
    let env = env(REVIEW);
    let (code, screen) = shown(&env, &["render", "plain", "--copy"], "");
    assert_eq!(
        screen,
        "\u{1b}]52;c;cGxhaW4K\u{7}copied 6 characters through the terminal\n"
    );
    assert_eq!(code, 0);
    insta::assert_snapshot!(env.run(["render", "plain", "--copy"]), @"
    --- stderr
    error: nothing was copied: there is no terminal, and no `wl-copy`, `pbcopy` or `xclip` can be run
    hint: leave --copy out to print the text
    --- exit 1
    ");
    let folder = env.home().join("bin");
    fs::create_dir_all(&folder).expect("writable");
    let program = folder.join("xclip");
    fs::write(&program, "#!/bin/sh\n/bin/cat > \"$HOME/copied\"\n").expect("writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = env.command(["render", "plain", "--copy"]);
    command.env("PATH", &folder).env("DISPLAY", ":0");
    let output = command.output().expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "copied 6 characters through `xclip`\n"
    );
    assert_eq!(
        fs::read_to_string(env.home().join("copied")).expect("written"),
        "plain\n"
    );
    let mut command = env.command(["render", "plain", "--copy"]);
    command.env("PATH", &folder).env("DISPLAY", ":0");
    let (_, _, screen) = OnTerminal::start(command, Streams::All).end();
    assert!(
        screen.ends_with("copied 6 characters through the terminal and `xclip`\n"),
        "{screen}"
    );
}

#[test]
fn an_empty_value_is_none_where_the_argument_does_not_need_one() {
    let env = env(r#"
//- lib/twig.toml
[prompts.p]
[[prompts.p.arguments]]
name = "language"
choices = ["rust", "go"]
[[prompts.p.arguments]]
name = "tone"
default = "warm"
[[prompts.p.arguments]]
name = "number"
pattern = "[0-9]+"
[[prompts.p.arguments]]
name = "note"
required = true
//- lib/prompts/p.md
{{ language }}|{{ tone }}|{{ number }}|{{ note }}
"#);
    let rendered = env.run(["render", "p", "language=", "tone=", "number=", "note="]);
    assert_eq!(rendered.stdout, "|warm||\n", "{rendered}");
    let refused = env.run(["render", "p", "language=c", "note="]);
    assert_eq!(refused.code, 1, "{refused}");
}
