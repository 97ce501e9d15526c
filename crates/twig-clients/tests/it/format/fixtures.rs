//! Files of clients and what becomes of them: a file a case in `fixtures/format`, and what does not
//! fit a text file.
//!
//! `=== kinds WORDS` are the kinds of libraries that a case holds for, and `=== first_argument NUMBER` is
//! what a person says of them. `=== file PATH` is a file of the library, `=== one file` the only one,
//! called as its kind wants it. `=== render NAME` is a prompt to render with the values on the lines
//! below it, `=== render it` the first.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use twig_clients::clients::{self, formats};
use twig_core::template::Templates;
use twig_core::{Block, Catalog, Latest, LibraryKind, Severity, World};
use twig_testkit::assert_linear;

use super::{KINDS, Shelf, codes, names, one, only_path};
use crate::fixture::{Section, argument, lines, sections};

fn show(path: &Path) -> String {
    let sections = sections(path);
    let kinds = sections.iter().find(|section| section.word == "kinds");
    let kinds = kinds.expect("kinds").name.split(' ');
    let mut shown = String::new();
    for word in kinds {
        let kind = clients::kind(word).expect("a kind");
        let _ = writeln!(shown, "{word}:");
        show_kind(kind, &sections, &mut shown);
    }
    shown
}

fn show_kind(kind: LibraryKind, sections: &[Section], shown: &mut String) {
    let of = |word: &'static str| sections.iter().filter(move |section| section.word == word);
    let only = of("one").map(|section| (only_path(kind), section.text.as_str()));
    let files = of("file").map(|section| (section.name.as_str(), section.text.as_str()));
    let mut shelf = Shelf::new(kind, only.chain(files));
    let first = of("first_argument").next();
    shelf.options.first_argument = first.map(|section| section.name.parse().expect("a number"));
    let library = shelf.library();
    for prompt in &library.prompts {
        let _ = writeln!(shown, "{} {:?}", prompt.full_name, prompt.dialect);
        for (label, text) in [
            ("title", &prompt.title),
            ("description", &prompt.description),
            ("unavailable", &prompt.unavailable),
        ] {
            if let Some(text) = text {
                let _ = writeln!(shown, "  {label}: {text:?}");
            }
        }
        for it in prompt.arguments.iter() {
            argument(it, shown);
        }
    }
    for problem in &library.problems {
        let _ = writeln!(shown, "{problem}");
    }
    for section in of("render") {
        let name = match section.name.as_str() {
            "it" => &library.prompts[0].full_name,
            name => name,
        };
        let values = section.values();
        let _ = writeln!(shown, "render {name} {values:?}");
        let values = values.iter().map(|(name, value)| (*name, &**value));
        match shelf.messages(name, &values.collect::<Vec<_>>()) {
            Ok(messages) => {
                for message in messages {
                    let Block::Text(text) = message.block else {
                        panic!("{:?}", message.block);
                    };
                    let _ = writeln!(shown, "  {}:", message.role.as_str());
                    lines(&text, shown);
                }
            }
            Err(error) => {
                let _ = writeln!(shown, "  {error}");
            }
        }
    }
}

#[test]
fn fixtures() {
    insta::glob!("../../fixtures/format", "*.txt", |path| {
        insta::assert_snapshot!(show(path));
    });
}

#[test]
fn braces_of_a_pattern_are_names_or_text() {
    let shelf = Shelf::new(
        formats::FABRIC.kind(),
        [
            ("a/system.md", "{{x}} {{ y }}"),
            ("b/system.md", "{{x}} {{y}}"),
        ],
    );
    let library = shelf.library();
    assert_eq!(names(&library.prompts[0]), ["input"]);
    assert_eq!(names(&library.prompts[1]), ["x", "y", "input"]);
    let codes: Vec<&str> = library.problems.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["braces-are-text"]);
    let many = |count: usize| -> String {
        (0..count)
            .map(|at| format!("$A{at} ${{input:a{at}}} $ARGUMENTS[ ` "))
            .collect()
    };
    for kind in KINDS {
        assert_linear("marks", 10_000, many, |text| drop(one(kind, text)));
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_of_its_own() {
    let mut shelf = Shelf::new(formats::CLAUDE.kind(), [("good.md", "x")]);
    let path = twig_core::RelativePath::parse("bad.md").expect("a path");
    shelf.files.insert(path, vec![0xff, 0xfe, 0xfd]);
    let library = shelf.library();
    let [bad, good] = &library.prompts[..] else {
        panic!()
    };
    assert!(bad.unavailable.is_some() && bad.description.is_some());
    assert_eq!(good.unavailable, None);
    assert_eq!(codes(&library.problems, Severity::Error).len(), 1);
}

#[test]
fn the_digest_is_of_what_clients_see() {
    let digest = |text: &str| {
        Shelf::new(formats::CLAUDE.kind(), [("a.md", text)])
            .library()
            .state
    };
    let before = digest("---\ndescription: d\n---\nbody $ARGUMENTS");
    assert_eq!(
        digest("---\ndescription: d\n---\nother body $ARGUMENTS"),
        before
    );
    assert_ne!(digest("---\ndescription: e\n---\nbody $ARGUMENTS"), before);
    assert_ne!(digest("---\ndescription: d\n---\nbody"), before);
}

#[test]
fn check_tells_of_what_a_text_hides() {
    for kind in KINDS
        .into_iter()
        .filter(|kind| *kind != LibraryKind::Skills)
    {
        let file = "---\ndescription: d\n---\nhid\u{200b}den";
        let shelf = Shelf::new(kind, [(only_path(kind), file)]);
        let catalog = Latest::from(Catalog::build(vec![Arc::new(shelf.library())]));
        let templates = Templates::new(shelf.limits.clone());
        let world = World {
            catalog: &catalog,
            bodies: &shelf.memory(),
            templates: &templates,
        };
        let problems = twig_core::check::check(world);
        let codes: Vec<&str> = problems
            .iter()
            .map(|problem| problem.code.as_str())
            .collect();
        assert_eq!(codes, ["hidden-text"], "{}", kind.as_str());
        assert_eq!(problems[0].line, Some(4));
    }
}

#[test]
fn the_limit_holds_however_often_a_value_stands_there() {
    let mut shelf = Shelf::new(formats::CLAUDE.kind(), [("one.md", "$ARGUMENTS$ARGUMENTS")]);
    shelf.limits.rendered = 10;
    assert_eq!(shelf.text("one", &[("arguments", "12345")]), "1234512345");
    let error = shelf
        .messages("one", &[("arguments", "123456")])
        .expect_err("too long");
    assert_eq!(
        error.to_string(),
        "The rendered prompt exceeds the limit of 10 bytes"
    );
    let many = "$ARGUMENTS ".repeat(50_000);
    let shelf = Shelf::new(formats::CLAUDE.kind(), [("one.md", &*many)]);
    let value = "x".repeat(200_000);
    assert!(shelf.messages("one", &[("arguments", &value)]).is_err());
}
