//! Values and documents are data, whatever they hold; a value leads nowhere else.

use proptest::prelude::*;

use super::{Definitions, with_documents};
use twig_testkit::assert_linear;

/// The syntax of this dialect and of others.
const SYNTAX: [&str; 9] = [
    "{{code}}",
    "{{ other }}",
    "{{resource:architecture://guidelines/api}}",
    "{{resource:architecture://guidelines/*}}",
    "{{#if code}}x{{/if}}",
    "{% for i in range(9) %}x{% endfor %}",
    "{{{code}}}",
    "${code} $1 {0} %s <%= code %>",
    "{{",
];

#[test]
fn values_and_documents_are_never_read_again() {
    let text = "<{{code}}|{{other}}|{{resource:architecture://patterns/evil}}>";
    for syntax in SYNTAX {
        let definition = with_documents(Definitions::text(text, &["code", "other"]))
            .document("patterns/evil.md", syntax);
        let expected =
            format!("<{syntax}|{syntax}|# evil\nSource: architecture://patterns/evil\n\n{syntax}>");
        assert_eq!(
            definition.said(&[("code", syntax), ("other", syntax)]),
            expected
        );
    }
    // Two halves of a slot do not become one.
    let definition = Definitions::text("{{a}}{{b}}", &["a", "b"]);
    assert_eq!(definition.said(&[("a", "{{"), ("b", "a}}")]), "{{a}}");
}

#[test]
fn a_value_cannot_widen_a_uri() {
    let text = "{{resource:architecture://patterns/{{name}}}}";
    let definition = with_documents(Definitions::text(text, &["name"]));
    for value in [
        "*",
        "../guidelines/api",
        "old/singleton",
        "..",
        ".",
        "old%2fsingleton",
        "%2e%2e",
        "a\\b",
        "old/../factory",
        "factory\0",
        "factory\n",
        "",
        "factory#x",
        "factory?x",
        "fact*",
        "FACTORY",
        "factory.md",
    ] {
        let said = definition.said(&[("name", value)]);
        let expected = format!("Resource not found: architecture://patterns/{value}");
        assert_eq!(said, expected, "{value:?}");
    }
    // What a URI cannot hold is encoded, as it is in the URIs of documents.
    for (value, encoded) in [("{{name}}", "%7B%7Bname%7D%7D"), (" factory", "%20factory")] {
        let expected = format!("Resource not found: architecture://patterns/{encoded}");
        assert_eq!(definition.said(&[("name", value)]), expected);
    }
    let long = "x".repeat(100_000);
    let said = definition.said(&[("name", &long)]);
    assert!(
        said.starts_with("Resource not found: architecture://patterns/xxx") && said.len() < 300
    );
    let folder = with_documents(Definitions::text(
        "{{resource:architecture://{{f}}/*}}",
        &["f"],
    ));
    for value in ["patterns/old", "*", "..", "", "nothing"] {
        let expected = format!("Resource not found: architecture://{value}/*");
        assert_eq!(folder.said(&[("f", value)]), expected);
    }
}

#[test]
fn reading_is_linear() {
    for part in [
        "{{",
        "{{{",
        "{{ a ",
        "{{resource:",
        "{{resource:a://{{a}}",
        "{{#",
        "}}",
        "{{a}",
        "{%",
        "{{  ",
    ] {
        let definition = |size| Definitions::text(&part.repeat(size / part.len()), &["a"]);
        assert_linear(part, 50_000, definition, |definition| {
            assert!(definition.library().problems.len() <= 21, "{part}");
        });
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a{}#/: *%\n]{0,40}|\\PC{0,40}", value in "\\PC{0,20}") {
        let definition = Definitions::text(&text, &["a", "b"]);
        let library = definition.library();
        if library.prompts[0].unavailable.is_none() && !text.contains("resource") {
            let slots = text.matches("{{a}}").count();
            let said = definition.said(&[("a", &value)]);
            prop_assert!(said.matches(&value).count() >= slots || value.is_empty());
            if !text.contains("{{") {
                prop_assert_eq!(said, text);
            }
        }
    }

    #[test]
    fn any_json_is_a_definition_or_a_problem(text in "[\\[\\]{}\",:a0 \n]{0,60}") {
        let definition = Definitions::new().file("p.json", &text);
        let library = definition.library();
        prop_assert!(!library.problems.is_empty());
    }

    #[test]
    fn a_value_only_ever_finds_what_is_beside(value in "[a-z./*%\\\\{}]{0,12}|factory|repository") {
        let text = "{{resource:architecture://patterns/{{name}}}}";
        let definition = with_documents(Definitions::text(text, &["name"]));
        let said = definition.said(&[("name", &value)]);
        let found = ["factory", "repository"].contains(&value.as_str());
        prop_assert_eq!(said.starts_with("# "), found);
    }
}
