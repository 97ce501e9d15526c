//! Each limit at its edge and one past it.

use super::Definitions;
use twig_testkit::assert_linear;

fn many(count: usize, size: usize) -> Definitions {
    let mut definition = Definitions::text("{{resource:architecture://all/*}}", &[]);
    for at in 0..count {
        definition = definition.document(&format!("all/{at:03}.md"), "x".repeat(size));
    }
    definition
}

#[test]
fn fifty_documents_are_embedded_and_no_more() {
    assert_eq!(many(50, 1).said(&[]).matches("Source: ").count(), 50);
    assert_eq!(many(50, 1).problems(), [""; 0]);
    let sentence = "The prompt exceeds the limit of 50 embedded resources";
    assert_eq!(many(51, 1).said(&[]), sentence);
    let problems = many(51, 1).problems();
    assert!(problems[0].contains(sentence), "{problems:?}");
    let one = "{{resource:architecture://all/000}}";
    let mut repeated = Definitions::text(&one.repeat(51), &[]).document("all/000.md", "x");
    assert_eq!(repeated.said(&[]), sentence, "each time counts");
    repeated.limits.embedded = 51;
    assert_eq!(repeated.said(&[]).matches("Source: ").count(), 51);
}

#[test]
fn a_mebibyte_of_documents_is_embedded_and_not_a_byte_more() {
    let half = 512 * 1024;
    assert_eq!(many(2, half).said(&[]).matches('x').count(), 2 * half);
    assert_eq!(many(1, 2 * half).said(&[]).matches('x').count(), 2 * half);
    let sentence = "The prompt exceeds the limit of 1048576 bytes of embedded resources";
    assert_eq!(many(2, half).document("all/z.md", "y").said(&[]), sentence);
    assert_eq!(many(1, 2 * half + 1).said(&[]), sentence);
    let problems = many(1, 2 * half + 1).problems();
    assert!(problems[0].contains(sentence), "{problems:?}");
    let mut less = many(2, 5);
    less.limits.embedded_bytes = 10;
    assert_eq!(less.said(&[]).matches('x').count(), 10);
    less.limits.embedded_bytes = 9;
    assert!(less.said(&[]).contains("limit of 9 bytes"));
}

#[test]
fn text_and_values_have_their_own_limit() {
    let mut definition = Definitions::text("{{a}}{{a}}", &["a!"]);
    definition.limits.rendered = 10;
    assert_eq!(definition.said(&[("a", "12345")]), "1234512345");
    let sentence = "The rendered prompt exceeds the limit of 10 bytes";
    assert_eq!(definition.said(&[("a", "123456")]), sentence);
}

#[test]
fn values_cannot_multiply_without_bound() {
    let uri = format!("{{{{resource:a://{}}}}}", "{{a}}".repeat(10_000));
    let definition = Definitions::text(&format!("{uri}{}", "{{a}}".repeat(10_000)), &["a!"]);
    let said = definition.said(&[("a", &"x".repeat(4_000))]);
    assert!(
        said.starts_with("Resource not found: a://xxx"),
        "{}",
        &said[..60]
    );
    assert!(said.len() < 300);
    let definition = Definitions::text(&"{{a}}".repeat(40_000), &["a!"]);
    let said = definition.said(&[("a", &"x".repeat(200_000))]);
    assert_eq!(
        said,
        "The rendered prompt exceeds the limit of 1048576 bytes"
    );
}

#[test]
fn arguments_are_limited() {
    let names: Vec<String> = (0..65).map(|at| format!("a{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let problems = Definitions::text("x", &names).problems();
    assert!(
        problems[0].contains("$.arguments: 65 arguments exceed the limit of 64"),
        "{problems:?}"
    );
    let problems = Definitions::text("x", &names[..64]).problems();
    assert!(
        problems.iter().all(|p| p.contains("unused-argument")),
        "{problems:?}"
    );
}

/// Messages with mistakes; a file has room for 1,684 of them.
fn many_mistaken_messages(count: usize) -> Definitions {
    let message = serde_json::json!({
        "role": "user", "content": {"type": "text", "text": "{{a}}".repeat(20)},
    });
    Definitions::messages(&vec![message; count].into(), &[])
}

#[test]
fn messages_beyond_the_limit_are_refused_unread() {
    let definitions = many_mistaken_messages(1_684);
    let problems = definitions.library().problems;
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.code, "too-many-messages");
    assert_eq!(
        problem.message,
        "$.messages: 1684 messages exceed the limit of 64"
    );
}

#[test]
fn mistakes_that_are_not_reported_cost_little() {
    let many = |count| {
        let mut definitions = many_mistaken_messages(count);
        definitions.limits.messages = 2_000;
        definitions
    };
    assert_linear("messages", 400, many, |definitions| {
        drop(definitions.library());
    });
    let library = many(1_684).library();
    assert_eq!(library.problems.len(), 20);
    assert!(library.prompts[0].unavailable.is_some());
}
