//! Titles and descriptions of Markdown files; those of other libraries are held to the same tables.

use twig_clients::format::{self, Options};
use twig_core::parse::library::LibraryRoot;
use twig_core::{Library, LibraryKind, LibraryName, Limits, RelativePath};

#[path = "../../../twig-core/tests/it/hidden/attacks.rs"]
mod attacks;
#[path = "../../../twig-core/tests/it/hidden/benign.rs"]
#[allow(dead_code, reason = "bodies are core's")]
mod benign;

const FIELDS: [&str; 2] = ["title", "description"];

/// In double quotes, as YAML reads it.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            ' '..='~' if !matches!(c, '"' | '\\') => c.to_string(),
            c => format!("\\U{:08X}", c as u32),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn markdown(field: &str, text: &str) -> Library {
    let folder = LibraryRoot {
        name: LibraryName::from_folder("lib").expect("a name"),
        root: "/lib".into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    };
    let limits = Limits::default();
    let kind = LibraryKind::Markdown;
    let file = |name: &str, text: &str| {
        let path = RelativePath::parse(name).expect("a path");
        let reading = format::read(kind, &folder, &path, Ok(text), Options::default(), &limits);
        (path, reading)
    };
    let files = [
        file("p.md", &format!("---\n{field}: {text}\n---\nbody\n")),
        file("q.md", "---\ntitle: Q\n---\nbody\n"),
    ];
    let readings = files.iter().map(|(path, reading)| (path, reading));
    format::library(&folder, kind, readings, &[], &limits)
}

#[test]
fn an_attack_makes_its_prompt_unavailable_and_no_other() {
    for (name, text) in attacks::EVERYWHERE.iter().chain(&attacks::LABELS) {
        for field in FIELDS {
            let library = markdown(field, &quoted(text));
            let case = format!("{name} as {field}");
            let [p, q] = &library.prompts[..] else {
                panic!("{case}: {:?}", library.prompts);
            };
            let sentence = p.unavailable.as_deref().unwrap_or_default();
            assert!(sentence.contains("is refused: the "), "{case}: {sentence}");
            assert!(sentence.contains("U+"), "{case}: {sentence}");
            assert_eq!(q.unavailable, None, "{case}");
            let problems = library.problems.iter();
            let told: Vec<_> = problems.filter(|it| it.code == "hidden-text").collect();
            let [problem] = &told[..] else {
                panic!("{case}: {:?}", library.problems);
            };
            assert!(problem.line.is_some(), "{case}: {problem}");
            assert!(problem.path.starts_with("/lib/"), "{case}: {problem}");
        }
    }
}

#[test]
fn what_people_write_is_served_byte_for_byte() {
    for text in benign::EVERYWHERE {
        for field in FIELDS {
            let library = markdown(field, &quoted(text));
            let case = format!("{text:?} as {field}");
            let p = &library.prompts[0];
            assert_eq!(p.unavailable, None, "{case}");
            let label = match field {
                "title" => p.title.as_deref(),
                _ => p.description.as_deref(),
            };
            assert_eq!(label, Some(text), "{case}");
            assert!(
                library.problems.is_empty(),
                "{case}: {:?}",
                library.problems
            );
        }
    }
}

#[test]
fn the_problem_points_at_the_character() {
    let front = markdown("description", "|\n  one\n  tw\u{200b}o");
    let hint = "has an invisible character (U+200B), which people do not see; remove it";
    assert_eq!(
        front.problems[0].to_string(),
        format!("/lib/p.md:4:5: error[hidden-text]: the description of prompt `p` {hint}")
    );
    assert_eq!(
        front.prompts[0].unavailable.as_deref(),
        Some(
            "Prompt `p` is refused: the description has an invisible character (U+200B) at line \
             2, column 3, which people do not see: remove it"
        )
    );
}
