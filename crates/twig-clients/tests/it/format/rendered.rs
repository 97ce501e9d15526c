//! What such a prompt says: its text byte for byte, and values where their marks are.

use std::sync::Arc;

use twig_clients::clients::formats;
use twig_core::template::Templates;
use twig_core::{Catalog, Kind, RenderError};
use twig_core::{Latest, World};

use super::{KINDS, Shelf};

fn path(kind: Kind) -> &'static str {
    match kind {
        kind if kind == formats::COPILOT.kind() => "one.prompt.md",
        _ => "one.md",
    }
}

fn text(kind: Kind, file: &str, given: &[(&str, &str)]) -> String {
    Shelf::new(kind, [(path(kind), file)]).text("one", given)
}

#[test]
fn without_values_the_text_is_the_file() {
    let body = "\n# T\r\n\n{{ .Values }} ${{ secrets.X }} {{#if}} !`rm -rf /` !{ls} @file $5.00 $HOME \\$1 `awk '{print $1}'`\n\n  ";
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Skills) {
        let file = format!("---\ndescription: d\n---\n{body}");
        assert_eq!(text(kind, &file, &[]), body, "{}", kind.as_str());
        assert_eq!(text(kind, body, &[]), body, "{}", kind.as_str());
    }
    let file = "````prompt\n---\ndescription: d\n---\nInside\n````\n";
    assert_eq!(text(formats::COPILOT.kind(), file, &[]), "Inside\n");
}

#[test]
fn markdown_takes_an_input() {
    let file = "---\ndescription: d\n---\n\nA {{input}} B {{input}}\n";
    assert_eq!(text(Kind::Markdown, file, &[]), "\nA  B \n");
    assert_eq!(text(Kind::Markdown, file, &[("input", "x")]), "A x B x");
    assert_eq!(text(Kind::Markdown, file, &[("input", "")]), "A  B ");
    assert_eq!(
        text(Kind::Markdown, "Do it.\n", &[("input", "x")]),
        "Do it.\n\nx"
    );
}

#[test]
fn marks_become_values() {
    let hint = "---\nargument-hint: [a] [b]\n---\n";
    for (kind, file, given, expected) in [
        (
            formats::CLAUDE.kind(),
            "<$ARGUMENTS>".to_owned(),
            &[("arguments", "x  y")][..],
            "<x  y>",
        ),
        (formats::CLAUDE.kind(), "<$ARGUMENTS>".to_owned(), &[], "<>"),
        (
            formats::CLAUDE.kind(),
            format!("{hint}$1-$2 $ARGUMENTS \\$1 \\\\$1"),
            &[("a", "x"), ("b", "y")],
            "x-y x y $1 \\\\x",
        ),
        (
            formats::CLAUDE.kind(),
            format!("{hint}$1-$2 $ARGUMENTS"),
            &[("b", "y")],
            "$1-y y",
        ),
        (
            formats::CLAUDE.kind(),
            format!("{hint}$1 $2 $9 $10 $1.50 `awk '{{print $1}}'`"),
            &[("a", "x"), ("b", "y")],
            "x y $9 $10 $1.50 `awk '{print $1}'`",
        ),
        (
            formats::CLAUDE.kind(),
            format!("{hint}$ARGUMENTS[0] $1"),
            &[("a", "x"), ("b", "y")],
            "x y",
        ),
        (
            formats::CLAUDE.kind(),
            "---\narguments: pr pr-title\n---\n$pr $pr-title $prx \\$pr [$ARGUMENTS]".to_owned(),
            &[("pr", "1")],
            "1  $prx $pr [1]",
        ),
        (
            formats::CLAUDE.kind(),
            "---\narguments: a b\n---\n$1 then $2".to_owned(),
            &[("a", "x"), ("b", "y")],
            "x then y",
        ),
        (
            formats::CLAUDE.kind(),
            "---\narguments: a b\n---\nbody".to_owned(),
            &[("a", "x"), ("b", "y")],
            "body\n\nARGUMENTS: x y",
        ),
        (
            formats::CLAUDE.kind(),
            format!("{hint}body\n"),
            &[("arguments", "x")],
            "body\n\nARGUMENTS: x",
        ),
        (
            formats::CLAUDE.kind(),
            format!("{hint}body\n"),
            &[],
            "body\n",
        ),
        (
            formats::CLAUDE.kind(),
            "$ARGUMENTS $arguments".to_owned(),
            &[("arguments", "x")],
            "x $arguments",
        ),
        (
            formats::CODEX.kind(),
            "$FILE $HOME $FILENAME $$FILE".to_owned(),
            &[("FILE", "f"), ("FILENAME", "n")],
            "f $HOME n $$FILE",
        ),
        (
            formats::OPENCODE.kind(),
            "$1 \\$2".to_owned(),
            &[("arg1", "x"), ("arg2", "y")],
            "x \\y",
        ),
        (
            formats::COPILOT.kind(),
            "${input:a:hint} ${input:b} ${input:a}".to_owned(),
            &[("a", "x")],
            "x ${input:b} x",
        ),
        (
            formats::COPILOT.kind(),
            "---\nargument-hint: n\n---\nbody".to_owned(),
            &[("arguments", "x")],
            "body\n\nARGUMENTS: x",
        ),
    ] {
        assert_eq!(
            text(kind, &file, given),
            expected,
            "{} {file}",
            kind.as_str()
        );
    }
}

#[test]
fn empty_values_add_nothing() {
    let hint = "---\nargument-hint: [a] [b]\n---\n";
    let given = [("a", ""), ("b", "y")];
    let file = format!("{hint}<$1> <$2> <$ARGUMENTS>");
    assert_eq!(text(formats::CLAUDE.kind(), &file, &given), "<> <y> <y>");
    let file = format!("{hint}body");
    assert_eq!(
        text(formats::CLAUDE.kind(), &file, &[("arguments", "")]),
        "body"
    );
}

#[test]
fn values_are_never_looked_at() {
    let value = "$ARGUMENTS $1 ${input:a} $FILE {{input}} ${CLAUDE_SKILL_DIR} \\$1";
    let file = "---\nargument-hint: [a] [b]\n---\n$1 $2 $ARGUMENTS";
    let shown = text(formats::CLAUDE.kind(), file, &[("a", value), ("b", "$1")]);
    assert_eq!(shown, format!("{value} $1 {value} $1"));
    assert_eq!(
        text(formats::COPILOT.kind(), "${input:a}", &[("a", value)]),
        value
    );
    assert_eq!(
        text(formats::CODEX.kind(), "$FILE", &[("FILE", value)]),
        value
    );
    let shelf = Shelf::new(Kind::Skills, [("one/SKILL.md", "$ARGUMENTS")]);
    assert!(
        shelf
            .text("one", &[("arguments", value)])
            .starts_with(value)
    );
}

#[test]
fn check_tells_of_what_a_text_hides() {
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Skills) {
        let file = "---\ndescription: d\n---\nhid\u{200b}den";
        let shelf = Shelf::new(kind, [(path(kind), file)]);
        let catalog = Latest::from(Catalog::build(vec![Arc::new(shelf.library())]));
        let templates = Templates::new(shelf.limits.clone());
        let world = World {
            catalog: &catalog,
            bodies: &shelf,
            templates: &templates,
        };
        let problems = twig_core::check::check(world);
        let codes: Vec<&str> = problems
            .iter()
            .map(|problem| problem.code.as_str())
            .collect();
        assert_eq!(codes, ["hidden-text"], "{}", kind.as_str());
        assert_eq!(problems[0].line, Some(4));
    }
}

#[test]
fn codex_asks_for_what_is_missing() {
    let shelf = Shelf::new(formats::CODEX.kind(), [("one.md", "$FILE $LINE")]);
    let error = shelf
        .messages("one", &[("FILE", "x")])
        .expect_err("one is missing");
    assert!(matches!(error, RenderError::MissingArguments(missing) if missing.len() == 1));
}

#[test]
fn the_limit_holds_however_often_a_value_stands_there() {
    let mut shelf = Shelf::new(formats::CLAUDE.kind(), [("one.md", "$ARGUMENTS$ARGUMENTS")]);
    shelf.limits.rendered = 10;
    assert_eq!(shelf.text("one", &[("arguments", "12345")]), "1234512345");
    let error = shelf
        .messages("one", &[("arguments", "123456")])
        .expect_err("too long");
    assert_eq!(
        error.to_string(),
        "The rendered prompt exceeds the limit of 10 bytes"
    );
    let many = "$ARGUMENTS ".repeat(50_000);
    let shelf = Shelf::new(formats::CLAUDE.kind(), [("one.md", &*many)]);
    let value = "x".repeat(200_000);
    assert!(shelf.messages("one", &[("arguments", &value)]).is_err());
}
