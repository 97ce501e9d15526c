//! What files are called.

use twig_clients::clients::ExportFormat;
use twig_core::{Dialect, Marks};

use super::{Shelf, prompt, verbatim};

fn paths(client: ExportFormat, names: &[(&str, &str)]) -> Vec<(String, String)> {
    let shelf = names
        .iter()
        .fold(Shelf::default(), |shelf, (library, name)| {
            shelf.with(library, Dialect::Verbatim, prompt(name, &[]), "text")
        });
    let items = shelf.export(client).items.into_iter();
    items
        .map(|item| (item.prompt.to_string(), item.path))
        .collect()
}

fn check(client: ExportFormat, names: &[(&str, &str)], expected: &[&str]) {
    let paths: Vec<String> = paths(client, names)
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    assert_eq!(paths, expected);
}

#[test]
fn a_prompt_has_its_own_name_where_it_is_the_only_one() {
    check(
        ExportFormat::Claude,
        &[("a", "review"), ("b", "fix_it"), ("b", "review")],
        &["a-review.md", "fix_it.md", "b-review.md"],
    );
}

#[test]
fn what_was_exported_takes_no_name() {
    let exported = verbatim("text").item(ExportFormat::Claude).text;
    let shelf = Shelf::default()
        .with("lib", Dialect::Verbatim, prompt("main", &[]), "text")
        .with(
            "out",
            Dialect::Marks(Marks::None),
            prompt("main", &[]),
            &exported,
        );
    let plan = shelf.export(ExportFormat::Skills);
    assert_eq!(plan.left[0].why, "is itself an export of `lib:main`");
    let [item] = plan.items.as_slice() else {
        panic!("{:?}", plan.items);
    };
    assert_eq!(item.path, "main/SKILL.md");
    assert_eq!(item.notes, [] as [&str; 0]);
}

#[test]
fn names_differ_in_more_than_capitals() {
    check(
        ExportFormat::Claude,
        &[("a", "Review"), ("b", "review")],
        &["a-review.md", "b-review.md"],
    );
    // Each of the longer names is somebody's own already.
    let paths = paths(
        ExportFormat::Claude,
        &[("a", "x"), ("b", "x"), ("c", "a-x")],
    );
    let found: Vec<&str> = paths.iter().map(|(_, path)| path.as_str()).collect();
    assert!(
        found[0].starts_with("a-x-") && found[0].len() == "a-x-000000.md".len(),
        "{found:?}"
    );
    assert_eq!(found[1..], ["b-x.md", "a-x.md"]);
}

#[test]
fn skills_have_no_underscores() {
    check(
        ExportFormat::Skills,
        &[("a", "fix__it"), ("a", "__x"), ("a", "___")],
        &["prompt/SKILL.md", "x/SKILL.md", "fix-it/SKILL.md"],
    );
    check(
        ExportFormat::Skills,
        &[("a", "fix_it"), ("b", "fix-it")],
        &["a-fix-it/SKILL.md", "b-fix-it/SKILL.md"],
    );
}

#[test]
fn no_file_is_a_device() {
    check(
        ExportFormat::Gemini,
        &[
            ("a", "con"),
            ("a", "COM1"),
            ("a", "console"),
            ("a", "lpt10"),
        ],
        &[
            "com1-prompt.toml",
            "con-prompt.toml",
            "console.toml",
            "lpt10.toml",
        ],
    );
}
