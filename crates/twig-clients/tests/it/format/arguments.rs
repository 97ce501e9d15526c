//! Arguments are those that an author or a format names; none is made up.

use twig_clients::clients::formats;
use twig_clients::format::Options;
use twig_core::{Kind, Marks, Severity};
use twig_testkit::assert_linear;

use super::{Shelf, codes, names, one};

fn check(kind: Kind, text: &str, expected: &[&str]) {
    let (prompt, problems) = one(kind, text);
    assert_eq!(names(&prompt), expected, "{}: {text}", kind.as_str());
    assert_eq!(prompt.unavailable, None);
    assert!(codes(&problems, Severity::Error).is_empty(), "{problems:?}");
}

#[test]
fn what_looks_like_an_argument_is_none() {
    let texts = [
        "Values: {{ .Values.image }} {{#if x}} {{name}} {% raw %}",
        "env: ${{ secrets.TOKEN }} ${{ github.ref }} ${{ matrix.os }}",
        "echo $HOME ${HOME} $PATH \"$USER\"",
        "It costs $5, $10.00, $1,000 or $20k.",
        "It costs $1 or $2.50",
        "`awk '{print $1}'`",
        "```sh\nlocal name=\"$1\"\nshift $2\n```",
        "${PROJECT_TYPE=\"A|B\"} ${X == \"y\" ? 1 : 2}",
        "${selection} ${file} ${workspaceFolder} #tool:x @file !`ls` !{ls}",
        "\\$ARGUMENTS and \\$1",
        "US$1 A$1 $$1 $1st $ARGUMENTS_FILE",
    ];
    for text in texts {
        for kind in [
            formats::CLAUDE.kind(),
            Kind::Skills,
            formats::CURSOR.kind(),
            formats::WINDSURF.kind(),
            formats::COPILOT.kind(),
        ] {
            check(kind, text, &[]);
        }
    }
    for kind in [formats::OPENCODE.kind(), formats::CODEX.kind()] {
        for text in &texts[..4] {
            check(kind, text, &[]);
        }
    }
}

#[test]
fn the_whole_line_is_one_optional_argument() {
    for kind in [
        formats::CLAUDE.kind(),
        Kind::Skills,
        formats::OPENCODE.kind(),
        formats::CODEX.kind(),
    ] {
        let text = "---\nargument-hint: [file] | [folder]\n---\nLook at $ARGUMENTS.\n```sql\nVALUES ($1, $2)\n```\n";
        check(kind, text, &["arguments"]);
        let (prompt, _) = one(kind, text);
        let [argument] = &prompt.arguments[..] else {
            panic!()
        };
        assert!(!argument.required);
        assert_eq!(argument.description.as_deref(), Some("[file] | [folder]"));
    }
    for kind in [formats::CURSOR.kind(), formats::WINDSURF.kind()] {
        check(kind, "Look at $ARGUMENTS, $1.", &[]);
        check(kind, "---\narguments: file\n---\nLook at $file.", &["file"]);
    }
    let (prompt, _) = one(
        formats::CLAUDE.kind(),
        "---\nargument-hint: [x]\n---\nNo mark.",
    );
    assert_eq!(names(&prompt), ["arguments"]);
    assert_eq!(prompt.dialect, twig_core::Dialect::Marks(Marks::Appended));
}

#[test]
fn numbers_have_the_names_of_the_hint() {
    let claude = |hint: &str, body: &str, expected: &[&str]| {
        check(
            formats::CLAUDE.kind(),
            &format!("---\nargument-hint: {hint}\n---\n{body}"),
            expected,
        );
    };
    claude(
        "[PR number] <branch>",
        "Review $1 on $2.",
        &["pr-number", "branch"],
    );
    claude("[a]", "Review $1 on $2.", &["arg1", "arg2"]);
    claude("[a|b] [c]", "Review $1 on $2.", &["arg1", "arg2"]);
    claude("[a] [a]", "Review $1 on $2.", &["arg1", "arg2"]);
    claude("something", "First $0, then $1.", &["arg1", "arg2"]);
    claude(
        "[a] [b]",
        "First $ARGUMENTS[0], then `git show $1`.",
        &["a", "b"],
    );
    claude("[a]", "Look at $1, and then at $5.", &["a"]);
    claude("[a]", "It costs $5.", &["arguments"]);
    check(
        formats::CLAUDE.kind(),
        "All: $ARGUMENTS, first: $1",
        &["arg1"],
    );
}

#[test]
fn a_hint_counts_where_a_number_is_not_used() {
    let text = "---\nargument-hint: [a] [b] [c]\n---\n$3 then $1";
    check(formats::CLAUDE.kind(), text, &["a", "b", "c"]);
    let shelf = Shelf::new(formats::CLAUDE.kind(), [("one.md", text)]);
    let given = [("a", "x"), ("c", "z")];
    assert_eq!(shelf.text("lib:one", &given), "z then x");
    // A number past the words of the hint is not one of them.
    let text = "---\nargument-hint: [a] [b]\n---\n$1 for $300";
    check(formats::CLAUDE.kind(), text, &["arg1"]);
}

#[test]
fn braces_of_a_pattern_are_names_or_text() {
    let shelf = Shelf::new(
        formats::FABRIC.kind(),
        [
            ("a/system.md", "{{x}} {{ y }}"),
            ("b/system.md", "{{x}} {{y}}"),
        ],
    );
    let library = shelf.library();
    assert_eq!(names(&library.prompts[0]), ["input"]);
    assert_eq!(names(&library.prompts[1]), ["x", "y", "input"]);
    let codes: Vec<&str> = library.problems.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["braces-are-text"]);
    let many: String = (0..50_000).map(|at| format!("{{{{a{at}}}}}")).collect();
    let shelf = Shelf::new(formats::FABRIC.kind(), [("a/system.md", &*many)]);
    let library = shelf.library();
    assert_eq!(library.prompts[0].arguments.len(), shelf.limits.arguments);
    assert_eq!(library.problems[0].code, "too-many-arguments");
}

#[test]
fn the_base_is_told() {
    let note = |kind, options, text: &str| {
        let mut shelf = Shelf::new(kind, [("one.md", text)]);
        shelf.options = options;
        let library = shelf.library();
        let problems = library.problems.iter();
        let notes = problems.filter(|it| it.code == "first-argument");
        let notes: Vec<String> = notes.map(|it| it.message.clone()).collect();
        (notes.join("\n"), shelf)
    };
    let any = Options::default();
    let text = "---\nargument-hint: [a]\n---\n$1";
    let (said, shelf) = note(formats::CLAUDE.kind(), any, text);
    assert_eq!(
        said,
        "`$1` is taken as the first argument: the text does not use number 0"
    );
    assert_eq!(shelf.text("lib:one", &[("a", "x")]), "x");
    let (said, shelf) = note(
        formats::CLAUDE.kind(),
        any,
        "---\nargument-hint: [a] [b]\n---\n$0 $1",
    );
    assert_eq!(
        said,
        "`$0` is taken as the first argument: the text uses number 0"
    );
    assert_eq!(shelf.text("lib:one", &[("a", "x"), ("b", "y")]), "x y");
    let (said, _) = note(formats::OPENCODE.kind(), any, "$1");
    assert_eq!(
        said,
        "`$1` is taken as the first argument: the client counts from 1"
    );
    let zero = Options {
        first_argument: Some(0),
    };
    let (said, _) = note(
        formats::CLAUDE.kind(),
        zero,
        "---\nargument-hint: [a]\n---\n$0 $1",
    );
    assert_eq!(
        said,
        "`$0` is taken as the first argument: so it is set for the library"
    );
}

#[test]
fn clients_that_count_from_one_need_no_hint() {
    for kind in [formats::OPENCODE.kind(), formats::CODEX.kind()] {
        check(kind, "Compare $1 with $2.", &["arg1", "arg2"]);
        check(kind, "Compare $2 with $3.", &[]);
        check(kind, "Compare $1 with $3.", &[]);
        check(kind, "```sh\necho $1\n```", &[]);
    }
}

#[test]
fn codex_asks_for_its_names() {
    let text = "Open $FILE, then $TICKET_ID, $FILE again; $HOME, $Mixed, $$DOUBLE and ${BRACED}.\n```sh\nexport OUT=1\necho $OUT $LEVEL\n```\n";
    let (prompt, problems) = one(formats::CODEX.kind(), text);
    assert_eq!(names(&prompt), ["FILE", "TICKET_ID", "LEVEL"]);
    assert!(prompt.arguments.iter().all(|argument| argument.required));
    let note = problems.iter().find(|it| it.code == "shell-variable");
    let note = note.expect("a note");
    assert_eq!(
        note.message,
        "no arguments, but variables of a shell: `$HOME`, `$OUT`"
    );
    check(
        formats::CODEX.kind(),
        "$ARGUMENTS\n```sh\ncurl $API_URL\n```",
        &["arguments"],
    );
    // The rule is Codex's alone.
    for kind in [
        formats::CLAUDE.kind(),
        Kind::Skills,
        formats::OPENCODE.kind(),
        formats::CURSOR.kind(),
    ] {
        check(kind, text, &[]);
    }
}

#[test]
fn copilot_has_inputs() {
    let text = "Make ${input:projectName:demo-java}, ${input:projectName}, ${input:Box|1 week}, ${input:two words} and ${input:}, ${input:ü}.";
    let (prompt, _) = one(formats::COPILOT.kind(), text);
    assert_eq!(names(&prompt), ["projectName", "Box", "two_words"]);
    let descriptions = prompt.arguments.iter().map(|it| it.description.as_deref());
    let descriptions: Vec<_> = descriptions.collect();
    assert_eq!(descriptions, [Some("demo-java"), Some("1 week"), None]);
    check(
        formats::COPILOT.kind(),
        "---\nargument-hint: name\n---\n$ARGUMENTS $1",
        &["arguments"],
    );
}

#[test]
fn an_author_may_name_them() {
    let claude = |front: &str, expected: &[&str]| {
        check(
            formats::CLAUDE.kind(),
            &format!("---\n{front}\n---\nDo $a and $b."),
            expected,
        );
    };
    claude("arguments: a b", &["a", "b"]);
    claude("arguments: a, b", &["a", "b"]);
    claude("arguments: [a, b]", &["a", "b"]);
    claude("arguments:\n  - a\n  - b", &["a", "b"]);
    claude(
        "arguments:\n  a: the first\n  b:\n    required: yes",
        &["a", "b"],
    );
    claude("arguments:\nargument-hint: x", &["arguments"]);
    let text = "---\narguments:\n  - name: a\n    description: First\n    required: true\n    default: x\n    choices: [x, y, 1]\n    max_length: 5\n    pattern: ^[xy1]$\n  - name: 'b c'\n  - name: d\n    pattern: '['\n    max_length: long\n  - name: e\n    choices: [x]\n    default: z\n  - a\n  - [f]\n  - 7\n---\n$a";
    let (prompt, problems) = one(formats::CLAUDE.kind(), text);
    assert_eq!(names(&prompt), ["a", "d", "e"]);
    let [a, d, e] = &prompt.arguments[..] else {
        panic!()
    };
    assert_eq!(
        (a.description.as_deref(), a.required),
        (Some("First"), true)
    );
    assert_eq!(a.default.as_deref(), Some("x"));
    assert_eq!(a.choices, ["x".into(), "y".into(), "1".into()]);
    assert_eq!(a.max_length, Some(5));
    assert_eq!(
        a.pattern.as_ref().map(twig_core::model::Pattern::as_str),
        Some("^[xy1]$")
    );
    assert!(d.pattern.is_none() && d.max_length.is_none() && e.default.is_none());
    assert_eq!(codes(&problems, Severity::Warning), ["bad-argument"; 7]);
}

#[test]
fn there_are_no_more_than_the_limit() {
    let inputs =
        |count: usize| -> String { (0..count).map(|at| format!("${{input:a{at}}} ")).collect() };
    let (prompt, problems) = one(formats::COPILOT.kind(), &inputs(64));
    assert_eq!((prompt.arguments.len(), problems.len()), (64, 0));
    let (prompt, problems) = one(formats::COPILOT.kind(), &inputs(65));
    assert_eq!(prompt.arguments.len(), 64);
    assert_eq!(
        problems[0].message,
        "the prompt has too many arguments: those after the first 64 are left off"
    );
    let many = |count: usize| -> String {
        (0..count)
            .map(|at| format!("$A{at} ${{input:a{at}}} $ARGUMENTS[ ` "))
            .collect()
    };
    for kind in super::KINDS {
        assert_linear("marks", 10_000, many, |text| drop(one(kind, text)));
    }
}
