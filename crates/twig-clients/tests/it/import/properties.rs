//! Whatever the bytes: an item or a reason, never a panic; and text that comes out as it went in.

use proptest::prelude::*;
use twig_clients::import::ImportFormat;
use twig_core::PromptName;

use super::{Kept, outcome, taken};

/// Text out of what the formats are made of.
fn soup() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "{",
        "}",
        "{{",
        "}}",
        "{{{",
        "}}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "${",
        "$",
        "\\",
        "\"",
        "'",
        "`",
        "-",
        "~",
        "#",
        "/",
        "/*",
        "*/",
        ".",
        "..",
        "|",
        ":",
        ":=",
        "=",
        ",",
        "(",
        ")",
        "[",
        "]",
        " ",
        "\n",
        "\r\n",
        "---\n",
        "```\n",
        "x",
        "name",
        "if",
        "else",
        "end",
        "each",
        "range",
        "with",
        "define",
        "template",
        "role",
        "this",
        "for",
        "in",
        "endfor",
        "endif",
        "raw",
        "endraw",
        "system:\n",
        "user:\n",
        "ref:a",
        "script:b",
        "<system>",
        "</system>",
        "input",
        "a.b",
        "é",
        "確",
        "\u{200b}",
        "\0",
        "1",
        "\"prompt\"",
        "\"name\"",
        "prompt,act\n",
        "chainSteps",
        "inputs:\n",
        "alwaysApply: true\n",
    ]);
    prop::collection::vec(bits, 0..60).prop_map(|bits| bits.concat())
}

/// Text that somebody could have written between placeholders.
fn text() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "{",
        "}",
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{% endraw %}",
        "{% raw %}",
        "\\",
        "\"",
        "'",
        "\n",
        "\r\n",
        " ",
        "-",
        "word",
        "é",
        "%",
        "#",
        "{{ x }}",
        "{{-",
        "-}}",
        "\t",
    ]);
    prop::collection::vec(bits, 0..12).prop_map(|bits| bits.concat())
}

/// The same without anything that those languages would read.
fn single() -> impl Strategy<Value = String> {
    text().prop_map(|mut text| {
        while text.contains("{{") {
            text = text.replace("{{", "{");
        }
        let text = text.trim_end_matches(['\\', '{']);
        format!("a{}", text.trim_start_matches('}'))
    })
}

fn csv_cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_in_any_format_ends_in_items(text in soup(), format in prop::sample::select(ImportFormat::ALL.to_vec())) {
        let path = match format {
            ImportFormat::Minipuft => "a/prompt.yaml",
            ImportFormat::GoTemplates => "a.tmpl",
            _ => "a.txt",
        };
        let found = outcome(&[(path, &text)], Some(format));
        prop_assert!(found.others.is_empty());
        for item in &found.items {
            if let Ok(prompt) = &item.prompt {
                prop_assert!(PromptName::parse(&prompt.name).is_ok());
            }
        }
        // What is taken is served: nothing in it is an error.
        let problems = Kept::of(&found.items).problems();
        prop_assert!(!problems.iter().any(|it| it.contains("error[")), "{problems:?}\n{:?}", found.items);
    }

    #[test]
    fn any_text_behind_front_matter_ends_in_items(front in soup(), body in soup(), end in prop::sample::select(vec!["prompty", "prompt", "mdc", "tmpl", "csv", "json", "yaml"])) {
        let text = format!("---\n{front}\n---\n{body}");
        let path = format!("a.{end}");
        let found = outcome(&[(&path, &text)], None);
        prop_assert!(found.items.len() + found.others.len() >= 1);
    }

    #[test]
    fn rendering_a_row_is_substituting_its_placeholders(
        parts in prop::collection::vec((text(), prop::option::of("[a-c]( [a-c])?"), prop::option::of("[x-z{}%#]{1,3}")), 1..6),
        value in text(),
    ) {
        let mut original = String::new();
        let mut expected = String::new();
        let mut given = String::new();
        for (text, name, default) in &parts {
            original.push_str(text);
            expected.push_str(text);
            given.push_str(text);
            // The braces of a default would end it.
            let default = default.as_ref().map(|text| text.replace(['{', '}'], ""));
            let Some(name) = name else { continue };
            // A name has one default in this test, so that the expected text is plain to see.
            let name = match &default {
                Some(default) => format!("{name} with {}", default.replace('%', "p").replace('#', "h")),
                None => name.clone(),
            };
            let written = match &default {
                Some(default) => format!("${{{name}:{default}}}"),
                None => format!("${{{name}}}"),
            };
            original.push_str(&written);
            expected.push_str(default.as_deref().map_or(written.as_str(), |text| text));
            // An empty value is none where there is a default.
            given.push_str(match &default {
                Some(default) if value.is_empty() => default,
                _ => &value,
            });
        }
        // A sign in front would make a placeholder something else.
        prop_assume!(!original.contains("\\$") && !original.trim().is_empty());
        let csv = format!("act,prompt\nx,{}\n", csv_cell(&original));
        let found = outcome(&[("a.csv", &csv)], None).items;
        let Ok(prompt) = &found[0].prompt else { return Ok(()) };
        let kept = Kept::of(&found);
        let defaults_differ = found[0].changes.iter().any(|it| it.contains("two defaults"));
        if !defaults_differ {
            prop_assert_eq!(kept.render(&prompt.name, &[]), expected);
        }
        let values: Vec<(&str, &str)> = prompt.arguments.iter().map(|it| (&*it.name, value.as_str())).collect();
        prop_assert_eq!(kept.render(&prompt.name, &values), given);
    }

    #[test]
    fn handlebars_and_go_substitute_once(before in single(), after in single(), value in text()) {
        for (path, front, placeholder) in [
            ("a.prompt", "---\nmodel: x\n---\n", "{{name}}"),
            ("a.tmpl", "", "{{.name}}"),
        ] {
            let source = format!("{front}{before}{placeholder}{after}");
            let found = outcome(&[(path, &source)], None).items;
            let Ok(prompt) = &found[0].prompt else { continue };
            let kept = Kept::of(&found);
            let said = kept.render(&prompt.name, &[("name", &value)]);
            prop_assert_eq!(said, format!("{before}{value}{after}"), "{}", path);
        }
    }
}

#[test]
fn text_that_looks_like_code_is_text() {
    let text = "a {{ b }} {% c %} {# d #} {%- raw -%} {% endraw %} \\ \" ' {";
    let csv = format!(
        "act,prompt\nx,{}\n",
        csv_cell(&format!("{text}${{y}}{text}\r\n"))
    );
    let found = outcome(&[("a.csv", &csv)], None).items;
    assert!(taken(&found[0]).is_template);
    let said = Kept::of(&found).render("x", &[("y", "{{ z }}")]);
    assert_eq!(said, format!("{text}{{{{ z }}}}{text}\r\n"));
}
