//! Front matter: where it ends, what it says, and documents that want to do harm.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use twig_core::Limits;
use twig_core::parse::front_matter::{FrontMatter, FrontMatterError, read, split};

fn cut(text: &str) -> (Option<&str>, &str) {
    let split = split(text);
    (split.front, split.body)
}

fn description(front: &str) -> Result<Option<String>, FrontMatterError> {
    let FrontMatter { description, .. } = read(front, &Limits::default())?;
    Ok(description.map(|scalar| scalar.0))
}

#[test]
fn fences_are_found_in_every_form() {
    assert_eq!(cut("---\na: 1\n---\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(cut("--- \na: 1\n---\t\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(
        cut("---\r\na: 1\r\n---\r\nbody\r\n"),
        (Some("a: 1\r\n"), "body\r\n")
    );
    assert_eq!(cut("---\na: 1\n...\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(cut("---\n---\n"), (Some(""), ""));
    assert_eq!(cut("---\na: 1\n---"), (Some("a: 1\n"), ""));
    assert_eq!(
        cut("---\na: 1\n---\none\n---\ntwo"),
        (Some("a: 1\n"), "one\n---\ntwo")
    );
    assert_eq!(cut("----\na\n----\n"), (None, "----\na\n----\n"));
    assert_eq!(
        cut("text\n---\na: 1\n---\n"),
        (None, "text\n---\na: 1\n---\n")
    );
    assert_eq!(cut(""), (None, ""));
    let unterminated = split("---\na: 1\n");
    assert!(unterminated.unterminated && unterminated.front.is_none());
    let long = format!("---\na: 1\n---\n{}", "x".repeat(3 << 20));
    assert_eq!(cut(&long).1.len(), 3 << 20);
}

#[test]
fn words_that_yaml_likes_to_change_stay_words() {
    for word in [
        "no",
        "on",
        "yes",
        "Off",
        "017",
        "1_000",
        "12:30",
        "2026-11-15",
        "0x1F",
        "1e3",
        ".5",
        "null-ish",
    ] {
        assert_eq!(
            description(&format!("description: {word}\n")),
            Ok(Some(word.to_owned())),
            "{word}"
        );
    }
    assert_eq!(
        description("description: \"a\\tb\"\n"),
        Ok(Some("a\tb".to_owned()))
    );
    assert_eq!(
        description("description: >\n  a\n  b\n"),
        Ok(Some("a b\n".to_owned()))
    );
    assert_eq!(description("other: [1, {a: b}]\n"), Ok(None));
    assert_eq!(description("\n"), Ok(None));
}

#[test]
fn hostile_documents_are_refused_in_no_time() {
    let laughs = {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for at in 1..12 {
            let last = at - 1;
            text += &format!(
                "a{at}: &a{at} [*a{last},*a{last},*a{last},*a{last},*a{last},*a{last},*a{last},*a{last}]\n"
            );
        }
        text
    };
    let documents = [
        ("laughs", laughs),
        (
            "quadratic",
            format!(
                "a: &a {}\nb: [{}]\n",
                "x".repeat(20_000),
                "*a,".repeat(10_000)
            ),
        ),
        ("brackets", "[".repeat(60_000)),
        (
            "deep map",
            (0..2_000).fold(String::new(), |text, at| {
                text + &" ".repeat(at % 64) + "a:\n"
            }),
        ),
        ("merge", "a: &a {x: 1}\nb: {<<: *a}\n".to_owned()),
        ("self alias", "a: &a [*a]\n".to_owned()),
        ("twice", "description: 1\ndescription: 2\n".to_owned()),
        ("flow", "{".repeat(60_000)),
        ("long key", format!("{}: 1\n", "k".repeat(60_000))),
        (
            "long number",
            format!("description: [{}]\n", "9".repeat(60_000)),
        ),
        ("escape", "description: \"\\q\"\n".to_owned()),
        (
            "tag",
            "description: !!python/object:os.system [x]\n".to_owned(),
        ),
        (
            "two documents",
            "description: a\n---\ndescription: b\n".to_owned(),
        ),
        ("bom", "\u{feff}description: [\n".to_owned()),
    ];
    for (name, text) in documents {
        let start = Instant::now();
        let result = read(&text, &Limits::default());
        assert!(
            start.elapsed() < Duration::from_millis(500),
            "{name}: {:?}",
            start.elapsed()
        );
        match result {
            Err(error) => assert!(
                !error.message.is_empty() && !error.message.contains('\n'),
                "{name}"
            ),
            // Harmless ones may be taken, as long as nothing was made of them.
            Ok(front) => assert!(
                matches!(name, "long key" | "two documents") && front.title.is_none(),
                "{name}"
            ),
        }
    }
}

#[test]
fn the_limit_is_the_last_length_that_passes() {
    let text = |length: usize| format!("description: {}", "x".repeat(length - 13));
    assert!(read(&text(64 * 1024), &Limits::default()).is_ok());
    let error = read(&text(64 * 1024 + 1), &Limits::default()).expect_err("one past the limit");
    assert_eq!(
        error.message,
        "the front matter is 65537 bytes long; the limit is 65536"
    );
}

proptest! {
    #[test]
    fn nothing_is_lost_by_cutting(text in "(---\n)?([a-z: \\[\\]&*\"'-]{0,12}\r?\n){0,6}(---\n)?.{0,12}") {
        let split = split(&text);
        prop_assert!(text.ends_with(split.body));
        if let Some(front) = split.front {
            prop_assert_eq!(front, &text[split.front_span.clone()]);
            let _ = read(front, &Limits::default());
        } else {
            prop_assert_eq!(split.body, text.as_str());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text, &Limits::default());
    }
}
