//! What can be written, whatever its dialect, and what is left with the reason.

use twig_clients::clients::ExportFormat;
use twig_core::{Content, Dialect, MediaKind, MessageSource, RelativePath, Role, TextForm};

use super::{Shelf, body, jinja, prompt};

#[test]
fn templates_that_do_more_than_print_are_left() {
    let cases = [
        ("{% if x %}a{% endif %}", "conditions"),
        ("{{ 'a' if x else 'b' }}", "conditions"),
        ("{% for i in x %}{{ i }}{% endfor %}", "loops"),
        ("{{ x | upper }}", "filters"),
        ("{{ x ~ 'a' }}", "computed parts"),
        ("{% set y = x %}{{ y }}", "computed parts"),
    ];
    for (text, what) in cases {
        let why = jinja(&["x"], text).why(ExportFormat::Claude);
        assert_eq!(
            why,
            format!("its template has {what}, which a file cannot hold"),
            "{text}"
        );
    }
}

#[test]
fn conditions_in_what_is_included_count() {
    let shelf = jinja(&["x"], "{% include 'part' %}").file("lib:part.md", "{% if x %}a{% endif %}");
    assert!(shelf.why(ExportFormat::Claude).contains("conditions"));
    let shelf = jinja(&["x"], "a {% include 'part' %} c").file("lib:part.md", "b {{ x }}");
    assert_eq!(body(ExportFormat::Opencode, &shelf), "a b $ARGUMENTS c\n");
}

#[test]
fn without_arguments_a_template_is_written_as_it_renders() {
    let shelf = jinja(
        &[],
        "{% for i in range(3) %}{{ i }},{% endfor %}{% raw %}{{ x }}{% endraw %}",
    );
    assert_eq!(body(ExportFormat::Claude, &shelf), "0,1,2,{{ x }}\n");
    let item = shelf.item(ExportFormat::Claude);
    assert_eq!(item.notes, ["is written as its template renders now"]);
    let item = jinja(&[], "{# a comment #}text").item(ExportFormat::Claude);
    assert_eq!(item.notes, [] as [&str; 0]);
}

#[test]
fn defaults_in_the_text_are_told() {
    let shelf = jinja(
        &["x", "y"],
        "{{ x | default(\"it's \\\"1\\\"\") }} {{- y|d('z', true) -}} ",
    );
    assert_eq!(body(ExportFormat::Claude, &shelf), "$x$y\n");
    let item = shelf.item(ExportFormat::Claude);
    assert_eq!(item.notes, ["loses the default of `x`, `y`"]);
    let item = shelf.item(ExportFormat::Cursor);
    assert!(
        item.text
            .contains("- x (default: it's \"1\")\n- y (default: z)"),
        "{}",
        item.text
    );
}

#[test]
fn a_variable_that_is_no_argument_is_the_reason() {
    let why = jinja(&["x"], "{{ z }}").why(ExportFormat::Claude);
    assert!(why.contains("undefined variable 'z'"), "{why}");
}

#[test]
fn several_messages_become_one_text() {
    let message = |role, text: &str| MessageSource {
        role,
        content: Content::Text {
            text: text.into(),
            line: 1,
            form: TextForm::Lines,
            file: None,
        },
    };
    let shelf = |roles: [Role; 2]| {
        let mut main = prompt("main", &["x"]);
        let [one, two] = roles;
        main.messages = vec![message(one, "One {{ x }}"), message(two, "Two")];
        Shelf::default().with("lib", Dialect::Jinja, main, "")
    };
    let users = shelf([Role::User, Role::User]);
    assert_eq!(
        body(ExportFormat::Opencode, &users),
        "One $ARGUMENTS\n\nTwo\n"
    );
    assert_eq!(
        users.item(ExportFormat::Opencode).notes[0],
        "its 2 messages are one text"
    );
    let why = shelf([Role::User, Role::Assistant]).why(ExportFormat::Opencode);
    assert_eq!(
        why,
        "has messages of the assistant, which a file cannot hold"
    );
}

#[test]
fn pictures_and_programs_are_left() {
    let mut main = prompt("main", &[]);
    main.messages = vec![MessageSource {
        role: Role::User,
        content: Content::Media {
            kind: MediaKind::Image,
            mime: "image/png",
            path: RelativePath::parse("x.png").expect("a path"),
        },
    }];
    let shelf = Shelf::default()
        .with("lib", Dialect::Jinja, main, "")
        .file("lib:x.png", "x");
    assert_eq!(
        shelf.why(ExportFormat::Skills),
        "has image/png, which a file cannot hold"
    );
    let shelf = Shelf::default().with("lib", Dialect::Function, prompt("main", &[]), "");
    assert_eq!(
        shelf.why(ExportFormat::Skills),
        "a program makes it, and a file runs none"
    );
    let shelf = Shelf::default().with("lib", Dialect::Verbatim, prompt("main", &[]), "");
    assert_eq!(shelf.why(ExportFormat::Skills), "says nothing");
}

#[test]
fn input_is_put_where_it_stands_or_at_the_end() {
    let shelf =
        |text: &str| Shelf::default().with("lib", Dialect::Input, prompt("main", &["input"]), text);
    let text = "---\ndescription: x\n---\nAbout {{input}}.\n";
    assert_eq!(
        body(ExportFormat::Claude, &shelf(text)),
        "About $ARGUMENTS.\n"
    );
    assert_eq!(
        body(ExportFormat::Claude, &shelf("Do it.\n")),
        "Do it.\n\n$ARGUMENTS\n"
    );
}

#[test]
fn text_that_looks_like_our_own_values_stays_text() {
    let numbers = "$7340912586 $734091258600000 $734091258700001 $7340912588";
    let shelf = jinja(&["x"], &format!("{numbers} {{{{ x }}}}"));
    let text = body(ExportFormat::Claude, &shelf);
    assert_eq!(text.replace('\\', ""), format!("{numbers} $ARGUMENTS\n"));
}

#[test]
fn keys_that_only_one_client_follows_are_told() {
    let dialect = Dialect::Marks(twig_core::Marks::None);
    let text = "---\ndescription: x\nmodel: big\nallowed-tools: Bash(git:*)\n---\nDo it.\n";
    let shelf = Shelf::default().with("claude", dialect, prompt("main", &[]), text);
    let item = shelf.item(ExportFormat::Opencode);
    assert_eq!(
        item.notes,
        ["leaves out `allowed-tools`, `model` of its front matter"]
    );
    assert!(!item.text.contains("Bash"), "{}", item.text);
}

#[test]
fn keys_are_kept_for_the_client_that_follows_them() {
    let dialect = Dialect::Marks(twig_core::Marks::None);
    let text = "---\ndescription: x\nmodel: 'big: 1'\neffort: 3\ndisable-model-invocation: true\n\
        allowed-tools:\n  - Bash(git add:*)\n  - Read\npaths: {a: [\"*.rs\", null], b: \"#c\"}\n\
        hooks:\n  Stop: [{command: rm}]\n---\nDo it.\n";
    let shelf = Shelf::default().with("claude", dialect, prompt("main", &[]), text);
    let item = shelf.item(ExportFormat::Claude);
    assert_eq!(
        item.notes,
        [
            "leaves out `hooks` of its front matter",
            "keeps `allowed-tools: [\"Bash(git add:*)\", \"Read\"]`, and clients may run these without asking",
        ]
    );
    let limits = twig_core::Limits::default();
    let (before, after) = (
        twig_core::front_matter::read(text, &limits).fields,
        twig_core::front_matter::read(&item.text, &limits).fields,
    );
    for key in [
        "model",
        "effort",
        "disable-model-invocation",
        "allowed-tools",
        "paths",
    ] {
        assert!(after.value(key).is_some(), "{key}");
        assert_eq!(after.value(key), before.value(key), "{}", item.text);
    }
    // What a client runs by itself is not what a text brings along.
    assert_eq!(after.value("hooks"), None);
}

#[test]
fn skills_keep_the_tools_of_a_command_as_the_specification_has_them() {
    let dialect = Dialect::Marks(twig_core::Marks::None);
    for (tools, expected) in [
        (
            "Bash(git add:*), Bash(git status:*),Read",
            "Bash(git add:*) Bash(git status:*) Read",
        ),
        ("Read Write", "Read Write"),
        ("[Read, \"Bash(a, b)\"]", "Read Bash(a, b)"),
    ] {
        let text = format!("---\nallowed-tools: {tools}\nmodel: big\n---\nDo it.\n");
        let shelf = Shelf::default().with("claude", dialect, prompt("main", &[]), &text);
        let item = shelf.item(ExportFormat::Skills);
        let line = format!("\nallowed-tools: {expected}\n");
        assert!(item.text.contains(&line), "{}", item.text);
        assert_eq!(item.notes[0], "leaves out `model` of its front matter");
        assert!(
            item.notes[1].starts_with("keeps `allowed-tools: "),
            "{:?}",
            item.notes
        );
    }
}
