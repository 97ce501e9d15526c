//! What a prompt looks like in each format.

use twig_clients::clients::ExportFormat;
use twig_core::front_matter;
use twig_core::{Dialect, Limits};

use super::{Shelf, body, jinja, prompt, unmarked, verbatim};

/// A prompt with all that a prompt may have.
fn review() -> Shelf {
    let mut review = prompt("code_review", &["language", "code!"]);
    review.title = Some("Code review".into());
    review.description = Some("Reviews code: slowly".into());
    let arguments = review.arguments.to_mut();
    arguments[0].description = Some("Programming language".into());
    arguments[0].default = Some("rust".into());
    arguments[0].choices = vec!["rust".into(), "go".into()];
    let text = "Review this {{ language }} code:\n\n{{ code }}\n";
    Shelf::default().with("lib", Dialect::Jinja, review, text)
}

fn check(client: ExportFormat, path: &str, text: &str, notes: &[&str]) {
    let item = review().item(client);
    assert_eq!(item.path, path);
    assert_eq!(unmarked(client, &item), text);
    assert_eq!(item.notes, notes);
}

#[test]
fn skills_have_the_keys_of_the_specification_and_a_list_of_arguments() {
    check(
        ExportFormat::Skills,
        "code-review/SKILL.md",
        r#"---
name: code-review
description: "Reviews code: slowly"
metadata:
  title: "Code review"
---
Review this $ARGUMENTS[0] code:

$ARGUMENTS[1]

Arguments, in the order in which they are given:

- language: Programming language (one of rust, go; default: rust)
- code (required)
"#,
        &[
            "is called `code-review`",
            "skills have no arguments: clients that know `$ARGUMENTS` fill it in, a list at the end tells the others",
        ],
    );
}

#[test]
fn claude_has_named_arguments() {
    check(
        ExportFormat::Claude,
        "code_review.md",
        r#"---
description: "Reviews code: slowly"
argument-hint: "[language] <code>"
arguments: language code
---
Review this $language code:

$code
"#,
        &[
            "loses the title, the description of `language`, the default of `language`, the choices of `language`",
        ],
    );
}

#[test]
fn copilot_has_inputs() {
    check(
        ExportFormat::Copilot,
        "code_review.prompt.md",
        r#"---
description: "Reviews code: slowly"
---
Review this ${input:language:Programming language} code:

${input:code}
"#,
        &[
            "loses the title, the default of `language`, the choices of `language`, that `code` is required",
        ],
    );
}

#[test]
fn cursor_has_text_and_a_list() {
    check(
        ExportFormat::Cursor,
        "code_review.md",
        "Review this {{language}} code:

{{code}}

Arguments, given after the command in this order; put them where the text has their names in double braces:

- language: Programming language (one of rust, go; default: rust)
- code (required)

",
        &[
            "Cursor has no arguments: a list at the end tells the model what to fill in",
            "loses the title",
            "loses the description",
        ],
    );
}

#[test]
fn opencode_has_numbers_from_one() {
    check(
        ExportFormat::Opencode,
        "code_review.md",
        r#"---
description: "Reviews code: slowly"
---
Review this $1 code:

$2
"#,
        &[
            "loses the title, the name of `language`, `code`, the description of `language`, the default of `language`, the choices of `language`, that `code` is required",
        ],
    );
}

#[test]
fn windsurf_has_a_description_and_a_list() {
    check(
        ExportFormat::Windsurf,
        "code_review.md",
        r#"---
description: "Reviews code: slowly"
---
Review this {{language}} code:

{{code}}

Arguments, given after the command in this order; put them where the text has their names in double braces:

- language: Programming language (one of rust, go; default: rust)
- code (required)
"#,
        &[
            "Windsurf has no arguments: a list at the end tells the model what to fill in",
            "loses the title",
        ],
    );
}

#[test]
fn gemini_has_one_argument_and_a_list_for_more() {
    check(
        ExportFormat::Gemini,
        "code_review.toml",
        r#"description = "Reviews code: slowly"
prompt = '''
Review this {{ language }} code:

{{ code }}

Arguments, given in this order; put them where the text has their names in double braces:

- language: Programming language (one of rust, go; default: rust)
- code (required)

{{args}}
'''
"#,
        &[
            "Gemini CLI has one argument: a list at the end tells the model what to fill in",
            "loses the title",
        ],
    );
    let one = jinja(&["topic"], "About {{ topic }}").item(ExportFormat::Gemini);
    assert!(
        one.text.ends_with("prompt = '''\nAbout {{args}}\n'''\n"),
        "{}",
        one.text
    );
    assert_eq!(one.notes, ["loses the name of `topic`"]);
}

#[test]
fn a_single_argument_is_all_that_was_typed() {
    let shelf = jinja(
        &["topic"],
        "About {{ topic }}, {{ topic }}s and {{ topic }}[1]",
    );
    let text = "About $ARGUMENTS, $ARGUMENTS[0]s and $topic[1]\n";
    assert_eq!(body(ExportFormat::Claude, &shelf), text);
    let text = "About $ARGUMENTS, $ARGUMENTSs and $ARGUMENTS[1]\n";
    assert_eq!(body(ExportFormat::Opencode, &shelf), text);
    let text = body(ExportFormat::Skills, &shelf);
    assert!(
        text.starts_with("About $ARGUMENTS, $ARGUMENTSs and $ARGUMENTS[0][1]\n"),
        "{text}"
    );
}

#[test]
fn a_skill_without_a_description_gets_one() {
    let mut main = prompt("main", &["topic"]);
    main.description = None;
    let shelf = Shelf::default().with("lib", Dialect::Jinja, main, "# About {{ topic }}\n\nmore");
    let item = shelf.item(ExportFormat::Skills);
    assert!(
        item.text.contains("\ndescription: About topic\n"),
        "{}",
        item.text
    );
}

#[test]
fn long_descriptions_of_skills_end_with_a_word() {
    let long = |words: usize| {
        let mut main = prompt("main", &[]);
        main.description = Some("word ".repeat(words).trim_end().into());
        let item = Shelf::default()
            .with("lib", Dialect::Verbatim, main, "x")
            .item(ExportFormat::Skills);
        let front = front_matter::read(&item.text, &Limits::default());
        let description = front.fields.text("description").expect("a description");
        (description.to_owned(), item.notes)
    };
    // 205 words make 1024 characters.
    let (description, notes) = long(205);
    assert_eq!((description.chars().count(), notes.len()), (1024, 0));
    let (description, notes) = long(206);
    assert!(description.ends_with("word…") && description.chars().count() <= 1024);
    assert_eq!(notes, ["the description is cut to 1024 characters"]);
}

#[test]
fn windsurf_takes_twelve_thousand_characters() {
    let shelf = |length: usize| verbatim(&"ä".repeat(length));
    let around = shelf(10).item(ExportFormat::Windsurf).text.chars().count() - 10;
    let item = shelf(12_000 - around).item(ExportFormat::Windsurf);
    assert_eq!(item.text.chars().count(), 12_000);
    assert_eq!(
        shelf(12_001 - around).why(ExportFormat::Windsurf),
        "is longer than the 12000 characters that Windsurf takes"
    );
}

#[test]
fn arguments_that_the_text_does_not_use_are_left_out() {
    let item = jinja(&["a", "b", "c"], "{{ a }} and {{ c }}").item(ExportFormat::Opencode);
    assert!(item.text.ends_with("---\n$1 and $2\n"), "{}", item.text);
    assert_eq!(
        item.notes[0],
        "argument `b` is left out: the text does not use it"
    );
}

#[test]
fn copilot_says_that_it_has_no_order_but_that_of_the_text() {
    let item =
        jinja(&["a", "b", "c"], "{{ c }} {{ a }} {{ c }} {{ b }}").item(ExportFormat::Copilot);
    assert_eq!(
        item.notes,
        ["loses the order of the arguments: in the text it is `c`, `a`, `b`"]
    );
    let item = jinja(&["a", "b"], "{{ a }} {{ b }} {{ a }}").item(ExportFormat::Copilot);
    assert_eq!(item.notes, [] as [&str; 0]);
}
