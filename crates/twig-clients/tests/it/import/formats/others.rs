//! Folders of claude-prompts, which refer to each other, and labels that hide something.

use twig_clients::import::Format;

use super::super::{Kept, one, outcome, taken};

#[test]
fn folders_of_claude_prompts_become_prompts() {
    let review = "id: code_review\nname: Code Review\ndescription: Looks at code\narguments:\n  - name: code\n    required: true\n    description: What to look at\n  - name: depth\n    options: [short, long]\n    defaultValue: short\n  - name: who\n    validation: {maxLength: 20, pattern: '^[a-z]+$'}\n";
    let files = [
        ("dev/code_review/prompt.yaml", review),
        (
            "dev/code_review/user-message.md",
            "{{ref:style}}\n{% if who %}For {{who}}.{% endif %}\n{{ code }} ({{depth}}) {{script:run}} {{ref:gone}}\n",
        ),
        (
            "dev/code_review/system-message.md",
            "Be careful with {braces}.",
        ),
        (
            "dev/style/prompt.yaml",
            "id: style\nname: Style\nuserMessageTemplateFile: user-message.md\narguments:\n  - {name: lang, defaultValue: en}\n",
        ),
        ("dev/style/user-message.md", "Write {{lang}}."),
        (
            "dev/chain/prompt.yaml",
            "id: chain\nname: Chain\nchainSteps:\n  - promptId: style\n",
        ),
        (
            "dev/lost/prompt.yaml",
            "id: lost\nname: Lost\nuserMessageTemplateFile: ../../etc/passwd\n",
        ),
        ("dev/bad/prompt.yaml", "id: [unclosed\n"),
        ("dev/category.yaml", "id: dev\nname: Dev\n"),
    ];
    let found = outcome(&files, None);
    assert_eq!((found.items.len(), found.others.len()), (5, 4));
    let kept = Kept::of(&found.items);
    assert_eq!(kept.problems(), Vec::<String>::new());
    let values = [("code", "{{x}}"), ("who", "me")];
    assert_eq!(
        kept.render("code_review", &values),
        "Be careful with {braces}.\n\nWrite en.\nFor me.\n{{x}} (short) {{script:run}} {{ref:gone}}\n"
    );
    let item = &found.items[0];
    for change in [
        "`{{script:run}}` would run a program and stays as it is",
        "`{{ref:gone}}` is not in the import and stays as it is",
    ] {
        assert!(
            item.changes.iter().any(|it| it == change),
            "{:?}",
            item.changes
        );
    }
    let why = found
        .items
        .iter()
        .filter_map(|item| item.prompt.as_ref().err());
    let why: Vec<&str> = why.map(String::as_str).collect();
    assert_eq!(
        why[0],
        "a chain of prompts: each of them is a prompt, the chain is none"
    );
    assert_eq!(why[1], "its file `../../etc/passwd` is not in the import");
    assert!(why[2].starts_with("it is not valid YAML: "), "{}", why[2]);
}

#[test]
fn prompts_that_refer_to_each_other_in_a_circle_end() {
    let files = [
        (
            "a/prompt.yaml",
            "id: a\nname: A\nuserMessageTemplate: 'A {{ref:b}}'\n",
        ),
        (
            "b/prompt.yaml",
            "id: b\nname: B\nuserMessageTemplate: 'B {{ref:a}} {{ref:b}}'\n",
        ),
    ];
    let found = outcome(&files, None);
    let kept = Kept::of(&found.items);
    assert!(kept.render("a", &[]).starts_with("A B "));
    assert!(kept.render("b", &[]).starts_with("B A "));
}

#[test]
fn titles_and_descriptions_hide_nothing() {
    let text = "act,prompt\n\"Ti\u{200b}tle\u{1b}\",\"Te\u{202e}xt\"\n";
    let item = one("a.csv", text);
    let prompt = taken(&item);
    assert_eq!(prompt.title.as_deref(), Some("Title"));
    assert_eq!(prompt.description.as_deref(), Some("Text"));
    assert_eq!(
        item.changes,
        ["characters that nobody sees are left out of its title"]
    );
    let errors = Kept::of([&item]).problems();
    assert!(
        errors.iter().all(|problem| !problem.contains("error[")),
        "{errors:?}"
    );
}

#[test]
fn descriptions_come_from_the_first_paragraph_or_heading() {
    for (text, expected) in [
        (
            "# Head\n\nFirst line\nsecond.\n\nMore",
            "First line second.",
        ),
        ("# Head\n", "Head"),
        ("---\n---\n```\ncode\n```", "code"),
    ] {
        let item = one("x.mdc", text);
        assert_eq!(
            taken(&item).description.as_deref(),
            Some(expected),
            "{text}"
        );
    }
    let long = one("x.mdc", &"word ".repeat(500));
    let description = taken(&long).description.clone().unwrap();
    assert!(
        description.chars().count() <= 200 && description.ends_with("word…"),
        "{description}"
    );
}

#[test]
fn entries_of_langfuse_that_are_no_prompts_are_told() {
    let text = r#"{"data": [
        {"name": "good", "prompt": "Text"},
        {"name": "null", "prompt": null},
        {"name": "object", "prompt": {"text": "x"}},
        {"name": "number", "prompt": 5},
        {"prompt": "No name"},
        {"name": "none", "versions": [1, 2]},
        "words",
        {"name": "chat", "prompt": [{"role": "user", "content": "Hi"}, "words"]},
        {"prompt": [{"role": "user", "content": "Hi"}]}
    ]}"#;
    let items = outcome(&[("a.json", text)], None).items;
    let left = items.iter().filter_map(|item| {
        let why = item.prompt.as_ref().err()?;
        Some(format!("{}: {why}", item.from))
    });
    assert_eq!(
        left.collect::<Vec<_>>(),
        [
            "a.json, null: its `prompt` is null",
            "a.json, object: its `prompt` is an object, and no text or list of messages",
            "a.json, number: its `prompt` is no text or list of messages",
            "a.json, entry 5: it has no `name`",
            "a.json, none: it has no `prompt`",
            "a.json, entry 7: it is no object with `name` and `prompt`",
            "a.json, entry 9: it has no `name`",
        ]
    );
    assert_eq!(items.len(), 9);
    assert_eq!(
        items[1].changes,
        ["a message that is no object is left out"]
    );
    let alone = outcome(&[("a.json", r#"{"prompt": "x"}"#)], Some(Format::Langfuse));
    assert_eq!(
        alone.items[0].prompt.as_ref().unwrap_err(),
        "it has no `name`"
    );
}

#[test]
fn a_quote_that_does_not_close_is_told() {
    for (text, line) in [
        ("act,prompt\nOne,Text\nTwo,\"Text\nThree,Text\n", 3),
        ("act,prompt\r\nOne,Text\r\n\r\n\"Two\",\"a \"\"b\"\" c", 4),
        ("act,prompt\nOne,\"Text\nmore\"\n\"Two,\"\"x\"\"\n", 4),
    ] {
        let items = outcome(&[("a.csv", text)], None).items;
        assert_eq!(items.len(), 2, "{text}");
        assert!(items[0].prompt.is_ok(), "{text}");
        let why = items[1].prompt.as_ref().unwrap_err();
        let said = format!("the quote in line {line} does not close");
        assert!(why.starts_with(&said), "{why}");
    }
    for text in [
        "act,prompt\nTwo,\"Text\"",
        "act,prompt\nTwo,Te\"xt",
        "act,prompt\nTwo,\"Te\"\"xt\"\r\n",
        "act,prompt\nTwo,\"Te\"xt\"",
    ] {
        assert!(one("a.csv", text).prompt.is_ok(), "{text}");
    }
}

#[test]
fn descriptions_are_no_template_source() {
    for (path, text, expected) in [
        (
            "a.prompt",
            "{{role \"system\"}}You are {{#if opt}}kind{{else}}strict{{/if}}. Answer in one line.",
            "Answer in one line.",
        ),
        (
            "a.prompt",
            "Review {{language}} code for bugs. Then stop.",
            "Review … code for bugs.",
        ),
        (
            "kit/greet.prompt",
            "{{#each names}}{{this}}{{/each}}",
            "The prompt `kit/greet`",
        ),
        (
            "a.prompt",
            "---\nname: Shop Help\n---\n{{x}}",
            "The prompt `Shop Help`",
        ),
        (
            "a.tmpl",
            "{{if .x}}Use {{.x}}{{end}}\n\n# Head\n\nWrite tests for it: {{.code}}\n",
            "Write tests for it: …",
        ),
        // Kept as it is, as nothing ends the block.
        (
            "a.tmpl",
            "{{range .items}}{{.}}\nSum up the list. More",
            "Sum up the list.",
        ),
        (
            "a.prompty",
            "system:\nYou help {{name}} well.\nuser:\n{{q}}\n",
            "You help … well.",
        ),
        (
            "a.json",
            r#"{"name": "n", "prompt": "{{ a }}\n\nSay hello. {{b}}"}"#,
            "Say hello.",
        ),
    ] {
        let item = one(path, text);
        let description = taken(&item).description.as_deref();
        assert_eq!(description, Some(expected), "{text}");
    }
}
