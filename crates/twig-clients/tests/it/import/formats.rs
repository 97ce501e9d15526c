//! Each format with its traps, in files of our own.

mod others;
mod templates;

use twig_clients::import::Format;
use twig_core::Role;

use super::{Kept, one, outcome, rendered, taken};

fn left(path: &str, text: &str) -> String {
    match one(path, text).prompt {
        Err(why) => why,
        Ok(prompt) => panic!("{path} is taken: {prompt:?}"),
    }
}

const CSV: &str = "act,prompt,for_devs,type,contributor\n\
\"Life Coach\",\"Say \"\"hi\"\" to ${name}.\nThen {{ braces }} and {% endraw %}.\",FALSE,TEXT,a\n\
Life coach,Another ${Mother Language:English} and ${Mother Language:French},FALSE,TEXT,b\n\
\"Недвижимость \",${длина:10} ${{ secrets.X }} ${HOME} ${user.name},FALSE,IMAGE,c\n\
確定申告,text,TRUE,STRUCTURED,d\n\
Life Coach,\"Say \"\"hi\"\" to ${name}.\nThen {{ braces }} and {% endraw %}.\",FALSE,TEXT,a\n\
Empty,,FALSE,TEXT,e\n\
short\n";

#[test]
fn rows_of_the_catalogue_become_prompts() {
    let found = outcome(&[("prompts.csv", CSV)], None).items;
    assert_eq!(found.len(), 7);
    let names = found.iter().filter_map(|item| item.prompt.as_ref().ok());
    let names: Vec<&str> = names.map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names[0], "life-coach");
    assert!(names[1].starts_with("life-coach-") && names[1].len() == 17);
    assert_eq!(names[2..], ["nedvizhimost", "que-ding-shen-gao"]);
    let why = found[4..]
        .iter()
        .map(|item| item.prompt.as_ref().unwrap_err());
    let why: Vec<&str> = why.map(String::as_str).collect();
    assert_eq!(
        why,
        [
            "says the same as prompts.csv, row 1",
            "it says nothing",
            "the row has no prompt"
        ]
    );
    assert_eq!(found[2].notes, ["is for models that make pictures"]);
    assert_eq!(found[3].notes, ["is structured data, such as JSON"]);
    let kept = Kept::of(&found);
    assert_eq!(kept.problems(), Vec::<String>::new());
    let text = "Say \"hi\" to ${name}.\nThen {{ braces }} and {% endraw %}.";
    assert_eq!(kept.render("life-coach", &[]), text);
    let given = kept.render("life-coach", &[("name", "{{ you }}")]);
    assert_eq!(given, text.replace("${name}", "{{ you }}"));
    assert_eq!(kept.render(names[1], &[]), "Another English and English");
    let values = [("mother_language", "Welsh")];
    assert_eq!(kept.render(names[1], &values), "Another Welsh and Welsh");
    assert_eq!(
        kept.render("nedvizhimost", &[]),
        "10 ${{ secrets.X }} ${HOME} ${user.name}"
    );
    assert_eq!(
        taken(&found[2]).arguments.len(),
        1,
        "no argument is invented"
    );
    assert_eq!(
        found[1].changes,
        [
            "`Mother Language` has two defaults: the first counts, not `French`",
            "`Mother Language` is called `mother_language`",
            &format!(
                "another prompt is called `life-coach`: this one is `{}`",
                names[1]
            ),
        ]
    );
}

#[test]
fn what_is_a_language_s_own_is_no_placeholder() {
    let prompt = "Use ${topic} here.\n```js\nfetch(`/x/${id}`, ${data.length})\n```\n\
                  ```bash\necho ${NAME} ${framework:React} ${X:-1}\n```\n`${a}/${b.c}`\n";
    let text = format!("act,prompt\nx,\"{prompt}\"\n");
    let item = one("a.csv", &text);
    let names = taken(&item)
        .arguments
        .iter()
        .map(|argument| &*argument.name);
    assert_eq!(names.collect::<Vec<_>>(), ["topic", "framework"]);
    let said = rendered("a.csv", &text, &[]);
    assert_eq!(said, prompt.replace("${framework:React}", "React"));
}

#[test]
fn a_table_of_something_else_is_told() {
    let why = outcome(&[("a.csv", "a,b\n1,2\n")], None).others;
    assert_eq!(
        why[0].1,
        "its first row names no columns `act` and `prompt`"
    );
    let items = outcome(&[("a.csv", "a,b\n1,2\n")], Some(Format::PromptsChat)).items;
    assert!(items[0].prompt.is_err());
}

#[test]
fn a_large_prompt_keeps_its_text_and_loses_its_arguments() {
    let prompt = format!("${{name}} {}", "word ".repeat(30_000));
    let text = format!("act,prompt\nx,{prompt}\n");
    let item = one("a.csv", &text);
    assert!(taken(&item).arguments.is_empty() && !taken(&item).is_template);
    let change = "it is taken as it is, without arguments: a template may have 131072 bytes";
    assert_eq!(item.changes, [change]);
    let larger = format!("act,prompt\nx,{}\n", "word ".repeat(300_000));
    let why = left("a.csv", &larger);
    assert_eq!(why, "it is longer than the limit of 1048576 bytes");
}

#[test]
fn langfuse_text_and_chat() {
    let text = r#"{"name": "support/reply", "type": "text", "version": 1, "config": {"model": "x"},
        "prompt": "Hi {{ customer-name }}, {{#if x}} ${{ secrets.KEY }} @@@langfusePrompt:name=y|label=production@@@ {{{z}}}"}"#;
    let item = one("a.json", text);
    let prompt = taken(&item);
    assert_eq!(prompt.name, "support-reply");
    assert_eq!(prompt.title.as_deref(), Some("support/reply"));
    assert_eq!(item.notes, ["has settings for a model, which are not kept"]);
    let written = "Hi {{ customer-name }}, {{#if x}} ${{ secrets.KEY }} @@@langfusePrompt:name=y|label=production@@@ {{{z}}}";
    assert_eq!(rendered("a.json", text, &[]), written);
    let given = rendered("a.json", text, &[("customer_name", "Jo"), ("z", "!")]);
    let expected = written
        .replace("{{ customer-name }}", "Jo")
        .replace("{{z}}", "!");
    assert_eq!(given, expected);
    let change = "it refers to another prompt; the reference stays as it is";
    assert!(item.changes.iter().any(|known| known == change), "{item:?}");

    let chat = r#"[{"name": "chat", "type": "chat", "prompt": [
        {"role": "system", "content": "Be brief."}, {"type": "placeholder", "name": "history"},
        {"role": "user", "content": [{"type": "text", "text": "On {{topic}}"}]},
        {"role": "assistant", "content": "Sure."}, {"role": "tool", "content": "out"}]}]"#;
    let said = rendered("c.json", chat, &[("topic", "{{x}}")]);
    assert_eq!(said, "[user]Be brief.\n\nOn {{x}}[assistant]Sure.[user]out");
    let changes = one("c.json", chat).changes;
    assert_eq!(changes.len(), 3, "{changes:?}");
}

#[test]
fn of_langfuse_versions_that_in_use_is_taken() {
    let text = r#"{"data": [
        {"name": "a", "version": 1, "labels": ["production"], "prompt": "one"},
        {"name": "a", "version": 3, "labels": ["latest"], "prompt": "three"},
        {"name": "b", "version": 1, "prompt": "one"}, {"name": "b", "version": 2, "prompt": "two"},
        {"name": "c", "versions": [{"version": 1, "labels": ["latest"], "prompt": "c1"}, {"version": 2, "prompt": "c2"}]}]}"#;
    let items = outcome(&[("x.json", text)], None).items;
    let shown: Vec<(&str, &str)> = items
        .iter()
        .map(|item| match &item.prompt {
            Ok(prompt) => (item.from.as_str(), prompt.original.as_str()),
            Err(why) => (item.from.as_str(), why.as_str()),
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("x.json, a version 1 (production)", "one"),
            (
                "x.json, a version 3 (latest)",
                "version 1 (production) is taken"
            ),
            ("x.json, b version 1", "version 2 is taken"),
            ("x.json, b version 2", "two"),
            ("x.json, c version 1 (latest)", "c1"),
            ("x.json, c version 2", "version 1 (latest) is taken"),
        ]
    );
    let lines = "{\"name\":\"a\",\"prompt\":\"x\"}\n{\"name\":\"b\",\"prompt\":\"y\"}\n";
    assert_eq!(outcome(&[("a.jsonl", lines)], None).items.len(), 2);
    assert_eq!(
        outcome(&[("package.json", "{\"name\":\"x\"}")], None)
            .others
            .len(),
        1
    );
    assert_eq!(
        outcome(&[("a.json", "{nonsense")], Some(Format::Langfuse))
            .items
            .len(),
        1
    );
}

#[test]
fn rules_that_somebody_asks_for_are_prompts() {
    let manual = "---\ndescription: Use \"x\": always\nglobs:\nalwaysApply: false\n---\n# Rule\n\n{{ braces }}\r\n";
    let item = one("backend/api.mdc", manual);
    assert_eq!(taken(&item).name, "backend-api");
    assert_eq!(
        taken(&item).description.as_deref(),
        Some("Use \"x\": always")
    );
    assert_eq!(
        rendered("backend/api.mdc", manual, &[]),
        "# Rule\n\n{{ braces }}\r\n"
    );
    let none = one("x.mdc", "Only text.\n");
    assert_eq!(taken(&none).description.as_deref(), Some("Only text."));
    for globs in ["**/*", "[\"**/*\"]", "'*'"] {
        let text =
            format!("---\ndescription: All\nglobs: {globs}\nalwaysApply: false\n---\nText\n");
        let item = one("x.mdc", &text);
        assert_eq!(taken(&item).description.as_deref(), Some("All"), "{globs}");
        assert_eq!(item.changes, Vec::<String>::new(), "{globs}");
    }
    for (front, expected) in [
        (
            "globs: **/*.rs, src/**/*\nalwaysApply: false",
            "the rule goes with files (`globs: **/*.rs, src/**/*`): it is context, not a prompt",
        ),
        (
            "globs: [\"*.rs\"]",
            "the rule goes with files (`globs: *.rs`): it is context, not a prompt",
        ),
        (
            "globs: **/*\nalwaysApply: true",
            "the rule applies always (`alwaysApply: true`): it is context, not a prompt",
        ),
        (
            "alwaysApply: true",
            "the rule applies always (`alwaysApply: true`): it is context, not a prompt",
        ),
    ] {
        assert_eq!(
            left("x.mdc", &format!("---\n{front}\n---\nText\n")),
            expected
        );
    }
}

#[test]
fn continue_files_have_a_preamble_and_an_input() {
    let text = "name: Debug\ndescription: Find it\n---\n<system>\nBe {brief}.\n</system>\n\nSee {{{ currentFile }}} and {{{ input }}} {{x}}\n";
    let item = one("terminal:debug-jest.prompt", text);
    assert_eq!(taken(&item).name, "debug");
    let said = rendered(
        "terminal:debug-jest.prompt",
        text,
        &[("input", "{{{ input }}}")],
    );
    assert_eq!(
        said,
        "Be {brief}.\n\nSee {{{ currentFile }}} and {{{ input }}} {{x}}\n"
    );
    let said = rendered("terminal:debug-jest.prompt", text, &[]);
    assert_eq!(said, "Be {brief}.\n\nSee {{{ currentFile }}} and  {{x}}\n");
    assert_eq!(item.changes.len(), 2, "{:?}", item.changes);
    let plain = "name: X\n---\nOnly @file text\n";
    let item = one(
        ".continue/terminal:jest.prompt",
        "---\ninvokable: true\n---\nText",
    );
    assert_eq!(taken(&item).name, "terminal-jest");
    assert_eq!(rendered("a.prompt", plain, &[]), "Only @file text\n");
}

#[test]
fn several_messages_keep_who_says_them() {
    let text = "system:\nA\nuser:\nB\nassistant:\nC\n";
    let item = one("a.prompty", text);
    let roles: Vec<Role> = taken(&item).messages.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    assert_eq!(rendered("a.prompty", text, &[]), "[user]A\n\nB[assistant]C");
}
