//! Text that a client would run, fill in or take for something else.

use twig_clients::clients::ExportFormat;

use super::{body, jinja, verbatim};

fn gemini(text: &str) -> String {
    let text = verbatim(text).item(ExportFormat::Gemini).text;
    let table: toml::Table = toml::from_str(&text).expect("TOML");
    let prompt = table["prompt"].as_str().expect("a text").to_owned();
    prompt
        .strip_suffix('\n')
        .map(str::to_owned)
        .expect("a last line")
}

#[test]
fn claude_runs_nothing() {
    let cases = [
        ("!`rm`", "! `rm`"),
        ("a !`rm` b\n!`rm`", "a ! `rm` b\n! `rm`"),
        ("```!\nrm\n```", "``` !\nrm\n```"),
        ("`println!` and `vec!`", "`println!` and `vec!`"),
        (
            "@~/.ssh/id @/etc/passwd @../x",
            "@ ~/.ssh/id @ /etc/passwd @ ../x",
        ),
        ("me@home @app.route @param", "me@home @app.route @param"),
    ];
    for (text, harmless) in cases {
        for client in [ExportFormat::Claude, ExportFormat::Skills] {
            assert_eq!(body(client, &verbatim(text)), format!("{harmless}\n"));
        }
    }
}

#[test]
fn empty_values_make_no_commands() {
    let cases = [
        ("{{ x }}!`rm`", "$ARGUMENTS! `rm`"),
        ("!{{ x }}`rm`", "! $ARGUMENTS`rm`"),
        (" !`git log {{ x }}`", " ! `git log $ARGUMENTS`"),
        ("```{{ x }}!\nrm\n```", "```$ARGUMENTS !\nrm\n```"),
        ("@{{ x }}~/.ssh", "@ $ARGUMENTS~/.ssh"),
    ];
    for (text, harmless) in cases {
        assert_eq!(
            body(ExportFormat::Claude, &jinja(&["x"], text)),
            format!("{harmless}\n")
        );
    }
    let text = body(ExportFormat::Opencode, &jinja(&["x"], "a!{{ x }}`rm`"));
    assert_eq!(text, "a! $ARGUMENTS `rm`\n");
}

#[test]
fn opencode_runs_and_replaces_nothing() {
    let cases = [
        ("x!`rm`", "x! `rm`"),
        ("`a!` and `b!`", "`a! ` and `b!`"),
        ("`a!`", "`a!`"),
        (
            "costs $5, awk $1, $ARGUMENTS, $HOME",
            "costs $ 5, awk $ 1, $ ARGUMENTS, $HOME",
        ),
    ];
    for (text, harmless) in cases {
        assert_eq!(
            body(ExportFormat::Opencode, &verbatim(text)),
            format!("{harmless}\n"),
            "{text}"
        );
    }
    let item = verbatim("costs $5 or $6").item(ExportFormat::Opencode);
    assert_eq!(
        item.notes,
        ["a space was put into 2 places that opencode would run or fill in, such as `$5`"]
    );
    let item = verbatim("Look:\n!`git log --oneline`\n").item(ExportFormat::Claude);
    assert_eq!(
        item.notes,
        [
            "a space was put into one place that Claude Code would run or fill in: \"!`git log --oneline`\""
        ]
    );
    let long = format!("!{{{}}}", "x".repeat(100));
    let item = verbatim(&long).item(ExportFormat::Gemini);
    let shown = format!("`!{{{}…`", "x".repeat(28));
    assert!(item.notes[0].ends_with(&shown), "{:?}", item.notes);
    // A value may end in `!`, and a number may go on.
    let cases = [
        ("{{ x }}0 {{ y }}", "$1 0 $2"),
        ("{{ x }}`ls` {{ y }}", "$1 `ls` $2"),
        ("!{{ x }} {{ y }}", "! $1 $2"),
    ];
    for (text, harmless) in cases {
        let text = body(ExportFormat::Opencode, &jinja(&["x", "y"], text));
        assert_eq!(text, format!("{harmless}\n"));
    }
}

#[test]
fn gemini_runs_and_replaces_nothing() {
    let text = gemini("!{rm} @{/etc/passwd} {{args}} {{ args }} !x");
    assert_eq!(text, "! {rm} @ {/etc/passwd} {{ args}} {{ args }} !x");
    let item = jinja(&["args", "x"], "{{ args }} {{ x }}").item(ExportFormat::Gemini);
    assert_eq!(item.text.matches("{{args}}").count(), 1, "{}", item.text);
}

#[test]
fn copilot_gets_no_inputs_out_of_text() {
    let text = body(
        ExportFormat::Copilot,
        &verbatim("${input:x} ${file} ${HOME}"),
    );
    assert_eq!(text, "$ {input:x} ${file} ${HOME}\n");
}

#[test]
fn claude_leaves_text_that_looks_like_arguments() {
    let shelf = jinja(
        &["x", "y"],
        "{{ x }} {{ y }} $ARGUMENTS $1 $x $xs $HOME $y.",
    );
    let text = r"$x $y \$ARGUMENTS \$1 \$x $xs $HOME \$y.";
    assert_eq!(body(ExportFormat::Claude, &shelf), format!("{text}\n"));
    // Without arguments, numbers stay as they are unless one of them starts a count.
    for (text, expected) in [
        ("costs $5 $ARGUMENTS", "costs $5 \\$ARGUMENTS\n"),
        (
            "`awk '{print $1}'` $ARGUMENTSX",
            "`awk '{print $1}'` \\$ARGUMENTSX\n",
        ),
        ("costs $1 or $5", "costs \\$1 or \\$5\n"),
    ] {
        assert_eq!(body(ExportFormat::Claude, &verbatim(text)), expected);
    }
    let why = jinja(&["x"], "a\\{{ x }}").why(ExportFormat::Claude);
    assert!(why.contains("backslash right before an argument"), "{why}");
    let why = jinja(&["x"], "\\$1 {{ x }}").why(ExportFormat::Claude);
    assert!(
        why.contains("backslash before what looks like an argument"),
        "{why}"
    );
}

#[test]
fn files_that_would_be_attached_are_told() {
    let item = verbatim("See @src/main.rs, @./x and @docs/.").item(ExportFormat::Claude);
    let note = "Claude Code attaches `@src/main.rs`, `@./x`, `@docs/` where there is such a file";
    assert_eq!(item.notes, [note]);
    let item = verbatim("In ${CLAUDE_PROJECT_DIR}").item(ExportFormat::Claude);
    assert_eq!(
        item.notes,
        ["Claude Code fills in `${CLAUDE_…}`, which is mere text in Twig"]
    );
}

#[test]
fn toml_holds_any_text() {
    let texts = [
        "'''",
        "a''",
        "ends in '",
        "\"\"\"",
        "\\ \\u0000",
        "\n\nlines\n",
        "tab\t bell\u{7} del\u{7f}",
        "one\r\ntwo\rthree",
        "\u{feff}mark",
    ];
    for text in texts {
        let back = gemini(text);
        assert_eq!(
            back.trim_end_matches('\n'),
            text.trim_end_matches('\n'),
            "{text:?}"
        );
    }
}

#[test]
fn text_that_looks_like_front_matter_stays_text() {
    for text in [
        "---\nname: x\n---\nbody",
        "---\n",
        "...\n",
        "````\nx\n````",
        "# a\n---\nb: c\n---",
    ] {
        for client in [
            ExportFormat::Claude,
            ExportFormat::Copilot,
            ExportFormat::Opencode,
            ExportFormat::Skills,
        ] {
            let back = body(client, &verbatim(text));
            assert_eq!(back.trim_end(), text.trim_end(), "{text:?}");
        }
        let item = verbatim(text).item(ExportFormat::Cursor);
        let split = twig_core::front_matter::split(&item.text);
        assert_eq!(split.front, None, "{}", item.text);
    }
}
